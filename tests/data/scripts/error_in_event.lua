function event() print("> event") local x = nil x.y = 1 end
function thread_done() print("> never") end
function done() print("> never") end
