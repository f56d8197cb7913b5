function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  local co = coroutine.wrap(function() local a = con:query_row("SELECT 5") coroutine.yield(a) return con:query_row("SELECT 6") end)
  print("> " .. co() .. " " .. co())
end
