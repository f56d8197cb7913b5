function init() error("no init") end
function event() print("> never") end
