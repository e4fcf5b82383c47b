#!/bin/sh
# Writes the records of all machines, one a line, to a file below the state directory. If the file
# changed, the publisher program is called, if there is one.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}
publisher=${HALLIGAN_PUBLISHERS:-/usr/lib/halligan/publish}/dns

mkdir -p "$state/dns"
# The input has lines "NODE/address TAB ..." and "NODE/type TAB ..." in this order.
flat_attributes crowbar/dns/records > records.flat
awk -F '\t' '
    { slash = match($1, /\/[^\/]*$/); name = substr($1, 1, slash - 1); key = substr($1, slash + 1) }
    key == "address" { address[name] = $2 }
    key == "type" && name in address { print name ". IN " $2 " " address[name] }
' records.flat | LC_ALL=C sort > "$state/dns/records.new"

if [ -f "$state/dns/records" ] && cmp -s "$state/dns/records.new" "$state/dns/records"; then
    rm -f "$state/dns/records.new"
    echo "the records have not changed"
    exit 0
fi
mv "$state/dns/records.new" "$state/dns/records"
if [ -x "$publisher" ]; then
    if ! "$publisher" "$state/dns/records"; then
        rm -f "$state/dns/records" # so that the next run calls the publisher again
        die "$publisher failed: the DNS server has not accepted the records"
    fi
fi
echo "published $(grep -c . "$state/dns/records" || :) records"
