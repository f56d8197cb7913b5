-- `--how` says how.
function prepare() error("in prepare") end
function event()
  if how == "table" then error({ code = 5 }) end
  if how == "nothing" then error() end
  if how == "" then error("a switch is an empty text") end
end
