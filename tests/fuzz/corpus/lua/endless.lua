return {
  on_todo = function() while true do end end,
  on_active = function() while true do pcall(function() while true do end end) end end,
  on_error = function() local t = {} while true do t[#t + 1] = {} end end,
  on_blocked = function() local s = 'x' while true do s = s .. s end end,
  on_proposed = function() local function f() return 1 + f() end return f() end,
  on_transition = function() ::top:: goto top end,
}
