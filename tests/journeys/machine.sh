#!/usr/bin/env bash
# A machine of namespaces with systemd as its first process: the files of this one below an overlay in memory, so that
# nothing that is done there stays, a network with a loopback interface only, processes of its own.
#
#   machine.sh DIR TREE BUILD   until the first process of the machine ends
#
# DIR is an empty directory. TREE, a checkout, has the same path in the machine, and BUILD is its directory `build` there.
# DIR/pid holds the pid of the first process as soon as it is known. Needs root.
set -euo pipefail

# layer LOWER NAME TARGET: TARGET shows LOWER; changes are kept in DIR/NAME.
layer() {
    mkdir -p "$dir/$2/upper" "$dir/$2/work" "$3"
    mount -t overlay "overlay-$2" -o "lowerdir=$1,upperdir=$dir/$2/upper,workdir=$dir/$2/work" "$3"
}

make_devices() {
    local name
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for name in null zero full random urandom tty; do
        touch "$root/dev/$name"
        mount --bind "/dev/$name" "$root/dev/$name"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
}

# What was installed or configured here by hand is not there: it is the machine of a new user.
forget_local_state() {
    rm -rf "$root"/etc/halligan "$root"/var/lib/halligan* "$root"/usr/{bin,sbin}/halligan* \
        "$root"/usr/lib/systemd/system/halligand.service "$root"/usr/share/halligan \
        "$root"/etc/systemd/system/*.wants/halligand.service "$root"/root/.config "$root"/root/.ssh \
        "$root"/etc/postgresql/* "$root"/var/lib/postgresql/* "$root"/backup
    sed -i '/^halligan:/d' "$root"/etc/{passwd,group,shadow,gshadow}
    printf '127.0.0.1 localhost\n127.0.1.1 admin.example.com admin\n' >"$root/etc/hosts"
    echo admin >"$root/etc/hostname"
}

# A build with another prefix is configured anew; of what does not depend on the prefix the objects are there, as
# ninja's log of commands says.
offer_objects() {
    local place=$root$1
    layer "$2" build "$place/build"
    layer "$2" objects "$place/build-usr"
    rm -rf "$place/build/quickstart" "$place/build-usr"/{build.ninja,meson-private,meson-info,meson-logs,quickstart}
}

# The kernel's settings are those of the host: the machine can read them only.
mount_kernel() {
    mount -t proc proc "$root/proc"
    mount --bind "$root/proc/sys" "$root/proc/sys"
    mount -o remount,bind,ro "$root/proc/sys"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
}

first_process() {
    root=$dir/root
    layer / root "$root"
    mount_kernel
    make_devices
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    layer "$1" tree "$root$1"
    offer_objects "$1" "$2"
    forget_local_state
    hostname admin
    ip link set lo up
    mkdir -p "$root/run/host-root"
    cd "$root"
    pivot_root . run/host-root
    umount -l /run/host-root
    rmdir /run/host-root
    exec env -i container=halligan-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        /lib/systemd/systemd --system --unit=basic.target --log-target=console --show-status=no
}

# The control group of the machine is below that of this process, which is its root there.
leave() {
    if [ -n "$starter" ]; then
        pkill -KILL -P "$starter" || true
        wait "$starter" || true
    fi
    echo 0 >"$groups$here/cgroup.procs"
    find "$groups$here/$name" -depth -type d -exec rmdir {} +
}

dir=$1
if [ "${4:-}" = first ]; then
    first_process "$2" "$3"
fi
mount --make-rprivate /
mkdir -p "$dir/machine"
mount -t tmpfs -o mode=755 tmpfs "$dir/machine"
groups=$dir/machine/groups
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
here=$(sed -n 's/^0:://p' /proc/self/cgroup)
here=${here%/}
name=halligan-machine.$$
mkdir "$groups$here/$name"
echo 0 >"$groups$here/$name/cgroup.procs"
starter=
trap leave EXIT
trap 'exit 1' TERM
setpriv --pdeathsig KILL unshare --mount --pid --fork --net --uts --ipc --cgroup --kill-child \
    "$0" "$dir/machine" "$2" "$3" first </dev/null &
starter=$!
until pgrep -P "$starter" >"$dir/pid.new"; do
    kill -0 "$starter"
    sleep 0.01
done
mv "$dir/pid.new" "$dir/pid"
wait "$starter" || true
