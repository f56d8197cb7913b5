-- command: prepare
function prepare() print("> prepare " .. sysbench.cmdline.command .. " " .. sysbench.tid) end
function event() end
