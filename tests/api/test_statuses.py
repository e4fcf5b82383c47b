"""Statuses where OpenCrowbar answered 500, or 200 without having done anything.

One row for each thing that the specification corrects (its DO), and for those that come with HTTP
itself. A row: request, expected status. None of them may change anything.
"""
import os
import urllib.parse

from daemon import Client, basic, eventually
from fixture import ADMIN
from opencrowbar import Machine
from test_objects import make

ERROR, ACTIVE, PROPOSED = -1, 0, 4
PATCH_ID = [{"op": "replace", "path": "/id", "value": 77}]
PATCH_STATE = [{"op": "replace", "path": "/state", "value": 77}]


def told(answer):
    """The status that was answered, and whether the body says the same."""
    if answer.status < 400:
        return answer.status
    body = answer.json()
    right = body["status"] == answer.status and body["message"] and body["code"]
    right = right and "backtrace" not in body
    return answer.status if right else f"{answer.status} with {answer.text[:200]}"


def check(me, rows):
    """Sends all of them; reports all that differ."""
    wrong = []
    for method, path, body, status in rows:
        got = told(me.ask(method, path, body))
        if got != status:
            wrong.append(f"{method} {path} {body}: {got}, not {status}")
    assert not wrong, "\n" + "\n".join(wrong)


def everything(me):
    kinds = ("nodes", "deployments", "roles", "jigs", "node_roles", "deployment_roles", "groups",
             "attribs", "barclamps", "hammers", "users", "snapshots")
    return {kind: me.get(kind).json() for kind in kinds}


def comes_to(me, noderole, state):
    eventually(lambda: me.get(f"node_roles/{noderole}").json()["state"] == state, f"state {state}")


def settled(me, name, node, **fields):
    """A deployment of one noderole that has nothing left to do."""
    make(me, "deployments", name=name)
    make(me, "nodes", name=node, deployment=name, alive=True, available=True)
    bound = make(me, "node_roles", node=node, **fields)["id"]
    assert me.put(f"deployments/{name}/commit").status == 200
    comes_to(me, bound, ACTIVE)
    return bound


def test_missing_parameters_are_400(fixture):
    me = fixture.client()
    make(me, "nodes", name="st400.bddtesting.com")
    make(me, "groups", name="st400")
    node = "nodes/st400.bddtesting.com"
    rows = [("POST", kind, {}, 400) for kind in ("nodes", "deployments", "groups", "attribs",
                                                 "users", "node_roles", "deployment_roles",
                                                 "hammers", "barclamps", "tokens")]
    rows += [
        ("POST", "node_roles", {"node": "st400.bddtesting.com"}, 400),
        ("POST", "node_roles", {"role": "test-event"}, 400),
        ("POST", "deployment_roles", {"role": "test-event"}, 400),
        ("POST", "deployments/system/roles", {}, 400),
        ("POST", "groups/st400/nodes", {}, 400),
        ("PUT", f"{node}/attribs/stay_on", {}, 400),
        ("PUT", f"{node}/attribs/stay_on", {"bucket": "user"}, 400),
        ("PUT", f"{node}/power", {}, 400),
        ("PUT", "users/crowbar/reset_password", {}, 400),
        ("POST", "users/crowbar/complete_password_reset", {}, 400),
    ]
    before = everything(me)
    check(me, rows)
    assert everything(me) == before


def test_false_and_empty_values_count_as_given(fixture):
    me = fixture.client()
    make(me, "nodes", name="stvalue.bddtesting.com")
    make(me, "attribs", name="stvalue", barclamp="test", map="st/value", writable=True)
    path = "nodes/stvalue.bddtesting.com/attribs/stvalue"
    for value in (False, "", [], {}, 0):
        answer = me.put(path, {"value": value})
        assert answer.status == 200 and answer.json()["value"] == value, answer
    assert me.delete("attribs/stvalue").status == 200


def test_malformed_bodies_are_400_and_wrong_types_415(fixture):
    me = fixture.client()
    make(me, "nodes", name="stread.bddtesting.com")
    path = "nodes/stread.bddtesting.com"
    before = everything(me)
    check(me, [
        ("PATCH", path, {"description": "x"}, 400),  # not a list of operations
        ("PATCH", path, "description", 400),
        ("PATCH", path, [{"op": "leap", "path": "/description"}], 400),
        ("PATCH", path, [7], 400),
        ("PUT", path, {"alive": "perhaps"}, 400),
        ("PUT", path, {"bootenv": {}}, 400),
        ("GET", "nodes?nothing_of_the_kind=1", None, 400),
        ("GET", "nodes?limit=x", None, 400),
        ("GET", f"{path}/attribs/stay_on?bucket=nix", None, 400),
        ("GET", "/api/status/heartbeat?marker=lunch", None, 400),
    ])
    raw = {"Content-Type": "application/json"}
    assert told(me.put(path, raw=b"{", headers=raw)) == 400
    assert told(me.put(path, raw=b"description=%zz")) == 400
    for kind in ("text/plain", "application/xml", "application/x-yaml"):
        answer = me.put(path, raw=b"description: x", headers={"Content-Type": kind})
        assert told(answer) == 415, (kind, answer)
    assert everything(me) == before


def test_unknown_objects_are_404(fixture):
    me = fixture.client()
    make(me, "nodes", name="st404.bddtesting.com")
    node = "nodes/st404.bddtesting.com"
    kinds = ("nodes", "deployments", "roles", "jigs", "barclamps", "attribs", "groups", "users",
             "hammers", "available_hammers", "node_roles", "deployment_roles", "snapshots", "runs")
    rows = [("GET", f"{kind}/nobody", None, 404) for kind in kinds]
    rows += [("GET", f"{kind}/999999", None, 404) for kind in kinds]
    rows += [
        ("GET", f"{node}/node_roles/test-event", None, 404),
        ("GET", f"{node}/node_roles/nobody", None, 404),
        ("GET", f"{node}/attribs/nobody", None, 404),
        ("GET", f"{node}/attribs/test-marker", None, 404),  # of a role it does not have
        ("GET", "deployments/system/attribs/nobody", None, 404),
        ("GET", "/api/status/nodes/nobody", None, 404),
        ("GET", "/api/status/deployments/nobody", None, 404),
        ("PUT", "nodes/nobody", {"alive": True}, 404),
        ("DELETE", "nodes/nobody", None, 404),
        ("PUT", "nodes/nobody/commit", None, 404),
        ("PUT", node, {"deployment": "nobody"}, 404),
        ("POST", "nodes", {"name": "st404b.bddtesting.com", "deployment": "nobody"}, 404),
        ("POST", "deployments", {"name": "st404", "parent": "nobody"}, 404),
        ("POST", "node_roles", {"node": "nobody", "role": "test-event"}, 404),
        ("POST", "node_roles", {"node": "st404.bddtesting.com", "role": "nobody"}, 404),
        ("POST", "deployment_roles", {"deployment": "system", "role": "nobody"}, 404),
        ("GET", "nothing_of_the_kind", None, 404),
    ]
    before = everything(me)
    check(me, rows)
    assert everything(me) == before


def test_unsupported_methods_are_405(fixture):
    me = fixture.client()
    before = everything(me)
    check(me, [
        ("POST", "roles", {"name": "x"}, 405),
        ("DELETE", "roles/test-event", None, 405),
        ("POST", "jigs", {"name": "x"}, 405),
        ("DELETE", "jigs/noop", None, 405),
        ("DELETE", "barclamps/test", None, 405),
        ("PATCH", "barclamps/test", PATCH_ID, 405),
        ("PATCH", "deployment_roles/1", PATCH_ID, 405),
        ("PUT", "attribs/stay_on", {"value": True}, 405),
        ("POST", "available_hammers", {"name": "x"}, 405),
        ("POST", "snapshots", {"name": "x"}, 405),
        ("DELETE", "snapshots/system", None, 405),
        ("PUT", "nodes/admin/attribs/stay_on", {"value": True, "bucket": "system"}, 405),
        ("PUT", "nodes/admin/attribs/stay_on", {"value": True, "bucket": "discovery"}, 405),
        ("PUT", "nodes", {"name": "x"}, 405),
        ("GET", "nodes/admin/commit", None, 405),
    ])
    assert everything(me) == before


def test_refusals_of_the_model_are_409(fixture):
    me = fixture.client()
    active = settled(me, "st409", "st409.bddtesting.com", role="test-event")
    make(me, "deployments", name="st409-below", parent="st409")
    make(me, "attribs", name="st409-fixed", barclamp="test", map="st409/fixed")
    make(me, "groups", name="st409")
    make(me, "users", username="st409", email="st409@street.com")
    node, at = "st409.bddtesting.com", f"node_roles/{active}"
    role = me.get("roles/test-client").json()["id"]
    event = me.get("deployment_roles/test-event?deployment=st409").json()["id"]
    rows = [
        # names
        ("POST", "deployments", {"name": "st409"}, 409),
        ("POST", "deployments", {"name": "ST409"}, 409),
        ("POST", "deployments", {"name": "1st"}, 409),
        ("POST", "deployments", {"name": "s" * 56}, 409),
        ("POST", "nodes", {"name": node}, 409),
        ("POST", "nodes", {"name": "short"}, 409),
        ("POST", "groups", {"name": "st409"}, 409),
        ("POST", "groups", {"name": "st 409"}, 409),
        ("POST", "groups", {"name": "stx", "category": "shelf"}, 409),
        ("POST", "attribs", {"name": "st409-fixed"}, 409),
        ("POST", "users", {"username": "ST409"}, 409),
        ("POST", "users", {"username": "stx", "email": "ST409@street.com"}, 409),
        ("POST", "users", {"username": "stx", "email": "no address"}, 409),
        ("POST", "users", {"username": "stx", "password": "short"}, 409),
        # states
        ("PUT", at + "/commit", None, 409),
        ("PUT", at, {"data": {"a": 1}}, 409),
        ("PUT", "deployments/system/propose", None, 409),
        ("PUT", "deployments/system/recall", None, 409),
        ("PUT", "snapshots/system/propose", None, 409),
        # patches of what is not for patching
        ("PATCH", f"nodes/{node}", PATCH_ID, 409),
        ("PATCH", "deployments/st409", PATCH_STATE, 409),
        ("PATCH", at, PATCH_STATE, 409),
        ("PATCH", f"nodes/{node}/attribs/stay_on", PATCH_ID, 409),
        ("PATCH", "users/st409", [{"op": "add", "path": "/is_locked", "value": True}], 409),
        # values
        ("PUT", f"nodes/{node}/attribs/st409-fixed", {"value": 1}, 409),
        ("PUT", f"nodes/{node}/attribs/stay_on", {"value": "perhaps"}, 409),
        ("POST", "attribs", {"name": "stx", "schema": {"type": "seq"}}, 409),
        ("POST", "attribs", {"name": "stx", "schema": {"colour": "red"}}, 409),
        # objects in use cannot be deleted
        ("DELETE", "deployments/system", None, 409),
        ("DELETE", "deployments/st409", None, 409),
        ("DELETE", f"nodes/{ADMIN}", None, 409),
        ("DELETE", f"deployment_roles/{event}", None, 409),
        ("DELETE", f"nodes/{ADMIN}/node_roles/crowbar-access", None, 405),
        # a target is a milestone that is bound
        ("PUT", f"nodes/{node}", {"target_role_id": role}, 409),
        ("PUT", f"nodes/{node}", {"deployment": "system", "old_deployment_id": 1}, 409),
    ]
    before = everything(me)
    check(me, rows)
    assert everything(me) == before


def test_objects_in_use_cannot_be_deleted(fixture):
    """Others depend on it and have run: 409, where OpenCrowbar replied "deleted" and kept it."""
    me = fixture.client()
    make(me, "deployments", name="stneed")
    for name in ("stneed1.bddtesting.com", "stneed2.bddtesting.com"):
        make(me, "nodes", name=name, deployment="stneed", alive=True, available=True)
    server = make(me, "node_roles", node="stneed1.bddtesting.com", role="test-server")
    client = make(me, "node_roles", node="stneed2.bddtesting.com", role="test-client")
    assert me.put("deployments/stneed/commit").status == 200
    comes_to(me, client["id"], ACTIVE)
    before = everything(me)
    check(me, [
        ("DELETE", f"node_roles/{server['id']}", None, 409),
        ("DELETE", "nodes/stneed1.bddtesting.com", None, 409),
        ("GET", f"node_roles/{server['id']}", None, 200),
        ("GET", "nodes/stneed1.bddtesting.com", None, 200),
    ])
    assert everything(me) == before
    check(me, [
        ("DELETE", f"node_roles/{client['id']}", None, 200),
        ("GET", f"node_roles/{client['id']}", None, 404),
        ("DELETE", f"node_roles/{server['id']}", None, 200),
        ("DELETE", "nodes/stneed1.bddtesting.com", None, 200),
    ])


def test_deleted_objects_are_not_found(fixture):
    me = fixture.client()
    make(me, "deployments", name="stgone")
    make(me, "nodes", name="stgone.bddtesting.com")
    make(me, "groups", name="stgone")
    make(me, "users", username="stgone")
    make(me, "attribs", name="stgone")
    role = make(me, "deployment_roles", deployment="stgone", role="test-event")
    [hammer] = me.get("nodes/stgone.bddtesting.com/hammers").json()
    for path in (f"hammers/{hammer['id']}", f"deployment_roles/{role['id']}", "deployments/stgone",
                 "nodes/stgone.bddtesting.com", "groups/stgone", "users/stgone", "attribs/stgone"):
        check(me, [("DELETE", path, None, 200), ("GET", path, None, 404),
                   ("DELETE", path, None, 404)])


def test_a_hammer_is_bound_and_without_one_there_is_no_power(fixture):
    """501, before anything is changed."""
    me = fixture.client()
    node = make(me, "nodes", name="st501.bddtesting.com", alive=True, bootenv="local")
    [hammer] = me.get("nodes/st501.bddtesting.com/hammers").json()
    assert me.delete(f"hammers/{hammer['id']}").status == 200
    before = everything(me)
    check(me, [
        ("PUT", "nodes/st501.bddtesting.com/redeploy", None, 501),
        ("PUT", "nodes/st501.bddtesting.com/power?poweraction=reboot", None, 501),
        ("GET", "nodes/st501.bddtesting.com/power", None, 200),
    ])
    assert me.get("nodes/st501.bddtesting.com/power").json() == []
    assert everything(me) == before
    bind = {"node_id": node["id"], "available_hammer_id": hammer["available_hammer_id"]}
    again = me.post("hammers", {**bind, "username": "root"})
    assert again.status == 200 and again.json()["name"] == "ssh", again
    assert again.json()["actions"]["power"] == ["reboot", "status"]
    twice = me.post("hammers", {**bind, "username": "root"})
    assert twice.status == 409 and twice.json()["field"] == "available_hammer_id", twice
    check(me, [
        ("PUT", "nodes/st501.bddtesting.com/power?poweraction=get_funky", None, 501),
        ("PUT", "nodes/st501.bddtesting.com/power?poweraction=reboot", None, 200),
    ])


def test_preconditions_are_412_and_unchanged_objects_304(fixture):
    me = fixture.client()
    make(me, "deployments", name="st412")
    tag = me.get("deployments/st412").headers["ETag"]
    known = {"If-None-Match": me.get(f"nodes/{ADMIN}").headers["ETag"]}
    assert me.get(f"nodes/{ADMIN}", headers=known).status == 304
    first = me.put("deployments/st412", {"description": "1"}, headers={"If-Match": tag})
    assert first.status == 200, first
    late = {"If-Match": tag}
    assert told(me.put("deployments/st412", {"description": "2"}, headers=late)) == 412
    patch = [{"op": "replace", "path": "/description", "value": "3"}]
    assert told(me.patch("deployments/st412", patch, headers=late)) == 412
    assert told(me.put("deployments/st412/commit", headers=late)) == 412
    assert told(me.delete("deployments/st412", headers=late)) == 412
    assert me.get("deployments/st412").json() == first.json()
    assert me.get("deployments/st412", headers={"If-None-Match": tag}).status == 200


def test_missing_authentication_is_401_and_missing_rights_403(fixture):
    me = fixture.client()
    make(me, "users", username="st401", password="not-an-admin", digest=True)
    user = Client(fixture.url, basic("st401", "not-an-admin"))
    check(user, [
        ("POST", "users", {"username": "stx"}, 403),
        ("DELETE", "users/crowbar/admin", None, 403),
        ("POST", "users/crowbar/lock", None, 403),
        ("PUT", "users/crowbar/reset_password", {"password": "not-yours"}, 403),
        ("PUT", "users/crowbar", {"is_admin": False}, 403),
        ("PUT", "users/crowbar", {"password": "not-yours"}, 403),
        # nor does what one may do carry along what one may not
        ("PUT", "users/st401", {"password": "not-an-admin", "grants": {"1": "operator"}}, 403),
        ("PUT", "users/st401", {"password": "not-an-admin", "username": "stx"}, 403),
        ("GET", "audit", None, 403),
        ("GET", "nodes", None, 200),
    ])
    stranger = fixture.stranger()
    check(stranger, [(method, path, None, 401) for method, path in (
        ("GET", "nodes"), ("GET", "nodes/nobody"), ("POST", "nodes"), ("GET", "digest"),
        ("DELETE", "nodes/admin"), ("GET", "/api/status/nodes"), ("GET", "/metrics"))])
    # an unknown user gets the same reply as a wrong password
    assert Machine(fixture.url, "st401-nobody", "x").status("digest") == 401
    assert Machine(fixture.url, "st401", "wrong-password").status("digest") == 401
    assert me.post("users/st401/lock").status == 200
    assert Machine(fixture.url, "st401", "not-an-admin").status("digest") == 401
    assert me.delete("users/st401").status == 200


def test_no_file_disables_authentication(fixture):
    """OpenCrowbar accepted every client from this machine while that file existed."""
    key = "/tmp/.crowbar_in_bootstrap"
    was_there = os.path.exists(key)
    if not was_there:
        os.close(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600))
    try:
        assert urllib.parse.urlsplit(fixture.url).hostname == "127.0.0.1"
        assert fixture.stranger().get("nodes").status == 401
    finally:
        if not was_there:
            os.unlink(key)


def test_status_of_the_queue_and_of_no_deployment(fixture):
    me = fixture.client()
    queue = me.get("/api/status/queue").json()
    assert set(queue) == {"workers", "jobs"}, queue
    everywhere = me.get("/api/status/deployments").json()
    assert (everywhere["id"], everywhere["state"], everywhere["status"]) == (-1, -1, "unknown")


def test_a_noderole_takes_a_patch_of_its_data(fixture):
    me = fixture.client()
    make(me, "nodes", name="stdata.bddtesting.com")
    bound = make(me, "node_roles", node="stdata.bddtesting.com", role="test-event")
    patch = [{"op": "add", "path": "/data", "value": {"a": {"b": 1}}},
             {"op": "replace", "path": "/data/a/b", "value": 2}]
    assert me.patch(f"node_roles/{bound['id']}", patch).status == 200
    again = [{"op": "test", "path": "/data/a/b", "value": 2}]
    assert me.patch(f"node_roles/{bound['id']}", again).status == 200
    wrong = [{"op": "test", "path": "/data/a/b", "value": 1}]
    assert me.patch(f"node_roles/{bound['id']}", wrong).status == 409
