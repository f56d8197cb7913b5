-- options: --events=1
-- A bulk insert that fails names the line of the script that called it.
function event()
  local con = sysbench.sql.driver():connect()
  con:bulk_insert_init("INSERT INTO no_such_table VALUES")
  con:bulk_insert_next("(1)")
  local ok, err = pcall(function()
    con:bulk_insert_done()
  end)
  print("> done", ok, err:match("[^/]+$"))
end
