-- options: --events=1
-- Whether there are events is looked at after init.
function init()
  print("> init")
  function event_of_mine() end
end
