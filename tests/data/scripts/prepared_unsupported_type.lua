function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end

function event()
  local st = con:prepare("SELECT ?")
  print("> " .. tostring(select(2, pcall(st.bind_create, st, sysbench.sql.type.DATE))):match("Unsupported.*"))
end
