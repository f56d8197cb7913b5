-- command: prepare
-- What a plain function returns says nothing.
function prepare()
  print("> prepared")
  return false
end
