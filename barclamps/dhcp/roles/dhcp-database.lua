-- dhcp-database: the DHCP entry of each machine.
--
-- A managed machine with an address in the admin network and at least one hardware address is a
-- client: { mac_addresses, v4addr, bootenv, generation, node_id }. The flow of a change:
--
--   1. on_node_change writes the entry of the node to the system data of every noderole of this
--      role (attrib dhcp-clients).
--   2. The run publishes the entries and returns in its wall data what it has published (attrib
--      dhcp-published).
--   3. on_active writes the published boot environment to each node (attrib dhcp-active-bootstate),
--      where an installation waits for it, and acknowledges the boot generation of the node, for
--      which power actions wait (flag serves-boot).
--
-- If a run fails, waiting installations get "failed: ..." instead of a boot environment.

local MANAGED, JOINED = 'crowbar-managed-node', 'crowbar-joined-node'
local ASKED = 'asked' -- value of the bootstate attrib: the node requests a new acknowledgement
-- A hook may return at most 1,000 commands. on_active needs up to two commands for each node, a
-- failure one.
local NOTIFY_MAX = 300 -- nodes that one call of on_active notifies
local FAIL_MAX = 900 -- nodes that one call notifies of a failure

-- The value at a path, or nil. Any value of a document may have any type.
local function at(tree, ...)
  for _, key in ipairs({ ... }) do
    if type(tree) ~= 'table' then
      return nil
    end
    tree = tree[key]
  end
  return tree
end

local function is_text(value)
  return type(value) == 'string' and value ~= ''
end

local function installs(bootenv)
  return is_text(bootenv) and halligan.match(bootenv, [[-install\z]])
end

-- A hardware address in upper case with colons, or nil if the text is not one.
local function mac_of(text)
  if not is_text(text) or not halligan.match(text, [[\A\h{2}([:-]\h{2}){5}\z]]) then
    return nil
  end
  return string.upper(table.concat(halligan.split(text, '-'), ':'))
end

-- The hardware addresses from hints and discovery, without duplicates, sorted.
local function macs_of(node)
  local found, list = {}, halligan.array{}
  local function take(text)
    local mac = mac_of(text)
    if mac and not found[mac] then
      found[mac] = true
      table.insert(list, mac)
    end
  end
  for _, text in ipairs(at(node.data, 'admin_macs') or {}) do
    take(text)
  end
  for _, interface in pairs(at(node.data, 'ohai', 'network', 'interfaces') or {}) do
    for address, facts in pairs(at(interface, 'addresses') or {}) do
      if at(facts, 'family') == 'lladdr' then
        take(address)
      end
    end
  end
  table.sort(list)
  return list
end

-- The first IPv4 address that the node has in a network of category admin, else the hinted one.
local function address_of(node)
  for _, own in ipairs(node.addresses or {}) do
    if own.category == 'admin' and not halligan.find(own.address, ':') then
      return own.address
    end
  end
  return at(node.data, 'admin-v4addr')
end

-- The entry of a node, or nil if it has none. A machine that joined with its own operating system
-- boots from its disk and needs no entry.
local function entry_of(node)
  local address, macs = address_of(node), macs_of(node)
  if not node.roles[MANAGED] or not is_text(address) or #macs == 0
    or (node.roles[JOINED] and node.bootenv == 'local') then
    return nil
  end
  return {
    mac_addresses = macs,
    v4addr = address,
    bootenv = node.bootenv,
    generation = node.boot_generation,
    node_id = node.id,
  }
end

local function is_number(value)
  return math.type(value) == 'integer'
end

-- A string that identifies the published state of a client. It differs for another boot
-- environment, another generation, or another node of the same name. nil if the client has no boot
-- environment.
local function mark_of(client)
  local bootenv, generation = at(client, 'bootenv'), at(client, 'generation')
  if not is_text(bootenv) then
    return nil
  end
  if not is_number(generation) or not is_number(client.node_id) then
    return bootenv -- published by a version without boot generations
  end
  return string.format('%s %d/%d', bootenv, client.node_id, generation)
end

-- Each noderole of this role acknowledges a generation separately: a restart of the machine waits
-- for all of them (docs/spec/hooks.md, "Both databases").
local function acknowledge(node, noderole, generation)
  if is_number(generation) and generation > 0 then
    halligan.boot_served(node, halligan.maybe(noderole), generation)
  end
end

-- Only the entry of one node is written, so that two concurrent changes cannot overwrite each other
-- (docs/spec/hooks.md, "Concurrent node changes"). halligan.hurry raises the priority of the run
-- that a changed entry causes, and does nothing if the entry is the same.
local function put_entry(noderoles, name, entry)
  for _, nr in ipairs(noderoles) do
    halligan.set_attrib('noderole', halligan.maybe(nr), 'dhcp-clients', { [name] = entry })
    halligan.hurry(halligan.maybe(nr))
  end
end

-- An installation requested a new acknowledgement: what is published from now on is reported again,
-- also if it is the same as before. Deleting the note makes on_active report it.
local function acknowledge_again(noderoles, name)
  for _, nr in ipairs(noderoles) do
    halligan.set_attrib('noderole', halligan.maybe(nr), 'dhcp-acknowledged',
      { [name] = halligan.null }, 'note')
    halligan.enqueue(halligan.maybe(nr))
  end
end

-- True if every noderole of this role is in ERROR. An installation that waits for them is then
-- failed at once instead of at its deadline (docs/spec/hooks.md, "Database cannot run").
local function all_failed(noderoles)
  for _, nr in ipairs(noderoles) do
    if nr.state ~= 'error' then
      return false
    end
  end
  return #noderoles > 0
end

local function report_failure(node, noderoles)
  local reason = 'failed: dhcp-database is in error on ' .. noderoles[1].node
  halligan.set_attrib('node', node, 'dhcp-active-bootstate', reason)
  for _, nr in ipairs(noderoles) do
    halligan.set_attrib('noderole', halligan.maybe(nr), 'dhcp-acknowledged',
      { [node.name] = reason }, 'note')
  end
end

-- Reports the failure to the machines that wait to be installed, so that their runs end now. The
-- next success reports to them again, because the note differs from what is published then.
--
-- A state hook is called once. If more than FAIL_MAX machines wait, the attrib `dhcp-told` of the
-- database's own node is changed: that calls on_node_change, which continues with the rest.
local function report_failure_to_waiting(noderole)
  local wanted = at(noderole.data, 'crowbar', 'dhcp', 'clients') or {}
  local known = at(noderole.notes, 'acknowledged') or {}
  local reason = 'failed: dhcp-database is in error on ' .. noderole.node
  local noted, count, last = {}, 0, nil
  for name, client in pairs(wanted) do
    local waits = known[name] ~= mark_of(client) and known[name] ~= reason
    if installs(at(client, 'bootenv')) and waits then
      if count == FAIL_MAX then
        local seen = at(noderole.host, 'hint', 'dhcp-told') == last
        halligan.set_attrib('node', noderole.node_id, 'dhcp-told', seen and last .. '+' or last)
        break
      end
      halligan.set_attrib('node', halligan.maybe(name), 'dhcp-active-bootstate', reason)
      noted[name] = reason
      count, last = count + 1, name
    end
  end
  if count > 0 then
    halligan.set_attrib('noderole', noderole, 'dhcp-acknowledged', noted, 'note')
  end
end

local function refresh(node, context)
  local entry = entry_of(node)
  put_entry(context.noderoles, node.name, entry or halligan.null)
  for _, nr in ipairs(entry and {} or context.noderoles) do
    -- without an entry there is nothing to serve
    acknowledge(halligan.maybe(node), nr, node.boot_generation)
  end
  if node.data['dhcp-active-bootstate'] == ASKED then
    acknowledge_again(context.noderoles, node.name)
  end
  if entry and installs(entry.bootenv) and all_failed(context.noderoles)
    and node.data['dhcp-active-bootstate'] ~= entry.bootenv then
    report_failure(node, context.noderoles)
  end
  if context.noderole and context.noderole.state == 'error' then
    report_failure_to_waiting(context.noderole)
  end
end

return {
  on_node_create = refresh,
  on_node_change = refresh,

  on_node_delete = function(node, context)
    if node.taken then -- the hook is late: another node has the name now
      return
    end
    put_entry(context.noderoles, node.name, halligan.null)
    for _, nr in ipairs(context.noderoles) do
      halligan.set_attrib('noderole', halligan.maybe(nr), 'dhcp-acknowledged',
        { [node.name] = halligan.null }, 'note')
    end
  end,

  -- Reports to each node what the run has published for it. Reported states are stored as notes, so
  -- that the next call reports only new ones. A node that was deleted meanwhile is ignored
  -- (halligan.maybe). If more than NOTIFY_MAX nodes are new, the database is run again for the
  -- rest.
  on_active = function(noderole)
    local published = at(noderole.wall, 'crowbar_wall', 'dhcp', 'clients') or {}
    local known = at(noderole.notes, 'acknowledged') or {}
    local noted, count, more = {}, 0, false
    for name, client in pairs(published) do
      local mark = mark_of(client)
      if mark and known[name] ~= mark then
        if count == NOTIFY_MAX then
          more = true
          break
        end
        local node = halligan.maybe(is_number(client.node_id) and client.node_id or name)
        halligan.set_attrib('node', node, 'dhcp-active-bootstate', client.bootenv)
        acknowledge(node, noderole, client.generation)
        noted[name] = mark
        count = count + 1
      end
    end
    for name in pairs(known) do
      if published[name] == nil then
        noted[name] = halligan.null
      end
    end
    halligan.set_attrib('noderole', noderole, 'dhcp-acknowledged', noted, 'note')
    if more then
      halligan.enqueue(noderole)
    end
  end,

  on_error = report_failure_to_waiting,
}
