#!/bin/sh
# Publishes the machines that changed. The database is a file for each machine, below the state
# directory:
#
#   clients/BLOCK/ID.json   the entry of the node with this id; BLOCK is the id without its last
#                           three digits, or 0
#   removing                ids whose files are removed, until the publisher program has accepted it
#
# The run is given the entries of some nodes (boot/due; null: remove it), and, until it has been given
# all nodes, an interval of ids (boot/part) in which every other node is removed. The work is
# proportional to that and not to the number of machines.
#
# Every file is replaced in one step, and a run that is interrupted is done again with the same
# entries or newer ones, so the database can be used at any time. If there is a publisher program, it
# is called with the directory and a list of the changes, lines "set ID FILE" and "remove ID". It must
# succeed before the run ends with ok, because machines are started after that.
set -eu

state=${HALLIGAN_STATE:-/var/lib/halligan/publish}/provisioner
publisher=${HALLIGAN_PUBLISHERS:-/usr/lib/halligan/publish}/provisioner

# ---- entries ----

# From lines "due/ID/FIELD TAB VALUE", as flat_attributes writes them, to a file for each complete
# entry in the directory `out`. Prints the ids of these entries.
# shellcheck disable=SC2016 # awk expands it, not the shell
write_entries='
function quoted(value,   parts, count, i, c, text) {
    # Of the characters that need an escape, flat_attributes has written \\ \t \n.
    count = split(value, parts, "\"")
    text = parts[1]
    for (i = 2; i <= count; i++)
        text = text "\\\"" parts[i]
    for (i = 1; i < 32; i++) {
        c = sprintf("%c", i)
        while (count = index(text, c))
            text = substr(text, 1, count - 1) sprintf("\\u%04x", i) substr(text, count + 1)
    }
    return "\"" text "\""
}
function block_of(id) { return length(id) > 3 ? substr(id, 1, length(id) - 3) : "0" }
split($1, key, "/") >= 3 && key[1] == "due" && key[2] ~ /^[0-9]+$/ {
    id = key[2]
    if (!(id in seen)) {
        seen[id] = 1
        ids[++total] = id
    }
    if (key[3] == "addresses" && key[4] == 0)
        address[id] = $2
    else if (key[3] == "macs")
        macs[id] = macs[id] (macs[id] == "" ? "" : ",") quoted(toupper($2))
    else if (key[3] == "name")
        name[id] = $2
    else if (key[3] == "bootenv")
        bootenv[id] = $2
    else if (key[3] == "generation" && $2 ~ /^[0-9]+$/)
        generation[id] = $2
    else if (key[3] == "attribs" && key[4] == "operating-system-disk")
        disk[id] = $2
}
END {
    for (i = 1; i <= total; i++) {
        id = ids[i]
        if (!(id in address) || !(id in macs) || bootenv[id] == "")
            continue # no machine can be recognised by it
        file = out "/" block_of(id) "/" id ".json"
        if (!(block_of(id) in made)) {
            made[block_of(id)] = 1
            system("mkdir -p '\''" out "/" block_of(id) "'\''")
        }
        print "{\"bootenv\":" quoted(bootenv[id]) ",\"generation\":" generation[id] + 0 \
            ",\"name\":" quoted(name[id]) ",\"node_id\":" id \
            (bootenv[id] ~ /-install$/ && id in disk ? ",\"rootdev\":" quoted(disk[id]) : "") \
            ",\"v4addr\":" quoted(address[id]) "}" > file
        close(file)
        print id
    }
}'

# Replaces the files of the entries in a list of that form; prints their ids.
put_entries() { # FLAT
    rm -rf "$state/incoming"
    mkdir -p "$state/incoming"
    LC_ALL=C awk -F '\t' -v "out=$state/incoming" "$write_entries" "$1"
    partial=$(find "$state/incoming" -name '*.json' -exec grep -L '}$' {} + || :)
    [ -z "$partial" ] || die "the entries could not be written to $state/incoming"
    for block in "$state"/incoming/*/; do
        [ -d "$block" ] || continue
        block=${block%/}
        mkdir -p "$state/clients/${block##*/}"
        mv -f "$block"/*.json "$state/clients/${block##*/}/"
    done
    rm -rf "$state/incoming"
}

# What was written is on the disk: after the run no machine is given again.
sync_state() {
    sync -f "$state" 2> /dev/null || sync
}

# Earlier versions wrote one document for all machines, with their names as keys. Its entries become
# files before any other is written or removed; the document is removed when all are there.
convert_document() {
    mkdir -p document
    cp "$state/clients.json" document/attrs.json
    HALLIGAN_RUN_DIR=$PWD/document flat_attributes '' > document.flat
    LC_ALL=C awk -F '\t' '
        split($1, key, "/") == 2 && key[2] == "node_id" { id[key[1]] = $2 }
        { line[NR] = $0 }
        END {
            for (i = 1; i <= NR; i++) {
                split(line[i], half, "\t")
                count = split(half[1], key, "/")
                if (!(key[1] in id) || count < 2)
                    continue
                due = "due/" id[key[1]] "/"
                if (key[2] == "v4addr")
                    print due "addresses/0\t" half[2]
                else if (key[2] == "mac_addresses")
                    print due "macs/" key[3] "\t" half[2]
                else if (key[2] == "bootenv" || key[2] == "generation")
                    print due key[2] "\t" half[2]
                else if (key[2] == "node_id") {
                    print due "name\t" key[1]
                    print due "macs/0\t-" # it has one, which was not in the document
                } else if (key[2] == "rootdev") {
                    print due "attribs/operating-system-disk\t" half[2]
                }
            }
        }' document.flat > converted.flat
    put_entries converted.flat > converted.ids
    sync_state
    rm -f "$state/clients.json"
    echo "converted $(grep -c . converted.ids || :) entries of an earlier version"
}

# ---- removals ----

# The ids of all entries with AFTER < id <= TO.
known_ids() { # AFTER TO
    for block in "$state"/clients/*/; do
        number=${block%/}
        number=${number##*/}
        case $number in *[!0-9]*) continue ;; esac
        if [ "$number" -ge $(($1 / 1000)) ] && [ "$number" -le $(($2 / 1000)) ]; then
            ls "$block"
        fi
    done | sed -n 's/^\([0-9]*\)\.json$/\1/p' | awk -v "after=$1" -v "to=$2" '$1 > after && $1 <= to'
}

# Sets `file` to the path of an entry.
find_file() { # ID
    case $1 in
    ????*) file=$state/clients/${1%???}/$1.json ;;
    *) file=$state/clients/0/$1.json ;;
    esac
}

# Those of the ids on standard input that are not in a list.
not_in() { # LIST
    awk -v "list=$1" 'BEGIN { while ((getline id < list) > 0) listed[id] } !($1 in listed)'
}

# Those of the ids on standard input that have a file.
with_file() {
    while read -r id; do
        find_file "$id"
        [ ! -f "$file" ] || echo "$id"
    done
}

# ---- publish ----

mkdir -p "$state/clients"
get_keys boot | grep -qx due ||
    die "the daemon has not staged what changed: the role lacks the flag serves-boot"
flat_attributes boot > boot.flat
get_keys boot/due | grep -x '[0-9]*' > due.ids || :
after=$(awk -F '\t' '$1 == "part/after" { print $2 }' boot.flat)
to=$(awk -F '\t' '$1 == "part/to" { print $2 }' boot.flat)

[ ! -f "$state/clients.json" ] || convert_document

# What is to be removed: nodes that have no entry any more, the others of the interval, and what an
# earlier run has not finished. It is noted before the first file is removed.
put_entries boot.flat > set.ids
{
    awk -F '/' '$1 == "due" { print $2 }' boot.flat | sort -u > given.ids
    not_in given.ids < due.ids                  # null
    not_in set.ids < given.ids | with_file      # without an address or a MAC
    [ -z "$after" ] || known_ids "$after" "${to:-9007199254740991}"
    [ ! -f "$state/removing" ] || cat "$state/removing"
} | sort -u | not_in set.ids > remove.ids
if [ -s remove.ids ]; then
    cp remove.ids "$state/removing.new"
    mv "$state/removing.new" "$state/removing"
    while read -r id; do
        find_file "$id"
        printf '%s\n' "$file"
    done < remove.ids | xargs rm -f
fi
sync_state

if [ -x "$publisher" ]; then
    {
        while read -r id; do
            find_file "$id"
            echo "set $id $file"
        done < set.ids
        sed 's/^/remove /' remove.ids
    } > changes
    "$publisher" "$state" "$PWD/changes" ||
        die "$publisher failed: the boot server has not accepted the entries"
fi
rm -f "$state/removing"
echo "published $(grep -c . set.ids || :) machines, removed $(grep -c . remove.ids || :)"
