#!/bin/sh
# Publishes the entries of all machines, and returns in the wall data what was published: the boot
# environment and generation of each client. If there is a publisher program, it must succeed before
# anything is returned, because machines are rebooted after this acknowledgement.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
publisher=${HALLIGAN_PUBLISHERS:-/usr/lib/halligan/publish}/provisioner

mkdir -p "$state/provisioner"
cd "$state/provisioner"
read_attribute crowbar/provisioner/clients > clients.new || echo '{}' > clients.new
mv clients.new clients.json
cd "$OLDPWD"

if [ -x "$publisher" ]; then
    "$publisher" "$state/provisioner/clients.json" ||
        die "$publisher failed: the boot server has not accepted the entries"
fi

# The wall data is {"NODE":{"bootenv":"...","generation":N,"node_id":N},...}. Names and boot
# environments with characters that need quoting are left out; a run that waits for one of them ends
# at its deadline.
flat_attributes crowbar/provisioner/clients > clients.flat
wall=$(awk -F '\t' '
    {
        slash = match($1, /\/[^\/]*$/)
        name = substr($1, 1, slash - 1)
        key = substr($1, slash + 1)
        if (key == "bootenv" && name ~ /^[A-Za-z0-9._-]+$/ && $2 ~ /^[A-Za-z0-9._-]+$/) {
            names[++count] = name
            bootenv[name] = $2
        } else if (key == "bootenv")
            print "left out: " name > "/dev/stderr"
        else if ((key == "generation" || key == "node_id") && $2 ~ /^[0-9]+$/)
            number[name, key] = ",\"" key "\":" $2
    }
    END {
        for (i = 1; i <= count; i++)
            printf "%s\"%s\":{\"bootenv\":\"%s\"%s%s}", i == 1 ? "{" : ",", names[i],
                bootenv[names[i]], number[names[i], "generation"], number[names[i], "node_id"]
        print count ? "}" : "{}"
    }' clients.flat)
printf '%s' "$wall" > wall.tmp
mkdir -p attrs/crowbar_wall/provisioner/clients
# Not with write_attribute: the value may be longer than an argument may be.
mv wall.tmp attrs/crowbar_wall/provisioner/clients/wall
echo "published $(printf '%s' "$wall" | grep -o '"bootenv"' | grep -c . || :) clients"
