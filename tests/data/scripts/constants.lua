function event()
  print("> " .. sysbench.version .. " " .. tostring(sysbench.version_string):sub(1, 15))
  print("> " .. sysbench.error.NONE .. sysbench.error.RESTART_EVENT)
  local c = sysbench.cmdline
  print("> " .. c.ARG_NULL .. c.ARG_BOOL .. c.ARG_INT .. c.ARG_SIZE .. c.ARG_DOUBLE .. c.ARG_STRING .. c.ARG_LIST .. c.ARG_FILE .. c.ARG_MAX)
  print("> " .. tostring(c.PARALLEL_COMMAND) .. " " .. c.command .. " " .. c.argv[0])
  local e = sysbench.sql.error
  print("> " .. e.NONE .. e.IGNORABLE .. e.FATAL)
  local t = sysbench.sql.type
  print("> " .. table.concat({t.NONE, t.TINYINT, t.SMALLINT, t.INT, t.BIGINT, t.FLOAT, t.DOUBLE, t.TIME, t.DATE, t.DATETIME, t.TIMESTAMP, t.CHAR, t.VARCHAR}, " "))
end
