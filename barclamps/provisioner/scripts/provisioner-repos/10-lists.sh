#!/bin/sh
# Writes the list of package sources of each operating system into the served directory.
set -eu

root=$(read_attribute provisioner/root) ||
    die "the attrib provisioner-root is not set: set the directory to serve"

for os in $(get_keys provisioner/repos); do
    case $os in
    *[!A-Za-z0-9._-]* | . | ..) die "\"$os\" is not a valid name of an operating system" ;;
    esac
    mkdir -p "$root/$os"
    for place in $(get_keys "provisioner/repos/$os"); do
        read_attribute "provisioner/repos/$os/$place"
    done > "$root/$os/sources.list.new"
    mv "$root/$os/sources.list.new" "$root/$os/sources.list"
    echo "$os: $(grep -c . "$root/$os/sources.list" || :) sources"
done
