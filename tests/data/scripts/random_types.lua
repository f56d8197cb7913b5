function event()
  local r = sysbench.rand
  print("> " .. select(2, pcall(r.uniform, "a", 2)))
  print("> " .. select(2, pcall(r.default, 1)))
  print("> " .. select(2, pcall(r.gaussian, nil, 1)))
  print("> " .. select(2, pcall(r.pareto, 1, {})))
  print("> " .. select(2, pcall(r.special, true, 1)))
  print("> " .. r.uniform(3.7, 3.9))
end
