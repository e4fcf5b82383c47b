-- dhcp-server: the DHCP server. The boot server gets networks, ranges and routers with the boot view.
--
-- sysdata computes the service address: the address of its node in the admin network. Without an
-- address no client could use the server, so the hook fails and the noderole changes to ERROR.

-- Runs the noderole again if the address that it announces may have changed.
local function on_address(changed)
  for _, allocation in ipairs(changed.allocations) do
    local nr = allocation.noderole
    if nr and nr.state ~= 'proposed' and allocation.category == 'admin' then
      halligan.enqueue(halligan.maybe(nr))
    end
  end
end

return {
  sysdata = function(noderole)
    local address = noderole.host.admin_address
    if address == '' then
      error('node ' .. noderole.node .. ' has no address in the admin network: set its attrib '
        .. 'hint-admin-v4addr (like 192.168.124.10/24), or set admin-address and restart halligand '
        .. 'if the node was made for its host; then retry', 0)
    end
    return { dhcp = { service_address = halligan.split(address, '/')[1] } }
  end,
  on_network_allocation_create = on_address,
  on_network_allocation_delete = on_address,
}
