-- command: prepare
sysbench.cmdline.commands = { prepare = {function() print("> own") end} }
function prepare() print("> plain") end
