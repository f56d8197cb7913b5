-- options: --events=1
function event()
  local con = sysbench.sql.driver():connect()
  print("> row", con:query_row("SELECT 1 FROM DUAL WHERE 1 = 0"))
  local rs = con:query("SELECT 1, 2 FROM DUAL WHERE 1 = 0")
  print("> result", rs.nrows, rs.nfields, rs:fetch_row())
  print("> nulls", select("#", con:query_row("SELECT NULL, NULL")), con:query_row("SELECT NULL, 'x'"))
end
