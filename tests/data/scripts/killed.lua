-- crashes: sysbench reads freed memory; options: --mysql-ignore-errors=2013,2006,1927
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

local killed = false
function event()
  if not killed then
    killed = true
    local other = drv:connect()
    pcall(other.query, other, "KILL " .. con:query_row("SELECT CONNECTION_ID()"))
    other:disconnect()
  end
  print("> " .. con:query_row("SELECT 1"))
end
