sysbench.cmdline.options = {
  list = { "a list", nil, sysbench.cmdline.ARG_LIST },
  file = { "a file", nil, sysbench.cmdline.ARG_FILE },
  size = { "a size", "4K", sysbench.cmdline.ARG_SIZE },
  switch = { "a switch", true },
  many_words = { "a name of two words", 1000000 },
  percent = {
    "a number that is checked", 50, sysbench.cmdline.ARG_INT,
    function(name, value) return tonumber(ffi.string(value)) <= 100 end,
  },
}
sysbench.cmdline.commands = { show = { function() sysbench.cmdline.print_test_options() end } }
function event() print(sysbench.opt.percent == 75 and "as given" or "not as given") end
