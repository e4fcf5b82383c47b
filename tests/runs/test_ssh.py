"""Twenty machines, each a real OpenSSH server with a host key of its own: the same scripts, over there."""
import os
import shutil
import subprocess
import sys
import tempfile

from yard import ACTIVE, CANCELLED, ERROR, FAILED, OK, TRANSITION, eventually, overlapping

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jig"))

from daemon import Client, basic  # noqa: E402
from sshd import Server, make_key  # noqa: E402

NODES = 20
POOL = ("--pool-normal", str(NODES))
WORK = 'say begin; write_attribute yard/from "$node"; gate one; say end'


class Far:
    """Servers, in a directory of their own that goes with the yard. Each is a machine."""

    def __init__(self, y, count=1):
        self.folder = tempfile.mkdtemp(prefix="halligan-far-")
        self.things = []
        y.things.append(self)
        self.servers = []
        for index in range(count):
            server = Server(self, (f"127.0.0.{1 + index % 2}",))
            server.allow(y.path("ssh", "id_ed25519"))  # what the installation made for itself
            self.servers.append(server)
        self.server = self.servers[0]

    def place(self, name):
        path = os.path.join(self.folder, f"{name}{len(self.things)}")
        os.mkdir(path, 0o700)
        return path

    def left(self):
        return [name for server in self.servers for name in os.listdir(server.tmp)]

    def close(self):
        for thing in self.things:
            thing.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def pins(y, node):
    """Type and base64 of the host keys that are pinned for it."""
    return [row["key"] for row in y.rows(
        "SELECT key FROM host_key JOIN node ON node.id = node_id WHERE node.name = ?", node)]


def reach(y, node, server):
    y.hammer(node, "ssh", endpoint=f"{server.addresses[0]}:{server.port}", username=server.user)


def machines(y, count):
    """Nodes that are found over there, known by their host keys, and ready to work."""
    far = Far(y, count)
    names = []
    for index in range(count):
        name = y.node(f"far{index}", admin=False, alive=False)
        reach(y, name, far.servers[index])
        y.set_node(name, alive=True)
        names.append(name)
    for name in names:
        eventually(lambda: pins(y, name), f"{name} is pinned")
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


def test_a_forgotten_key_gives_another_shared_connection(y):
    """ssh checks no host key when it goes through the socket of an open connection."""
    y.role("work", "say ran")
    y.start()
    _, nodes = machines(y, 1)
    control = y.path("ssh", "control")
    sockets = lambda: {name for name in os.listdir(control) if "." not in name}  # noqa: E731
    noderole = y.run(nodes[0], "work")
    y.settles(noderole)
    before = eventually(sockets, "it is there")
    assert y.me.put(f"nodes/{nodes[0]}/forget_key").status == 200
    eventually(lambda: pins(y, nodes[0]), "it is pinned again")
    y.verb(noderole, "retry")
    y.settles(noderole)
    eventually(lambda: sockets() - before, "runs share another one")


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
    y.hammer(node, "ssh", endpoint="127.0.0.1:1")  # nothing listens there
    fails_with(y, noderole, "nothing listens there")
    stranger = Far(y)
    y.hammer(node, "ssh", endpoint=f"127.0.0.1:{stranger.server.port}")
    fails_with(y, noderole, "its host key is not the one that was pinned")
    assert len(y.ledger()) == 1
    y.hammer(node, "ssh", endpoint=f"127.0.0.1:{server.port}")
    y.verb(noderole, "retry")
    y.reaches(noderole, ACTIVE)
    assert len(y.ledger()) == 2


def node_fails(y, node, reason, subject):
    """Its probe does, and that is stored as its reason."""
    def look():
        row = y.me.get(f"nodes/{node}?view=full").json()
        return row if not row["alive"] else None

    row = eventually(look, f"{node} is not alive")
    assert (row["reason"], row["reason_subject"]) == (reason, subject), row
    return row


def test_a_grant_in_one_deployment_is_no_root_in_another(y):
    """A node of `lab` whose address leads to a machine of `prod` is refused at first contact."""
    y.role("work", "say ran")
    y.start()
    far, (prod,) = machines(y, 1)
    ids = {}
    for name in ("lab", "prod"):
        ids[name] = y.me.post("deployments", {"name": name, "parent": "system"}).json()["id"]
    y.set_node(prod, deployment="prod")
    password = "lab-operator-1"
    answer = y.me.post("users", {"username": "laboper", "email": "lab@example.com",
                                 "password": password, "access": "viewer",
                                 "grants": {str(ids["lab"]): "operator"}})
    assert answer.status == 200, answer
    lab = Client(y.read("listen").strip(), basic("laboper", password))
    # neither a node of that name nor its address can be made by an operator of lab
    assert lab.post("nodes", {"name": "alias.example.com", "deployment": "lab"}).status == 403
    # and where a node of lab was given that address, its first contact shows the key of prod
    trap = y.node("trap", admin=False, alive=False, deployment="lab")
    assert lab.post("hammers", {"node": trap, "available_hammer": "ssh", "username": "root",
                                "endpoint": "127.0.0.1"}).status == 403
    reach(y, trap, far.server)
    noderole = lab.post("node_roles", {"node": trap, "role": "work", "deployment": "lab"})
    assert noderole.status == 200, noderole
    noderole = noderole.json()["id"]
    assert lab.put("deployments/lab/commit").status == 200
    assert lab.put(f"nodes/{trap}", {"alive": True}).status == 200
    node_fails(y, trap, "host_key_taken", prod)
    assert lab.put(f"nodes/{prod}/forget_key").status == 403
    assert lab.put(f"nodes/{trap}/forget_key").status == 403
    assert pins(y, trap) == [] and len(pins(y, prod)) == 1
    assert y.ledger("ran") == [] and not y.results(noderole)
    # the machine still works for its own node, and the node of lab on a machine of its own
    own = y.bind(prod, "work", deployment="prod")
    assert y.me.put("deployments/prod/commit").status == 200
    y.settles(own)
    reach(y, trap, Far(y).server)
    assert lab.put(f"nodes/{trap}", {"alive": True}).status == 200
    y.settles(noderole)
    assert [line.node for line in y.ledger("ran")] == [prod, trap]


def change_key(server):
    server.stop()
    os.unlink(os.path.join(server.folder, "host_key"))
    make_key(os.path.join(server.folder, "host_key"))
    server.start()


def test_a_changed_host_key_is_refused_until_it_is_forgotten(y):
    y.role("work", "say ran")
    y.start()
    far, (node,) = machines(y, 1)
    noderole = y.run(node, "work")
    y.settles(noderole)
    before = pins(y, node)
    unshare(y)
    change_key(far.server)
    reach(y, node, far.server)
    # a run
    y.verb(noderole, "retry")
    eventually(lambda: not y.runs(noderole), "it ended")
    y.reaches(noderole, ERROR)
    failed = y.history(noderole)[-1]
    assert failed["reason_subject"] == node, failed
    assert y.api_runs(noderole)[0]["reason"] == "host_key_changed"
    # a probe
    y.set_node(node, alive=False)
    y.set_node(node, alive=True)
    node_fails(y, node, "host_key_changed", node)
    why = y.me.get(f"nodes/{node}/why").text
    assert "host_key_changed" in why and "forget-key" in why, why
    assert pins(y, node) == before and len(y.ledger("ran")) == 1
    # until an operator removes the pin
    assert y.me.put(f"nodes/{node}/forget_key").status == 200
    events = [event["verb"] for event in y.rows("SELECT verb FROM event")]
    assert events.count("node_forget_key") == 1, events
    assert pins(y, node) == []
    y.set_node(node, alive=True)
    eventually(lambda: pins(y, node), "it is pinned again")
    assert pins(y, node) != before
    y.settles(noderole)
    assert len(y.ledger("ran")) == 2


def test_a_forgotten_key_of_a_live_node_is_asked_for_at_once(y):
    y.role("work", "say ran")
    y.start()
    far, (node,) = machines(y, 1)
    before = pins(y, node)
    assert y.me.put(f"nodes/{node}/forget_key").status == 200
    eventually(lambda: pins(y, node), "it is pinned again")
    assert pins(y, node) == before
    y.settles(y.run(node, "work"))


def test_pins_are_the_stores_and_outlive_the_file(y):
    """Also on a machine that a backup was restored to, which has no such file."""
    y.role("work", "say ran")
    y.start()
    far, nodes = machines(y, 2)
    y.stop()
    os.unlink(y.path("ssh", "known_hosts"))
    y.start()
    for node in nodes:
        y.settles(y.run(node, "work"))
    assert len(y.ledger("ran")) == 2
    name = "renamed." + nodes[0]
    y.set_node(nodes[0], name=name)
    assert len(pins(y, name)) == 1
