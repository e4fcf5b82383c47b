#!/usr/bin/env python3
"""The daemon does not notice what becomes of its boot server, and machines do not notice the daemon.

    tests/boot/isolation.py --build DIR [--full] [--machines N] [--clients N] [--nodes N] [--passes N]

Clients renew their leases by unicast without a pause, while operators commit nodes of ten noderoles
each. halligan-boot gets SIGSEGV, SIGKILL and SIGSYS (the signal of a forbidden system call) and is
started again. Then the daemon is killed while a machine asks for its installer.

  No command is refused. The 99th percentile of the time of a command is at most 1.5 times that of the
  same commands with an undisturbed boot server (checked with --full: 10,000 noderoles in a pass,
  median of five). After a restart with all machines in the view a renewal, and a script, are
  answered within a second. No lease is lost, and none is given twice. Without the daemon renewals and
  boots from disk go on, and an installer starts when the daemon is back.
"""
import argparse
import collections
import concurrent.futures
import http.client
import itertools
import json
import os
import signal
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [p for p in (HERE, os.path.dirname(HERE)) if p not in sys.path]
sys.dont_write_bytecode = True

from fencing import BOOTENVS, HOOK, INSTALL, LOCAL, ROLE, SCRIPT  # noqa: E402
from installation import SERVER, Installation, eventually, give_addresses, silence_arp  # noqa: E402
from machines import (  # noqa: E402
    ACK, Dhcp, DISCOVER, NAK, OFFER, REQUEST, SERVER_ID, WANTED, Workers, enter, fetch,
    option_address, packet, ticket_facts,
)
from segment import Segment  # noqa: E402

CHAIN = [f"link{i}" for i in range(10)]  # the noderoles of a node
KNOWN = 20  # clients that are nodes; the others have leases of the pool
OPERATORS = 4
SIGNALS = (signal.SIGSEGV, signal.SIGKILL, signal.SIGSYS)
BACK_S = 1.0  # after the start of halligan-boot
RATIO = 1.5
SILENCE_S = 30  # a client that renews is answered by then
ROLES = [ROLE] + [{"name": name, "jig": "noop", "flags": ["implicit"],
                   "requires": [CHAIN[i - 1]] if i else []} for i, name in enumerate(CHAIN)]


class Lessee:
    """A client with a lease."""

    def __init__(self, number, mac):
        self.number, self.mac = number, mac
        self.address, self.offered = None, None
        self.acks, self.asked, self.acked = 0, 0.0, 0.0


class Clients:
    """All of them, on one socket. Each one that has an address renews it, then the next."""

    def __init__(self, segment, lessees):
        self.lessees = {one.mac: one for one in lessees}
        self.problems, self.is_renewing = [], threading.Event()
        self.is_open, self.xids = True, itertools.count(1)
        self.dhcp = Dhcp(segment.machines, "m0", self.take)
        self.thread = threading.Thread(target=self.renew, daemon=True)
        self.thread.start()

    def take(self, reply, at):
        one = self.lessees.get(reply.mac)
        if not one:
            return
        if reply.kind == OFFER and not one.address:
            one.offered = reply.address
            options = option_address(WANTED, reply.address) + option_address(SERVER_ID, SERVER)
            self.dhcp.send(packet(REQUEST, one.mac, next(self.xids), options=options))
        elif reply.kind == ACK:
            if one.address not in (None, reply.address):
                self.problems.append(f"{one.mac} had {one.address} and got {reply.address}")
            one.address, one.acked = reply.address, at
            one.acks += 1
        elif reply.kind == NAK:
            self.problems.append(f"{one.mac} was refused {one.address}")

    def obtain(self):
        """An address for everyone."""
        def have_all():
            missing = [one for one in self.lessees.values() if not one.address]
            for one in missing:
                self.dhcp.send(packet(DISCOVER, one.mac, next(self.xids)))
                time.sleep(0.005)
            time.sleep(1 if missing else 0)
            return not missing

        eventually(have_all, lambda: "all have leases: " + ", ".join(
            one.mac for one in self.lessees.values() if not one.address))
        return [one.address for one in self.lessees.values()]

    def renew(self):
        while self.is_open:
            self.is_renewing.wait(0.2)
            for one in list(self.lessees.values()):
                if not self.is_open or not self.is_renewing.is_set():
                    break
                one.asked = time.monotonic()
                self.dhcp.send(packet(REQUEST, one.mac, next(self.xids), ciaddr=one.address, flags=0),
                               to=SERVER, source=one.address)
                time.sleep(0.005)

    def all_renewed(self, since):
        """Everyone was answered after that time."""
        eventually(lambda: all(one.acked > since for one in self.lessees.values()),
                   lambda: "all have renewed: " + ", ".join(
                       one.mac for one in self.lessees.values() if one.acked <= since), SILENCE_S)

    def first_after(self, since):
        eventually(lambda: any(one.acked > since for one in self.lessees.values()), "a renewal", SILENCE_S)
        return min(one.acked for one in self.lessees.values() if one.acked > since) - since

    def close(self):
        self.is_open = False
        self.thread.join()
        self.dhcp.close()


class Operator:
    """A connection that is kept."""

    def __init__(self, site):
        self.site, self.connection = site, None

    def ask(self, method, path, body=None):
        """(seconds, status, answer)"""
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=60)
        began = time.monotonic()
        self.connection.request(method, "/api/v2/" + path, body and json.dumps(body),
                                {"Authorization": "Bearer " + self.site.token,
                                 "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        return time.monotonic() - began, answer.status, text


class Isolation:
    def __init__(self, segment, options):
        self.segment, self.options = segment, options
        self.site = Installation(segment, roles=ROLES, bootenvs=BOOTENVS, hooks={"install": HOOK},
                                 scripts={"install": SCRIPT})
        silence_arp(segment)
        self.site.start()
        self.site.open(last_host=39, first_pool=40)
        self.site.post("networks", {
            "name": "hall", "category": "admin", "conduit": "2g0", "deployment": "system",
            "ranges": [{"name": "host", "first": "10.50.0.10/16", "last": "10.50.255.200/16"}]})
        began = time.monotonic()
        self.fill()
        print(f"    {options.machines} machines and {options.nodes} nodes after "
              f"{time.monotonic() - began:.0f} s", flush=True)
        self.site.start_boot()
        self.site.connects()
        self.clients = Clients(segment, self.lessees())
        self.workers = Workers(segment.machines, 2)
        addresses = self.clients.obtain()
        assert len(set(addresses)) == len(addresses), "an address was given twice"
        give_addresses(segment, addresses)
        self.clients.is_renewing.set()
        self.clients.all_renewed(time.monotonic())

    # -- content

    def in_parallel(self, items, function):
        """function(operator, item) for all."""
        local = threading.local()

        def call(item):
            if not hasattr(local, "operator"):
                local.operator = Operator(self.site)
            return function(local.operator, item)

        with concurrent.futures.ThreadPoolExecutor(OPERATORS) as pool:
            return list(pool.map(call, items))

    @staticmethod
    def must(operator, *request):
        _, status, text = operator.ask(*request)
        assert status == 200, (request, status, text)
        return json.loads(text)

    def fill(self):
        def machine(operator, i):
            name = f"m{i}.example.com"
            address = f"10.50.{1 + i // 200}.{i % 200 + 1}" if i >= KNOWN else f"10.9.0.{10 + i}"
            self.must(operator, "POST", "nodes", {"name": name, "mac": self.mac(1, i), "ip": address})
            self.must(operator, "PUT", f"nodes/{name}/commit")

        def loaded(operator, i):
            name = f"w{i}.example.com"
            self.must(operator, "POST", "nodes", {"name": name, "admin": True, "alive": True,
                                                  "available": True})
            self.must(operator, "POST", "node_roles", {"node": name, "role": CHAIN[-1]})

        self.in_parallel(range(self.options.machines), machine)
        self.in_parallel(range(self.options.nodes), loaded)
        self.site.put("nodes/m0.example.com", {"bootenv": LOCAL})

    @staticmethod
    def mac(kind, number):
        return f"52:54:{kind:02x}:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"

    def lessees(self):
        return [Lessee(i, self.mac(1, i) if i < KNOWN else self.mac(2, i))
                for i in range(self.options.clients)]

    # -- load

    def load(self):
        """Every node is proposed and committed: ten noderoles each. The times of the commands."""
        def commit(operator, i):
            took = []
            for verb in ("propose", "commit"):
                seconds, status, text = operator.ask("PUT", f"nodes/w{i}.example.com/{verb}")
                assert status == 200, f"refused: {verb} of node {i}: {status} {text[:300]}"
                took.append(seconds)
            return took

        nodes = list(range(self.options.nodes)) * self.options.repeats
        results = self.in_parallel(nodes, commit)
        return sorted(itertools.chain(*results))

    @staticmethod
    def p99(times):
        return times[int(len(times) * 0.99)]

    # -- deaths of the boot server

    def disturb(self, stop, figures):
        """The boot server dies by each signal and is started again."""
        for how in itertools.cycle(SIGNALS):
            if stop.is_set() and figures["deaths"] >= len(SIGNALS):
                return
            code = self.site.kill_boot(how)
            assert code != 0, how
            began = time.monotonic()
            self.site.start_boot()
            figures["script"].append(self.first_script(began))
            figures["renewal"].append(self.clients.first_after(began))
            self.clients.all_renewed(began)
            figures["deaths"] += 1
            stop.wait(self.options.pause)

    def first_script(self, since):
        """The script of the machine whose entry is sent last; after `since`, in seconds."""
        def is_answered():
            return self.workers.now(self.fetch, f"10.9.0.{10 + KNOWN - 1}", f"/boot/{self.mac(1, KNOWN - 1)}")[0] == 200

        eventually(is_answered, "a script", SILENCE_S)
        return time.monotonic() - since

    @staticmethod
    def fetch(source, path):
        return fetch(source, path) or (0, "")

    def measure(self):
        """(ratio, figures)"""
        quiet, disturbed = [], []
        figures = collections.defaultdict(list, deaths=0)
        self.load()
        for _ in range(self.options.passes):
            quiet.append(self.p99(self.load()))
            stop, problems = threading.Event(), []

            def work():
                try:
                    self.disturb(stop, figures)
                except BaseException as problem:  # pylint: disable=broad-except
                    problems.append(problem)

            thread = threading.Thread(target=work)
            thread.start()
            disturbed.append(self.p99(self.load()))
            stop.set()
            thread.join()
            if problems:
                raise problems[0]
            self.site.connects()
        figures["quiet"], figures["disturbed"] = quiet, disturbed
        return statistics.median(disturbed) / statistics.median(quiet), figures

    # -- leases

    def check_leases(self):
        """What the daemon has is what the clients have."""
        assert not self.clients.problems, self.clients.problems[:5]
        held = {one.mac: one.address for one in self.clients.lessees.values()}
        assert len(set(held.values())) == len(held), "an address was given twice"
        live = [lease for lease in self.site.get("leases?limit=1000") if lease["state"] == "live"]
        shown = {lease["mac"]: lease["address"].split("/")[0] for lease in live}
        assert len(shown) == len(live), "a MAC has two leases"
        wanted = {mac: address for mac, address in held.items() if mac.startswith("52:54:02")}
        assert shown == wanted, (sorted(set(shown.items()) ^ set(wanted.items()))[:6])

    # -- death of the daemon

    def kill_daemon(self):
        """Without the daemon machines go on, and the installer waits."""
        node, mac = "m1.example.com", self.mac(1, 1)
        source = "10.9.0.11"
        self.make_installer(node)
        _, text = self.workers.now(self.fetch, source, f"/boot/{mac}")
        assert "/install?t=" in text, text
        ticket = text.split("/install?t=")[1][:100]
        self.site.kill()
        killed = time.monotonic()
        self.clients.all_renewed(killed)
        status, text = self.workers.now(self.fetch, "10.9.0.10", f"/boot/{self.mac(1, 0)}")
        assert status == 200 and " boots its disk\n" in text, (status, text)
        for _ in range(3):
            status, text = self.workers.now(self.fetch, source, f"/boot/{mac}/install?t={ticket}")
            assert status == 503, (status, text)
        away = time.monotonic() - killed
        self.site.start()
        back = time.monotonic()

        def starts():
            status, text = self.workers.now(self.fetch, source, f"/boot/{mac}/install?t={ticket}")
            assert status in (200, 503), (status, text)
            return status == 200 and text

        text = eventually(starts, "the installer starts", SILENCE_S)
        assert " starts its installer\n" in text, text
        print(f"    without the daemon for {away:.1f} s: renewals and boots from disk went on; the "
              f"installer started {time.monotonic() - back:.2f} s after the start of the daemon", flush=True)
        assert self.clients.problems == []

    def make_installer(self, node):
        """The machine is to boot an installer, with a grant."""
        site = self.site
        site.hammer(node, "local")
        site.put(f"nodes/{node}", {"alive": True})
        site.bind(node, "install")
        count = itertools.count()

        def is_installer():
            shown = site.get(f"nodes/{node}/boot")
            if shown["bootenv"] == INSTALL and shown["served"]:
                return True
            site.put(f"nodes/{node}", {"description": f"touch {next(count)}"})
            time.sleep(0.1)
            return False

        eventually(is_installer, lambda: f"{node} is to boot its installer: {site.get(f'nodes/{node}/boot')}")

    def run(self):
        ratio, figures = self.measure()
        self.check_leases()
        self.kill_daemon()
        self.clients.all_renewed(time.monotonic())
        self.check_leases()
        acks = sum(one.acks for one in self.clients.lessees.values())
        milliseconds = {name: ", ".join(f"{1000 * s:.1f}" for s in figures[name])
                        for name in ("quiet", "disturbed")}
        print(f"    {self.options.nodes * len(CHAIN)} noderoles in a pass, {self.options.machines} machines, "
              f"{self.options.clients} clients, {acks} acknowledgements, {figures['deaths']} deaths of "
              f"halligan-boot\n    p99 of commands: quiet {milliseconds['quiet']} ms, disturbed "
              f"{milliseconds['disturbed']} ms, ratio of the medians {ratio:.2f}\n"
              f"    back after a restart: renewal {max(figures['renewal']):.2f} s at most, script "
              f"{max(figures['script']):.2f} s at most", flush=True)
        return ratio, figures

    def close(self):
        self.clients.close()
        self.workers.close()


def isolate(segment, options):
    test = Isolation(segment, options)
    try:
        return test.run()
    finally:
        test.close()


def parser():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="build")
    p.add_argument("--full", action="store_true", help="10,000 machines, 200 clients, 1,000 nodes of ten "
                   "noderoles, five passes; check the time of commands")
    p.add_argument("--pause", type=float, default=0.5, help="seconds between two deaths of halligan-boot")
    for name, value in (("machines", 300), ("clients", 50), ("nodes", 100), ("passes", 1),
                        ("repeats", 1)):
        p.add_argument("--" + name, type=int, default=value)
    return p


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = parser().parse_args()
    if options.full:
        options.machines, options.clients, options.nodes, options.passes = 10_000, 200, 1000, 5
        options.repeats = 3  # of the commits of a pass: 6,000 commands, so that 60 are above the figure
    segment = Segment(os.path.abspath(options.build))
    try:
        ratio, figures = isolate(segment, options)
    except BaseException:
        print(segment.said())
        raise
    finally:
        segment.close()
    late = [name for name in ("renewal", "script") if max(figures[name]) > BACK_S]
    if options.full and (ratio > RATIO or late):
        print(f"too slow: ratio {ratio:.2f} (at most {RATIO}), late {late}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
