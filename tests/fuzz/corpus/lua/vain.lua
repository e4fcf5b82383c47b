return {
  on_node_change = function(node, context)
    local who = halligan.maybe(node.name)
    halligan.set_attrib('node', who, halligan.maybe('colour'), { [node.name] = halligan.null })
    halligan.set_bootenv(halligan.maybe(node), 'local')
    halligan.bind(who, halligan.maybe(3), halligan.maybe('system'))
    halligan.hurry(node) halligan.hurry(halligan.maybe(9))
    halligan.resume(node) halligan.resume({ run = { id = 5 } }) halligan.resume(halligan.maybe(7))
    pcall(who) pcall(halligan.maybe, who)
  end,
}
