#!/usr/bin/env python3
"""How long /healthz takes while hooks misbehave.

    bench/healthz_hooks.py --build DIR [--seconds N] [--strict]

Three roles hear of every change of a node: one loops for ever, one hoards memory, one throws.
Nodes are changed all the time, as fast as the daemon takes it up to a backlog of some hundred
hooks, while /healthz is asked 100 times a second. Before that it is asked for a while when nothing
happens, which shows what the machine itself adds. Prints the median, the 99th percentile and the
worst answer of both; with --strict the worst must be under 50 ms, which wants a machine
with nothing else to do.
"""
import argparse
import contextlib
import http.client
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "api"))
sys.dont_write_bytecode = True

from daemon import Client, basic, eventually  # noqa: E402

ASKED_PER_S = 100
WORST_MS = 50
WAITED_MS_MAX = 2
NODES = 20
BACKLOG = 300  # hooks that wait; more of them would show nothing else

YAML = """barclamp: {name: unruly}
jigs:
  - {name: noop, class: noop}
roles:
  - {name: endless, jig: noop}
  - {name: hoarder, jig: noop}
  - {name: thrower, jig: noop}
"""
CODES = {
    "endless": "while true do end",
    "hoarder": "local t = {} while true do t[#t + 1] = string.rep('x', 4096) .. #t end",
    "thrower": "error('so it goes')",
}


class Unruly:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="halligan-healthz-")
        roles = os.path.join(self.folder, "unruly", "roles")
        os.makedirs(roles)
        self.write("unruly/unruly.yml", YAML)
        for role, text in CODES.items():
            code = f"return {{ on_node_change = function(node) {text} end }}\n"
            self.write(f"unruly/roles/{role}.lua", code)
        data = self.path("data")
        command = [os.path.join(build, "halligand"), "--data", data, "--listen", "127.0.0.1:0"]
        command += ["--barclamps", self.folder]
        self.log = open(self.path("log"), "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        eventually(lambda: self.read("data/listen") or self.ended(), "it listens")
        assert not self.ended(), self.read("log")
        self.url = self.read("data/listen")
        me = Client(self.url, basic("admin", self.read("data/admin.password")))
        token = me.post("tokens", {"name": "bench"}).json()["token"]
        self.me = Client(self.url, "Bearer " + token)

    def ended(self):
        return self.process.poll() is not None

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with contextlib.suppress(FileNotFoundError):
            with open(self.path(name)) as file:
                return file.read().strip()
        return ""

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def failed(self, role=""):
        return self.read("log").count(f"{role}.lua:" if role else "a hook failed")

    def close(self):
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)
            code = self.process.wait(timeout=30)
            assert code == 0, self.read("log")[-2000:]
        self.log.close()
        shutil.rmtree(self.folder)


def change_nodes(unruly, stop, made):
    for number in range(NODES):
        node = {"name": f"n{number}.example.com", "available": True}
        assert unruly.me.post("nodes", node).status == 200
    while not stop.is_set():
        for number in range(NODES):
            answer = unruly.me.put(f"nodes/n{number}.example.com", {"description": str(made.value)})
            assert answer.status == 200, answer
            made.value += len(CODES)
        while made.value - unruly.failed() > BACKLOG and not stop.wait(0.01):
            pass


def waited_ms():
    """How long this process has stood in line for a processor."""
    with open("/proc/self/schedstat") as file:
        return int(file.read().split()[1]) / 1e6


def ask_healthz(url, seconds):
    """Times in ms, and how many were left out. One connection, as a monitor has. What begins late
    because an answer was late is counted from when it should have begun; what was late because this
    process did not get a processor is left out, since that says nothing about the daemon."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    taken, left_out = [], 0
    due = time.monotonic()
    for _ in range(int(seconds * ASKED_PER_S)):
        waited = waited_ms()
        time.sleep(max(0.0, due - time.monotonic()))
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        now = time.monotonic()
        if waited_ms() - waited > WAITED_MS_MAX:
            left_out += 1
            due = now
        else:
            taken.append((now - due) * 1000)
        due += 1 / ASKED_PER_S
    connection.close()
    return sorted(taken), left_out


def say(name, taken, left_out):
    figures = f"median {taken[len(taken) // 2]:.1f} p99 {taken[len(taken) * 99 // 100]:.1f}"
    print(f"{name} {len(taken)} answers {figures} worst {taken[-1]:.1f} ms, {left_out} left out")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligand is")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--strict", action="store_true", help="hold it to its bound")
    options = parser.parse_args()
    unruly = Unruly(os.path.abspath(options.build))
    # A process of its own, so that its work is not taken for the daemon's.
    stop, made = multiprocessing.Event(), multiprocessing.Value("i", 0)
    changer = multiprocessing.Process(target=change_nodes, args=(unruly, stop, made))
    try:
        quiet = ask_healthz(unruly.url, options.seconds / 3)
        changer.start()
        unruly_times = ask_healthz(unruly.url, options.seconds)
        stop.set()
        changer.join()
        assert changer.exitcode == 0, "the nodes could not be changed"
        failed = unruly.failed()
        each = [unruly.failed(role) for role in CODES]
    finally:
        stop.set()
        if changer.is_alive():
            changer.join()
        unruly.close()
    print(f"{failed} hooks failed, {made.value // len(CODES)} changes of nodes")
    say("quiet", *quiet)
    say("unruly", *unruly_times)
    if min(each) == 0:
        print(f"not every role misbehaved: {dict(zip(CODES, each))}")
        return 1
    if options.strict and unruly_times[0][-1] >= WORST_MS:
        print(f"the worst must be under {WORST_MS} ms")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
