"""Starts a halligan-exec and exchanges messages with it over its socket. Standard library only."""
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

WAIT_S = 120  # nothing takes that long; sanitized builds on a busy machine take long enough
VERSION = 1
BODY_MAX = 4 << 20

EXITED, SIGNALLED, DEADLINE, CANCELLED, NOT_STARTED, DIED = range(1, 7)

(HELLO, SPAWN, CANCEL, QUERY, FORGET, RECONCILED, BYE,
 WELCOME, BEGUN, ENDED, NOT_KNOWN, FENCED, LIST) = range(1, 14)

# As in src/run/exec/protocol.h: i signed, u unsigned, b bool, r bytes.
RUN = [("run_id", "i"), ("attempt", "u")]
FIELDS = {
    HELLO: [("version", "u"), ("epoch", "i")],
    SPAWN: RUN + [("epoch", "i"), ("argv", "r"), ("env", "r"), ("cwd", "r"), ("stdin_path", "r"),
                  ("out_max", "i"), ("log_max", "i"), ("deadline_ms", "i"), ("grace_ms", "i")],
    CANCEL: RUN,
    QUERY: RUN,
    FORGET: RUN,
    RECONCILED: None,
    BYE: None,
    WELCOME: [("version", "u"), ("pid", "i"), ("boot_id", "r"), ("of_this_boot", "b")],
    BEGUN: RUN + [("pid", "i")],
    ENDED: RUN + [("how", "u"), ("code", "u"), ("reason", "r"), ("out_size", "i"),
                  ("out_dropped", "i"), ("log_size", "i"), ("log_dropped", "i")],
    NOT_KNOWN: RUN + [("begun", "b")],
    FENCED: [("epoch", "i")],
    LIST: None,
}


# -- messages ---------------------------------------------------------------------------------------


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(kind, **values):
    body = bytearray([kind])
    fields = FIELDS[kind]
    if fields is not None:
        mask, rest = 0, bytearray()
        for bit, (name, code) in enumerate(fields):
            value = values.get(name)
            if not value:
                continue
            mask |= 1 << bit
            if code == "i":
                rest += varint(value << 1 if value >= 0 else (-value << 1) - 1)
            elif code == "u":
                rest += varint(value)
            elif code == "r":
                rest += varint(len(value)) + value
        body += varint(mask) + rest
    return struct.pack("<I", len(body)) + bytes(body)


class Message:
    def __init__(self, kind, values):
        self.kind = kind
        self.__dict__.update(values)

    def __repr__(self):
        return repr(self.__dict__)


def take_varint(body, at):
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def decode(body):
    kind, at, values = body[0], 1, {}
    fields = FIELDS[kind]
    if fields is None:
        return Message(kind, values)
    mask, at = take_varint(body, at)
    for bit, (name, code) in enumerate(fields):
        values[name] = {"i": 0, "u": 0, "b": False, "r": b""}[code]
        if not mask >> bit & 1:
            continue
        if code == "b":
            values[name] = True
            continue
        number, at = take_varint(body, at)
        if code == "i":
            number = number >> 1 ^ -(number & 1)
        if code == "r":
            values[name] = body[at : at + number]
            at += number
        else:
            values[name] = number
    assert at == len(body), body
    return Message(kind, values)


def texts(words):
    return b"".join((w if isinstance(w, bytes) else w.encode()) + b"\0" for w in words)


# -- the other side ------------------------------------------------------------------------------------


class Gone(Exception):
    """The supervisor closed the connection."""


class Connection:
    """A connection that behaves like a daemon."""

    def __init__(self, path, epoch=1, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        eventually(lambda: self.connects(path), "it takes another connection")
        self.bytes = b""
        self.epoch = epoch
        self.begun = {}  # (run, attempt): pid
        self.ended = {}  # (run, attempt): number of reports of its end
        self.ends = {}  # (run, attempt): the end
        self.fenced = 0
        if hello:
            self.send(HELLO, version=VERSION, epoch=epoch)
            self.welcome = self.receive()
            assert self.welcome.kind == WELCOME, self.welcome

    def connects(self, path):
        try:
            self.socket.connect(path)
            return True
        except BlockingIOError:  # too many are waiting
            return False

    def send(self, kind, **values):
        self.socket.sendall(encode(kind, **values))

    def receive(self):
        while True:
            if len(self.bytes) >= 4:
                size = struct.unpack_from("<I", self.bytes)[0]
                assert size <= BODY_MAX
                if len(self.bytes) >= 4 + size:
                    body, self.bytes = self.bytes[4 : 4 + size], self.bytes[4 + size :]
                    return self.note(decode(body))
            try:
                more = self.socket.recv(1 << 16)
            except (ConnectionResetError, BrokenPipeError):
                more = b""
            if not more:
                raise Gone()
            self.bytes += more

    def note(self, m):
        if m.kind == BEGUN:
            self.begun[m.run_id, m.attempt] = m.pid
        elif m.kind == ENDED:
            key = m.run_id, m.attempt
            self.ended[key] = self.ended.get(key, 0) + 1
            self.ends[key] = m
        elif m.kind == FENCED:
            self.fenced = m.epoch
        return m

    def spawn(self, run, argv, **more):
        """`argv` may be a text for a shell."""
        if isinstance(argv, str):
            argv = ["/bin/sh", "-c", argv]
        env = more.pop("env", ["PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8"])
        values = dict(run_id=run, attempt=1, epoch=self.epoch, argv=texts(argv), env=texts(env),
                      out_max=1 << 20, log_max=1 << 20, grace_ms=200)
        values.update(more)
        self.send(SPAWN, **values)

    def of_run(self, kind, run, attempt=1):
        self.send(kind, run_id=run, attempt=attempt)

    def wait_begun(self, run, attempt=1):
        while (run, attempt) not in self.begun:
            self.receive()
        return self.begun[run, attempt]

    def wait_end(self, run, attempt=1):
        while (run, attempt) not in self.ends:
            self.receive()
        return self.ends[run, attempt]

    def wait_for(self, kind):
        while True:
            m = self.receive()
            if m.kind == kind:
                return m

    def run(self, run, argv, **more):
        self.spawn(run, argv, **more)
        return self.wait_end(run)

    def close(self):
        self.socket.close()


# -- processes -------------------------------------------------------------------------------------------


def processes():
    """{pid: (parent, state, session)} of everything that runs."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                words = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(name)] = int(words[1]), words[0], int(words[3])
    return found


def is_alive(pid):
    now = processes().get(pid)
    return now is not None and now[1] not in "ZX"


def marked(needle):
    """Live processes with these bytes in their command line."""
    found = []
    for pid, (_, state, _) in processes().items():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if needle in file.read() and state not in "ZX" and pid != os.getpid():
                    found.append(pid)
        except OSError:
            continue
    return found


def eventually(look, what):
    """Look until it is true; the deadline is only there for when it never is."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)


# -- the program -----------------------------------------------------------------------------------------


class Supervisor:
    def __init__(self, build, data=None, idle_ms=60000):
        self.program = os.path.join(os.path.abspath(build), "halligan-exec")
        self.own = data is None
        self.data = data or tempfile.mkdtemp(prefix="halligan-exec-")
        self.idle_ms = idle_ms
        self.process = None
        self.log = os.path.join(tempfile.gettempdir(), os.path.basename(self.data) + ".stderr")

    def path(self, *names):
        return os.path.join(self.data, "exec", *names)

    def command(self, *more):
        return [self.program, "--dir", self.data, "--idle-ms", str(self.idle_ms), *more]

    def start(self, **more):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        eventually(self.listens, "halligan-exec listens")
        return self

    def listens(self):
        if self.process and self.process.poll() is not None:
            with open(self.log) as file:
                raise RuntimeError(f"halligan-exec left with {self.process.returncode}:\n{file.read()}")
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            probe.connect(self.path("socket"))
            return True
        except OSError:
            return False
        finally:
            probe.close()

    def connect(self, **more):
        return Connection(self.path("socket"), **more)

    def lock_is_free(self):
        """Nothing of a supervisor is left, its shims included."""
        with open(self.path("lock"), "r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

    def shims(self):
        return [p for p, (parent, _, _) in processes().items() if parent == self.process.pid]

    def below(self):
        """Everything below the supervisor but its shims, zombies included."""
        now = processes()
        shims = {p for p, (parent, _, _) in now.items() if parent == self.process.pid}
        found = []
        for pid in now:
            at = pid
            while at in now and at not in shims:
                at = now[at][0]
            if at in shims and pid not in shims:
                found.append(pid)
        return found

    def fds(self, pid=None):
        return len(os.listdir(f"/proc/{pid or self.process.pid}/fd"))

    def rss_kb(self, pid=None):
        with open(f"/proc/{pid or self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def output(self, run, attempt=1):
        try:
            with open(self.path("spool", f"{run}-{attempt}.out"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def written(self, run, attempt=1):
        """What is kept of a log, oldest byte first, as src/run/exec/spool.c lays it out."""
        try:
            with open(self.path("spool", f"{run}-{attempt}.log"), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return b""
        if len(data) < 64:  # it is just being made
            return b""
        _, room, total, reach, _ = struct.unpack_from("<QqqqQ", data)
        ring = data[64:]
        return bytes(ring[at % room] for at in range(max(0, reach - room), total))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=WAIT_S)
        self.process = None
        return code

    def said(self):
        with open(self.log) as file:
            return file.read()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if os.path.exists(self.path("lock")):
            eventually(self.lock_is_free, "nothing of the supervisor is left")
        if self.own:
            shutil.rmtree(self.data, ignore_errors=True)
        if os.path.exists(self.log):
            os.unlink(self.log)
