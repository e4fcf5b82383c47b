return {
  on_todo = function(nr)
    halligan.set_attrib('node', nr.id, 'colour', { a = { 1, 2.5, halligan.null }, b = halligan.array() })
    halligan.set_attrib('noderole', nr, 'size', 'x', 'wall')
    halligan.set_bootenv('n1', 'local')
    halligan.bind('n1', 'dns', 'system', { x = 1 })
    halligan.enqueue(nr) halligan.commit(1) halligan.retry(2) halligan.power(3, 'reset')
    halligan.log('done')
  end,
}
