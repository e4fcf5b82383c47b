"""What a page that shows live states reads: changes since a turn, boards, counts, health.

Each test has objects of its own; the daemon is shared with other tests, so changes of other objects
may be in a reply.
"""
import gzip
import json
import threading

from daemon import Client, eventually
from stream import stream
from test_objects import make

ACTIVE, PROPOSED, ERROR, TODO = 0, 4, -1, 1
KINDS = ("noderoles", "nodes", "deployments", "runs")


def turn_now(me):
    reply = me.get("changes")
    assert reply.status == 200, reply
    return reply.json()["turn"]


def collected(me, since, query=""):
    """All changes after `since`, as one message."""
    found = {kind: [] for kind in KINDS}
    found["deleted"] = {kind: [] for kind in KINDS}
    while True:
        message = me.get(f"changes?since={since}{query}").json()
        assert not message["reset"], message
        for kind in KINDS:
            found[kind] += message[kind]
            found["deleted"][kind] += message["deleted"][kind]
        if message["turn"] == since:
            return found
        since = message["turn"]


def test_changes_list_what_changed_since_a_turn(daemon):
    me = daemon.client()
    before = turn_now(me)
    lab = make(me, "deployments", name="live1")["id"]
    node = make(me, "nodes", name="live1.example.com", deployment="live1", alive=True, available=True)["id"]
    bound = make(me, "node_roles", node="live1.example.com", role="base")["id"]
    found = collected(me, before)
    assert lab in found["deployments"] and node in found["nodes"]
    assert [bound, PROPOSED] in found["noderoles"]
    between = turn_now(me)
    me.put("deployments/live1/commit")
    eventually(lambda: me.get(f"node_roles/{bound}").json()["state"] == ACTIVE, "active")
    found = collected(me, between)
    states = dict(map(tuple, found["noderoles"]))
    assert states[bound] == ACTIVE, found
    assert node in found["nodes"] and lab in found["deployments"], found
    assert found["deleted"]["runs"], found  # the run that made it active has ended
    between = turn_now(me)
    assert me.delete(f"node_roles/{bound}").status in (200, 409)
    assert me.delete("nodes/live1.example.com").status == 200
    found = collected(me, between)
    assert node in found["deleted"]["nodes"] and bound in found["deleted"]["noderoles"], found
    assert node not in found["nodes"] and bound not in dict(map(tuple, found["noderoles"])), found


def test_changes_of_one_deployment(daemon):
    me = daemon.client()
    before = turn_now(me)
    bound = {}
    for name in ("live2a", "live2b"):
        make(me, "deployments", name=name)
        make(me, "nodes", name=f"{name}.example.com", deployment=name)
        bound[name] = make(me, "node_roles", node=f"{name}.example.com", role="base")["id"]
    found = collected(me, before, "&deployment=live2a")
    ids = [row[0] for row in found["noderoles"]]
    assert bound["live2a"] in ids and bound["live2b"] not in ids, found
    mine = me.get("deployments/live2a").json()["id"]
    assert found["deployments"] == [mine], found


def test_an_unknown_turn_is_a_reset(daemon):
    me = daemon.client()
    now = turn_now(me)
    for since in (0, now + 1000000):
        message = me.get(f"changes?since={since}").json()
        assert message["reset"] and message["turn"] >= now, message
        assert all(message[kind] == [] for kind in KINDS), message
    for query, field in (("since=x", "since"), ("since=-1", "since"), ("deployment=nowhere", "deployment"),
                         ("sinse=1", "sinse")):
        reply = me.get("changes?" + query)
        assert reply.status in (400, 404) and reply.json()["field"] == field, reply
    reply = me.get("changes", headers={"Accept": "text/event-stream", "Last-Event-ID": "x"})
    assert reply.status == 400 and reply.json()["field"] == "Last-Event-ID", reply
    assert daemon.stranger().get("changes").status == 401


def test_a_stream_of_changes(daemon):
    me = daemon.client()
    with stream(me, "changes") as live:
        begin = int(live.find_place())
        node = make(me, "nodes", name="live3.example.com")["id"]
        seen = []
        while node not in seen:
            kind, at, message = live.next()
            assert kind == "change" and int(at) == message["turn"] > begin, message
            seen += message["nodes"]
    # A client whose connection broke continues after the last id, and misses nothing.
    other = make(me, "nodes", name="live4.example.com")["id"]
    with stream(me, "changes", **{"Last-Event-ID": str(at)}) as live:
        kind, _, message = live.next()
        assert kind == "change" and other in message["nodes"], message
    with stream(me, "changes?since=0") as live:
        kind, _, message = live.next()
        assert kind == "reset" and message["reset"], message


def test_a_stream_sends_at_most_one_message_in_250_ms(daemon):
    me = daemon.client()
    texts = [[], []]

    def read(lines):
        with stream(me, "changes") as live:
            lines.append(live.find_place())
            ready.release()
            while True:
                _, at, message = live.next()
                lines.append((int(at), json.dumps(message), time_now()))
                if last.is_set() and message["turn"] >= end[0]:
                    return

    import time
    time_now, ready, last, end = time.monotonic, threading.Semaphore(0), threading.Event(), [0]
    readers = [threading.Thread(target=read, args=(lines,)) for lines in texts]
    for reader in readers:
        reader.start()
    for _ in readers:
        ready.acquire()
    until = time_now() + 1.2
    n = 0
    while time_now() < until:
        make(me, "nodes", name=f"live5-{n}.example.com")
        n += 1
    end[0] = turn_now(me)
    last.set()
    make(me, "nodes", name="live5-last.example.com")
    for reader in readers:
        reader.join(30)
        assert not reader.is_alive()
    for lines in texts:
        times = [at for _, _, at in lines[1:]]
        assert len(times) <= (times[-1] - times[0]) / 0.25 + 2, times
        nodes = {node for _, text, _ in lines[1:] for node in json.loads(text)["nodes"]}
        assert len(nodes) >= n
    # Both read the same turns at the same time.
    shared = {text for _, text, _ in texts[0][1:]} & {text for _, text, _ in texts[1][1:]}
    assert len(shared) >= 2, texts


def test_a_stream_of_changes_ends_with_its_credentials(daemon):
    me = daemon.client()
    token = me.post("tokens", {"name": "live6"}).json()
    with stream(Client(daemon.url, "Bearer " + token["token"]), "changes") as live:
        live.find_place()
        assert me.delete(f"tokens/{token['id']}").status == 200
        while live.next():
            pass
