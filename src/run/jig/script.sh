#!/bin/sh
# The script jig on the machine: runs the role's scripts, and sends what they wrote.
#
#   sh script.sh PLACE NODE
#
# PLACE holds what came in the archive. What scripts write goes to the log; standard output is for
# the values alone, as archives one behind the other; after a failure, for what was measured.
set -u

place=$1
code=0
sh "$place/runner.sh" "$place/scripts" >&2 || code=$?
if [ "$code" -eq 255 ]; then # the way ssh says that it failed itself
    echo "a script ended with status 255, which is told as 254" >&2
    code=254
fi
if [ $((code & 15)) -ne 0 ]; then
    . "$place/measure.sh"
    measure_end "$place"
    exit "$code"
fi
cd "$place/scripts" || exit 1
[ -d attrs ] || exit "$code"
cd attrs || exit 1
find . -type f -name wall -exec tar -cf - '{}' + || {
    echo "what the scripts wrote could not be sent" >&2
    exit 1
}
exit "$code"
