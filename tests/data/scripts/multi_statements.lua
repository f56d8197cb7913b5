-- differs: sysbench leaves the second reply unread
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  con:query("SET @a = 1; SET @b = 2")
  print("> done")
end
