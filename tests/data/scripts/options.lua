sysbench.cmdline.options = {
  num = {"a number", 5}, flag = {"a flag", false}, text = {"a text", "x"}, list = {"a list", {"a", "b"}},
  ["with-dash"] = {"dashes", 7}, none = {"nothing"}, size = {"a size", "2K", sysbench.cmdline.ARG_SIZE},
}
function event()
  local o = sysbench.opt
  print("> " .. o.num .. " " .. tostring(o.flag) .. " " .. o.text .. " " .. #o.list .. o.list[1] .. " " .. o.with_dash)
  print("> [" .. o.none .. "] " .. o.size .. " " .. o.threads .. " " .. o.db_driver)
end
