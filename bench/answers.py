#!/usr/bin/env python3
"""How much memory answers take that their clients do not read.

    bench/answers.py --build DIR [--nodes N] [--readers N] [--strict]

Starts halligand with SQLite and N nodes (10,000), reads the inventory once, then sends 30 requests
for it whose answers are not read, and measures how much the resident memory of the daemon grows.
Prints the length of one answer, the growth, and

    ratio R    growth by the length of all answers; a text for each would be 1.0 or more

With --strict the growth must be less than 0.25 of all answers, and less than 256 MiB, what the
daemon lets all answers take.
"""
import argparse
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "api"))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from api import daemon  # noqa: E402

BULK = 2000
SETTLE_S = 2
RATIO_MAX = 0.25
ANSWERS_MAX = 256 << 20


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


def make_nodes(me, count):
    for first in range(0, count, BULK):
        names = [{"name": f"node-{n:06}.example.com"} for n in range(first, min(count, first + BULK))]
        made = me.post("nodes", names)
        assert made.status == 200, made.text[:300]


def ask(url, token):
    """A request whose answer stays in the daemon but for what two small socket buffers take."""
    parts = urllib.parse.urlsplit(url)
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(300)
    s.connect((parts.hostname, parts.port))
    s.sendall(f"GET /api/status/inventory HTTP/1.1\r\nHost: x\r\n"
              f"Authorization: Bearer {token}\r\n\r\n".encode())
    return s


def measure(me, url, token, pid, options):
    make_nodes(me, options.nodes)
    length = len(me.get("/api/status/inventory").text)
    before = resident(pid)
    unread = [ask(url, token) for _ in range(options.readers)]
    for s in unread:
        assert s.recv(1, socket.MSG_PEEK)  # it is being answered
    time.sleep(SETTLE_S)
    growth = resident(pid) - before
    for s in unread:
        s.close()
    ratio = growth / (length * options.readers)
    print(f"nodes {options.nodes} answer {length} bytes")
    print(f"before {before >> 20} MiB, {options.readers} unread answers: {growth / (1 << 20):.1f} MiB more")
    print(f"ratio {ratio:.3f}")
    return not options.strict or (ratio < RATIO_MAX and growth < ANSWERS_MAX)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligand is")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--readers", type=int, default=30)
    parser.add_argument("--strict", action="store_true", help="fail where a bound is not held")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="halligan-answers-")
    try:
        with daemon(options.build, folder) as (me, url, token):
            ok = measure(me, url, token, me.pid, options)
    finally:
        shutil.rmtree(folder)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
