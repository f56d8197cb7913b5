-- options: --events=1
function event()
  local con = sysbench.sql.driver():connect()
  local wrong = "attempt to get length of local 'query' %(a %l+ value%)"
  print("> nil", select(2, pcall(con.query, con, nil)):match(wrong))
  print("> number", select(2, pcall(con.query, con, 5)):match(wrong))
end
