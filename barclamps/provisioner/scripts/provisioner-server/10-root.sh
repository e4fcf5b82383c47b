#!/bin/sh
# The directory that is served, with a place for each machine. The server itself comes with its back
# end.
set -eu

address=$(read_attribute provisioner/service_address) ||
    die "this provisioner has not been told its address"
root=$(read_attribute provisioner/root) ||
    die "there is no directory to serve: set provisioner-root"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi
mkdir -p "$root/nodes" "$root/files"
chmod 755 "$root" "$root/nodes" "$root/files"
echo "the provisioner serves $root on $address"
