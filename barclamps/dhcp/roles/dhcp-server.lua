-- The DHCP server. The networks it serves come with the networks themselves.
--
-- Its own address is the one hinted for its node in the admin network. Without it nobody could be
-- told where to go, so the role says what is missing instead of starting.

return {
  sysdata = function(noderole)
    local hinted = noderole.host.hint['admin-v4addr']
    if type(hinted) ~= 'string' or hinted == '' then
      error('node ' .. noderole.node .. ' has no address in the admin network: set its attrib '
        .. 'hint-admin-v4addr (like 192.168.124.10/24), or set admin-address and restart halligand '
        .. 'if the node was made for its host; then retry', 0)
    end
    return { dhcp = { service_address = halligan.split(hinted, '/')[1] } }
  end,
}
