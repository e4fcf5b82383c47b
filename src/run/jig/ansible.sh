#!/bin/sh
# The ansible jig, on this machine: runs the playbook of the role against the only node of the
# inventory, and prints the record of our callback plugin.
#
#   sh ansible.sh PLACE ANSIBLE_PLAYBOOK PLAYBOOK
#
# PLACE is the directory of the unpacked archive. Output of ansible goes to the log; standard output
# carries only the result.
set -u

place=$1
code=0
"$2" --inventory "$place/inventory.json" --extra-vars "@$place/data.yml" -- "$3" >&2 || code=$?
[ ! -f "$place/result.json" ] || cat "$place/result.json"
exit "$code"
