-- differs: db_query gives no result in sysbench
function event()
  db_query("DROP TABLE IF EXISTS lt")
  db_query("CREATE TABLE lt (id INT)")
  db_bulk_insert_init("INSERT INTO lt VALUES")
  for i = 1, 5 do db_bulk_insert_next("(" .. i .. ")") end
  db_bulk_insert_done()
  local rs = db_query("SELECT SUM(id) FROM lt")
  print("> " .. tostring(db_driver) .. " " .. rs:fetch_row()[1])
  db_query("DROP TABLE lt")
end
