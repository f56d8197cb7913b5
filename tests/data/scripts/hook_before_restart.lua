-- options: --mysql-ignore-errors=1054
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

local calls = 0
function sysbench.hooks.before_restart_event(err)
  print("> restart " .. err.errcode .. " " .. tostring(err.sql_errno))
end
function event()
  calls = calls + 1
  if calls == 1 then con:query("SELECT nonsense") end
  print("> event " .. calls)
end
