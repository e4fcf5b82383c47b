"""Children that misbehave: each ends once, with the right result, and leaves nothing behind."""
import os
import shutil
import signal
import stat
import subprocess

from supervisor import (
    CANCEL, CANCELLED, DEADLINE, DIED, EXITED, FORGET, NOT_KNOWN, NOT_STARTED, QUERY, SIGNALLED,
    Supervisor, eventually, marked,
)

LONG = "98765"  # seconds; only processes of this test sleep that long
MIB = 1 << 20
FLOOD = MIB - 1001  # not a multiple of the read size, so more is read than is kept

SIGNALS = [getattr(signal, "SIG" + name) for name in """HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1
    SEGV USR2 PIPE ALRM TERM STKFLT XCPU XFSZ VTALRM PROF IO PWR SYS""".split()] + [34, 50, 64]


class Shape:
    """How a child misbehaves, and how its run is to end."""

    def __init__(self, name, script, how, code=0, **more):
        self.name = name
        self.script = script  # text for a shell, list, or function of the number of the run
        self.how = how
        self.code = code
        self.cancel = more.pop("cancel", None)  # once this is true: (supervisor, run)
        self.alone = more.pop("alone", False)  # too much for the machine side by side
        self.check = more.pop("check", None)  # additional check: (supervisor, run, end)
        self.more = more

    def value(self, what, index):
        return what(index) if callable(what) else what


def kept(supervisor, run, end, size, dropped=None):
    assert end.out_size == size == len(supervisor.output(run)), end
    assert dropped is None or end.out_dropped == dropped, end


def says(text):
    def check(supervisor, run, end):
        assert supervisor.output(run) == text, supervisor.output(run)

    return check


def flooded(supervisor, run, end):
    kept(supervisor, run, end, FLOOD)
    assert end.out_dropped > 0, end


def flooded_log(supervisor, run, end):
    written = supervisor.written(run)
    assert end.log_size == FLOOD == len(written) and end.log_dropped > 0, end
    assert written.strip(b"y\n") == b""


def is_ready(supervisor, run):
    return supervisor.output(run).startswith(b"ready\n")


def is_full(supervisor, run):
    return len(supervisor.output(run)) == FLOOD


def is_log_full(supervisor, run):
    return len(supervisor.written(run)) == FLOOD


def reasoned(text):
    def check(supervisor, run, end):
        assert text in end.reason, end

    return check


SLEEPS = f"sleep {LONG}"
TICKS = "while :; do sleep 0.05; done"

# Each line is one way to misbehave.
SHAPES = [
    Shape("never ends", SLEEPS, DEADLINE, 15, deadline_ms=150),
    Shape("floods its output", "exec yes", CANCELLED, 15, cancel=is_full, out_max=FLOOD,
          check=flooded),
    Shape("floods its log", "exec yes >&2", CANCELLED, 15, cancel=is_log_full, log_max=FLOOD,
          check=flooded_log),
    Shape("forks away", f"{SLEEPS} & exit 0", EXITED),
    Shape("forks twice with a session of its own",
          f"(setsid sh -c '{SLEEPS} & {SLEEPS}' &) ; exit 7", EXITED, 7),
    Shape("ignores TERM", f"trap '' TERM; echo ready; {TICKS}", CANCELLED, 9, cancel=is_ready),
    Shape("hides a process that ignores TERM",
          f"setsid sh -c \"trap '' TERM; {TICKS}\" & echo ready; {SLEEPS}",
          CANCELLED, 15, cancel=is_ready, grace_ms=1000),
    Shape("cleans up on TERM",
          f"trap 'echo clean; exit 0' TERM; echo ready; {TICKS}", CANCELLED, 0, cancel=is_ready,
          grace_ms=60000, check=says(b"ready\nclean\n")),
    Shape("exits at once", ["/bin/true"], EXITED),
    Shape("closes its output", "exec >&- 2>&-; sleep 0.05; exit 5", EXITED, 5),
    Shape("writes a huge line", f"head -c {10 * MIB} /dev/zero | tr '\\0' x", EXITED,
          check=lambda s, r, e: kept(s, r, e, MIB, 9 * MIB)),
    Shape("writes zero bytes", "head -c 5000 /dev/zero", EXITED, check=says(b"\0" * 5000)),
    Shape("fills the pipe and goes", "head -c 65536 /dev/zero; exit 3", EXITED, 3,
          check=lambda s, r, e: kept(s, r, e, 65536, 0)),
    Shape("kills its own group", "kill -9 0; sleep 1", SIGNALLED, 9),
    Shape("stops itself", "echo ready; kill -STOP $$; exit 1", CANCELLED, 15, cancel=is_ready),
    Shape("stops itself and is never cancelled", "kill -STOP $$", DEADLINE, 15, deadline_ms=100),
    Shape("becomes something else", "exec sh -c 'exec sh -c \"exit 9\"'", EXITED, 9),
    Shape("has a thousand grandchildren",
          f"i=0; while [ $i -lt 1000 ]; do {SLEEPS} & i=$((i+1)); done; exit 0", EXITED,
          alone=True),
    Shape("leaves its output open to others", f"echo hi; (setsid {SLEEPS} &) ; exit 3", EXITED, 3,
          check=says(b"hi\n")),
    Shape("leaves a writing process", "(setsid yes >&2 &) ; exit 0", EXITED),
    Shape("dies by a signal", lambda i: f"ulimit -c 0; kill -{SIGNALS[i % len(SIGNALS)]} $$",
          SIGNALLED, lambda i: int(SIGNALS[i % len(SIGNALS)])),
    Shape("exits with any status", lambda i: f"exit {i * 13 % 256}", EXITED,
          lambda i: i * 13 % 256),
    Shape("reads its input slowly", "read a; sleep 0.05; read b; echo $a$b", EXITED,
          stdin_path="input", check=says(b"line 0line 1\n")),
    Shape("reads all its input", "wc -l", EXITED, stdin_path="input", check=says(b"100000\n")),
    Shape("never reads its input", "exit 2", EXITED, 2, stdin_path="input"),
    Shape("removes the ground under its feet",
          "d=$(mktemp -d); cd $d; rmdir $d; exit 4", EXITED, 4),
    Shape("takes all rights away", "umask 777; chmod 000 /proc/self/fd/1; exit 6", EXITED, 6),
    Shape("is nice", f"exec nice -n 19 sh -c '(setsid {SLEEPS} &) ; exit 0'", EXITED),
    Shape("has a misleading name",
          f"d=$(mktemp -d); cp $(command -v sleep) \"$d/a) Z 1\"; (setsid \"$d/a) Z 1\" {LONG} &) ;"
          " sleep 0.02; rm -r $d; exit 0", EXITED),
    Shape("has children whose ends it never takes", "sleep 0.01 & exec sleep 98765", DEADLINE, 15,
          deadline_ms=150),
    Shape("leaves one without an environment", f"env -i setsid {SLEEPS} & exit 0", EXITED),
    Shape("leaves one that hops from process to process", ["hopper"], EXITED, alone=True),
    Shape("kills its shim", f"kill -9 $PPID; {SLEEPS}", DIED, 0, check=reasoned(b"shim process of this run")),
    Shape("stops its shim", "kill -STOP $PPID; exit 4", EXITED, 4),
    Shape("terminates its shim", "kill $PPID; exit 4", EXITED, 4),
    Shape("allows itself nothing", "ulimit -n 4; ulimit -s 64; exit 8", EXITED, 8),
    Shape("lists descriptors and environment", "ls /proc/self/fd | wc -w; env | wc -l; pwd", EXITED, 0,
          check=says(b"4\n5\n/\n")),  # three descriptors and that of ls; PATH, LANG, PWD and two of ours
    Shape("is no program", ["/etc/passwd"], NOT_STARTED, 0,
          check=reasoned(b'cannot start "/etc/passwd": Permission denied')),
    Shape("does not exist", ["no-such-program"], NOT_STARTED, 0,
          check=reasoned(b'cannot start "no-such-program": No such file')),
    Shape("has no working directory", ["/bin/true"], NOT_STARTED, 0, cwd=b"/nowhere",
          check=reasoned(b'cannot open the working directory "/nowhere": No such file')),
    Shape("wants to read what is no file", ["/bin/true"], NOT_STARTED, 0, stdin_path=b"/dev/zero",
          check=reasoned(b'cannot read the standard input "/dev/zero"')),
    Shape("has too many words", ["/bin/true"] + ["x" * 100000] * 40, NOT_STARTED, 0,
          check=reasoned(b"Argument list too long")),
]


class Field:
    """Where the children run: files they need, and one connection."""

    def __init__(self, supervisor):
        self.supervisor = supervisor
        self.connection = supervisor.connect()
        self.next_run = 1
        self.input = os.path.join(supervisor.data, "input")
        self.hopper = os.path.join(supervisor.data, "hopper")
        with open(self.input, "w") as file:
            file.writelines(f"line {i}\n" for i in range(100000))
        with open(self.hopper, "w") as file:
            file.write('#!/bin/sh\nsetsid "$0" &\nexit 0\n')
        os.chmod(self.hopper, stat.S_IRWXU)

    def spawn(self, shape, index):
        run = self.next_run
        self.next_run += 1
        script = shape.value(shape.script, index)
        more = dict(shape.more)
        if script == ["hopper"]:
            script = [self.hopper]
        if more.get("stdin_path") == "input":
            more["stdin_path"] = self.input.encode()
        self.connection.spawn(run, script, **more)
        return run

    def cancel(self, shape, run):
        eventually(lambda: shape.cancel(self.supervisor, run), "it is ready")
        self.connection.of_run(CANCEL, run)

    def settle(self):
        """All that was ordered has been done."""
        self.connection.of_run(QUERY, 10**9)
        self.connection.wait_for(NOT_KNOWN)

    def finish(self, shape, run, index):
        end = self.connection.wait_end(run)
        where = f"{shape.name}: {end}"
        assert end.how == shape.how, where
        assert end.code == shape.value(shape.code, index), where
        if shape.check:
            shape.check(self.supervisor, run, end)

    def play(self, shape, indexes):
        """Several of them side by side."""
        runs = [(self.spawn(shape, i), i) for i in indexes]
        if shape.cancel:
            for run, _ in runs:
                self.cancel(shape, run)
        for run, index in runs:
            self.finish(shape, run, index)
        assert self.supervisor.below() == [], shape.name
        for run, _ in runs:
            self.connection.of_run(FORGET, run)


def test_misbehaving_children(supervisor):
    field = Field(supervisor)
    connection = field.connection
    connection.run(10**6, ["/bin/true"])
    fds = supervisor.fds()
    for shape in SHAPES:
        together = 1 if shape.alone else 5
        for first in range(0, supervisor.times, together):
            field.play(shape, range(first, min(first + together, supervisor.times)))
    field.settle()
    count = field.next_run - 1
    ends = [connection.ended[run, 1] for run in range(1, field.next_run)]
    assert len(ends) == count and set(ends) == {1}, "a run ended more than once"
    assert marked(LONG.encode()) == []
    # One descriptor for each lead that waits, and no other.
    assert supervisor.fds() - fds <= len(supervisor.shims()), (supervisor.fds(), fds)
    assert not any(os.listdir(supervisor.path("spool"))), os.listdir(supervisor.path("spool"))
    print(f"misbehaving children: {len(SHAPES)} shapes x {supervisor.times}, {count} runs, "
          f"{len(supervisor.shims())} shims, RSS {supervisor.rss_kb()} kB")


def test_all_at_once(supervisor):
    """Killing the leftovers of one run does not kill processes of another one."""
    field = Field(supervisor)
    shapes = [s for s in SHAPES if not s.alone and not s.cancel]
    runs = []
    for index in range(2):
        runs += [(field.spawn(shape, index), shape, index) for shape in shapes]
    for run, shape, index in runs:
        field.finish(shape, run, index)
    assert supervisor.below() == []
    assert set(field.connection.ended.values()) == {1}


def test_a_run_that_floods_its_output_does_not_delay_others(supervisor):
    connection = supervisor.connect()
    for run in range(1, 4):
        connection.spawn(run, "exec yes", log_max=1 << 16)
        connection.wait_begun(run)
    for run in range(10, 60):
        end = connection.run(run, f"echo {run}; exit 0")
        assert end.how == EXITED and supervisor.output(run) == f"{run}\n".encode()
    assert not any((run, 1) in connection.ends for run in range(1, 4))
    for run in range(1, 4):
        connection.of_run(CANCEL, run)
        assert connection.wait_end(run).how == CANCELLED


def test_memory_and_descriptors_stay_flat(supervisor):
    connection = supervisor.connect()

    def some(first, count, at_once=10):
        for base in range(first, first + count, at_once):
            for run in range(base, base + at_once):
                connection.spawn(run, "echo out; echo log >&2")
            for run in range(base, base + at_once):
                assert connection.wait_end(run).how == EXITED
                connection.of_run(FORGET, run)
            connection.begun.clear()

    some(1, 300)
    fds, rss = supervisor.fds(), supervisor.rss_kb()
    shims = {pid: (supervisor.fds(pid), supervisor.rss_kb(pid)) for pid in supervisor.shims()}
    assert len(shims) == 10
    some(1001, 100 * supervisor.times + 700)
    assert supervisor.fds() == fds
    assert supervisor.rss_kb() <= rss * 1.2 + 500, (rss, supervisor.rss_kb())
    assert set(supervisor.shims()) == set(shims), "shims are used again"
    for pid, (lead_fds, lead_rss) in shims.items():
        assert supervisor.fds(pid) == lead_fds
        assert supervisor.rss_kb(pid) <= lead_rss * 1.2 + 500, (lead_rss, supervisor.rss_kb(pid))
    assert os.path.getsize(supervisor.path("journal")) < 3 * MIB


def test_the_log_can_be_read_while_it_grows(supervisor):
    connection = supervisor.connect()
    go = os.path.join(supervisor.data, "go")
    connection.spawn(1, f"echo first >&2; while [ ! -e {go} ]; do sleep 0.01; done; echo last >&2")
    eventually(lambda: supervisor.written(1) == b"first\n", "the first line")
    assert (1, 1) not in connection.ends
    open(go, "w").close()
    end = connection.wait_end(1)
    assert supervisor.written(1) == b"first\nlast\n" and end.log_size == 11


def test_a_child_that_cannot_be_killed_is_named_in_its_log(supervisor):
    """The supervisor has the uid 65534, and the child has become root."""
    if os.geteuid() != 0:
        print("SKIP: must be root to start a supervisor without the right to kill")
        return
    nobody_uid = 65534
    assert supervisor.stop() == 0
    become = os.path.join(supervisor.data, "become")
    shutil.copy(supervisor.program, supervisor.path("program"))
    shutil.copy(shutil.which("setpriv"), become)
    os.chmod(become, 0o4755)
    names = [supervisor.path(name) for name in os.listdir(supervisor.path())]
    for name in (supervisor.data, supervisor.path(), *names):
        os.chown(name, nobody_uid, nobody_uid)
    supervisor.program = supervisor.path("program")
    supervisor.start(user=nobody_uid, group=nobody_uid, extra_groups=[])
    connection = supervisor.connect()
    connection.spawn(1, [become, "--reuid", "0", "--regid", "0", "--clear-groups",
                         "sh", "-c", "echo ready; exec sleep 76543"])
    child = connection.wait_begun(1)
    eventually(lambda: is_ready(supervisor, 1), "it has become root")
    connection.of_run(CANCEL, 1)
    line = f"halligan: process {child} is still alive after SIGKILL (state S); waiting for it\n"
    try:
        eventually(lambda: line.encode() in supervisor.written(1), "it is named")
        assert "still alive after repeated SIGKILL" in supervisor.said()
    finally:
        os.kill(child, signal.SIGKILL)
    assert connection.wait_end(1).how == CANCELLED


def test_a_disk_that_fills_up_costs_output_not_runs(supervisor):
    """On a small file system of its own, if we may make one."""
    if os.geteuid() != 0:
        return
    place = os.path.join(supervisor.data, "small")
    os.mkdir(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", place], check=True)
    small = Supervisor(os.path.dirname(supervisor.program), data=place)
    try:
        connection = small.start().connect()
        for run in range(1, 1 + supervisor.times):
            end = connection.run(run, "yes | head -c 3000000 >&2; exit 5", log_max=8 * MIB)
            assert end.how == EXITED and end.code == 5, end
            assert 4096 < end.log_size < MIB and end.log_size + end.log_dropped == 3000000, end
            assert b"No space left" in end.reason, end
            assert small.written(run).strip(b"y\n") == b""
            assert len(small.written(run)) == end.log_size
            # While the disk is full, the journal cannot be written: nothing starts, with a reason.
            other = connection.run(1000 + run, "echo x", epoch=1)
            assert other.how in (NOT_STARTED, EXITED), other
            if other.how == NOT_STARTED:
                assert b"No space left" in other.reason, other
            connection.of_run(FORGET, run)
            connection.of_run(FORGET, 1000 + run)
            connection.of_run(QUERY, run)
            connection.wait_for(NOT_KNOWN)
        end = connection.run(5000, "echo fine", out_max=100)
        assert end.how == EXITED and end.out_dropped == 0, end
        assert set(connection.ended.values()) == {1}
        assert small.stop() == 0
    finally:
        small.close()
        # A killed process may still be exiting.
        eventually(lambda: subprocess.run(["umount", place]).returncode == 0, "it is unmounted")
