"""Events: lists, streams, and logs of runs as streams."""
import urllib.parse

from daemon import Client, From, Own, basic
from stream import stream

FAR = "2001:db8:1:2:3:4:5:6"


def test_events_are_listed_oldest_first(daemon):
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


def test_events_are_listed_newest_first_on_request(daemon):
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


def test_the_audit_log_can_be_filtered_by_actor(daemon):
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


def test_unknown_parameters_are_refused(daemon):
    me = daemon.client()
    for path in ("events?after=x", "events?after=1", "events?limit=0", "events?limit=1001",
                 "audit?since=yesterday", "events?sort=-at", "events?verb.not=node_create", "audit?objekt=node",
                 "events?object_id=x", "audit?address=localhost", "audit?address=127.0.0.0/8", "audit?address=::",
                 "audit?address=fe80::1%25eth0", "events?address=1"):
        answer = me.get(path)
        assert answer.status == 400 and answer.json()["field"], answer


def test_events_of_one_object_are_found(daemon):
    me = daemon.client()
    made = me.post("nodes", {"name": "one.events.example.com"}).json()["id"]
    me.put(f"nodes/{made}", {"description": "told"})
    told = me.get(f"events?object=node&object_id={made}&limit=1")
    assert [e["verb"] for e in told.json()] == ["node_create"], told
    following = told.headers["Link"].split(">")[0].split("/api/v2/")[1]
    assert [e["verb"] for e in me.get(following).json()] == ["node_update"], following


def test_a_stream_sends_new_events_and_resumes(daemon):
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


def test_a_stream_that_breaks_before_its_first_event_can_be_resumed(daemon):
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


def test_a_stream_ends_when_its_token_is_deleted(daemon):
    me = daemon.client()
    made = me.post("tokens", {"name": "short"}).json()
    other = daemon.client()
    other.authorization = "Bearer " + made["token"]
    with stream(other, "events") as watched:
        assert me.delete(f"tokens/{made['id']}").status == 200
        while watched.next():
            pass


def test_a_stream_does_not_delay_a_stop(daemon):
    with Own(daemon) as own:
        own.start()
        with stream(own.client, "events") as watched:
            assert own.stop() == 0
            while watched.next():
                pass


def test_only_admins_see_actors(daemon):
    me = daemon.client()
    made = me.post("users", {"username": "watcher", "password": "watches", "access": "viewer"})
    assert made.status == 200, made
    token = me.post("tokens", {"name": "less", "access": "viewer"}).json()["token"]
    viewer = daemon.client()
    viewer.authorization = "Bearer " + token
    assert me.get("events?limit=1").json()[0]["actor"]
    assert me.get("events?limit=1&sort=-id").json()[0]["address"] == "127.0.0.1"
    assert not {"actor", "address"} & set(viewer.get("events?limit=1&sort=-id").json()[0])
    assert viewer.get("events?actor=daemon").status == 403
    assert viewer.get("events?address=127.0.0.1").status == 403
    assert viewer.get("audit").status == 403
    with stream(viewer, "events") as watched:
        assert me.post("nodes", {"name": "who.events.example.com"}).status == 200
        assert not {"actor", "address"} & set(watched.find("node_create")[1])
    assert me.delete("users/watcher").status == 200


# ---- the address of the client ----


def makes(peer, password, name, **headers):
    made = peer.ask("POST", "nodes", {"name": name + ".events.example.com"}, Content_Type="application/json",
                    Authorization=basic("admin", password), **headers)
    assert made.status == 200, made.text


def addresses(me, path="audit?verb=node_create"):
    """The address of each event, by the name of what was made."""
    rows = me.get(path)
    assert rows.status == 200, rows
    return {row["changes"]["name"][1].split(".")[0]: row["address"] for row in rows.json()}


def test_an_event_has_the_address_of_its_client(daemon):
    me = daemon.client()
    with stream(me, "events") as watched:
        made = me.post("nodes", {"name": "direct.events.example.com"},
                       headers={"X-Forwarded-For": "192.0.2.7", "Forwarded": "for=192.0.2.7"}).json()["id"]
        _, data = watched.find("node_create")
        assert data["object_id"] == made and data["address"] == "127.0.0.1", data
    for path in (f"events?object=node&object_id={made}", f"audit?object=node&object_id={made}"):
        (told,) = me.get(path).json()
        assert told["actor"] == "user admin" and told["address"] == "127.0.0.1", told
    # a machine that comes with the token of its node
    token = me.post(f"nodes/{made}/token", {}).json()["token"]
    node = Client(daemon.url, "Bearer " + token)
    assert node.put(f"nodes/{made}", {"alive": True}).status == 200
    told = me.get(f"audit?actor=node%20direct.events.example.com&object_id={made}").json()
    assert [row["address"] for row in told] == ["127.0.0.1"], told
    # events of the installation itself have none
    told = me.get("audit?actor=daemon&limit=1000").json()
    assert told and {row["address"] for row in told} == {None}, told
    # parts of one request
    made = me.post("nodes", [{"name": f"bulk{i}.events.example.com"} for i in range(2)])
    assert made.status == 200, made
    found = addresses(me, "audit?verb=node_create&sort=-id&limit=2")
    assert found == {"bulk0": "127.0.0.1", "bulk1": "127.0.0.1"}, found


def test_behind_a_trusted_proxy_the_address_is_the_last_hop(daemon):
    with Own(daemon) as own:
        own.start("--trusted-proxy", "127.0.0.2", "--log-level", "debug")
        proxy, other = From(own, "127.0.0.2"), From(own, "127.0.0.3")
        password = own.read("admin.password").strip()
        secure = {"X_Forwarded_Proto": "https"}
        makes(proxy, password, "one", X_Forwarded_For="198.51.100.1, 192.0.2.7", **secure)
        makes(proxy, password, "two", Forwarded=f'for=198.51.100.1, for="[{FAR.upper()}]:99";proto=https')
        makes(proxy, password, "mapped", X_Forwarded_For="::ffff:192.0.2.8", **secure)
        # a client that the proxy does not know, or that is not an address, has that of the proxy
        makes(proxy, password, "unknown", Forwarded="for=unknown;proto=https")
        makes(proxy, password, "text", X_Forwarded_For="192.0.2.7<b>", **secure)
        makes(proxy, password, "zero", X_Forwarded_For="::", **secure)
        makes(proxy, password, "itself")
        # a peer that is not a trusted proxy is not trusted
        makes(other, password, "liar", X_Forwarded_For="192.0.2.7", Forwarded="for=192.0.2.7")
        me = own.client
        wanted = {"one": "192.0.2.7", "two": FAR, "mapped": "192.0.2.8", "unknown": "127.0.0.2",
                  "text": "127.0.0.2", "zero": "127.0.0.2", "itself": "127.0.0.2", "liar": "127.0.0.3"}
        assert addresses(me) == wanted
        # the filter takes each form of an address, and pages keep to it
        upper = urllib.parse.quote(FAR.upper().replace(":3:", ":0003:"), safe="")
        assert addresses(me, f"audit?verb=node_create&address={upper}") == {"two": FAR}
        assert addresses(me, "events?verb=node_create&address=::ffff:192.0.2.7") == {"one": "192.0.2.7"}
        assert me.get("audit?address=198.51.100.1").json() == []
        page = me.get("audit?address=127.0.0.2&limit=3")
        following = page.headers["Link"].split(">")[0].split("/api/v2/")[1]
        names = [row["changes"]["name"][1].split(".")[0] for row in page.json() + me.get(following).json()]
        assert names == ["unknown", "text", "zero", "itself"], names
        # a failed login is logged with the same address, whole
        wrong = proxy.get("nodes", Authorization=basic("admin", "wrong"), X_Forwarded_For=FAR, **secure)
        assert wrong.status == 401, wrong.text
        own.says(f"user=admin address={FAR}")
        own.says(f'actor="user admin" address={FAR}')
        assert own.stop() == 0
