#!/bin/sh
# Checks that Puppet is installed and writes the name of the node to puppet.conf. The jig applies
# the manifests.
set -eu

name=$(read_attribute crowbar/puppet-agent-sa/name) ||
    die "the name of this machine for Puppet is not set (attrib puppet-agent_name)"
conf_dir=${HALLIGAN_PUPPET_DIR:-/etc/puppet}
command -v puppet > /dev/null || die "puppet is not installed here (package puppet-agent)"

mkdir -p "$conf_dir"
mark="# Written by the role puppet-agent_sa; changes are lost."
# A file that the role did not write is copied beside it, once for each content.
kept=$conf_dir/puppet.conf.before-halligan
if [ -f "$conf_dir/puppet.conf" ] && [ "$(head -n 1 "$conf_dir/puppet.conf")" != "$mark" ]; then
    copy=$kept
    number=1
    while [ -e "$copy" ] && ! cmp -s "$conf_dir/puppet.conf" "$copy"; do
        number=$((number + 1))
        copy=$kept.$number
    done
    if [ ! -e "$copy" ]; then
        cp -p "$conf_dir/puppet.conf" "$copy.new"
        mv "$copy.new" "$copy"
        echo "copied the existing puppet.conf to $copy"
    fi
fi
{
    echo "$mark"
    echo "[main]"
    echo "certname = $name"
} > "$conf_dir/puppet.conf.new"
mv "$conf_dir/puppet.conf.new" "$conf_dir/puppet.conf"
echo "the certname of this machine is $name"
