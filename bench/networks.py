#!/usr/bin/env python3
"""What other requests notice of deleting a network or a name filter, and of changing a filter.

    bench/networks.py --build DIR [--machines N] [--rounds R] [--strict]

A daemon with SQLite has N machines (100,000) with an address in a network of category admin, each with
a name by one filter. Then a client sends 400 requests a second on one connection (nodes are read, and
every tenth time one is changed), and each round does these, with a pause of a second before each:

  network   deletes a network with N/10 allocations
  change    changes the template of a filter over N allocations
  filter    deletes a filter with N names

An event lasts until its result is seen: the network or filter does not exist, or the last name is the
new one. The requests that were sent while it lasted, in all rounds, are compared with those of the
pauses: the 99th percentile as measured, and with the time taken off that the client and the loop of
the daemon waited for a processor, which is due to other programs. With --strict the ratio of the
latter may be 2 for each event; that wants a machine with nothing else to do.
"""
import argparse
import http.client
import multiprocessing
import os
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "api")]
sys.dont_write_bytecode = True

from daemon import Daemon, eventually  # noqa: E402
from plan import waited_s  # noqa: E402

PER_S = 400
PAUSE_S = 1.0
SETTLE_S = 0.3  # after an event, before the next pause begins
RATIO_MAX = 2.0
BULK = 1000

CONTENT = {
    "barclamp": {"name": "networks_bench", "source_path": "networks_bench"},
    "jigs": [{"name": "noop", "class": "noop"}],
    "roles": [{"name": "names", "jig": "noop", "lists-services": "names-list",
               "attribs": [{"name": "names-list", "map": "names/list", "default": [{"name": "system"}]}]}],
}


def ask(me, method, path, body=None):
    answer = me.ask(method, path, body)
    assert answer.status == 200, (method, path, answer)
    return answer.json()


def network(me, name, subnet, count, category):
    """One range host with room for `count` addresses in 10.SUBNET.0.0/12."""
    last = count + 9
    ask(me, "POST", "networks", {
        "name": name, "conduit": "1g0", "category": category,
        "ranges": [{"name": "host", "first": f"10.{subnet}.0.10/12",
                    "last": f"10.{subnet + (last >> 16)}.{last >> 8 & 255}.{last & 255}/12"}]})


def allocate(me, name, nodes):
    for at in range(0, len(nodes), BULK):
        ask(me, "POST", "network_allocations",
            [{"node": node, "network": name} for node in nodes[at:at + BULK]])


def furnish(me, count):
    """The ids of the machines."""
    ask(me, "POST", "barclamps", {"value": CONTENT})
    nodes = []
    for at in range(0, count, BULK):
        rows = ask(me, "POST", "nodes", [{"name": f"n{i}.example.com"} for i in range(at, min(at + BULK, count))])
        nodes += [row["id"] for row in rows]
    lister = ask(me, "POST", "nodes", {"name": "lister.example.com", "alive": True, "available": True})
    ask(me, "POST", "node_roles", {"node": lister["id"], "role": "names"})
    ask(me, "PUT", f"nodes/{lister['id']}/commit")
    network(me, "wide", 16, count, "admin")
    allocate(me, "wide", nodes)
    return nodes


# -- the load ----------------------------------------------------------------------------------------


def load(url, token, pid, nodes, pipe):
    """At a fixed rate until the pipe says stop: (sent at, is it a change, time, time without waiting for processors)."""
    tasks = ("self", f"{pid}/task/{pid}")
    parts = urllib.parse.urlsplit(url)
    link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    took, begun, i = [], time.monotonic(), 0
    while not pipe.poll():
        due = begun + i / PER_S
        now = time.monotonic()
        if now > due + 1:  # after a long answer, do not send all the requests that were due meanwhile
            begun += now - due
        time.sleep(max(0, due - now))
        body = f'{{"description":"{i}"}}' if i % 10 == 0 else None
        before = sum(waited_s(task) for task in tasks)
        sent = time.monotonic()
        link.request("PUT" if body else "GET", f"/api/v2/nodes/{nodes[i % len(nodes)]}", body=body, headers=headers)
        answer = link.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        whole = time.monotonic() - sent
        took.append((sent, body is not None, whole,
                     max(0.0, whole - (sum(waited_s(task) for task in tasks) - before))))
        i += 1
    pipe.send(took)


def p99(values):
    return sorted(values)[int(len(values) * 0.99)] * 1e3


def within(took, windows):
    return [one for one in took if any(begin <= one[0] < end for begin, end in windows)]


# -- events ------------------------------------------------------------------------------------------


class Events:
    """Each prepares what it needs, without being measured, and then is called."""

    def __init__(self, me, nodes):
        self.me, self.nodes, self.count = me, nodes, 0
        self.last = ask(me, "GET", f"nodes/{nodes[-1]}/network_allocations")[0]["id"]
        self.entry = eventually(self.names_of_last, "the last machine has a name")[0]["id"]

    def names_of_last(self):
        """Reads all entries, so it is not called while requests are measured."""
        time.sleep(0.2)
        return ask(self.me, "GET", f"dns_name_entries?network_allocation_id={self.last}")

    def prepare_network(self):
        """A tenth of the machines, but more than one slice of a deletion."""
        count = min(len(self.nodes), max(500, len(self.nodes) // 10))
        network(self.me, "narrow", 160, count, "general")
        allocate(self.me, "narrow", self.nodes[:count])

    def network(self):
        ask(self.me, "DELETE", "networks/narrow")
        eventually(lambda: self.me.get("networks/narrow").status == 404, "the network does not exist")

    def prepare_change(self):
        self.count += 1

    def change(self):
        ask(self.me, "PUT", "dns_name_filters/default", {"template": f"{{{{node.name}}}}-{self.count}"})
        entry = f"dns_name_entries/{self.entry}"
        eventually(lambda: ask(self.me, "GET", entry)["name"].endswith(f"-{self.count}"), "all names have changed")

    def prepare_filter(self):
        ask(self.me, "POST", "dns_name_filters",
            {"name": "second", "priority": 99, "service": "system", "matcher": 'net.category == "admin"',
             "template": "second-{{node.name}}"})
        eventually(lambda: len(self.names_of_last()) == 2, "all names are given")

    def filter(self):
        ask(self.me, "DELETE", "dns_name_filters/second")
        eventually(lambda: self.me.get("dns_name_filters/second").status == 404, "the filter does not exist")


def measure(daemon, me, nodes, rounds, kinds):
    """By kind of event: the requests beside it, those of the pauses, and how long each event took."""
    events = Events(me, nodes)
    pauses, windows = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=load, args=(daemon.url, daemon.token, daemon.process.pid, nodes[:50], theirs))
    process.start()
    for _ in range(rounds):
        for kind in kinds:
            getattr(events, f"prepare_{kind}")()
            time.sleep(SETTLE_S)
            begun = time.monotonic()
            time.sleep(PAUSE_S)
            called = time.monotonic()
            getattr(events, kind)()
            pauses[kind].append((begun, called))
            windows[kind].append((called, time.monotonic()))
            time.sleep(SETTLE_S)
    ours.send("stop")
    took = ours.recv()
    process.join()
    return {kind: (within(took, windows[kind]), within(took, pauses[kind]),
                   [end - begin for begin, end in windows[kind]]) for kind in kinds}


def main():
    parser = argparse.ArgumentParser(description="What other requests notice of changes of networks and names.")
    parser.add_argument("--build", default="build")
    parser.add_argument("--machines", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["network", "change", "filter"])
    parser.add_argument("--strict", action="store_true")
    args = parser.parse_args()
    daemon = Daemon(args.build)
    daemon.start()
    try:
        me = daemon.client()
        nodes = furnish(me, args.machines)
        kinds = [args.only] if args.only else ["network", "change", "filter"]
        results = measure(daemon, me, nodes, args.rounds, kinds)
    finally:
        daemon.stop()
    good = True
    for kind, (beside, alone, lasted) in results.items():
        print(f"{kind}: lasted {min(lasted):.3f} to {max(lasted):.3f} s; {len(beside)} requests beside it, {len(alone)} alone")
        if not beside:
            good = False
            print("  no request was sent while it lasted: use more machines")
            continue
        for name, column in (("as measured", 2), ("without waiting for processors", 3)):
            with_it, without = p99([one[column] for one in beside]), p99([one[column] for one in alone])
            print(f"  {name}: p99 {with_it:.2f} ms, alone {without:.2f} ms, ratio {with_it / without:.2f}; worst "
                  f"{max(one[column] for one in beside) * 1e3:.2f} ms, alone {max(one[column] for one in alone) * 1e3:.2f} ms")
            for what, is_change in (("changes", True), ("reads", False)):
                part, calm = ([one[column] for one in side if one[1] == is_change] for side in (beside, alone))
                if part and calm:
                    print(f"    {what}: p99 {p99(part):.2f} ms, alone {p99(calm):.2f} ms")
        good &= with_it <= RATIO_MAX * without or not args.strict
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
