-- options: --events=1
package.path, package.cpath = "./?.lua", "./?.so"
local ok, err = pcall(require, "no.such_module")
print("> found", ok, err:match("module 'no.such_module' not found"), err:match("no file './no/such_module.lua'"))
function event() end
