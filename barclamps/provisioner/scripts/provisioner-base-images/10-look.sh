#!/bin/sh
# Which installers are really there: those whose kernel and initrd lie below the directory served.
set -eu

root=$(read_attribute provisioner/root) || die "nobody says which directory is served"

found=
for os in $(get_keys provisioner/images); do
    case $os in *[!A-Za-z0-9._-]*) echo "$os is no name for an operating system"; continue ;; esac
    missing=
    for place in $(get_keys "provisioner/images/$os"); do
        file=$(read_attribute "provisioner/images/$os/$place")
        case /$file/ in */../*) die "$file leads out of $root" ;; esac
        [ -f "$root/$file" ] || missing="$missing $file"
    done
    if [ -n "$missing" ]; then
        echo "$os cannot be installed: missing$missing"
    else
        echo "$os can be installed"
        found="$found${found:+,}\"$os\""
    fi
done
write_attribute crowbar_wall/provisioner/available_oses "[$found]"
