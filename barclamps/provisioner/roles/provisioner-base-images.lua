-- provisioner-base-images: the operating systems that can be installed.
--
-- template   the known installers, with the paths of their files below the served directory. A
--            deployment or noderole adds others through the attrib provisioner-supported_oses.
-- sysdata    the paths of these files, which the run checks. on_active  if the files of the default
-- operating system are missing, the first one whose files exist
--            becomes the default.

local DEFAULT_OS = 'debian-12' -- the default of the attrib provisioner-target_os

-- The strings of a list, sorted and without duplicates, and a set of them. A value that is not a
-- list counts as empty.
local function names_in(list)
  local names, seen = {}, {}
  for _, name in ipairs(type(list) == 'table' and list or {}) do
    if type(name) == 'string' and not seen[name] then
      seen[name] = true
      table.insert(names, name)
    end
  end
  table.sort(names)
  return names, seen
end

return {
  template = function()
    return {
      provisioner = {
        supported_oses = {
          ['debian-12'] = {
            kernel = 'debian-12/install/linux',
            initrd = 'debian-12/install/initrd.gz',
          },
        },
      },
    }
  end,

  sysdata = function(noderole)
    local images = {}
    local known = (noderole.data.provisioner or {}).supported_oses
    for os, files in pairs(type(known) == 'table' and known or {}) do
      if type(files) == 'table' and type(files.kernel) == 'string'
        and type(files.initrd) == 'string' then
        images[os] = { files.kernel, files.initrd }
      end
    end
    return { provisioner = { images = images } }
  end,

  on_active = function(noderole)
    local wall = noderole.wall.crowbar_wall
    local found = type(wall) == 'table' and type(wall.provisioner) == 'table'
      and wall.provisioner.available_oses
    local names, seen = names_in(found)
    if #names > 0 and not seen[DEFAULT_OS] then
      halligan.set_attrib('role', 'provisioner-os-install', 'provisioner-target_os', names[1])
    end
  end,
}
