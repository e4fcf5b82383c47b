#!/bin/sh
# Wipes the disks on its list, parks until the machine would boot the installer, and requests the
# reboot. It is executed at least twice:
#
#   first   Checks every disk before it changes any, wipes them, and ends with 128: not finished.
#           The new value of provisioner-wiped in the wall data makes the hook of the role change the
#           boot environment. The run is resumed when the boot databases have published the
#           environment or failed, or at the deadline.
#   second  Checks that both databases would boot the installer. If so, it ends with 64: reboot.
#           Otherwise it fails with the values that it read, and the next attempt is a first one.
#
# Only disks on the list (attrib provisioner-wipe) are written to. If one of them is mounted,
# claimed by another owner, or part of a volume that also uses other disks, the run fails before
# anything is written.
set -eu

run_dir=${HALLIGAN_RUN:-/run/halligan}
marker=$run_dir/wiped
joined=${HALLIGAN_JOINED:-/etc/halligan/joined}
owner='operating system'

# ---- preconditions ----

if [ -e "$joined" ]; then
    echo "this machine already runs from its disk ($joined exists): nothing is wiped"
    exit 0
fi
places=$(get_keys provisioner/wipe)
if [ -z "$places" ]; then
    echo "the list of disks to wipe is empty: nothing to do"
    exit 0
fi
target=$(read_attribute provisioner/target_os) ||
    die "the attrib provisioner-target_os is not set: nothing was wiped"
wanted=$target-install

# ---- second execution: check the boot state ----

if [ -f "$marker" ] && wiped=$(read_attribute hints/crowbar_wall/provisioner/wiped) &&
    [ "$wiped" = "$(cat "$marker")" ]; then
    boots=$(read_attribute hints/provisioner-active-bootstate) || boots=nothing
    dhcp=$(read_attribute hints/dhcp-active-bootstate) || dhcp=nothing
    write_attribute crowbar_wall/provisioner/wiped "$wiped"
    rm -f "$marker" # the next execution is a first one
    if [ "$boots" = "$wanted" ] && [ "$dhcp" = "$wanted" ]; then
        echo "the machine would boot $wanted: rebooting"
        exit 64
    fi
    echo "the machine is not rebooted, because it would not boot $wanted:" >&2
    echo "provisioner-active-bootstate is: $boots" >&2
    echo "dhcp-active-bootstate is: $dhcp" >&2
    exit 1
fi
rm -f "$marker"

# ---- first execution: check all disks, change nothing ----

# The device of a disk: its unique name below /dev, or the path in the list.
device_of() { # PLACE
    name=$(read_attribute "provisioner/wipe/$1/name") ||
        die "disk $1 of the list has no name: nothing was wiped"
    path=$(read_attribute "provisioner/wipe/$1/path") || path=
    for candidate in "$name" "/dev/$name" "$path"; do
        case $candidate in
        */../* | */..) continue ;;
        /dev/*) [ -e "$candidate" ] && readlink -f "$candidate" && return ;;
        esac
    done
    die "the disk $name is on the list, but this machine does not have it: nothing was wiped"
}

owner_of() { # NAME
    flat_attributes hints/claimed-disks | awk -F '\t' -v "name=$1" '
        { gsub(/%2F/, "/", $1); gsub(/%25/, "%", $1) }
        $1 == name { print $2 }'
}

# The device and everything that is stacked on it, the device first: NAME TYPE MOUNTPOINT
tree_of() {
    lsblk -nrpo NAME,TYPE,MOUNTPOINT "$1"
}

devices=
for place in $places; do
    name=$(read_attribute "provisioner/wipe/$place/name") ||
        die "disk $place of the list has no name: nothing was wiped"
    claimed=$(owner_of "$name")
    if [ -n "$claimed" ] && [ "$claimed" != "$owner" ]; then
        die "the disk $name belongs to $claimed: nothing was wiped"
    fi
    device=$(device_of "$place")
    [ "$(lsblk -dnro TYPE "$device")" = disk ] || die "$device is not a disk: nothing was wiped"
    mounted=$(tree_of "$device" | awk 'NF > 2 { print $1 " on " $3 }')
    [ -z "$mounted" ] || die "in use: $mounted. Nothing was wiped"
    devices="$devices $device"
done

is_ours() { # DEVICE
    case "$devices " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# Volumes and arrays must not use disks outside of the list.
for device in $devices; do
    tree_of "$device" | awk '$2 != "disk" && $2 != "part" { print $1 }' | while read -r volume; do
        lsblk -nrpso NAME,TYPE "$volume" | awk '$2 == "disk" { print $1 }' |
            while read -r disk; do
                is_ours "$disk" ||
                    die "$volume also uses $disk, which is not on the list: nothing was wiped"
            done
    done
done

# ---- first execution: wipe ----

# From the top down: a volume is removed before the device that it is stacked on. An array with two
# partitions on one disk is listed twice.
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
        echo "$device: the kernel reads the new partition table at the reboot"
    echo "wiped $device"
done

# ---- first execution: park ----

mkdir -p "$run_dir"
wiped=$(cat /proc/sys/kernel/random/uuid)
printf '%s' "$wiped" > "$marker"
write_attribute crowbar_wall/provisioner/wiped "$wiped"
echo "waiting until the machine would boot $wanted"
exit 128
