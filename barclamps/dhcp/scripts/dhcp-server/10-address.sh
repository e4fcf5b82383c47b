#!/bin/sh
# The DHCP server answers on the address its role computed, so this machine must have it.
# What the server is told lies below the state directory; the server comes with its back end.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
address=$(read_attribute dhcp/service_address) ||
    die "this DHCP server has not been told its address"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi
mkdir -p "$state/dhcp"
printf '%s\n' "$address" > "$state/dhcp/address.new"
mv "$state/dhcp/address.new" "$state/dhcp/address"
echo "the DHCP server serves on $address"
