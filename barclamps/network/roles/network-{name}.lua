-- network-{name}: the addresses of a machine in one network.
--
-- sysdata computes what the scripts configure: the addresses with the settings of their interfaces,
-- and the addresses that must be reachable afterwards. If an address of the machine is added or
-- removed later, the noderole is run again. A change of the network itself runs nothing: it would
-- reconfigure all machines at once.

-- The members of a conduit in byte order, so that the order in which they were entered has no
-- effect.
local function sorted_conduit(conduit)
  local members = halligan.split(conduit, ',')
  table.sort(members)
  return table.concat(members, ',')
end

local function is_v6(address)
  return halligan.find(address, ':') ~= nil
end

-- The router of the network if it has the family of the address; else nil.
local function router_for(network, address)
  local router = network.router
  if not router or is_v6(router.address) ~= is_v6(address) then
    return nil
  end
  return { address = router.address, pref = router.pref }
end

-- Addresses to ping: those of another machine whose noderole is ACTIVE, else the own ones.
local function targets_of(noderole, context)
  local from = noderole.addresses
  for _, nr in ipairs(context.noderoles) do
    if nr.id ~= noderole.id and nr.state == 'active' and #nr.addresses > 0 then
      from = nr.addresses
      break
    end
  end
  local targets = halligan.array{}
  for _, address in ipairs(from) do
    table.insert(targets, halligan.split(address.address, '/')[1])
  end
  table.sort(targets)
  return targets
end

local function sysdata(noderole, context)
  local network = noderole.network
  local addresses, config = halligan.array{}, {}
  for _, own in ipairs(noderole.addresses) do
    table.insert(addresses, own.address)
    config[own.address] = {
      network = network.name,
      range = own.range,
      conduit = sorted_conduit(own.conduit),
      vlan = own.vlan,
      use_vlan = own.use_vlan,
      use_bridge = own.use_bridge,
      team_mode = own.team_mode,
      use_team = own.use_team,
      category = network.category,
      group = network.group,
      pbr = network.pbr,
      router = router_for(network, own.address),
    }
  end
  table.sort(addresses)
  return {
    crowbar = {
      network_name = network.name, -- the staged data may also have networks of parents
      network = {
        [network.name] = {
          addresses = addresses,
          targets = targets_of(noderole, context),
          conduit = sorted_conduit(network.conduit),
          vlan = network.vlan,
          use_vlan = network.use_vlan,
          use_bridge = network.use_bridge,
          team_mode = network.team_mode,
          use_team = network.use_team,
          configure = network.configure,
          config = config,
        },
      },
    },
  }
end

-- A noderole that is not committed has not configured anything. If the list is not complete, the
-- first noderoles of the role are run again: a run whose addresses are unchanged changes nothing.
local function run_again(changed, context)
  for _, allocation in ipairs(changed.allocations) do
    local nr = allocation.noderole
    if nr and nr.state ~= 'proposed' then
      halligan.enqueue(halligan.maybe(nr))
    end
  end
  for _, nr in ipairs(changed.more and context.noderoles or {}) do
    if nr.state ~= 'proposed' then
      halligan.enqueue(halligan.maybe(nr))
    end
  end
end

return {
  sysdata = sysdata,
  on_network_allocation_create = run_again,
  on_network_allocation_delete = run_again,
}
