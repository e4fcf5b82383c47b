"""Bulk creation, and reports of machines about themselves."""


def names(count, stem):
    return [{"name": f"{stem}{i}.bulk.example.com"} for i in range(count)]


def test_an_array_creates_all_elements(daemon):
    me = daemon.client()
    wanted = names(300, "m")
    wanted[7]["description"] = "the seventh"
    made = me.post("nodes", wanted)
    assert made.status == 200 and made.type.startswith("application/vnd.crowbar.node.list+json")
    rows = made.json()
    assert [row["name"] for row in rows] == [item["name"] for item in wanted]
    assert rows[7]["description"] == "the seventh" and len(rows[0]) == 14
    bound = me.post("node_roles", [{"node": row["id"], "role": "base"} for row in rows[:20]])
    assert bound.status == 200 and {row["state"] for row in bound.json()} == {4}, bound


def test_one_invalid_element_refuses_the_whole_array(daemon):
    me = daemon.client()
    before = me.ask("HEAD", "nodes").headers["X-Total-Count"]
    wanted = names(10, "w")
    wanted[4]["name"] = "short"
    wanted[8]["name"] = wanted[2]["name"]
    refused = me.post("nodes", wanted)
    assert refused.status == 409, refused
    fields = [problem["field"] for problem in refused.json()["problems"]]
    assert fields == ["4.name", "8.name"], refused
    unread = me.post("nodes", [{"name": "a.bulk.example.com"}, {"alive": "perhaps"}])
    assert unread.status == 400, unread
    fields = [problem["field"] for problem in unread.json()["problems"]]
    assert fields == ["1.name", "1.alive"], unread
    for body in ([], [1], [{"name": "x.y.zz"}, []], names(10001, "x")):
        assert me.post("nodes", body).status == 400
    assert me.post("deployments", [{"name": "many"}]).status == 400
    assert me.ask("HEAD", "nodes").headers["X-Total-Count"] == before


def fresh(me, name, **more):
    made = me.post("nodes", {"name": name, "available": True, **more})
    assert made.status == 200, made
    return made.json()["id"]


def test_a_late_report_of_an_earlier_boot_is_ignored(daemon):
    me = daemon.client()
    node = f"nodes/{fresh(me, 'x12.bulk.example.com')}"
    assert me.put(node, {"alive": True, "boot_id": "first"}).json()["alive"]
    assert me.put(node, {"alive": False, "boot_id": "second"}).json()["alive"] is False
    assert me.put(node, {"alive": True, "boot_id": "second"}).json()["alive"]
    late = me.put(node, {"alive": False, "boot_id": "first"})
    assert late.status == 200 and late.json()["alive"] is True, late
    assert me.get(node + "?view=full").json()["boot_id"] == "second"
    assert me.put(node, {"boot_id": "with space"}).status == 400


def test_a_machine_may_register_twice(daemon):
    me = daemon.client()
    asked = {"name": "x17.bulk.example.com", "mac": "52:54:00:AB:CD:17", "ip": "192.168.124.17/24"}
    first = me.post("nodes", form=asked)
    again = me.post("nodes", {**asked, "mac": "52-54-00-ab-cd-17"})
    assert first.status == 200 and again.status == 200, again
    assert again.json()["id"] == first.json()["id"]
    assert me.post("nodes", {**asked, "mac": "52:54:00:00:00:01"}).status == 409
    assert me.post("nodes", {"name": asked["name"]}).status == 409
    for wrong in ({"mac": "52:54"}, {"ip": "1.2.3"}, {"ip": "10.0.0.1/33"}):
        refused = me.post("nodes", {"name": "x18.bulk.example.com", **wrong})
        assert refused.status == 400 and refused.json()["field"] in wrong, refused


def test_a_machine_is_alive_only_in_the_expected_environment(daemon):
    me = daemon.client()
    node = f"nodes/{fresh(me, 'x20.bulk.example.com', bootenv='debian-12-install')}"
    refused = me.put(node, {"alive": True})
    assert refused.status == 409 and refused.json()["field"] == "alive", refused
    refused = me.put(node, {"alive": True, "bootenv": "local", "environment": "sledgehammer"})
    assert refused.status == 409 and refused.json()["field"] == "environment", refused
    shown = me.get(node + "?view=full").json()
    assert shown["bootenv"] == "debian-12-install" and not shown["alive"]
    generation = shown["boot_generation"]
    stale = {"alive": True, "bootenv": "local", "boot_generation": generation + 1}
    refused = me.put(node, stale)
    assert refused.status == 409 and refused.json()["field"] == "boot_generation", refused
    heard = me.put(node, {**stale, "boot_generation": generation, "environment": "local"})
    assert heard.status == 200 and heard.json()["alive"] and heard.json()["bootenv"] == "local"


def test_why_shows_a_refused_report_of_the_machine(daemon):
    me = daemon.client()
    name = "mute.bulk.example.com"
    assert me.post("deployments", {"name": "mute"}).status == 200
    node = f"nodes/{fresh(me, name, bootenv='sledgehammer', deployment='mute')}"
    assert me.post("node_roles", {"node": name, "role": "base", "deployment": "mute"}).status == 200
    assert me.put("deployments/mute/commit").status == 200

    def why():
        return me.get(f"{node}/why").json()["chain"][-1]["text"]

    assert why().endswith(" is not alive"), why()
    assert me.put(f"nodes/{name}", {"alive": True, "environment": "local"}).status == 409
    refused = " its report that it is alive was refused: the node is to boot sledgehammer, not local"
    assert refused in why(), why()
    assert me.put(f"nodes/{name}", {"alive": False, "description": "quiet"}).status == 200
    assert me.put(node, {"boot_generation": 99}).status == 409  # no report that it is alive
    assert refused in why(), why()
    for start in ("", "a", "ab", "abc"):  # truncated between characters
        long = start + "\N{HAMMER}\N{SNOWMAN}\u00e9" * 100
        assert me.put(node, {"alive": True, "environment": long}).status == 409
        assert "was refused: the node is to boot sledgehammer, not " + start in why(), why()
    assert me.put(node, {"available": False}).status == 200
    assert me.put(node, {"alive": True, "environment": "sledgehammer"}).status == 200
    assert me.put(node, {"alive": False}).status == 200
    assert why().endswith(" is not alive"), why()  # that was before it was alive
