-- options: --events=1
print("> at the top", sysbench.opt)
function init()
  print("> in init", type(sysbench.opt))
end
function event() end
