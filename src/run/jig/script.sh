#!/bin/sh
# The script jig on the node: runs the scripts of the role and sends the values they wrote.
#
#   sh script.sh PLACE NODE
#
# PLACE is the directory of the unpacked archive. Output of scripts goes to the log; standard output
# carries only the values and the time that the run parks, as concatenated archives, and after a
# failure the measurements.
set -u

place=$1
code=0
sh "$place/runner.sh" "$place/scripts" >&2 || code=$?
if [ "$code" -eq 255 ]; then # ssh reports its own failures with this status
    echo "a script ended with status 255, which is reported as 254" >&2
    code=254
fi
if [ $((code & 15)) -ne 0 ]; then
    [ ! -f "$place/scripts/.reason" ] || echo "#halligan-reason $(head -n 1 "$place/scripts/.reason")"
    . "$place/measure.sh"
    measure_end "$place"
    exit "$code"
fi
cd "$place/scripts" || exit 1
[ ! -f .park ] || tar -cf - .park || exit 1
[ -d attrs ] || exit "$code"
cd attrs || exit 1
find . -type f -name wall -exec tar -cf - '{}' + || {
    echo "the values that the scripts wrote could not be sent" >&2
    exit 1
}
exit "$code"
