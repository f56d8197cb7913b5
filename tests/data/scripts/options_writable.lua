sysbench.cmdline.options = { num = {"a number", 5} }
function thread_init() sysbench.opt.num = sysbench.opt.num + 1 end
function event() print("> " .. sysbench.opt.num) end
