"""A data directory, and drivers that come and go in it. Standard library only."""
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

WAIT_S = 120  # nothing takes that long; sanitized builds on a busy machine take long enough


def eventually(look, what):
    """Look until it is true; the deadline is only there for when it never is."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)


def told(pids):
    """What they are, for a complaint."""
    lines = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                lines.append(f"{pid} {file.read()[:300]}")
        except OSError:
            pass
    return lines


def processes_with(mark):
    """Live processes that have this text in their environment or command line."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            text = b""
            for part in ("environ", "cmdline"):
                with open(f"/proc/{name}/{part}", "rb") as file:
                    text += file.read() + b"\0"
        except OSError:
            continue
        if mark.encode() in text and state not in "ZX":
            found.append(int(name))
    return found


class Toy:
    """One process that behaves like a daemon for the runner."""

    def __init__(self, place, epoch, jigs, env):
        self.place, self.epoch = place, epoch
        self.process = subprocess.Popen(
            [place.driver, place.data, place.program, jigs], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=place.log, env={**os.environ, **env})
        os.set_blocking(self.process.stdout.fileno(), False)
        self.bytes = b""
        self.events = []
        self.by_run = {}  # (said, run, attempt): events

    # -- orders ------------------------------------------------------------------------------------

    def do(self, what, **more):
        line = json.dumps({"do": what, **more}, ensure_ascii=False) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def facts(self, noderole=1, **more):
        values = {"role": "role", "node": "n1.example.com", "barclamp": "test",
                  "jig_class": "script", "source_path": self.place.source}
        self.do("facts", noderole=noderole, **{**values, **more})

    def order(self, what, run, attempt=1, noderole=1, **more):
        """A noderole has a node of its own, with its number."""
        values = {"run": run, "attempt": attempt, "noderole": noderole, "node": noderole,
                  "epoch": self.epoch}
        self.do(what, **{**values, **more})

    def start(self, run, sh="", attempt=1, noderole=1, epoch=None, **data):
        self.order("start", run, attempt, noderole, epoch=epoch or self.epoch,
                   data={"sh": sh, **data})

    def query(self, run, sh="", attempt=1, noderole=1, begun=False, **data):
        self.order("query", run, attempt, noderole, begun=begun, data={"sh": sh, **data})

    def cancel(self, run, attempt=1, noderole=1):
        self.order("cancel", run, attempt, noderole)

    def go(self):
        self.do("go")

    def take(self, limit=0, why="ok"):
        self.do("take", limit=limit, why=why)

    # -- events ------------------------------------------------------------------------------------

    def read(self, timeout):
        if select.select([self.process.stdout], [], [], timeout)[0]:
            more = self.process.stdout.read()
            assert more, f"the driver is gone: {self.process.wait()}\n{self.place.said()[-3000:]}"
            self.bytes += more
        *lines, self.bytes = self.bytes.split(b"\n")
        for line in lines:
            self.note(json.loads(line))

    def note(self, event):
        self.events.append(event)
        if "said" in event:
            key = event["said"], event["run"], event["attempt"]
            self.by_run.setdefault(key, []).append(event)

    def find(self, **wanted):
        return [e for e in self.events if all(e.get(k) == v for k, v in wanted.items())]

    def wait(self, count=1, **wanted):
        """The last of `count` events that are as wanted."""
        deadline = time.monotonic() + WAIT_S
        while len(self.find(**wanted)) < count:
            assert time.monotonic() < deadline, f"never said: {wanted}; but {self.events[-20:]}"
            self.read(1)
        return self.find(**wanted)[count - 1]

    def done(self, run, attempt=1, count=1):
        deadline = time.monotonic() + WAIT_S
        while len(self.by_run.get(("done", run, attempt), [])) < count:
            assert time.monotonic() < deadline, f"never done: {run}; but {self.events[-20:]}"
            self.read(1)
        return self.by_run["done", run, attempt][count - 1]

    def answer(self, key, what, **more):
        before = len([e for e in self.events if key in e])
        self.do(what, **more)
        deadline = time.monotonic() + WAIT_S
        while len([e for e in self.events if key in e]) == before:
            assert time.monotonic() < deadline, f"no answer to {what}"
            self.read(1)
        return [e for e in self.events if key in e][-1]

    def count(self):
        return self.answer("count", "count")["count"]

    def wait_quiet(self):
        """Until no run is open."""
        eventually(lambda: self.count() == 0, "no run is open")

    def log(self, run, attempt=1, noderole=1, offset=0, size=1 << 16):
        return self.answer("err", "log", run=run, attempt=attempt, noderole=noderole,
                           offset=offset, size=size)

    # -- end ---------------------------------------------------------------------------------------

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.bytes += self.process.stdout.read() or b""  # what it said before
        *lines, self.bytes = self.bytes.split(b"\n")
        for line in lines:
            self.note(json.loads(line))
        self.process.stdout.close()

    def close(self, bye=False):
        if self.process.poll() is None:
            self.do("close", bye=bye)
        code = self.process.wait(timeout=WAIT_S)
        self.process.stdin.close()
        self.process.stdout.close()
        assert code == 0, f"the driver left with {code}"

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def children(self):
        """Zombies included."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as file:
            return file.read().split()


class Place:
    def __init__(self, build):
        self.driver = os.path.join(build, "tests", "runner", "runner-drive")
        self.program = os.path.join(build, "halligan-exec")
        self.build = build
        self.folder = tempfile.mkdtemp(prefix="halligan-runner-")
        self.data = os.path.join(self.folder, "data")
        self.source = os.path.join(self.folder, "source")
        self.ledger = os.path.join(self.folder, "ledger")
        os.mkdir(self.data, 0o700)
        os.mkdir(self.source)
        self.log = open(os.path.join(self.folder, "stderr"), "ab")
        self.toys = []
        self.things = []
        self.count = 0

    def toy(self, jigs="shell", epoch=None, env=None):
        epoch = epoch or len(self.toys) + 1
        toy = Toy(self, epoch, jigs, env or {})
        if self.toys:
            toy.do("hold")  # until toy.go(): all that a start orders comes at once
        self.toys.append(toy)
        return toy

    def path(self, *names):
        return os.path.join(self.data, *names)

    def place(self, name):
        self.count += 1
        path = os.path.join(self.folder, f"{name}{self.count}")
        os.mkdir(path, 0o700)
        return path

    def said(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    # -- the supervisor ------------------------------------------------------------------------------

    def supervisor(self):
        """Its process."""
        def look():
            try:
                with open(self.path("exec", "lock"), encoding="ascii") as file:
                    words = file.read().split()
                return int(words[1]) if len(words) == 2 else None
            except FileNotFoundError:
                return None
        return eventually(look, "a supervisor has the lock")

    def kill_supervisor(self):
        pid = self.supervisor()
        os.kill(pid, signal.SIGKILL)
        return pid

    def lock_is_free(self):
        if not os.path.exists(self.path("exec", "lock")):
            return True
        with open(self.path("exec", "lock"), "r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

    # -- ledgers: what really was done ---------------------------------------------------------------

    def enter(self, word):
        """A line of shell that writes it down."""
        return f"echo {word} >> {self.ledger}"

    def entries(self):
        if not os.path.exists(self.ledger):
            return []
        with open(self.ledger, encoding="utf-8") as file:
            return file.read().split()

    # -- the end -------------------------------------------------------------------------------------

    def leftovers(self):
        found = []
        for folder in ("runs/in", "runs/scratch", "runs/trash", "exec/spool"):
            path = self.path(folder)
            if os.path.isdir(path):
                found += [f"{folder}/{name}" for name in os.listdir(path)]
        return found

    def stop(self):
        for toy in self.toys:
            if toy.process.poll() is None:
                toy.close(bye=True)

    def close_things(self):
        while self.things:
            self.things.pop().close()

    def check_clean(self):
        """Stop all processes and check that nothing is left."""
        eventually(lambda: self.leftovers() == [], "what was durable is forgotten")
        self.stop()
        self.close_things()
        try:
            eventually(self.lock_is_free, "nothing of the supervisor is left")
        except AssertionError as trouble:
            raise AssertionError(f"{trouble}: {told(processes_with(self.folder))}") from None
        assert self.leftovers() == [], self.leftovers()
        eventually(lambda: processes_with(self.folder) == [], "no process is left")
        bad = [line for line in self.said().split("\n")
               if "Sanitizer" in line or "runtime error" in line]
        assert not bad, bad

    def kill_rest(self):
        """A supervisor may be starting, and one scan can miss a process that forks meanwhile."""
        found = processes_with(self.folder) + processes_with(self.folder)
        for pid in set(found):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not found and self.lock_is_free()

    def close(self):
        for toy in self.toys:
            if toy.process.poll() is None:
                toy.kill()
        self.close_things()
        if not self.lock_is_free():
            try:
                with open(self.path("exec", "lock"), encoding="ascii") as file:
                    os.kill(int(file.read().split()[1]), signal.SIGKILL)
            except (FileNotFoundError, IndexError, ProcessLookupError):
                pass  # it is about to end by itself
        eventually(self.kill_rest, "all are gone")
        self.log.close()
        eventually(self.is_removed, "its folder goes")

    def is_removed(self):
        """What was killed may still leave a file behind."""
        shutil.rmtree(self.folder, ignore_errors=True)
        return not os.path.exists(self.folder)
