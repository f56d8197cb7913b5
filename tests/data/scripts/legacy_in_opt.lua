-- options: --events=1 --tables=5 --empty
function event()
  print("> tables", tables, type(tables), sysbench.opt.tables, table_size)
  print("> empty", empty == "", sysbench.opt.empty == "")
end
