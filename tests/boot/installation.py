"""The real halligand beside the real halligan-boot, in the network namespaces of a Segment.

The daemon runs in the namespace of the test and listens on loopback; halligan-boot runs on eth0 of
the segment and connects to the daemon's unix socket. Nodes have addresses of 10.9.0.0/24. The hosts
of the segment do not answer ARP for the addresses of machines, so that a test can bind sockets to
all of them; the boot server gets the neighbours as permanent entries instead.
"""
import base64
import http.client
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from segment import HTTP, IP, ROOT, ip

# tests/boot has a module of the same name.
spec = importlib.util.spec_from_file_location("api_daemon", os.path.join(ROOT, "tests", "api", "daemon.py"))
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)

ADMIN = "adm.example.com"
SERVER = "10.9.0.1"
WAIT_S = 120
ACTIVE = 0
HOST_MAC = "52:54:00:00:00:07"  # of m0
UP, GONE = "up", "gone"

BARCLAMP = {
    "barclamp": {"name": "boottest"},
    "jigs": [{"name": name, "class": name} for name in ("noop", "native", "script")],
    "attribs": [{"name": "boot-options", "map": "boot", "writable": True}],
    "hammers": [{"name": "ssh", "type": "ssh", "priority": 0},
                {"name": "local", "type": "local", "priority": 2},
                {"name": "wol", "type": "wol", "priority": 1},
                {"name": "redfish", "type": "redfish", "priority": 5}],
    "bootenvs": [{"name": "sledgehammer", "method": "discovery", "kernel": "sledgehammer/vmlinuz",
                  "initrd": ["sledgehammer/initrd"]}],
    "roles": [
        {"name": "segment-boot", "jig": "native", "flags": ["serves-boot"], "attribs": [
            {"name": "segment-dhcp", "map": "dhcp", "default": {"lease_s": 600, "unknown": "all"}},
            {"name": "segment-provisioner", "map": "provisioner", "default": {"unknown": "discover"}}]},
        {"name": "found", "jig": "noop", "flags": ["discovery", "implicit", "milestone"]},
    ],
}


def eventually(look, what, seconds=WAIT_S):
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"never happened: {what() if callable(what) else what}"
        time.sleep(0.02)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Installation:
    """`roles`, `bootenvs` and so on are added to those of the barclamp; `hooks` are Lua texts and
    `scripts` shell texts by role."""

    def __init__(self, segment, flags=(), hooks=None, scripts=None, environment=None, **more):
        self.segment, self.flags, self.environment = segment, flags, environment
        self.program = os.path.join(segment.build, "halligand")
        self.data = segment.directory("data")
        os.chmod(self.data, 0o700)
        self.process, self.token, self.port = None, None, free_port()
        self.macs = {}  # by name of the node
        folder = self.path("barclamps/boottest")
        os.makedirs(os.path.join(folder, "roles"))
        text = {key: value + more.get(key, []) if isinstance(value, list) else value
                for key, value in BARCLAMP.items()}
        self.write("barclamps/boottest/boottest.yml", json.dumps(text))
        for role, lua in (hooks or {}).items():
            self.write(f"barclamps/boottest/roles/{role}.lua", lua)
        for role, script in (scripts or {}).items():
            os.makedirs(os.path.join(folder, "scripts", role))
            self.write(f"barclamps/boottest/scripts/{role}/10.sh", script)
        segment.ends.append(self.close)
        segment.logs.append(lambda: "== halligand\n" + self.read("stderr")[-4000:])

    # -- files

    def path(self, name):
        return os.path.join(self.data, name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    # -- the daemon

    def launch(self):
        command = [self.program, "--data", self.data, "--listen", f"127.0.0.1:{self.port}", "--barclamps",
                   self.path("barclamps"), "--admin-node", "none", "--boot-socket",
                   self.segment.daemon.path, "--boot-user", "nobody", "--log-level", "info", *self.flags]
        if os.path.exists(self.path("listen")):
            os.unlink(self.path("listen"))
        with open(self.path("stderr"), "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=self.environment)

    def start(self):
        self.launch()
        eventually(lambda: self.read("listen").strip() or self.process.poll() is not None, "it listens")
        assert self.process.poll() is None, self.read("stderr")[-3000:]
        if not self.token:
            first = api.Client(self.url, api.basic("admin", self.read("admin.password").strip()))
            self.token = self.done(first.post("tokens", {"name": "tests/boot"}))["token"]
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def client(self):
        return api.Client(self.url, "Bearer " + self.token)

    @staticmethod
    def done(answer):
        assert answer.status == 200, answer
        return answer.json()

    def get(self, path):
        return self.done(self.client.get(path))

    def post(self, path, body=None):
        return self.done(self.client.post(path, body))

    def put(self, path, body=None):
        return self.done(self.client.put(path, body))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=WAIT_S)
        self.process = None
        assert code == 0, f"halligand left with {code}: {self.read('stderr')[-3000:]}"

    def close(self):
        for process in (self.process,):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        supervisor = self.supervisor()
        if supervisor:
            os.kill(supervisor, signal.SIGKILL)

    def supervisor(self):
        """The pid of halligan-exec, which outlives a daemon that was killed."""
        wanted = b"\0--dir\0" + self.data.encode() + b"\0"
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read()
            except OSError:
                continue
            if wanted in line and os.path.basename(line.split(b"\0")[0]) == b"halligan-exec":
                return int(name)
        return None

    def logged(self, text):
        return self.read("stderr").count(text)

    # -- the boot server

    def start_boot(self, *options):
        self.segment.start("--node", ADMIN, *options, serves=False, interfaces="eth0")

    def kill_boot(self, how=signal.SIGKILL):
        self.segment.process.send_signal(how)
        return self.segment.process.wait()

    def is_connected(self):
        """The boot server has the view of the newest turn that changed it."""
        return any(s["connected"] and s["taken_turn"] == s["sent_turn"] > 0
                   for s in self.get("boot_servers"))

    def connects(self):
        eventually(self.is_connected, lambda: f"the boot server is connected: {self.get('boot_servers')}")

    # -- content

    def open(self, last_host=250, first_pool=None):
        """A network with a range of nodes and, from `first_pool` on, one of unknown machines."""
        self.post("nodes", {"name": ADMIN, "admin": True, "alive": True, "available": True})
        ranges = [{"name": "admin", "first": f"{SERVER}/24", "last": "10.9.0.2/24"},
                  {"name": "host", "first": "10.9.0.10/24", "last": f"10.9.0.{last_host}/24"}]
        if first_pool:
            ranges.append({"name": "dhcp", "first": f"10.9.0.{first_pool}/24", "last": "10.9.0.254/24"})
        self.post("networks", {"name": "admin", "category": "admin", "conduit": "1g0",
                               "deployment": "system", "ranges": ranges})
        self.bind(ADMIN, "segment-boot")

    def bind(self, node, role):
        made = self.post("node_roles", {"node": node, "role": role})
        self.put(f"node_roles/{made['id']}/commit")
        return made["id"]

    def node(self, name, mac, **fields):
        """A machine of the boot view. Returns its name and address."""
        full = f"{name}.example.com"
        self.post("nodes", {"name": full, "mac": mac, "available": True, **fields})
        made = self.post("network_allocations", {"node": full, "network_range": "admin.host"})
        self.bind(full, "found")
        self.macs[full] = mac
        return full, made["address"].split("/")[0]

    def hammer(self, node, kind, **fields):
        self.post("hammers", {"node": node, "available_hammer": kind, **fields})


def give_addresses(segment, addresses):
    """The machines of the segment have these addresses, and the boot server need not ask for them."""
    for namespace, lines in (
            (segment.machines, ["link set m0 arp off"] * 0 + [f"addr add {a}/24 dev m0" for a in addresses]),
            (segment.server, [f"neigh replace {a} lladdr {HOST_MAC} dev eth0 nud permanent"
                              for a in addresses])):
        subprocess.run([IP, "-n", namespace, "-batch", "-"], input="\n".join(lines), text=True, check=True,
                       capture_output=True)


def silence_arp(segment):
    """The machines do not answer ARP: one host has the addresses of all of them."""
    subprocess.run([IP, "netns", "exec", segment.machines, "sysctl", "-qw", "net.ipv4.conf.m0.arp_ignore=8"],
                   check=True)
