#!/bin/sh
# Wipes the disks that were committed, parks until the machine would boot the installer, and
# requests the reboot. It is executed at least twice:
#
#   first   Checks every disk before it changes any, wipes them, and ends with 128: not finished.
#           The new value of provisioner-wiped in the wall data makes the hook of the role change the
#           boot environment. The run is resumed when the environment is served, when a noderole
#           that must serve it is in ERROR, and when the setting boot-wait has passed.
#   second  Reads from the staged data (boot) what the machine would boot. If that is the installer,
#           and it is served, it ends with 64: reboot. If it cannot be served, or boot-wait has
#           passed, it fails with the reason, and the next attempt is a first one. Otherwise
#           something changed after it was resumed, and it parks again, for a short time.
#
# Only disks on the list (attrib provisioner-wipe, chosen before the commit) are written to. A disk
# is recognised by its serial number or WWN (world wide name) and its size; its path is only where
# the search begins. If one differs from the committed values, is missing, read-only, in use,
# claimed by another owner, or part of a volume that also uses other disks, the run fails before
# anything is written.
#
# The checks read /sys, /proc and the database of udev (if there is one) and need no programs beyond
# those of busybox: a discovery image may lack lsblk. Overwriting the beginning and the end of a disk
# is not a secure erase: the data between them stay readable.
set -eu

run_dir=${HALLIGAN_RUN:-/run/halligan}
sys=${HALLIGAN_SYSFS:-/sys}
proc=${HALLIGAN_PROC:-/proc}
dev=$(readlink -f "${HALLIGAN_DEV:-/dev}")
udev=${HALLIGAN_UDEV:-/run/udev/data}
marker=$run_dir/wiped
joined=${HALLIGAN_JOINED:-/etc/halligan/joined}
owner='operating system'
since=$run_dir/wiped.since # the time of the wipe, in seconds since the boot of the machine
list=$HALLIGAN_RUN_DIR/wipe.list
nothing='Nothing was wiped'

# ---- preconditions ----

if [ -e "$joined" ]; then
    echo "this machine already runs from its disk ($joined exists): nothing is wiped"
    exit 0
fi
if [ "$(read_attribute provisioner/runs_from_disk || :)" = true ]; then
    echo "this machine is to boot from its disk: nothing is wiped"
    exit 0
fi
flat_attributes announced/provisioner-os-install/wipe > "$list"
places=$(get_keys announced/provisioner-os-install/wipe)
[ -n "$places" ] ||
    die "no disk was committed for this machine. $nothing. Propose the noderole and commit it again"
target=$(read_attribute provisioner/target_os) ||
    die "the attrib provisioner-target_os is not set. $nothing"
wanted=$target-install
wait_s=$(read_attribute boot/wait_s) ||
    die "the daemon has not staged what the machine boots: the role does not announce boot. $nothing"
[ "$wait_s" -gt 0 ] || wait_s=3600 # power actions do not wait; this run does, as any that parks

# ---- second execution: is the installer served? ----

seconds() {
    read -r up _ < "$proc/uptime"
    echo "${up%%.*}"
}

# The status 128 ends this execution; the run is resumed after this time at the latest.
park() { # SECONDS
    echo "waiting until the machine would boot $wanted"
    park_for "$1"
    exit 128
}

if [ -f "$marker" ] && wiped=$(read_attribute hints/crowbar_wall/provisioner/wiped) &&
    [ "$wiped" = "$(cat "$marker")" ]; then
    write_attribute crowbar_wall/provisioner/wiped "$wiped"
    bootenv=$(read_attribute boot/bootenv) || bootenv=nothing
    problem=$(read_attribute boot/problem) || problem=
    if [ "$bootenv" != "$wanted" ]; then
        problem="its boot environment is $bootenv"
    elif [ "$(read_attribute boot/served || :)" = true ]; then
        rm -f "$marker" "$since"
        echo "the machine would boot $wanted: rebooting"
        exit 64
    fi
    [ -s "$since" ] || seconds > "$since" # the wipe was that of an earlier version
    left=$(($(cat "$since") + wait_s - $(seconds)))
    if [ "$left" -gt 0 ] && [ "$(read_attribute boot/failed || :)" != true ]; then
        park "$((left < 10 ? left : 10))"
    fi
    rm -f "$marker" "$since" # the next execution is a first one
    [ "$left" -gt 0 ] || problem="$problem within $wait_s s"
    die_because boot_not_served reboot "the machine is not rebooted into $wanted: $problem"
fi
rm -f "$marker" "$since"

# ---- the devices of this machine ----

# A field of a disk on the list; empty if it has none.
field() { # PLACE NAME
    awk -F '\t' -v "key=$1/$2" '$1 == key { print $2 }' "$list"
}

# Printable text without spaces at its ends; each run of spaces becomes one.
clean() {
    LC_ALL=C tr -cd '\040-\176\n' | tr -s ' ' | sed 's/^ //; s/ $//'
}

# World wide names are written with several prefixes.
clean_wwn() {
    clean | tr A-Z a-z | sed 's/^wwn-//; s/^nvme-//; s/^0x//; s/^naa\.//; s/^eui\.//'
}

# The directory of a disk, partition or volume.
place_of() { # DEVICE
    for place in "$sys/block/$1" "$sys"/block/*/"$1"; do
        if [ -e "$place/dev" ]; then
            printf '%s\n' "$place"
            return
        fi
    done
    echo "$sys has no device $1" >&2
    return 1
}

# The path of a device: sysfs writes "!" instead of "/".
node_of() { # DEVICE
    printf '%s/' "$dev"
    printf '%s\n' "$1" | tr '!' /
}

# The kernel name of the disk at a path of the list. Fails if there is none.
disk_at() { # PATH
    case $1 in
    */../* | */..) return 1 ;;
    /dev/*) at=$dev/${1#/dev/} ;;
    disk/*) at=$dev/$1 ;;
    *) return 1 ;;
    esac
    [ -e "$at" ] || return 1
    found=$(readlink -f "$at")
    found=$(printf '%s\n' "${found#"$dev"/}" | tr / '!')
    [ -e "$sys/block/$found/dev" ] || return 1
    printf '%s\n' "$found"
}

from_udev() { # DISK KEY...
    record=$udev/b$(cat "$sys/block/$1/dev")
    shift
    for key; do
        [ ! -r "$record" ] || sed -n "s/^E:$key=//p" "$record"
    done
}

from_files() { # FILE...
    for file; do
        if [ -r "$file" ]; then
            cat "$file" 2> /dev/null || :
            echo
        fi
    done
}

serials_of() { # DISK
    {
        from_files "$sys/block/$1/serial" "$sys/block/$1/device/serial"
        # Page 80h of SCSI: four bytes of header, then the serial number.
        if [ -r "$sys/block/$1/device/vpd_pg80" ]; then
            dd if="$sys/block/$1/device/vpd_pg80" bs=1 skip=4 2> /dev/null || :
            echo
        fi
        from_udev "$1" ID_SERIAL_SHORT ID_SCSI_SERIAL
    } | clean | sed '/^$/d' | sort -u
}

wwns_of() { # DISK
    {
        from_files "$sys/block/$1/wwid" "$sys/block/$1/device/wwid"
        from_udev "$1" ID_WWN_WITH_EXTENSION ID_WWN
        for link in "$dev"/disk/by-id/wwn-* "$dev"/disk/by-id/nvme-eui.*; do
            case $link in *-part[0-9]*) continue ;; esac
            [ "$(readlink -f "$link" || :)" != "$(node_of "$1")" ] || echo "${link##*/}"
        done
    } | clean_wwn | sed '/^$/d' | sort -u
}

bytes_of() { # DEVICE
    echo $(($(cat "$(place_of "$1")/size") * 512))
}

# "serial A or B, WWN C, 1000 bytes"
describe() { # SERIALS WWNS BYTES
    text=
    [ -z "$1" ] || text="serial $(printf '%s\n' "$1" | sed '$!s/$/ or /' | tr -d '\n'), "
    [ -z "$2" ] || text="${text}WWN $(printf '%s\n' "$2" | sed '$!s/$/ or /' | tr -d '\n'), "
    printf '%s%s bytes\n' "$text" "$3"
}

describe_disk() { # DISK
    describe "$(serials_of "$1")" "$(wwns_of "$1")" "$(bytes_of "$1")"
}

# Whether serial number or WWN are those of the list: what both know must be equal, and at least one
# must be known.
is_same() { # DISK PLACE
    same=1
    serial=$(field "$2" serial | clean)
    found=$(serials_of "$1")
    if [ -n "$serial" ] && [ -n "$found" ]; then
        printf '%s\n' "$found" | grep -Fxq -- "$serial" || return 1
        same=0
    fi
    wwn=$(field "$2" wwn | clean_wwn)
    found=$(wwns_of "$1")
    if [ -n "$wwn" ] && [ -n "$found" ]; then
        printf '%s\n' "$found" | grep -Fxq -- "$wwn" || return 1
        same=0
    fi
    return "$same"
}

# ---- the disk that was committed ----

differs() { # PLACE FOUND
    name=$(field "$1" name)
    die_because disk_differs "$name" "the disk $name differs from the committed one: committed $(
        describe "$(field "$1" serial | clean)" "$(field "$1" wwn | clean_wwn)" "$(field "$1" size)"
    ), found $2. $nothing" || exit 1
}

# A stable path must lead to the committed disk. Names such as /dev/sda change with each boot, so
# then all disks are searched.
disk_of() { # PLACE
    for path in "$(field "$1" path)" "$(field "$1" name)" "/dev/$(field "$1" name)"; do
        disk=$(disk_at "$path") || continue
        if is_same "$disk" "$1"; then
            printf '%s\n' "$disk"
            return
        fi
        case $path in
        *disk/by-*) differs "$1" "$(describe_disk "$disk") at $path" ;;
        esac
    done
    matches=
    for place in "$sys"/block/*/dev; do
        disk=${place%/dev}
        disk=${disk##*/}
        if is_same "$disk" "$1"; then
            matches="$matches $disk"
        fi
    done
    case $matches in
    *' '*' '*) differs "$1" "several disks with these numbers:$matches" ;;
    ' '*) echo "${matches# }" ;;
    *)
        path=$(field "$1" path)
        if disk=$(disk_at "${path:-/dev/$(field "$1" name)}"); then
            differs "$1" "$(describe_disk "$disk") at /dev/$disk"
        fi
        differs "$1" "no such disk on this machine" ;;
    esac
}

# ---- what is stacked on a disk ----

# The device, its partitions, and everything on them. A device on several others is listed several
# times, each time after the device that it is on.
stack_of() ( # DEVICE
    place=$(place_of "$1")
    printf '%s\n' "$1"
    for entry in "$place"/*/partition; do
        if [ -e "$entry" ]; then
            entry=${entry%/partition}
            stack_of "${entry##*/}"
        fi
    done
    for entry in "$place"/holders/*; do
        if [ -e "$entry" ] || [ -L "$entry" ]; then
            stack_of "${entry##*/}"
        fi
    done
)

# The disks that a device is on.
disks_below() ( # DEVICE
    place=$(place_of "$1")
    is_volume=
    for entry in "$place"/slaves/*; do
        if [ -e "$entry" ] || [ -L "$entry" ]; then
            is_volume=1
            disks_below "${entry##*/}"
        fi
    done
    if [ -e "$place/partition" ]; then
        place=${place%/*}
        disks_below "${place##*/}"
    elif [ -z "$is_volume" ]; then
        printf '%s\n' "$1"
    fi
)

is_in() { # WORD LIST
    case " $2 " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# "DEVICE is mounted on /srv", for the first use of a device; prints nothing if there is none.
use_of() { # DEVICES
    for device in $1; do
        number=$(cat "$(place_of "$device")/dev")
        awk -v "number=$number" -v "device=$device" '
            $3 == number && !n++ { print device " is mounted on " $5 }' "$proc/self/mountinfo"
    done
    # File systems on several devices have a number of their own: compare the path.
    sed -n 's/^[0-9]* [0-9]* 0:[0-9]* [^ ]* \([^ ]*\) .* - [^ ]* \(\/[^ ]*\) .*/\2 \1/p' \
        "$proc/self/mountinfo" | while read -r source directory; do
        device=$(disk_or_part "$source") || continue
        ! is_in "$device" "$1" || echo "$device is mounted on $directory"
    done
    [ ! -e "$proc/swaps" ] || sed 1d "$proc/swaps" | while read -r source _; do
        device=$(disk_or_part "$source") || continue
        ! is_in "$device" "$1" || echo "$device is used for swap"
    done
    for entry in "$sys"/fs/btrfs/*/devices/*; do
        device=${entry##*/}
        ! is_in "$device" "$1" || echo "$device is part of a btrfs file system that is mounted"
    done
}

# The kernel name of a device at a path that the kernel reports.
disk_or_part() { # PATH
    case $1 in
    /dev/*) at=$(readlink -f "$dev/${1#/dev/}") || return 1 ;;
    *) return 1 ;;
    esac
    printf '%s\n' "${at#"$dev"/}" | tr / '!'
}

owner_of() { # NAME
    flat_attributes hints/claimed-disks | awk -F '\t' -v "name=$1" '
        { gsub(/%2F/, "/", $1); gsub(/%25/, "%", $1) }
        $1 == name { print $2 }'
}

# ---- first execution: check all disks, change nothing ----

disks=
for place in $places; do
    name=$(field "$place" name)
    size=$(field "$place" size)
    [ -n "$name" ] || die "disk $place of the list has no name. $nothing"
    case $size in
    '' | *[!0-9]*) die "the size of the disk $name was not committed. $nothing" ;;
    esac
    [ -n "$(field "$place" serial)$(field "$place" wwn)" ] ||
        die "neither serial number nor WWN of the disk $name was committed. $nothing"
    claimed=$(owner_of "$name")
    if [ -n "$claimed" ] && [ "$claimed" != "$owner" ]; then
        die "the disk $name belongs to $claimed. $nothing"
    fi
    disk=$(disk_of "$place")
    [ "$(bytes_of "$disk")" = "$size" ] ||
        differs "$place" "$(describe_disk "$disk") at /dev/$disk"
    ! is_in "$disk" "$disks" || die "the disk $name is on the list twice. $nothing"
    [ "$(cat "$sys/block/$disk/ro")" = 0 ] || die "the disk $name (/dev/$disk) is read-only. $nothing"
    disks="$disks $disk"
done

# Of the listings of a device the last one counts: it is after all devices that the device is on.
stacked=
for disk in $disks; do
    stacked="$stacked $(stack_of "$disk")"
done
stacked=$(printf '%s\n' $stacked |
    awk '{ line[NR] = $1; last[$1] = NR } END { for (i = NR; i; i--) if (last[line[i]] == i) print line[i] }')
used=$(use_of "$(printf '%s\n' "$stacked" | tr '\n' ' ')")
[ -z "$used" ] || die "in use: $(printf '%s\n' "$used" | head -n 1). $nothing"

for device in $stacked; do
    place=$(place_of "$device")
    [ "$place" = "$sys/block/$device" ] || continue # a partition
    ! is_in "$device" "$disks" || continue
    below=$(disks_below "$device")
    for disk in $below; do
        is_in "$disk" "$disks" ||
            die "/dev/$device also uses /dev/$disk, which is not on the list. $nothing"
    done
    if [ -d "$place/dm" ]; then
        tool=dmsetup
    elif [ -d "$place/md" ]; then
        tool=mdadm
    else
        die "/dev/$device is on a disk of the list and cannot be removed. $nothing"
    fi
    command -v "$tool" > /dev/null ||
        die "/dev/$device is on a disk of the list, and $tool, which removes it, is missing. $nothing"
done

# ---- first execution: wipe ----

# Writes zeros over the first and the last MiB: tables of partitions, labels of volumes and arrays.
wipe() { # DEVICE
    node=$(node_of "$1")
    size=$(bytes_of "$1")
    ! command -v wipefs > /dev/null || wipefs -aq "$node"
    if [ "$size" -le 2097152 ]; then
        dd if=/dev/zero of="$node" bs=512 count=$((size / 512)) conv=notrunc,fsync 2> /dev/null
        return
    fi
    dd if=/dev/zero of="$node" bs=1M count=1 conv=notrunc,fsync 2> /dev/null
    dd if=/dev/zero of="$node" bs=512 seek=$((size / 512 - 2048)) count=2048 \
        conv=notrunc,fsync 2> /dev/null
}

# From the top down: a volume is removed before the devices that it is on.
for device in $stacked; do
    place=$(place_of "$device")
    if [ -d "$place/dm" ]; then
        dmsetup remove --retry "$(cat "$place/dm/name")"
    elif [ -d "$place/md" ]; then
        mdadm --stop "$(node_of "$device")"
    elif [ -e "$place/partition" ]; then
        wipe "$device"
    fi
done
for disk in $disks; do
    wipe "$disk"
    ! command -v blockdev > /dev/null || blockdev --rereadpt "$(node_of "$disk")" 2> /dev/null ||
        echo "/dev/$disk: the kernel reads the new partition table at the reboot"
    echo "wiped /dev/$disk: $(describe_disk "$disk")"
done

# ---- first execution: park ----

mkdir -p "$run_dir"
wiped=$(cat /proc/sys/kernel/random/uuid)
seconds > "$since"
printf '%s' "$wiped" > "$marker"
write_attribute crowbar_wall/provisioner/wiped "$wiped"
park "$wait_s"
