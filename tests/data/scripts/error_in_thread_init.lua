function thread_init() error("no thread") end
function event() print("> never") end
