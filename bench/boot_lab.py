"""Boot servers and machines for bench/boot.py: pairs of network namespaces, one for a server and one for clients.

Each server has a pair of its own with the same addresses, so that halligan-boot, Kea and dnsmasq run at the same time and
are measured in turns by the same client. halligand runs outside; halligan-boot reaches it by a unix socket.
"""
import ctypes
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from daemon import Client, Own, eventually

IP = shutil.which("ip", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
SBIN = "/usr/local/sbin:/usr/sbin:/sbin:" + os.environ.get("PATH", "/usr/bin:/bin")
CLONE_NEWNET = 0x40000000
SERVER, RELAY = "10.77.0.1", "10.77.0.2"
PREFIX = 16
HOST = int(ipaddress.ip_address("10.77.16.0"))  # address of machine 0
HOSTS_END, POOL, POOL_END = "10.77.63.255", "10.77.128.0", "10.77.255.250"
MACHINES_HERE = 64  # machines whose addresses the namespace of clients has
MAC = 0x525400000000  # of machine 0
UNKNOWN_MAC = 0x525480000000  # of the first unknown machine
BULK = 1000
HTTP_PORT, NGINX_PORT = 8091, 8092

YAML = """barclamp: {name: bench}
jigs:
  - {name: noop, class: noop}
  - {name: native, class: native}
bootenvs:
  - {name: sledgehammer, method: discovery, kernel: tiny/vmlinuz, initrd: [tiny/initrd.gz],
     args: "console=ttyS0 quiet panic=5"}
roles:
  - name: segment-boot
    jig: native
    flags: [serves-boot]
    attribs:
      - {name: segment-dhcp, map: dhcp, default: {unknown: all, lease_s: 3600, pool_lease_s: 3600}}
      - {name: segment-provisioner, map: provisioner, default: {unknown: discover, unknown_max: 100000}}
  - {name: found, jig: noop, flags: [discovery, implicit, milestone]}
"""

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush on; tcp_nodelay on;
  default_type text/plain; open_file_cache max=16;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen {address}:{port}; root {root}; }}
}}
"""


def mac_text(number):
    return ":".join(f"{number >> shift & 255:02x}" for shift in range(40, -8, -8))


def address_of(machine):
    return str(ipaddress.ip_address(HOST + machine))


def cpu_s(pid):
    """Processor time of all threads of a process; as in /proc/PID/stat, but not in steps of 10 ms."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


class Pair:
    """eth0 in the namespace of the server, m0 in that of clients."""

    def __init__(self, name):
        self.server, self.clients = (f"hb{os.getpid()}-{name}-{side}" for side in "sc")
        for namespace in (self.server, self.clients):
            subprocess.run([IP, "netns", "add", namespace], check=True)
            self.ip(namespace, "link", "set", "lo", "up")
        self.ip(self.server, "link", "add", "eth0", "type", "veth", "peer", "name", "m0", "netns", self.clients)
        self.ip(self.server, "addr", "add", f"{SERVER}/{PREFIX}", "dev", "eth0")
        self.ip(self.server, "link", "set", "eth0", "up")
        # The first address is the source of connections that are not bound: that of machine 0.
        addresses = [*(address_of(i) for i in range(MACHINES_HERE)), RELAY]
        batch = "".join(f"addr add {a}/{PREFIX} dev m0\n" for a in addresses) + "link set m0 up\n"
        subprocess.run([IP, "-n", self.clients, "-batch", "-"], input=batch, text=True, check=True)
        eventually(lambda: "tentative" not in self.ip(self.server, "-6", "addr"), "the interface is ready")

    @staticmethod
    def ip(namespace, *words):
        return subprocess.run([IP, "-n", namespace, *words], check=True, capture_output=True, text=True).stdout

    def client(self, *words):
        """The words of a command in the namespace of clients."""
        return [IP, "netns", "exec", self.clients, *words]

    def run(self, *words, check=True):
        return subprocess.run(self.client(*words), check=check, capture_output=True, text=True,
                              env={**os.environ, "PATH": SBIN}).stdout

    def socket(self, *arguments):
        """A socket in the namespace of clients."""
        made = []

        def make():
            fd = os.open(f"/run/netns/{self.clients}", os.O_RDONLY)
            assert ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) == 0
            os.close(fd)
            made.append(socket.socket(*arguments))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]

    def close(self):
        for namespace in (self.server, self.clients):
            subprocess.run([IP, "netns", "del", namespace], check=False)


class Lab:
    """All servers. `count` machines have reservations."""

    def __init__(self, build, count):
        self.build, self.count = build, count
        self.folder = tempfile.mkdtemp(prefix="halligan-bench-boot-")
        os.chmod(self.folder, 0o755)
        self.program = os.path.join(build, "halligand")  # of daemon.Own
        self.processes, self.pairs = [], []
        self.own = Own(self)
        self.ours = self.kea = self.dnsmasq = None  # processes
        self.pair, self.kea_pair, self.dnsmasq_pair = (self.make_pair(name) for name in ("o", "k", "d"))

    def make_pair(self, name):
        pair = Pair(name)
        self.pairs.append(pair)
        return pair

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def launch(self, pair, log, *words, **more):
        with open(self.path(log), "ab") as out:
            process = subprocess.Popen([IP, "netns", "exec", pair.server, *words], stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out,
                                       env={**os.environ, "PATH": SBIN, **more.get("env", {})})
        self.processes.append(process)
        return process

    @staticmethod
    def stop(process, how=signal.SIGTERM):
        if process and process.poll() is None:
            process.send_signal(how)
            process.wait(60)

    # -- ours

    def start_ours(self):
        os.makedirs(self.own.path("shelf/bench"))
        self.own.write("shelf/bench/bench.yml", YAML)
        self.own.start("--barclamps", self.own.path("shelf"), "--boot-socket", self.path("boot.sock"),
                       "--boot-user", "nobody", "--log-level", "warning")
        token = self.done(self.own.client.post("tokens", {"name": "bench"}))["token"]
        self.me = Client(self.own.read("listen").strip(), f"Bearer {token}")
        self.furnish()
        self.ours = self.launch(self.pair, "halligan-boot", os.path.join(self.build, "halligan-boot"),
                                "--interface", "eth0", "--socket", self.path("boot.sock"),
                                "--files", self.path("files"), "--user", "nobody")
        self.eventually(lambda: self.is_served() or self.ours.poll() is not None, "halligan-boot answers")
        assert self.ours.poll() is None, self.read("halligan-boot")
        last = f"nodes/n{self.count - 1}.example.com/bootstate"
        self.eventually(lambda: self.done(self.me.get(last))["bootstate"] == "sledgehammer", "the last change is served")

    @staticmethod
    def done(answer):
        assert answer.status == 200, answer
        return answer.json()

    def furnish(self):
        me = self.me
        self.done(me.post("nodes", {"name": "adm.example.com", "admin": True, "alive": True, "available": True}))
        self.done(me.post("networks", {
            "name": "admin", "category": "admin", "conduit": "1g0", "deployment": "system",
            "ranges": [{"name": "admin", "first": f"{SERVER}/{PREFIX}", "last": f"10.77.0.9/{PREFIX}"},
                       {"name": "host", "first": f"{address_of(0)}/{PREFIX}", "last": f"{HOSTS_END}/{PREFIX}"},
                       {"name": "dhcp", "first": f"{POOL}/{PREFIX}", "last": f"{POOL_END}/{PREFIX}"}],
            "router": {"address": f"10.77.0.254/{PREFIX}", "pref": 10}}))
        made = self.done(me.post("node_roles", {"node": "adm.example.com", "role": "segment-boot"}))
        self.done(me.put(f"node_roles/{made['id']}/commit"))
        self.done(me.post("deployments", {"name": "bench"}))
        for first in range(0, self.count, BULK):
            self.add_machines(range(first, min(first + BULK, self.count)))
        self.done(me.put("deployments/bench/commit"))

    def add_machines(self, numbers):
        me = self.me
        rows = self.done(me.post("nodes", [
            {"name": f"n{i}.example.com", "mac": mac_text(MAC + i), "deployment": "bench", "alive": True,
             "available": True, "bootenv": "sledgehammer"} for i in numbers]))
        self.done(me.post("network_allocations", [
            {"node": row["id"], "network_range": "admin.host", "address": f"{address_of(i)}/{PREFIX}"}
            for i, row in zip(numbers, rows)]))
        self.done(me.post("node_roles", [{"node": row["id"], "role": "found"} for row in rows]))

    @staticmethod
    def eventually(look, what, seconds=120):
        deadline = time.monotonic() + seconds
        while not look():
            assert time.monotonic() < deadline, f"not in time: {what}"
            time.sleep(0.05)

    def is_served(self):
        """The last machine gets its boot file: the whole view is there."""
        return self.exchanges(self.pair, "pxe", machine=self.count - 1) == 1

    def exchanges(self, pair, kind, machine):
        said = pair.run(os.path.join(self.build, "dhcp-load"), SERVER, RELAY, mac_text(MAC + machine), "1", "1", "1",
                        "0", kind, "1")
        return int(said.split()[1])

    # -- peers

    def start_kea(self):
        """Anew, without leases."""
        self.stop(self.kea)
        leases = self.path("kea/leases.csv")
        shutil.rmtree(self.path("kea"), ignore_errors=True)
        os.makedirs(self.path("kea"))
        reservations = [{"hw-address": mac_text(MAC + i), "ip-address": address_of(i)} for i in range(self.count)]
        config = {"Dhcp4": {
            "interfaces-config": {"interfaces": ["eth0"]},
            "lease-database": {"type": "memfile", "persist": True, "name": leases, "lfc-interval": 0},
            "valid-lifetime": 3600, "renew-timer": 1800, "rebind-timer": 2700,
            "host-reservation-identifiers": ["hw-address"], "match-client-id": False,
            "next-server": SERVER, "boot-file-name": "undionly.kpxe",
            "subnet4": [{"subnet": f"10.77.0.0/{PREFIX}", "id": 1, "interface": "eth0",
                         "reservations-out-of-pool": True, "reservations-in-subnet": True,
                         "pools": [{"pool": f"{POOL} - {POOL_END}"}],
                         "option-data": [{"name": "routers", "data": "10.77.0.254"}],
                         "reservations": reservations}],
            "loggers": [{"name": "kea-dhcp4", "severity": "ERROR", "output_options": [{"output": "stderr"}]}]}}
        path = self.write("kea/kea.json", json.dumps(config))
        self.kea = self.launch(self.kea_pair, "kea.log", "kea-dhcp4", "-c", path,
                               env={"KEA_PIDFILE_DIR": self.path("kea"), "KEA_LOCKFILE_DIR": self.path("kea")})
        self.eventually(lambda: self.exchanges(self.kea_pair, "plain", 0) == 1, "Kea answers", 60)

    def start_dnsmasq(self):
        """Without a lease file, which it would write again for each lease."""
        hosts = self.write("dnsmasq/hosts", "".join(f"{mac_text(MAC + i)},{address_of(i)}\n" for i in range(self.count)))
        self.dnsmasq = self.launch(
            self.dnsmasq_pair, "dnsmasq.log", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0",
            "--interface=eth0", "--user=root", "--no-ping", "--quiet-dhcp", f"--dhcp-hostsfile={hosts}",
            f"--dhcp-range=10.77.16.0,static,255.255.0.0", "--dhcp-lease-max=100000", "--leasefile-ro",
            f"--pid-file={self.path('dnsmasq/pid')}")
        self.eventually(lambda: self.exchanges(self.dnsmasq_pair, "plain", 0) == 1, "dnsmasq answers", 60)

    def start_nginx(self):
        """In the namespace of halligan-boot, so that both have the same way to the client."""
        os.makedirs(self.path("nginx"))
        config = self.write("nginx/nginx.conf", NGINX.format(folder=self.path("nginx"), address=SERVER,
                                                             port=NGINX_PORT, root=self.path("files")))
        self.launch(self.pair, "nginx.log", "nginx", "-c", config, "-p", self.path("nginx"))
        eventually(lambda: self.pair.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                                         f"http://{SERVER}:{NGINX_PORT}/tftp", check=False) == "200", "nginx serves")

    def start_tftpd(self):
        self.launch(self.kea_pair, "tftpd.log", "in.tftpd", "-L", "-a", f"{SERVER}:69", "-u", "nobody", "-s",
                    self.path("files"))
        eventually(lambda: "bytes" in self.kea_pair.run(os.path.join(self.build, "tftp-load"), SERVER, address_of(0),
                                                        "small", "1", "1428", check=False), "in.tftpd serves")

    def add_file(self, name, size):
        """Bytes that are no hole, so that reading them is like reading a real file."""
        os.makedirs(self.path("files"), exist_ok=True)
        block = os.urandom(1 << 20)
        with open(self.path(f"files/{name}"), "wb") as file:
            for at in range(0, size, len(block)):
                file.write(block[:size - at])
        os.chmod(self.path("files"), 0o755)

    def close(self):
        for process in self.processes:
            self.stop(process, signal.SIGKILL)
        self.own.__exit__()
        for pair in self.pairs:
            pair.close()
        shutil.rmtree(self.folder, ignore_errors=True)
