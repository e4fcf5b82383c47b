# Measures shortages of resources during a run. A program that fails because a disk is full, or because
# the kernel killed a process to free memory, may report that in any words or not at all, so the
# machine itself is measured: before the run, and after one that failed (ADR 0068).
#
#   . measure.sh
#   measure_begin PLACE   writes the state before the run to PLACE/measured
#   measure_end PLACE     prints what has changed since, one line each:
#                         #halligan-measured full PATH      a file system without space or inodes
#                         #halligan-measured readonly PATH  one that was turned read-only
#                         #halligan-measured oom COUNT      processes that the kernel killed

# The local file systems that are full or read-only. Network file systems are skipped: a server that
# does not answer would block the run.
measure_disks() {
    set --
    while read -r _ path type options _; do
        case $type in
        ext2 | ext3 | ext4 | xfs | btrfs | f2fs | jfs | zfs | vfat | tmpfs | overlay) ;;
        *) continue ;;
        esac
        case $path in *\\*) continue ;; esac # a name with a space, which is written as \040
        case ,$options, in
        *,ro,*) echo "readonly $path" ;;
        *) set -- "$@" "$path" ;;
        esac
        [ $# -lt 64 ] || break
    done < /proc/self/mounts
    [ $# -gt 0 ] || return 0
    stat -f -c '%b %f %a %S %c %d %n' "$@" 2> /dev/null |
        while read -r total free available size inodes left path; do
            [ "$available" -gt 0 ] || [ "$free" -eq 0 ] || [ "$(id -u)" -ne 0 ] || available=$free
            # A file system may reserve its last blocks.
            if [ $((available * size)) -lt 65536 ] && [ $((available * 10)) -lt "$total" ]; then
                echo "full $path"
            elif [ "$inodes" -gt 0 ] && [ "$left" -eq 0 ]; then
                echo "full $path"
            fi
        done
}

# Number of processes that the OOM killer has ended: in our control group (cgroups version 2
# or 1), or else of the whole machine.
measure_oom() {
    counter=/proc/vmstat
    while IFS=: read -r _ kind path; do
        case ,$kind, in
        ,,) file=/sys/fs/cgroup$path/memory.events ;;
        *,memory,*) file=/sys/fs/cgroup/memory$path/memory.oom_control ;;
        *) continue ;;
        esac
        if grep -q '^oom_kill ' "$file" 2> /dev/null; then
            counter=$file
            break
        fi
    done < /proc/self/cgroup
    sed -n 's/^oom_kill /oom /p' "$counter" 2> /dev/null
}

measure_begin() {
    { measure_disks && measure_oom && echo measured; } > "$1/measured" 2> /dev/null || :
}

# True if it was so before the run, or if that is unknown because the disk was full already.
measure_was() {
    grep -qxF -e "$2" "$1/measured" 2> /dev/null || ! grep -qx measured "$1/measured" 2> /dev/null
}

measure_end() {
    measure_disks | while read -r what path; do
        # A file system that was full before counts only where programs write: here, /, /var, /tmp.
        if measure_was "$1" "$what $path"; then
            case $what.$path in full./ | full./var | full./tmp) ;; full.*)
                case $1/ in "$path"/*) ;; *) continue ;; esac
                ;;
            *) continue ;;
            esac
        fi
        echo "#halligan-measured $what $path"
    done
    before=$(sed -n 's/^oom //p' "$1/measured" 2> /dev/null)
    now=$(measure_oom)
    now=${now#oom }
    if [ -n "$before" ] && [ -n "$now" ] && [ "$now" -gt "$before" ]; then
        echo "#halligan-measured oom $((now - before))"
    fi
}
