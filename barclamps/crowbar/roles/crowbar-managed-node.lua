-- A discovered machine. Discovery tells all block devices; how many of them are whole disks is what
-- people ask for, so it is counted here.

local function drives_in(node)
  local devices = type(node.data.ohai) == 'table' and node.data.ohai.block_device
  if type(devices) ~= 'table' then
    return nil
  end
  local count = 0
  for name in pairs(devices) do
    if type(name) == 'string' and halligan.match(name, [[\Asd[a-z]+\z]]) then
      count = count + 1
    end
  end
  return count
end

local function count_drives(node)
  local count = drives_in(node)
  if count and node.data.number_of_drives ~= count then
    halligan.set_attrib('node', node, 'number_of_drives', count)
  end
end

return { on_node_create = count_drives, on_node_change = count_drives }
