-- options: --events=3
local n = 0
function event() n = n + 1 print("> event " .. n) return false end
