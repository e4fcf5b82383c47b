#!/usr/bin/env python3
"""Connections to PostgreSQL cut at message boundaries, and one byte beside them.

    pg_cuts.py --build DIR [--cuts N] [--seed S] [--only cuts|fenced]

Four operators work through a proxy that cuts. The daemon must live through every cut, say of each
affected command whether it was done or that it cannot know, and go on. Every hundred cuts all that
was acknowledged is looked for, and the store is checked. Then, as a separate scenario, another client
raises the epoch: it must stop at its next batch and leave the epoch alone.
"""
import argparse
import collections
import random
import time

import things as do
from daemon import EXIT_OUSTED, Died, Lost, NotSent, Patience, Violation
from operators import Crew, Operator, World
from pg_proxy import LATE, POSITIONS, Cut, Proxy
from things import Node
from workspace import Workspace, add_build, histogram, program, query

OPERATORS = ("ann", "bob", "cat", "dan")
CUTS_PER_LOOK = 100
CUTS_PER_WORLD = 300
CUTS_PER_START = 5
FIRE_S = 0.1  # a message that does not come within this time may only be said when connecting
RECONNECTS, RECONNECT_S = 2, 0.5  # so often, and so long, it is waited for then
COMPOUND = 0.1  # share of cuts that do not wait until the one before is survived
COMMITS = 0.3  # share of cuts that aim at a COMMIT or its answer
LATE_S = 0.2


class Cutter:
    def __init__(self, options, space):
        self.options = options
        self.space = space
        self.chance = random.Random(options.seed)
        self.proxy = None
        self.world = None
        self.cuts = collections.Counter()
        self.statuses = collections.Counter()
        self.labels = set()  # of every message that was ever seen
        self.silent = set()  # of those that only a new process says
        self.worlds = self.dropped = self.refused_starts = 0

    def made(self):
        return self.cuts.total() + (self.proxy.cuts.total() if self.proxy else 0)

    # ---- worlds ----

    def new_world(self):
        self.worlds += 1
        url = self.space.postgres().new_database()
        listen_dir = self.space.path / f"p{self.worlds}"
        base, server_dir = url.split("?host=")
        self.proxy = Proxy(server_dir, listen_dir)
        store = f"{base}?host={listen_dir}"
        daemon = self.space.daemon(self.options.build, f"data{self.worlds}", store)
        self.world = World(daemon, OPERATORS, f"{self.options.seed}/{self.worlds}")
        self.start()
        daemon.log_in()
        client = daemon.client()
        self.world.found(client)
        client.close()

    def start(self):
        """Some starts are cut too. One that loses its store may say so and end; the next one
        begins where it left off."""
        daemon = self.world.daemon
        for _ in range(CUTS_PER_START if self.labels else 0):
            self.proxy.arm(self.choose(self.labels))
            daemon.start()
            try:
                daemon.wait_ready()
                daemon.end_well()
            except Died as died:
                if died.code != 1:
                    raise
                self.refused_starts += 1
        self.proxy.disarm()
        daemon.start()
        daemon.wait_ready()

    def end_world(self):
        self.world.daemon.end_well()
        self.cuts += self.proxy.cuts
        self.labels |= self.proxy.seen.keys()
        self.statuses += self.world.total("statuses")
        self.proxy.stop()
        self.proxy = None
        self.space.forget(self.world.daemon)

    def look(self):
        """While no operator sends and nothing is cut: idle, as acknowledged, and sound on disk."""
        daemon = self.world.daemon
        daemon.expect_alive()
        daemon.wait_ready()
        client = daemon.client()
        self.world.settle(client)
        client.close()
        daemon.end_well()
        daemon.check()
        self.labels |= self.proxy.seen.keys()
        self.start()
        client = daemon.client()
        self.world.verify(client)
        client.close()

    # ---- cutting ----

    def choose(self, labels):
        """All labels have the same probability, and what surrounds a COMMIT gets more."""
        commits = [label for label in labels if "COMMIT" in label]
        if commits and self.chance.random() < COMMITS:
            labels = commits
        label = self.chance.choice(sorted(labels))
        late = [] if label.startswith("answer") else [LATE]
        return Cut(
            label, self.chance.choice([*POSITIONS, *late]),
            self.chance.randint(1, 3), self.chance.uniform(0, LATE_S),
        )

    def acknowledged(self):
        return sum(each.statuses[200] + each.statuses[201] for each in self.world.operators)

    def wait_survived(self, seconds=30):
        """A command was acknowledged with 200 after the cut."""
        before, patience = self.acknowledged(), Patience(seconds)
        while self.acknowledged() == before:
            self.world.daemon.expect_alive()
            if any(each.problem for each in self.world.operators):
                return  # reported when the crew is dismissed
            if not patience.wait():
                raise Violation(f"no command was acknowledged for {seconds} s after a cut")

    def one_cut(self):
        cut = self.choose(self.proxy.seen.keys() - self.silent)
        self.proxy.arm(cut)
        if not self.proxy.fired.wait(FIRE_S) and not self.fires_while_connecting():
            self.proxy.disarm()
            self.silent.add(cut.label)
        if self.chance.random() >= COMPOUND:
            self.wait_survived()

    def fires_while_connecting(self):
        self.proxy.hurry()
        for _ in range(RECONNECTS):
            self.proxy.drop_all()
            self.dropped += 1
            if self.proxy.fired.wait(RECONNECT_S):
                return True
        return False

    def round(self):
        crew = Crew(self.world)
        goal = min(self.made() + CUTS_PER_LOOK, self.options.cuts)
        try:
            while self.made() < goal and not any(each.problem for each in self.world.operators):
                self.world.daemon.expect_alive()
                self.one_cut()
        finally:
            self.proxy.disarm()
            crew.dismiss()
        self.look()

    def run(self):
        began = time.monotonic()
        while self.made() < self.options.cuts:
            self.new_world()
            end = min(self.made() + CUTS_PER_WORLD, self.options.cuts)
            while self.made() < end:
                self.round()
            self.end_world()
        self.report(time.monotonic() - began)

    def report(self, seconds):
        histogram("cuts by message and position", {
            f"{label}, {position}": count for (label, position), count in self.cuts.items()
        })
        print(f"answers by status: {dict(sorted(self.statuses.items()))}")
        print(
            f"{self.cuts.total()} cuts in {seconds:.1f} s ({self.cuts.total() / seconds:.1f}/s), "
            f"{self.worlds} worlds, {self.dropped} connections dropped besides, "
            f"{self.refused_starts} starts that gave up"
        )


# ---- fenced ----


def fenced(options, space):
    """Another process takes the lead. The daemon notices it when it writes, and exits."""
    url = space.postgres().new_database()
    daemon = space.daemon(options.build, "data-fenced", url)
    daemon.start()
    daemon.wait_ready()
    daemon.log_in()
    raised = query(url, "UPDATE leadership SET epoch = epoch + 1 RETURNING epoch")
    eve, client = Operator("eve", options.seed), daemon.client()
    try:
        node = Node("comes too late", "local", "system")
        answer = eve.perform(client, do.create_node("eve-1.crash.example", node))
        if answer.status < 500:
            raise Violation(f"a fenced daemon answers {answer.status}: {answer.text[:300]}")
    except (Lost, NotSent):
        pass  # it may go without a word
    code = daemon.wait_end()
    if code != EXIT_OUSTED:
        raise Violation(f"fenced, but exit {code}: {daemon.last_words()}")
    epoch = query(url, "SELECT epoch FROM leadership")
    if epoch != raised:
        raise Violation(f"the epoch was raised to {raised} and is now {epoch}")
    if query(url, "SELECT count(*) FROM node WHERE name = 'eve-1.crash.example'") != "0":
        raise Violation("a fenced daemon wrote a node")
    space.forget(daemon)
    print(f"fenced: exit {code}, the epoch stays {epoch}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_build(parser)
    parser.add_argument("--cuts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["cuts", "fenced"])
    options = parser.parse_args()
    program(options.build)
    with Workspace("cuts") as space:
        if options.only != "cuts":
            fenced(options, space)
        if options.only != "fenced":
            Cutter(options, space).run()
        print("0 violations")


if __name__ == "__main__":
    main()
