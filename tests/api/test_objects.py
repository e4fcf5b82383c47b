"""Shapes, lists, and what can be done to the nouns."""
import re

NODE = set(
    "id name description admin system deployment_id target_role_id allocated alive available "
    "bootenv quirks created_at updated_at".split()
)
DEPLOYMENT = set("id name description state system parent_id created_at updated_at".split())
ROLE = set(
    "id name description jig_name barclamp_id provides conflicts cohort library implicit "
    "bootstrap discovery cluster destructive abstract milestone powersave service created_at "
    "updated_at".split()
)
JIG = set(
    "id name description order active client_role_name server client_name key created_at "
    "updated_at".split()
)
NODE_ROLE = set(
    "id deployment_id role_id node_id state cohort run_count status runlog available order "
    "created_at updated_at node_error".split()
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


def vnd(kind, form):
    return f"application/vnd.crowbar.{kind}.{form}+json; version=2.0"


def check_error(answer, status, code, field=None):
    assert answer.status == status, answer
    body = answer.json()
    assert body["status"] == status and body["code"] == code, answer
    assert body.get("field") == field, answer
    assert body["message"] and "backtrace" not in body, answer
    assert answer.type.endswith(".error+json; version=2.0"), answer.type


def make(me, kind, **fields):
    answer = me.post(kind, fields)
    assert answer.status == 200, answer
    return answer.json()


# ---- deployments ----


def test_the_system_deployment(daemon):
    answer = daemon.client().get("deployments/system")
    assert answer.status == 200 and answer.type == vnd("deployment", "obj"), answer
    system = answer.json()
    assert set(system) == DEPLOYMENT and len(DEPLOYMENT) == 8
    assert system["id"] == 1 and system["system"] is True and system["parent_id"] is None
    assert TIME.match(system["created_at"]) and TIME.match(system["updated_at"])
    assert daemon.client().get("deployments/1").json() == system


def test_deployments_come_and_go(daemon):
    me = daemon.client()
    made = make(me, "deployments", name="do-one")
    assert made["parent_id"] == 1 and made["state"] == 0 and made["description"] == ""
    child = make(me, "deployments", name="do-two", parent="do-one", description="d")
    assert child["parent_id"] == made["id"] and child["description"] == "d"
    check_error(me.post("deployments", {"name": "do-one"}), 409, "name_taken", "name")
    check_error(me.post("deployments", {}), 400, "missing", "name")
    check_error(me.post("deployments", {"name": "1x"}), 409, "name_invalid", "name")
    check_error(me.delete("deployments/do-one"), 409, "has_children", "id")
    changed = me.put("deployments/do-two", {"name": "do-3", "description": "e"})
    assert changed.json()["name"] == "do-3" and changed.json()["description"] == "e", changed
    gone = me.delete("deployments/do-3")
    assert gone.status == 200 and gone.type == vnd("deployment", "empty"), gone
    assert set(gone.json()) == {"message"}
    check_error(me.get("deployments/do-3"), 404, "not_found", "id")
    check_error(me.delete("deployments/system"), 409, "system_deployment", "id")
    ids = [d["id"] for d in me.get("deployments").json()]
    assert ids == sorted(ids, reverse=True) and made["id"] in ids


# ---- nodes ----


def test_a_node_has_its_sixteen_fields(daemon):
    me = daemon.client()
    answer = me.post("nodes", {"name": "NO1.Example.com", "nix": 1})
    assert answer.status == 200 and answer.type == vnd("node", "obj"), answer
    node = answer.json()
    assert set(node) == NODE and len(NODE) == 14
    assert node["name"] == "no1.example.com" and node["bootenv"] == "sledgehammer"
    assert node["alive"] is False and node["available"] is False and node["quirks"] == []
    assert node["deployment_id"] == 1 and node["target_role_id"] is None
    assert me.get("nodes/no1.example.com").json() == node
    assert me.get(f"nodes/{node['id']}").json() == node
    listed = me.get("nodes")
    assert listed.type == vnd("node", "list")
    ids = [n["id"] for n in listed.json()]
    assert ids == sorted(ids) and node["id"] in ids
    for wrong in ("nodes/nobody.example.com", "nodes/999999", "nodes/99999999999999999999"):
        check_error(me.get(wrong), 404, "not_found", "id")


def test_a_node_is_changed_and_deleted(daemon):
    me = daemon.client()
    make(me, "nodes", name="no2.example.com")
    d = make(me, "deployments", name="no2-home")
    changed = me.put("nodes/no2.example.com", {"alive": True, "deployment": "no2-home"}).json()
    assert changed["alive"] is True and changed["deployment_id"] == d["id"]
    assert changed["available"] is False
    stale = me.put("nodes/no2.example.com", {"deployment": "system", "old_deployment_id": 1})
    check_error(stale, 409, "stale", "old_deployment_id")
    check_error(me.put("nodes/no2.example.com", {"alive": "maybe"}), 400, "bad_value", "alive")
    nowhere = me.put("nodes/no2.example.com", {"deployment": "nix"})
    check_error(nowhere, 404, "not_found", "deployment")
    assert "no2.example.com" in [n["name"] for n in me.get("deployments/no2-home/nodes").json()]
    assert me.delete("nodes/no2.example.com").status == 200
    check_error(me.get("nodes/no2.example.com"), 404, "not_found", "id")
    check_error(me.post("nodes", {"name": "short"}), 409, "name_invalid", "name")


def test_every_verb_of_a_node_answers_with_the_node(daemon):
    me, name = daemon.client(), "verbs.example.com"
    node = make(me, "nodes", name=name)
    for verb in ("forget_key", "propose", "commit", "debug", "undebug", "redeploy"):
        answer = me.put(f"nodes/{name}/{verb}")
        assert answer.status == 200 and answer.json().get("id") == node["id"], (verb, answer)


def test_all_problems_come_at_once(daemon):
    answer = daemon.client().post("nodes", {"name": 7, "alive": "x", "deployment": "nix"})
    check_error(answer, 400, "bad_value", "name")
    problems = answer.json()["problems"]
    assert [p["field"] for p in problems] == ["name", "alive", "deployment"]
    assert answer.json()["message"] == "; ".join(p["message"] for p in problems)


def test_admin_is_the_first_admin_node(daemon):
    me = daemon.client()
    make(me, "nodes", name="boss.example.com", admin=True)
    assert me.get("nodes/admin").json()["name"] == "boss.example.com"
    check_error(me.delete("nodes/admin"), 409, "last_admin", "id")


# ---- roles ----


def test_roles_are_shown_and_described(daemon):
    me = daemon.client()
    role = me.get("roles/middle").json()
    assert set(role) == ROLE and len(ROLE) == 20
    assert role["provides"] == ["centre"] and role["cohort"] == 1 and role["implicit"] is True
    changed = me.put("roles/middle", {"description": "between", "template": {"t": 1}})
    assert changed.json()["description"] == "between", changed
    assert me.get("roles").type == vnd("role", "list")
    names = [r["name"] for r in me.get("roles").json()]
    assert {"base", "middle", "top"} <= set(names)


# ---- noderoles ----


def test_binding_makes_noderoles(daemon):
    me = daemon.client()
    make(me, "nodes", name="nr1.example.com")
    made = me.post("node_roles", {"node": "nr1.example.com", "role": "top", "data": {"k": 1}})
    assert made.status == 200 and made.type == vnd("node_role", "obj"), made
    top = made.json()
    assert set(top) == NODE_ROLE and len(NODE_ROLE) == 14
    assert top["state"] == 4 and top["order"] == 10000 and top["available"] is True
    assert top["node_error"] is False and top["cohort"] == 2
    nested = me.get("nodes/nr1.example.com/node_roles").json()
    assert [n["cohort"] for n in nested] == [0, 1, 2]
    assert me.get("nodes/nr1.example.com/node_roles/top").json() == top
    assert me.get(f"node_roles/{top['id']}").json() == top
    roles = me.get("nodes/nr1.example.com/roles").json()
    assert sorted(r["name"] for r in roles) == ["base", "middle", "top"]
    listed = [(n["cohort"], n["id"]) for n in me.get("node_roles").json()]
    assert listed == sorted(listed)
    again = me.post("node_roles", {"node": "nr1.example.com", "role": "top"})
    assert again.json()["id"] == top["id"]
    ghost = me.post("node_roles", {"node": "nr1.example.com", "role": "ghost"})
    assert ghost.status == 409 and ghost.json()["code"] == "abstract_role", ghost
    enemy = me.post("node_roles", {"node": "nr1.example.com", "role": "enemy"})
    assert enemy.status == 409 and enemy.json()["code"] == "role_conflict", enemy
    check_error(me.post("node_roles", {"role": "top"}), 400, "missing", "node")
    check_error(me.put(f"node_roles/{top['id']}", {}), 400, "missing", "data")
    assert me.put(f"node_roles/{top['id']}", {"data": {"k": 2}}).status == 200
    assert me.delete(f"node_roles/{top['id']}").status == 200
    check_error(me.get("nodes/nr1.example.com/node_roles/top"), 404, "not_found", "id")


def test_nested_lists_of_a_deployment(daemon):
    me = daemon.client()
    make(me, "deployments", name="nest")
    make(me, "nodes", name="ne1.example.com", deployment="nest")
    make(me, "node_roles", node="ne1.example.com", role="base")
    assert len(me.get("deployments/nest/node_roles").json()) == 1
    assert [r["name"] for r in me.get("deployments/nest/roles").json()] == ["base"]
    names = [n["name"] for n in me.get("deployments/nest/nodes").json()]
    assert names == ["nest-phantom.internal.local", "ne1.example.com"]
    check_error(me.get("deployments/nix/nodes"), 404, "not_found", "id")


# ---- bodies ----


def test_json_forms_and_queries_are_equivalent(daemon):
    me = daemon.client()
    form = {"name": "form.example.com", "description": "ä & b", "alive": "true"}
    made = me.post("nodes", form=form).json()
    assert made["description"] == "ä & b" and made["alive"] is True
    made = me.post("nodes?name=query.example.com&alive=true&description=a%20b+c").json()
    assert made["name"] == "query.example.com" and made["description"] == "a b c", made
    wrapped = me.put("nodes/form.example.com", {"node": {"description": "in"}}).json()
    assert wrapped["description"] == "in"
    wrapped = me.put("nodes/form.example.com", form={"node[description]": "form"}).json()
    assert wrapped["description"] == "form"
    bound = me.post(
        "node_roles", form={"node": "form.example.com", "role": "base", "data": '{"a":1}'}
    )
    assert bound.status == 200, bound


def test_malformed_bodies_are_400(daemon):
    me = daemon.client()
    kind = {"Content-Type": "application/json"}
    for raw in (b"{", b"[1]", b"7", b'{"a":1,"a":2}', b'{"a":"\xff"}', b'{"a":"\\u0000"}'):
        assert me.post("nodes", raw=raw, headers=kind).status == 400, raw
    for raw in (b"name=%", b"name=%zz", b"name=%00", b"name=%ff"):
        answer = me.ask("POST", "nodes", raw=raw)
        assert answer.status == 400, answer
    for kind in ("text/xml", "text/plain", "text/plain; charset=utf-8"):
        answer = me.post("nodes", raw=b'{"name":"x.example.com"}', headers={"Content-Type": kind})
        assert answer.status == 415, answer


def test_a_body_that_is_too_large_is_413(daemon):
    answer = daemon.client().post("nodes", raw=b'{"a":"' + b"x" * (5 << 20) + b'"}')
    assert answer.status == 413, answer


# ---- conventions ----


def test_only_the_attributes_asked_for(daemon):
    me = daemon.client()
    only = {"x-return-attributes": '["name","nix"]'}
    assert me.get("deployments/system", headers=only).json() == {"name": "system"}
    for row in me.get("deployments", headers=only).json():
        assert set(row) == {"name"}
    wrong = me.get("deployments", headers={"x-return-attributes": "name"})
    assert wrong.status == 400, wrong


def test_samples_have_no_ids_and_times(daemon):
    me = daemon.client()
    for kind, type_, fields in (
        ("nodes", "node", NODE),
        ("deployments", "deployment", DEPLOYMENT),
        ("roles", "role", ROLE),
        ("node_roles", "node_role", NODE_ROLE),
        ("jigs", "jig", JIG),
    ):
        answer = me.get(kind + "/sample")
        wanted = {f for f in fields if f != "id" and not f.endswith(("_id", "_at"))}
        assert answer.status == 200 and answer.type == vnd(type_, "obj"), answer
        assert set(answer.json()) == wanted, answer


def test_matches(daemon):
    me = daemon.client()
    make(me, "nodes", name="match1.example.com", description="same")
    make(me, "nodes", name="match2.example.com", description="same", alive=True)

    def match(body):
        answer = me.post("nodes/match", body)
        assert answer.status == 200 and answer.type == vnd("node", "list"), answer
        return [n["name"].split(".")[0] for n in answer.json()]

    assert match({"name": "match1.example.com"}) == ["match1"]
    assert match({"description": "same"}) == ["match1", "match2"]
    assert match({"description": "same", "alive": "true"}) == ["match2"]
    either = ["match1.example.com", "match2.example.com", "x"]
    assert match({"name": either}) == ["match1", "match2"]
    long = me.post("nodes/match", {"quirks": ["x" * (3 << 20)]})
    check_error(long, 400, "bad_value", "quirks")
    assert match({"name": "match"}) == [] and match({}) == [] and match({"nix": 1}) == []


def test_etags(daemon):
    me = daemon.client()
    make(me, "deployments", name="tagged")
    tag = me.get("deployments/tagged").headers["ETag"]
    assert re.match(r'"\d+"$', tag)
    good = {"If-Match": tag}
    first = me.put("deployments/tagged", {"description": "1"}, headers=good)
    assert first.status == 200 and first.headers["ETag"] != tag, first
    second = me.put("deployments/tagged", {"description": "2"}, headers=good)
    check_error(second, 412, "precondition_failed", "if_turn")
    late = me.delete("deployments/tagged", headers=good)
    check_error(late, 412, "precondition_failed", "if_turn")
    several = {"If-Match": tag + ", " + first.headers["ETag"]}
    check_error(me.put("deployments/tagged", {}, headers=several), 400, "bad_value", "If-Match")
    assert me.get("deployments/tagged").json()["description"] == "1"
    last = {"If-Match": first.headers["ETag"]}
    assert me.delete("deployments/tagged", headers=last).status == 200


def test_patches(daemon):
    me = daemon.client()
    make(me, "nodes", name="patch.example.com")
    path = "nodes/patch.example.com"
    done = me.patch(path, [{"op": "replace", "path": "/description", "value": "p"}])
    assert done.status == 200 and done.json()["description"] == "p", done
    check_error(
        me.patch(path, [{"op": "replace", "path": "/id", "value": 1}]), 409, "read_only", "id"
    )
    test = [{"op": "test", "path": "/description", "value": "x"}]
    check_error(me.patch(path, test), 409, "patch_conflict")
    check_error(me.patch(path, {"description": "x"}), 400, "bad_json")
    check_error(me.patch(path, [{"op": "jump", "path": "/name"}]), 400, "bad_value")
    noderole = make(me, "node_roles", node="patch.example.com", role="base")
    data = [{"op": "replace", "path": "/data", "value": {"a": 1}}]
    assert me.patch(f"node_roles/{noderole['id']}", data).status == 200
    inside = [
        {"op": "test", "path": "/data/a", "value": 1},
        {"op": "add", "path": "/data/b", "value": [1]},
        {"op": "copy", "from": "/data/a", "path": "/data/b/-"},
        {"op": "move", "from": "/data/a", "path": "/data/c"},
        {"op": "test", "path": "/data", "value": {"b": [1, 1], "c": 1}},
    ]
    assert me.patch(f"node_roles/{noderole['id']}", inside).status == 200
    state = [{"op": "replace", "path": "/state", "value": 0}]
    check_error(me.patch(f"node_roles/{noderole['id']}", state), 409, "read_only", "state")


def test_a_returned_object_can_be_sent_back(daemon):
    """As clients do that read an object, change a field and send all of it. A PUT of a node_role is
    about its data, which are not among its fields."""
    me = daemon.client()
    make(me, "nodes", name="back.example.com")
    make(me, "deployments", name="back")
    make(me, "groups", name="back", category="ui")
    make(me, "users", username="back", password="a long secret")
    hammer = me.get("nodes/back.example.com/hammers").json()[0]
    for path in (
        "nodes/back.example.com",
        "deployments/back",
        "snapshots/back",
        f"hammers/{hammer['id']}",
        "groups/back",
        "users/back",
        "roles/middle",
        "jigs/test",
    ):
        shown = me.get(path).json()
        answer = me.put(path, shown)
        assert answer.status == 200, answer
        again = answer.json()
        for view in (shown, again):
            view.pop("updated_at", None)
        assert again == shown, (path, again)


def test_an_encoded_slash_is_part_of_a_name(daemon):
    answer = daemon.client().get("nodes/patch.example.com%2Fnode_roles")
    check_error(answer, 404, "not_found", "id")
    assert "patch.example.com/node_roles" in answer.json()["message"], answer
