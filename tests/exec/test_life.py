"""The supervisor itself: killed, idle, fenced, and sent invalid messages."""
import os
import random
import signal
import socket
import struct
import subprocess
import time

from supervisor import (
    BEGUN, BYE, CANCEL, CANCELLED, DIED, ENDED, EXITED, FENCED, FORGET, HELLO, NOT_KNOWN, QUERY,
    RECONCILED, SPAWN, VERSION, WAIT_S, WELCOME, Connection, Gone, encode, eventually, is_alive,
    marked, processes,
)

LONG = "87654"


def crowd(connection, count):
    """Runs that leave others behind, in sessions of their own and without an environment."""
    for run in range(1, count + 1):
        connection.spawn(
            run, f"(env -i setsid sh -c 'trap \"\" TERM; sleep {LONG} & sleep {LONG}' &) ;"
            f"echo ready; sleep {LONG}")
    return count


def all_ready(supervisor, count):
    return all(supervisor.output(run) == b"ready\n" for run in range(1, count + 1))


def test_kill_with_a_hundred_children(supervisor):
    for round_ in range(max(1, supervisor.times // 4)):
        connection = supervisor.connect(epoch=round_ + 1)
        count = crowd(connection, 100)
        eventually(lambda: all_ready(supervisor, count), "all run")
        supervisor.kill()
        eventually(supervisor.lock_is_free, "its shims are gone")
        assert marked(LONG.encode()) == [], "strays"
        connection.close()
        supervisor.start()
        connection = supervisor.connect(epoch=round_ + 1)
        assert connection.welcome.of_this_boot
        for run in range(1, count + 1):
            connection.of_run(QUERY, run)
        for run in range(1, count + 1):
            assert connection.wait_end(run).how == DIED
        connection.of_run(QUERY, count + 1)
        m = connection.wait_for(NOT_KNOWN)
        assert m.run_id == count + 1 and not m.begun
        # Ordered once more, it is not run once more.
        connection.spawn(1, ["/bin/true"])
        assert connection.wait_for(BEGUN).run_id == 1 and connection.wait_for(ENDED).how == DIED
        for run in range(1, count + 1):
            connection.of_run(FORGET, run)
        connection.of_run(QUERY, 1)
        assert connection.wait_for(NOT_KNOWN).run_id == 1
        connection.close()


def test_a_short_run_is_reported_with_its_start(supervisor):
    """BEGUN is sent before ENDED even if the run ends before BEGUN is due."""
    connection = supervisor.connect()
    connection.spawn(1, "exit 3")
    first, second = connection.receive(), connection.receive()
    assert (first.kind, first.run_id, second.kind, second.code) == (BEGUN, 1, ENDED, 3)
    assert first.pid > 0
    connection.spawn(2, f"sleep {LONG}")
    assert connection.receive().kind == BEGUN  # of a long one while it runs
    connection.of_run(CANCEL, 2)
    assert connection.wait_end(2).how == CANCELLED
    connection.close()


def test_orders_sent_before_a_close_are_handled(supervisor):
    """The client sends orders and closes; writing to it fails before the orders are read."""
    connection = supervisor.connect()
    connection.spawn(1, f"echo ready; sleep {LONG}")
    go = os.path.join(supervisor.data, "go")
    connection.spawn(2, f"echo ready; until [ -e {go} ]; do sleep 0.01; done")
    eventually(lambda: all_ready(supervisor, 2), "both run")
    ends = connection.wait_begun(2)
    os.kill(supervisor.process.pid, signal.SIGSTOP)
    open(go, "w").close()
    eventually(lambda: not is_alive(ends), "the second one ends")
    time.sleep(0.2)  # its shim has reported it to the stopped supervisor
    connection.of_run(CANCEL, 1)
    connection.send(BYE)
    connection.close()
    os.kill(supervisor.process.pid, signal.SIGCONT)
    eventually(supervisor.lock_is_free, "it ends what was to be ended, and goes")
    assert marked(LONG.encode()) == []
    supervisor.process.wait()
    supervisor.process = None


def test_kill_of_the_supervisor_and_all_leads(supervisor):
    """The next supervisor kills the processes, which it finds by the token in their environment."""
    connection = supervisor.connect()
    for run in range(1, 11):
        connection.spawn(run, f"(setsid sleep {LONG} &) ; echo ready; sleep {LONG}")
    eventually(lambda: all_ready(supervisor, 10), "all run")
    victims = [supervisor.process.pid] + supervisor.shims()
    for pid in victims:  # the supervisor first: otherwise it would report the runs as ended
        os.kill(pid, signal.SIGSTOP)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    supervisor.process.wait()
    supervisor.process = None
    assert len(marked(LONG.encode())) >= 20
    eventually(supervisor.lock_is_free, "all are gone")
    supervisor.start()
    assert marked(LONG.encode()) == []
    connection = supervisor.connect()
    connection.of_run(QUERY, 7)
    assert connection.wait_end(7).how == DIED


def test_a_daemon_that_was_gone_learns_the_ends(supervisor):
    for round_ in range(max(2, supervisor.times // 2)):
        connection = supervisor.connect(epoch=round_ + 1)
        base = 1000 * (round_ + 1)
        go = os.path.join(supervisor.data, f"go{round_}")
        for run in range(base, base + 20):
            connection.spawn(run, f"while [ ! -e {go} ]; do sleep 0.01; done; exit {run % 100}")
        for run in range(base, base + 20):
            connection.wait_begun(run)
        connection.close()
        open(go, "w").close()
        connection = supervisor.connect(epoch=round_ + 2)
        for run in range(base, base + 20):
            connection.of_run(QUERY, run)
        for run in range(base, base + 20):
            end = connection.wait_end(run)
            assert end.how == EXITED and end.code == run % 100, end
        connection.close()


def test_nothing_is_run_twice(supervisor):
    ledger = os.path.join(supervisor.data, "ledger")
    connections = [supervisor.connect(epoch=3) for _ in range(3)]
    for run in range(1, 31):
        for connection in connections:
            connection.spawn(run, f"echo {run} >> {ledger}; exit {run}")
    for connection in connections:
        for run in range(1, 31):
            assert connection.wait_end(run).code == run
    for run in range(1, 31):
        connections[0].spawn(run, f"echo {run} >> {ledger}")
        connections[0].of_run(CANCEL, run)
    connections[0].of_run(QUERY, 99)
    connections[0].wait_for(NOT_KNOWN)
    with open(ledger) as file:
        assert sorted(map(int, file)) == list(range(1, 31))
    # Another attempt is another run.
    connections[0].spawn(1, f"echo 1 >> {ledger}", attempt=2)
    connections[0].wait_end(1, 2)
    with open(ledger) as file:
        assert len(file.readlines()) == 31


def test_a_lower_epoch_begins_nothing(supervisor):
    old, new = supervisor.connect(epoch=5), supervisor.connect(epoch=6)
    old.spawn(1, ["/bin/true"])
    m = old.receive()
    assert m.kind == NOT_KNOWN and m.run_id == 1 and not m.begun
    assert old.receive().epoch == 6
    new.run(2, "exit 2")
    new.spawn(3, ["/bin/true"], epoch=5)
    assert new.wait_for(FENCED).epoch == 6
    old.of_run(FORGET, 2)
    old.of_run(QUERY, 2)
    assert old.wait_end(2).code == 2  # it may ask, but not destroy
    new.spawn(4, f"exec sleep {LONG}")
    new.wait_begun(4)
    old.of_run(CANCEL, 4)
    old.of_run(QUERY, 4)
    old.wait_begun(4)
    new.of_run(QUERY, 4)
    assert (4, 1) not in new.ends
    supervisor.kill()
    eventually(supervisor.lock_is_free, "all is gone")
    supervisor.start()
    late = supervisor.connect(epoch=5)  # the fence is kept over a death
    assert late.wait_for(FENCED).epoch == 6
    late.spawn(9, ["/bin/true"])
    assert late.wait_for(NOT_KNOWN).run_id == 9


def test_after_a_reboot_unknown_runs_may_have_started(supervisor):
    connection = supervisor.connect()
    connection.run(1, "exit 3")
    assert supervisor.stop() == 0
    with open(supervisor.path("journal"), "r+b") as file:
        head = file.read(89)
        at = head.index(b"boot=") + 5
        file.seek(at)
        file.write(b"deadbeef-dead-beef-dead-beefdeadbeef")
    supervisor.start()
    connection = supervisor.connect()
    assert not connection.welcome.of_this_boot
    connection.of_run(QUERY, 2)
    m = connection.wait_for(NOT_KNOWN)
    assert m.run_id == 2 and m.begun
    connection.of_run(QUERY, 1)
    assert connection.wait_end(1).code == 3
    assert connection.run(3, "exit 4").code == 4
    connection.send(RECONCILED)
    connection.of_run(QUERY, 2)
    assert not connection.wait_for(NOT_KNOWN).begun
    connection.of_run(QUERY, 3)
    assert connection.wait_end(3).code == 4
    assert supervisor.connect().welcome.of_this_boot


def test_term_cancels_what_runs_and_writes_it_down(supervisor):
    connection = supervisor.connect()
    for run in range(1, 11):
        connection.spawn(run, f"echo ready; exec sleep {LONG}")
    connection.spawn(11, f"trap '' TERM; echo ready; while :; do sleep {LONG}; done")
    eventually(lambda: all_ready(supervisor, 11), "all run")
    pid = supervisor.process.pid
    os.kill(pid, signal.SIGTERM)
    for run in range(1, 12):
        end = connection.wait_end(run)
        assert end.how == CANCELLED, end
    assert supervisor.process.wait() == 0
    supervisor.process = None
    assert marked(LONG.encode()) == []
    supervisor.start()
    connection = supervisor.connect()
    for run in range(1, 12):
        connection.of_run(QUERY, run)
    for run in range(1, 12):
        assert connection.wait_end(run).how == CANCELLED


def test_it_stays_as_long_as_it_is_needed(supervisor):
    assert supervisor.stop() == 0
    supervisor.idle_ms = 300
    supervisor.start()
    connection = supervisor.connect()
    go = os.path.join(supervisor.data, "go")
    connection.spawn(1, f"while [ ! -e {go} ]; do sleep 0.01; done; exit 6")
    connection.wait_begun(1)
    pid = supervisor.process.pid
    connection.close()
    time.sleep(0.6)  # longer than it may idle; a child is not idleness
    assert is_alive(pid)
    open(go, "w").close()
    assert supervisor.process.wait() == 0
    supervisor.start()
    connection = supervisor.connect()
    time.sleep(0.6)  # and neither is a daemon
    connection.of_run(QUERY, 1)
    assert connection.wait_end(1).code == 6
    connection.close()
    assert supervisor.process.wait() == 0
    assert not os.path.exists(supervisor.path("socket"))
    supervisor.process = None


def test_after_bye_it_goes_when_the_last_run_has_ended(supervisor):
    connection = supervisor.connect()
    go = os.path.join(supervisor.data, "go")
    connection.spawn(1, f"while [ ! -e {go} ]; do sleep 0.01; done; exit 6")
    connection.wait_begun(1)
    connection.send(BYE)
    assert is_alive(supervisor.process.pid)
    open(go, "w").close()
    assert supervisor.process.wait() == 0  # its idle time is a minute
    supervisor.start()
    connection = supervisor.connect()
    connection.of_run(QUERY, 1)
    assert connection.wait_end(1).code == 6


def test_there_is_one_for_each_directory(supervisor):
    second = subprocess.run(supervisor.command(), capture_output=True, text=True, check=False)
    assert second.returncode == 3 and "another halligan-exec" in second.stderr, second
    second = subprocess.run(supervisor.command("--detach"), capture_output=True, check=False)
    assert second.returncode == 3
    assert supervisor.connect().run(1, ["/bin/true"]).how == EXITED
    mode = os.stat(supervisor.path()).st_mode & 0o777, os.stat(supervisor.path("socket")).st_mode & 0o777
    assert mode == (0o700, 0o600), mode


def test_it_detaches_when_it_listens(supervisor):
    assert supervisor.stop() == 0
    with open(supervisor.log, "ab") as log:
        done = subprocess.run(supervisor.command("--detach"), stdout=log, stderr=log, check=False)
    assert done.returncode == 0
    connection = supervisor.connect()
    pid = connection.welcome.pid
    parent, _, session = processes()[pid]
    assert parent != os.getpid() and session == pid
    connection.send(BYE)
    eventually(lambda: not is_alive(pid), "it has gone")


def holders(pids, link):
    return [pid for pid in pids for fd in os.listdir(f"/proc/{pid}/fd")
            if os.readlink(f"/proc/{pid}/fd/{fd}") == link]


def test_what_its_starter_left_open_is_not_passed_on(supervisor):
    assert supervisor.stop() == 0
    mine, left = os.pipe()
    link = os.readlink(f"/proc/self/fd/{left}")
    for detached in (False, True):
        if detached:
            with open(supervisor.log, "ab") as log:
                subprocess.run(supervisor.command("--detach"), stdout=log, stderr=log,
                               pass_fds=[left], check=True)
        else:
            supervisor.start(pass_fds=[left])
        connection = supervisor.connect()
        connection.spawn(1 + detached, f"ls -l /proc/self/fd; echo ready; exec sleep {LONG}")
        child = connection.wait_begun(1 + detached)
        eventually(lambda: b"ready" in supervisor.output(1 + detached), "it runs")
        assert link.encode() not in supervisor.output(1 + detached)
        lead = processes()[child][0]
        assert processes()[lead][0] == connection.welcome.pid
        assert holders([connection.welcome.pid, lead, child], link) == []
        connection.of_run(CANCEL, 1 + detached)
        connection.wait_end(1 + detached)
        connection.send(BYE)
        eventually(supervisor.lock_is_free, "it has gone")
        if not detached:
            assert supervisor.process.wait() == 0
            supervisor.process = None
    os.close(mine)
    os.close(left)


def test_usage(supervisor):
    def ask(*words):
        return subprocess.run([supervisor.program, *words], capture_output=True, text=True, check=False)

    assert ask("--help").returncode == 0 and "--idle-ms" in ask("--help").stdout
    for words in ([], ["--dir"], ["--what"], ["--dir", "/tmp", "--idle-ms", "x"], ["--shim"]):
        done = ask(*words)
        assert done.returncode == 2 and "usage" in done.stderr, done
    assert ask("--dir", "/nowhere").returncode == 1
    assert ask("--shim", "x", "10").returncode == 2  # only a supervisor may start it


def test_hostile_bytes_close_their_connection_only(supervisor):
    good = supervisor.connect(epoch=4)
    hello = encode(HELLO, version=VERSION, epoch=4)
    spawn = encode(SPAWN, run_id=1, attempt=1, epoch=4, argv=b"/bin/true\0")
    bad = [
        b"\0\0\0\0", b"\xff\xff\xff\xff", struct.pack("<I", (4 << 20) + 1), b"GET / HTTP/1.0\r\n\r\n",
        spawn, encode(QUERY, run_id=1), encode(BYE),  # before HELLO
        hello + hello, hello + encode(WELCOME), hello + encode(ENDED, run_id=1, how=1),
        hello + encode(SPAWN, run_id=1, attempt=1, epoch=4), hello + struct.pack("<I", 1) + b"\xee",
        hello + encode(SPAWN, run_id=-1, argv=b"x\0"), hello + spawn[:-1] + b"x",
        encode(HELLO, version=VERSION, epoch=-4),
    ]
    random.seed(7)
    bad += [hello + struct.pack("<I", 40) + random.randbytes(40) for _ in range(200)]
    for sent in bad:
        client = Connection(supervisor.path("socket"), hello=False)
        client.socket.sendall(sent)
        if sent.startswith(hello) and len(sent) > len(hello):
            client.socket.shutdown(socket.SHUT_WR)
        try:
            while True:
                assert client.receive().kind in (WELCOME, NOT_KNOWN, BEGUN, ENDED, FENCED)
        except Gone:
            pass
        client.close()
    # Incomplete messages do not affect other connections.
    halves = [Connection(supervisor.path("socket"), hello=False) for _ in range(20)]
    for half in halves:
        half.socket.sendall(spawn[:7])
    assert good.run(77, "exit 3").code == 3
    for half in halves:
        half.close()


def test_a_daemon_of_another_version_gets_no_reports_of_runs(supervisor):
    good = supervisor.connect(epoch=1)
    other = Connection(supervisor.path("socket"), hello=False)
    other.send(HELLO, version=99, epoch=1)
    assert other.receive().version == VERSION
    good.run(1, ["/bin/true"])
    other.of_run(QUERY, 55)
    assert other.receive().kind == NOT_KNOWN  # and nothing of run 1 before it


def welcome_version(supervisor, version):
    """The version in its answer to a daemon of this version; None if there is no supervisor."""
    try:
        other = Connection(supervisor.path("socket"), hello=False)
        other.send(HELLO, version=version, epoch=1)
        answer = other.receive().version
        other.close()
        return answer
    except (OSError, Gone):
        return None


def test_daemons_of_another_version_do_not_keep_it(supervisor):
    assert supervisor.stop() == 0
    supervisor.idle_ms = 1000
    supervisor.start()
    other = Connection(supervisor.path("socket"), hello=False)  # stays connected and sends nothing
    assert welcome_version(supervisor, 0) == VERSION

    def is_gone():
        assert welcome_version(supervisor, 0) in (VERSION, None)
        return supervisor.process.poll() is not None

    eventually(is_gone, "it exits although clients connect all the time")
    assert supervisor.process.returncode == 0
    supervisor.process = None
    other.close()


def test_for_a_newer_daemon_it_goes_as_soon_as_it_can(supervisor):
    assert supervisor.stop() == 0
    supervisor.idle_ms = 3600 * 1000
    supervisor.start()
    connection = supervisor.connect()
    go = os.path.join(supervisor.data, "go")
    connection.spawn(1, f"while [ ! -e {go} ]; do sleep 0.01; done; exit 6")
    connection.wait_begun(1)
    assert welcome_version(supervisor, VERSION + 1) == VERSION
    connection.close()
    assert welcome_version(supervisor, VERSION + 1) == VERSION  # the run is still there
    open(go, "w").close()
    assert supervisor.process.wait(timeout=WAIT_S) == 0
    supervisor.start()
    connection = supervisor.connect()
    assert welcome_version(supervisor, VERSION + 1) == VERSION
    connection.of_run(QUERY, 1)  # a daemon of its own is not left for another
    assert connection.wait_end(1).code == 6
    connection.close()
    assert supervisor.process.wait(timeout=WAIT_S) == 0
    supervisor.start()
    assert welcome_version(supervisor, VERSION + 1) == VERSION
    assert supervisor.process.wait(timeout=WAIT_S) == 0
    supervisor.process = None


def test_a_daemon_that_does_not_read_does_not_block_others(supervisor):
    silent, good = supervisor.connect(), supervisor.connect()
    good.run(1, "exit 9")
    silent.socket.setblocking(False)
    question, sent = encode(QUERY, run_id=1, attempt=1) * 500, 0
    try:
        while sent < 64 << 20:
            sent += silent.socket.send(question)
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        pass
    assert good.run(2, "exit 8").code == 8
    assert supervisor.rss_kb() < 200 << 10


def test_too_many_connections_are_refused(supervisor):
    first = supervisor.connect()
    others = []
    for _ in range(100):
        other = Connection(supervisor.path("socket"), hello=False)
        others.append(other)
    assert first.run(1, "exit 4").code == 4
    for other in others:
        other.close()
    eventually(lambda: supervisor.fds() < 20, "their descriptors are closed")
    assert supervisor.connect().run(2, "exit 5").code == 5
