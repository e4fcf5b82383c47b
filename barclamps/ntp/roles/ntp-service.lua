-- ntp-service: the list of active time servers.
--
-- The run collects the service address of every parent that is ACTIVE and has one; sysdata of
-- ntp-server computes it. The list is returned as wall data, from which roles that want the attrib
-- ntp_servers read it.

return {
  do_transition = function(noderole)
    local addresses = halligan.array{}
    for _, parent in ipairs(noderole.parents) do
      local own = parent.data.ntp
      if parent.state == 'active' and type(own) == 'table' and own.service_address then
        table.insert(addresses, own.service_address)
      end
    end
    if #addresses == 0 then
      return {
        result = 'failed',
        log = 'none of the ntp-server noderoles that ' .. noderole.node .. ' depends on is active '
          .. 'and has a service address; repair one of them and retry',
      }
    end
    table.sort(addresses)
    return { result = 'ok', wall = { crowbar = { ntp = { servers = addresses } } } }
  end,
}
