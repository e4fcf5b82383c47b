-- Says each state it enters.

local function told(hook)
  return function(noderole)
    halligan.log(hook .. ': ' .. noderole.role .. ' on ' .. noderole.node .. ' is '
      .. noderole.state)
  end
end

return {
  on_proposed = told('on_proposed'),
  on_todo = told('on_todo'),
  on_transition = told('on_transition'),
  on_active = told('on_active'),
  on_blocked = told('on_blocked'),
  on_error = told('on_error'),
}
