#!/bin/sh
# Finds the installers that can be used: those whose kernel and initrd exist below the served
# directory.
set -eu

root=$(read_attribute provisioner/root) ||
    die "the attrib provisioner-root is not set: set the directory to serve"

found=
for os in $(get_keys provisioner/images); do
    case $os in
    *[!A-Za-z0-9._-]*)
        echo "\"$os\" is not a valid name of an operating system"
        continue ;;
    esac
    missing=
    for place in $(get_keys "provisioner/images/$os"); do
        file=$(read_attribute "provisioner/images/$os/$place")
        case /$file/ in */../*) die "the path $file leaves the directory $root" ;; esac
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
