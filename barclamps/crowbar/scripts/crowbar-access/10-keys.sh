#!/bin/sh
# Writes the configured keys of root between two marker lines in root's authorized_keys; lines
# outside of the markers are kept. Then writes the machine's own key for the API.
#
# The new file is complete before it replaces the old one by a rename, so a failure at any point
# leaves the old keys in force.
set -eu

ssh_dir=${HALLIGAN_SSH_DIR:-/root/.ssh}
key_dir=${HALLIGAN_KEY_DIR:-/etc/halligan}
keys=$ssh_dir/authorized_keys
begin='# begin halligan'
end='# end halligan'

umask 077
mkdir -p "$ssh_dir"
[ -f "$keys" ] || : > "$keys"

fresh=$(mktemp "$keys.XXXXXX")
trap 'rm -f "$fresh"' EXIT
awk -v b="$begin" -v e="$end" '$0 == b { ours = 1 } !ours { print } $0 == e { ours = 0 }' \
    "$keys" > "$fresh"
echo "$begin" >> "$fresh"
names=$(get_keys crowbar/access_keys) # a failure ends the script before keys are lost
for name in $names; do
    if key=$(read_attribute "crowbar/access_keys/$name"); then
        printf '%s\n' "$key" >> "$fresh"
    fi
done
echo "$end" >> "$fresh"

if cmp -s "$fresh" "$keys"; then
    echo "$keys is up to date"
else
    mv "$fresh" "$keys" # atomic: there is no moment without the keys
    echo "wrote the keys to $keys"
fi

if machine_key=$(read_attribute crowbar/machine_key); then
    mkdir -p "$key_dir"
    printf '%s\n' "$machine_key" > "$key_dir/machine.key.new"
    mv "$key_dir/machine.key.new" "$key_dir/machine.key"
fi
