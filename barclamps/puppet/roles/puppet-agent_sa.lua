-- Puppet calls the machine what we call it.

return {
  sysdata = function(noderole)
    return { crowbar = { ['puppet-agent-sa'] = { name = noderole.node } } }
  end,
}
