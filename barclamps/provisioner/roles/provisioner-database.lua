-- What each machine boots.
--
-- A managed machine with an address in the admin network and at least one hardware address is a
-- client: { v4addr, bootenv, generation, node_id }, and while it is to be installed also rootdev,
-- the disk for it. Entries lie in the system data of every noderole of this role (attrib
-- provisioner-clients); its run publishes them and answers through the wall what it has published
-- (attrib provisioner-published). Then each node is told, in its attrib
-- provisioner-active-bootstate, and whoever waits for a boot environment to be in force sees it
-- there; and power that waits for the node's boot generation goes on (flag serves-boot).

local MANAGED, JOINED = 'crowbar-managed-node', 'crowbar-joined-node'
local ASKED = 'asked' -- instead of a boot environment: the node waits to be told again
local TELL_MAX = 300 -- nodes that one call tells; a hook may wish for 1,000 things
local FAIL_MAX = 900 -- the same for bad news, which come one wish each

-- What lies at a path, or nil: documents may have anything anywhere.
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

local function is_mac(text)
  return is_text(text) and halligan.match(text, [[\A\h{2}([:-]\h{2}){5}\z]])
end

-- Hinted or discovered: without one it can never ask.
local function has_mac(node)
  for _, text in ipairs(at(node.data, 'admin_macs') or {}) do
    if is_mac(text) then
      return true
    end
  end
  for _, interface in pairs(at(node.data, 'ohai', 'network', 'interfaces') or {}) do
    for address, facts in pairs(at(interface, 'addresses') or {}) do
      if at(facts, 'family') == 'lladdr' and is_mac(address) then
        return true
      end
    end
  end
  return false
end

-- X18: a machine that only joined boots from its disk; there is nothing to serve.
local function entry_of(node)
  local address = at(node.data, 'admin-v4addr')
  if not node.roles[MANAGED] or not is_text(address) or not has_mac(node)
    or (node.roles[JOINED] and node.bootenv == 'local') then
    return nil
  end
  local rootdev = installs(node.bootenv) and at(node.data, 'operating-system-disk')
  return {
    v4addr = address,
    bootenv = node.bootenv,
    generation = node.boot_generation,
    node_id = node.id,
    rootdev = is_text(rootdev) and rootdev or halligan.null,
  }
end

local function is_number(value)
  return math.type(value) == 'integer'
end

-- What a client is told about, in short: another boot environment, another generation, or another
-- node of the same name is something new. nil: nothing that could be told.
local function mark_of(client)
  local bootenv, generation = at(client, 'bootenv'), at(client, 'generation')
  if not is_text(bootenv) then
    return nil
  end
  if not is_number(generation) or not is_number(client.node_id) then
    return bootenv -- published when there were no generations yet
  end
  return string.format('%s %d/%d', bootenv, client.node_id, generation)
end

-- X9: each noderole speaks for itself; whoever restarts the machine waits for all of them.
local function acknowledge(node, noderole, generation)
  if is_number(generation) and generation > 0 then
    halligan.boot_served(node, halligan.maybe(noderole), generation)
  end
end

-- X11: one node's entry and nothing else, so that no two changes can undo each other. A run is only
-- hurried when the entry gave it something to do.
local function put_entry(noderoles, name, entry)
  for _, nr in ipairs(noderoles) do
    halligan.set_attrib('noderole', halligan.maybe(nr), 'provisioner-clients', { [name] = entry })
    halligan.hurry(halligan.maybe(nr))
  end
end

-- X1: somebody wants to know what is published from now on, also when it is what it was before.
local function tell_again(noderoles, name)
  for _, nr in ipairs(noderoles) do
    halligan.set_attrib('noderole', halligan.maybe(nr), 'provisioner-acknowledged',
      { [name] = halligan.null }, 'note')
    halligan.enqueue(halligan.maybe(nr))
  end
end

-- X8: whoever waits for a database that is out of order must not wait for its deadline.
local function all_failed(noderoles)
  for _, nr in ipairs(noderoles) do
    if nr.state ~= 'error' then
      return false
    end
  end
  return #noderoles > 0
end

local function tell_failure(node, noderoles)
  local reason = 'failed: provisioner-database is in error on ' .. noderoles[1].node
  halligan.set_attrib('node', node, 'provisioner-active-bootstate', reason)
  for _, nr in ipairs(noderoles) do
    halligan.set_attrib('noderole', halligan.maybe(nr), 'provisioner-acknowledged',
      { [node.name] = reason }, 'note')
  end
end

-- X8: machines that wait to be installed learn that they wait in vain. The next success tells them
-- again, because what was noted is not what will be published. Nobody calls this again by itself,
-- so where more are left the database's own node is given something new to look at: the change of
-- that node goes on here.
local function tell_waiting(noderole)
  local wanted = at(noderole.data, 'crowbar', 'provisioner', 'clients') or {}
  local known = at(noderole.notes, 'acknowledged') or {}
  local reason = 'failed: provisioner-database is in error on ' .. noderole.node
  local noted, told, last = {}, 0, nil
  for name, client in pairs(wanted) do
    local waits = known[name] ~= mark_of(client) and known[name] ~= reason
    if installs(at(client, 'bootenv')) and waits then
      if told == FAIL_MAX then
        local seen = at(noderole.host, 'hint', 'provisioner-told') == last
        halligan.set_attrib('node', noderole.node_id, 'provisioner-told', seen and last .. '+' or last)
        break
      end
      halligan.set_attrib('node', halligan.maybe(name), 'provisioner-active-bootstate', reason)
      noted[name] = reason
      told, last = told + 1, name
    end
  end
  if told > 0 then
    halligan.set_attrib('noderole', noderole, 'provisioner-acknowledged', noted, 'note')
  end
end

local function refresh(node, context)
  local entry = entry_of(node)
  put_entry(context.noderoles, node.name, entry or halligan.null)
  for _, nr in ipairs(entry and {} or context.noderoles) do
    acknowledge(halligan.maybe(node), nr, node.boot_generation) -- there is nothing to serve
  end
  if node.data['provisioner-active-bootstate'] == ASKED then
    tell_again(context.noderoles, node.name)
  end
  if entry and installs(entry.bootenv) and all_failed(context.noderoles)
    and node.data['provisioner-active-bootstate'] ~= entry.bootenv then
    tell_failure(node, context.noderoles)
  end
  if context.noderole and context.noderole.state == 'error' then
    tell_waiting(context.noderole)
  end
end

return {
  on_node_create = refresh,
  on_node_change = refresh,

  on_node_delete = function(node, context)
    if node.taken then -- told late, and the name is that of another node by now
      return
    end
    put_entry(context.noderoles, node.name, halligan.null)
    for _, nr in ipairs(context.noderoles) do
      halligan.set_attrib('noderole', halligan.maybe(nr), 'provisioner-acknowledged',
        { [node.name] = halligan.null }, 'note')
    end
  end,

  -- What the run has published goes to the nodes it is about. What was told is noted, so that the
  -- next call tells only what is new; a node that is gone by now is passed over (X16).
  on_active = function(noderole)
    local published = at(noderole.wall, 'crowbar_wall', 'provisioner', 'clients') or {}
    local known = at(noderole.notes, 'acknowledged') or {}
    local noted, told, more = {}, 0, false
    for name, client in pairs(published) do
      local mark = mark_of(client)
      if mark and known[name] ~= mark then
        if told == TELL_MAX then
          more = true
          break
        end
        local node = halligan.maybe(is_number(client.node_id) and client.node_id or name)
        halligan.set_attrib('node', node, 'provisioner-active-bootstate', client.bootenv)
        acknowledge(node, noderole, client.generation)
        noted[name] = mark
        told = told + 1
      end
    end
    for name in pairs(known) do
      if published[name] == nil then
        noted[name] = halligan.null
      end
    end
    halligan.set_attrib('noderole', noderole, 'provisioner-acknowledged', noted, 'note')
    if more then
      halligan.enqueue(noderole)
    end
  end,

  on_error = tell_waiting,
}
