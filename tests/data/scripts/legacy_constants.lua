function event()
  print("> " .. DB_ERROR_NONE .. DB_ERROR_RESTART_TRANSACTION .. DB_ERROR_FAILED)
  print("> " .. mysql_table_engine .. " " .. myisam_max_rows .. " " .. thread_id)
  print("> " .. tostring(test):match("[^/]*$"))
end
