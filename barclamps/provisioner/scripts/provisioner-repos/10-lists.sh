#!/bin/sh
# A list of package sources for each operating system, where installers find it.
set -eu

root=$(read_attribute provisioner/root) || die "nobody says which directory is served"

for os in $(get_keys provisioner/repos); do
    case $os in *[!A-Za-z0-9._-]* | . | ..) die "$os is no name for an operating system" ;; esac
    mkdir -p "$root/$os"
    for place in $(get_keys "provisioner/repos/$os"); do
        read_attribute "provisioner/repos/$os/$place"
    done > "$root/$os/sources.list.new"
    mv "$root/$os/sources.list.new" "$root/$os/sources.list"
    echo "$os: $(grep -c . "$root/$os/sources.list" || :) sources"
done
