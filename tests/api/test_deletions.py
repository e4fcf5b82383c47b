"""Networks and name filters that are deleted in slices, over HTTP: what is shown and refused meanwhile, and that a
deletion continues when the daemon is killed. There are enough rows that a request arrives before the last slice."""
import os
import signal

from daemon import Own, eventually
from test_objects import check_error, make

COUNT = 3000
BULK = 500


def network_of_many(me, name, third, nodes):
    """A network 10.THIRD.0.0/16 in which each node has an address."""
    make(me, "networks", name=name, conduit="1g0",
         ranges=[{"name": "host", "first": f"10.{third}.0.10/16", "last": f"10.{third}.99.10/16"}])
    for at in range(0, len(nodes), BULK):
        answer = me.post("network_allocations", [{"node": node, "network": name} for node in nodes[at:at + BULK]])
        assert answer.status == 200, answer


def many_nodes(me, prefix):
    nodes = []
    for at in range(0, COUNT, BULK):
        answer = me.post("nodes", [{"name": f"{prefix}{i}.example.com"} for i in range(at, at + BULK)])
        assert answer.status == 200, answer
        nodes += [row["id"] for row in answer.json()]
    return nodes


def is_gone(me, path):
    return me.get(path).status == 404


def test_a_large_network_is_shown_as_deleting_and_refuses_what_would_add_to_it(daemon):
    with Own(daemon) as own:
        own.start()
        me = own.client
        nodes = many_nodes(me, "d")
        network_of_many(me, "wide", 200, nodes)
        late = make(me, "nodes", name="late.example.com")
        assert me.get("networks/wide?view=full").json()["deleting"] is False
        assert me.delete("networks/wide").status == 200
        shown = me.get("networks/wide?view=full")
        assert shown.status == 200 and shown.json()["deleting"] is True, shown
        assert "deleting" not in me.get("networks/wide").json()
        check_error(me.post("network_allocations", {"node": late["id"], "network": "wide"}), 409, "being_deleted", "network_id")
        assert me.delete("networks/wide").status == 200
        eventually(lambda: is_gone(me, "networks/wide"), "the network is deleted")
        assert me.get("network_allocations").json() == [] and me.get("network_ranges").json() == []
        assert me.delete("networks/wide").status == 404
        make(me, "networks", name="wide", conduit="1g0")


def test_a_deletion_continues_after_the_daemon_was_killed(daemon):
    with Own(daemon) as own:
        own.start()
        me = own.client
        network_of_many(me, "wide", 200, many_nodes(me, "k"))
        assert me.delete("networks/wide").status == 200
        own.process.send_signal(signal.SIGKILL)
        own.process.wait()
        os.unlink(own.path("listen"))
        own.start()
        me = own.client
        eventually(lambda: is_gone(me, "networks/wide"), "the network is deleted")
        assert me.get("network_allocations").json() == []
        own.stop()
        done = own.run("check")
        assert done.returncode == 0, done.stderr
