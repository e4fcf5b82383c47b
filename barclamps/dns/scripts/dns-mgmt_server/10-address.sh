#!/bin/sh
# Checks that this machine has the service address that the role computed, and writes it below the
# state directory. The DNS management server itself is not part of this version.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
address=$(read_attribute dns-mgmt/service_address) ||
    die "the service address of this server is not set (attrib dns-mgmt_service_address)"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi
mkdir -p "$state/dns-mgmt"
printf '%s\n' "$address" > "$state/dns-mgmt/address.new"
mv "$state/dns-mgmt/address.new" "$state/dns-mgmt/address"
echo "the DNS management server serves on $address"
