"""Numbered cases of the specification, through the API.

test_case_N is case N, on the fixture the cases name (fixture.py). Those that belong to one noun are
in its own file; the numbers that no test has are listed by tests/conformance/test_later.c.
"""
import hashlib
import re
import shutil
import sqlite3
import subprocess

from daemon import POSTGRES, Client, basic, eventually
from fixture import ADMIN, USERS
from opencrowbar import Machine
from test_objects import DEPLOYMENT, JIG, NODE, TIME, check_error, make, vnd

ERROR, ACTIVE, TODO, TRANSITION, BLOCKED, PROPOSED = -1, 0, 1, 2, 3, 4
VND = re.compile(r"application/vnd\.crowbar\.(\w+)\.(\w+)\+json; version=2\.0$")


def shown(answer):
    assert answer.status == 200, answer
    return answer.json()


def names(answer):
    return [thing["name"] for thing in shown(answer)]


def status_of(me, node):
    [told] = shown(me.get(f"/api/status/nodes/{node}")).values()
    return told["status"]


def comes_to(me, noderole, state):
    def look():
        return shown(me.get(f"node_roles/{noderole}"))["state"] == state

    eventually(look, f"noderole {noderole} in state {state}")


# ---- users ----


def everything_stored(daemon):
    """All that the store holds, as text."""
    if not daemon.store:
        with sqlite3.connect(f"file:{daemon.path('halligan.db')}?mode=ro", uri=True) as store:
            return "\n".join(store.iterdump())
    program = shutil.which("pg_dump", path=POSTGRES)
    dump = subprocess.run([program, daemon.store], capture_output=True, text=True, timeout=60)
    assert dump.returncode == 0, dump.stderr
    return dump.stdout


def test_case_17_the_ha1_is_md5_of_user_realm_and_password(fixture):
    me = fixture.client()
    ha1 = hashlib.md5(b"c17:Crowbar:realm-is-crowbar").hexdigest()
    fields = {"username": "c17", "password": "realm-is-crowbar"}
    shown(me.post("users", fields))
    assert ha1 not in everything_stored(fixture)
    again = {"password": "realm-is-crowbar", "digest": True}
    shown(me.put("users/c17/reset_password", again))
    assert ha1 in everything_stored(fixture)
    assert Client(fixture.url, basic("c17", "realm-is-crowbar")).get("digest").status == 200
    assert Machine(fixture.url, "c17", "realm-is-crowbar").status("digest") == 200
    assert Client(fixture.url, basic("c17", "realm-is-not")).get("digest").status == 401
    shown(me.delete("users/c17"))


def test_case_18_20_what_is_stored_is_neither_the_password_nor_its_ha1(fixture):
    me = fixture.client()
    secret = "Gr0ver-cle4r-text"
    before = everything_stored(fixture).count("$argon2id$")
    shown(me.post("users", {"username": "c18", "password": secret}))
    stored = everything_stored(fixture)
    assert stored.count("$argon2id$") == before + 1
    for text in (secret, hashlib.md5(f"c18:Crowbar:{secret}".encode()).hexdigest()):
        assert text not in stored
    assert secret not in fixture.read("stderr")
    shown(me.delete("users/c18"))


# ---- runs ----


def test_case_86_an_async_role_is_in_transition_until_it_is_retried(fixture):
    me = fixture.client()
    node = "c86.bddtesting.com"
    make(me, "nodes", name=node, alive=True)
    bound = make(me, "node_roles", node=node, role="test-async")["id"]
    shown(me.put(f"nodes/{node}/commit"))
    comes_to(me, bound, TRANSITION)
    assert status_of(me, node) == "transition"
    shown(me.put(f"node_roles/{bound}/retry"))
    comes_to(me, bound, ACTIVE)
    eventually(lambda: status_of(me, node) == "active", "the node is active")


def test_case_87_a_plain_node_has_nothing_to_do(fixture):
    me = fixture.client()
    make(me, "nodes", name="c87.bddtesting.com")
    assert status_of(me, "c87.bddtesting.com") == "active"
    assert shown(me.get("runs/c87.bddtesting.com")) == []


def test_case_74_an_error_of_the_node_shows_in_its_noderoles(fixture):
    me = fixture.client()
    make(me, "deployments", name="c74")
    for node, roles, state in (("c74.bddtesting.com", ("test-client", "test-fails"), ERROR),
                               ("c74-well.bddtesting.com", ("test-client",), ACTIVE)):
        make(me, "nodes", name=node, deployment="c74", alive=True, available=True)
        bound = [make(me, "node_roles", node=node, role=role)["id"] for role in roles]
        shown(me.put("deployments/c74/commit"))
        comes_to(me, bound[-1], state)
        told = shown(me.get(f"nodes/{node}/node_roles/test-client"))
        assert told["node_error"] is (state == ERROR), told
    shown(me.put("deployments/c74/recall"))  # no unexpected error


# ---- deployments ----


def test_case_108_deployments(fixture):
    me = fixture.client()
    assert me.get("deployments").status == 200
    system = shown(me.get("deployments/system"))
    assert set(system) == DEPLOYMENT and len(system) == 8
    assert system["system"] is True and system["parent_id"] is None and system["id"] == 1
    made = make(me, "deployments", name="c108")
    assert made["parent_id"] == 1 and made["state"] == 0 and made["system"] is False
    assert shown(me.get("deployments/c108")) == made


def test_case_109_the_status_of_a_new_deployment(fixture):
    me = fixture.client()
    made = make(me, "deployments", name="c109")
    told = shown(me.get("/api/status/deployments/c109"))
    assert told["id"] == made["id"] and told["status"] == "proposed" and 0 <= told["state"] <= 5
    assert told["md5"] == "" and told["node_roles"] == {}


def test_case_110_the_status_of_the_system_deployment(fixture):
    told = shown(fixture.client().get("/api/status/deployments/system"))
    assert told["id"] == 1 and told["status"] in ("active", "committed"), told
    assert re.fullmatch("[0-9a-f]{32}", told["md5"]) and told["node_roles"], told


def test_case_111_the_status_of_no_deployment(fixture):
    told = shown(fixture.client().get("/api/status/deployments"))
    assert (told["id"], told["state"], told["status"]) == (-1, -1, "unknown"), told


# ---- hammers, power ----


def test_case_115_hammers(fixture):
    me = fixture.client()
    listed = shown(me.get("hammers"))
    assert ("ssh", "root") in [(h["name"], h["username"]) for h in listed]
    answer = me.get(f"hammers/{listed[0]['id']}")
    assert len(shown(answer)) == 8 and VND.match(answer.type).group(1).endswith("hammer"), answer
    assert answer.json()["endpoint"] is None


def test_case_116_hammers_of_a_node(fixture):
    assert names(fixture.client().get(f"nodes/{ADMIN}/hammers")) == ["ssh"]


def test_case_117_a_node_can_be_rebooted(fixture):
    me = fixture.client()
    make(me, "nodes", name="c117.bddtesting.com")
    assert "reboot" in shown(me.get("nodes/c117.bddtesting.com/power"))


def test_case_118_an_unknown_power_action_lists_the_choices(fixture):
    me = fixture.client()
    make(me, "nodes", name="c118.bddtesting.com", alive=True)
    answer = me.put("nodes/c118.bddtesting.com/power?poweraction=get_funky")
    assert answer.status == 501 and "reboot" in answer.json()["message"], answer
    assert shown(me.get("nodes/c118.bddtesting.com"))["alive"] is True


def test_case_119_a_reboot_leaves_the_node_not_alive(fixture):
    me = fixture.client()
    node = make(me, "nodes", name="c119.bddtesting.com", alive=True)
    done = shown(me.put("nodes/c119.bddtesting.com/power?poweraction=reboot"))
    assert done["action"] == "reboot" and done["id"] == node["id"] and "result" in done, done
    assert shown(me.get("nodes/c119.bddtesting.com"))["alive"] is False


# ---- jigs ----


def test_case_120_jigs(fixture):
    me = fixture.client()
    assert {"script", "noop"} <= set(names(me.get("jigs")))
    script = shown(me.get("jigs/script"))
    assert set(script) == JIG and len(script) == 11
    check_error(me.post("jigs", {"name": "c120"}), 405, "not_supported")
    check_error(me.delete("jigs/script"), 405, "not_supported")


# ---- nodes ----


def test_case_122_the_admin_node(fixture):
    node = shown(fixture.client().get(f"nodes/{ADMIN}"))
    assert set(node) == NODE and len(node) == 14
    assert node["deployment_id"] == 1, node
    assert node["admin"] is True and node["alive"] is True and node["available"] is True, node


def test_case_123_all_nodes_are_listed(fixture):
    me = fixture.client()
    made = [make(me, "nodes", name=f"c123-{i}.bddtesting.com")["name"] for i in range(3)]
    assert {ADMIN, "system-phantom.internal.local", *made} <= set(names(me.get("nodes")))


def test_case_124_a_node_comes_and_goes(fixture):
    me = fixture.client()
    name = "c124.bddtesting.com"
    for has_work in (False, True):
        node = make(me, "nodes", name=name, alive=True)
        if has_work:
            make(me, "node_roles", node=name, role="test-client", data={"delay": 600000})
            shown(me.put(f"nodes/{name}/commit"))
            eventually(lambda: shown(me.get(f"runs/{name}")), "its work has begun")
        gone = me.delete(f"nodes/{name}")
        assert gone.status == 200 and gone.type == vnd("node", "empty"), gone
        check_error(me.get(f"nodes/{name}"), 404, "not_found", "id")
        check_error(me.get(f"nodes/{node['id']}"), 404, "not_found", "id")
        assert node["id"] not in [n["node_id"] for n in shown(me.get("node_roles"))]

        def no_runs():
            return node["id"] not in [run["node_id"] for run in shown(me.get("runs"))]

        eventually(no_runs, "no run is left of it")


def test_case_125_unknown_nodes(fixture):
    me = fixture.client()
    for key in ("nobody.bddtesting.com", "999999", "0", "9223372036854775807", "1" * 40):
        check_error(me.get(f"nodes/{key}"), 404, "not_found", "id")


def test_case_126_alive(fixture):
    me = fixture.client()
    assert make(me, "nodes", name="c126a.bddtesting.com", alive=True)["alive"] is True
    assert shown(me.get("nodes/c126a.bddtesting.com"))["alive"] is True
    assert make(me, "nodes", name="c126b.bddtesting.com")["alive"] is False
    assert shown(me.put("nodes/c126b.bddtesting.com", {"alive": True}))["alive"] is True
    assert shown(me.get("nodes/c126b.bddtesting.com"))["alive"] is True


def test_case_127_available(fixture):
    me = fixture.client()
    assert make(me, "nodes", name="c127.bddtesting.com")["available"] is False
    changed = shown(me.put("nodes/c127.bddtesting.com", {"available": True}))
    assert changed["available"] is True, changed
    changed = shown(me.put("nodes/c127.bddtesting.com", {"available": False}))
    assert changed["available"] is False, changed
    assert shown(me.get("nodes/c127.bddtesting.com"))["available"] is False


def test_case_128_a_node_moves_to_a_deployment(fixture):
    me = fixture.client()
    home = make(me, "deployments", name="c128")
    make(me, "nodes", name="c128.bddtesting.com")
    moved = shown(me.put("nodes/c128.bddtesting.com", {"deployment": "c128"}))
    assert moved["deployment_id"] == home["id"], moved
    assert "c128.bddtesting.com" in names(me.get("deployments/c128/nodes"))


def test_case_129_a_move_from_where_it_is_not(fixture):
    me = fixture.client()
    home = make(me, "deployments", name="c129")
    before = make(me, "nodes", name="c129.bddtesting.com")
    wrong = {"deployment": "c129", "old_deployment_id": home["id"], "description": "moved"}
    refused = me.put("nodes/c129.bddtesting.com", wrong)
    check_error(refused, 409, "stale", "old_deployment_id")
    assert shown(me.get("nodes/c129.bddtesting.com")) == before
    right = {"deployment": "c129", "old_deployment_id": 1}
    moved = shown(me.put("nodes/c129.bddtesting.com", right))
    assert moved["deployment_id"] == home["id"], moved


# ---- conventions ----

LISTS = ("attribs", "available_hammers", "barclamps", "deployments", "deployment_roles", "hammers",
         "jigs", "nodes", "node_roles", "roles", "snapshots", "users")


def test_case_130_noderoles_by_cohort_and_id(fixture):
    listed = [(n["cohort"], n["id"]) for n in shown(fixture.client().get("node_roles"))]
    assert len(listed) > 1 and listed == sorted(listed), listed


def test_case_131_the_heartbeat(fixture):
    told = shown(fixture.client().get("/api/status/heartbeat"))
    assert {"active", "todo", "error"} <= set(told) and told["active"] > 0, told


def test_case_132_only_the_attributes_asked_for(fixture):
    me = fixture.client()
    only = {"x-return-attributes": '["name"]'}
    for kind, key in (("nodes", ADMIN), ("deployments", "system"), ("roles", "test-admin"),
                      ("jigs", "noop"), ("barclamps", "crowbar"), ("attribs", "os")):
        assert shown(me.get(f"{kind}/{key}", headers=only)) == {"name": key}
        listed = shown(me.get(kind, headers=only))
        assert {"name": key} in listed and all(set(thing) == {"name"} for thing in listed)
    nested = shown(me.get(f"nodes/{ADMIN}/roles", headers=only))
    assert {"name": "crowbar-admin-node"} in nested
    matched = shown(me.post("nodes/match", {"name": ADMIN}, headers=only))
    assert matched == [{"name": ADMIN}]
    made = shown(me.post("nodes", {"name": "c132.bddtesting.com"}, headers=only))
    assert made == {"name": "c132.bddtesting.com"}
    unknown = {"x-return-attributes": '["name", "nothing_of_the_kind"]'}
    assert shown(me.get("nodes/admin", headers=unknown)) == {"name": ADMIN}


def test_case_133_match_and_sample(fixture):
    me = fixture.client()
    for kind, name in (("nodes", ADMIN), ("deployments", "system"), ("roles", "test-admin"),
                       ("jigs", "noop"), ("attribs", "os"), ("available_hammers", "ssh")):
        answer = me.post(f"{kind}/match", {"name": name})
        assert names(answer) == [name] and VND.match(answer.type).group(2) == "list", answer
    [crowbar] = shown(me.post("users/match", {"username": "crowbar"}))
    assert crowbar["username"] == "crowbar"
    for kind in LISTS:
        empty = shown(me.post(f"{kind}/match", {}))
        assert empty == ([] if kind != "barclamps" else shown(me.get("barclamps"))), kind
        sample = me.get(f"{kind}/sample")
        keys = list(shown(sample))
        assert not [k for k in keys if k.startswith("id") or k.endswith(("_id", "_at"))], sample
        assert VND.match(sample.type).groups() == (kind[:-1], "obj"), sample.type
    assert shown(me.get("users/sample")) == {}
    both = {"name": [ADMIN, "system-phantom.internal.local", "c133"], "admin": True}
    assert names(me.post("nodes/match", both)) == [ADMIN]


def test_case_134_patches(fixture):
    me = fixture.client()
    make(me, "nodes", name="c134.bddtesting.com")
    make(me, "deployments", name="c134")

    def patch(path, key, value, op="replace"):
        return me.patch(path, [{"op": op, "path": "/" + key, "value": value}])

    for path in ("nodes/c134.bddtesting.com", "deployments/c134", "roles/test-event", "jigs/test"):
        before = shown(me.get(path))
        changed = shown(patch(path, "description", "patched"))
        assert changed["description"] == "patched", changed
        for key in ("id", "created_at", "updated_at"):
            check_error(patch(path, key, 777777), 409, "read_only", key)
        shown(patch(path, "description", before["description"]))
    check_error(patch("deployments/c134", "state", 1), 409, "read_only", "state")
    check_error(patch("nodes/c134.bddtesting.com", "admin", True), 409, "read_only", "admin")
    bound = make(me, "node_roles", node="c134.bddtesting.com", role="test-event")
    path = f"node_roles/{bound['id']}"
    check_error(patch(path, "state", ACTIVE), 409, "read_only", "state")
    assert patch(path, "data", {"a": 1}).status == 200
    assert shown(me.get(path))["state"] == PROPOSED
    # one that changes nothing is none
    assert patch("deployments/c134", "state", 0).status == 200


def test_case_135_content_types(fixture):
    me = fixture.client()
    make(me, "nodes", name="c135.bddtesting.com")
    make(me, "groups", name="c135")
    for kind, key in (("nodes", ADMIN), ("deployments", "system"), ("roles", "test-admin"),
                      ("jigs", "noop"), ("barclamps", "crowbar"), ("attribs", "os"),
                      ("groups", "c135"), ("users", "crowbar"), ("available_hammers", "ssh"),
                      ("snapshots", "system")):
        assert me.get(f"{kind}/{key}").type == vnd(kind[:-1], "obj"), kind
        assert me.get(kind).type == vnd(kind[:-1], "list"), kind
        assert VND.match(me.get(f"{kind}/c135-nobody").type).group(2) == "error", kind
    for kind in ("node_roles", "deployment_roles", "runs", "hammers"):
        assert me.get(kind).type == vnd(kind[:-1], "list"), kind
    assert me.get(f"nodes/{ADMIN}/node_roles").type == vnd("node_role", "list")
    assert me.delete("nodes/c135.bddtesting.com").type == vnd("node", "empty")
    assert me.delete("groups/c135").type == vnd("group", "empty")


def test_case_137_digits_are_an_id_and_anything_else_a_name(fixture):
    me = fixture.client()
    make(me, "nodes", name="137.bddtesting.com")
    for kind, name in (("nodes", "137.bddtesting.com"), ("roles", "test-admin"),
                       ("deployments", "system"), ("jigs", "noop"), ("barclamps", "crowbar"),
                       ("attribs", "os"), ("users", "crowbar"), ("networks", "admin")):
        thing = shown(me.get(f"{kind}/{name}"))
        assert shown(me.get(f"{kind}/{thing['id']}")) == thing
        check_error(me.get(f"{kind}/{name}x"), 404, "not_found", "id")
    by_id = shown(me.get("nodes/137.bddtesting.com"))["id"]
    assert shown(me.get(f"nodes/{by_id}/roles")) == []
    bound = me.post("node_roles", {"node": str(by_id), "role": "test-event"})
    assert shown(bound)["node_id"] == by_id
    for kind in ("deployments", "nodes", "groups", "networks"):
        refused = me.post(kind, {"name": "137", "conduit": "1g0"})
        assert refused.status == 409 and refused.json()["field"] == "name", refused


def test_case_136_the_users_of_the_fixture(fixture):
    me = fixture.client()
    listed = {user["username"]: user for user in shown(me.get("users"))}
    assert set(USERS) <= set(listed)
    for username, password in USERS.items():
        user = listed[username]
        assert len(user) == 7 and user["is_admin"] is True and user["is_locked"] is False, user
        assert TIME.match(user["created_at"]) and "password" not in str(user)
        assert Machine(fixture.url, username, password).status("digest") == 200
