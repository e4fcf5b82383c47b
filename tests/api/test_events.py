"""What happened, and what happens: lists, streams, logs that are followed."""
from daemon import Own
from stream import stream


def test_what_was_done_is_told_oldest_first(daemon):
    me = daemon.client()
    names = [f"told{i}.events.example.com" for i in range(3)]
    ids = [me.post("nodes", {"name": name}).json()["id"] for name in names]
    found, after = [], "0.0"
    while True:
        answer = me.get(f"events?after={after}&limit=7")
        assert answer.status == 200, answer
        rows = answer.json()
        assert len(rows) <= 7
        found += [row for row in rows if row["verb"] == "node_create"]
        if "Link" not in answer.headers:
            break
        after = rows[-1]["id"]
    mine = [row for row in found if row["object_id"] in ids]
    assert [row["object_id"] for row in mine] == ids
    assert all(row["actor"] == "user admin" and row["object"] == "node" for row in mine), mine
    order = [tuple(map(int, row["id"].split("."))) for row in found]
    assert order == sorted(order) and len(set(order)) == len(order)


def test_what_happened_is_told_newest_first_when_asked_so(daemon):
    me = daemon.client()
    ids = [me.post("nodes", {"name": f"back{i}.events.example.com"}).json()["id"] for i in range(3)]
    found, path = [], "events?sort=-id&limit=4&verb=node_create&object=node"
    while path and not set(ids) <= {row["object_id"] for row in found}:
        answer = me.get(path)
        assert answer.status == 200 and len(answer.json()) <= 4, answer
        found += answer.json()
        link = answer.headers.get("Link")
        path = link[1 : link.index(">")] if link else None
    assert [row["object_id"] for row in found if row["object_id"] in ids] == ids[::-1]
    order = [tuple(map(int, row["id"].split("."))) for row in found]
    assert order == sorted(order, reverse=True) and len(set(order)) == len(order)
    (last,) = me.get("events?sort=-id&limit=1").json()
    assert last["id"] not in [row["id"] for row in me.get(f"events?after={last['id']}").json()]
    assert me.get(f"events?sort=-id&after={last['id']}&limit=1").json()[0]["id"] != last["id"]
    assert me.get("events?sort=-id&after=1.0").json() == []
    assert me.get("events?sort=id&limit=2").json() == me.get("events?limit=2").json()


def test_an_audit_finds_who_did_what(daemon):
    me = daemon.client()
    node = me.post("nodes", {"name": "audited.events.example.com"}).json()["id"]
    assert me.put(f"nodes/{node}", {"description": "seen"}).status == 200
    found, path = [], "audit?verb=node_update&object=node&actor=user%20admin&limit=2"
    while path:
        answer = me.get(path)
        assert answer.status == 200 and len(answer.json()) <= 2, answer
        found += answer.json()
        link = answer.headers.get("Link")
        path = link[1 : link.index(">")] if link else None
    assert {row["verb"] for row in found} == {"node_update"}
    mine = [row for row in found if row["object_id"] == node]
    assert [row["changes"]["description"] for row in mine] == [["", "seen"]], mine
    assert me.get("audit?since=2100-01-01T00:00:00Z").json() == []
    assert me.get("audit?actor=nobody").json() == []


def test_what_means_nothing_is_refused(daemon):
    me = daemon.client()
    for path in ("events?after=x", "events?after=1", "events?limit=0", "events?limit=1001",
                 "audit?since=yesterday", "events?sort=-at", "events?verb.not=node_create", "audit?objekt=node",
                 "events?object_id=x"):
        answer = me.get(path)
        assert answer.status == 400 and answer.json()["field"], answer


def test_what_happened_to_one_object_is_found(daemon):
    me = daemon.client()
    made = me.post("nodes", {"name": "one.events.example.com"}).json()["id"]
    me.put(f"nodes/{made}", {"description": "told"})
    told = me.get(f"events?object=node&object_id={made}&limit=1")
    assert [e["verb"] for e in told.json()] == ["node_create"], told
    following = told.headers["Link"].split(">")[0].split("/api/v2/")[1]
    assert [e["verb"] for e in me.get(following).json()] == ["node_update"], following


def test_a_stream_tells_what_happens_and_goes_on_where_it_was_left(daemon):
    me = daemon.client()
    with stream(me, "events") as watched:
        made = me.post("nodes", {"name": "live1.events.example.com"}).json()["id"]
        at, data = watched.find("node_create")
        assert data["object_id"] == made
    missed = me.post("nodes", {"name": "live2.events.example.com"}).json()["id"]
    with stream(me, "events", **{"Last-Event-ID": at}) as watched:
        _, data = watched.find("node_create")
        assert data["object_id"] == missed
        later = me.post("nodes", {"name": "live3.events.example.com"}).json()["id"]
        _, data = watched.find("node_create")
        assert data["object_id"] == later
    refused = me.get("events", headers={"Accept": "text/event-stream", "Last-Event-ID": "x"})
    assert refused.status == 400, refused


def test_a_stream_that_breaks_before_its_first_event_can_be_taken_up(daemon):
    me = daemon.client()
    with stream(me, "events") as watched:
        place = watched.find_place()
    missed = me.post("nodes", {"name": "place.events.example.com"}).json()["id"]
    with stream(me, "events", **{"Last-Event-ID": place}) as watched:
        _, data = watched.find("node_create")
        assert data["object_id"] == missed


def test_the_next_page_keeps_to_the_same_time(daemon):
    me = daemon.client()
    first = me.get("audit?since=2015-01-02T03:04:05Z&limit=1")
    assert "&since=1420167845000" in first.headers["Link"], first.headers
    following = first.headers["Link"].split(">")[0].split("/api/v2/")[1]
    assert len(me.get(following).json()) == 1


def test_a_stream_can_begin_at_the_beginning(daemon):
    me = daemon.client()
    listed = me.get("events?limit=20").json()
    with stream(me, "events?after=0.0") as watched:
        assert [watched.next()[2] for _ in listed] == listed


def test_a_stream_ends_when_its_token_is_gone(daemon):
    me = daemon.client()
    made = me.post("tokens", {"name": "short"}).json()
    other = daemon.client()
    other.authorization = "Bearer " + made["token"]
    with stream(other, "events") as watched:
        assert me.delete(f"tokens/{made['id']}").status == 200
        while watched.next():
            pass


def test_a_stream_does_not_keep_the_daemon(daemon):
    with Own(daemon) as own:
        own.start()
        with stream(own.client, "events") as watched:
            assert own.stop() == 0
            while watched.next():
                pass


def test_who_did_it_is_told_to_admins_only(daemon):
    me = daemon.client()
    made = me.post("users", {"username": "watcher", "password": "watches", "access": "viewer"})
    assert made.status == 200, made
    token = me.post("tokens", {"name": "less", "access": "viewer"}).json()["token"]
    viewer = daemon.client()
    viewer.authorization = "Bearer " + token
    assert me.get("events?limit=1").json()[0]["actor"]
    assert "actor" not in viewer.get("events?limit=1").json()[0]
    assert viewer.get("events?actor=daemon").status == 403
    assert viewer.get("audit").status == 403
    with stream(viewer, "events") as watched:
        assert me.post("nodes", {"name": "who.events.example.com"}).status == 200
        assert "actor" not in watched.find("node_create")[1]
    assert me.delete("users/watcher").status == 200
