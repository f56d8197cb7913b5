function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  local other = drv:connect()
  print("> " .. tostring(con:query_row("SELECT CONNECTION_ID()") ~= other:query_row("SELECT CONNECTION_ID()")))
  other:disconnect()
  print("> " .. tostring(pcall(other.query, other, "SELECT 1")))
end
