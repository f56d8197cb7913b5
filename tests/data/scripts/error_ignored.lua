-- options: --mysql-ignore-errors=1054
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

local calls = 0
function event()
  calls = calls + 1
  print("> event " .. calls)
  if calls < 3 then con:query("SELECT nonsense") end
end
