#!/bin/sh
# Writes the head of the zone to a file below the state directory. The records are written by
# dns-database. The server that reads both is not part of this version.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
address=$(read_attribute dns/service_address) ||
    die "the service address of this DNS server is not set (attrib dns-service_address)"
domain=$(read_attribute dns/domain) || domain=$(read_attribute dns/default_domain) ||
    die "the domain of the zone is not set: set the attrib dns-domain"
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
echo "wrote the head of the zone $domain; the service address is $address"
