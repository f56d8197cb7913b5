-- options: --num=1e3 --flag --text=hello --list=q,r,s --with_dash=9
sysbench.cmdline.options = {
  num = {"a number", 5}, flag = {"a flag", false}, text = {"a text", "x"}, list = {"a list", {"a", "b"}},
  ["with-dash"] = {"dashes", 7},
}
function event()
  local o = sysbench.opt
  print("> " .. o.num .. " " .. tostring(o.flag) .. " " .. o.text .. " " .. #o.list .. o.list[1] .. " " .. o.with_dash)
end
