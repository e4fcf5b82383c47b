#!/usr/bin/env python3
"""A disk that fills up: new work is refused with a reason, reads go on, and space heals it.

    disk_full.py --build DIR [--rounds N] [--size 8m] [--seed S]

Each round gives a daemon a tmpfs of a few megabytes in a mount namespace of our own, invisible
to other processes. Nodes are made until one is refused; then a ballast file goes away, and the same daemon
must take them again. In every second round it is killed while the disk is full, and started on it.
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys

import things as do
from daemon import Died, Patience, Trouble, Violation
from operators import World, look
from things import CHAIN, Node
from workspace import Workspace, add_build, program

INSIDE = "HALLIGAN_DISK_FULL_INSIDE"
BALLAST = 2 << 20
NODES_MAX = 20000
RECOVER_S = 30


def enter_namespace():
    """Run this script again in a mount namespace of its own. Root may do so at once; others
    become root of a user namespace first."""
    if os.environ.get(INSIDE):
        return
    environment = {**os.environ, INSIDE: "1"}
    ways = [["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]]
    for way in ways:
        if subprocess.run([*way, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvpe(way[0], [*way, "--", sys.executable, *sys.argv], environment)
    sys.exit("disk_full: this needs a mount namespace, and none can be made here")


class Disk:
    def __init__(self, path, size):
        self.path = pathlib.Path(path)
        self.path.mkdir()
        options = ["-t", "tmpfs", "-o", f"size={size}"]
        subprocess.run(["mount", *options, "tmpfs", self.path], check=True)
        self.ballast = self.path / "ballast"
        self.load()

    def load(self):
        self.ballast.write_bytes(bytes(BALLAST))

    def unload(self):
        self.ballast.unlink()

    def remove(self):
        subprocess.run(["umount", self.path], check=True)
        self.path.rmdir()


class Round:
    def __init__(self, options, space, number):
        self.disk = Disk(space.path / f"disk{number}", options.size)
        self.daemon = space.daemon(options.build, f"disk{number}/data")
        # Its log is not part of what it promises, and must not compete for the space.
        self.daemon.log_path = space.path / f"disk{number}.log"
        self.world = World(self.daemon, ["eve"], f"{options.seed}/{number}")
        self.chance = random.Random(f"{options.seed}/{number}")
        self.eve = self.world.operators[0]
        self.made = 0
        self.refused_start = False

    def begin(self):
        self.daemon.start()
        self.daemon.wait_ready()
        self.daemon.log_in()
        client = self.daemon.client()
        self.world.found(client)
        return client

    def one_node(self, client):
        """A node with a description of some kilobytes, so that the disk fills soon."""
        text = f"{self.chance.getrandbits(32):08x}" * self.chance.randint(1, 400)
        name = self.eve.fresh_name() + ".crash.example"
        return self.eve.perform(client, do.create_node(name, Node(text, "local", "system")))

    def fill(self, client):
        """Until it is refused, and refused in the right words."""
        for _ in range(NODES_MAX):
            answer = self.one_node(client)
            if answer.status not in (200, 201):
                break
            self.made += 1
        else:
            raise Violation(f"{NODES_MAX} nodes and the disk is not full")
        said = answer.text.lower()
        if answer.status not in (503, 507) or not ("disk" in said or "space" in said):
            raise Violation(f"a full disk is answered {answer.status} {answer.text[:300]}")

    def check_reads(self, client):
        """Everything that was acknowledged is shown, full or not."""
        self.eve.compare(look(client))

    def die_full(self):
        """Killed while full. Started on a full disk it serves or says why not; either way nothing
        is lost once there is space again."""
        self.daemon.kill()
        self.daemon.start()
        try:
            self.daemon.wait_ready()
        except Died as died:
            if died.code != 1:
                raise
            self.refused_start = True
            self.disk.unload()
            self.daemon.check()
            self.daemon.start()
            self.daemon.wait_ready()
        else:
            self.check_reads(self.daemon.client())
            self.disk.unload()
        return self.daemon.client()

    def recover(self, client):
        """With space again the same process goes on by itself."""
        patience = Patience(RECOVER_S, longest=0.1)
        while self.one_node(client).status not in (200, 201):
            if not patience.wait():
                raise Violation(f"there is space, but writes are refused for {RECOVER_S} s")
        self.made += 1

    def work_again(self, client):
        """Also runs, whose journal was on the full disk."""
        name = self.eve.fresh_name() + ".crash.example"
        self.eve.perform(client, do.create_node(name, Node("works", "local", "system")))
        self.eve.perform(client, do.bind(name, CHAIN[-1], "system", None))
        self.eve.perform(client, do.move_node(name, "commit"))
        sight = self.world.settle(client)
        if sight.by_key[name, CHAIN[-1]]["state"] != 0:
            raise Violation(f"a noderole does not become ACTIVE: {sight.by_key[name, CHAIN[-1]]}")

    def run(self, killed):
        client = self.begin()
        self.fill(client)
        self.check_reads(client)
        if killed:
            client = self.die_full()
        else:
            self.disk.unload()
        self.recover(client)
        self.work_again(client)
        client.close()
        self.daemon.end_well()
        self.daemon.check()


def run(options, space):
    rounds = []
    for number in range(1, options.rounds + 1):
        each = Round(options, space, number)
        rounds.append(each)
        try:
            each.run(killed=number % 2 == 0)
        except Trouble:
            # The mount ends with our namespace: what it holds is only seen outside as a copy.
            each.daemon.kill()
            shutil.copytree(each.daemon.data, space.path / "left", dirs_exist_ok=True)
            raise
        space.forget(each.daemon)
        each.disk.remove()
    print(
        f"{options.rounds} rounds on {options.size}, "
        f"{sum(each.made for each in rounds)} nodes acknowledged, "
        f"{sum(each.refused_start for each in rounds)} starts refused while the disk was full"
    )
    print("0 violations")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_build(parser)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--size", default="8m")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program(options.build)
    enter_namespace()
    with Workspace("disk") as space:
        run(options, space)


if __name__ == "__main__":
    main()
