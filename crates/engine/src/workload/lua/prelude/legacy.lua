-- The functions of sysbench before 1.0, which many scripts still use: one connection, made when it is first needed.
local P = ...
local rand = sysbench.rand
local con

DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2
mysql_table_engine = "innodb"
myisam_max_rows = 1000000
thread_id = P.tid
test = P.script_path

function db_connect()
  db_driver = P.option("db_driver") or "mysql"
  con = sysbench.sql.driver():connect()
end

function db_disconnect()
  if con then
    con:disconnect()
    con = nil
  end
end

local function connected()
  if not con then
    db_connect()
  end
  return con
end

function db_query(sql)
  return connected():query(sql)
end

function db_bulk_insert_init(head)
  return connected():bulk_insert_init(head)
end

function db_bulk_insert_next(row)
  return connected():bulk_insert_next(row)
end

function db_bulk_insert_done()
  return connected():bulk_insert_done()
end

function db_prepare(sql)
  return connected():prepare(sql)
end

-- Values are taken from the table each time that the statement runs.
function db_bind_param(stmt, values)
  local types, params = sysbench.sql.type, {}
  for i, value in ipairs(values) do
    local kind = type(value) == "number" and types.BIGINT or types.VARCHAR
    params[i] = stmt:bind_create(kind)
  end
  stmt.values = values
  stmt:bind_param(unpack(params))
end

function db_bind_result() end

function db_execute(stmt)
  for i, param in ipairs(stmt.bound) do
    param:set(stmt.values[i])
  end
  return stmt:execute()
end

function db_store_results() end

function db_free_results(result)
  if result ~= nil then
    result:free()
  end
end

function db_close(stmt)
  return stmt:close()
end

sysbench.db = {
  connect = db_connect, disconnect = db_disconnect, query = db_query,
  bulk_insert_init = db_bulk_insert_init, bulk_insert_next = db_bulk_insert_next,
  bulk_insert_done = db_bulk_insert_done, prepare = db_prepare, bind_param = db_bind_param,
  bind_result = db_bind_result, execute = db_execute, store_results = db_store_results,
  free_results = db_free_results, close = db_close,
  DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2,
}

sb_rand, sb_rand_uniform, sb_rand_gaussian = rand.default, rand.uniform, rand.gaussian
sb_rand_special, sb_rand_str = rand.special, rand.string

function sb_rnd()
  return rand.uniform(0, 4294967295)
end

function sb_rand_uniq(low, high)
  while true do
    local number = low + rand.unique() % (high - low + 1)
    if number >= low and number <= high then
      return number
    end
  end
end
