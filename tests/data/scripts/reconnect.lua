-- crashes: sysbench reads freed memory
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  con:reconnect()
  print("> " .. con:query_row("SELECT 1"))
end
