#!/usr/bin/env python3
"""SIGKILL at random instants while four operators work; then everything acknowledged must be there.

    kill_loop.py --build DIR [--kills N] [--seed S] [--postgres | --store URL]

After each kill `halligand check` verifies the files, a new daemon starts on them, and what it
shows is compared with what was acknowledged. One kill in ten falls into the start itself. Now and
then all operators wait until the graph is idle, and a new installation replaces a large one.
"""
import argparse
import collections
import random
import signal
import time

from daemon import EXIT_HELD, Died, Patience, Violation, read_trace
from operators import Crew, World
from workspace import Workspace, add_build, histogram, program

OPERATORS = ("ann", "bob", "cat", "dan")
KILLS_PER_WORLD = 200
SETTLE_EVERY = 20
IN_FLIGHT_FLOOR = 0.8  # least share of kills with a command in progress
START_EVERY = 10
WORK_S = 0.03  # the longest that operators may work before a kill


class Loop:
    def __init__(self, options, space):
        self.options = options
        self.space = space
        self.chance = random.Random(options.seed)
        self.world = None
        self.worlds = 0
        self.kills = self.kills_in_flight = self.kills_at_start = 0
        self.in_flight = self.came_in = self.waited_for_store = 0
        self.phases = collections.Counter()
        self.statuses = collections.Counter()
        self.labels = collections.Counter()
        self.start_s = 0.02  # how long a start takes, as last measured
        self.points = None

    # ---- worlds ----

    def new_world(self):
        self.worlds += 1
        store = self.options.store
        if self.options.postgres:
            store = self.space.postgres().new_database()
        daemon = self.space.daemon(self.options.build, f"data{self.worlds}", store)
        self.points = self.points or set(daemon.failpoints())
        self.world = World(daemon, OPERATORS, f"{self.options.seed}/{self.worlds}")
        daemon.start(trace=self.trace_path())
        daemon.wait_ready()
        daemon.log_in()
        client = daemon.client()
        self.world.found(client)
        client.close()

    def end_world(self):
        """What the last kill left, at rest, drained, and checked once more."""
        self.start_until_ready()
        client = self.world.daemon.client()
        self.came_in += self.world.verify(client)[1]
        self.world.settle(client)
        client.close()
        self.world.daemon.end_well()
        self.world.daemon.check()
        self.statuses += self.world.total("statuses")
        self.labels += self.world.total("labels")
        self.space.forget(self.world.daemon)

    # ---- starting ----

    def trace_path(self):
        return self.space.path / "trace"

    def start_until_ready(self):
        """PostgreSQL may need a moment to see that the one before is dead."""
        daemon = self.world.daemon
        patience = Patience(10)
        while True:
            began = time.monotonic()
            daemon.start(trace=self.trace_path())
            try:
                daemon.wait_ready()
                self.start_s = time.monotonic() - began
                return
            except Died as died:
                if died.code != EXIT_HELD or not daemon.store or not patience.wait():
                    raise
                self.waited_for_store += 1

    # ---- killing ----

    def kill(self):
        """Returns when the signal left."""
        daemon = self.world.daemon
        code = daemon.process.poll()
        if code is not None:
            held = code == EXIT_HELD and daemon.store
            if not held:
                raise Violation(f"it ended by itself with {code}: {daemon.last_words()}")
        when = time.monotonic()
        daemon.kill()
        phase = read_trace(self.trace_path())
        known = phase in self.points or not phase
        self.phases[phase or "(before any)" if known else "(between two)"] += 1
        self.kills += 1
        return when

    def kill_while_starting(self):
        self.world.daemon.start(trace=self.trace_path())
        time.sleep(self.chance.uniform(0, self.start_s))
        self.kill()
        self.kills_at_start += 1

    def kill_at_work(self):
        crew = Crew(self.world)
        time.sleep(self.chance.uniform(0, WORK_S))
        when = self.kill()
        crew.dismiss()
        lost = self.world.unanswered(when)
        self.in_flight += lost
        self.kills_in_flight += lost > 0

    def one_kill(self):
        if self.kills % START_EVERY == START_EVERY - 1:
            self.kill_while_starting()
        else:
            self.start_until_ready()
            client = self.world.daemon.client()
            self.came_in += self.world.verify(client)[1]
            if self.kills % SETTLE_EVERY == 0:
                self.world.settle(client)
            client.close()
            self.kill_at_work()
        self.world.daemon.check()
        self.world.journal.read()

    def run(self):
        began = time.monotonic()
        while self.kills < self.options.kills:
            self.new_world()
            self.kill_at_work()
            end = self.kills + KILLS_PER_WORLD if not self.options.store else self.options.kills
            while self.kills < min(end, self.options.kills):
                self.one_kill()
            self.end_world()
        self.report(time.monotonic() - began)

    # ---- report ----

    def report(self, seconds):
        share = self.kills_in_flight / self.kills
        histogram("kills by the last failpoint passed", self.phases)
        histogram("acknowledged commands", self.labels)
        print(f"answers by status: {dict(sorted(self.statuses.items()))}")
        print(
            f"{self.kills} kills in {seconds:.1f} s ({self.kills / seconds:.1f}/s), "
            f"{self.worlds} worlds, {self.kills_at_start} during a start"
        )
        print(
            f"with an unacknowledged command in flight: {self.kills_in_flight} ({share:.1%}); "
            f"{self.in_flight} such commands, {self.came_in} of them were in"
        )
        if self.waited_for_store:
            print(f"starts repeated because the store was still held: {self.waited_for_store}")
        if share < IN_FLIGHT_FLOOR:
            raise Violation(f"only {share:.1%} of the kills had a command in flight")
        print("0 violations")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_build(parser)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--postgres", action="store_true", help="on a cluster made for it")
    where.add_argument("--store", help="URL of an empty store; it is not renewed")
    options = parser.parse_args()
    program(options.build)
    with Workspace("kills") as space:
        Loop(options, space).run()


if __name__ == "__main__":
    main()
