"""Many, slow and broken connections, and few descriptors: others are served all the same."""
import contextlib
import re
import resource
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

from daemon import WAIT_S, Own, basic, eventually

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
FORMS = (b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: here\r\nX-Slow: a",
         b"POST /api/v2/nodes HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf")
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01"  # the first bytes of a ClientHello


def place(own):
    parts = urllib.parse.urlsplit(own.read("listen").strip())
    return parts.hostname, parts.port


def start_with(own, files, *words):
    """Like own.start(), with so many descriptors."""
    own.launch(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
    eventually(lambda: own.read("listen") or own.process.poll() is not None, "it listens")
    assert own.process.poll() is None, own.read("stderr")


@contextlib.contextmanager
def more_descriptors(count):
    """The test itself needs one for each connection that it opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def health(own, wrap=lambda s: s):
    """The status of one request on a connection of its own; 0 when it got none."""
    try:
        with wrap(socket.create_connection(place(own), timeout=WAIT_S)) as wire:
            wire.sendall(HEALTH)
            heard = b""
            while data := wire.recv(65536):
                heard += data
    except (ConnectionError, ssl.SSLError):
        return 0
    return int(heard.split()[1]) if heard else 0


def metric(own, name):
    found = re.search(rf"^halligan_http_{name} (\d+)$", own.client.get("/metrics").text, re.M)
    return int(found.group(1))


class Slow:
    """Connections that stay half open, some of them opened again and again."""

    def __init__(self, where, count, forms):
        self.where, self.forms = where, forms
        self.sockets = [self.open(i) for i in range(count)]
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.go_on)

    def open(self, i):
        wire = socket.create_connection(self.where, timeout=WAIT_S)
        with contextlib.suppress(ConnectionError):
            wire.sendall(self.forms[i % len(self.forms)])
        return wire

    def go_on(self):
        i = 0
        while not self.is_over.wait(0.002):
            i = (i + 1) % len(self.sockets)
            self.sockets[i].close()
            with contextlib.suppress(OSError):
                self.sockets[i] = self.open(i)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        for wire in self.sockets:
            wire.close()


def test_a_thousand_slow_connections_do_not_block_others(daemon):
    with Own(daemon) as own, more_descriptors(3000):
        start_with(own, 4096, "--log-level", "notice")
        assert metric(own, "connections_max") == 1000
        with Slow(place(own), 1100, FORMS):
            for _ in range(20):
                assert health(own) == 200
            assert own.client.get("/api/v2/nodes").status == 200
            assert metric(own, "connections_evicted_total") >= 100
            assert metric(own, "connections_refused_total") == 0
            assert metric(own, "connections") <= 1000
            eventually(lambda: "closed=" in own.read("stderr"), "it is logged")
        # At most one line a minute; the test takes less than two.
        lines = [line for line in own.read("stderr").splitlines() if "closed=" in line]
        assert 1 <= len(lines) <= 2, lines
        assert health(own) == 200
        assert own.stop() == 0, own.read("stderr")


def test_unfinished_handshakes_do_not_block_others(daemon):
    with Own(daemon) as own, more_descriptors(3000):
        start_with(own, 4096, "--tls-auto", "--log-level", "notice")
        trust = ssl.create_default_context()
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
        with Slow(place(own), 1100, (b"", HELLO)):
            for _ in range(10):
                assert health(own, trust.wrap_socket) == 200
            eventually(lambda: "closed=" in own.read("stderr"), "it is logged")
        assert own.stop() == 0, own.read("stderr")


def test_a_complete_request_is_not_closed_for_a_new_connection(daemon):
    with Own(daemon) as own:
        start_with(own, 64)
        limit = metric(own, "connections_max")
        authorization = f"Authorization: {own.client.authorization}\r\n".encode()
        watch = (b"GET /api/v2/events HTTP/1.1\r\nHost: here\r\nAccept: text/event-stream\r\n"
                 + authorization + b"\r\n")
        with socket.create_connection(place(own), timeout=WAIT_S) as stream:
            stream.sendall(watch)
            assert b" 200 " in stream.recv(65536)
            with Slow(place(own), 3 * limit, FORMS):
                for _ in range(10):
                    assert health(own) == 200
            # The stream is silent or goes on, and did not end.
            stream.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    assert stream.recv(65536) != b""
        assert own.stop() == 0, own.read("stderr")


def test_event_streams_leave_connections_to_others(daemon):
    with Own(daemon) as own, contextlib.ExitStack() as open_ones:
        start_with(own, 64)
        limit = metric(own, "connections_max")
        secrets = [own.client.authorization]
        for i in range(4):
            name, password = f"watcher{i}", "Pa55-lemon-tree"
            assert own.client.post("users", {"username": name, "password": password}).status == 200
            secrets.append(basic(name, password))
        counts = []
        for secret in secrets:
            counts.append(0)
            for _ in range(limit):
                wire = open_ones.enter_context(socket.create_connection(place(own), timeout=WAIT_S))
                wire.sendall(b"GET /api/v2/events HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
                             b"Accept: text/event-stream\r\nAuthorization: " + secret.encode()
                             + b"\r\n\r\n")
                status = wire.recv(65536).split()[1]
                if status != b"200":
                    assert status == b"429", status
                    break
                counts[-1] += 1
            assert health(own) == 200
        assert counts == [limit // 4] * 3 + [0, 0], counts
        open_ones.close()
        assert own.stop() == 0, own.read("stderr")


def test_few_descriptors_mean_few_connections_and_accepting_recovers(daemon):
    with Own(daemon) as own:
        start_with(own, 64, "--log-level", "notice")
        assert metric(own, "connections_max") == 32
        assert own.read("stderr").count("connections_max=32") == 1
        for _ in range(3):
            for _ in range(150):
                with socket.create_connection(place(own), timeout=WAIT_S) as wire:
                    wire.sendall(b"GET /healthz HT")
            assert health(own) == 200
        with Slow(place(own), 150, FORMS):
            for _ in range(10):
                assert health(own) == 200
        eventually(lambda: metric(own, "connections") == 1, "only ours is left")
        assert own.client.get("/api/v2/nodes").status == 200
        assert own.stop() == 0, own.read("stderr")


def cpu_s(own):
    with open(f"/proc/{own.process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_without_descriptors_accepting_waits_and_does_not_spin(daemon):
    """The limit is lowered while it runs, below what is open: accept() fails until it is raised."""
    with Own(daemon) as own:
        start_with(own, 256, "--log-level", "notice")
        assert health(own) == 200

        def limit(count):
            subprocess.run(["prlimit", "--pid", str(own.process.pid), f"--nofile={count}:256"],
                           check=True)

        limit(3)
        with socket.create_connection(place(own), timeout=WAIT_S) as wire:
            wire.sendall(HEALTH)
            own.says("Too many open files")
            before = cpu_s(own)
            time.sleep(3)
            assert cpu_s(own) - before < 1.5
            limit(256)
            assert b" 200 " in wire.recv(65536)
        assert metric(own, "accept_failures_total") > 0
        assert own.read("stderr").count("Too many open files") == 1
        assert own.stop() == 0, own.read("stderr")
