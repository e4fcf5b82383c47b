#!/bin/sh
# Stops the processes that a run has left on this machine after its connection was cut off: they
# survive the connection, and the next run for the same node must not run beside them.
#
#   sh cleanup.sh NODE [OURS]
#
# A run has a directory halligan-NODE.XXXXXX, which it removes at its end. The pid of its first process
# is in the file pid there; all its processes have the directory in their environment. The directory
# OURS, that of the calling run, is skipped.
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

is_run() { # PID: is it really a run? The pid may have been reused.
    case $1 in '' | *[!0-9]*) return 1 ;; esac
    { tr '\0' '\n' < "/proc/$1/cmdline"; } 2> /dev/null | grep -qx halligan-run
}

for place in "${TMPDIR:-/tmp}/halligan-$1".??????; do
    if [ ! -d "$place" ] || [ -h "$place" ] || [ ! -O "$place" ] || [ "$place" = "${2-}" ]; then
        continue
    fi
    first=$(cat "$place/pid" 2> /dev/null)
    if is_run "$first"; then
        echo "an earlier run for this node is still active after its connection was cut off; stopping it" >&2
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
