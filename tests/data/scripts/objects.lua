function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  local st = con:prepare("SELECT ?")
  local p = st:bind_create(sysbench.sql.type.INT)
  print("> " .. tostring(drv) .. tostring(con) .. tostring(st) .. tostring(p) .. drv:name())
end
