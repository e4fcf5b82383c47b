#!/bin/sh
# The DNS management server answers on the address its role computed, so this machine must have it.
# What the server is told lies below the state directory; the server comes with its back end.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
address=$(read_attribute dns-mgmt/service_address) ||
    die "this DNS management server has not been told its address"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi
mkdir -p "$state/dns-mgmt"
printf '%s\n' "$address" > "$state/dns-mgmt/address.new"
mv "$state/dns-mgmt/address.new" "$state/dns-mgmt/address"
echo "the DNS management server serves on $address"
