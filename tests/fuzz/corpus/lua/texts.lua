return { on_active = function(nr)
  local parts = halligan.split('10.0.0.5/24', '/')
  assert(halligan.match(parts[1], '^[0-9.]+$') and halligan.find(parts[1], '.5') == 7)
  local t = {}
  for k, v in pairs(nr) do t[#t + 1] = ('%s=%q'):format(k, tostring(v)) end
  table.sort(t, function(a, b) return a > b end)
  t = table.concat(t, ','):upper():sub(2, -2):rep(3, '-'):reverse()
  return select('#', table.unpack({ t:byte(1, 5) })) == 5 and nil or nil
end }
