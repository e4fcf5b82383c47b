#!/usr/bin/env python3
"""Death at every named place: each failpoint at its first passings, then everything must be right.

    failpoints.py --build DIR [--hits 5] [--names a,b] [--seed S]

A scenario is three lives over one data directory: the first begins with nothing at all, the second
finds what the first left (a run in flight included, if it came that far), and both are armed, so
that one may die while it recovers from the death of the other; the last one is not armed, and is
compared with everything that was acknowledged.
"""
import argparse
import os
import signal
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "boot"))

import things as do
from daemon import Died, Lost, NotSent, Violation
from operators import World
from peer import Peer
from sight import API
from things import CHAIN, Node
from workspace import Workspace, add_build, program

COMMANDS_PER_LIFE = 40
LONG_RUN_MS = 100
# Five documents of this size make SQLite's log long enough to be written back.
BULK_COUNT, BULK_SIZE = 5, 900_000

# A boot server that the scenario plays: its node, and a network whose machines it leases addresses.
ADMIN = "boot-1.crash.example"
NETWORK = {"name": "boot", "category": "admin", "conduit": "1g0", "deployment": "system",
           "ranges": [{"name": "dhcp", "first": "10.9.0.10/24", "last": "10.9.0.250/24"}]}
MACHINE_MAC = 0x525400000900
LEASES_PER_LIFE = 4

# Places that the scenario cannot come to, and why. Anything else that never fires is a failure.
UNREACHED = {
    "tick.before": "only parked runs have deadlines, and the test jig parks none",
    "tick.after": "only parked runs have deadlines, and the test jig parks none",
    "ask.before": "only veto requests pass it, and the roles of crash.json have none",
    "ask.after": "only veto requests pass it, and the roles of crash.json have none",
    "poll.failed": "only after a batch that the store refused; see disk_full.py and pg_cuts.py",
}


class Scenario:
    def __init__(self, options, space, failpoint):
        self.failpoint = failpoint
        self.daemon = space.daemon(options.build, "data-" + failpoint.replace(":", "-"))
        self.world = World(self.daemon, ["eve"], options.seed)
        self.was_ready = False
        self.leases = {}  # those that were answered: address of each MAC
        self.macs = 0  # used so far

    def boot(self, client):
        """A boot server connects, acknowledges turns, takes leases and asks for a grant."""
        if not any(node["name"] == ADMIN for node in client.get(API + "nodes")):
            self.create(client, "nodes", {"name": ADMIN, "admin": True})
        if not client.get(API + "networks"):
            self.create(client, "networks", NETWORK)
        [first] = [r["id"] for r in client.get(API + "network_ranges") if r["name"] == "dhcp"]
        try:
            peer = Peer(str(self.daemon.data / "boot.sock"), ADMIN)
            peer.joins()
            for _ in range(LEASES_PER_LIFE):
                self.take_lease(peer, first)
            peer.send("GRANT", request=1, node=1, mac=MACHINE_MAC, ticket="ab" * 32)
            peer.until("GRANTED")
            peer.socket.close()
        except (OSError, AssertionError) as error:
            raise Lost(str(error)) from None
        self.verify_leases(client)

    @staticmethod
    def create(client, path, body):
        answer = client.ask("POST", API + path, body)
        if answer.status != 200:
            raise Violation(f"POST {path}: {answer.status} {answer.text[:300]}")

    def take_lease(self, peer, range_id):
        """It is durable, and its change is acknowledged, before the next one."""
        self.macs += 1
        mac, address = MACHINE_MAC + self.macs, 0x0A09000A + self.macs
        peer.send("LEASE_TAKE", request=self.macs, range=range_id, address=address, mac=mac, lease_s=600)
        turn = answer = None
        while turn is None or answer is None:
            message = peer.read()
            if not message:
                raise Lost("the boot server is disconnected")
            turn = message[1]["turn"] if message[0] == "AT" else turn
            answer = message[1] if message[0] == "LEASED" else answer
        if not answer["granted"]:
            raise Violation(f"the lease of a free address was refused: {answer}")
        self.leases[mac] = address
        peer.send("TAKEN", turn=turn)

    def verify_leases(self, client):
        """Each lease that was answered exists."""
        found = {lease["mac"]: lease["address"].split("/")[0] for lease in client.get(API + "leases")}
        for mac, address in self.leases.items():
            text = ":".join(f"{mac >> shift & 255:02x}" for shift in range(40, -8, -8))
            wanted = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
            if found.get(text) != wanted:
                raise Violation(f"lease of {text} was answered with {wanted}, found {found.get(text)}")

    def work(self):
        """Everything an installation sees in its life, ending with a run that is still going on."""
        client = self.daemon.client()
        eve = self.world.operators[0]
        self.world.verify(client)
        self.world.found(client)
        self.boot(client)
        for _ in range(COMMANDS_PER_LIFE):
            eve.perform(client, eve.next_command())
        self.world.settle(client)
        last = eve.fresh_name() + ".crash.example"
        eve.perform(client, do.create_node(last, Node("works when we go", "local", "system")))
        for digit in range(BULK_COUNT):
            eve.perform(client, do.bind(last, CHAIN[0], "system", {"bulk": str(digit) * BULK_SIZE}))
        eve.perform(client, do.bind(last, CHAIN[0], "system", {"delay": LONG_RUN_MS}))
        eve.perform(client, do.move_node(last, "commit"))
        client.close()

    def live(self, failpoint=None):
        """One process from start to end. True when the failpoint ended it."""
        try:
            self.daemon.start(failpoint)
            self.daemon.wait_ready()
            self.was_ready = True
            if not self.daemon.authorization:
                self.daemon.log_in()
            self.work()
            code = self.daemon.drain()
        except Died as died:
            code = died.code
        except (Lost, NotSent):
            code = self.daemon.wait_end()
        if code not in (0, -signal.SIGABRT) or code != 0 and not failpoint:
            raise Violation(f"{failpoint or 'after ' + self.failpoint}: exit {code}: "
                            + self.daemon.last_words())
        return code != 0

    def run(self):
        """How many died."""
        deaths = self.live(self.failpoint) + self.live(self.failpoint)
        if self.was_ready:
            self.daemon.check()
        self.live()
        self.daemon.check()
        self.world.journal.read()
        return deaths


def try_failpoint(options, space, name):
    """How many of the first passings were reached, and how many died there."""
    total = 0
    for hit in range(1, options.hits + 1):
        scenario = Scenario(options, space, f"{name}:{hit}")
        try:
            deaths = scenario.run()
        except Violation as problem:
            raise Violation(f"{name}:{hit}: {problem}") from problem
        space.forget(scenario.daemon)
        if not deaths:
            return hit - 1, total
        total += deaths
    return options.hits, total


def choose_names(options, space):
    known = space.daemon(options.build, "none").failpoints()
    wanted = options.names.split(",") if options.names else known
    unknown = set(wanted) - set(known)
    if unknown:
        raise Violation(f"no such failpoint: {', '.join(sorted(unknown))}")
    return wanted


def run(options, space):
    began = time.monotonic()
    reached, deaths = {}, 0
    names = choose_names(options, space)
    for name in names:
        reached[name], died = try_failpoint(options, space, name)
        deaths += died
        excuse = "" if reached[name] else UNREACHED.get(name, "NEVER FIRED")
        print(f"    {reached[name]:3d}  {name}  {excuse}".rstrip(), flush=True)
    silent = [name for name in names if not reached[name] and name not in UNREACHED]
    woken = [name for name in names if reached[name] and name in UNREACHED]
    print(
        f"{len(names)} failpoints, {deaths} deaths in {time.monotonic() - began:.1f} s, "
        f"{sum(name in UNREACHED and not reached[name] for name in names)} not reached for a reason"
    )
    if silent:
        raise Violation(f"never fired: {', '.join(silent)}")
    if woken:
        raise Violation(f"said to be out of reach, but fired: {', '.join(woken)}")
    print("0 violations")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_build(parser)
    parser.add_argument("--hits", type=int, default=5)
    parser.add_argument("--names", help="only these, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program(options.build)
    with Workspace("failpoints") as space:
        run(options, space)


if __name__ == "__main__":
    main()
