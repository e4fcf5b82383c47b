-- puppet-agent_sa: sysdata sets the name that Puppet uses for the machine to the name of its node.

return {
  sysdata = function(noderole)
    return { crowbar = { ['puppet-agent-sa'] = { name = noderole.node } } }
  end,
}
