-- crashes: sysbench frees the statement twice
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function event()
  local st = con:prepare("SELECT 1")
  st:execute()
  st:close()
  print("> " .. tostring(pcall(st.execute, st)))
  print("> " .. con:query_row("SELECT 2"))
end
