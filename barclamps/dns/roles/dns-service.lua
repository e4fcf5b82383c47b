-- dns-service: the list of active DNS servers.
--
-- The run collects every parent that is ACTIVE and has a service address, and returns the list as
-- wall data, from which roles that want the attrib dns_servers read it.

return {
  do_transition = function(noderole)
    local servers = halligan.array{}
    for _, parent in ipairs(noderole.parents) do
      local own = parent.data.dns
      if parent.state == 'active' and type(own) == 'table' and own.service_address then
        table.insert(servers, {
          address = own.service_address,
          name = own.service_name or own.default_name,
          type = 'BIND',
        })
      end
    end
    if #servers == 0 then
      return {
        result = 'failed',
        log = 'none of the dns-server noderoles that ' .. noderole.node .. ' depends on is active '
          .. 'and has a service address; repair one of them and retry',
      }
    end
    table.sort(servers, function(a, b) return a.address < b.address end)
    return { result = 'ok', wall = { crowbar = { dns = { nameservers = servers } } } }
  end,
}
