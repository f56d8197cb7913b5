-- options: --events=2
local ffi = require("ffi")
ffi.cdef("void sb_counter_inc(int, sb_counter_type); uint64_t sb_counter_val(int, sb_counter_type);")
function event()
  ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
  print("> " .. tonumber(ffi.C.sb_counter_val(sysbench.tid, ffi.C.SB_CNT_ERROR)))
end
