-- options: --events=4
function thread_run(tid)
  local n = 0
  while ffi.C.sb_more_events(tid) do
    ffi.C.sb_event_start(tid)
    n = n + 1
    ffi.C.sb_event_stop(tid)
  end
  print("> " .. n)
end
function event() end
