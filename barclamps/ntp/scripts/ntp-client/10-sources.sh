#!/bin/sh
# Synchronizes the clock with the time servers of the installation: with chrony if it is installed,
# otherwise with systemd-timesyncd. A machine that is a time server itself is not changed.
set -eu

chrony_dir=${HALLIGAN_CHRONY_SOURCES:-/etc/chrony/sources.d}
timesync_dir=${HALLIGAN_TIMESYNC_DIR:-/etc/systemd/timesyncd.conf.d}

if [ -f "${HALLIGAN_CHRONY_DIR:-/etc/chrony/conf.d}/halligan.conf" ]; then
    echo "this machine is a time server: its time sources are not changed"
    exit 0
fi
servers=$(for place in $(get_keys crowbar/ntp/servers); do
    read_attribute "crowbar/ntp/servers/$place"
done)
[ -n "$servers" ] || die "there is no active time server: check the noderoles of ntp-service"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
if [ -d "$chrony_dir" ]; then
    for server in $servers; do
        echo "server $server iburst"
    done > "$fresh"
    file=$chrony_dir/halligan.sources
    reload="chronyc reload sources"
else
    mkdir -p "$timesync_dir"
    printf '[Time]\nNTP=%s\n' "$(echo "$servers" | tr '\n' ' ' | sed 's/ $//')" > "$fresh"
    file=$timesync_dir/halligan.conf
    reload="systemctl try-restart systemd-timesyncd"
fi

if [ -f "$file" ] && cmp -s "$fresh" "$file"; then
    echo "$file is up to date"
    exit 0
fi
cat "$fresh" > "$file.new"
chmod 644 "$file.new"
mv "$file.new" "$file"
# A daemon that does not run now reads the file when it starts.
$reload > /dev/null 2>&1 ||
    echo "the time service is not running; it reads the file at its next start"
printf 'time servers: %s\n' "$(echo "$servers" | tr '\n' ' ')"
