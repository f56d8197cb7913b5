-- `sysbench.histogram` and the ready-made reports. All times of a report are seconds, as its hook gets them.
local P = ...

local histogram_methods = {}
local histogram_meta = {
  __index = histogram_methods,
  __tostring = function() return "<sb_histogram>" end,
}

sysbench.histogram = {}

-- Cells of equal ratio from `low` to `high`; what lies outside counts in the first or the last.
function sysbench.histogram.new(size, low, high)
  if not (size and size >= 2 and low > 0 and high > low) then
    error("sysbench.histogram.new: wants a size of at least 2 and 0 < min < max", 2)
  end
  local step = (math.log(high) - math.log(low)) / (size - 1)
  local self = { size = size, low = low, high = high, step = step, cells = {} }
  for i = 1, size do
    self.cells[i] = 0
  end
  return setmetatable(self, histogram_meta)
end

function histogram_methods:update(value)
  local place = 1
  if value >= self.high then
    place = self.size
  elseif value > self.low then
    place = math.floor((math.log(value) - math.log(self.low)) / self.step + 0.5) + 1
  end
  self.cells[place] = self.cells[place] + 1
end

function histogram_methods:print()
  local most = 0
  for i = 1, self.size do
    most = math.max(most, self.cells[i])
  end
  P.print("       value  ------------- distribution ------------- count\n")
  for i = 1, self.size do
    local count = self.cells[i]
    if count > 0 then
      local bar = string.rep("*", math.floor(count / most * 40 + 0.5))
      P.print(string.format("%12.3f |%-40s %d\n", self.low * math.exp((i - 1) * self.step), bar, count))
    end
  end
end

local function per_second(count, stat)
  return stat.time_interval > 0 and count / stat.time_interval or 0
end

function sysbench.report_csv(stat)
  local queries = stat.reads + stat.writes + stat.other
  P.print(string.format(
    "%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f\n",
    stat.time_total, stat.threads_running, per_second(stat.events, stat), per_second(queries, stat),
    per_second(stat.reads, stat), per_second(stat.writes, stat), per_second(stat.other, stat),
    stat.latency_pct * 1000, per_second(stat.errors, stat), per_second(stat.reconnects, stat)))
end

local json_begun = false
function sysbench.report_json(stat)
  if not json_begun then
    json_begun = true
    P.print("[\n")
    -- The list is closed when this state is.
    local guard = newproxy(true)
    getmetatable(guard).__gc = function() P.print("\n]\n") end
    P.json_guard = guard
  else
    P.print(",\n")
  end
  local queries = stat.reads + stat.writes + stat.other
  P.print(string.format([[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]],
    stat.time_total, stat.threads_running, per_second(stat.events, stat), per_second(queries, stat),
    per_second(stat.reads, stat), per_second(stat.writes, stat), per_second(stat.other, stat),
    stat.latency_pct * 1000, per_second(stat.errors, stat), per_second(stat.reconnects, stat)))
end

function sysbench.report_default(stat)
  local queries = stat.reads + stat.writes + stat.other
  P.print(string.format(
    "[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f "
      .. "err/s %4.2f reconn/s: %4.2f\n",
    stat.time_total, stat.threads_running, per_second(stat.events, stat), per_second(queries, stat),
    per_second(stat.reads, stat), per_second(stat.writes, stat), per_second(stat.other, stat),
    P.option("percentile") or 95, stat.latency_pct * 1000, per_second(stat.errors, stat),
    per_second(stat.reconnects, stat)))
end
