-- `--where` says in which function of a thread it fails.
sysbench.cmdline.options = { where = { "where it fails", "" } }
function thread_init() if sysbench.opt.where == "init" then error("in thread_init") end end
function thread_done() if sysbench.opt.where == "done" then error("in thread_done") end end
function event() if sysbench.opt.where == "event" then error("in event") end end
