local calls = 0
function event()
  calls = calls + 1
  print("> event " .. calls)
  if calls < 3 then error({ errcode = sysbench.error.RESTART_EVENT }) end
end
