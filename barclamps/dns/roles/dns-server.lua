-- dns-server: the DNS server.
--
-- sysdata computes the service address, which is the address of its node in the admin network, and
-- the defaults of the set name and the domain. A deployment may set both values, and sysdata
-- overrides the data of a deployment; therefore the defaults are stored under keys of their own
-- (default_name, default_domain) and are used only if nothing is set. template has the initial
-- values of a zone.

-- Runs the noderole again if the address that it announces may have changed.
local function on_address(changed)
  for _, allocation in ipairs(changed.allocations) do
    local nr = allocation.noderole
    if nr and nr.state ~= 'proposed' and allocation.category == 'admin' then
      halligan.enqueue(halligan.maybe(nr))
    end
  end
end

-- The part of a name after its first dot.
local function domain_of(name)
  local dot = halligan.find(name, '.')
  return dot and string.sub(name, dot + 1) or name
end

return {
  sysdata = function(noderole)
    local address = noderole.host.admin_address
    if address == '' then
      error('node ' .. noderole.node .. ' has no address in the admin network: set its attrib '
        .. 'hint-admin-v4addr (like 192.168.124.10/24), or set admin-address and restart halligand '
        .. 'if the node was made for its host; then retry', 0)
    end
    return {
      dns = {
        service_address = halligan.split(address, '/')[1],
        default_name = noderole.deployment,
        default_domain = domain_of(noderole.node),
      },
    }
  end,

  template = function()
    return {
      dns = {
        contact = 'support.localhost.localdomain',
        forwarders = halligan.array{},
        ttl = '1h',
        slave_refresh = '1d',
        slave_retry = '2h',
        slave_expire = '4w',
        negative_cache = 300,
      },
    }
  end,
  on_network_allocation_create = on_address,
  on_network_allocation_delete = on_address,
}
