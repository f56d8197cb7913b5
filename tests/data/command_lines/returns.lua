function prepare() return 0 end
function cleanup() return false end
sysbench.cmdline.commands = {
  nothing = { function() end },
  zero = { function() return 0 end },
  no = { function() return false end },
  broken = { function() error("in a command") end },
}
