-- options: --events=1 --given=a,b
sysbench.cmdline.options = {
  given = { "a list", nil, sysbench.cmdline.ARG_LIST },
  list = { "a list", nil, sysbench.cmdline.ARG_LIST },
  int = { "a whole number", nil, sysbench.cmdline.ARG_INT },
  double = { "a number", nil, sysbench.cmdline.ARG_DOUBLE },
  size = { "a size", nil, sysbench.cmdline.ARG_SIZE },
  switch = { "a switch", nil, sysbench.cmdline.ARG_BOOL },
  file = { "a file", nil, sysbench.cmdline.ARG_FILE },
  text = { "a text" },
}
function event()
  for _, name in ipairs({ "given", "list", "int", "double", "size", "switch", "file", "text" }) do
    local value = sysbench.opt[name]
    print("> " .. name, type(value), type(value) == "table" and table.concat(value, ";") or tostring(value))
  end
end
