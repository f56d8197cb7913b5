-- differs: sysbench gives sql_state as a C string
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  local ok, err = pcall(con.query, con, "SELECT nonsense")
  print("> " .. tostring(ok) .. " " .. tostring(err):match("SQL error.*"))
  print("> " .. con.sql_errno .. " " .. con.sql_state .. " " .. con.sql_errmsg)
end
