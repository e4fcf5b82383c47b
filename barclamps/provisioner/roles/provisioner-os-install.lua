-- Installing an operating system, the server's part. barclamps/README.md has the sequence.
--
-- on_todo chooses the disk and tells the run which disks it may wipe; it leaves the boot
-- environment alone (X14), so that a machine that loses power now boots what it booted before.
-- on_node_change waits: once the run has wiped and is parked, the boot environment changes, and
-- when both boot databases say that it is in force, the run goes on and reboots the machine.
--
-- Everything here happens before the first success only (X4, X5): an installed machine that comes
-- back, or that was taken to the discovery image for a look, is not installed again.

local OWNER = 'operating system'
local ASKED = 'asked' -- instead of a boot environment: the databases tell it again
local DEFAULT_OS = 'debian-12' -- the default of the attrib provisioner-target_os

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

-- ---- disks ----

-- The disks that were found, in the order they were told; in that of their names when told by name.
local function disks_of(host)
  local found = at(host.data, 'reservations', 'disks')
    or at(host.data, 'crowbar_wall', 'reservations', 'disks')
  local disks = {}
  for key, disk in pairs(type(found) == 'table' and found or {}) do
    local name = at(disk, 'unique_name') or (type(key) == 'string' and key)
    if type(disk) == 'table' and is_text(name) then
      table.insert(disks, { name = name, facts = disk })
    end
  end
  return disks
end

local function find(disks, name)
  for _, disk in ipairs(disks) do
    if disk.name == name then
      return disk
    end
  end
  return nil
end

-- Who owns which disk, without our own claims when they are to be dropped.
local function claims_of(host, drop_ours)
  local claims = {}
  local told = at(host.data, 'claimed-disks')
  for name, owner in pairs(type(told) == 'table' and told or {}) do
    if is_text(owner) and not (drop_ours and owner == OWNER) then
      claims[name] = owner
    end
  end
  return claims
end

-- The disk chosen before, if it is still there and still ours.
local function kept_disk(host, disks)
  local name = at(host.data, 'operating-system-disk')
  if is_text(name) and claims_of(host, false)[name] == OWNER then
    return find(disks, name)
  end
  return nil
end

local function first_free(disks, claims)
  for _, disk in ipairs(disks) do
    if disk.facts.removable ~= true and not claims[disk.name] then
      return disk
    end
  end
  return nil
end

local function claim(host, disk)
  local changes = {}
  for name, owner in pairs(claims_of(host, false)) do
    if owner == OWNER then
      changes[name] = halligan.null
    end
  end
  changes[disk.name] = OWNER
  halligan.set_attrib('node', host, 'operating-system-disk', disk.name)
  halligan.set_attrib('node', host, 'claimed-disks', changes)
end

-- What the run may wipe: the chosen disk, and whatever nobody has claimed.
local function wipe_list(disks, chosen, claims)
  local list = halligan.array{}
  local function add(disk)
    local path = disk.facts.path
    table.insert(list, { name = disk.name, path = is_text(path) and path or nil })
  end
  add(chosen)
  for _, disk in ipairs(disks) do
    local facts = disk.facts
    if disk ~= chosen and not claims[disk.name] and facts.removable ~= true
      and facts.virtual ~= true and facts.readonly ~= true then
      add(disk)
    end
  end
  return list
end

-- ---- the wait ----

local function failed(state)
  return is_text(state) and halligan.match(state, [[\Afailed]])
end

return {
  on_todo = function(noderole)
    local host = noderole.host
    if noderole.run_count > 0 then
      return
    end
    if host.bootenv == 'local' then -- it runs from its disk; a run is told that it may wipe nothing
      halligan.set_attrib('noderole', noderole, 'provisioner-wipe', halligan.array{})
      return
    end
    local disks = disks_of(host)
    local chosen = kept_disk(host, disks)
    local claims = claims_of(host, true)
    if not chosen then
      chosen = first_free(disks, claims)
      if not chosen then -- X15
        error('there is no disk on ' .. noderole.node .. ' to install on: of ' .. #disks
          .. ' known, all are removable or claimed. Nothing was wiped. Free one (attrib '
          .. 'claimed-disks) or let the machine be discovered again, and retry', 0)
      end
      claim(host, chosen)
    end
    halligan.set_attrib('noderole', noderole, 'provisioner-wipe',
      wipe_list(disks, chosen, claims))
  end,

  on_node_change = function(node, context)
    local noderole = context.noderole
    if not noderole or noderole.run_count > 0 or at(noderole, 'run', 'state') ~= 'parked' then
      return
    end
    if not is_text(at(node.data, 'crowbar_wall', 'provisioner', 'wiped')) then
      return
    end
    if node.bootenv == 'local' then -- it lost power, and was installed without us: leave it so
      return
    end
    local target = at(noderole.data, 'provisioner', 'target_os')
    local wanted = (is_text(target) and target or DEFAULT_OS) .. '-install'
    if node.bootenv ~= wanted then
      -- X1: what the databases said about an earlier attempt is not about this one, and they may
      -- still have to say something about what came between: they are asked anew
      halligan.set_attrib('node', node, 'provisioner-active-bootstate', ASKED)
      halligan.set_attrib('node', node, 'dhcp-active-bootstate', ASKED)
      -- Unless its run does not wait any more: it was cancelled meanwhile, or the machine restarted.
      halligan.set_bootenv(halligan.maybe(node), wanted, noderole)
      return
    end
    local boots = at(node.data, 'provisioner-active-bootstate')
    local dhcp = at(node.data, 'dhcp-active-bootstate')
    -- X9: where a database has several noderoles the first of them speaks for all in these attribs
    local served = boots == wanted and dhcp == wanted and node.boot_served
    if served or failed(boots) or failed(dhcp) then
      halligan.resume(noderole) -- the run looks at both again, and fails with what it sees
    end
  end,
}
