#!/bin/sh
# Ends what a run that was cut off has left on this machine: a connection that breaks takes nothing
# with it, and the next run for the same node must be alone.
#
#   sh recipe.sh NODE [OURS]
#
# A run lives in a directory halligan-NODE.XXXXXX, which it removes at its end. Its first process is
# in the file pid there; all others have the directory in their environment. OURS is left alone.
set -u

# The processes that have this directory in their environment.
processes_of() {
    for process in /proc/[0-9]*; do
        if { tr '\0' '\n' < "$process/environ"; } 2> /dev/null |
            grep -qxF "HALLIGAN_PLACE=$1"; then
            echo "${process#/proc/}"
        fi
    done
}

is_run() { # PID: also after a restart, which gives the number to somebody else?
    case $1 in '' | *[!0-9]*) return 1 ;; esac
    { tr '\0' '\n' < "/proc/$1/cmdline"; } 2> /dev/null | grep -qx halligan-run
}

for place in "${TMPDIR:-/tmp}/halligan-$1".??????; do
    if [ ! -d "$place" ] || [ -h "$place" ] || [ ! -O "$place" ] || [ "$place" = "${2-}" ]; then
        continue
    fi
    first=$(cat "$place/pid" 2> /dev/null)
    if is_run "$first"; then
        echo "a run that was cut off is still at work here: it is stopped" >&2
        kill -KILL "$first"
    fi
    for _ in 1 2 3 4 5; do
        left=$(processes_of "$place")
        [ -n "$left" ] || break
        # shellcheck disable=SC2086 # one word for each
        kill -KILL $left 2> /dev/null
    done
    rm -rf "$place"
done
if [ -n "${2-}" ]; then
    . "$2/measure.sh"
    measure_begin "$2"
fi
