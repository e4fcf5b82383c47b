-- crowbar-managed-node: a discovered machine.
--
-- Discovery reports all block devices, partitions and virtual devices included. The hooks count the
-- whole disks and store the number in the attrib number_of_drives, by which nodes can be selected.

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
