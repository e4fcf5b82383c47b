"""Objects as clients of OpenCrowbar ask for them: below their owner, by name, with the old types."""
import os
import subprocess
import uuid

from daemon import Own

ARRAY = "application/vnd.crowbar.json.array+json; version=2.0"
RESULT = "application/vnd.crowbar.json.result+json; version=2.0"


def good(answer):
    assert answer.status == 200, answer
    return answer.json()


def refused(answer, status, code, field):
    assert answer.status == status, answer
    body = answer.json()
    assert (body["code"], body.get("field")) == (code, field), body


def fresh(me, deployment=None):
    """A deployment and a node of their own."""
    word = uuid.uuid4().hex[:8]
    home = good(me.post("deployments", {"name": deployment or "d" + word}))
    node = good(me.post("nodes", {"name": f"n{word}.example.com", "deployment_id": home["id"]}))
    return home, node


# ---- content types ----


def test_the_types_of_status_and_power(daemon):
    me = daemon.client()
    home, node = fresh(me)
    for path in ("nodes", f"nodes/{node['name']}", "deployments", f"deployments/{home['name']}"):
        answer = me.get("/api/status/" + path)
        assert answer.status == 200 and answer.type == ARRAY, (path, answer.type)
    assert me.get("/api/status/inventory").type == "application/vnd.crowbar.inventory+json"
    actions = me.get(f"nodes/{node['name']}/power")
    assert actions.type == ARRAY and "reboot" in actions.json(), actions
    done = me.put(f"nodes/{node['name']}/power", form={"poweraction": "reboot"})
    assert done.status == 200 and done.type == RESULT, (done, done.type)
    hammer = good(me.get(f"nodes/{node['name']}/hammers"))[0]
    done = me.post(f"hammers/{hammer['id']}/perform", {"method": "reboot"})
    assert done.status == 200, done
    assert done.type == "application/vnd.crowbar.secure_shell_hammer.action+json; version=2.0"
    funky = me.put(f"nodes/{node['name']}/power", form={"poweraction": "get_funky"})
    assert funky.status == 501 and funky.type.startswith("application/vnd.crowbar.node.error"), funky


def test_the_type_of_a_hammer_is_that_of_its_class(daemon):
    me = daemon.client()
    _, node = fresh(me)
    path = f"nodes/{node['name']}/hammers"
    ssh = "application/vnd.crowbar.secure_shell_hammer.obj+json; version=2.0"
    mine = good(me.get(f"{path}/ssh"))
    for answer in (me.get(f"{path}/ssh"), me.get(f"hammers/{mine['id']}"), me.get("hammers/ssh"),
                   me.put(f"hammers/{mine['id']}", {"username": "root"})):
        assert answer.status == 200 and answer.type == ssh, (answer, answer.type)
    # Lists and samples have the name of the plain class.
    assert me.get("hammers").type == "application/vnd.crowbar.hammer.list+json; version=2.0"
    assert me.get("hammers/sample").type == "application/vnd.crowbar.hammer.obj+json; version=2.0"


def test_the_graph_says_how_to_draw_it(daemon):
    me = daemon.client()
    home, node = fresh(me)
    good(me.post("node_roles", {"node": node["name"], "role": "top"}))
    graph = good(me.get(f"deployments/{home['name']}/graph"))
    assert len(graph) >= 2, graph
    for vertex in graph:
        assert vertex["data"] == {"$color": "#83548B"}, vertex
        assert vertex["$type"] == "square" and vertex["$dim"] == 15, vertex
        for edge in vertex["adjacencies"]:
            assert set(edge) == {"nodeTo", "nodeFrom", "data"}, edge
    assert any(vertex["adjacencies"] for vertex in graph), graph


# ---- below a node ----


def test_noderoles_of_a_node_by_role(daemon):
    me = daemon.client()
    home, node = fresh(me)
    path = f"nodes/{node['name']}/node_roles"
    made = me.post(path, {"role": "top", "data": {"a": 1}})
    assert made.type.startswith("application/vnd.crowbar.node_role.obj+json"), made.type
    bound = good(made)
    role = good(me.get("roles/top"))
    assert bound["node_id"] == node["id"] and bound["deployment_id"] == home["id"], bound
    assert good(me.get(f"{path}/top")) == good(me.get(f"{path}/{role['id']}")) == bound
    changed = me.put(f"{path}/top", {"data": {"a": 2, "b": 3}})
    assert good(changed)["id"] == bound["id"], changed
    assert good(me.put(f"{path}/{role['id']}", {"data": {"a": 4}}))["id"] == bound["id"]
    told = me.put(f"{path}/top", form={"data": '{"a": 5}'})
    assert told.status == 200, told
    refused(me.put(f"{path}/goal", {"data": {}}), 404, "not_found", "id")
    refused(me.put(f"{path}/top", {}), 400, "missing", "data")
    refused(me.get(f"{path}/999999999"), 404, "not_found", "id")
    refused(me.post(path, {}), 400, "missing", "role")
    stale = me.put(f"{path}/top", {"data": {}}, headers={"If-Match": '"1"'})
    assert stale.status == 412, stale


def test_a_body_that_names_another_owner_is_refused(daemon):
    me = daemon.client()
    _, node = fresh(me)
    _, other = fresh(me)
    path = f"nodes/{node['name']}/node_roles"
    refused(me.post(path, {"role": "base", "node": other["name"]}), 400, "bad_value", "node")
    refused(me.post(path, {"role": "base", "node_id": other["id"]}), 400, "bad_value", "node")
    assert good(me.get(f"nodes/{other['name']}/node_roles")) == []
    good(me.post(path, {"role": "base", "node": node["name"]}))


def test_hammers_of_a_node_by_name(daemon):
    me = daemon.client()
    _, node = fresh(me)
    path = f"nodes/{node['name']}/hammers"
    mine = good(me.get(f"{path}/ssh"))
    assert mine["node_id"] == node["id"] and mine["name"] == "ssh", mine
    assert good(me.get(f"{path}/{mine['id']}")) == mine
    assert good(me.put(f"{path}/ssh", {"username": "crowbar"}))["username"] == "crowbar"
    refused(me.get(f"{path}/ipmi"), 404, "not_found", "id")
    refused(me.post(path, {"available_hammer": "ssh", "username": "root"}), 409, "name_taken",
            "available_hammer_id")
    good(me.delete(f"hammers/{mine['id']}"))
    again = good(me.post(path, {"available_hammer": "ssh", "username": "root"}))
    assert again["node_id"] == node["id"], again


def test_a_hammer_by_name_is_the_first_and_changes_need_one(daemon):
    me = daemon.client()
    fresh(me)
    _, node = fresh(me)
    first = good(me.get("hammers/ssh"))
    assert first["id"] == min(h["id"] for h in good(me.get("hammers"))), first
    refused(me.get("hammers/nothing"), 404, "not_found", "id")
    refused(me.put("hammers/ssh", {"username": "x"}), 400, "bad_value", "id")
    refused(me.post("hammers/ssh/perform", {"method": "reboot"}), 400, "bad_value", "id")
    refused(me.delete("hammers/ssh"), 400, "bad_value", "id")
    assert good(me.get(f"nodes/{node['name']}/hammers/ssh"))["username"] == "root"


# ---- below a deployment ----


def test_nodes_of_a_deployment(daemon):
    me = daemon.client()
    home, node = fresh(me)
    away, other = fresh(me)
    path = f"deployments/{home['name']}/nodes"
    assert good(me.get(f"{path}/{node['name']}")) == good(me.get(f"{path}/{node['id']}"))
    refused(me.get(f"{path}/{other['name']}"), 404, "not_found", "id")
    refused(me.put(f"{path}/{other['id']}", {"description": "x"}), 404, "not_found", "id")
    changed = good(me.put(f"{path}/{node['name']}", {"description": "words"}))
    assert changed["description"] == "words", changed
    made = good(me.post(path, form={"name": f"m{uuid.uuid4().hex[:8]}.example.com"}))
    assert made["deployment_id"] == home["id"], made
    wrong = {"name": "never.example.com", "deployment": away["name"]}
    refused(me.post(path, wrong), 400, "bad_value", "deployment")
    assert me.get("nodes/never.example.com").status == 404
    moved = good(me.put(f"{path}/{node['name']}", {"deployment": away["name"]}))
    assert moved["deployment_id"] == away["id"], moved
    refused(me.get(f"{path}/{node['name']}"), 404, "not_found", "id")


def test_roles_and_noderoles_of_a_deployment(daemon):
    me = daemon.client()
    home, node = fresh(me)
    away, _ = fresh(me)
    roles = f"deployments/{home['name']}/deployment_roles"
    made = good(me.post(roles, {"role": "goal"}))
    assert made["deployment_id"] == home["id"], made
    assert good(me.get(f"{roles}/goal")) == good(me.get(f"{roles}/{made['id']}")) == made
    assert good(me.put(f"{roles}/goal", {"data": {"x": 1}}))["id"] == made["id"]
    refused(me.get(f"deployments/{away['name']}/deployment_roles/{made['id']}"), 404, "not_found",
            "id")
    below = f"deployments/{home['name']}/node_roles"
    bound = good(me.post(below, {"node": node["name"], "role": "base"}))
    assert bound["deployment_id"] == home["id"], bound
    assert good(me.get(f"{below}/{bound['id']}")) == bound
    assert good(me.put(f"{below}/{bound['id']}", {"data": {"y": 2}}))["id"] == bound["id"]
    refused(me.put(f"deployments/{away['name']}/node_roles/{bound['id']}", {"data": {}}), 404,
            "not_found", "id")
    refused(me.get(f"{below}/base"), 404, "not_found", "id")


# ---- single values ----


def test_a_target_of_zero_is_none(daemon):
    me = daemon.client()
    _, node = fresh(me)
    good(me.post("node_roles", {"node": node["name"], "role": "goal"}))
    goal = good(me.get("roles/goal"))
    path = "nodes/" + node["name"]
    for none in (0, "0", None):
        assert good(me.put(path, {"target_role_id": goal["id"]}))["target_role_id"] == goal["id"]
        assert good(me.put(path, {"target_role_id": none}))["target_role_id"] is None, none
    assert good(me.put(path, {"target_role_id": goal["id"]}))["target_role_id"] == goal["id"]
    assert good(me.put(path, form={"target_role_id": "0"}))["target_role_id"] is None
    refused(me.put(path, {"target_role_id": 999999999}), 404, "not_found", "target_role_id")
    refused(me.put(path, {"deployment_id": 0}), 404, "not_found", "deployment_id")


def test_mail_at_localhost(daemon):
    me = daemon.client()
    made = good(me.post("users", {"username": "lh" + uuid.uuid4().hex[:6], "password": "long-enough",
                                  "email": f"{uuid.uuid4().hex[:6]}@localhost"}))
    assert made["email"].endswith("@localhost"), made
    refused(me.put(f"users/{made['id']}", {"email": "me@host"}), 409, "name_invalid", "email")
    good(me.delete(f"users/{made['id']}"))


def test_the_test_jig_is_active_where_it_runs(daemon):
    me = daemon.client()
    assert good(me.get("jigs/test"))["active"] is True
    assert "test" in [jig["name"] for jig in good(me.get("jigs?active=true"))]
    with Own(daemon) as own:
        own.start("--barclamps", daemon.path("barclamps"))
        assert own.client.get("jigs/test").json()["active"] is False
        assert own.stop() == 0


def test_hammers_that_log_in_nowhere_need_no_username(daemon):
    me = daemon.client()
    _, node = fresh(me)
    word = "barclamp" + uuid.uuid4().hex[:6]
    kind = "local-" + word
    content = {"barclamp": {"name": word, "source_path": "/" + word},
               "hammers": [{"name": kind, "type": "local", "priority": 1}]}
    good(me.post("barclamps", {"value": content}))
    made = good(me.post("hammers", {"node_id": node["id"], "available_hammer": kind}))
    assert made["name"] == kind, made
    # Nor does a magic packet.
    content["hammers"] = [{"name": "wol-" + word, "type": "wol", "priority": 1}]
    good(me.post("barclamps", {"value": content}))
    made = good(me.post("hammers", {"node_id": node["id"], "available_hammer": "wol-" + word,
                                    "endpoint": "10.0.0.255"}))
    assert made["username"] == "", made
    _, other = fresh(me)
    refused(me.post("hammers", {"node_id": other["id"], "available_hammer": "ssh"}), 400, "missing",
            "username")


def test_a_machine_is_discovered_without_the_test_barclamp(daemon):
    me = daemon.client()
    _, node = fresh(me)
    assert me.get("barclamps/test").status == 404
    done = me.put(f"/api/test/nodes/{node['name']}")
    assert done.status == 200 and done.json()["id"] == node["id"], done
    assert done.type.startswith("application/vnd.crowbar.node.obj+json"), done.type
    refused(me.put(f"/api/test/nodes/{node['name']}?source=other"), 404, "not_found", "source")


# ---- debug ----


def test_debug_without_a_discovery_role_sets_no_target(daemon):
    me = daemon.client()
    _, node = fresh(me)
    good(me.put("nodes/" + node["name"], {"bootenv": "local", "alive": True}))
    done = me.put(f"nodes/{node['name']}/debug")
    after = good(done)
    assert after["target_role_id"] is None and after["bootenv"] == "sledgehammer", after
    assert after["alive"] is False, after
    said = done.headers["Warning"]
    assert said.startswith("299 ") and "discovery role" in said, said
    # A target that was set before stays.
    good(me.post("node_roles", {"node": node["name"], "role": "goal"}))
    goal = good(me.put("nodes/" + node["name"], {"target_role": "goal"}))["target_role_id"]
    assert good(me.put(f"nodes/{node['name']}/debug"))["target_role_id"] == goal
    # The command line shows it.
    program = os.path.join(os.path.dirname(daemon.program), "halligan")
    ran = subprocess.run([program, "node", "debug", node["name"]],
                         capture_output=True, text=True, timeout=60,
                         env={**os.environ, "HALLIGAN_URL": daemon.url,
                              "HALLIGAN_TOKEN": daemon.token})
    assert ran.returncode == 0 and "discovery role" in ran.stderr, (ran.stdout, ran.stderr)


def test_debug_with_a_discovery_role_elsewhere_is_refused(shipped):
    """The shipped barclamps have one: a node that it is not bound to cannot be held there."""
    me = shipped.client()
    name = f"n{uuid.uuid4().hex[:8]}.example.com"
    good(me.post("nodes", {"name": name}))
    for bound in reversed(good(me.get(f"nodes/{name}/node_roles"))):
        me.delete(f"node_roles/{bound['id']}")
    refused(me.put(f"nodes/{name}/debug"), 409, "target_invalid", "id")
