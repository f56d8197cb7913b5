-- options: --oltp-table-size=10000
function event()
  print("> " .. oltp_table_size .. " " .. type(oltp_table_size) .. " " .. tostring(db_driver))
end
