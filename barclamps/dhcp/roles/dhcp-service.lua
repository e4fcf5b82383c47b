-- Who serves: the addresses of the servers above this noderole that work.
--
-- A server tells its address through its sysdata; whichever role it is, it counts when it is ACTIVE
-- and has one. The list goes to the wall, where whoever wants the attrib dhcp_servers finds it.

return {
  do_transition = function(noderole)
    local addresses = halligan.array{}
    for _, parent in ipairs(noderole.parents) do
      local own = parent.data.dhcp
      if parent.state == 'active' and type(own) == 'table' and own.service_address then
        table.insert(addresses, own.service_address)
      end
    end
    if #addresses == 0 then
      return {
        result = 'failed',
        log = 'none of the dhcp-server noderoles that ' .. noderole.node .. ' depends on is active '
          .. 'and knows its address; see to one of them and retry',
      }
    end
    table.sort(addresses)
    return { result = 'ok', wall = { crowbar = { dhcp = { servers = addresses } } } }
  end,
}
