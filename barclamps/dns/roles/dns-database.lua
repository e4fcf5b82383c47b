-- dns-database: an A record for each node that has an address in the admin network.
--
-- Records are stored in the system data of every noderole of this role (attrib dns-records), by
-- node, and are published by its run. A hook writes the record of the changed node only, so that
-- two concurrent changes cannot overwrite each other. Other networks, and names created by filters,
-- are not part of this version.

local function record_of(node)
  local address = node.admin_address
  if node.system or address == '' then
    return nil
  end
  return { type = 'A', address = halligan.split(address, '/')[1] }
end

local function put_record(context, name, record)
  for _, nr in ipairs(context.noderoles) do
    halligan.set_attrib('noderole', nr, 'dns-records', { [name] = record })
    halligan.hurry(nr)
  end
end

local function refresh(node, context)
  put_record(context, node.name, record_of(node) or halligan.null)
end

return {
  on_node_create = refresh,
  on_node_change = refresh,
  on_node_delete = function(node, context)
    if node.taken then -- the hook is late: another node has the name now
      return
    end
    put_record(context, node.name, halligan.null)
  end,
}
