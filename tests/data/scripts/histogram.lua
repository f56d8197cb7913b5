-- crashes: sysbench overwrites tostring
function event()
  local h = sysbench.histogram.new(100, 1, 1000)
  for i = 1, 100 do h:update(i) end
  h:update(0.1) h:update(1e6)
  print("> " .. tostring(h))
end
