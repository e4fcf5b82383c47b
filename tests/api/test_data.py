"""Attribs and their values, deployment roles, groups, barclamps: on those that are shipped.

Tests named test_case_N are case N of the specification.
"""
from daemon import eventually
from test_objects import NODE_ROLE, ROLE, check_error, make, vnd

ATTRIB = {"id", "barclamp_id", "role_id", "name", "description", "writable", "schema", "order"}
ATTRIB |= {"map", "ui_renderer", "default", "created_at", "updated_at"}
DEPLOYMENT_ROLE = {"id", "deployment_id", "role_id", "created_at", "updated_at"}
GROUP = {"id", "name", "description", "category", "order", "created_at", "updated_at"}
BARCLAMP = {"id", "name", "description", "barclamp_id", "version", "build_version", "source_url"}
BARCLAMP |= {"source_path", "commit", "build_on", "cfg_data", "created_at", "updated_at"}
HAMMER = {"id", "node_id", "available_hammer_id", "priority", "name", "endpoint", "username"}
HAMMER |= {"actions"}


def names(answer):
    assert answer.status == 200, answer
    return [thing["name"] for thing in answer.json()]


# ---- binding ----


def test_case_26_a_bind_brings_what_the_role_requires(shipped):
    me = shipped.client()
    node = make(me, "nodes", name="c26.example.com")
    home = make(me, "deployments", name="c26")
    made = me.post(
        "node_roles", {"node": "c26.example.com", "deployment": "c26", "role": "test-client"}
    )
    assert made.status == 200 and made.json()["state"] == 4, made
    assert set(made.json()) == NODE_ROLE and len(NODE_ROLE) == 14
    assert made.json()["deployment_id"] == home["id"]
    assert "test-library" in names(me.get("nodes/c26.example.com/roles"))
    bound = me.get("nodes/c26.example.com/node_roles/test-library").json()
    assert bound["node_id"] == node["id"]
    for role in ("test-server", "test-admin"):
        assert len(me.get(f"roles/{role}/node_roles").json()) > 0, role


def test_case_27_a_role_of_the_deployment_is_bound(shipped):
    me = shipped.client()
    make(me, "nodes", name="c27.example.com")
    make(me, "deployments", name="c27")
    added = me.post("deployments/c27/roles", {"role": "test-event"})
    assert added.status == 200 and set(added.json()) == DEPLOYMENT_ROLE, added
    assert names(me.get("deployments/c27/roles")) == ["test-event"]
    made = me.post(
        "node_roles", {"node": "c27.example.com", "deployment": "c27", "role": "test-event"}
    )
    assert made.status == 200 and made.json()["state"] == 4, made


# ---- attribs ----


def test_case_90_attribs_are_listed_and_shown(shipped):
    me = shipped.client()
    listed = me.get("attribs")
    assert listed.status == 200 and listed.type == vnd("attrib", "list"), listed
    found = [a for a in listed.json() if a["name"] == "test-random"]
    assert len(found) == 1 and found[0]["map"] == "test/random", found
    shown = me.get("attribs/test-random")
    assert shown.type == vnd("attrib", "obj")
    assert set(shown.json()) == ATTRIB and len(ATTRIB) == 13
    assert shown.json() == found[0]
    assert shown.json()["role_id"] == me.get("roles/test-server").json()["id"]
    assert shown.json()["ui_renderer"] == "attribs/default"
    assert me.get(f"attribs/{found[0]['id']}").json() == found[0]


def test_case_91_an_attrib_comes_and_goes(shipped):
    me = shipped.client()
    made = me.post("attribs", {"name": "c91", "barclamp": "crowbar"})
    assert made.status == 200 and set(made.json()) == ATTRIB, made
    assert me.get("attribs/c91").json() == made.json()
    gone = me.delete("attribs/c91")
    assert gone.status == 200 and gone.type == vnd("attrib", "empty"), gone
    check_error(me.get("attribs/c91"), 404, "not_found", "id")


def test_case_92_an_attrib_that_does_not_exist(shipped):
    check_error(shipped.client().get("attribs/thisdoesnotexist"), 404, "not_found", "id")


def test_case_93_the_map_is_read_back(shipped):
    me = shipped.client()
    make(me, "attribs", name="c93", barclamp="crowbar", map="bdd/value")
    assert me.get("attribs/c93").json()["map"] == "bdd/value"
    matched = me.post("attribs/match", {"map": "bdd/value"})
    assert names(matched) == ["c93"]


def test_case_94_a_value_is_set_on_a_node_and_read_again(shipped):
    me = shipped.client()
    make(me, "nodes", name="c94.example.com")
    make(me, "attribs", name="c94", barclamp="crowbar", map="bdd/easyway", writable=True)
    put = me.put("nodes/c94.example.com/attribs/c94", {"value": "456"})
    assert put.status == 200 and put.type == vnd("attrib", "obj"), put
    assert put.json()["value"] == "456" and set(put.json()) == ATTRIB | {"value"}
    assert me.get("nodes/c94.example.com/attribs/c94").json()["value"] == "456"
    listed = {a["name"]: a["value"] for a in me.get("nodes/c94.example.com/attribs").json()}
    assert listed["c94"] == "456" and "test-random" not in listed
    form = me.put("nodes/c94.example.com/attribs/c94", form={"value": "789"})
    assert form.json()["value"] == "789", form
    check_error(me.put("attribs/c94", {"value": "1"}), 405, "not_supported")


def test_any_json_can_be_a_value(shipped):
    me = shipped.client()
    make(me, "nodes", name="given.example.com")
    make(me, "attribs", name="given", map="given/it", writable=True)
    path = "nodes/given.example.com/attribs/given"
    for value in (False, "", [], {}, 0, [1, {"a": None}]):
        assert me.put(path, {"value": value}).json()["value"] == value
        assert me.get(path).json()["value"] == value
    check_error(me.put(path, {"bucket": "user"}), 400, "missing", "value")


def test_case_104_only_user_and_note_are_written_from_outside(shipped):
    me = shipped.client()
    make(me, "nodes", name="c104.example.com")
    path = "nodes/c104.example.com/attribs/stay_on"
    for bucket in ("system", "wall", "discovery", "hint"):
        refused = me.put(path, {"value": True, "bucket": bucket})
        check_error(refused, 405, "not_supported", "bucket")
    noted = me.put(path, {"value": True, "bucket": "note"})
    assert noted.status == 200 and noted.json()["value"] is True, noted
    assert me.get(path).json()["value"] is False
    assert me.get(path + "?bucket=note").json()["value"] is True
    check_error(me.get(path + "?bucket=nix"), 400, "bad_value", "bucket")


def test_a_value_is_proposed_and_committed_on_a_deployment(shipped):
    me = shipped.client()
    make(me, "deployments", name="valued")
    make(me, "nodes", name="valued.example.com", deployment="valued")
    bound = make(me, "node_roles", node="valued.example.com", role="test-fails")
    on_deployment = "deployments/valued/attribs/test-fail"
    on_node = "nodes/valued.example.com/attribs/test-fail"
    assert me.get(on_deployment).json()["value"] is True
    assert me.put(on_deployment, {"value": False}).json()["value"] is False
    assert me.get(on_node).json()["value"] is False
    assert me.get(on_node + "?bucket=committed").json()["value"] is True
    check_error(me.put(on_node, {"value": "maybe"}), 409, "schema_violated", "value")
    told = me.get("deployment_roles/test-fails?deployment=valued").json()
    assert me.put(f"deployment_roles/{told['id']}/commit").status == 200
    assert me.get(on_node + "?bucket=committed").json()["value"] is False
    one = me.get(f"node_roles/{bound['id']}/attribs/test-fail").json()
    assert one["value"] is False
    role = me.get("roles/test-fails/attribs/test-fail").json()
    assert role["value"] is True
    patched = me.patch(on_node, [{"op": "replace", "path": "/value", "value": True}])
    assert patched.status == 200 and patched.json()["value"] is True, patched
    renamed = me.patch(on_node, [{"op": "replace", "path": "/name", "value": "x"}])
    check_error(renamed, 409, "read_only", "name")


# ---- deployment roles ----


def test_case_112_a_role_is_added_to_a_deployment(shipped):
    me = shipped.client()
    listed = me.get("deployment_roles")
    assert listed.status == 200 and listed.type == vnd("deployment_role", "list"), listed
    home = make(me, "deployments", name="c112")
    made = me.post("deployment_roles", {"deployment": "c112", "role": "test-event"})
    assert made.status == 200 and made.type == vnd("deployment_role", "obj"), made
    assert set(made.json()) == DEPLOYMENT_ROLE and len(DEPLOYMENT_ROLE) == 5
    assert made.json()["deployment_id"] == home["id"]
    path = f"deployment_roles/{made.json()['id']}"
    assert me.get("deployment_roles/test-event?deployment=c112").json() == made.json()
    check_error(me.get("deployment_roles/test-event?deployment=nix"), 404, "not_found", "id")
    assert me.put(path, {"data": {"a": 1}}).status == 200
    assert me.put(path + "/commit").status == 200
    assert me.put(path + "/propose").status == 200
    check_error(me.patch(path, []), 405, "not_supported")
    assert names(me.get(path + "/roles")) == ["test-event"]
    assert me.get(path + "/nodes").json() == []
    assert [d["id"] for d in me.get("deployments/c112/deployment_roles").json()] == [
        made.json()["id"]
    ]
    assert me.delete(path).status == 200
    check_error(me.get(path), 404, "not_found", "id")


# ---- groups ----


def test_case_113_groups_come_and_go(shipped):
    me = shipped.client()
    make(me, "groups", name="bddthings", description="standing", category="ui", order=100)
    for category in ("ui", "rack", "tag"):
        made = me.post("groups", {"name": "c113", "category": category})
        assert made.status == 200 and made.type == vnd("group", "obj"), made
        assert set(made.json()) == GROUP and len(GROUP) == 7
        assert made.json()["category"] == category and made.json()["order"] == 10000
    listed = me.get("groups")
    assert listed.type == vnd("group", "list")
    assert {"c113", "bddthings"} <= set(names(listed))
    assert me.get("groups/c113").json()["category"] == "ui"
    assert me.get("groups/tag%2Fc113").json()["category"] == "tag"
    assert me.put("groups/tag%2Fc113", {"description": "d"}).json()["description"] == "d"
    check_error(me.post("groups", {"name": "c113"}), 409, "name_taken", "name")
    check_error(me.post("groups", {"name": "x", "category": "nix"}), 409, "name_invalid", "category")
    for category in ("ui", "rack", "tag"):
        gone = me.delete(f"groups/{category}%2Fc113")
        assert gone.status == 200 and gone.type == vnd("group", "empty"), gone
    check_error(me.get("groups/c113"), 404, "not_found", "id")


def test_case_114_a_node_moves_between_groups(shipped):
    me = shipped.client()
    node = make(me, "nodes", name="c114.example.com")
    make(me, "groups", name="c114a")
    make(me, "groups", name="c114b", category="rack")
    added = me.post("groups/c114a/nodes", {"node_id": node["id"]})
    assert added.status == 200, added
    assert names(me.get("groups/c114a/nodes")) == ["c114.example.com"]
    assert me.delete("groups/c114a/nodes/c114.example.com").status == 200
    assert me.get("groups/c114a/nodes").json() == []
    assert me.post("groups/c114b/nodes", {"node": "c114.example.com"}).status == 200
    assert names(me.get("groups/c114b/nodes")) == ["c114.example.com"]
    check_error(me.delete("groups/c114a/nodes/c114.example.com"), 404, "not_found", "id")


# ---- hammers, roles ----


def test_case_115_116_hammers(shipped):
    me = shipped.client()
    node = make(me, "nodes", name="c115.example.com")
    nested = me.get("nodes/c115.example.com/hammers")
    assert nested.status == 200 and len(nested.json()) == 1, nested
    hammer = nested.json()[0]
    assert hammer["name"] == "ssh" and hammer["username"] == "root"
    assert hammer["node_id"] == node["id"]
    shown = me.get(f"hammers/{hammer['id']}")
    assert set(shown.json()) == HAMMER and len(HAMMER) == 8
    assert shown.json()["endpoint"] is None
    assert "hammer.obj" in shown.type, shown.type
    assert "ssh" in names(me.get("hammers"))


def test_case_121_roles(shipped):
    me = shipped.client()
    assert me.get("roles").status == 200
    role = me.get("roles/test-admin")
    assert set(role.json()) == ROLE and len(ROLE) == 20
    check_error(me.post("roles", {"name": "x"}), 405, "not_supported")


def test_what_belongs_to_a_role(shipped):
    me = shipped.client()
    make(me, "deployments", name="owned")
    make(me, "nodes", name="owned.example.com", deployment="owned")
    bound = make(me, "node_roles", node="owned.example.com", role="test-event")
    assert "owned.example.com" in names(me.get("roles/test-event/nodes"))
    assert bound["id"] in [n["id"] for n in me.get("roles/test-event/node_roles").json()]
    told = me.get("deployment_roles/test-event?deployment=owned").json()
    assert told in me.get("roles/test-event/deployment_roles").json()
    assert names(me.get(f"deployment_roles/{told['id']}/nodes")) == ["owned.example.com"]
    assert names(me.get("roles/test-server/attribs")) == ["test-random", "test-marker"]


# ---- barclamps ----


def test_case_107_barclamps(shipped):
    me = shipped.client()
    listed = me.get("barclamps")
    assert listed.status == 200 and listed.type == vnd("barclamp", "list"), listed
    assert {"crowbar", "provisioner", "network", "test"} <= set(names(listed))
    shown = me.get("barclamps/crowbar")
    assert shown.type == vnd("barclamp", "obj")
    assert set(shown.json()) == BARCLAMP and len(BARCLAMP) == 13
    assert shown.json()["version"] == 1 and shown.json()["cfg_data"]["crowbar"]["layout"] == 2.0
    assert shown.json()["barclamp_id"] == shown.json()["id"]
    assert me.get("barclamps/test").json()["barclamp_id"] == shown.json()["id"]
    check_error(me.delete("barclamps/crowbar"), 405, "not_supported")
    check_error(me.patch("barclamps/crowbar", []), 405, "not_supported")
    check_error(me.get("barclamps/nix"), 404, "not_found", "id")
    assert names(me.post("barclamps/match", {})) == names(listed)
    assert names(me.post("barclamps/match", {"name": "test"})) == ["test"]


SENT = """
barclamp:
  name: sent
  version: 3.B
  parent: crowbar
roles:
  - name: sent-role
    jig: test
    attribs:
      - {name: sent-value, map: sent/value, default: 5, schema: {type: int}}
"""


def test_a_barclamp_is_sent_as_yaml_and_changed_as_an_object(shipped):
    me = shipped.client()
    made = me.post("barclamps", {"value": SENT})
    assert made.status == 200 and set(made.json()) == BARCLAMP, made
    assert made.json()["version"] == 3
    assert made.json()["source_path"].endswith("/uploads/sent")
    assert me.get("roles/sent-role/attribs/sent-value").json()["value"] == 5
    make(me, "nodes", name="sent.example.com")
    assert make(me, "node_roles", node="sent.example.com", role="sent-role")["state"] == 4
    changed = made.json()["cfg_data"]
    changed["barclamp"]["source_path"] = "/etc"
    changed["roles"][0]["attribs"][0]["default"] = 6
    put = me.put("barclamps/sent", {"value": changed})
    assert put.status == 200 and put.json()["id"] == made.json()["id"], put
    assert put.json()["source_path"] == made.json()["source_path"]
    assert me.get("roles/sent-role/attribs/sent-value").json()["value"] == 6
    check_error(me.put("barclamps/crowbar", {"value": changed}), 409, "name_invalid", "value")
    form = me.post("barclamps", form={"value": SENT})
    assert form.status == 200, form


def test_all_problems_of_a_barclamp_have_their_line(shipped):
    me = shipped.client()
    wrong = "barclamp:\n  name: wrong\n  parent: missing\nroles:\n  - jig: 7\n  - {name: x, flags: 1}\n"
    refused = me.post("barclamps", {"value": wrong})
    assert refused.status == 400, refused
    lines = {p["message"].split(":")[0] for p in refused.json()["problems"]}
    assert {"line 3", "line 5", "line 6"} <= lines, refused
    check_error(me.get("barclamps/wrong"), 404, "not_found", "id")
    check_error(me.post("barclamps", {"value": 7}), 400, "bad_value", "value")
    check_error(me.post("barclamps", {"value": "a: ["}), 400, "bad_value", "value")


# ---- simulated discovery ----


def test_case_96_a_machine_is_discovered_from_a_test_file(shipped):
    me = shipped.client()
    make(me, "nodes", name="c96.example.com")
    path = "nodes/c96.example.com/attribs/"
    assert me.get(path + "os").json()["value"] is None
    put = me.put("/api/test/nodes/c96.example.com")
    assert put.status == 200 and put.json()["name"] == "c96.example.com", put
    shown = me.get(path + "os").json()
    assert shown["map"] == "ohai/platform" and shown["value"] == "centos", shown
    assert me.get(path + "number_of_drives").json()["value"] == 1
    assert me.get(path + "os?bucket=discovery").json()["value"] == "centos"
    assert me.get(path + "os?bucket=hint").json()["value"] is None
    everything = path + "test-discovery_data?bucket=discovery"
    first = me.get(everything).json()["value"]["ohai"]["macaddress"]
    assert me.put("/api/test/nodes/c96.example.com").status == 200
    second = me.get(everything).json()["value"]["ohai"]["macaddress"]
    assert first.startswith("02:") and second.startswith("02:") and first != second
    nowhere = me.put("/api/test/nodes/c96.example.com?source=nix")
    check_error(nowhere, 404, "not_found", "source")
    check_error(me.put("/api/test/nodes/nix"), 404, "not_found", "id")


def test_case_96_drives_are_counted_when_a_machine_is_available(shipped):
    me = shipped.client()
    make(me, "nodes", name="drives.example.com", available=True)
    put = me.put("/api/test/nodes/drives.example.com", {"source": "node_two_drives"})
    assert put.status == 200, put
    path = "nodes/drives.example.com/attribs/number_of_drives"
    eventually(lambda: me.get(path).json()["value"] == 2, "the drives are counted")


def test_a_hammer_performs_what_it_can(shipped):
    me = shipped.client()
    node = make(me, "nodes", name="nail.example.com", alive=True)
    hammer = me.get("nodes/nail.example.com/hammers").json()[0]
    done = me.post(f"hammers/{hammer['id']}/perform", {"method": "reboot"})
    assert done.status == 200 and done.type == vnd("secure_shell_hammer", "action"), done
    assert done.json() == {
        "node": node["name"],
        "name": "ssh",
        "id": hammer["id"],
        "method": "reboot",
        "args": [],
        "result_type": "action",
        "results": "ordered",
    }
    assert me.get("nodes/nail.example.com").json()["alive"] is False
    other = me.post(f"hammers/{hammer['id']}/perform", {"method": "run", "args": ["ls"]})
    assert other.status == 200 and other.json()["result_type"] == "exception", other
