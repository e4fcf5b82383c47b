#!/bin/sh
# Configures chrony to synchronize with the external servers and to serve all clients.
set -eu

conf_dir=${HALLIGAN_CHRONY_DIR:-/etc/chrony/conf.d}
address=$(read_attribute ntp/service_address) ||
    die "the service address of this time server is not set (attrib ntp-service_address)"
[ -d "$conf_dir" ] || die "chrony is not installed here ($conf_dir is missing)"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
{
    echo "# Written by the role ntp-server; changes are lost."
    for place in $(get_keys ntp/external_servers); do
        printf 'pool %s iburst\n' "$(read_attribute "ntp/external_servers/$place")"
    done
    echo "local stratum 10"
    echo "allow"
    echo "bindaddress $address"
} > "$fresh"

if [ -f "$conf_dir/halligan.conf" ] && cmp -s "$fresh" "$conf_dir/halligan.conf"; then
    echo "$conf_dir/halligan.conf is up to date"
    exit 0
fi
cat "$fresh" > "$conf_dir/halligan.conf.new"
chmod 644 "$conf_dir/halligan.conf.new"
mv "$conf_dir/halligan.conf.new" "$conf_dir/halligan.conf"
if command -v systemctl > /dev/null && [ -d /run/systemd/system ]; then
    systemctl restart chrony
fi
echo "chrony serves on $address"
