-- provisioner-os-install: installs an operating system; the hooks on the side of the daemon.
-- barclamps/README.md has the sequence, docs/spec/hooks.md the races that it handles.
--
-- on_proposed     chooses the disks that the run wipes and stores them in the user data of the
-- on_node_change  noderole while it is PROPOSED: a commit publishes them, and nothing else changes
--                 what a committed noderole wipes.
-- on_commit       refuses the commit of a machine for which no disk is chosen.
-- on_blocked      record the committed disk in the node: the installer and other roles read it
-- on_todo         there. They do not change the boot environment: a machine that loses power
--                 before the wipe must boot what it booted before.
-- on_node_change  also sets the boot environment after the run has wiped the disks and parked, and
--                 resumes the run when the environment is served, or when a noderole that must
--                 serve it is in ERROR. The run then reboots the machine, or fails.
--
-- State hooks do nothing after the first success: an installed machine that reports again, or that
-- was booted into the discovery image for debugging, is not installed again.

local ROLE = 'provisioner-os-install'
local OWNER = 'operating system'
local DEFAULT_OS = 'debian-12' -- the default of the attrib provisioner-target_os

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

-- ---- inventory ----

local function last_part(name)
  local parts = halligan.split(name, '/')
  return parts[#parts]
end

-- The names of a disk below /dev/disk/by-id. The inventory lists them in `ids`, and the unique name
-- often is one of them.
local function ids_of(disk)
  local ids = {}
  if halligan.find(disk.name, 'disk/by-id/') then
    table.insert(ids, last_part(disk.name))
  end
  local listed = at(disk.facts, 'ids')
  for _, id in ipairs(type(listed) == 'table' and listed or {}) do
    if is_text(id) then
      table.insert(ids, last_part(id))
    end
  end
  return ids
end

-- World wide names are written with several prefixes.
local function wwn_text(text)
  text = string.lower(text)
  for _, prefix in ipairs({ 'wwn-', 'nvme-', '0x', 'naa.', 'eui.' }) do
    if string.sub(text, 1, #prefix) == prefix then
      text = string.sub(text, #prefix + 1)
    end
  end
  return text
end

local function wwn_of(disk)
  if is_text(disk.facts.wwn) then
    return wwn_text(disk.facts.wwn)
  end
  for _, id in ipairs(ids_of(disk)) do
    if halligan.match(id, [[\A(wwn-0x[0-9a-f]+|nvme-eui\.[0-9a-f]+)\z]]) then
      return wwn_text(id)
    end
  end
  return nil
end

-- The path that denotes the same disk after the next boot, if there is one.
local function path_of(disk)
  local id = ids_of(disk)[1]
  if id then
    return '/dev/disk/by-id/' .. id
  end
  return is_text(disk.facts.path) and disk.facts.path or nil
end

-- The size in bytes, or nil.
local function size_of(disk)
  local size = disk.facts.size
  size = math.tointeger(type(size) == 'string' and tonumber(size) or size)
  return size and size > 0 and size or nil
end

-- The discovered disks: in the reported order if they are a list, sorted by name if they are a map.
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
    if disk.name == name or '/dev/' .. disk.name == name or path_of(disk) == name then
      return disk
    end
  end
  return nil
end

-- The owner of each claimed disk.
local function claims_of(host)
  local claims = {}
  local claimed = at(host.data, 'claimed-disks')
  for name, owner in pairs(type(claimed) == 'table' and claimed or {}) do
    if is_text(owner) then
      claims[name] = owner
    end
  end
  return claims
end

-- ---- choice of the disks ----

-- Why a disk cannot be verified before it is wiped, or nil.
local function unverifiable(disk)
  if not is_text(disk.facts.serial) and not wwn_of(disk) then
    return 'has neither a serial number nor a WWN in the inventory'
  end
  if not size_of(disk) then
    return 'has no size in the inventory'
  end
  return nil
end

-- Why no operating system can be installed on a disk, or nil.
local function unusable(disk, claims)
  local owner = claims[disk.name]
  if disk.facts.removable == true then
    return 'is removable'
  end
  if owner and owner ~= OWNER then
    return 'is claimed by ' .. owner
  end
  if disk.facts.readonly == true then
    return 'is read-only'
  end
  return unverifiable(disk)
end

local function no_usable_disk(host, disks, claims)
  if #disks == 0 then
    return 'no disk of ' .. host.name .. ' is known: its inventory lists none'
  end
  local reasons = {}
  for i, disk in ipairs(disks) do
    if i > 5 then
      table.insert(reasons, 'and ' .. (#disks - 5) .. ' more')
      break
    end
    table.insert(reasons, disk.name .. ' ' .. unusable(disk, claims))
  end
  return 'no disk of ' .. host.name .. ' can be used for the operating system: '
    .. table.concat(reasons, ', ')
end

-- The disk for the operating system: the one of the attrib provisioner-disk; otherwise the one that
-- was used before, if it can still be used; otherwise the first one that can be used. Returns nil
-- and a sentence if there is none.
local function os_disk(host, disks, claims, wanted)
  if wanted ~= '' then
    local disk = find(disks, wanted)
    local why = disk and unusable(disk, claims) or 'is not in the inventory'
    if disk and not unusable(disk, claims) then
      return disk
    end
    return nil, 'the disk ' .. wanted .. ' of ' .. host.name
      .. ', which the attrib provisioner-disk names, ' .. why
  end
  local before = at(host.data, 'operating-system-disk')
  local kept = is_text(before) and find(disks, before)
  if kept and not unusable(kept, claims) then
    return kept
  end
  for _, disk in ipairs(disks) do
    if not unusable(disk, claims) then
      return disk
    end
  end
  return nil, no_usable_disk(host, disks, claims)
end

-- What the run compares with the disk that it finds.
local function entry_of(disk)
  local serial = disk.facts.serial
  return { name = disk.name, path = path_of(disk), serial = is_text(serial) and serial or nil,
    size = size_of(disk), wwn = wwn_of(disk) }
end

-- The disks that the run wipes: that of the operating system, and in the scope `unclaimed` also
-- those without an owner, unless they are removable, virtual or read-only. Returns an empty list
-- and a sentence if one cannot be chosen.
local function wipe_list(host, settings)
  local disks, claims = disks_of(host), claims_of(host)
  local chosen, why = os_disk(host, disks, claims, settings.disk)
  if not chosen then
    return halligan.array{}, why
  end
  local others = {}
  for _, disk in ipairs(settings.scope == 'unclaimed' and disks or {}) do
    local facts = disk.facts
    if disk ~= chosen and not claims[disk.name] and facts.removable ~= true
      and facts.virtual ~= true and facts.readonly ~= true then
      if unverifiable(disk) then
        return halligan.array{}, 'the unclaimed disk ' .. disk.name .. ' of ' .. host.name .. ' '
          .. unverifiable(disk)
      end
      table.insert(others, disk)
    end
  end
  -- The order of the inventory may change with each boot, and the plan hash covers the list.
  table.sort(others, function(a, b) return a.name < b.name end)
  local list = halligan.array{ entry_of(chosen) }
  for _, disk in ipairs(others) do
    table.insert(list, entry_of(disk))
  end
  return list, ''
end

-- The environment of the installer.
local function installer_of(data)
  local target = at(data, 'provisioner', 'target_os')
  return (is_text(target) and target or DEFAULT_OS) .. '-install'
end

-- The attribs that an operator sets.
local function settings_of(data)
  local disk = at(data, 'provisioner', 'disk')
  local scope = at(data, 'provisioner', 'wipe_scope')
  return { bootenv = installer_of(data), disk = is_text(disk) and disk or '',
    scope = is_text(scope) and scope or 'disk' }
end

-- Chooses the disks of a PROPOSED noderole. The choice is stored with the settings that it was made
-- for, so that on_commit detects a setting that changed since. A plan shows the disks, and the
-- environment that the machine boots then.
local function choose(noderole)
  local settings = settings_of(noderole.proposed)
  local list, problem = wipe_list(noderole.host, settings)
  halligan.set_attrib('noderole', noderole, 'provisioner-announced',
    { boot = halligan.array{ { bootenv = settings.bootenv } }, disk = settings.disk, problem = problem,
      scope = settings.scope, wipe = list }, 'user')
end

-- The disks that were committed, or nil.
local function committed_disks(noderole)
  local list = at(noderole.data, 'announced', ROLE, 'wipe')
  return type(list) == 'table' and is_text(at(list, 1, 'name')) and list or nil
end

-- Records the committed disk in the node. Returns why nothing may be wiped, or nil.
local function adopt(noderole)
  local host = noderole.host
  local runs_from_disk = host.bootenv == 'local'
  -- Always, because an earlier call that saw another environment may not be executed yet.
  halligan.set_attrib('noderole', noderole, 'provisioner-runs_from_disk', runs_from_disk)
  if runs_from_disk then -- the run may wipe nothing
    return nil
  end
  local list = committed_disks(noderole)
  if not list then
    return 'no disk was committed for ' .. noderole.node .. '. Nothing was wiped. Propose the '
      .. 'noderole, so that a disk is chosen, and commit it again'
  end
  local name, claims, changes = list[1].name, claims_of(host), {}
  if claims[name] and claims[name] ~= OWNER then
    return 'the committed disk ' .. name .. ' of ' .. noderole.node .. ' is claimed by '
      .. claims[name] .. '. Nothing was wiped. Release it (attrib claimed-disks), or propose the '
      .. 'noderole, so that another disk is chosen'
  end
  for other, owner in pairs(claims) do
    if owner == OWNER and other ~= name then
      changes[other] = halligan.null
    end
  end
  changes[name] = OWNER
  halligan.set_attrib('node', host, 'operating-system-disk', name)
  halligan.set_attrib('node', host, 'claimed-disks', changes)
  return nil
end

-- ---- boot environment ----

-- Whether the machine may start the installer, or has started it: the environment was set by a run
-- of this role, and nothing has made the grant void since.
local function is_granted(node)
  return node.grant == 'unused' or node.grant == 'used'
end

return {
  on_proposed = function(noderole)
    if noderole.state == 'proposed' then -- it may have been committed since
      choose(noderole)
    end
  end,

  -- Also called for the data of the role in a deployment, which have no disk.
  on_commit = function(noderole)
    if not noderole.node or noderole.run_count > 0 or noderole.bootenv == 'local' then
      return nil
    end
    local choice = at(noderole.data, 'announced', ROLE)
    local problem = at(choice, 'problem')
    if is_text(problem) then
      return problem
    end
    local settings = settings_of(noderole.proposed)
    local is_chosen = is_text(at(choice, 'wipe', 1, 'name'))
    -- A choice that an older version made has no environment.
    local is_current = at(choice, 'disk') == settings.disk and at(choice, 'scope') == settings.scope
      and (at(choice, 'boot') == nil or at(choice, 'boot', 1, 'bootenv') == settings.bootenv)
    if is_chosen and is_current then
      return nil
    end
    return 'the disk of ' .. noderole.node .. ' is not chosen yet: the hooks of the role choose it '
      .. 'while the noderole is proposed. Repeat the commit in a moment'
  end,

  on_blocked = function(noderole)
    if noderole.run_count == 0 then
      adopt(noderole) -- on_todo reports what is wrong
    end
  end,

  on_todo = function(noderole)
    if noderole.run_count > 0 then
      return
    end
    local wrong = adopt(noderole)
    if wrong then
      error(wrong, 0)
    end
  end,

  on_node_change = function(node, context)
    local noderole = context.noderole
    if noderole and noderole.state == 'proposed' then
      choose(noderole)
      return
    end
    if not noderole or noderole.run_count > 0 or at(noderole, 'run', 'state') ~= 'parked' then
      return
    end
    if not is_text(at(node.data, 'crowbar_wall', 'provisioner', 'wiped')) then
      return
    end
    if node.bootenv == 'local' then -- installed by other means while this run was parked: keep it
      return
    end
    local wanted = installer_of(noderole.data)
    if node.bootenv ~= wanted or not is_granted(node) then
      -- The command is ignored if the run is not parked any more: it was cancelled, or the machine
      -- was restarted.
      halligan.set_bootenv(halligan.maybe(node), wanted, noderole)
    elseif node.boot_served or node.boot_problem ~= '' then
      halligan.resume(noderole) -- the run checks it, and fails if it is not served
    end
  end,
}
