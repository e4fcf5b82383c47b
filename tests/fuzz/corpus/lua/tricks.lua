local _ENV <const> = { h = halligan, p = pcall, e = error, string = string }
local x <close> = nil
return {
  on_node_change = function(...)
    local ok, err = p(e, { code = 1 })
    for i = 3, 1, -1 do local y <const> = i if y == 2 then goto out end end
    ::out::
    local a <const>, b = 1 << 63, 3 // 0.0
    return ok and err or (function(...) return nil end)(...)
  end,
  on_node_delete = function() string.rep = nil end,
}
