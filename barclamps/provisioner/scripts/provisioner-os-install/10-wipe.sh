#!/bin/sh
# Wipes the disks it was told, waits (parked) until the machine would boot the installer, and asks
# for the reboot.
#
# It runs at least twice. The first run checks every disk before it touches any, wipes them, and
# ends with 128: not finished. What it says on the wall makes the server change the boot
# environment; when the boot databases have it, or cannot, or the deadline is over, it is run again.
# That run looks whether the installer would really be booted: if so it ends with 64, reboot; if not
# it fails with what it sees, and the next attempt begins with the first run again.
#
# Only disks on the list (attrib provisioner-wipe) are touched. One that is mounted, claimed by
# somebody else, or under a volume that also lies on other disks stops the whole run before anything
# is written.
set -eu

run_dir=${HALLIGAN_RUN:-/run/halligan}
marker=$run_dir/wiped
joined=${HALLIGAN_JOINED:-/etc/halligan/joined}
owner='operating system'

# ---- is there anything to do? ----

if [ -e "$joined" ]; then
    echo "this machine runs from its disk already ($joined): nothing is wiped"
    exit 0
fi
places=$(get_keys provisioner/wipe)
if [ -z "$places" ]; then
    echo "no disk may be wiped: nothing to do"
    exit 0
fi
target=$(read_attribute provisioner/target_os) || die "nobody says what is to be installed"
wanted=$target-install

# ---- the second run ----

if [ -f "$marker" ] && wiped=$(read_attribute hints/crowbar_wall/provisioner/wiped) &&
    [ "$wiped" = "$(cat "$marker")" ]; then
    boots=$(read_attribute hints/provisioner-active-bootstate) || boots=nothing
    dhcp=$(read_attribute hints/dhcp-active-bootstate) || dhcp=nothing
    write_attribute crowbar_wall/provisioner/wiped "$wiped"
    rm -f "$marker" # whatever comes next begins anew
    if [ "$boots" = "$wanted" ] && [ "$dhcp" = "$wanted" ]; then
        echo "the machine would boot $wanted: it reboots"
        exit 64
    fi
    echo "the machine is not rebooted, because it would not boot $wanted:" >&2
    echo "provisioner-database says: $boots" >&2
    echo "dhcp-database says: $dhcp" >&2
    exit 1
fi
rm -f "$marker"

# ---- the first run: look at everything, touch nothing ----

# The device of a disk: its unique name below /dev, or the path that came with it.
device_of() { # PLACE
    name=$(read_attribute "provisioner/wipe/$1/name") || die "disk $1 of the list has no name"
    path=$(read_attribute "provisioner/wipe/$1/path") || path=
    for candidate in "$name" "/dev/$name" "$path"; do
        case $candidate in
        */../* | */..) continue ;;
        /dev/*) [ -e "$candidate" ] && readlink -f "$candidate" && return ;;
        esac
    done
    die "the disk $name is on the list, but not on this machine"
}

owner_of() { # NAME
    flat_attributes hints/claimed-disks | awk -F '\t' -v "name=$1" '
        { gsub(/%2F/, "/", $1); gsub(/%25/, "%", $1) }
        $1 == name { print $2 }'
}

# Everything that lies on a device, itself first: NAME TYPE MOUNTPOINT
tree_of() {
    lsblk -nrpo NAME,TYPE,MOUNTPOINT "$1"
}

devices=
for place in $places; do
    name=$(read_attribute "provisioner/wipe/$place/name") || die "disk $place has no name"
    claimed=$(owner_of "$name")
    if [ -n "$claimed" ] && [ "$claimed" != "$owner" ]; then
        die "the disk $name belongs to $claimed: nothing was wiped"
    fi
    device=$(device_of "$place")
    [ "$(lsblk -dnro TYPE "$device")" = disk ] || die "$device is no disk: nothing was wiped"
    mounted=$(tree_of "$device" | awk 'NF > 2 { print $1 " on " $3 }')
    [ -z "$mounted" ] || die "in use: $mounted. Nothing was wiped"
    devices="$devices $device"
done

is_ours() { # DEVICE
    case "$devices " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# Volumes and arrays must lie on disks of the list alone.
for device in $devices; do
    tree_of "$device" | awk '$2 != "disk" && $2 != "part" { print $1 }' | while read -r volume; do
        lsblk -nrpso NAME,TYPE "$volume" | awk '$2 == "disk" { print $1 }' |
            while read -r disk; do
                is_ours "$disk" || die "$volume also lies on $disk: nothing was wiped"
            done
    done
done

# ---- now wipe ----

# From the top down: what lies on something is taken apart before it. An array with two parts on one
# disk is listed twice.
for device in $devices; do
    tree_of "$device" |
        awk '!seen[$1]++ { line[++n] = $0 } END { for (; n; n--) print line[n] }' |
        while read -r part type _; do
            case $type in
            lvm | crypt | mpath | dm) dmsetup remove --retry "$part" ;;
            raid*) mdadm --stop "$part" ;;
            part) wipefs -aq "$part" ;;
            esac
        done
done
for device in $devices; do
    size=$(lsblk -bdnro SIZE "$device")
    wipefs -aq "$device"
    dd if=/dev/zero of="$device" bs=1M count=1 conv=notrunc,fsync 2> /dev/null
    if [ "$size" -gt 2097152 ]; then # labels of arrays and the second partition table
        dd if=/dev/zero of="$device" bs=1M seek=$((size / 1048576 - 1)) count=1 \
            conv=notrunc,fsync 2> /dev/null
        rest=$((size % 1048576))
        if [ "$rest" -gt 0 ]; then
            dd if=/dev/zero of="$device" bs=512 seek=$(((size - rest) / 512)) \
                count=$((rest / 512)) conv=notrunc,fsync 2> /dev/null
        fi
    fi
    blockdev --rereadpt "$device" 2> /dev/null ||
        echo "$device: the kernel looks again at the reboot"
    echo "wiped $device"
done

# ---- and wait ----

mkdir -p "$run_dir"
wiped=$(cat /proc/sys/kernel/random/uuid)
printf '%s' "$wiped" > "$marker"
write_attribute crowbar_wall/provisioner/wiped "$wiped"
echo "waiting until the machine would boot $wanted"
exit 128
