#!/usr/bin/env python3
"""Kill -9, with a hundred scripts running: of the daemon, and of the supervisor.

    tests/runs/kill_loop.py --build DIR [--kills N] [NAME ...]

A script writes a line when it begins and one when it ends. Whatever was killed and whenever, each
start has one of either, and no start is done twice. Each round begins its scripts anew and kills
the daemon at another moment: while it orders them, while they run, while they end, while it is only
just starting. The exit status is 0 when all of it went well.
"""
import argparse
import collections
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True

from run import played  # noqa: E402
from yard import (  # noqa: E402
    ACTIVE, ERROR, LOST, OK, TRANSITION, eventually, overlapping,
)

NODES = 100
LOST_WORDS = "halligan-exec has no record of it"
DIED_WORDS = "halligan-exec ended during the run: the run was killed"

POOL = ("--pool-normal", str(NODES))
WORK = "say begin; gate one; say end"


def everybody(y):
    """A hundred nodes with one role each, all of them ready, in a deployment of their own."""
    y.role("work", WORK)
    y.start(*POOL, "--keep-runs", "100")
    assert y.me.post("deployments", {"name": "d"}).status == 200
    return [y.bind(y.node(f"n{i}", deployment="d"), "work") for i in range(NODES)]


def states(y, bound):
    found = {n["id"]: n["state"] for n in y.me.get("deployments/d/node_roles").json()}
    return {noderole: found[noderole] for noderole in bound}


def commit(y):
    assert y.me.put("deployments/d/commit").status == 200


def retry(y, bound):
    for noderole in bound:
        y.verb(noderole, "retry")


def all_rest(y, bound):
    def look():
        now = states(y, bound)
        return now if set(now.values()) <= {ACTIVE, ERROR} else None

    def what():
        counts = collections.Counter(states(y, bound).values())
        return f"all are at rest: {counts}\n{y.read('stderr')[-3000:]}"

    return eventually(look, what)


class Figures:
    def __init__(self):
        self.kills = self.runs = self.once = self.lost = self.doubled = 0

    def __str__(self):
        return (f"{self.kills} kills, {self.runs} runs, {self.once} exactly once, "
                f"{self.lost} lost, {self.doubled} doubled")

    def count(self, y, seen):
        """What the ledger and the history say of the runs since the last time."""
        begun = collections.Counter(line.run for line in y.ledger("begin"))
        ended = collections.Counter(line.run for line in y.ledger("end"))
        history = {}
        for run in y.rows("SELECT * FROM old_run"):
            history[f"{run['run_id']}-{run['attempt']}"] = run
        for name, run in history.items():
            if name in seen:
                continue
            seen.add(name)
            self.runs += 1
            if begun[name] > 1 or ended[name] > 1:
                self.doubled += 1
            elif run["result"] == OK and begun[name] == ended[name] == 1:
                self.once += 1
            elif run["result"] == LOST and LOST_WORDS in run["runlog"]:
                self.lost += 1
            else:
                raise AssertionError((name, run, begun[name], ended[name]))
        unordered = (set(begun) | set(ended)) - set(history)
        assert not unordered, f"scripts without an order: {unordered}"


class Round:
    """All of them run once more, in one step, and the daemon is killed meanwhile."""

    def __init__(self, y, number, chance):
        self.y = y
        self.number = number
        self.chance = chance
        self.begun = len(y.ledger("begin"))
        self.ended = len(y.ledger("end"))

    def begin(self):
        if self.number == 0:
            commit(self.y)
            return
        answer = self.y.me.put("roles/work", {"template": {"round": self.number}})
        assert answer.status == 200, answer

    def wait_for_begun(self, count):
        self.y.wait_for("begin", self.begun + count)

    def wait_for_moment(self):
        """Another one each time: while they are ordered, while they run, while they end."""
        moment = self.number % 3
        if moment == 0:
            self.wait_for_begun(self.chance.randint(1, NODES))
        elif moment == 1:
            time.sleep(self.chance.uniform(0, 0.3))
        else:
            self.wait_for_begun(NODES)
            self.y.open("one")
            self.y.wait_for("end", self.ended + self.chance.randint(1, NODES - 1))

    def kill(self):
        """How often."""
        self.y.kill()
        if self.chance.random() < 0.7:
            return 1
        self.y.launch(*POOL)  # and the next one before it is up
        time.sleep(self.chance.uniform(0, 0.2))
        self.y.kill()
        return 2

    def end(self):
        if "one" in self.y.gates:
            self.wait_for_begun(NODES)
            self.y.open("one")


def test_kill_the_daemon_while_a_hundred_scripts_run(y):
    rounds = y.kills
    chance = random.Random(5)
    bound = everybody(y)
    figures, seen = Figures(), set()
    for number in range(rounds):
        this = Round(y, number, chance)
        y.shut("one")
        this.begin()
        this.wait_for_moment()
        figures.kills += this.kill()
        y.start(*POOL)
        this.end()
        now = all_rest(y, bound)
        figures.count(y, seen)
        for noderole, state in now.items():
            if state == ERROR:
                assert LOST_WORDS in y.look(noderole)["runlog"], y.look(noderole)
        eventually(lambda: not y.zombies(), lambda: f"no zombie: {y.zombies()}")
    for node in {line.node for line in y.ledger()}:
        assert overlapping(y.ledger(node=node)) == 1, node
    print("kill -9 of the daemon:", figures)
    assert figures.doubled == 0
    assert figures.runs == figures.once + figures.lost == rounds * NODES
    assert figures.lost == 0, "the supervisor lived, so it knew of all of them"


def test_kill_the_supervisor_while_a_hundred_scripts_run(y):
    bound = everybody(y)
    y.shut("one")
    for number in range(1 + y.kills // 20):
        begun = len(y.ledger("begin"))
        if number == 0:
            commit(y)
        else:
            retry(y, bound)
        y.wait_for("begin", begun + NODES)
        assert set(states(y, bound).values()) == {TRANSITION}
        os.kill(y.supervisor(), signal.SIGKILL)
        assert set(all_rest(y, bound).values()) == {ERROR}
        for noderole in bound:
            failed = y.look(noderole)
            assert DIED_WORDS in failed["runlog"] or LOST_WORDS in failed["runlog"], failed
        eventually(lambda: not y.strays(), lambda: f"no stray child: {y.strays()}")
        assert y.rows("SELECT 1 FROM run") == []
        assert y.ledger("end") == []
    y.open("one")
    retry(y, bound)
    assert set(all_rest(y, bound).values()) == {ACTIVE}
    assert len(y.ledger("end")) == NODES
    begun = collections.Counter(line.run for line in y.ledger("begin"))
    assert set(begun.values()) == {1}
    print(f"kill -9 of the supervisor: {NODES} runs ended in ERROR, each said why, "
          "none was left; all of them ran after a retry")


def test_kill_both_while_a_hundred_scripts_run(y):
    """No process is left that knows how they ended: they are reported as lost."""
    bound = everybody(y)
    y.shut("one")
    commit(y)
    y.wait_for("begin", NODES)
    eventually(lambda: not y.rows("SELECT 1 FROM run WHERE NOT begun"), "all beginnings are known")
    supervisor = y.supervisor()
    y.kill()
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: not y.strays(), lambda: f"no stray child: {y.strays()}")
    y.start(*POOL)
    assert set(all_rest(y, bound).values()) == {ERROR}
    for noderole in bound:
        failed = y.look(noderole)
        assert DIED_WORDS in failed["runlog"] or LOST_WORDS in failed["runlog"], failed
    assert y.ledger("end") == [] and len(y.ledger("begin")) == NODES
    y.open("one")
    retry(y, bound)
    assert set(all_rest(y, bound).values()) == {ACTIVE}
    assert len(y.ledger("end")) == NODES


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligand is")
    parser.add_argument("--kills", type=int, default=3, help="of the daemon")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    return played([sys.modules[__name__]], options)


if __name__ == "__main__":
    sys.exit(main())
