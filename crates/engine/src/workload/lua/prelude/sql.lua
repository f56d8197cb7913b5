-- `sysbench.sql`: drivers, connections, statements, results.
local P, H = ...
local context, natives, request = P.context, P.natives, P.request
local set_sql = natives.set_sql

-- Kinds of requests, as `ScriptRequest` numbers them, and what they answer.
local CONNECT, QUERY, PREPARE, EXECUTE, CLOSE, DISCONNECT, RECONNECT = 2, 3, 4, 5, 6, 7, 8
local ROWS, NO_ROWS, REFUSED = 0, 1, 2
local LOCK_WAIT_TIMEOUT = 1205
-- The number of a connection that was closed.
local CLOSED = -1

sysbench.sql = {
  type = {
    NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
    DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
  },
  error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
}
local type_of = sysbench.sql.type

local no_result = H.no_result

-- Results. One lives per connection: the next statement frees it.
local result_methods = {}
local result_meta = { __index = result_methods, __tostring = function() return "<sql_result>" end }

local function new_result(con, number)
  con.live = con.live + 1
  return setmetatable({
    nrows = context.row_count,
    nfields = context.field_count,
    con = con,
    live = con.live,
    number = number,
    row = 0,
  }, result_meta)
end

local function fetch_row(result)
  if result.live ~= result.con.live or result.row >= result.nrows then
    return nil
  end
  result.row = result.row + 1
  return (P.fetch_row(result.con.number, result.number, result.row - 1))
end

function result_methods:fetch_row()
  if self.nrows == 0 then
    P.alert("attempt to fetch row from an empty result set")
  end
  return fetch_row(self)
end

function result_methods:free()
  self.live = -1
end

-- Errors.
local function is_ignored(code)
  return P.ignores_all or P.ignored[code] == true
end

-- A statement was refused: restarts the event, or ends the load. The message names the line at `level`.
local function refuse(con, query, message, level)
  local code = context.error_code
  local state, text = P.error_details(con.number)
  con.error = sysbench.sql.error.FATAL
  con.sql_errno, con.sql_state, con.sql_errmsg = code, state, text
  local err = {
    connection = con, query = query, sql_errno = code, sql_state = state, sql_errmsg = text,
  }
  local ignored = is_ignored(code)
  if not ignored then
    P.report_fatal(code, text, query)
    local hook = sysbench.hooks.sql_error_ignorable
    ignored = hook and hook(err)
  end
  if not ignored then
    message = message or string.format("SQL error, errno = %d, state = '%s': %s", code, state, text)
    error(message, level or 3)
  end
  con.error = sysbench.sql.error.IGNORABLE
  P.note_ignored(code, text)
  if P.is_lost(con.number) then
    P.reopen(con)
  elseif code == LOCK_WAIT_TIMEOUT and not P.strict then
    -- A lock wait that timed out undoes its statement alone: without this the next BEGIN would commit half an event.
    set_sql(context, "ROLLBACK", 8)
    request(QUERY, con.number)
  end
  err.errcode = sysbench.error.RESTART_EVENT
  error(err, 0)
end

local function misused(what, con)
  if con and con.number == CLOSED then
    P.alert("attempt to use an already closed connection")
  end
  error(what or "SQL API error", 3)
end

-- A statement that succeeded leaves no error behind.
local function forget_error(con)
  con.error, con.sql_errno, con.sql_state, con.sql_errmsg = 0, 0, nil, nil
end

-- Connections.
local con_methods = {}
local con_meta = { __index = con_methods, __tostring = function() return "<sql_connection>" end }

function con_methods:query(query)
  set_sql(context, query, #query)
  local status = request(QUERY, self.number)
  self.result_number = 0
  if status == REFUSED then
    refuse(self, query)
  elseif self.error ~= 0 then
    forget_error(self)
  end
  if status == ROWS then
    return new_result(self, 0)
  elseif status == NO_ROWS then
    self.live = self.live + 1
    return no_result
  end
  misused(nil, self)
end

function con_methods:query_row(sql)
  local result = self:query(sql)
  if result == nil then
    return nil
  end
  local row = fetch_row(result)
  if row == nil then
    return nil
  end
  return unpack(row, 1, result.nfields)
end

function con_methods:disconnect()
  if self.number == CLOSED then
    return P.alert("attempt to close an already closed connection")
  end
  request(DISCONNECT, self.number)
  -- The number may be another connection's from now on.
  self.number = CLOSED
end

-- Opens the connection again and prepares its statements again; waits as long as the load goes on.
function P.reopen(con)
  if request(RECONNECT, con.number) ~= NO_ROWS then
    error("reconnect failed: the load is over", 0)
  end
  natives.count(context, 5, 1)
  P.note_reconnect()
  for _, stmt in ipairs(con.prepared) do
    if not stmt.closed then
      set_sql(context, stmt.sql, #stmt.sql)
      if request(PREPARE, con.number) == NO_ROWS then
        stmt.number = context.handle
        stmt:bind_again()
      end
    end
  end
end

function con_methods:reconnect()
  P.reopen(self)
end

function con_methods:more_results()
  return P.result_count(self.number) > self.result_number + 1
end

function con_methods:next_result()
  if not self:more_results() then
    return nil
  end
  self.result_number = self.result_number + 1
  local rows, fields = P.result_shape(self.number, self.result_number)
  context.row_count, context.field_count = rows, fields
  if fields == 0 then
    return no_result
  end
  return new_result(self, self.result_number)
end

-- Statements.
local stmt_methods = {}
local stmt_meta = { __index = stmt_methods, __tostring = function() return "<sql_statement>" end }

function con_methods:prepare(query)
  set_sql(context, query, #query)
  local status = request(PREPARE, self.number)
  if status == REFUSED then
    refuse(self, query, "SQL API error")
  elseif status ~= NO_ROWS then
    misused(nil, self)
  elseif self.error ~= 0 then
    forget_error(self)
  end
  local stmt = setmetatable({ con = self, sql = query, number = context.handle, bound = {} }, stmt_meta)
  self.prepared[#self.prepared + 1] = stmt
  return stmt
end

local param_methods = {}
local param_meta = { __index = param_methods, __tostring = function() return "<sql_param>" end }

local function is_integer(kind)
  return kind >= type_of.TINYINT and kind <= type_of.BIGINT
end

function stmt_methods:bind_create(kind, length)
  local known = is_integer(kind) or kind == type_of.FLOAT or kind == type_of.DOUBLE
    or kind == type_of.CHAR or kind == type_of.VARCHAR
  if not known then
    error("Unsupported argument type: " .. tostring(kind), 2)
  end
  return setmetatable({
    number = natives.new_parameter(context),
    kind = kind,
    is_integer = is_integer(kind),
    is_text = kind >= type_of.CHAR,
    length = length,
  }, param_meta)
end

function param_methods:set(value)
  if value == nil then
    natives.set_null(context, self.number)
  elseif self.is_integer then
    natives.set_integer(context, self.number, value)
  elseif self.is_text then
    value = tostring(value)
    local length = #value
    if self.length and length > self.length then
      length = self.length
    end
    natives.set_text(context, self.number, value, length)
  else
    natives.set_double(context, self.number, value)
  end
end

function param_methods:set_rand_str(format)
  natives.random_string(context, format, #format)
  local length = context.text_length
  if self.length and length > self.length then
    length = self.length
  end
  natives.set_text(context, self.number, context.text, length)
end

function stmt_methods:bind_param(...)
  self.bound = { ... }
  self:bind_again()
end

function stmt_methods:bind_again()
  for index, param in ipairs(self.bound) do
    if natives.bind(context, self.con.number, self.number, index - 1, param.number) == 0 then
      misused("bind_param() of a statement that is closed")
    end
  end
end

function stmt_methods:execute()
  local con = self.con
  local status = request(EXECUTE, con.number, self.number)
  if status == REFUSED then
    refuse(con, self.sql)
  elseif con.error ~= 0 then
    forget_error(con)
  end
  if status == NO_ROWS then
    con.live = con.live + 1
    return no_result
  elseif status == ROWS then
    con.result_number = 0
    return new_result(con, 0)
  end
  misused(nil, con)
end

function stmt_methods:next_result()
  return self.con:next_result()
end

function stmt_methods:close()
  if self.closed or request(CLOSE, self.con.number, self.number) ~= NO_ROWS then
    misused()
  end
  self.closed = true
end

-- Many rows with few statements: each holds as many as fit into half a MiB. Who begins again forgets what was not sent.
local PACKET = 512 * 1024

function con_methods:bulk_insert_init(query)
  self.bulk = { head = query, rows = {}, size = #query }
end

local function flush_rows(con, failed)
  local bulk = con.bulk
  if #bulk.rows == 0 then
    return
  end
  local sql = bulk.head .. table.concat(bulk.rows, ",")
  bulk.rows, bulk.size = {}, #bulk.head
  set_sql(context, sql, #sql)
  local status = request(QUERY, con.number)
  con.live = con.live + 1
  if status == REFUSED then
    refuse(con, sql, failed, 4)
  elseif status ~= NO_ROWS and status ~= ROWS then
    misused(failed, con)
  end
end

function con_methods:bulk_insert_next(val)
  local bulk, failed = self.bulk, "db_bulk_insert_next() failed"
  if not bulk then
    P.alert("attempt to call bulk_insert_next() before bulk_insert_init()")
    error(failed, 2)
  end
  if #bulk.rows > 0 and bulk.size + #val + 1 > PACKET then
    flush_rows(self, failed)
  end
  bulk.rows[#bulk.rows + 1] = val
  bulk.size = bulk.size + #val + 1
end

function con_methods:bulk_insert_done()
  if self.bulk then
    flush_rows(self, "db_bulk_insert_done() failed")
    self.bulk = nil
  end
end

-- Drivers.
local driver_methods = {}
local driver_meta = { __index = driver_methods, __tostring = function() return "<sql_driver>" end }

function driver_methods:name()
  return "mysql"
end

function driver_methods:connect()
  local status = request(CONNECT)
  local con = setmetatable({
    number = context.handle, live = 0, prepared = {}, result_number = 0,
    error = 0, sql_errno = 0,
  }, con_meta)
  if status ~= NO_ROWS then
    local _, text = P.error_details(con.number)
    P.report_fatal(context.error_code, text)
    error("connection creation failed", 2)
  end
  return con
end

local drivers = {}
function sysbench.sql.driver(name)
  if name and name ~= "mysql" then
    P.print("FATAL: invalid database driver name: '" .. tostring(name) .. "'\n")
  end
  name = name or P.option("db_driver") or "mysql"
  if name ~= "mysql" then
    error("failed to initialize the DB driver", 2)
  end
  drivers[name] = drivers[name] or setmetatable({}, driver_meta)
  return drivers[name]
end
