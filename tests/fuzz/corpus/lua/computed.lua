return {
  sysdata = function(nr) nr.data.list[5] = { 'y' } return nr end,
  template = function() return { domain = 'x', ttl = 3600, list = {} } end,
  do_transition = function(nr, data)
    return { result = 'async', wall = { at = nr.id }, log = 'begun', node_dead = true, power = 'off' }
  end,
}
