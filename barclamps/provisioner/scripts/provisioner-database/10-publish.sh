#!/bin/sh
# Publishes what each machine is to be told, and answers on the wall what was published: the boot
# environment and generation of each client. Nothing is answered before the publisher, when there is
# one, has taken it, because machines reboot on the strength of this answer.
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
        die "the boot server did not take what it was told"
fi

# {"NODE":{"bootenv":"...","generation":N,"node_id":N},...}; names and boot environments that could
# break it are left out, and whoever waits for one of them is told so by its deadline.
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
mv wall.tmp attrs/crowbar_wall/provisioner/clients/wall # may be too long for an argument
echo "published; the wall has $(printf '%s' "$wall" | grep -o '"bootenv"' | grep -c . || :) clients"
