function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end
function init() local c = sysbench.sql.driver():connect() c:query('DROP TABLE IF EXISTS t') c:query('CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20), d DOUBLE) ENGINE=InnoDB') c:query("INSERT INTO t VALUES (1, 10, 'one', 0.5), (2, NULL, 'two', 1.5), (3, 30, NULL, NULL)") c:disconnect() end
function done() local c = sysbench.sql.driver():connect() c:query('DROP TABLE t') c:disconnect() end

function event()
  local rs = con:query("UPDATE t SET a = a + 1 WHERE id = 1")
  print("> " .. tostring(rs == nil) .. " " .. tostring(rs and true) .. " " .. tostring(rs))
end
