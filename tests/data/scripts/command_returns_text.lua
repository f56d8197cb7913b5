-- command: fill
sysbench.cmdline.commands = { fill = { function() print("> filled") return "text" end } }
