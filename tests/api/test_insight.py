"""Looking into it: snapshots, plans, reasons, status, inventory, metrics."""
from daemon import eventually
from test_content import Shop
from test_objects import TIME, check_error, make, vnd
from test_running import ACTIVE, ERROR, PROPOSED, bind, reaches, ready_node

SNAPSHOT = set(
    "id state name description order deployment_id snapshot_id created_at updated_at".split()
)
ARCHIVED, OPEN, COMMITTED, DONE, BROKEN = -1, 0, 1, 2, 3


def becomes(me, deployment, state):
    eventually(
        lambda: me.get(f"deployments/{deployment}").json()["state"] == state,
        f"deployment {deployment} in state {state}",
    )


def settled(me, name, node, role="middle", **fields):
    """A deployment of that name with that node, committed and active."""
    d = make(me, "deployments", name=name)
    ready_node(me, node, deployment=name)
    nr = bind(me, node, role, **fields)
    assert me.put(f"deployments/{name}/commit").status == 200
    becomes(me, name, 2)
    return d, nr


def edit(me, noderole, data):
    """Through a proposal, up to ACTIVE again."""
    assert me.put(f"node_roles/{noderole}/propose").status == 200
    assert me.put(f"node_roles/{noderole}", {"data": data}).status == 200
    assert me.put(f"node_roles/{noderole}/commit").status == 200
    reaches(me, noderole, ACTIVE)


# ---- the timeline ----


def test_case_184_snapshots_of_the_system_deployment(daemon):
    me = daemon.client()
    answer = me.get("snapshots/system")
    assert answer.status == 200 and answer.type == vnd("snapshot", "obj"), answer
    head = answer.json()
    assert set(head) == SNAPSHOT and len(head) == 9, answer
    assert head["deployment_id"] == 1 and head["snapshot_id"] is None and head["order"] == 1000
    assert head["description"] is None and head["state"] in (COMMITTED, DONE, BROKEN), answer
    assert TIME.match(head["created_at"]) and TIME.match(head["updated_at"])
    assert me.get("deployments/system/head").json() == head
    assert me.get(f"snapshots/{head['id']}").json() == head
    check_error(me.get("deployments/system/next"), 404, "not_found", "id")
    check_error(me.get("snapshots/nobody"), 404, "not_found", "id")
    check_error(me.get("snapshots/999999"), 404, "not_found", "id")
    full = me.get("snapshots/system?view=full").json()
    assert set(full) == SNAPSHOT | {"seq", "committed_at", "archived_at", "actor", "counts"}, full


def test_case_178_a_new_deployment_has_one_proposed_head(daemon):
    me = daemon.client()
    d = make(me, "deployments", name="tl-new")
    listed = me.get("deployments/tl-new/snapshots")
    assert listed.status == 200 and listed.type == vnd("snapshot", "list"), listed
    [head] = listed.json()
    assert head["state"] == OPEN and head["deployment_id"] == d["id"] and head["name"] == "tl-new"
    assert head in me.get("snapshots").json()
    assert me.get("snapshots/sample").json() == {
        "state": 0, "name": None, "description": None, "order": 1000
    }
    assert me.post("snapshots/match", {"deployment_id": d["id"]}).json() == [head]
    assert me.get(f"snapshots?deployment_id={d['id']}&state=proposed").json() == [head]
    assert me.get(f"snapshots?deployment_id={d['id']}&state=archived").json() == []
    for method in ("DELETE", "POST"):
        path = f"snapshots/{head['id']}" if method == "DELETE" else "snapshots"
        check_error(me.ask(method, path), 405, "not_supported")


def test_case_179_180_commit_propose_and_the_link_to_the_predecessor(daemon):
    me = daemon.client()
    d, nr = settled(me, "tl-walk", "tl1.example.com", data={"size": 1})
    first = me.get("snapshots/tl-walk").json()
    assert first["state"] == DONE, first
    check_error(me.get(f"snapshots/{first['id']}/next"), 404, "not_found", "id")
    answer = me.put(f"snapshots/{first['id']}/propose", {"name": "second"})
    assert answer.status == 200 and answer.type == vnd("snapshot", "obj"), answer
    second = answer.json()
    assert second["state"] == OPEN and second["snapshot_id"] == first["id"], second
    assert second["order"] == first["order"] + 1 and second["name"] == "second"
    assert me.get(f"snapshots/{first['id']}").json()["state"] == ARCHIVED
    for path in (f"snapshots/{first['id']}/next", f"deployments/tl-walk/next?snapshot={first['id']}"):
        assert me.get(path).json() == second
    other = me.get(f"deployments/system/next?snapshot={first['id']}")
    check_error(other, 404, "not_found", "snapshot")
    ids = [s["id"] for s in me.get("deployments/tl-walk/snapshots").json()]
    assert ids == [second["id"], first["id"]]
    # Verbs are for the head alone.
    for verb in ("propose", "commit", "recall"):
        check_error(me.put(f"snapshots/{first['id']}/{verb}"), 409, "wrong_state", "id")
    # The data was taken over.
    assert me.put(f"snapshots/{second['id']}/commit").json()["state"] == DONE
    assert me.put("snapshots/tl-walk/recall").json()["state"] == OPEN
    assert me.put("snapshots/tl-walk/commit").json()["state"] == DONE
    stale = me.put("snapshots/tl-walk/recall", headers={"If-Match": '"1"'})
    check_error(stale, 412, "precondition_failed", "if_turn")
    assert reaches(me, nr, ACTIVE)["deployment_id"] == d["id"]


def test_case_181_the_system_deployment_is_neither_proposed_nor_recalled(daemon):
    me = daemon.client()
    for verb in ("propose", "recall"):
        check_error(me.put(f"snapshots/system/{verb}"), 409, "system_deployment", "id")


def test_case_181_182_a_running_head_is_recalled_and_resumes(daemon):
    me = daemon.client()
    make(me, "deployments", name="tl-run")
    ready_node(me, "tl2.example.com", deployment="tl-run")
    nr = bind(me, "tl2.example.com", "base", data={"async": True})
    head = me.put("snapshots/tl-run/commit").json()
    assert head["state"] == COMMITTED, head
    reaches(me, nr, 2)
    again = me.put("snapshots/tl-run/propose").json()
    assert again["id"] == head["id"] and again["state"] == OPEN, again
    chain = me.get("deployments/tl-run/why").json()["chain"]
    assert [c["code"] for c in chain] == ["head_proposed"], chain
    assert me.put("snapshots/tl-run/commit").json()["state"] == COMMITTED
    assert me.put(f"node_roles/{nr}/retry").status == 200
    becomes(me, "tl-run", 2)


def test_case_183_what_is_archived_does_not_change(daemon):
    me = daemon.client()
    d, nr = settled(me, "tl-old", "tl3.example.com", data={"size": 1, "deep": {"a": 1, "b": 2}})
    first = me.get("snapshots/tl-old").json()
    live = me.get(f"snapshots/{first['id']}/node_roles").json()
    assert [n["id"] for n in live] == [n["id"] for n in me.get("deployments/tl-old/node_roles").json()]
    edit(me, nr, {"size": 2, "deep": {"a": 1, "b": 3}})
    second = me.get("snapshots/tl-old").json()
    assert second["snapshot_id"] == first["id"] and second["state"] == DONE, second
    extra = bind(me, "tl3.example.com", "top")
    assert me.put(f"node_roles/{extra}/commit").status == 200
    reaches(me, extra, ACTIVE)
    edit(me, nr, {"size": 3})
    third = me.get("snapshots/tl-old").json()

    def held(snapshot):
        answer = me.get(f"snapshots/{snapshot['id']}/node_roles")
        assert answer.status == 200 and answer.type == vnd("node_role", "list"), answer
        return {n["role"]: n["data"] for n in answer.json()}

    old = {"base": {}, "middle": {"size": 1, "deep": {"a": 1, "b": 2}}}
    assert held(first) == old
    assert held(second) == {**old, "middle": {"size": 2, "deep": {"a": 1, "b": 3}}}
    only = me.get(
        f"snapshots/{first['id']}/node_roles", headers={"x-return-attributes": '["node"]'}
    )
    assert only.json() == [{"node": "tl3.example.com"}] * 2, only
    nodes = me.get(f"snapshots/{first['id']}/nodes").json()
    assert [n["name"] for n in nodes] == ["tl3.example.com"]
    roles = me.get(f"snapshots/{first['id']}/roles").json()
    assert sorted(r["name"] for r in roles) == ["base", "middle"]
    graph = me.get(f"snapshots/{first['id']}/graph")
    check_error(graph, 409, "wrong_state", "id")

    def diff(a, b):
        answer = me.get(f"snapshots/{a['id']}/diff/{b['id']}")
        assert answer.status == 200 and answer.type == vnd("diff", "obj"), answer
        return answer.json()

    told = diff(first, second)
    assert told["from"] == 1 and told["to"] == 2 and not told["added"] and not told["removed"], told
    [change] = told["changed"]
    assert change["paths"] == ["deep/b", "size"] and change["role_name"] == "middle", change
    assert change["node_name"] == "tl3.example.com"
    told = diff(first, third)
    assert [a["role_name"] for a in told["added"]] == ["top"], told
    assert told["changed"][0]["paths"] == ["deep", "size"], told
    assert [r["role_name"] for r in diff(third, first)["removed"]] == ["top"]
    same = diff(first, first)
    assert not same["added"] and not same["changed"] and not same["removed"]
    other = me.get(f"snapshots/{first['id']}/diff/{me.get('snapshots/system').json()['id']}")
    check_error(other, 400, "bad_value", "id")
    check_error(me.get(f"snapshots/{first['id']}/diff/999999"), 404, "not_found", "id")
    assert d["id"] == first["deployment_id"]


def test_snapshots_are_named_and_described(daemon):
    me = daemon.client()
    make(me, "deployments", name="tl-name")
    changed = me.put("snapshots/tl-name", {"name": "before lunch", "description": "d"})
    assert changed.json()["name"] == "before lunch" and changed.json()["description"] == "d"
    patch = [{"op": "replace", "path": "/description", "value": "e"}]
    assert me.patch("snapshots/tl-name", patch).json()["description"] == "e"
    patch = [{"op": "replace", "path": "/order", "value": 7}]
    assert me.patch("snapshots/tl-name", patch).status == 409
    check_error(me.put("snapshots/tl-name", {"name": ""}), 409, "name_invalid", "name")
    assert me.put("snapshots/tl-name", {"description": None}).json()["description"] is None


# ---- going back ----


def test_a_deployment_is_reverted_to_what_a_snapshot_held(daemon):
    me = daemon.client()
    _, nr = settled(me, "tl-back", "tl4.example.com", data={"size": 1})
    first = me.get("snapshots/tl-back").json()
    extra = bind(me, "tl4.example.com", "top")
    assert me.put(f"node_roles/{extra}/commit").status == 200
    reaches(me, extra, ACTIVE)
    edit(me, nr, {"size": 2})
    check_error(me.put("deployments/tl-back/revert"), 400, "missing", "snapshot")
    for wrong in (0, 999999, "x"):
        answer = me.put("deployments/tl-back/revert", {"snapshot": wrong})
        assert answer.status in (400, 404) and answer.json()["field"] == "snapshot", answer
    foreign = me.get("snapshots/system").json()["id"]
    answer = me.put("deployments/tl-back/revert", {"snapshot": foreign})
    check_error(answer, 404, "not_found", "snapshot")
    answer = me.put("deployments/tl-back/revert", {"snapshot": first["id"]})
    assert answer.status == 200 and answer.type == vnd("snapshot", "obj"), answer
    head = answer.json()
    assert set(head) == SNAPSHOT | {"bound", "removed", "skipped"}, head
    assert head["state"] == OPEN and head["skipped"] == [] and head["bound"] == []
    assert [r["role_name"] for r in head["removed"]] == ["top"], head
    plan = me.get("deployments/tl-back/plan").json()
    assert [r["role_name"] for r in plan["removes"]] == ["top"], plan
    assert [r["role_name"] for r in plan["commits"]] == ["middle"], plan
    assert me.put(f"deployments/tl-back/commit?plan={plan['hash']}").status == 200
    becomes(me, "tl-back", 2)
    check_error(me.get(f"node_roles/{extra}"), 404, "not_found", "id")
    now = me.get("snapshots/tl-back").json()
    told = me.get(f"snapshots/{first['id']}/diff/{now['id']}").json()
    assert not told["added"] and not told["changed"] and not told["removed"], told
    # By its order, and by its number.
    for which in ({"snapshot": 1000}, {"seq": 1}):
        assert me.put("deployments/tl-back/revert", which).status == 200
        assert me.put("deployments/tl-back/commit").status == 200
    answer = me.put("deployments/system/revert", {"seq": 1})
    check_error(answer, 409, "system_deployment", "id")


GATE = """
return {
  on_commit = function(noderole)
    if noderole.data.closed then halligan.veto('the gate on ' .. noderole.node .. ' is closed') end
  end,
}
"""
ROLES = [
    "{name: plain, jig: test}",
    "{name: wipe, jig: test, flags: [destructive], announces: [wipe]}",
    "{name: gate, jig: test}",
]


def open_shop(daemon):
    return Shop(daemon, ROLES, {"gate": GATE})


def test_a_revert_does_not_bind_what_destroys(daemon):
    with open_shop(daemon) as shop:
        me = shop.open("--test-jig")
        _, plain = settled(me, "home", "n1.example.com", "plain")
        wipe = bind(me, "n1.example.com", "wipe")
        plan = me.get("deployments/home/plan").json()
        assert [x["role_name"] for x in plan["destructive"]] == ["wipe"], plan
        assert plan["announced"][0]["steps"] == ["wipe"], plan
        assert me.put("deployments/home/commit").status == 200
        reaches(me, wipe, ACTIVE)
        before = me.get("snapshots/home").json()
        assert me.delete(f"node_roles/{wipe}").status == 200
        assert me.delete(f"node_roles/{plain}").status == 200
        told = me.put("deployments/home/revert", {"snapshot": before["id"]}).json()
        assert [b["role_name"] for b in told["bound"]] == ["plain"], told
        [skipped] = told["skipped"]
        assert skipped["role_name"] == "wipe" and "destructive" in skipped["why"], skipped
        assert shop.stop() == 0


def test_a_plan_asks_the_hooks_and_changes_nothing(daemon):
    with open_shop(daemon) as shop:
        me = shop.open("--test-jig")
        make(me, "deployments", name="home")
        ready_node(me, "n1.example.com", deployment="home")
        gate = bind(me, "n1.example.com", "gate", data={"closed": True})
        refused = me.get("deployments/home/plan")
        check_error(refused, 409, "hook_veto", "on_commit")
        assert "the gate on n1.example.com is closed" in refused.json()["message"], refused
        assert me.put(f"node_roles/{gate}", {"data": {"closed": False}}).status == 200
        answer = me.get("deployments/home/plan")
        assert answer.status == 200 and answer.type == vnd("plan", "obj"), answer
        plan = answer.json()
        assert me.get("deployments/home/plan").json() == plan
        assert [(r["role_name"], r["how"]) for r in plan["runs"]] == [("gate", "run")], plan
        only = me.get("deployments/home/plan", headers={"x-return-attributes": '["hash","nix"]'})
        assert only.json() == {"hash": plan["hash"]}, only
        assert me.get(f"node_roles/{gate}").json()["state"] == PROPOSED
        assert me.get("deployments/home").json()["state"] == 0
        late = bind(me, "n1.example.com", "plain")
        changed = me.put("deployments/home/commit", {"plan": plan["hash"]})
        check_error(changed, 409, "plan_changed", "plan")
        plan = me.get("deployments/home/plan").json()
        assert me.put("deployments/home/commit", {"plan": plan["hash"]}).status == 200
        for noderole in (gate, late):
            reaches(me, noderole, ACTIVE)
        check_error(me.get("deployments/nowhere/plan"), 404, "not_found", "id")
        assert shop.stop() == 0


# ---- reasons and graphs ----


def test_why_leads_to_the_root(daemon):
    me = daemon.client()
    make(me, "deployments", name="why")
    ready_node(me, "why1.example.com", deployment="why")
    top = bind(me, "why1.example.com", "top")
    ids = {}
    for n in me.get("nodes/why1.example.com/node_roles").json():
        ids[me.get(f"roles/{n['role_id']}").json()["name"]] = n["id"]
    assert me.put(f"node_roles/{ids['base']}", {"data": {"fail": True}}).status == 200
    told = me.get(f"node_roles/{top}/why")
    assert told.status == 200 and told.type == vnd("why", "obj"), told
    assert set(told.json()) == {"object", "id", "name", "chain"}
    assert told.json()["object"] == "node_role" and told.json()["id"] == top
    assert told.json()["name"] == "why: why1.example.com: top"
    assert told.json()["chain"][0]["code"] == "proposed", told
    assert me.put("deployments/why/commit").status == 200
    reaches(me, ids["base"], ERROR)
    chain = me.get(f"node_roles/{top}/why").json()["chain"]
    assert [c["code"] for c in chain] == ["parent", "parent", "error"], chain
    assert [c["object_id"] for c in chain] == [ids["middle"], ids["base"], ids["base"]]
    root = chain[-1]
    assert set(root) == {"code", "object", "object_id", "name", "since", "text"}
    assert root["object"] == "node_role" and root["name"] == "why: why1.example.com: base"
    assert TIME.match(root["since"]) and "is in error" in root["text"]
    assert me.get("nodes/why1.example.com/why").json()["chain"] == [root]
    deployment = me.get("deployments/why/why").json()
    assert deployment["object"] == "deployment" and deployment["name"] == "why"
    assert deployment["chain"] == [root], deployment
    assert me.put("nodes/why1.example.com", {"alive": False}).status == 200
    assert me.put(f"node_roles/{ids['base']}/retry").status == 200
    dead = me.get("nodes/why1.example.com/why").json()["chain"][0]
    assert dead["code"] == "not_alive" and dead["object"] == "node", dead
    assert dead["name"] == "why1.example.com"
    check_error(me.get("nodes/nobody.example.com/why"), 404, "not_found", "id")


def test_a_graph_tells_what_depends_on_what(daemon):
    me = daemon.client()
    make(me, "deployments", name="graph")
    assert me.get("deployments/graph/graph").json() == []
    ready_node(me, "graph1.example.com", deployment="graph")
    top = bind(me, "graph1.example.com", "top")
    answer = me.get("deployments/graph/graph")
    assert answer.status == 200 and answer.type == vnd("graph", "list"), answer
    graph = {v["name"].split(": ")[1]: v for v in answer.json()}
    assert all(set(v) == {"id", "name", "adjacencies"} for v in graph.values()), answer
    assert graph["top"] == {"id": top, "name": "graph1.example.com: top", "adjacencies": []}
    middle = graph["middle"]
    assert middle["adjacencies"] == [{"nodeTo": top, "nodeFrom": middle["id"]}], middle
    assert {"nodeTo": middle["id"], "nodeFrom": graph["base"]["id"]} in graph["base"]["adjacencies"]
    assert me.get("snapshots/graph/graph").json() == answer.json()
    check_error(me.get("deployments/nowhere/graph"), 404, "not_found", "id")
