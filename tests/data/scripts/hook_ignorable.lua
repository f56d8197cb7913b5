function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

local calls = 0
function sysbench.hooks.sql_error_ignorable(err)
  print("> hook " .. err.sql_errno .. " " .. err.sql_state .. " " .. tostring(err.connection) .. " " .. err.query)
  return err.sql_errno == 1054
end
function event()
  calls = calls + 1
  if calls == 1 then con:query("SELECT nonsense") end
  print("> event " .. calls)
end
