print("> top " .. tostring(sysbench.tid))
function init() print("> init " .. sysbench.tid) end
function thread_init(t) print("> thread_init " .. t) end
function event(t) print("> event " .. t .. " " .. sysbench.tid) end
function thread_done(t) print("> thread_done " .. t) end
function done() print("> done") end
