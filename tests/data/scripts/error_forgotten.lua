-- options: --events=1
-- A statement that succeeds leaves nothing of the error before it.
function event()
  local con = sysbench.sql.driver():connect()
  pcall(con.query, con, "SELECT no_such_column")
  print("> after the error", con.error == sysbench.sql.error.FATAL, con.sql_errno)
  print("> its words", ffi.string(con.sql_state), ffi.string(con.sql_errmsg):match("^Unknown column"))
  con:query("SELECT 1")
  print("> after success", con.error == sysbench.sql.error.NONE, con.sql_errno, con.sql_state == nil)
end
