function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  print("> event")
  con:query("SELECT nonsense")
end
