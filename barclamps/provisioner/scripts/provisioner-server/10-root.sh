#!/bin/sh
# Creates the directory that is served, with subdirectories for machines and files. The server
# itself is not part of this version.
set -eu

address=$(read_attribute provisioner/service_address) ||
    die "the service address of this provisioner is not set (attrib provisioner-service_address)"
root=$(read_attribute provisioner/root) ||
    die "the attrib provisioner-root is not set: set the directory to serve"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi
mkdir -p "$root/nodes" "$root/files"
chmod 755 "$root" "$root/nodes" "$root/files"
echo "the provisioner serves $root on $address"
