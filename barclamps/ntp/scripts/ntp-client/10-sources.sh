#!/bin/sh
# Takes the time from our servers: with chrony when it is there, else with systemd-timesyncd. A
# machine that serves time itself is left alone.
set -eu

chrony_dir=${HALLIGAN_CHRONY_SOURCES:-/etc/chrony/sources.d}
timesync_dir=${HALLIGAN_TIMESYNC_DIR:-/etc/systemd/timesyncd.conf.d}

if [ -f "${HALLIGAN_CHRONY_DIR:-/etc/chrony/conf.d}/halligan.conf" ]; then
    echo "this machine serves time itself"
    exit 0
fi
servers=$(for place in $(get_keys crowbar/ntp/servers); do
    read_attribute "crowbar/ntp/servers/$place"
done)
[ -n "$servers" ] || die "no time server is known"

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
    echo "the time is taken from where it should be"
    exit 0
fi
cat "$fresh" > "$file.new"
chmod 644 "$file.new"
mv "$file.new" "$file"
# A daemon that does not run now reads the file when it starts.
$reload > /dev/null 2>&1 || echo "nobody was there to be told; it counts from the next start"
printf 'the time comes from %s\n' "$(echo "$servers" | tr '\n' ' ')"
