#!/bin/sh
# halligan-image - builds files that boot servers send to machines. `halligan image` executes it.
set -eu

PROG=halligan-image
DIR=/var/lib/halligan/tftpboot
IPXE=${HALLIGAN_IPXE:-/usr/lib/ipxe}
GRUB=${HALLIGAN_GRUB:-/usr/lib/grub/x86_64-efi}

# What GRUB needs to find a loader on a disk of any partition scheme and to start it.
MODULES="part_gpt part_msdos fat chain search search_fs_file normal configfile test echo sleep halt"

usage() {
    echo "usage: $PROG build loaders|local [...] [--dir DIR]"
}

usage_error() {
    usage >&2
    exit 2
}

fail() {
    status=$1
    shift
    echo "$PROG: $*" >&2
    exit "$status"
}

# put FILE NAME: replaces NAME below the directory atomically.
put() {
    target=$DIR/$2
    mkdir -p "$(dirname "$target")" || fail 3 "cannot create the directory of $target"
    cp -L "$1" "$target.new" && chmod 644 "$target.new" && mv "$target.new" "$target" ||
        fail 3 "cannot write $target"
    echo "$target"
}

build_loaders() {
    for loader in undionly.kpxe snponly.efi; do
        [ -r "$IPXE/$loader" ] || fail 1 "$IPXE/$loader is missing: install the package ipxe"
        put "$IPXE/$loader" "$loader"
    done
}

# The loaders are tried in the order of the names; `search` reads the disks in the order of the
# firmware. Without a loader GRUB exits, and the firmware continues with its next boot option.
write_script() {
    cat <<'GRUB'
set timeout=0
for loader in /EFI/BOOT/BOOTX64.EFI /EFI/debian/shimx64.efi /EFI/debian/grubx64.efi \
    /EFI/ubuntu/shimx64.efi /EFI/ubuntu/grubx64.efi /EFI/redhat/shimx64.efi \
    /EFI/redhat/grubx64.efi /EFI/rocky/shimx64.efi /EFI/almalinux/shimx64.efi \
    /EFI/centos/shimx64.efi /EFI/fedora/shimx64.efi /EFI/opensuse/shim.efi; do
    if search --no-floppy --set=root --file "$loader"; then
        echo "starting $loader of $root"
        chainloader "$loader"
        boot
    fi
done
echo "no loader on any disk"
exit
GRUB
}

build_local() {
    command -v grub-mkstandalone >/dev/null ||
        fail 1 "grub-mkstandalone is missing: install the packages grub-common and grub-efi-amd64-bin"
    [ -r "$GRUB/moddep.lst" ] || fail 1 "$GRUB is missing: install the package grub-efi-amd64-bin"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    write_script >"$scratch/grub.cfg"
    grub-mkstandalone --directory="$GRUB" --format=x86_64-efi --output="$scratch/grubx64.efi" \
        --install-modules="$MODULES" --modules="$MODULES" --locales= --fonts= --themes= \
        "boot/grub/grub.cfg=$scratch/grub.cfg" 2>"$scratch/log" || {
        cat "$scratch/log" >&2
        fail 1 "grub-mkstandalone failed"
    }
    put "$scratch/grubx64.efi" local/grubx64.efi
}

case ${1:-} in
build) ;;
-h | --help)
    usage
    exit 0
    ;;
*) usage_error ;;
esac
shift
parts=
while [ $# -gt 0 ]; do
    case $1 in
    loaders | local) parts="$parts $1" ;;
    -d | --dir)
        [ $# -gt 1 ] || usage_error
        DIR=$2
        shift
        ;;
    *) usage_error ;;
    esac
    shift
done
[ -n "$parts" ] || usage_error
for part in $parts; do
    "build_$part"
done
