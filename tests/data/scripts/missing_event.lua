function thread_init() print("> never") end
