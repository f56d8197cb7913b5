-- options: --events=1
function event()
  local ok, err = pcall(function() return sysbench.sql.driver("nope") end)
  print("> driver", ok, err:match("[^/]+$"))
end
