-- options: --mysql-ignore-errors=all
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

local calls = 0
function event()
  calls = calls + 1
  if calls < 3 then con:query("SELECT * FROM nowhere" .. calls) end
  print("> event " .. calls)
end
