function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  print("> " .. #con:query_row("SELECT REPEAT('x', 100000)") .. " " .. con:query_row("SELECT HEX('a')"))
end
