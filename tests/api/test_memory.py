"""Replies that are not read do not use the daemon's memory."""
import json
import os
import socket
import time
import urllib.parse

from daemon import Own, basic, eventually

NODES = 20000
READERS = 30
WAIT_S = 300


def rss(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def metric(client, name):
    text = client.get("/metrics").text
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith(name + " ")))


def open_unread(own, target):
    """A request whose answer is not read; the kernel takes as little of it as it can."""
    parts = urllib.parse.urlsplit(own.read("listen").strip())
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(WAIT_S)
    s.connect((parts.hostname, parts.port))
    auth = basic("admin", own.read("admin.password").strip())
    s.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: {auth}\r\n\r\n".encode())
    return s


def read_all(s):
    """The body of a chunked answer."""
    file = s.makefile("rb")
    assert b" 200 " in file.readline()
    while file.readline() != b"\r\n":
        pass
    body = b""
    while True:
        size = int(file.readline(), 16)
        if size == 0:
            return body
        body += file.read(size)
        assert file.readline() == b"\r\n"


def test_unread_inventories_take_little_memory(daemon):
    with Own(daemon) as own:
        checks = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"
        own.launch(env={**os.environ, "ASAN_OPTIONS": checks})
        eventually(lambda: own.read("listen"), "it listens")
        me = own.client
        for first in range(0, NODES, 2000):
            made = me.post("nodes", [{"name": f"node-{n:06}.example.com"}
                                     for n in range(first, first + 2000)])
            assert made.status == 200, made.text[:300]
        whole = me.get("/api/status/inventory").text
        assert len(json.loads(whole)["_meta"]["hostvars"]) >= NODES
        before = rss(own.process.pid)
        unread = [open_unread(own, "/api/status/inventory") for _ in range(READERS)]
        for s in unread:
            assert s.recv(1, socket.MSG_PEEK)  # it is being answered
        time.sleep(2)  # whatever would be built is built by then
        grown = rss(own.process.pid) - before
        assert metric(me, "halligan_http_answer_bytes") > 0
        print(f"{READERS} unread inventories of {len(whole)} bytes: {grown >> 20} MiB more")
        # one text for each would be 30 times its length, and as much again while it was written
        assert grown < READERS * len(whole) / 2, (grown, len(whole))
        # those that read after all get the same as one that never waited
        assert read_all(unread.pop()).decode() == whole
        for s in unread:
            s.close()
        eventually(lambda: metric(me, "halligan_http_answer_bytes") < (1 << 20), "it is given back")
        assert own.stop() == 0


def test_a_body_of_many_small_values_is_refused(daemon):
    raw = b"[" + b"0," * (2 * 1000 * 1000 - 1) + b"0]"
    answer = daemon.client().post("nodes", raw=raw, headers={"Content-Type": "application/json"})
    assert answer.status == 413 and answer.json()["code"] == "too_large", answer
