"""Inspection: snapshots, plans, reasons, status, inventory, metrics."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading

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
    for part in ("deployment_roles", "attribs"):
        live, through = me.get(f"deployments/tl-old/{part}"), me.get(f"snapshots/tl-old/{part}")
        assert live.status == 200 and through.json() == live.json(), through
    check_error(me.get(f"snapshots/{first['id']}/attribs"), 409, "wrong_state", "id")
    assert me.get(f"snapshots/{first['id']}/deployment_roles").json() == []
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


def test_data_of_roles_are_kept_with_their_snapshot(daemon):
    me = daemon.client()
    settled(me, "tl-role", "tl5.example.com")
    [dr] = [r for r in me.get("deployments/tl-role/deployment_roles").json()
            if r["role_id"] == me.get("roles/middle").json()["id"]]

    def give(data):
        assert me.put(f"deployment_roles/{dr['id']}/propose").status == 200
        assert me.put(f"deployment_roles/{dr['id']}", {"data": data}).status == 200
        assert me.put("deployments/tl-role/commit").status == 200
        becomes(me, "tl-role", 2)
        return me.get("snapshots/tl-role").json()

    first, second = give({"colour": "red"}), give({"colour": "blue"})
    assert first["id"] != second["id"]
    [kept] = me.get(f"snapshots/{first['id']}/deployment_roles").json()
    assert kept == {
        "deployment_id": first["deployment_id"],
        "role_id": dr["role_id"],
        "role": "middle",
        "data": {"colour": "red"},
    }
    [change] = me.get(f"snapshots/{first['id']}/diff/{second['id']}").json()["changed"]
    assert change["node"] is None and change["paths"] == ["colour"], change


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


# ---- revert ----


def test_a_deployment_is_reverted_to_the_content_of_a_snapshot(daemon):
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


def test_a_revert_does_not_bind_destructive_roles(daemon):
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


def test_a_plan_calls_the_veto_hooks_and_changes_nothing(daemon):
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


def test_why_leads_to_the_first_cause(daemon):
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
    assert set(told.json()) == {"object", "id", "name", "chain", "installation"}
    of_node = me.get("nodes/why1.example.com/why").json()
    own = {"boot", "names", "names_complete", "interfaces_complete"}
    assert set(of_node) == {*told.json(), *own}, of_node
    assert of_node["boot"] == of_node["names"] == [] and of_node["names_complete"] is True, of_node
    assert of_node["interfaces_complete"] is True, of_node
    assert told.json()["object"] == "node_role" and told.json()["id"] == top
    assert told.json()["name"] == "why: why1.example.com: top"
    assert told.json()["chain"][0]["code"] == "proposed", told
    assert me.put("deployments/why/commit").status == 200
    reaches(me, ids["base"], ERROR)
    chain = me.get(f"node_roles/{top}/why").json()["chain"]
    assert [c["code"] for c in chain] == ["parent", "parent", "error", "test_failed"], chain
    assert [c["object_id"] for c in chain] == [ids["middle"]] + [ids["base"]] * 3
    root = chain[-1]
    assert set(root) == {"code", "object", "object_id", "name", "subject", "since", "text",
                         "node_role_id", "node", "role"}
    assert root["node"] == "why1.example.com" and root["role"] == "base"
    assert root["object"] == "node_role" and root["name"] == "why: why1.example.com: base"
    assert TIME.match(root["since"])
    failed = me.get(f"node_roles/{ids['base']}?view=full").json()
    assert failed["reason"] == "test_failed" and failed["reason_text"] == root["text"], failed
    assert "reason" not in me.get(f"node_roles/{ids['base']}").json()
    found = me.get("node_roles?reason=test_failed").json()
    assert ids["base"] in [n["id"] for n in found], found
    over = me.get(f"node_roles/{ids['base']}/runs").json()
    assert over[0]["reason"] == "test_failed", over
    assert me.get("nodes/why1.example.com/why").json()["chain"] == chain[-2:]
    deployment = me.get("deployments/why/why").json()
    assert deployment["object"] == "deployment" and deployment["name"] == "why"
    assert deployment["chain"] == chain[-2:], deployment
    assert deployment["waiting"] == deployment["looked_at"] == 3 and deployment["left_off"] == 0
    group, = deployment["groups"]
    assert group["code"] == "test_failed" and group["role"] == "base", group
    assert group["node_roles"] == 3 and group["roots"] == 1, group
    assert group["examples"] == [{"node_role_id": ids["base"], "node": "why1.example.com",
                                  "role": "base", "has_log": True}], group
    assert me.put("nodes/why1.example.com", {"alive": False}).status == 200
    assert me.put(f"node_roles/{ids['base']}/retry").status == 200
    dead = me.get("nodes/why1.example.com/why").json()["chain"][0]
    assert dead["code"] == "not_alive" and dead["object"] == "node", dead
    assert dead["name"] == "why1.example.com"
    check_error(me.get("nodes/nobody.example.com/why"), 404, "not_found", "id")


def test_a_graph_has_the_dependencies(daemon):
    me = daemon.client()
    make(me, "deployments", name="graph")
    assert me.get("deployments/graph/graph").json() == []
    ready_node(me, "graph1.example.com", deployment="graph")
    top = bind(me, "graph1.example.com", "top")
    answer = me.get("deployments/graph/graph")
    assert answer.status == 200 and answer.type == vnd("graph", "list"), answer
    graph = {v["name"].split(": ")[1]: v for v in answer.json()}
    drawn = {"data": {"$color": "#83548B"}, "$type": "square", "$dim": 15}
    assert graph["top"] == {"id": top, "name": "graph1.example.com: top", "adjacencies": [], **drawn}
    line = {"data": {"$color": "#557EAA"}}
    middle = graph["middle"]
    assert middle["adjacencies"] == [{"nodeTo": top, "nodeFrom": middle["id"], **line}], middle
    below = {"nodeTo": middle["id"], "nodeFrom": graph["base"]["id"], **line}
    assert below in graph["base"]["adjacencies"]
    assert me.get("snapshots/graph/graph").json() == answer.json()
    check_error(me.get("deployments/nowhere/graph"), 404, "not_found", "id")


# ---- is it done? ----


def alone(daemon):
    """A separate daemon: other tests do not interfere."""
    return Shop(daemon, ["{name: work, jig: test}"], {})


def test_case_89_anneal_says_whether_everything_is_done(daemon):
    with alone(daemon) as shop:
        me = shop.open("--test-jig")
        done = me.get("anneal")
        assert done.status == 200 and done.json() == {"message": "finished"}, done
        assert done.type == vnd("anneal", "empty")
        make(me, "deployments", name="home")
        ready_node(me, "n1.example.com", deployment="home")
        work = bind(me, "n1.example.com", "work", data={"async": True})
        assert me.get("anneal").status == 200  # what is proposed does not count
        assert me.put("deployments/home/commit").status == 200
        reaches(me, work, 2)
        works = me.get("anneal")
        assert works.status == 202 and works.json() == {"message": "working"}, works
        assert me.put("nodes/n1.example.com", {"alive": False}).status == 200
        assert me.put(f"node_roles/{work}/propose").status == 200
        assert me.put(f"node_roles/{work}", {"data": {"fail": True}}).status == 200
        assert me.put(f"node_roles/{work}/commit").status == 200
        waits = me.get("anneal")
        assert waits.status == 202 and waits.json() == {"message": "scheduled"}, waits
        assert me.put("nodes/n1.example.com", {"alive": True, "available": True}).status == 200
        reaches(me, work, ERROR)
        failed = me.get("anneal")
        assert failed.status == 409 and failed.json()["message"] == "failed", failed
        assert me.put("deployments/home/recall").status == 200
        assert me.get("anneal").status == 200
        assert shop.stop() == 0


def test_case_86_87_an_async_role_is_in_transition_until_it_is_retried(daemon):
    me = daemon.client()
    node = ready_node(me, "async1.example.com")
    states = me.get("/api/status/nodes/async1.example.com").json()
    assert states[str(node["id"])]["status"] == "active", states  # there is nothing to do
    nr = bind(me, "async1.example.com", "base", data={"async": True})
    assert me.put("nodes/async1.example.com/commit").status == 200
    reaches(me, nr, 2)
    states = me.get("/api/status/nodes/async1.example.com").json()
    assert states[str(node["id"])]["status"] == "transition", states
    assert me.put(f"node_roles/{nr}/retry").status == 200
    reaches(me, nr, ACTIVE)
    states = me.get("/api/status/nodes/async1.example.com").json()
    assert states[str(node["id"])]["status"] == "active", states


def test_case_88_runs_are_listed_and_those_of_a_node(daemon):
    me = daemon.client()
    node = ready_node(me, "idle1.example.com")
    assert me.get("runs/idle1.example.com").json() == []
    check_error(me.get("runs/nobody.example.com"), 404, "not_found", "id")
    nr = bind(me, "idle1.example.com", "base", data={"delay": 600000})
    assert me.put(f"node_roles/{nr}/commit").status == 200
    reaches(me, nr, 2)
    [run] = me.get("runs/idle1.example.com").json()
    assert run["node_id"] == node["id"] and run["node_role_id"] == nr and run["running"], run
    assert run in me.get("runs").json() and me.get(f"runs/{run['id']}").json() == run
    assert me.put(f"runs/{run['id']}/cancel").status == 200
    eventually(lambda: me.get("runs/idle1.example.com").json() == [], "the run is out")


def test_case_67_108_deployments_and_their_states(daemon):
    me = daemon.client()
    listed = me.get("deployments")
    assert listed.status == 200
    [system] = [d for d in listed.json() if d["id"] == 1]
    assert len(system) == 8 and system["system"] is True and system["parent_id"] is None
    made = make(me, "deployments", name="st-67")
    assert made["parent_id"] == 1 and made["state"] == 0
    assert me.get("deployments/st-67").json() == made
    assert me.put("deployments/st-67/commit").json()["state"] == 2  # of nothing, all is active
    ready_node(me, "st67.example.com", deployment="st-67")
    base = bind(me, "st67.example.com", "base", data={"fail": True})
    assert me.get("deployments/st-67").json()["state"] == 1
    assert me.put("deployments/st-67/commit").status == 200
    reaches(me, base, ERROR)
    assert me.get("deployments/st-67").json()["state"] == -1
    assert me.get("snapshots/st-67").json()["state"] == BROKEN
    assert me.put("deployments/st-67/propose").json()["state"] == 0


def test_case_130_noderoles_come_by_cohort_and_id(daemon):
    me = daemon.client()
    for name in ("order1.example.com", "order2.example.com"):
        make(me, "nodes", name=name)
        bind(me, name, "top")
    keys = [(n["cohort"], n["id"]) for n in me.get("node_roles").json()]
    ids = [key[1] for key in keys]
    assert keys == sorted(keys) and ids != sorted(ids), keys


# ---- status ----


def test_the_states_of_nodes_in_four_keys(daemon):
    me = daemon.client()
    node = make(me, "nodes", name="st1.example.com")
    answer = me.get("/api/status/nodes")
    assert answer.status == 200 and answer.type == "application/vnd.crowbar.json.array+json; version=2.0", answer
    one = answer.json()[str(node["id"])]
    assert list(one) == ["name", "state", "status", "strStatus"], one
    assert one == {
        "name": "st1.example.com",
        "state": 0,
        "status": "active",
        "strStatus": "dead\nreserved\nactive",
    }
    assert set(answer.json()) == {str(n["id"]) for n in me.get("nodes").json()}
    by_name = me.get("/api/status/nodes/st1.example.com").json()
    assert by_name == {str(node["id"]): one} == me.get(f"/api/status/nodes/{node['id']}").json()
    check_error(me.get("/api/status/nodes/nobody.example.com"), 404, "not_found", "id")
    assert daemon.stranger().get("/api/status/nodes").status == 401


def test_case_109_110_111_the_states_of_a_deployment(daemon):
    me = daemon.client()
    d = make(me, "deployments", name="st-d")
    fresh = me.get("/api/status/deployments/st-d").json()
    assert fresh == {"id": d["id"], "state": 0, "status": "proposed", "md5": "", "node_roles": {}}
    assert me.get("/api/status/snapshots/st-d").json()["status"] == "proposed"
    ready_node(me, "st2.example.com", deployment="st-d")
    top = bind(me, "st2.example.com", "top")
    told = me.get("/api/status/deployments/st-d").json()
    ids = sorted(n["id"] for n in me.get("deployments/st-d/node_roles").json())
    joined = "_".join(map(str, ids)).encode()
    assert told["md5"] == hashlib.md5(joined).hexdigest(), told
    assert [int(i) for i in told["node_roles"]] == ids
    assert told["node_roles"][str(top)] == {"state": PROPOSED, "status": "proposed"}, told
    assert me.put("deployments/st-d/commit").status == 200
    becomes(me, "st-d", 2)
    told = me.get("/api/status/deployments/st-d").json()
    assert told["status"] == "active" and told["state"] == 2
    assert told["node_roles"][str(top)] == {"state": ACTIVE, "status": "active"}
    head = me.get("snapshots/st-d").json()
    assert me.get(f"/api/status/snapshots/{head['id']}").json() == {**told, "id": head["id"]}
    assert me.put("deployments/st-d/propose").status == 200
    old = me.get(f"/api/status/snapshots/{head['id']}").json()
    assert old["state"] == ARCHIVED and old["status"] == "archived" and old["node_roles"] == {}
    system = me.get("/api/status/deployments/system").json()
    assert system["id"] == 1 and system["status"] in ("active", "committed", "error"), system
    assert system["md5"] == "" or re.fullmatch("[0-9a-f]{32}", system["md5"]), system
    nothing = {"id": -1, "state": -1, "status": "unknown", "md5": "", "node_roles": {}}
    assert me.get("/api/status/deployments").json() == nothing
    assert me.get("/api/status/snapshots").json() == nothing
    only = me.get(
        "/api/status/deployments/st-d", headers={"x-return-attributes": '["status","nix"]'}
    )
    assert only.json() == {"status": "proposed"}, only


def test_case_131_a_heartbeat_counts(daemon):
    me = daemon.client()
    beat = me.get("/api/status/heartbeat")
    assert beat.status == 200 and set(beat.json()) == {"active", "todo", "error", "elapsed"}, beat
    states = [n["state"] for n in me.get("node_roles").json()]
    assert beat.json()["active"] == states.count(ACTIVE), beat
    assert beat.json()["error"] == states.count(ERROR), beat
    assert beat.json()["elapsed"] == 0
    since = me.get("/api/status/heartbeat?marker=2015-01-02T03:04:05Z").json()
    assert since["elapsed"] > 300_000_000, since
    check_error(me.get("/api/status/heartbeat?marker=lunch"), 400, "bad_value", "marker")


def test_the_queue_lists_workers_and_jobs(daemon):
    me = daemon.client()
    node = ready_node(me, "st3.example.com")
    nr = bind(me, "st3.example.com", "base", data={"delay": 600000})
    assert me.put(f"node_roles/{nr}/commit").status == 200
    reaches(me, nr, 2)
    told = me.get("/api/status/queue").json()
    assert set(told) == {"workers", "jobs"}
    assert [w["queue"] for w in told["workers"]] == ["normal", "high"]
    [job] = [j for j in told["jobs"] if j["node_role_id"] == nr]
    assert job["node_id"] == node["id"] and job["running"] and job["queue"] == "normal", job
    assert told["workers"][0]["busy"] >= 1 and told["workers"][0]["size"] == 10, told
    assert me.put(f"runs/{job['id']}/cancel").status == 200


# ---- inventory ----


def ansible(text, *words):
    """What the real program makes of it."""
    with tempfile.TemporaryDirectory(prefix="halligan-inventory-") as folder:
        data, script = os.path.join(folder, "data"), os.path.join(folder, "inventory")
        with open(data, "w") as file:
            file.write(text)
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\nexec cat '{data}'\n")
        os.chmod(script, 0o700)
        told = subprocess.run(
            ["ansible-inventory", "-i", script, *words],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "HOME": folder, "ANSIBLE_LOCALHOST_WARNING": "false"},
        )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def test_ansible_reads_the_inventory(daemon):
    me = daemon.client()
    make(me, "deployments", name="inv")
    make(me, "deployments", name="inv-below", parent="inv")
    make(me, "deployments", name="all")
    node = ready_node(me, "inv1.example.com", deployment="inv")
    ready_node(me, "inv2.example.com", deployment="inv-below")
    ready_node(me, "inv3.example.com", deployment="all")
    nr = bind(me, "inv1.example.com", "middle")
    group = make(me, "groups", name="a7", category="rack")
    added = me.post(f"groups/{group['id']}/nodes", {"node_id": node["id"]})
    assert added.status == 200, added
    answer = me.get("/api/status/inventory")
    assert answer.status == 200, answer
    assert answer.type == "application/vnd.crowbar.inventory+json", answer.type
    told = answer.json()
    assert told["inv"]["hosts"] == ["inv1.example.com"], told["inv"]
    assert told["inv"]["children"] == ["inv_below"]
    assert told["inv"]["vars"] == {"networks": {}, "roles": ["base", "middle"]}, told["inv"]
    assert told["deployment_all"]["hosts"] == ["inv3.example.com"]
    assert told["all"] == {"vars": {}}
    assert told["rack_a7"] == {"hosts": ["inv1.example.com"]}
    assert "inv1.example.com" in told["role_middle"]["hosts"]
    assert "inv1.example.com" in told["state_proposed"]["hosts"]
    assert "inv2.example.com" in told["state_active"]["hosts"]
    assert not any("phantom" in host for host in told["_meta"]["hostvars"])
    vars_of_one = told["_meta"]["hostvars"]["inv1.example.com"]
    assert set(vars_of_one) == set(
        "ansible_host ansible_port ansible_user alive available state os cpu_count memory "
        "number_of_drives network interface".split()
    )
    assert vars_of_one["alive"] is True and vars_of_one["state"] == "proposed"
    part = me.get("/api/status/inventory/inv").json()
    assert set(part["_meta"]["hostvars"]) == {"inv1.example.com", "inv2.example.com"}, part
    assert "system" not in part and part["inv"]["children"] == ["inv_below"]
    without = me.get("/api/status/inventory/inv?hostvar=none").json()
    assert "_meta" not in without and without == {k: v for k, v in part.items() if k != "_meta"}
    assert me.get("/api/status/inventory/inv?hostvar=node").json() == part
    one = me.get(f"/api/status/inventory?hostvar={node['id']}").json()
    assert one == vars_of_one, one
    check_error(me.get("/api/status/inventory/nowhere"), 404, "not_found", "id")
    check_error(me.get("/api/status/inventory?hostvar=nobody.x"), 404, "not_found", "hostvar")
    read = ansible(answer.text, "--list")
    assert read["inv"]["children"] == ["inv_below"], read["inv"]
    assert read["inv"]["hosts"] == ["inv1.example.com"]
    assert read["deployment_all"]["hosts"] == ["inv3.example.com"]
    assert read["_meta"]["hostvars"]["inv1.example.com"]["state"] == "proposed"
    of_host = ansible(answer.text, "--host", "inv1.example.com")
    assert of_host["alive"] is True and of_host["roles"] == ["base", "middle"], of_host
    assert me.delete(f"node_roles/{nr}").status == 200


# ---- metrics and version ----

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
LINE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\d+(?:\.\d+)?)")


def parse_metrics(text):
    """A strict reading of the text format: {name: {labels: value}}, and {name: type}."""
    values, types, helps, current = {}, {}, set(), None
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in helps and len(line.split(" ", 3)[3]) > 5, line
            helps.add(current)
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and name not in types, line
            assert kind in ("counter", "gauge", "histogram"), line
            types[name] = kind
            continue
        found = LINE.fullmatch(line)
        assert found, line
        name, labels, value = found.groups()
        base = re.sub("_(bucket|sum|count)$", "", name) if types[current] == "histogram" else name
        assert base == current, line  # the lines of a metric are adjacent
        assert types[base] != "counter" or base.endswith("_total"), line
        series = values.setdefault(name, {})
        assert labels not in series, line
        series[labels] = float(value)
    assert set(types) == helps
    for name in (n for n, kind in types.items() if kind == "histogram"):
        check_histogram(values, name)
    return values, types


def check_histogram(values, name):
    buckets = {}
    for labels, value in values[name + "_bucket"].items():
        *rest, bound = labels.split(",")
        assert bound.startswith('le="'), labels
        buckets.setdefault(",".join(rest) or None, []).append((bound[4:-1], value))
    for labels, row in buckets.items():
        counts = [value for _, value in row]
        bounds = [float(bound) for bound, _ in row]
        assert counts == sorted(counts) and bounds == sorted(bounds), (name, row)
        assert row[-1][0] == "+Inf" and counts[-1] == values[name + "_count"][labels], (name, row)
        assert labels in values[name + "_sum"]


def test_metrics_can_be_scraped(daemon):
    me = daemon.client()
    ready_node(me, "me1.example.com")
    base = bind(me, "me1.example.com", "base")
    assert me.put(f"node_roles/{base}/commit").status == 200
    reaches(me, base, ACTIVE)
    assert me.get("nodes/nobody.example.com").status == 404
    answer = me.get("/metrics")
    assert answer.status == 200, answer
    assert answer.type == "text/plain; version=0.0.4; charset=utf-8", answer.type
    values, types = parse_metrics(answer.text)
    if shutil.which("promtool"):  # of prometheus, where that is installed
        subprocess.run(["promtool", "check", "metrics"], input=answer.text, text=True, check=True)
    assert values["halligan_store_up"] == {None: 1} and values["halligan_leader"] == {None: 1}
    version = me.get("/version").json()["version"]
    assert values["halligan_build_info"] == {f'version="{version}"': 1}
    states = [n["state"] for n in me.get("node_roles").json()]
    assert values["halligan_noderoles"]['state="active"'] == states.count(ACTIVE)
    assert sum(values["halligan_noderoles"].values()) == len(states)
    hosts = [n for n in me.get("nodes").json() if not n["system"]]
    assert sum(values["halligan_nodes"].values()) == len(hosts)
    assert len(values["halligan_runs"]) == 8
    assert values["halligan_http_requests_total"]['method="GET",code="404"'] >= 1
    assert values["halligan_http_requests_total"]['method="POST",code="200"'] >= 2
    assert values["halligan_run_duration_seconds_count"]['role="base"'] >= 1
    assert values["halligan_runs_ended_total"]['result="ok"'] >= 1
    for name in ("store_commit", "anneal_pass", "http_request"):
        assert values[f"halligan_{name}_seconds_count"][None] > 0, name
    for name in ("events", "turns", "store_rows"):
        assert values[f"halligan_{name}_total"][None] > 0, name
    for name in ("resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"):
        assert values[f"process_{name}"][None] > 0, name
    later, _ = parse_metrics(me.get("/metrics").text)
    for name, kind in types.items():
        if kind == "counter":
            assert all(later[name][labels] >= v for labels, v in values[name].items()), name
    assert daemon.stranger().get("/metrics").status == 401


def test_the_version_needs_authentication(daemon):
    assert daemon.stranger().get("/version").status == 401
    answer = daemon.client().get("/version")
    assert answer.status == 200 and answer.type == "application/json", answer
    told = answer.json()
    assert set(told) == {"name", "version", "api"} and told["name"] == "halligan", told
    assert told["api"] == "2.0" and told["version"]


NODES = 500  # three noderoles each: more than one step of why of a deployment evaluates


def rack_that_waits(me, name):
    """A committed deployment of nodes that are not alive."""
    assert me.post("deployments", {"name": name}).status == 200
    nodes = [{"name": f"{name}{i}.example.com", "deployment": name, "available": True}
             for i in range(NODES)]
    assert me.post("nodes", nodes).status == 200
    bound = me.post("node_roles", [{"node": node["name"], "role": "top", "deployment": name}
                                   for node in nodes])
    assert bound.status == 200, bound
    assert me.put(f"deployments/{name}/commit").status == 200
    return nodes


def test_why_of_a_large_deployment_counts_all_of_it(daemon):
    me = daemon.client()
    nodes = rack_that_waits(me, "largewhy")
    why = me.get("deployments/largewhy/why").json()
    assert why["waiting"] == why["looked_at"] == 3 * NODES and why["left_off"] == 0, why
    assert [(g["code"], g["node_roles"], g["roots"]) for g in why["groups"]] == [
        ("not_alive", 3 * NODES, NODES)], why["groups"]
    assert why["chain"][-1]["code"] == "not_alive" and why["chain"][-1]["object"] == "node", why
    # The same while its nodes are deleted: counts are those of some instant, and nothing is lost.
    asked = []

    def ask():
        while len(asked) < 20:
            asked.append(me.get("deployments/largewhy/why"))

    asking = threading.Thread(target=ask)
    asking.start()
    for node in nodes[: NODES // 2]:
        assert me.delete(f"nodes/{node['name']}").status == 200
    asking.join()
    for answer in asked:
        assert answer.status == 200, answer
        told = answer.json()
        counted = sum(group["node_roles"] for group in told["groups"]) + told["left_off"]
        assert counted == told["looked_at"] and 0 < counted <= 3 * NODES, told
    last = me.get("deployments/largewhy/why").json()
    assert last["waiting"] == last["looked_at"] == 3 * (NODES - NODES // 2), last
    for node in nodes[NODES // 2 :]:
        assert me.delete(f"nodes/{node['name']}").status == 200
