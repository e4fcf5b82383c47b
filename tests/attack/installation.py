"""The daemon under attack: a sanitized halligand, how it ended, and what its sanitizer reported."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "api"))

from daemon import START_S, Client, Daemon, basic, eventually  # noqa: E402,F401

STOP_S = 120  # a sanitized build with a large core on a loaded machine
REPORT = re.compile(r"ERROR: \w+Sanitizer|runtime error:|assertion failed|Assertion .* failed")

BARCLAMP = {
    "barclamp": {"name": "attack", "source_path": "/attack"},
    "jigs": [
        {"name": "noop", "class": "noop"},
        {"name": "test", "class": "test"},
        {"name": "script", "class": "script"},
    ],
    "hammers": [
        {"name": "ssh", "type": "ssh", "priority": 0},
        {"name": "redfish", "type": "redfish", "priority": 5},
    ],
    "bootenvs": [{"name": "attack-install", "kernel": "attack/linux", "method": "installer"}],
    "roles": [
        {
            "name": "base",
            "jig": "test",
            "flags": ["implicit"],
            "attribs": [
                {
                    "name": "attack-size",
                    "map": "attack/size",
                    "default": 1,
                    "schema": {"type": "int"},
                }
            ],
        },
        {"name": "middle", "jig": "test", "requires": ["base"], "flags": ["implicit"]},
        {"name": "top", "jig": "test", "requires": ["middle"]},
        {"name": "lone", "jig": "test"},
        {
            "name": "maps",
            "jig": "test",
            "attribs": [
                {
                    "name": "network_interface_maps",
                    "map": "crowbar/interface_map",
                    "default": [],
                    "schema": {"type": "seq", "sequence": [{"type": "any"}]},
                }
            ],
        },
        {"name": "service", "jig": "test", "flags": ["service"]},
        {"name": "goal", "jig": "noop", "flags": ["milestone"]},
        {"name": "found", "jig": "noop", "flags": ["milestone", "discovery"]},
    ],
}


class Installation(Daemon):
    """A Daemon of tests/api with a barclamp of its own, and options and limits of a test's choice."""

    def __init__(self, build, store=None):
        super().__init__(build, store)
        os.unlink(self.path("barclamps/apitest.json"))
        with open(self.path("barclamps/attack.json"), "w") as file:
            json.dump(BARCLAMP, file)
        self.options = []
        self.limits = {}
        self.environment = {}

    def start(self):
        """As Daemon.start does, within `limits` ({option of prlimit: value}) and with more options."""
        command = [self.program, "--data", self.data, "--listen", "127.0.0.1:0", "--test-jig"]
        command += ["--barclamps", self.path("barclamps"), "--log-level", "notice",
                    "--admin-node", "none"]
        command += ["--store", self.store] if self.store else []
        if os.path.exists(self.path("listen")):
            os.unlink(self.path("listen"))
        checks = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8:abort_on_error=1"
        environment = {**os.environ, "ASAN_OPTIONS": checks, **self.environment}
        limited = ["prlimit", *(f"--{name}={value}" for name, value in self.limits.items()), "--"]
        self.log = open(self.path("stderr"), "ab")
        self.process = subprocess.Popen(
            limited + command + self.options, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env=environment,
        )
        deadline = time.monotonic() + START_S
        while not self.read("listen"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("halligand did not start:\n" + self.read("stderr"))
            time.sleep(0.02)
        self.url = self.read("listen")
        self.password = self.read("admin.password")

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def expect_well(self):
        """It lives, it answers, and no sanitizer has reported anything."""
        assert self.is_alive(), f"halligand is gone:\n{self.read('stderr')[-4000:]}"
        assert self.stranger().get("/healthz").status == 200
        self.expect_no_report()

    def expect_no_report(self):
        said = self.read("stderr")
        found = REPORT.search(said)
        assert not found, said[max(0, found.start() - 500):found.start() + 4000]

    def end(self):
        """SIGTERM ends it with exit status 0; leaks are reported at that moment."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("SIGTERM did not end it:\n" + self.read("stderr")[-2000:]) from None
        self.process = None
        self.log.close()
        self.expect_no_report()
        assert code == 0, f"exit {code}:\n{self.read('stderr')[-4000:]}"

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def made(answer):
    """The object of an answer that must be a success."""
    assert answer.status == 200, answer
    return answer.json()
