"""A segment with machines: a network namespace with a bridge, halligand, halligan-boot, and qemu."""
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from daemon import Own, eventually
from images import DISK_SAYS, REPORT_PORT, Images

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = "10.77.0.1"
HTTP_PORT = 8091
BOOT_S = 240  # s; a machine that is emulated boots in 6 to 60 s, on a busy machine in a multiple
OVMF = "/usr/share/OVMF"

YAML = f"""barclamp: {{name: vm}}
jigs:
  - {{name: noop, class: noop}}
  - {{name: native, class: native}}
bootenvs:
  - {{name: sledgehammer, method: discovery, kernel: tiny/vmlinuz, initrd: [tiny/initrd.gz],
     args: "console=ttyS0 quiet panic=5"}}
roles:
  - name: segment-boot
    jig: native
    flags: [serves-boot]
    attribs:
      - {{name: segment-dhcp, map: dhcp, default: {{lease_s: 600}}}}
      - {{name: segment-provisioner, map: provisioner, default: {{unknown: discover}}}}
  - {{name: found, jig: noop, flags: [discovery, implicit, milestone]}}
"""


class Machine:
    """One qemu. Its serial port is a file."""

    def __init__(self, lab, name, mac, firmware, disk=None):
        self.lab, self.name, self.mac, self.firmware, self.disk = lab, name, mac, firmware, disk
        self.serial = os.path.join(lab.folder, f"{name}.serial")
        self.process = None

    def command(self):
        tap = self.lab.tap()
        device = f"virtio-net-pci,netdev=n0,mac={self.mac},bootindex=1"
        words = ["ip", "netns", "exec", self.lab.namespace, "qemu-system-x86_64", "-m", "256",
                 "-smp", "1", "-nographic", "-nodefaults", "-monitor", "none", "-no-reboot",
                 "-serial", f"file:{self.serial}",
                 "-netdev", f"tap,id=n0,ifname={tap},script=no,downscript=no"]
        if self.firmware == "bios":
            words += ["-machine", "pc,accel=tcg", "-device", device]
        else:
            variables = os.path.join(self.lab.folder, f"{self.name}.vars")
            shutil.copy(f"{OVMF}/OVMF_VARS_4M.fd", variables)
            words += ["-machine", "q35,accel=tcg", "-device", device + ",romfile=",
                      "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={OVMF}/OVMF_CODE_4M.fd",
                      "-drive", f"if=pflash,format=raw,unit=1,file={variables}"]
        if self.firmware == "uefi-http":
            for version in ("4", "6"):
                words += ["-fw_cfg", f"name=opt/org.tianocore/IPv{version}PXESupport,string=n"]
        if self.disk:
            words += ["-drive", f"if=none,id=d0,format=raw,readonly=on,file={self.disk}",
                      "-device", "virtio-blk-pci,drive=d0,bootindex=2"]
        return words

    def start(self):
        self.began = time.monotonic()
        self.process = self.lab.launch(self.command(), f"{self.name}.qemu")
        return self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def says(self):
        try:
            with open(self.serial, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait(self, done, what):
        """Seconds from the start until done() is true."""
        while not done():
            assert time.monotonic() - self.began < BOOT_S, f"{self.name}: not {what}:\n{self.says()[-2000:]}"
            assert self.process.poll() is None or done(), f"{self.name} ended:\n{self.says()[-2000:]}"
            time.sleep(0.1)
        return time.monotonic() - self.began

    def wait_for_report(self):
        """The kernel arguments that its initramfs reported, and the seconds until then."""
        seconds = self.wait(lambda: self.lab.report_of(self.mac, self.began), "reported")
        print(f"    {self.name}: system of the network after {seconds:.1f} s", flush=True)
        return self.lab.report_of(self.mac, self.began)

    def wait_for_disk(self):
        seconds = self.wait(lambda: DISK_SAYS in self.says(), "booted from its disk")
        print(f"    {self.name}: loader of its disk after {seconds:.1f} s", flush=True)

    def events(self, *kinds):
        """What was seen of it on the bridge since its start, oldest first."""
        return [e for e in self.lab.events if e["at"] >= self.began and
                self.mac in (e.get("source"), e.get("mac")) and (not kinds or e["kind"] in kinds)]


class Lab:
    numbers = itertools.count(1)

    def __init__(self, build):
        self.build = build
        self.images = Images(build)
        self.folder = tempfile.mkdtemp(prefix="hvm-")
        os.chmod(self.folder, 0o755)
        self.namespace = f"hv{os.getpid()}-{next(Lab.numbers)}"
        self.processes, self.machines, self.hosts = [], [], []
        self.taps = itertools.count()
        self.events, self.lines = [], queue.Queue()
        self.own = Own(self)
        self.boot = None

    def open(self):
        self.open_without_boot()
        self.start_boot()
        return self

    def open_without_boot(self):
        self.make_segment()
        self.start_watcher()
        self.start_daemon()
        self.fill_files()

    @property
    def program(self):  # of daemon.Own
        return os.path.join(self.build, "halligand")

    # -- the segment

    def ip(self, *words):
        subprocess.run(["ip", "-n", self.namespace, *words], check=True, capture_output=True, text=True)

    def make_segment(self):
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        self.ip("link", "set", "lo", "up")
        # A port of a bridge forwards nothing before the delay has passed.
        self.ip("link", "add", "br0", "type", "bridge", "forward_delay", "0")
        self.ip("addr", "add", f"{SERVER}/24", "dev", "br0")
        self.ip("link", "set", "br0", "up")

    def tap(self):
        name = f"tap{next(self.taps)}"
        self.ip("tuntap", "add", name, "mode", "tap")
        self.ip("link", "set", name, "master", "br0", "up")
        return name

    def launch(self, words, log, **more):
        with open(os.path.join(self.folder, log), "ab") as out:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=out,
                                       **{"stdout": out, **more})
        self.processes.append(process)
        return process

    def start_watcher(self):
        words = ["ip", "netns", "exec", self.namespace, "python3", os.path.join(HERE, "watcher.py"),
                 "br0", SERVER, str(REPORT_PORT)]
        watcher = self.launch(words, "watcher", stdout=subprocess.PIPE, text=True)

        def read():
            for line in watcher.stdout:
                self.events.append(json.loads(line))

        threading.Thread(target=read, daemon=True).start()
        eventually(lambda: self.events, "the watcher is ready")

    def report_of(self, mac, since):
        """The last report of the machine."""
        found = [e["body"] for e in self.events if e["kind"] == "report" and e["at"] >= since and
                 e["path"].endswith(mac)]
        return found[-1] if found else None

    # -- the programs

    def start_daemon(self):
        os.makedirs(self.own.path("shelf/vm"))
        self.own.write("shelf/vm/vm.yml", YAML)
        self.own.start("--barclamps", self.own.path("shelf"), "--boot-socket", self.path("boot.sock"),
                       "--boot-user", "nobody")
        me = self.client
        self.done(me.post("nodes", {"name": "adm.example.com", "admin": True, "alive": True,
                                    "available": True}))
        self.done(me.post("networks", {
            "name": "admin", "category": "admin", "conduit": "1g0", "deployment": "system",
            "ranges": [{"name": "admin", "first": f"{SERVER}/24", "last": "10.77.0.9/24"},
                       {"name": "dhcp", "first": "10.77.0.10/24", "last": "10.77.0.99/24"},
                       {"name": "host", "first": "10.77.0.100/24", "last": "10.77.0.200/24"}],
            "router": {"address": "10.77.0.254/24", "pref": 10}}))
        self.bind("adm.example.com", "segment-boot")

    @property
    def client(self):
        return self.own.client

    @staticmethod
    def done(answer):
        assert answer.status == 200, answer
        return answer.json()

    def bind(self, node, role):
        made = self.done(self.client.post("node_roles", {"node": node, "role": role}))
        self.done(self.client.put(f"node_roles/{made['id']}/commit"))
        return made["id"]

    def path(self, name):
        return os.path.join(self.folder, name)

    def fill_files(self):
        files = self.path("files")
        os.makedirs(os.path.join(files, "tiny"))
        shutil.copy(self.images.kernel(), os.path.join(files, "tiny", "vmlinuz"))
        shutil.copy(self.images.initramfs(), os.path.join(files, "tiny", "initrd.gz"))
        subprocess.run([os.path.join(self.build, "halligan"), "image", "build", "loaders", "local",
                        "--dir", files], check=True, capture_output=True)
        subprocess.run(["chmod", "-R", "a+rX", files], check=True)

    def start_boot(self):
        words = ["ip", "netns", "exec", self.namespace, os.path.join(self.build, "halligan-boot"),
                 "--interface", "br0", "--socket", self.path("boot.sock"), "--files", self.path("files"),
                 "--user", "nobody"]
        self.boot = self.launch(words, "halligan-boot")
        eventually(lambda: self.is_connected() or self.boot.poll() is not None,
                   "halligan-boot is connected and has the boot view")
        assert self.boot.poll() is None, self.read("halligan-boot")

    def is_connected(self):
        servers = self.done(self.client.get("boot_servers"))
        return any(s["connected"] and s["taken_turn"] for s in servers)

    def stop_boot(self, how=signal.SIGTERM):
        self.boot.send_signal(how)
        return self.boot.wait(timeout=30)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    # -- other hosts

    def name_of_host(self):
        """The name of a new namespace without an interface."""
        name = f"{self.namespace}h{next(self.taps)}"
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.hosts.append(name)
        return name

    def host(self, mac="", address=""):
        """A namespace with one interface, eth0, on the bridge. Its name."""
        name = self.name_of_host()
        port = f"port{next(self.taps)}"
        self.ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        self.ip("link", "set", port, "master", "br0", "up")
        inside = ["ip", "-n", name]
        if mac:
            subprocess.run([*inside, "link", "set", "eth0", "address", mac], check=True)
        if address:
            subprocess.run([*inside, "addr", "add", address, "dev", "eth0"], check=True)
        subprocess.run([*inside, "link", "set", "eth0", "up"], check=True)
        return name

    def on_host(self, name, *words, check=True):
        return subprocess.run(["ip", "netns", "exec", name, *words], check=check, text=True,
                              capture_output=True, timeout=60)

    # -- machines

    def node(self, name, mac, bootenv="sledgehammer"):
        """A node with this MAC and an address in the network, whose boot is served."""
        full = self.node_without_boot(name, mac)
        self.switch(full, bootenv)
        return full

    def node_without_boot(self, name, mac, network_range="admin.host"):
        """The same while no boot server is connected."""
        full = f"{name}.example.com"
        self.done(self.client.post("nodes", {"name": full, "mac": mac}))
        self.done(self.client.post("network_allocations",
                                   {"node": full, "network_range": network_range}))
        self.bind(full, "found")
        return full

    def switch(self, name, bootenv):
        self.done(self.client.put(f"nodes/{name}", {"bootenv": bootenv}))
        eventually(lambda: self.done(self.client.get(f"nodes/{name}/bootstate"))["bootstate"] == bootenv,
                   f"{name} is served {bootenv}")

    def machine(self, name, mac, firmware, disk=None):
        machine = Machine(self, name, mac, firmware, disk)
        self.machines.append(machine)
        return machine.start()

    # -- the end

    def said(self):
        parts = [f"== {name}\n{self.read(name)[-4000:]}" for name in
                 ("halligan-boot", "watcher", *(f"{m.name}.qemu" for m in self.machines))]
        parts += [f"== serial port of {m.name}\n{m.says()[-2000:]}" for m in self.machines]
        parts += ["== halligand\n" + self.own.read("stderr")[-3000:],
                  "== bridge\n" + "\n".join(json.dumps(e) for e in self.events[-60:])]
        return "\n".join(parts)

    def close(self):
        for machine in self.machines:
            machine.stop()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.own.__exit__()
        for name in (*self.hosts, self.namespace):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
