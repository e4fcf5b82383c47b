-- provisioner-server: the server of boot files and installers.
--
-- sysdata computes the service address: the address of its node in the admin network. Without an
-- address no client could use the server, so the hook fails and the noderole changes to ERROR.

return {
  sysdata = function(noderole)
    local hinted = noderole.host.hint['admin-v4addr']
    if type(hinted) ~= 'string' or hinted == '' then
      error('node ' .. noderole.node .. ' has no address in the admin network: set its attrib '
        .. 'hint-admin-v4addr (like 192.168.124.10/24), or set admin-address and restart halligand '
        .. 'if the node was made for its host; then retry', 0)
    end
    return { provisioner = { service_address = halligan.split(hinted, '/')[1] } }
  end,
}
