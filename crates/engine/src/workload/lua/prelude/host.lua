-- What a Lua state is given once, however many sessions share it: C declarations, coroutines that can wait, modules.
-- `H` is our own table; scripts do not see it.
local H = ...
local ffi = require("ffi")

ffi.cdef([[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_EVENT, SB_CNT_TRX = SB_CNT_EVENT,
  SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_BYTES_READ, SB_CNT_BYTES_WRITTEN, SB_CNT_MAX
} sb_counter_type;
typedef enum { SQL_ERROR_NONE, SQL_ERROR_IGNORABLE, SQL_ERROR_FATAL } sql_error_t;
typedef enum {
  SB_ARG_TYPE_NULL, SB_ARG_TYPE_BOOL, SB_ARG_TYPE_INT, SB_ARG_TYPE_SIZE, SB_ARG_TYPE_DOUBLE,
  SB_ARG_TYPE_STRING, SB_ARG_TYPE_LIST, SB_ARG_TYPE_FILE, SB_ARG_TYPE_MAX
} sb_arg_type_t;
typedef struct sql_driver sql_driver;
typedef struct sql_connection sql_connection;
typedef struct sql_statement sql_statement;
typedef struct sql_result sql_result;
typedef struct sql_row sql_row;
typedef struct sql_value sql_value;
typedef struct sql_bind sql_bind;
typedef struct sb_arg sb_arg_t;

typedef struct {
  int handle;
  uint32_t row_count, field_count, error_code, text_length;
  const char *text;
} script_context;
typedef struct {
  int (*more)(script_context *);
  void (*stop)(script_context *);
  int (*is_given_up)(script_context *);
  void (*count)(script_context *, int, double);
  double (*counted)(script_context *, int);
  double (*random)(script_context *, int, double, double);
  uint64_t (*random_u64)(script_context *);
  double (*random_fraction)(script_context *);
  void (*random_string)(script_context *, const char *, uint32_t);
  void (*random_length_string)(script_context *, uint32_t, uint32_t);
  void (*set_sql)(script_context *, const char *, uint32_t);
  int (*request)(script_context *, int, int, int);
  int (*new_parameter)(script_context *);
  void (*set_null)(script_context *, int);
  void (*set_integer)(script_context *, int, int64_t);
  void (*set_double)(script_context *, int, double);
  void (*set_text)(script_context *, int, const char *, uint32_t);
  int (*bind)(script_context *, int, int, int, int);
  uint64_t (*random_wide)(script_context *, int, uint64_t, uint64_t);
} script_natives;
]])

-- What a statement without rows gives: it equals nil and may be asked all the same.
ffi.metatype("sql_result", {
  __index = { nrows = 0, nfields = 0, fetch_row = function() end, free = function() end },
  __tostring = function() return "<sql_result>" end,
})
H.no_result = ffi.cast("sql_result *", nil)

-- Each session runs the top level of its script, and so may declare the same again.
local raw_cdef, declared = ffi.cdef, {}
function H.cdef(text, ...)
  if not declared[text] or ... ~= nil then
    raw_cdef(text, ...)
    declared[text] = true
  end
end

-- Waiting. A coroutine of the script's own passes the wait on to the one that it was started in.
local raw_resume, raw_yield = coroutine.resume, coroutine.yield
local waiting = {}

function H.wait()
  if not coroutine.isyieldable() then
    error("SQL within a function that Lua's own library calls (of table.sort or string.gsub)"
      .. " needs --engine=threads", 3)
  end
  return raw_yield(waiting)
end

local function pass_on(co, first, ...)
  if first and ... == waiting then
    return pass_on(co, raw_resume(co, raw_yield(waiting)))
  end
  return first, ...
end

function coroutine.resume(co, ...)
  return pass_on(co, raw_resume(co, ...))
end

local function checked(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

function coroutine.wrap(f)
  local co = coroutine.create(f)
  return function(...)
    return checked(coroutine.resume(co, ...))
  end
end

-- Calls of Lua that hold a whole thread while they wait.
local blocking_calls = { "os.execute", "io.popen", "io.read", "io.stdin", "socket.sleep" }
H.blocking = {}

local function note_blocking_calls(text)
  for _, call in ipairs(blocking_calls) do
    if text:find(call, 1, true) then
      H.blocking[#H.blocking + 1] = call
    end
  end
end

-- Texts are compiled once: a session gets functions of its own from them, with globals of its own.
local factories = {}
local function instance(text, name, env)
  -- A first line for the shell is not Lua's; its line end stays, so that numbers of lines are right.
  text = text:gsub("^#[^\n]*", "")
  local key = name .. "\0" .. text
  local factory = factories[key]
  if not factory then
    -- The prelude's own texts have names in brackets.
    if not name:find("^=%[") then
      note_blocking_calls(text)
    end
    factory = loadstring("return function(...) " .. text .. "\nend", name)
    if not factory then
      -- What is wrong is said as it would be of the text alone.
      local whole, err = loadstring(text, name)
      if not whole then
        return nil, err
      end
      return setfenv(whole, env)
    end
    factories[key] = factory
  end
  return setfenv(factory, env)()
end
H.instance = instance

local raw_require, raw_globals = require, _G

local function read_file(path)
  local file, err = io.open(path, "rb")
  if not file then
    return nil, err
  end
  local text = file:read("*a")
  file:close()
  return text
end

local function find_module(name, path)
  local file_name = name:gsub("%.", "/")
  for template in path:gmatch("[^;]+") do
    local candidate = template:gsub("%?", (file_name:gsub("%%", "%%%%")))
    local file = io.open(candidate, "rb")
    if file then
      file:close()
      return candidate
    end
  end
end

-- Where a module was looked for.
local function missing_module(name, path)
  local lines = { "module '" .. name .. "' not found:", "no field package.preload['" .. name .. "']" }
  local file_name = name:gsub("%.", "/"):gsub("%%", "%%%%")
  for template in (path .. ";" .. raw_globals.package.cpath):gmatch("[^;]+") do
    lines[#lines + 1] = "no file '" .. template:gsub("%?", file_name) .. "'"
  end
  return table.concat(lines, "\n\t")
end

-- The globals of a session: the libraries, and modules of its own. Modules in C are the state's.
function H.new_globals(path, cpath)
  raw_globals.package.cpath = cpath
  local env = {}
  for name, value in pairs(raw_globals) do
    env[name] = value
  end
  env._G = env
  local package = { loaded = {}, preload = {}, path = path }
  for name, value in pairs(raw_globals.package) do
    package[name] = package[name] or value
  end
  for _, name in ipairs({ "string", "table", "math", "os", "io", "coroutine", "debug", "bit", "jit" }) do
    package.loaded[name] = raw_globals[name]
  end
  package.loaded._G = env
  package.loaded.package = package
  env.package = package

  function env.loadfile(name)
    local text, err = read_file(name)
    if not text then
      return nil, "cannot open " .. tostring(name) .. (err and (" (" .. err .. ")") or "")
    end
    return instance(text, "@" .. name, env)
  end

  function env.dofile(name)
    local chunk, err = env.loadfile(name)
    if not chunk then
      error(err, 0)
    end
    return chunk()
  end

  function env.require(name)
    local loaded = package.loaded[name]
    if loaded ~= nil then
      return loaded
    end
    local chunk = package.preload[name]
    if not chunk then
      local file = find_module(name, package.path)
      if not file then
        local in_c = find_module(name, cpath) or find_module(name:match("^[^.]*"), cpath)
        if not in_c and raw_globals.package.loaded[name] == nil then
          error(missing_module(name, package.path), 2)
        end
        loaded = raw_require(name)
        package.loaded[name] = loaded
        return loaded
      end
      local err
      chunk, err = env.loadfile(file)
      if not chunk then
        error("error loading module '" .. name .. "' from file '" .. file .. "':\n\t" .. err, 2)
      end
    end
    local result = chunk(name)
    if result ~= nil then
      package.loaded[name] = result
    elseif package.loaded[name] == nil then
      package.loaded[name] = true
    end
    return package.loaded[name]
  end
  return env
end

io.stdout:setvbuf("no")
