-- Reports of intervals, of checkpoints and of the whole load have globals of their own; the last one has those of init.
ffi.cdef("int usleep(unsigned int);")
made_by = "nobody"
function init() made_by = "init" end
function event() ffi.C.usleep(1000) end
function done() print("done sees " .. made_by) end
sysbench.hooks.report_intermediate = function()
  print("interval: made by " .. made_by .. ", its thread is " .. (sysbench.tid == 1 and "its own" or "the first"))
end
sysbench.hooks.report_cumulative = function()
  print("all: made by " .. made_by .. ", its thread is " .. (sysbench.tid == 1 and "its own" or "the first"))
  made_by = "a report"
end
