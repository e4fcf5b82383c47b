"""Twenty machines behind a real OpenSSH server: the same scripts, over there."""
import os
import shutil
import subprocess
import sys
import tempfile

from yard import ACTIVE, CANCELLED, ERROR, FAILED, OK, TRANSITION, eventually, overlapping

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jig"))

from sshd import Server, make_key  # noqa: E402

NODES = 20
POOL = ("--pool-normal", str(NODES))
WORK = 'say begin; write_attribute yard/from "$node"; gate one; say end'


class Far:
    """The server, in a directory of its own that goes with the yard."""

    def __init__(self, y):
        self.folder = tempfile.mkdtemp(prefix="halligan-far-")
        self.things = []
        y.things.append(self)
        self.server = Server(self, ("127.0.0.1", "127.0.0.2"))
        self.server.allow(y.path("ssh", "id_ed25519"))  # what the installation made for itself

    def place(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path, 0o700)
        return path

    def left(self):
        return os.listdir(self.server.tmp)

    def close(self):
        for thing in self.things:
            thing.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def machines(y, count):
    """Nodes that are found over there, known by their host keys, and ready to work."""
    far = Far(y)
    names = []
    for index in range(count):
        name = y.node(f"far{index}", admin=False, alive=False)
        address = far.server.addresses[index % 2]
        y.hammer(name, "ssh", endpoint=f"{address}:{far.server.port}", username=far.server.user)
        y.set_node(name, alive=True)
        names.append(name)
    for name in names:
        eventually(lambda: name + " " in y.read("ssh", "known_hosts"), f"{name} is pinned")
    return far, names


def test_twenty_machines_work_at_the_same_time(y):
    y.role("work", WORK)
    y.start(*POOL)
    far, nodes = machines(y, NODES)
    y.shut("one")
    bound = [y.run(node, "work") for node in nodes]
    y.wait_for("begin", NODES)
    y.kill()
    y.start(*POOL)
    assert [y.look(noderole)["state"] for noderole in bound] == [TRANSITION] * NODES
    y.open("one")
    for node, noderole in zip(nodes, bound):
        assert y.settles(noderole)["run_count"] == 1
        assert y.wall(noderole) == {"yard": {"from": node}}
        assert y.results(noderole) == [OK]
    assert overlapping(y.ledger()) == NODES
    assert sorted(line.node for line in y.ledger("begin")) == sorted(nodes)
    assert far.left() == [], "the machines are clean"


def test_what_goes_wrong_over_there_is_said(y):
    y.role("fails", "say ran; echo not here >&2; exit 3")
    y.role("stops", "say ran; exit 16")
    y.start()
    far, nodes = machines(y, 2)
    fails, stops = y.run(nodes[0], "fails"), y.run(nodes[1], "stops")
    failed = y.reaches(fails, ERROR)
    assert "not here\n" in failed["runlog"] and "ended with status 3" in failed["runlog"], failed
    y.reaches(stops, ACTIVE)
    assert y.one("SELECT stopped FROM node WHERE name = ?", nodes[1])["stopped"]
    assert len(y.ledger("ran")) == 2 and far.left() == []


def test_a_cancel_ends_the_work_over_there_as_well(y):
    y.role("slow", f"say begin; setsid sleep {y.long} & sleep {y.long}; say end")
    y.start()
    far, nodes = machines(y, 1)
    noderole = y.run(nodes[0], "slow")
    y.wait_for("begin")
    assert y.me.put(f"runs/{y.runs()[0]['id']}/cancel").status == 200
    eventually(lambda: not y.runs(), "it has stopped")
    assert y.strays() == [], y.strays()
    assert y.results(noderole) == [CANCELLED] and far.left() == []
    y.role("slow", "say again")
    y.verb(noderole, "retry")
    assert y.settles(noderole)["run_count"] == 1


def unshare(y):
    """Ends the connection that runs share; for a minute there is no other."""
    control = y.path("ssh", "control")
    name = eventually(lambda: [n for n in os.listdir(control) if "." not in n], "it is there")[0]
    subprocess.run(["ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={control}/{name}",
                    "any"], check=True, capture_output=True)
    eventually(lambda: not os.listdir(control), "it is gone")


def fails_with(y, noderole, *parts):
    y.verb(noderole, "retry")
    eventually(lambda: not y.runs(noderole), "it ended")
    failed = y.reaches(noderole, ERROR)
    assert all(part in failed["runlog"] for part in parts), failed
    assert y.results(noderole)[-1] == FAILED


def test_each_way_that_ssh_fails_has_its_sentence(y):
    y.role("work", "say ran")
    y.start()
    far, nodes = machines(y, 1)
    server, node = far.server, nodes[0]
    noderole = y.run(node, "work")
    y.settles(noderole)
    where = f"ssh to node {node} (127.0.0.1 port {server.port}): "
    server.allow(make_key(os.path.join(server.folder, "somebody")))
    unshare(y)
    fails_with(y, noderole, where, "it does not accept the key of this installation")
    server.allow(y.path("ssh", "id_ed25519"))
    y.hammer(node, "ssh", endpoint="127.0.0.1:1")  # where nobody is
    fails_with(y, noderole, "nothing listens there")
    stranger = Far(y)
    y.hammer(node, "ssh", endpoint=f"127.0.0.1:{stranger.server.port}")
    fails_with(y, noderole, "its host key is not the one that was pinned")
    assert len(y.ledger()) == 1
    y.hammer(node, "ssh", endpoint=f"127.0.0.1:{server.port}")
    y.verb(noderole, "retry")
    y.reaches(noderole, ACTIVE)
    assert len(y.ledger()) == 2
