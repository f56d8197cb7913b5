-- options: --events=1
function event()
  local con = sysbench.sql.driver():connect()
  con:disconnect()
  print("> twice", (pcall(con.disconnect, con)))
  local ok, err = pcall(function() con:query("SELECT 1") end)
  print("> query", ok, err:match("SQL API error"))
end
