-- dns-mgmt_server: the server that accepts changes of records.
--
-- sysdata computes the service address, the address of its node in the admin network, and the
-- default name of its server set, as for dns-server.

return {
  sysdata = function(noderole)
    local hinted = noderole.host.hint['admin-v4addr']
    if type(hinted) ~= 'string' or hinted == '' then
      error('node ' .. noderole.node .. ' has no address in the admin network: set its attrib '
        .. 'hint-admin-v4addr (like 192.168.124.10/24), or set admin-address and restart halligand '
        .. 'if the node was made for its host; then retry', 0)
    end
    return {
      ['dns-mgmt'] = {
        service_address = halligan.split(hinted, '/')[1],
        default_name = noderole.deployment,
      },
    }
  end,
}
