-- What scripts find when they begin: the table `sysbench`, its options and commands, and FFI with the names that scripts expect.
-- `P` is the prelude's own table; scripts do not see it. `H` is what sessions of one Lua state share.
local P, H = ...
local raw_ffi = require("ffi")

-- Scripts use `ffi` without asking for it. Its C functions are this session's.
local ffi = setmetatable({ cdef = H.cdef }, { __index = raw_ffi })
_G.ffi = ffi
package.loaded.ffi = ffi

local context = ffi.cast("script_context *", P.context)
local natives = ffi.cast("script_natives *", P.natives)
P.context, P.natives = context, natives

-- A request that may not block this thread is done by whoever resumed us; its status comes back from the wait.
local request, wait = natives.request, H.wait
local is_pending = -1

function P.request(kind, first, second)
  local status = request(context, kind, first or 0, second or 0)
  if status == is_pending then
    return wait()
  end
  return status
end

-- A pause gives other sessions of the thread their turn.
local function sleep_us(time_us)
  while time_us > 0 do
    local piece = math.min(time_us, 1e9)
    P.request(1, piece)
    time_us = time_us - piece
    if natives.is_given_up(context) ~= 0 then
      return
    end
  end
end

-- Events.
local more, stop = natives.more, natives.stop

local function sb_more_events(_)
  local status = more(context)
  if status == is_pending then
    return wait() == 1
  end
  return status == 1
end

local function sb_event_start(_) end

local function sb_event_stop(_)
  stop(context)
end

local function counter_number(kind)
  return tonumber(ffi.cast("int", kind))
end

-- What `ffi.C` holds besides the C library.
local exported = {
  sb_more_events = sb_more_events,
  sb_event_start = sb_event_start,
  sb_event_stop = sb_event_stop,
  sb_counter_inc = function(_, kind)
    natives.count(context, counter_number(kind), 1)
  end,
  sb_counter_add = function(_, kind, by)
    natives.count(context, counter_number(kind), tonumber(by))
  end,
  sb_counter_val = function(_, kind)
    return ffi.new("uint64_t", natives.counted(context, counter_number(kind)))
  end,
  usleep = function(time_us)
    sleep_us(tonumber(time_us))
    return 0
  end,
  sleep = function(time_s)
    sleep_us(tonumber(time_s) * 1e6)
    return 0
  end,
}
P.exported = exported
local library = raw_ffi.C
ffi.C = setmetatable({}, {
  __index = function(_, name)
    local found = exported[name]
    if found ~= nil then
      return found
    end
    return library[name]
  end,
})

-- The table `sysbench`.
sysbench = {
  tid = P.tid,
  version = P.version,
  version_string = "sysbench " .. P.version,
  -- `opt` comes when the top level has run.
  error = { NONE = 0, RESTART_EVENT = 1 },
  hooks = {},
  cmdline = {
    argv = P.arguments,
    command = P.command,
    script_path = P.script_path,
    options = {},
    commands = {},
    PARALLEL_COMMAND = true,
    ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
    ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
  },
}

function print(...)
  local parts = { ... }
  for i = 1, select("#", ...) do
    parts[i] = tostring(parts[i])
  end
  P.print(table.concat(parts, "\t") .. "\n")
end

function P.alert(text)
  P.print("ALERT: " .. text .. "\n")
end

function P.option(name)
  return sysbench.opt and sysbench.opt[name]
end

-- Options. A default says of what type an option is, unless it is told.
local types = {
  ["boolean"] = 1, ["string"] = 5, ["number"] = 4, ["table"] = 6, ["nil"] = 5,
}

local function default_text(value)
  if type(value) == "boolean" then
    return value and "on" or "off"
  elseif type(value) == "table" then
    return table.concat(value, ",")
  elseif value ~= nil then
    return tostring(value)
  end
  return false
end

local function wrong_option(text)
  error("`sysbench.cmdline.read_cmdline_options' function failed: " .. text, 0)
end

-- The options that the script declares, sorted: name, description, default, type, function that checks.
function P.declared_options()
  local all = {}
  for name, spec in pairs(sysbench.cmdline.options or {}) do
    if type(spec) ~= "table" then
      wrong_option("wrong table structure in sysbench.cmdline.options: " .. tostring(name))
    elseif spec[1] == nil then
      wrong_option("nil description for option " .. tostring(name))
    end
    local kind = spec[3] or types[type(spec[2])] or 5
    all[#all + 1] = {
      tostring(name), tostring(spec[1]), default_text(spec[2]), kind, spec[4] ~= nil,
    }
  end
  table.sort(all, function(a, b) return a[1] < b[1] end)
  return all
end

-- Whether the script takes this value for its option: a number is true, as it is in C.
function P.accepts_option(name, value)
  local verdict = sysbench.cmdline.options[name][4](name, value)
  return verdict ~= nil and verdict ~= false and verdict ~= 0
end

local forms = {
  [1] = "[=on|off]", [2] = "=N", [3] = "=SIZE", [4] = "=N", [5] = "=STRING", [6] = "=[LIST,...]",
  [7] = "=FILENAME",
}

function sysbench.cmdline.print_test_options()
  local rows, width = {}, 0
  for i, option in ipairs(P.declared_options()) do
    local default = option[3] and (" [" .. option[3] .. "]") or ""
    rows[i] = { "--" .. option[1] .. (forms[option[4]] or ""), option[2] .. default }
    width = math.max(width, #rows[i][1])
  end
  for _, row in ipairs(rows) do
    P.print("  " .. row[1] .. string.rep(" ", width - #row[1]) .. " " .. row[2] .. "\n")
  end
  P.print("\n")
end

function sysbench.cmdline.read_cmdline_options() end

-- Commands: the script's own come before `prepare`, `run`, `cleanup` and `help`.
function sysbench.cmdline.command_defined(name)
  local own = sysbench.cmdline.commands
  return type(own) == "table" and own[name] ~= nil or type(_G[name]) == "function"
end

function sysbench.cmdline.command_parallel(name)
  local own = sysbench.cmdline.commands
  local found = type(own) == "table" and own[name]
  return type(found) == "table" and found[2] == sysbench.cmdline.PARALLEL_COMMAND
end

function sysbench.cmdline.call_command(name)
  local own = sysbench.cmdline.commands
  local found = type(own) == "table" and own[name]
  if type(found) == "table" then
    local command = found[1]
    return command() ~= false
  end
  -- What a plain function returns says nothing.
  _G[name]()
  return true
end

-- The loop over events, which scripts may replace.
local restart = sysbench.error.RESTART_EVENT
-- An option may hide the library's name.
local traceback = debug.traceback
local function with_traceback(err)
  if type(err) == "string" then
    return traceback(err, 1)
  end
  return err
end

function thread_run(tid)
  local event, xpcall = event, xpcall
  while sb_more_events(tid) do
    local ok, result
    repeat
      ok, result = xpcall(event, with_traceback, tid)
      if not ok then
        if type(result) ~= "table" or result.errcode ~= restart then
          error(result, 0)
        end
        if natives.is_given_up(context) ~= 0 then
          return
        end
        local hook = sysbench.hooks.before_restart_event
        if hook then
          hook(result)
        end
      end
    until ok
    if result then
      return
    end
    stop(context)
  end
end
P.thread_run = thread_run
