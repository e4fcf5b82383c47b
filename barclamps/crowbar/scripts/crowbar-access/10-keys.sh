#!/bin/sh
# Who may log in as root: the keys we know stand between two marks in root's authorized_keys. What
# somebody else wrote there stays. Then the machine's own key for the API.
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
names=$(get_keys crowbar/access_keys) # fails here, before anybody loses his key
for name in $names; do
    if key=$(read_attribute "crowbar/access_keys/$name"); then
        printf '%s\n' "$key" >> "$fresh"
    fi
done
echo "$end" >> "$fresh"

if cmp -s "$fresh" "$keys"; then
    echo "the keys are as they should be"
else
    mv "$fresh" "$keys" # at once, so that nobody is locked out in between
    echo "the keys were written to $keys"
fi

if machine_key=$(read_attribute crowbar/machine_key); then
    mkdir -p "$key_dir"
    printf '%s\n' "$machine_key" > "$key_dir/machine.key.new"
    mv "$key_dir/machine.key.new" "$key_dir/machine.key"
fi
