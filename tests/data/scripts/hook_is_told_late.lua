-- options: --events=2
-- The error is written before the hook decides; an option that a script does not declare is in `sysbench.opt` too.
local n = 0
function thread_init() con = sysbench.sql.driver():connect() end
sysbench.hooks.sql_error_ignorable = function(err)
  print("> hook", err.sql_errno, err.sql_state, err.query)
  return err.sql_errno == 1146
end
function event()
  n = n + 1
  if n == 2 then con:query("SELECT * FROM not_there") end
  print("> event", n)
end
