#!/bin/sh
# The head of the zone, as a file below the state directory. Records are dns-database's; the server
# that reads both comes with its back end.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
address=$(read_attribute dns/service_address) || die "this DNS server has not been told its address"
domain=$(read_attribute dns/domain) || domain=$(read_attribute dns/default_domain) ||
    die "there is no domain to answer for: set attrib dns-domain"
if ! ip -o addr show | grep -qF " $address/"; then
    die "this machine does not have the address $address that it is to serve on"
fi

value() { # PATH DEFAULT
    read_attribute "dns/$1" || printf '%s\n' "$2"
}

mkdir -p "$state/dns"
{
    printf '%s %s\n' "\$TTL" "$(value ttl 1h)"
    printf '@ IN SOA ns.%s. %s. (\n' "$domain" "$(value contact support.localhost.localdomain)"
    printf '    @SERIAL@ %s %s %s %s )\n' "$(value slave_refresh 1d)" "$(value slave_retry 2h)" \
        "$(value slave_expire 4w)" "$(value negative_cache 300)"
    printf '@ IN NS ns.%s.\n' "$domain"
    printf 'ns IN A %s\n' "$address"
} > "$state/dns/zone.head.new"
mv "$state/dns/zone.head.new" "$state/dns/zone.head"
for place in $(get_keys dns/forwarders); do
    read_attribute "dns/forwarders/$place"
done > "$state/dns/forwarders.new"
mv "$state/dns/forwarders.new" "$state/dns/forwarders"
echo "the zone $domain has its head; it serves on $address"
