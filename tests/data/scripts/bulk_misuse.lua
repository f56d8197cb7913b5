-- options: --events=1
-- Who begins anew forgets what was not sent; only a row without a beginning is an error.
function event()
  local con = sysbench.sql.driver():connect()
  print("> row first", pcall(con.bulk_insert_next, con, "(1)"))
  print("> end first", (pcall(con.bulk_insert_done, con)))
  con:query("CREATE TEMPORARY TABLE bulk_a (i INT)")
  con:query("CREATE TEMPORARY TABLE bulk_b (i INT)")
  con:bulk_insert_init("INSERT INTO bulk_a VALUES")
  con:bulk_insert_next("(1)")
  con:bulk_insert_init("INSERT INTO bulk_b VALUES")
  con:bulk_insert_next("(2)")
  con:bulk_insert_done()
  print("> rows", (con:query_row("SELECT COUNT(*) FROM bulk_a")), (con:query_row("SELECT i FROM bulk_b")))
end
