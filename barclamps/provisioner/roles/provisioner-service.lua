-- provisioner-service: the list of active web servers.
--
-- The run collects every parent that is ACTIVE and has a service address, and returns the list as
-- wall data, from which roles that want the attrib provisioner-webservers read it.

return {
  do_transition = function(noderole, data)
    local servers, port = halligan.array{}, data.provisioner.web_port
    for _, parent in ipairs(noderole.parents) do
      local own = parent.data.provisioner
      if parent.state == 'active' and type(own) == 'table' and own.service_address then
        table.insert(servers, {
          address = own.service_address,
          port = port,
          url = string.format('http://%s:%d', own.service_address, port),
        })
      end
    end
    if #servers == 0 then
      return {
        result = 'failed',
        log = 'none of the provisioner-server noderoles that ' .. noderole.node .. ' depends on '
          .. 'is active and has a service address; repair one of them and retry',
      }
    end
    table.sort(servers, function(a, b) return a.address < b.address end)
    return {
      result = 'ok',
      wall = { crowbar = { provisioner = { server = { webservers = servers } } } },
    }
  end,
}
