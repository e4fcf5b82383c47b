-- dns-mgmt_service: the list of servers through which records can be changed.
--
-- The run collects every parent that is ACTIVE and has a service address, and returns the list as
-- wall data (attrib dns-mgmt_servers). Networks, which will add names through these servers, are
-- not part of this version.

return {
  do_transition = function(noderole, data)
    local servers, port = halligan.array{}, data['dns-mgmt'].port
    for _, parent in ipairs(noderole.parents) do
      local own = parent.data['dns-mgmt']
      if parent.state == 'active' and type(own) == 'table' and own.service_address then
        table.insert(servers, {
          address = own.service_address,
          name = own.service_name or own.default_name,
          port = port,
          url = string.format('https://%s:%d', own.service_address, port),
        })
      end
    end
    if #servers == 0 then
      return {
        result = 'failed',
        log = 'none of the dns-mgmt_server noderoles that ' .. noderole.node .. ' depends on is '
          .. 'active and has a service address; repair one of them and retry',
      }
    end
    table.sort(servers, function(a, b) return a.address < b.address end)
    return { result = 'ok', wall = { crowbar = { dns = { mgmt_servers = servers } } } }
  end,
}
