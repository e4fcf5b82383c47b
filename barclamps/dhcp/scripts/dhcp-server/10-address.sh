#!/bin/sh
# Checks that this machine has the service address that the role computed, and writes it below the
# state directory. The DHCP server itself is not part of this version.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
address=$(read_attribute dhcp/service_address) ||
    die "the service address of this DHCP server is not set (attrib dhcp-service_address)"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi
mkdir -p "$state/dhcp"
printf '%s\n' "$address" > "$state/dhcp/address.new"
mv "$state/dhcp/address.new" "$state/dhcp/address"
echo "the DHCP server serves on $address"
