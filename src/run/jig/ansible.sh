#!/bin/sh
# The ansible jig, on this machine: runs the role's playbook against the one node of the inventory,
# and hands over what our callback noted.
#
#   sh ansible.sh PLACE ANSIBLE_PLAYBOOK PLAYBOOK
#
# PLACE holds what came in the archive. What ansible says goes to the log; standard output is for
# the result alone.
set -u

place=$1
code=0
"$2" --inventory "$place/inventory.json" --extra-vars "@$place/data.yml" -- "$3" >&2 || code=$?
[ ! -f "$place/result.json" ] || cat "$place/result.json"
exit "$code"
