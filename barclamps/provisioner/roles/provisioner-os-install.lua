-- provisioner-os-install: installs an operating system; the hooks on the side of the daemon.
-- barclamps/README.md has the sequence, docs/spec/hooks.md the races that it handles.
--
-- on_todo         chooses the disk and stores the list of disks that the run may wipe. It does not
--                 change the boot environment: a machine that loses power before the wipe must boot
--                 what it booted before.
-- on_node_change  sets the boot environment after the run has wiped the disks and parked, and
-- resumes
--                 the run when both boot databases have published the environment. The run then
--                 reboots the machine.
--
-- Both do nothing after the first success: an installed machine that reports again, or that was
-- booted into the discovery image for debugging, is not installed again.

local OWNER = 'operating system'
local ASKED = 'asked' -- value of the bootstate attribs: a new acknowledgement is requested
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

-- ---- disks ----

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
    if disk.name == name then
      return disk
    end
  end
  return nil
end

-- The owner of each claimed disk. With drop_ours, claims of this role are left out.
local function claims_of(host, drop_ours)
  local claims = {}
  local claimed = at(host.data, 'claimed-disks')
  for name, owner in pairs(type(claimed) == 'table' and claimed or {}) do
    if is_text(owner) and not (drop_ours and owner == OWNER) then
      claims[name] = owner
    end
  end
  return claims
end

-- The disk chosen before, if it still exists and is still claimed by this role.
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

-- The disks that the run may wipe: the chosen one, and all unclaimed ones that are not removable,
-- virtual or read-only.
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

-- ---- boot state ----

local function failed(state)
  return is_text(state) and halligan.match(state, [[\Afailed]])
end

return {
  on_todo = function(noderole)
    local host = noderole.host
    if noderole.run_count > 0 then
      return
    end
    if host.bootenv == 'local' then -- it runs from its disk: the run may wipe nothing
      halligan.set_attrib('noderole', noderole, 'provisioner-wipe', halligan.array{})
      return
    end
    local disks = disks_of(host)
    local chosen = kept_disk(host, disks)
    local claims = claims_of(host, true)
    if not chosen then
      chosen = first_free(disks, claims)
      if not chosen then
        error('no disk of ' .. noderole.node .. ' can be used for the operating system: all of the '
          .. #disks .. ' known disks are removable or claimed. Nothing was wiped. Release one '
          .. '(attrib claimed-disks) or run the discovery again, then retry', 0)
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
    if node.bootenv == 'local' then -- installed by other means while this run was parked: keep it
      return
    end
    local target = at(noderole.data, 'provisioner', 'target_os')
    local wanted = (is_text(target) and target or DEFAULT_OS) .. '-install'
    if node.bootenv ~= wanted then
      -- Acknowledgements of an earlier attempt are not valid for this one, and some may still be in
      -- flight. So new ones are requested before the boot environment changes.
      halligan.set_attrib('node', node, 'provisioner-active-bootstate', ASKED)
      halligan.set_attrib('node', node, 'dhcp-active-bootstate', ASKED)
      -- The command is ignored if the run is not parked any more: it was cancelled, or the machine
      -- was restarted.
      halligan.set_bootenv(halligan.maybe(node), wanted, noderole)
      return
    end
    local boots = at(node.data, 'provisioner-active-bootstate')
    local dhcp = at(node.data, 'dhcp-active-bootstate')
    -- If a database has several noderoles, the attribs have the value of the first one that
    -- reported. boot_served is true only when all of them have served the generation.
    local served = boots == wanted and dhcp == wanted and node.boot_served
    if served or failed(boots) or failed(dhcp) then
      halligan.resume(noderole) -- the run checks both attribs again, and fails if one differs
    end
  end,
}
