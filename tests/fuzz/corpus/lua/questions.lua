return {
  on_commit = function(nr) if nr.id == 7 then halligan.veto('not ' .. nr.name) end end,
  on_node_bind = function() return false end,
  on_deployment_create = function(dr) return 'no ' .. tostring(dr) end,
}
