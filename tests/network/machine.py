"""A machine for the network script: a network namespace, a sysfs tree, and a client beside it.

The machine is a network namespace with veth interfaces. Their other ends are in a second namespace,
that of the client, as ports of a bridge. The script sees the sysfs tree that the test creates, so
that bus addresses, speeds and the product are chosen by the test; everything that it configures
is configured in the namespace. The program ip is wrapped, so that commands that change something can
be counted.
"""
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "barclamps", "network", "scripts", "network-{name}")
RUNNER = os.path.join(ROOT, "barclamps", "crowbar", "templates", "script-runner.sh")
USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PLENTY = 60  # s; nothing here takes that long unless it hangs
IP = shutil.which("ip", path=USUAL_PATH)
CLIENT = "192.168.124.1"
NETWORK = {"network": "admin", "range": "host", "conduit": "1g0", "vlan": 0, "use_vlan": False,
           "use_bridge": False, "team_mode": 1, "use_team": False, "category": "admin",
           "group": "internal", "pbr": ""}

WRAPPED_IP = """#!/bin/sh
case " $* " in
*" show "*) ;;
*) echo "$*" >> '{log}' ;;
esac
exec {ip} "$@"
"""


def ip(*arguments, namespace=None, check=True):
    command = [IP, *(["-n", namespace] if namespace else []), *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=PLENTY)


def missing_kinds():
    """Kinds of devices that this kernel cannot create: a part of bond and vlan."""
    name = f"hp{os.getpid()}-{next(Machine.numbers)}"
    ip("netns", "add", name)
    try:
        ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth1", namespace=name)
        wanted = {"bond": ("link", "add", "b0", "type", "bond"),
                  "vlan": ("link", "add", "link", "veth0", "name", "v0", "type", "vlan", "id", "5")}
        return [kind for kind, command in wanted.items()
                if ip(*command, namespace=name, check=False).returncode]
    finally:
        ip("netns", "del", name)


class Result:
    def __init__(self, code, text, wall, changes):
        self.code, self.text, self.wall, self.changes = code, text, wall, changes

    def lines(self, begin):
        """The rest of each line of the output that begins so, with spaces instead of tabs."""
        return [line[len(begin):].replace("\t", " ") for line in self.text.splitlines()
                if line.startswith(begin)]


class Machine:
    numbers = itertools.count(1)  # tests run in several threads

    def __init__(self):
        number = next(Machine.numbers)
        self.folder = tempfile.mkdtemp(prefix="halligan-network-")
        self.name = f"hm{os.getpid()}-{number}"
        self.client = f"hc{os.getpid()}-{number}"
        self.namespaces, self.processes, self.outputs, self.count = [], [], [], 0
        self.sysfs = os.path.join(self.folder, "sys")
        self.networkd = os.path.join(self.folder, "networkd")
        self.state = os.path.join(self.folder, "state")
        self.guards = os.path.join(self.folder, "guards")
        self.ip_log = os.path.join(self.folder, "ip.log")
        self.bin = os.path.join(self.folder, "bin")
        for path in (self.sysfs, self.bin, os.path.join(self.sysfs, "class", "net")):
            os.makedirs(path)
        self.tool("ip", WRAPPED_IP.format(log=self.ip_log, ip=IP))
        self.env = {"HALLIGAN_SYSFS": self.sysfs, "HALLIGAN_NETWORK_STATE": self.state,
                    "HALLIGAN_NETWORK_GUARDS": self.guards, "HALLIGAN_NETWORKD_DIR": self.networkd,
                    "HALLIGAN_SYSTEMD_DIR": os.path.join(self.folder, "no-systemd"),
                    "HALLIGAN_ROLLBACK_S": "8", "PATH": f"{self.bin}:{USUAL_PATH}"}
        self.product("KVM")
        for namespace in (self.name, self.client):
            ip("netns", "add", namespace)
            self.namespaces.append(namespace)
            ip("link", "set", "lo", "up", namespace=namespace)

    # -- what the machine is made of

    def tool(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def use_busybox(self):
        """All tools of the script but ip are those of busybox."""
        busybox = shutil.which("busybox")
        names = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True)
        for name in names.stdout.split():
            if not os.path.lexists(os.path.join(self.bin, name)):
                os.symlink(busybox, os.path.join(self.bin, name))
        self.env["PATH"] = self.bin

    def write(self, path, text):
        full = os.path.join(self.sysfs, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def symlink(self, target, path):
        os.symlink(target, os.path.join(self.sysfs, path))

    def product(self, name):
        self.write("class/dmi/id/product_name", name)

    def interface(self, name, bus, speed=1000, port=0, files=()):
        """An entry of sysfs; `bus` is the path below devices."""
        device = f"devices/{bus}/net/{name}"
        for file, text in {"type": 1, "speed": speed, "dev_port": port, **dict(files)}.items():
            self.write(f"{device}/{file}", text)
        os.symlink(os.path.join("..", "..", device), os.path.join(self.sysfs, "class", "net", name))
        link = os.path.join(self.sysfs, device, "device")
        if not os.path.lexists(link):
            os.symlink(os.path.join("..", ".."), link)

    def wire(self, count=2):
        """Real interfaces eth0, eth1, ..., of 1 Gbit/s; all are connected with the client."""
        ip("link", "add", "switch", "type", "bridge", "forward_delay", "0", namespace=self.client)
        # Without an address of its own a bridge changes it with its ports.
        ip("link", "set", "switch", "address", "02:00:00:00:00:01", "up", namespace=self.client)
        ip("addr", "add", f"{CLIENT}/24", "dev", "switch", namespace=self.client)
        for i in range(count):
            ip("link", "add", f"eth{i}", "type", "veth", "peer", "name", f"port{i}", "netns",
               self.client, namespace=self.name)
            ip("link", "set", f"port{i}", "master", "switch", "up", namespace=self.client)
            self.interface(f"eth{i}", f"pci0000:00/0000:00:0{3 + i}.0")

    def connect(self, device="eth0", address="192.168.124.81/24"):
        """The connection of the run comes from the client to this address."""
        ip("link", "set", device, "up", namespace=self.name)
        ip("addr", "add", address, "brd", "+", "dev", device, namespace=self.name)
        self.env["SSH_CONNECTION"] = f"{CLIENT} 40000 {address.split('/')[0]} 22"
        self.eventually(lambda: self.reaches(address.split("/")[0]))

    # -- runs

    def data(self, addresses, name="admin", targets=(), maps=(), configure=True, **common):
        """Staged data; `addresses` maps each address to the fields that differ from NETWORK."""
        config = {a: {**NETWORK, "network": name, **common, **own} for a, own in addresses.items()}
        network = {"addresses": list(addresses), "targets": list(targets), "config": config,
                   "configure": configure, **{k: v for k, v in {**NETWORK, **common}.items()
                                              if k in ("conduit", "vlan", "use_vlan", "use_bridge",
                                                       "team_mode", "use_team")}}
        return {"crowbar": {"network": {name: network}, "network_name": name,
                            "interface_map": list(maps)}}

    def prepare(self, data):
        """The directory of a run, as the jig creates it."""
        self.count += 1
        place = os.path.join(self.folder, f"run{self.count}")
        shutil.copytree(SCRIPTS, place)
        with open(os.path.join(place, "attrs.json"), "w", encoding="utf-8") as file:
            json.dump(data, file)
        return place

    def command(self, place, env):
        return [IP, "netns", "exec", self.name, "env", "-i", *(f"{k}={v}" for k, v in {**self.env, **env}.items()),
                "sh", RUNNER, place]

    def start(self, data, **env):
        process = subprocess.Popen(self.command(self.prepare(data), env), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        self.processes.append(process)
        return process

    def run(self, data, **env):
        place = self.prepare(data)
        with open(self.ip_log, "w", encoding="utf-8"):
            pass
        done = subprocess.run(self.command(place, env), text=True, timeout=PLENTY, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.outputs.append(f"exit status {done.returncode}\n{done.stdout}")
        return Result(done.returncode, done.stdout, self.wall(place), self.changes())

    def changes(self):
        with open(self.ip_log, encoding="utf-8") as file:
            return file.read().splitlines()

    def wall(self, place):
        name = os.path.join(place, "attrs", "crowbar", "network")
        found = {}
        for network in os.listdir(name) if os.path.isdir(name) else []:
            with open(os.path.join(name, network, "resolved_interfaces", "wall"),
                      encoding="utf-8") as file:
                found[network] = json.load(file)
        return found

    def plan(self, data, **env):
        """The plan only; the interfaces need to exist in sysfs alone."""
        result = self.run(data, HALLIGAN_NETWORK_PLAN="1", **env)
        assert result.code == 0, result.text
        assert result.changes == [], result.changes
        return result

    def ok(self, data, **env):
        result = self.run(data, **env)
        assert result.code == 0, result.text
        return result

    # -- what can be seen

    def show(self, *arguments):
        return json.loads(ip("-j", "-d", *arguments, namespace=self.name).stdout or "[]")

    def addresses(self, device=None):
        """{device: [CIDR]} of global addresses, or the list of one device."""
        found = {entry["ifname"]: sorted(f"{a['local']}/{a['prefixlen']}"
                                         for a in entry["addr_info"] if a["scope"] == "global")
                 for entry in self.show("addr", "show")}
        return found.get(device, []) if device else {k: v for k, v in found.items() if v}

    def link(self, device):
        """The entry of a device, or None."""
        return next((e for e in self.show("link", "show") if e["ifname"] == device), None)

    def defaults(self, family="-4"):
        return [(r.get("gateway"), r["dev"]) for r in self.show(family, "route", "show", "default")]

    def configuration(self):
        """All of it, without what changes by itself: counters, timers, states of detection."""
        def stable(value):
            if isinstance(value, list):
                return [stable(v) for v in value]
            if isinstance(value, dict):
                return {k: stable(v) for k, v in value.items()
                        if not k.endswith("_timer") and k not in ("tentative", "valid_life_time",
                                                                  "preferred_life_time")}
            return value
        return stable([self.show("link", "show"), self.show("addr", "show"),
                       self.show("-4", "route", "show"), self.show("-6", "route", "show")])

    def reaches(self, address):
        """Does the client reach the address?"""
        done = subprocess.run([IP, "netns", "exec", self.client, "busybox", "ping", "-c", "1", "-W",
                               "1", address], check=False, capture_output=True, timeout=PLENTY)
        return done.returncode == 0

    def files(self):
        """{name: text} of the files of systemd-networkd."""
        found = {}
        for name in os.listdir(self.networkd) if os.path.isdir(self.networkd) else []:
            with open(os.path.join(self.networkd, name), encoding="utf-8") as file:
                found[name] = file.read()
        return found

    def eventually(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "the condition did not become true in time"
            time.sleep(0.05)

    def said(self):
        return "\n".join(self.outputs[-3:])

    def kill_all(self, namespace):
        """Kills the processes of a namespace of this machine, also detached ones like the rollback;
        repeats it, because a process may have started another one in between."""
        while pids := ip("netns", "pids", namespace).stdout.split():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PLENTY)
        for namespace in self.namespaces:
            self.kill_all(namespace)
            ip("netns", "del", namespace, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
