-- `sysbench.rand`, drawn by the natives.
local P = ...
local ffi = require("ffi")
local context, natives = P.context, P.natives
local random = natives.random

sysbench.rand = {}
local kinds = { default = 0, uniform = 1, gaussian = 2, special = 3, pareto = 4, zipfian = 5 }
local random_wide = natives.random_wide

-- What is no number is refused in the words of a call of C, which is what scripts see in sysbench.
local function number_of(place, value)
  local kind = type(value)
  if kind == "number" or kind == "cdata" then
    return value
  elseif kind == "boolean" then
    return value and 1 or 0
  end
  local why = "bad argument #%d to '?' (cannot convert '%s' to 'unsigned int')"
  error(why:format(place, kind), 0)
end

-- Beyond 2^53 numbers of Lua have gaps: there both ends are written as 1ULL, and so is what comes.
for name, kind in pairs(kinds) do
  sysbench.rand[name] = function(low, high)
    if type(high) == "cdata" then
      return random_wide(context, kind, low, high)
    end
    return random(context, kind, number_of(1, low), number_of(2, high))
  end
end

function sysbench.rand.unique()
  return random(context, -1, 0, 0)
end

function sysbench.rand.uniform_uint64()
  return natives.random_u64(context)
end

function sysbench.rand.uniform_double()
  return natives.random_fraction(context)
end

function sysbench.rand.string(format)
  natives.random_string(context, format, #format)
  return ffi.string(context.text, context.text_length)
end

function sysbench.rand.varstring(least, most)
  natives.random_length_string(context, least, most)
  return ffi.string(context.text, context.text_length)
end

-- The same as C functions.
for name, kind in pairs(kinds) do
  P.exported["sb_rand_" .. name] = function(low, high)
    return random(context, kind, tonumber(low), tonumber(high))
  end
end
P.exported.sb_rand_unique = sysbench.rand.unique
P.exported.sb_rand_uniform_uint64 = sysbench.rand.uniform_uint64
P.exported.sb_rand_uniform_double = sysbench.rand.uniform_double
