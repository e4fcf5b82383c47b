#!/usr/bin/env python3
"""How fast machines are answered by halligan-boot, beside the servers that sites use for it.

    bench/boot.py --build DIR [--full] [--machines N] [--seconds S] [--only NAME,...] [--strict]

halligand with SQLite has N machines with a MAC, a reservation and a boot environment; halligan-boot serves them in a
network namespace. Kea (memfile), dnsmasq and tftpd-hpa have namespaces of their own with the same addresses; nginx is
beside halligan-boot. All clients are those of bench/boot_lab.py: they reach each server through a veth interface. Of
each figure there are several rounds, ours and the peer's in turns; ratios are medians of the rounds.

  script    requests a second of /boot/MAC by wrk (one thread, 16 connections), beside nginx with the same bytes in a
            file: at least 0.5
  files     bytes a second of a file of 64 MB, one client and 16 at once, beside nginx with sendfile: at least 0.7
  exchange  processor time of the server for a DHCP exchange of four packets at the same rate of perfdhcp without drops:
            at most 0.2 of Kea. Printed beside it: clients that boot (firmware, and iPXE, which gets a ticket in each
            answer), dnsmasq, and dhcp-load at the same rate. Kea has no leases at the beginning of each round
  saturated exchanges a second with 128 outstanding, by dhcp-load: at least 3 times those of Kea
  pool      exchanges a second with unknown machines, durable in SQLite, by dhcp-load: at least 0.25 of Kea
  tftp      time of 50 clients that load 1 MB at once, beside tftpd-hpa: rate at least 1.0
  change    from the request that changes the environment of a node until DHCP and the script of the machine are right:
            p99 under 50 ms
  latency   DHCP exchanges while 16 clients load a file of 400 MB: p99 under 50 ms
  memory    peak of resident memory of halligan-boot behind all this: under 32 MB

Requires root. Without --full the sizes are those of CI. The bounds are held with --strict, on a machine with nothing
else to do.
"""
import argparse
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "api")]
sys.dont_write_bytecode = True

from boot_lab import (HTTP_PORT, MAC, MACHINES_HERE, NGINX_PORT, RELAY, SERVER, UNKNOWN_MAC, Lab,  # noqa: E402
                      address_of, cpu_s, mac_text)

MIB = 1 << 20
WINDOW = 128
CLIENTS_TFTP = 50
CLIENTS_FILES = 16
BLOCK = 1428  # bytes of TFTP in an Ethernet frame, as iPXE asks for
PXE = ["-o", "60," + b"PXEClient:Arch:00000:UNDI:002001".hex(), "-o", "93,0000"]
KINDS = {"plain": [], "pxe": PXE, "ipxe": [*PXE, "-o", "77," + b"iPXE".hex(), "-o", "175,130101"]}


class Table:
    def __init__(self):
        self.missed = 0
        self.row("figure", "halligan", "peer", "ratio", "bound", "")

    @staticmethod
    def row(*cells):
        print("{:<22} {:>28} {:>34} {:>7} {:>9} {}".format(*cells).rstrip(), flush=True)

    def add(self, figure, ours, peer="", ratio=None, bound="", held=None):
        self.missed += held is False
        self.row(figure, ours, peer, "" if ratio is None else f"{ratio:.2f}", bound,
                 "" if held is None else "ok" if held else "missed")

    def at_least(self, figure, rounds, text, bound):
        """`rounds`: (ours, peer)."""
        ratio = statistics.median(ours / peer for ours, peer in rounds)
        self.add(figure, text(statistics.median(r[0] for r in rounds)), text(statistics.median(r[1] for r in rounds)),
                 ratio, f">= {bound}", ratio >= bound)

    def at_most(self, figure, rounds, text, bound):
        ratio = statistics.median(ours / peer for ours, peer in rounds)
        self.add(figure, text(statistics.median(r[0] for r in rounds)), text(statistics.median(r[1] for r in rounds)),
                 ratio, f"<= {bound}" if bound else "", ratio <= bound if bound else None)

    def beside(self, ours, peer):
        """What is printed of one round of dhcp-load."""
        self.add("  one round", *(f"{r['cpu']:.1f} us, {r['drops'] + r['naks']} drops, {r['rate']}/s" for r in (ours, peer)))

    def below(self, figure, value, unit, bound, beside=""):
        self.add(figure, f"{value:.1f} {unit}", beside, None, f"< {bound}", value < bound)


# -- HTTP


def wrk(lab, url, seconds, connections):
    """Requests and bytes a second."""
    said = lab.pair.run("wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--timeout", "60", url)
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    number, unit = re.search(r"Transfer/sec:\s+([\d.]+)(\w+)", said).groups()
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1)),
            float(number) * {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[unit])


def measure_script(lab, table, options):
    url = f"http://{SERVER}:{HTTP_PORT}/boot/{mac_text(MAC)}"
    text = lab.pair.run("curl", "-s", "-f", url)
    assert text.startswith("#!ipxe"), text
    lab.write("files/script", text)
    peer = f"http://{SERVER}:{NGINX_PORT}/script"
    rounds = [(wrk(lab, url, options.seconds, 16)[0], wrk(lab, peer, options.seconds, 16)[0])
              for _ in range(options.rounds)]
    table.at_least("boot scripts", rounds, lambda v: f"{v:.0f}/s", 0.5)


def measure_files(lab, table, options):
    url, peer = f"http://{SERVER}:{HTTP_PORT}/files/medium", f"http://{SERVER}:{NGINX_PORT}/medium"
    for clients in (1, CLIENTS_FILES):
        rounds = [(wrk(lab, url, options.seconds, clients)[1], wrk(lab, peer, options.seconds, clients)[1])
                  for _ in range(options.rounds)]
        table.at_least(f"files, {clients} at a time", rounds, lambda v: f"{v / MIB:.0f} MB/s", 0.7)


# -- DHCP


def perfdhcp(lab, pair, process, rate, seconds, kind="plain"):
    """Processor time of the server for an exchange in us, exchanges, drops."""
    before = cpu_s(process.pid)
    said = pair.run("perfdhcp", "-4", "-l", RELAY, "-r", str(rate), "-R", str(lab.count), "-b", f"mac={mac_text(MAC)}",
                    "-p", str(seconds), "-W", "1000000", "-g", "single", *KINDS[kind], SERVER, check=False)
    used = cpu_s(process.pid) - before
    drops = sum(int(n) for n in re.findall(r"^drops: (\d+)", said, re.M))
    received = [int(n) for n in re.findall(r"^received packets: (\d+)", said, re.M)]
    assert len(received) == 2 and received[1], said
    return used / received[1] * 1e6, received[1], drops


def load(lab, pair, process, mac, count, seconds, rate=0, kind="plain", limit=None, window=WINDOW):
    """The numbers that dhcp-load prints, and processor time of the server for an exchange in us as "cpu"."""
    words = [os.path.join(lab.build, "dhcp-load"), SERVER, RELAY, mac_text(mac), str(count), str(seconds), str(window),
             str(rate), kind, *([str(limit)] if limit else [])]
    before = cpu_s(process.pid)
    said = pair.run(*words)
    found = {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", said)}
    found["cpu"] = (cpu_s(process.pid) - before) / max(1, found["exchanges"]) * 1e6
    return found


def measure_exchange(lab, table, options):
    drops = {"ours": 0, "Kea": 0}
    for kind in KINDS:
        rounds = []
        for _ in range(options.rounds):
            lab.start_kea()
            ours = perfdhcp(lab, lab.pair, lab.ours, options.rate, options.seconds, kind)
            kea = perfdhcp(lab, lab.kea_pair, lab.kea, options.rate, options.seconds, kind)
            rounds.append((ours[0], kea[0]))
            drops["ours"] += ours[2]
            drops["Kea"] += kea[2]
        table.at_most(f"exchange, {kind}", rounds, lambda v: f"{v:.1f} us", 0.2 if kind == "plain" else None)
    table.add("  drops", drops["ours"], drops["Kea"], None, "0", drops["ours"] == 0)
    used, count, lost = perfdhcp(lab, lab.dnsmasq_pair, lab.dnsmasq, options.rate_dnsmasq, options.seconds)
    table.add("  dnsmasq beside", "", f"{used:.1f} us, {count // options.seconds}/s, {lost} drops")
    lab.start_kea()
    by_perfdhcp = perfdhcp(lab, lab.kea_pair, lab.kea, options.rate, options.seconds)[0]
    lab.start_kea()
    by_load = load(lab, lab.kea_pair, lab.kea, MAC, lab.count, options.seconds, options.rate)
    ratio = by_load["cpu"] / by_perfdhcp
    table.add("  Kea under dhcp-load", f"{by_load['cpu']:.1f} us, {by_load['drops']} drops",
              f"{by_perfdhcp:.1f} us by perfdhcp", ratio, "0.7 - 1.4", 0.7 <= ratio <= 1.4)


def measure_saturated(lab, table, options):
    rounds = []
    for _ in range(options.rounds):
        lab.start_kea()
        ours = load(lab, lab.pair, lab.ours, MAC, lab.count, options.seconds)
        kea = load(lab, lab.kea_pair, lab.kea, MAC, lab.count, options.seconds)
        rounds.append((ours["rate"], kea["rate"]))
        table.beside(ours, kea)
    table.at_least("saturated", rounds, lambda v: f"{v:.0f}/s", 3)


def measure_pool(lab, table, options):
    rounds = []
    for i in range(options.rounds):
        lab.start_kea()
        first = UNKNOWN_MAC + i * options.leases
        ours = load(lab, lab.pair, lab.ours, first, options.leases, 60, limit=options.leases)
        kea = load(lab, lab.kea_pair, lab.kea, first, options.leases, 60, limit=options.leases)
        assert ours["exchanges"] > options.leases * 0.9, ours
        rounds.append((ours["rate"], kea["rate"]))
        table.beside(ours, kea)
    table.at_least("pool leases", rounds, lambda v: f"{v:.0f}/s", 0.25)


def measure_latency(lab, table, options):
    url = f"http://{SERVER}:{HTTP_PORT}/files/large"
    words = lab.pair.client("wrk", "-t1", f"-c{CLIENTS_FILES}", f"-d{options.seconds + 2}", "--timeout", "60", url)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as clients:
        time.sleep(0.5)
        found = load(lab, lab.pair, lab.ours, MAC, lab.count, options.seconds, 200, "pxe")
        said = clients.communicate()[0]
    rate = re.search(r"Transfer/sec:\s+(\S+)", said).group(1)
    drops = found["drops"]
    table.below("DHCP beside files, p99", found["p99"] / 1e3, "ms", 50,
                f"p50 {found['p50'] / 1e3:.1f} ms, {drops} drops, {rate}/s")


# -- TFTP


def tftp(lab, pair):
    said = pair.run(os.path.join(lab.build, "tftp-load"), SERVER, address_of(0), "tftp", str(CLIENTS_TFTP), str(BLOCK))
    return float(re.search(r"rate ([\d.]+)", said).group(1))


def measure_tftp(lab, table, options):
    rounds = [(tftp(lab, lab.pair), tftp(lab, lab.kea_pair)) for _ in range(max(3, options.rounds))]
    table.at_least(f"TFTP, {CLIENTS_TFTP} clients", rounds, lambda v: f"{v:.0f} MB/s", 1.0)


# -- changes of environment


class Machine:
    """Asks as machine `number`: a DISCOVER through the relay, and its script."""

    def __init__(self, lab, relay, number):
        self.lab, self.relay, self.number = lab, relay, number

    def boots_by_dhcp(self, xid):
        """True if the offer names a boot file."""
        hardware = (MAC + self.number).to_bytes(6, "big")
        packet = struct.pack("!BBBBIHH4x4x4x4s6s202x", 1, 1, 6, 1, xid, 0, 0, socket.inet_aton(RELAY), hardware)
        packet += b"\x63\x82\x53\x63\x35\x01\x01\x3c\x09PXEClient\x5d\x02\0\0\xff"
        self.relay.sendto(packet.ljust(300, b"\0"), (SERVER, 67))
        while True:
            reply = self.relay.recv(2048)
            if struct.unpack_from("!I", reply, 4)[0] == xid:
                return reply[108] != 0

    def boots_by_script(self):
        s = self.lab.pair.socket(socket.AF_INET, socket.SOCK_STREAM)
        with s:
            s.bind((address_of(self.number), 0))
            s.connect((SERVER, HTTP_PORT))
            s.sendall(f"GET /boot/{mac_text(MAC + self.number)} HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n".encode())
            text = b""
            while part := s.recv(65536):
                text += part
        assert text.startswith(b"HTTP/1.1 200"), text
        return b"tiny/vmlinuz" in text


def measure_change(lab, table, options):
    relay = lab.pair.socket(socket.AF_INET, socket.SOCK_DGRAM)
    relay.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    relay.bind((RELAY, 67))
    relay.settimeout(5)
    took, after_answer = [], []
    with relay:
        for i in range(options.changes):
            number = i % MACHINES_HERE
            machine = Machine(lab, relay, number)
            boots = i // MACHINES_HERE % 2 == 1
            began = time.monotonic()
            lab.done(lab.me.put(f"nodes/n{number}.example.com", {"bootenv": "sledgehammer" if boots else "local"}))
            answered = time.monotonic()
            xid = 0x70000000 + 1000 * i
            while machine.boots_by_dhcp(xid) != boots or machine.boots_by_script() != boots:
                xid += 1
            ended = time.monotonic()
            took.append((ended - began) * 1e3)
            after_answer.append((ended - answered) * 1e3)
    took.sort()
    after_answer.sort()
    p99 = len(took) * 99 // 100
    table.below("change to answer, p99", took[p99], "ms", 50,
                f"p50 {took[len(took) // 2]:.1f} ms, p99 after PUT {after_answer[p99]:.1f} ms")


def measure_memory(lab, table, _):
    with open(f"/proc/{lab.ours.pid}/status", encoding="ascii") as file:
        kib = int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))
    table.below("peak of memory", kib / 1024, "MB", 32)


PARTS = {"script": measure_script, "files": measure_files, "exchange": measure_exchange, "saturated": measure_saturated,
         "pool": measure_pool, "tftp": measure_tftp, "change": measure_change, "latency": measure_latency,
         "memory": measure_memory}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--full", action="store_true", help="10,000 machines, three rounds, large files")
    parser.add_argument("--machines", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", help="parts, separated by commas: " + ", ".join(PARTS))
    parser.add_argument("--strict", action="store_true", help="exit status 1 if a bound is missed")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else list(PARTS)
    unknown = [name for name in options.only if name not in PARTS]
    if unknown:
        parser.error("unknown parts: " + ", ".join(unknown))
    full = options.full
    options.machines = options.machines or (10000 if full else 500)
    options.seconds = options.seconds or (5 if full else 1)
    options.rounds = options.rounds or (3 if full else 1)
    options.rate, options.rate_dnsmasq = (4000, 400) if full else (1000, 100)
    options.medium, options.large = (64 * MIB, 400 * MIB) if full else (8 * MIB, 40 * MIB)
    options.leases = 5000 if full else 500
    options.changes = 400 if full else 64
    return options


def main():
    options = parse_options()
    if os.geteuid() != 0:
        sys.exit("bench/boot.py: requires root, for network namespaces")
    lab = Lab(os.path.abspath(options.build), options.machines)
    try:
        for name, size in (("small", 512), ("tftp", MIB), ("medium", options.medium), ("large", options.large)):
            lab.add_file(name, size)
        lab.start_ours()
        lab.start_nginx()
        lab.start_tftpd()
        lab.start_kea()
        lab.start_dnsmasq()
        print(f"{options.machines} machines, {options.rounds} rounds of {options.seconds} s, perfdhcp at {options.rate}/s")
        table = Table()
        for name in options.only:
            PARTS[name](lab, table, options)
    finally:
        lab.close()
    print(f"{table.missed} bounds missed" if table.missed else "every bound is held")
    return 1 if table.missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
