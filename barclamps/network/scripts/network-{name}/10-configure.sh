#!/bin/sh
# Configures the addresses of one network on this machine: resolves the conduits, creates bonds,
# VLANs and bridges, and sets addresses and the default route, at once with ip and for the next
# start of the machine with files of systemd-networkd.
#
# Steps: list the interfaces (sysfs, in bus order), plan this network (plan.awk), merge the plans of
# all networks of this machine (merge.awk), compare with the machine (commands.awk), change what
# differs. A second run finds no difference and changes nothing.
#
# Any change may cut the connection of this run. Therefore the present configuration is saved and a
# detached process restores it after 60 seconds (rollback). The process is stopped when, after the
# change, the machine reaches the client of the connection; if it does not reach it within three
# quarters of that time, the configuration is restored at once and the run fails. The plan is stored
# only after the confirmation, so that the next run compares with what is really configured.
#
# With HALLIGAN_NETWORK_PLAN=1 the plan and the commands are printed and nothing is changed.
set -eu

# shellcheck disable=SC2034 # used by functions
tools=$PWD/lib
. ./lib/functions

sysfs=${HALLIGAN_SYSFS:-/sys}
state=${HALLIGAN_NETWORK_STATE:-/var/lib/halligan/network}
guards=${HALLIGAN_NETWORK_GUARDS:-/run/halligan-network}
systemd_dir=${HALLIGAN_SYSTEMD_DIR:-/run/systemd/system}
networkd_dir=${HALLIGAN_NETWORKD_DIR:-}
rollback_s=${HALLIGAN_ROLLBACK_S:-60}

# ---- input ----

# The staged data may also contain the networks of ancestors of this noderole.
network=$(read_attribute crowbar/network_name) || network=
if [ -z "$network" ]; then
    count=0
    for name in $(get_keys crowbar/network); do
        if read_attribute "crowbar/network/$name/addresses" > /dev/null; then
            network=$name
            count=$((count + 1))
        fi
    done
    [ "$count" -eq 1 ] ||
        die "the staged data has $count networks with addresses and no crowbar/network_name"
fi
flat_attributes "crowbar/network/$network" > attributes.flat

# Prints the maximum speed in Mbit/s. Only ethtool knows the supported modes; sysfs has the speed of
# the present link. Virtual machines report none: their interfaces count as 1g.
maximum_speed() { # INTERFACE
    speed=
    if command -v ethtool > /dev/null; then
        speed=$(ethtool "$1" 2> /dev/null | awk '
            /^[ \t]*Supported link modes:/ { on = 1; sub(/.*:/, "") }
            /:/ { on = 0 }
            on { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+base/ && $i + 0 > max) max = $i + 0 }
            END { if (max) print max }') || speed=
    fi
    [ -n "$speed" ] || speed=$(cat "$sysfs/class/net/$1/speed" 2> /dev/null) || speed=
    case $speed in
    '' | *[!0-9]* | 0)
        bus=$(readlink -f "$sysfs/class/net/$1/device/subsystem") || bus=
        case ${bus##*/} in
        virtio | xen | vmbus) echo 1000 ;;
        *) echo unknown ;;
        esac
        ;;
    *) echo "$speed" ;;
    esac
}

# Prints the Ethernet interfaces that are devices on a bus. Left out: virtual functions, which belong
# to guests, and wireless interfaces.
list_interfaces() {
    for entry in "$sysfs"/class/net/*; do
        name=${entry##*/}
        path=$(readlink -f "$entry") || continue
        case $path in
        */devices/virtual/*) continue ;;
        */devices/*/net/"$name") ;;
        *) continue ;;
        esac
        [ "$(cat "$entry/type" 2> /dev/null || echo 1)" = 1 ] || continue
        if [ -e "$entry/device/physfn" ] || [ -e "$entry/wireless" ] || [ -e "$entry/phy80211" ]; then
            continue
        fi
        path=${path##*/devices/}
        path=${path%/net/"$name"}
        case ${path##*/} in
        virtio[0-9]*) path=${path%/*} ;; # the address is that of the device below
        esac
        printf '%s\t%s\t%s\t%s\n' "$name" "${path#pci}" \
            "$(cat "$entry/dev_port" 2> /dev/null || echo 0)" "$(maximum_speed "$name")"
    done
}

# Prints the bus order of the first interface map whose pattern matches the product. The attributes
# are read once, because there may be many maps; flat_attributes doubles each backslash of a pattern.
bus_order() {
    flat_attributes crowbar/interface_map > map.flat
    while IFS='	' read -r key pattern; do
        case $key in */pattern) ;; *) continue ;; esac
        pattern=$(printf '%s\n' "$pattern" | sed 's/\\\\/\\/g')
        status=0
        printf '%s\n' "$product" | grep -Eq -e "$pattern" || status=$?
        [ "$status" -le 1 ] ||
            die "the pattern \"$pattern\" of the interface map is not a regular expression;" \
                "change the map"
        if [ "$status" -eq 0 ]; then
            awk -F '\t' -v prefix="${key%pattern}bus_order/" \
                'index($1, prefix) == 1 { print $2 }' map.flat
            return
        fi
    done < map.flat
}

# ---- plan ----

product=$(cat "$sysfs/class/dmi/id/product_name" 2> /dev/null) || product=
[ -n "$product" ] ||
    product=$(tr -d '\0' < "$sysfs/firmware/devicetree/base/model" 2> /dev/null) || product=
bus_order > map
list_interfaces > interfaces.unsorted
LC_ALL=C awk -f lib/order.awk what=map map what=interfaces interfaces.unsorted |
    LC_ALL=C sort | cut -f 5- > interfaces
LC_ALL=C awk -v network="$network" -v product="$product" -f lib/plan.awk what=interfaces interfaces \
    what=attributes attributes.flat > plan

mkdir -p "$state" machine networkd
set --
for file in "$state"/*.plan; do
    if [ -f "$file" ] && [ "$file" != "$state/$network.plan" ]; then
        set -- "$@" "$file"
    fi
done
: > plan.before
if [ -f "$state/$network.plan" ]; then
    cp "$state/$network.plan" plan.before
fi
LC_ALL=C awk -f lib/merge.awk plan "$@" > wanted
LC_ALL=C awk -f lib/merge.awk plan.before "$@" > dropped 2> /dev/null

has_networkd=no
if [ -n "$networkd_dir" ]; then
    has_networkd=yes
elif [ -x /lib/systemd/systemd-networkd ] || [ -x /usr/lib/systemd/systemd-networkd ]; then
    has_networkd=yes
    networkd_dir=/etc/systemd/network
fi
LC_ALL=C awk -v directory=networkd -f lib/networkd.awk wanted

if [ "${HALLIGAN_NETWORK_PLAN:-0}" = 1 ]; then
    missing_commands machine 0 wanted dropped > commands
    sed 's/^/plan: /' wanted
    sed 's/^/ip /' commands
    exit 0
fi

# ---- protection of the connection ----

answers_ping() { # ADDRESS
    case $1 in
    *:*) family=-6 ;;
    *) family=-4 ;;
    esac
    if command -v ping > /dev/null; then
        ping "$family" -c 1 -W 1 "$1" > /dev/null 2>&1
    else
        busybox ping "$family" -c 1 -W 1 "$1" > /dev/null 2>&1
    fi
}

# Does the other end of the connection of this run acknowledge data? The line that is printed here
# is sent through it; Send-Q of the socket is 0 when all bytes are acknowledged.
connection_acknowledges() {
    command -v ss > /dev/null || return 1
    # shellcheck disable=SC2086 # four words: address and port of the client, then of this machine
    set -- ${SSH_CONNECTION:-}
    [ $# -eq 4 ] || return 1
    echo "waiting for an acknowledgement of $1" >&2
    sleep 1
    ss -Htn state established "( sport = :$4 and dport = :$2 )" |
        awk -v client="$1" 'index($4, client) { found = 1; unsent += $2 }
            END { exit !found || unsent > 0 }'
}

# Sets `peers`: addresses of which one must answer after the change, or "connection". The client of
# the connection must answer if it answers now. If it does not answer ping, acknowledgements of the
# connection itself are used; if these cannot be observed either, the targets of the network. A run
# without a connection, on the machine of the daemon, uses the gateway of the default route; this one
# or the next, if the plan replaces it; none, if it does not answer now or the plan removes it.
choose_peers() {
    client=${SSH_CONNECTION:-}
    client=${client%% *}
    peers=
    if [ -z "$client" ]; then
        gateway=$(awk '$1 == "default" && $2 == "via" { print $3; exit }' \
            machine/routes4 machine/routes6)
        if [ -n "$gateway" ] && answers_ping "$gateway"; then
            peers=$(awk -F '\t' -v gateway="$gateway" '
                $1 == "route" && FILENAME == "dropped" && $3 == gateway { was_ours = 1 }
                $1 == "route" && FILENAME == "wanted" { next_one = next_one " " $3 }
                END { if (!was_ours || next_one != "") print gateway next_one }' dropped wanted)
        fi
    elif answers_ping "$client"; then
        peers=$client
    elif connection_acknowledges; then
        peers=connection
    else
        # Without another machine the targets are the addresses of this one, which prove nothing.
        peers=$(awk -F '\t' '
            $1 ~ /^addresses\// { sub(/\/.*/, "", $2); own[$2] = 1 }
            $1 ~ /^targets\// { target[++n] = $2 }
            END { for (i = 1; i <= n; i++) if (!(target[i] in own)) print target[i] }' attributes.flat)
        [ -n "$peers" ] ||
            die "network $network: nothing was changed: $client, where this connection comes from," \
                "does not answer ping, so the change could not be confirmed; let it answer ICMP" \
                "echo requests"
    fi
}

# Waits for the rollback of an earlier run that was cut off.
finish_earlier_rollback() {
    for guard in "$guards"/??????; do
        [ -d "$guard" ] || continue
        left=$((rollback_s + 10))
        [ ! -e "$guard/armed" ] ||
            echo "an earlier run was cut off; waiting until its changes are undone" >&2
        while [ "$left" -gt 0 ] && { [ -e "$guard/armed" ] || [ -e "$guard/restoring" ]; }; do
            sleep 1
            left=$((left - 1))
        done
        if [ -e "$guard/armed" ]; then # Its process does not exist any more.
            sh "$guard/rollback" "$guard" 0
        fi
        rm -rf "$guard"
    done
}

arm_rollback() {
    mkdir -p "$guards"
    guard=$(mktemp -d "$guards/XXXXXX")
    mkdir "$guard/tools"
    cp lib/machine.awk lib/commands.awk lib/functions "$guard/tools/"
    cp lib/rollback "$guard/"
    printf "networkd_dir='%s'\nsystemd_dir='%s'\n" "$networkd_dir" "$systemd_dir" > "$guard/settings"
    with_machine machine -f lib/machine.awk -f lib/snapshot.awk > "$guard/snapshot"
    cp wanted "$guard/undo"
    if [ "$has_networkd" = yes ]; then
        mkdir -p "$networkd_dir" "$guard/networkd"
        for file in "$networkd_dir"/10-halligan-*; do
            [ ! -f "$file" ] || cp "$file" "$guard/networkd/"
        done
    fi
    : > "$guard/armed"
    if [ -d "$systemd_dir" ] && command -v systemd-run > /dev/null &&
        systemd-run --quiet --collect sh "$guard/rollback" "$guard" "$rollback_s"; then
        return 0
    fi
    # The environment is empty, because the next run ends all processes that have the directory of
    # this run in their environment.
    detach=
    ! command -v setsid > /dev/null || detach=setsid
    (
        trap '' HUP
        # shellcheck disable=SC2086 # empty or one word
        exec env -i PATH="$PATH" $detach sh "$guard/rollback" "$guard" "$rollback_s" \
            < /dev/null > /dev/null 2>&1
    ) &
}

# Restores the configuration and ends the run.
give_up() { # REASON
    sh "$guard/rollback" "$guard" 0
    while [ -e "$guard/restoring" ]; do sleep 1; done
    if [ -e "$guard/restored" ]; then
        die "network $network: $1; the configuration was restored" || exit 1
    fi
    sed 's/^/rollback: /' "$guard/log" >&2
    die "network $network: $1; the configuration could not be restored completely:" \
        "see $guard/log" || exit 1
}

confirm() {
    [ -n "$peers" ] || return 0
    window=$((rollback_s * 3 / 4))
    end=$(($(date +%s) + window))
    while :; do
        for peer in $peers; do
            if [ "$peer" = connection ]; then
                ! connection_acknowledges || return 0
            elif answers_ping "$peer"; then
                return 0
            fi
        done
        [ "$(date +%s)" -lt "$end" ] || return 1
        sleep 1
    done
}

# ---- change ----

finish_earlier_rollback
missing_commands machine 0 wanted dropped > commands
if grep -q '^refuse ' commands; then
    sed -n "s/^refuse /network $network: /p" commands >&2
    exit 1
fi
changes_files=no
if [ "$has_networkd" = yes ]; then
    mkdir -p "$networkd_dir"
    for file in "$networkd_dir"/10-halligan-* networkd/10-halligan-*; do
        name=${file##*/}
        case $name in *'*'*) continue ;; esac
        cmp -s "networkd/$name" "$networkd_dir/$name" || changes_files=yes
    done
fi

if [ -s commands ] || [ "$changes_files" = yes ]; then
    choose_peers
    arm_rollback
    for round in 1 2 3 4; do
        [ -s commands ] || break
        [ "$round" -lt 4 ] ||
            give_up "the configuration does not become stable: ip $(head -n 1 commands)"
        while read -r command; do
            echo "ip $command"
            # shellcheck disable=SC2086 # the line is a list of arguments
            (set -f; ip $command < /dev/null) || give_up "the command \"ip $command\" failed"
        done < commands
        missing_commands machine 0 wanted dropped > commands ||
            give_up "the configuration cannot be read"
    done
    if [ "$changes_files" = yes ]; then
        replace_networkd_files networkd "$networkd_dir" || give_up "$networkd_dir cannot be written"
        reload_networkd || give_up "systemd-networkd does not accept its files"
    fi
    confirm || give_up "after the change no answer came from $peers"
    mv "$guard/armed" "$guard/confirmed" 2> /dev/null ||
        give_up "the change was not confirmed within $rollback_s s"
else
    echo "the network $network is up to date"
fi
cp plan "$state/$network.plan.new"
mv "$state/$network.plan.new" "$state/$network.plan"
if [ "$has_networkd" = yes ] && [ -d "$systemd_dir" ] &&
    ! systemctl is-enabled --quiet systemd-networkd; then
    echo "systemd-networkd is not enabled: this configuration lasts until the machine restarts" >&2
fi

# ---- result ----

resolved=$(awk -F '\t' '
    FNR == NR { if ($1 == "address") device[$2] = $3; next }
    $1 == "address" { printf "%s\"%s\":\"%s\"", n++ ? "," : "{", $2, device[$2] }
    END { print n ? "}" : "{}" }' wanted plan)
write_attribute "crowbar/network/$network/resolved_interfaces" "$resolved"
echo "network $network: $resolved"
