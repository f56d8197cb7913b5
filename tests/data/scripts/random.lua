function event()
  local r = sysbench.rand
  local function within(f, a, b) for i = 1, 500 do local n = f(a, b) if n < a or n > b or n % 1 ~= 0 then return false end end return true end
  print("> " .. tostring(within(r.default, 3, 7)) .. tostring(within(r.uniform, 3, 7)) .. tostring(within(r.gaussian, 3, 7)) .. tostring(within(r.special, 3, 7)) .. tostring(within(r.pareto, 3, 7)))
  print("> " .. r.uniform(4, 4) .. " " .. tostring(r.uniform_double() < 1) .. " " .. type(r.uniform_uint64()))
  local seen = {}
  for i = 1, 1000 do local n = r.unique() if seen[n] then print("> twice") end seen[n] = true end
  print("> " .. #r.string("a#@b") .. " " .. tostring(r.string("a#@b"):match("^a%d%lb$") ~= nil))
end
