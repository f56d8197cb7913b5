-- options: --events=5
function event() print("> event") return true end
function thread_done() print("> thread_done") end
