-- command: prewarm
sysbench.cmdline.commands = { prewarm = {function() print("> prewarm " .. sysbench.tid) end} }
function event() end
