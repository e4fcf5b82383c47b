-- test-event: logs each state that the noderole enters.

local function logged(hook)
  return function(noderole)
    halligan.log(hook .. ': ' .. noderole.role .. ' on ' .. noderole.node .. ' is '
      .. noderole.state)
  end
end

return {
  on_proposed = logged('on_proposed'),
  on_todo = logged('on_todo'),
  on_transition = logged('on_transition'),
  on_active = logged('on_active'),
  on_blocked = logged('on_blocked'),
  on_error = logged('on_error'),
}
