-- differs: rows of prepared statements cannot be read in sysbench
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function thread_done() con:disconnect() end
function init() local c = sysbench.sql.driver():connect() c:query('DROP TABLE IF EXISTS t') c:query('CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20), d DOUBLE) ENGINE=InnoDB') c:query("INSERT INTO t VALUES (1, 10, 'one', 0.5), (2, NULL, 'two', 1.5), (3, 30, NULL, NULL)") c:disconnect() end
function done() local c = sysbench.sql.driver():connect() c:query('DROP TABLE t') c:disconnect() end

function event()
  local st = con:prepare("SELECT id, a, s, d FROM t WHERE id = ?")
  local p = st:bind_create(sysbench.sql.type.INT)
  st:bind_param(p)
  p:set(1)
  local rs = st:execute()
  local row = rs:fetch_row()
  print("> " .. rs.nrows .. " " .. rs.nfields .. " " .. row[1] .. " " .. row[2] .. " " .. row[3] .. " " .. row[4])
end
