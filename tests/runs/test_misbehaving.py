"""Scripts that misbehave: each run ends once, with the right result, and leaves nothing behind."""
import collections
import http.client
import os
import tempfile

from yard import (
    ACTIVE, CANCELLED, ERROR, FAILED, OK, eventually, fds, processes, rss_kb,
)

MIB = 1 << 20

# For scripts: the pid of the shim of this run, and the path of its result channel.
CLIMB = """\
above() { awk '{ print $4 }' "/proc/$1/stat"; }
first() { # the process that the run began with
    at=$$
    until tr '\\0' ' ' < "/proc/$(above "$at")/cmdline" | grep -q -- --shim; do
        at=$(above "$at")
    done
    echo "$at"
}
shim() { above "$(first)"; }
channel() { echo "/proc/$(first)/fd/1"; }
"""
TICKS = "while :; do sleep 0.05; done"
STATUSES = [1, 3, 5, 7, 8, 15, 31, 47, 99, 126, 127, 130, 141, 199, 254]
SIGNALS = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 31, 34, 50, 63]


class Shape:
    """How a script misbehaves, and how its run is to end. SLEEPS means that it never ends."""

    def __init__(self, name, script, says=None, **more):
        self.name = name
        self.script = script  # or a function of the number of the round
        self.says = says  # the end of the runlog; None: the run succeeds
        self.cancel = more.pop("cancel", False)  # once it has said "ready"
        self.alone = more.pop("alone", False)  # too much for the machine side by side
        self.keys = more

    def text(self, y, number):
        script = self.script(number) if callable(self.script) else self.script
        return "say ran\n" + CLIMB + script.replace("SLEEPS", f"sleep {y.long}")

    def expected_end(self, number):
        return self.says(number) if callable(self.says) else self.says

    @property
    def result(self):
        return CANCELLED if self.cancel else FAILED if self.says else OK


LATE = "the run took longer than it may, and was stopped"
STATUS = "ended with status %d"

# Each line is one way to misbehave.
SHAPES = [
    Shape("never ends", "SLEEPS", LATE, deadline=1),
    Shape("floods its output", "say ready; exec yes", cancel=True),
    Shape("floods its log until it is too late", "exec yes >&2", LATE, deadline=1),
    Shape("floods where it is not to write at all", 'exec yes > "$(channel)"', LATE, deadline=1),
    Shape("writes where it is not to write at all", 'echo garbage > "$(channel)"; exit 0',
          "the values that the scripts wrote did not arrive completely"),
    Shape("forks away", "SLEEPS & exit 0"),
    Shape("forks twice with a session of its own",
          "(setsid sh -c 'SLEEPS & SLEEPS' &) ; exit 7", STATUS % 7),
    Shape("becomes a daemon",
          "(setsid sh -c 'cd /; exec < /dev/null > /dev/null 2>&1; SLEEPS' &) ; exit 0"),
    Shape("ignores TERM", f"trap '' TERM; say ready; {TICKS}", cancel=True),
    Shape("hides a process that ignores TERM",
          f"setsid sh -c \"trap '' TERM; {TICKS}\" & say ready; SLEEPS", cancel=True),
    Shape("cleans up on TERM",
          f"trap 'say clean; exit 0' TERM; say ready; {TICKS}", cancel=True),
    Shape("exits at once", ":"),
    Shape("closes its output", "exec >&- 2>&-; sleep 0.05; exit 5", STATUS % 5),
    Shape("writes a huge line", f"head -c {10 * MIB} /dev/zero | tr '\\0' x"),
    Shape("writes zero bytes and no text", "head -c 5000 /dev/zero; head -c 5000 /dev/urandom"),
    Shape("fills the pipe and goes", "head -c 65536 /dev/zero; exit 3", STATUS % 3),
    Shape("kills its own group", "kill -9 0; sleep 1", "ended by signal 9 (Killed)"),
    Shape("stops itself", "say ready; kill -STOP $$; exit 1", cancel=True),
    Shape("stops itself and is never cancelled", "kill -STOP $$", LATE, deadline=1),
    Shape("stops its whole group", "kill -STOP 0", LATE, deadline=1),
    Shape("becomes something else", "exec sh -c 'exec sh -c \"exit 9\"'", STATUS % 9),
    Shape("has a thousand grandchildren",
          "i=0; while [ $i -lt 1000 ]; do SLEEPS & i=$((i+1)); done; exit 0", alone=True),
    Shape("leaves its output open to others", "echo hi; (setsid SLEEPS &) ; exit 3", STATUS % 3),
    Shape("leaves a writing process", "(setsid yes >&2 &) ; exit 0"),
    Shape("dies by a signal", lambda i: f"ulimit -c 0; kill -{SIGNALS[i % len(SIGNALS)]} $$",
          lambda i: STATUS % (128 + SIGNALS[i % len(SIGNALS)])),
    Shape("exits with any status", lambda i: f"exit {STATUSES[i % len(STATUSES)]}",
          lambda i: STATUS % STATUSES[i % len(STATUSES)]),
    Shape("reads its standard input", "read -r word && exit 3; exit 0"),
    Shape("removes its own directory", 'rm -rf "$HALLIGAN_PLACE"; exit 0', STATUS % 1),
    Shape("takes all rights away", "umask 777; chmod 000 . ..; exit 6", STATUS % 6),
    Shape("is nice", "exec nice -n 19 sh -c '(setsid SLEEPS &) ; exit 0'"),
    Shape("has a misleading name",
          'cp "$(command -v sleep)" "$here/a) Z 1"; (setsid "$here/a) Z 1" 98765 &) ; sleep 0.02'),
    Shape("has children whose ends it never takes", "sleep 0.01 & exec SLEEPS", LATE, deadline=1),
    Shape("leaves one without an environment", "env -i setsid SLEEPS & exit 0"),
    Shape("leaves one that hops from process to process",
          "printf '#!/bin/sh\\nsetsid \"$0\" &\\nexit 0\\n' > \"$here/hop\"; "
          'chmod 755 "$here/hop"; "$here/hop"; exit 0', alone=True),
    Shape("kills its shim", 'kill -9 "$(shim)"; SLEEPS', "its progress is unknown"),
    Shape("stops its shim", 'kill -STOP "$(shim)"; exit 4', STATUS % 4),
    Shape("terminates its shim", 'kill "$(shim)"; exit 4', STATUS % 4),
    Shape("allows itself nothing", "ulimit -n 4; ulimit -s 64; exit 8", STATUS % 8),
    Shape("writes a name that is not UTF-8",
          "mkdir -p \"attrs/$(printf '\\377')\"; echo x > \"attrs/$(printf '\\377')/wall\"",
          "not UTF-8 text"),
    Shape("writes more than can be stored",
          f"mkdir -p attrs/a; head -c {20 * MIB} /dev/zero > attrs/a/wall", "too much"),
]


class Field:
    """One node for each shape, and what became of it, round after round."""

    def __init__(self, y):
        self.y = y
        self.bound = {}
        for index, shape in enumerate(SHAPES):
            y.role(f"shape-{index}", shape.text(y, 0), **shape.keys)
        y.role("tame", "say ran")
        y.start("--pool-normal", "6", "--keep-runs", "100")
        tame = y.run(y.node("tame"), "tame")
        y.settles(tame)
        for index, shape in enumerate(SHAPES):
            self.bound[shape] = y.bind(y.node(f"s{index}"), f"shape-{index}")

    def begin(self, shape, number):
        y = self.y
        y.role(f"shape-{SHAPES.index(shape)}", shape.text(y, number))
        if number == 0:
            y.commit(self.bound[shape])
        else:
            y.verb(self.bound[shape], "retry")

    def cancel(self, shape, number):
        noderole = self.bound[shape]
        self.y.wait_for("ready", number + 1, role=f"shape-{SHAPES.index(shape)}")
        run = self.y.runs(noderole)[0]["id"]
        answer = self.y.me.put(f"runs/{run}/cancel")
        assert answer.status == 200, (shape.name, answer)

    def finish(self, shape, number):
        """Once, as it should, and for good."""
        y, noderole = self.y, self.bound[shape]
        eventually(lambda: len(y.history(noderole)) > number and not y.runs(noderole),
                   lambda: f"{shape.name}, round {number}, ends: {y.look(noderole)}")
        history = y.history(noderole)
        last = history[-1]
        where = f"{shape.name}, round {number}: {dict(last, runlog=last['runlog'][-300:])}"
        assert [run["attempt"] for run in history] == list(range(1, number + 2)), where
        assert last["result"] == shape.result, where
        record = y.look(noderole)
        assert record["state"] == (ACTIVE if shape.result == OK else ERROR), (where, record)
        assert record["run_count"] == (number + 1 if shape.result == OK else 0), (where, record)
        if shape.says:
            assert shape.expected_end(number) in last["runlog"], where
            assert record["runlog"] == last["runlog"], where

    def round(self, number, shapes):
        for shape in shapes:
            self.begin(shape, number)
        for shape in shapes:
            if shape.cancel:
                self.cancel(shape, number)
        wrong = []
        for shape in shapes:  # all of them, so that one does not hide the others
            try:
                self.finish(shape, number)
            except AssertionError as why:
                wrong.append(str(why))
        assert not wrong, "\n".join(wrong)
        assert self.y.strays() == [], self.y.strays()
        eventually(lambda: not self.y.zombies(), lambda: f"no zombie: {self.y.zombies()}")

    def check_ledger(self, rounds):
        ran = collections.Counter(line.role for line in self.y.ledger("ran"))
        del ran["tame"]
        assert set(ran.values()) == {rounds} and len(ran) == len(SHAPES), ran
        starts = collections.Counter(line.run for line in self.y.ledger("ran"))
        assert set(starts.values()) == {1}, "a start was done twice"
        assert len(self.y.ledger("clean")) == rounds, "TERM comes before KILL"


def leads(supervisor):
    return [pid for pid, (parent, _) in processes().items() if parent == supervisor]


def store_kb(y):
    """What grows with everything that happened, and what the daemon may keep of it at hand."""
    return os.path.getsize(y.path("halligan.db")) // 1024


def places(y):
    """What runs have left in the directory for temporary files."""
    return [name for name in os.listdir(tempfile.gettempdir()) if y.mark in name]


def test_misbehaving_scripts(y):
    rounds = 20 if y.full else 1
    field = Field(y)
    daemon, supervisor = y.process.pid, y.supervisor()
    daemon_fds, supervisor_fds = fds(daemon), fds(supervisor)
    memory = []
    for number in range(rounds):
        field.round(number, [shape for shape in SHAPES if not shape.alone])
        for shape in SHAPES:
            if shape.alone:
                field.round(number, [shape])
        memory.append((rss_kb(daemon) - store_kb(y), rss_kb(supervisor)))
    field.check_ledger(rounds)
    assert y.process.pid == daemon and y.supervisor() == supervisor
    eventually(lambda: fds(daemon) <= daemon_fds, lambda: f"{daemon_fds} fds: {fds(daemon)}")
    # One descriptor for each shim that waits, and no other.
    eventually(lambda: fds(supervisor) - supervisor_fds <= len(leads(supervisor)),
               lambda: f"{supervisor_fds} fds: {fds(supervisor)}, {len(leads(supervisor))} leads")
    settled = memory[min(4, len(memory) - 1)]
    for was, now in zip(settled, memory[-1]):
        assert now - was < 8192, memory  # one shape alone brings 20 MiB, each round
    assert not any(os.listdir(y.path("exec", "spool"))), os.listdir(y.path("exec", "spool"))
    left = [name for _, _, names in os.walk(y.path("runs")) for name in names]
    assert left == [], left
    print(f"misbehaving scripts: {len(SHAPES)} shapes x {rounds}, each run ended once; RSS in kB, "
          f"daemon without its store {[d for d, _ in memory]}, supervisor {[s for _, s in memory]}")
    # Whatever could not clean up behind itself is cleaned away by the next run for that node.
    for index, shape in enumerate(SHAPES):
        y.role(f"shape-{index}", "say tame")
        y.verb(field.bound[shape], "retry")
    for shape in SHAPES:
        eventually(lambda: len(y.history(field.bound[shape])) == rounds + 1, shape.name)
        assert y.settles(field.bound[shape])["state"] == ACTIVE, shape.name
    assert places(y) == []


def test_a_script_that_kills_the_daemon_is_still_done_once(y):
    y.role("killer", 'say begin; kill -9 "$(cat "$here/victim")"; say end')
    y.start()
    with open(y.path("victim"), "w") as file:
        file.write(str(y.process.pid))
    noderole = y.bind(y.node("one"), "killer")
    try:
        y.commit(noderole)
    except (OSError, http.client.HTTPException):
        pass  # it may be gone before it has answered
    assert y.process.wait() == -9
    y.wait_for("end")
    y.start()
    assert y.settles(noderole)["run_count"] == 1
    assert [line.word for line in y.ledger()] == ["begin", "end"]
    assert y.results(noderole) == [OK]


def test_a_script_that_kills_the_supervisor_fails_and_the_next_run_works(y):
    y.role("killer", CLIMB + 'say begin; kill -9 "$(above "$(shim)")"; ' + "sleep 98765")
    y.start()
    noderole = y.run(y.node("one"), "killer")
    failed = y.reaches(noderole, ERROR)
    assert "halligan-exec ended during the run: the run was killed" in failed["runlog"], failed
    eventually(lambda: not y.strays(), lambda: f"nothing is left: {y.strays()}")
    y.role("killer", "say again")
    y.verb(noderole, "retry")
    assert y.settles(noderole)["run_count"] == 1
    assert [line.word for line in y.ledger()] == ["begin", "again"]
