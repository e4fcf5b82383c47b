return {
  do_transition = function(nr, data)
    return { result = 'parked', park_ms = 60000, wall = { wiped = nr.name } }
  end,
}
