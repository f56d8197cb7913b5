function event()
  local function within(f, a, b) for i = 1, 200 do local n = f(a, b) if n < a or n > b then return false end end return true end
  print("> " .. tostring(within(sb_rand, 5, 9)) .. tostring(within(sb_rand_uniform, 5, 9)) .. tostring(within(sb_rand_gaussian, 5, 9)) .. tostring(within(sb_rand_special, 5, 9)) .. tostring(within(sb_rand_uniq, 1, 1000000)))
  print("> " .. tostring(sb_rand_str("###-@@@"):match("^%d%d%d%-%l%l%l$") ~= nil) .. " " .. tostring(sb_rnd() >= 0))
end
