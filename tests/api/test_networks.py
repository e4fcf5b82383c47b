"""Networks, ranges, routers, addresses, leases and interfaces over HTTP: shapes, routes, refusals.

test_case_N is case N of the specification. A conduit is shared by all networks of a test file or by
one of them, because conduits of different networks must be equal or disjoint; ranges of addresses are
a test's own for the same reason.
"""
import re

from daemon import Client, eventually
from test_objects import TIME, check_error, make, vnd

NETWORK = set("id deployment_id name description order vlan use_vlan use_bridge team_mode use_team v6prefix "
              "conduit configure category group pbr created_at updated_at".split())
RANGE = set("id name network_id first last conduit vlan use_vlan use_bridge team_mode use_team overlap "
            "created_at updated_at".split())
ROUTER = set("id network_id address pref created_at updated_at".split())
ALLOCATION = set("id node_id network_id network_range_id address created_at updated_at".split())
FILTER = set("id name matcher priority service template created_at updated_at".split())
PREFIX = re.compile(r"fd[0-9a-f]{2}:[0-9a-f]{1,4}:[0-9a-f]{1,4}:[0-9a-f]{1,4}$")


def shown(answer):
    assert answer.status == 200, answer
    return answer.json()


def problems(answer):
    """The problems of a refusal as pairs of field and message."""
    body = answer.json()
    all_of_them = body.get("problems") or [body]
    return [(p.get("field"), p["message"]) for p in all_of_them]


def fields_of(answer):
    return sorted({field for field, _ in problems(answer)})


def network(me, name, third, **more):
    """A network 10.16.THIRD.0/24 with a range host of five addresses."""
    ranges = [{"name": "host", "first": f"10.16.{third}.10/24", "last": f"10.16.{third}.14/24"}]
    return make(me, "networks", **{"name": name, "conduit": "1g0", "ranges": ranges, **more})


def node(me, name):
    return make(me, "nodes", name=f"{name}.example.com")


# ---- networks ----


def test_a_network_has_18_fields_and_defaults(daemon):
    me = daemon.client()
    answer = me.post("networks", {"name": "nw-plain", "conduit": "1g0"})
    made = shown(answer)
    assert answer.type == vnd("network", "obj"), answer.type
    assert set(made) == NETWORK and len(NETWORK) == 18, made
    assert TIME.match(made["created_at"]) and made["deployment_id"] == 1
    defaults = {"description": "", "order": 1000, "vlan": 0, "use_vlan": False, "use_bridge": False, "team_mode": 5,
                "use_team": False, "v6prefix": None, "configure": True, "category": "general", "group": "default",
                "pbr": None}
    assert {key: made[key] for key in defaults} == defaults, made
    assert shown(me.get("networks/nw-plain")) == shown(me.get(f"networks/{made['id']}")) == made
    sample = shown(me.get("networks/sample"))
    assert {key: sample[key] for key in defaults} == defaults and "id" not in sample, sample
    assert [n["name"] for n in shown(me.post("networks/match", {"name": "nw-plain"}))] == ["nw-plain"]
    assert shown(me.post("networks/match", {})) == []
    only = me.ask("GET", "networks/nw-plain", None, headers={"x-return-attributes": '["name"]'})
    assert shown(only) == {"name": "nw-plain"}


def test_a_network_is_changed_and_deleted(daemon):
    me = daemon.client()
    make(me, "networks", name="nw-change", conduit="1g0")
    tag = me.get("networks/nw-change").headers["ETag"]
    changed = shown(me.put("networks/nw-change", {"description": "d", "category": "storage", "vlan": 7}))
    assert changed["category"] == "storage" and changed["vlan"] == 7 and not changed["use_vlan"], changed
    # A number that a new network is given is meant to be used.
    assert make(me, "networks", name="nw-meant", conduit="1g0", vlan=7)["use_vlan"] is True
    stale = me.ask("PUT", "networks/nw-change", {"description": "e"}, headers={"If-Match": tag})
    check_error(stale, 412, "precondition_failed", "if_turn")
    patched = me.patch("networks/nw-change", [{"op": "replace", "path": "/group", "value": "g2"}])
    assert shown(patched)["group"] == "g2"
    check_error(me.patch("networks/nw-change", [{"op": "replace", "path": "/name", "value": "x"}]), 409,
                "read_only", "name")
    # The object as it was shown changes nothing.
    back = shown(me.put("networks/nw-change", shown(patched)))
    assert back == shown(patched), back
    gone = me.delete("networks/nw-change")
    assert gone.status == 200 and gone.type == vnd("network", "empty"), gone
    check_error(me.get("networks/nw-change"), 404, "not_found", "id")


def test_networks_by_category_and_by_address(daemon):
    me = daemon.client()
    network(me, "nw-cat", 1, category="nw-cats")
    assert [n["name"] for n in shown(me.get("networks?category=nw-cats"))] == ["nw-cat"]
    for path in ("networks?address=10.16.1.12", "networks?address=10.16.1.12/24&category=nw-cats",
                 "networks/10.16.1.12"):
        answer = me.get(path)
        assert answer.type == vnd("network", "obj") and shown(answer)["name"] == "nw-cat", path
    check_error(me.get("networks?address=10.16.1.12&category=other"), 404, "not_found", "address")
    check_error(me.get("networks?address=10.16.1.99"), 404, "not_found", "address")
    check_error(me.get("networks?address=10.16.1"), 400, "bad_value", "address")
    check_error(me.get("networks?address=10.16.1.12&limit=1"), 400, "bad_value", "limit")
    # An address names a network to a reader only.
    check_error(me.delete("networks/10.16.1.12"), 404, "not_found", "id")


def test_case_138_a_network_needs_a_name_a_deployment_and_a_conduit(daemon):
    me = daemon.client()
    check_error(me.post("networks", {"conduit": "1g0"}), 400, "missing", "name")
    check_error(me.post("networks", {"name": "nw-138"}), 400, "missing", "conduit")
    for name in (None, ""):
        check_error(me.post("networks", {"name": name, "conduit": "1g0"}), 409, "network_invalid", "name")
    check_error(me.post("networks", {"name": "nw-138", "conduit": ""}), 409, "network_invalid", "conduit")
    refused = me.post("networks", {"name": "nw-138", "conduit": "1g0", "deployment": None})
    check_error(refused, 400, "bad_value", "deployment")
    refused = me.post("networks", {"name": "nw-138", "conduit": "1g0", "deployment": "nw-nowhere"})
    check_error(refused, 404, "not_found", "deployment")
    assert fields_of(me.post("networks", {"name": "", "conduit": ""})) == ["conduit", "name"]
    assert me.get("networks/nw-138").status == 404


def test_case_139_the_category_defaults_to_general(daemon):
    me = daemon.client()
    assert make(me, "networks", name="nw-139", conduit="1g0")["category"] == "general"


def test_case_140_141_142_conduits(daemon):
    me = daemon.client()
    for conduit in ("cow", "?1c3", "?1gd", "x1g3"):
        refused = me.post("networks", {"name": "nw-140", "conduit": conduit})
        check_error(refused, 409, "network_invalid", "conduit")
    team = {"name": "nw-141", "conduit": "10g4,10g5"}
    check_error(me.post("networks", team), 409, "network_invalid", "conduit")
    assert make(me, "networks", **team, use_team=True)["conduit"] == "10g4,10g5"
    for conduit in ("10g2,1k0", "10g3,1m0", ",".join(f"10g{i}" for i in range(20, 29)), "10g2"):
        refused = me.post("networks", {"name": "nw-142", "conduit": conduit, "use_team": True})
        check_error(refused, 409, "network_invalid", "conduit")


def test_case_143_conduits_overlap(daemon):
    me = daemon.client()
    make(me, "networks", name="nw-143a", conduit="100m2")
    make(me, "networks", name="nw-143b", conduit="100m3")
    refused = me.post("networks", {"name": "nw-143c", "conduit": "100m2,100m3", "use_team": True})
    assert refused.status == 409 and refused.json()["code"] == "conduit_overlap", refused
    told = [text for _, text in problems(refused)]
    assert len(told) == 2 and "nw-143a" in told[0] and "nw-143b" in told[1], told


def test_case_144_145_vlan_and_team_mode(daemon):
    me = daemon.client()
    for vlan in (-12, 0, 4095, 4096, 50000):
        refused = me.post("networks", {"name": "nw-144", "conduit": "1g0", "use_vlan": True, "vlan": vlan})
        check_error(refused, 409, "network_invalid", "vlan")
        made = make(me, "networks", name=f"nw-144-{abs(vlan)}", conduit="1g0", use_vlan=False, vlan=vlan)
        assert made["vlan"] == vlan and not made["use_vlan"], made
    assert make(me, "networks", name="nw-144", conduit="1g0", use_vlan=True, vlan=3)["vlan"] == 3
    for mode in (-12, 7, -1, 100):
        fields = {"name": f"nw-145-{mode}", "team_mode": mode}
        refused = me.post("networks", {**fields, "conduit": "10g6,10g7", "use_team": True})
        check_error(refused, 409, "network_invalid", "team_mode")
        assert make(me, "networks", **fields, conduit="1g0", use_team=False)["team_mode"] == mode
    # Forms send strings.
    made = me.ask("POST", "networks", raw=b"name=nw-144-form&conduit=1g0&use_vlan=false&vlan=-7",
                  headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert shown(made)["vlan"] == -7
    check_error(me.post("networks", {"name": "nw-144-x", "conduit": "1g0", "vlan": "many"}), 400, "bad_value",
                "vlan")


def test_case_152_155_the_admin_network(fixture):
    me = fixture.client()
    assert "admin" in [n["name"] for n in shown(me.get("networks"))]
    admin = shown(me.get("networks/admin"))
    assert set(admin) == NETWORK and PREFIX.match(admin["v6prefix"]), admin
    check_error(me.delete("networks/admin"), 405, "not_supported", "id")
    check_error(me.get("networks/c155"), 404, "not_found", "id")


def test_case_153_154_the_v6prefix_is_in_the_reply(daemon):
    me = daemon.client()
    auto = make(me, "networks", name="nw-153", conduit="1g0", v6prefix="auto")
    assert PREFIX.match(auto["v6prefix"]), auto
    [host] = shown(me.get("networks/nw-153/network_ranges"))
    assert host["name"] == "host-v6" and host["first"].endswith("::1/64"), host
    given = make(me, "networks", name="nw-153b", conduit="1g0", v6prefix="fd12:3456:789a:1")
    assert given["v6prefix"] == "fd12:3456:789a:1"
    check_error(me.post("networks", {"name": "nw-153c", "conduit": "1g0", "v6prefix": "automobile"}), 409,
                "network_invalid", "v6prefix")
    made = network(me, "nw-154", 2)
    assert made["v6prefix"] is None
    found = shown(me.get("networks/nw-154/network_ranges/host"))
    assert set(found) == RANGE and len(RANGE) == 14 and found["conduit"] == "1g0", found
    assert found["network_id"] == made["id"] and found["first"] == "10.16.2.10/24"


def test_a_network_is_made_with_ranges_and_router_or_not_at_all(daemon):
    me = daemon.client()
    bad = {"name": "nw-all", "conduit": "1g0",
           "ranges": [{"name": "host", "first": "10.16.3.0/24", "last": "10.16.3.9/24"},
                      {"name": "two", "first": "10.16.3.20/24", "last": "fd00::9/64", "colour": "red"}],
           "router": {"address": "10.16.3.1/33"}}
    refused = me.post("networks", bad)
    assert refused.status in (400, 409), refused
    told = fields_of(refused)
    assert {"ranges/0/first", "ranges/1/last", "ranges/1/colour"} <= set(told), told
    assert me.get("networks/nw-all").status == 404
    check_error(me.post("networks", {**bad, "ranges": {"a": 1}, "router": {}}), 400, "bad_json", "ranges")
    check_error(me.post("networks", {**bad, "ranges": [], "router": "no"}), 400, "bad_value", "router")
    made = network(me, "nw-all", 3, router={"pref": 7})
    [router] = shown(me.get("networks/nw-all/network_routers"))
    assert router["address"] == "10.16.3.10/24" and router["pref"] == 7 and router["network_id"] == made["id"]
    form = b"name=nw-form&conduit=1g0&ranges=" + b'[{"name":"host","first":"10.16.4.1/24","last":"10.16.4.2/24"}]'
    made = me.ask("POST", "networks", raw=form, headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert shown(made)["name"] == "nw-form"
    assert len(shown(me.get("networks/nw-form/network_ranges"))) == 1


def test_unknown_fields_and_names_that_are_routes_are_refused(daemon):
    me = daemon.client()
    strict = {"Prefer": "handling=strict"}
    refused = me.ask("POST", "networks", {"name": "nw-strict", "conduit": "1g0", "colour": 1}, headers=strict)
    check_error(refused, 400, "bad_value", "colour")
    for name in ("sample", "match"):
        check_error(me.post("networks", {"name": name, "conduit": "1g0"}), 409, "name_invalid", "name")
    check_error(me.post("networks", {"name": "x" * 49, "conduit": "1g0"}), 409, "network_invalid", "name")
    assert make(me, "networks", name="x" * 48, conduit="1g0")
    for field in ("description", "category", "group", "pbr", "conduit", "v6prefix"):
        refused = me.post("networks", {"name": "nw-long", "conduit": "1g0", field: "x" * 65537})
        assert refused.status in (400, 409) and field in fields_of(refused), (field, refused)
    assert me.get("networks/nw-long").status == 404


# ---- ranges ----


def test_case_146_a_range_needs_network_and_name(daemon):
    me = daemon.client()
    network(me, "nw-146", 10)
    good = {"network": "nw-146", "name": "two", "first": "10.16.10.20/24", "last": "10.16.10.29/24"}
    for field in good:
        refused = me.post("network_ranges", {key: value for key, value in good.items() if key != field})
        check_error(refused, 400, "missing", field)
    check_error(me.post("network_ranges", {**good, "name": ""}), 409, "network_invalid", "name")
    check_error(me.post("network_ranges", {**good, "network": "nw-none"}), 404, "not_found", "network")
    made = make(me, "network_ranges", **good)
    assert set(made) == RANGE and made["overlap"] is False, made
    check_error(me.post("network_ranges", good), 409, "name_taken", "name")
    check_error(me.delete("network_ranges/nw-146.two"), 405, "not_supported")


def test_case_147_overlap_needs_a_network_that_is_not_configured(daemon):
    me = daemon.client()
    network(me, "nw-147", 11)
    overlap = {"network": "nw-147", "name": "any", "first": "10.16.11.1/24", "last": "10.16.11.99/24",
               "overlap": True}
    check_error(me.post("network_ranges", overlap), 409, "network_invalid", "overlap")
    make(me, "networks", name="nw-147b", conduit="1g0", configure=False)
    assert make(me, "network_ranges", **{**overlap, "network": "nw-147b"})["overlap"] is True
    # In the other order: a range comes beside one that overlaps.
    make(me, "network_ranges", network="nw-147", name="two", first="10.16.11.30/24", last="10.16.11.31/24")


def test_case_148_149_150_addresses_of_ranges(daemon):
    me = daemon.client()
    network(me, "nw-148", 12)

    def refused(first, last):
        answer = me.post("network_ranges", {"network": "nw-148", "name": "two", "first": first, "last": last})
        assert answer.status == 409, answer
        return problems(answer)

    mixed = [text for _, text in refused("10.16.12.50/24", "fd16::1/64")]
    assert any("family" in text for text in mixed) and any("subnet" in text for text in mixed), mixed
    assert any("netmask" in text for _, text in refused("10.16.12.50/24", "10.16.12.60/28"))
    assert any("subnet" in text for _, text in refused("10.16.12.50/24", "10.16.13.60/24"))
    assert any("lower" in text for _, text in refused("10.16.12.60/24", "10.16.12.50/24"))
    for first, last, field in (("10.16.12.0/24", "10.16.12.9/24", "first"),
                               ("10.16.12.255/24", "10.16.12.255/24", "last"),
                               ("10.16.12.50/24", "10.16.12.255/24", "last"),
                               ("10.16.12.0/24", "10.16.12.0/24", "first")):
        assert field in [where for where, _ in refused(first, last)], (first, last)
    assert [where for where, _ in refused("10.16.12.12/24", "10.16.12.20/24")] == ["first"]
    assert [where for where, _ in refused("10.16.12.8/24", "10.16.12.12/24")] == ["last"]
    assert [where for where, _ in refused("10.16.12.11/24", "10.16.12.12/24")] == ["first", "last"]
    assert [where for where, _ in refused("10.16.12.8/24", "10.16.12.20/24")] == ["first"]
    for text in ("10.16.12.300/24", "10.16.12", "10.16.012.1", "FD16::1/64", "", "x" * 70000):
        assert "first" in [where for where, _ in refused_any(me, text)], text


def refused_any(me, first):
    answer = me.post("network_ranges", {"network": "nw-148", "name": "two", "first": first, "last": "10.16.12.60/24"})
    assert answer.status in (400, 409), answer
    return problems(answer)


def test_case_151_conduits_of_ranges(daemon):
    me = daemon.client()
    network(me, "nw-151", 14, conduit="10m2")
    refused = me.post("network_ranges", {"network": "nw-151", "name": "two", "first": "10.16.14.30/24",
                                         "last": "10.16.14.31/24", "conduit": "10m2,10m3", "use_team": True})
    check_error(refused, 409, "conduit_overlap", "conduit")


def test_a_range_inherits_what_it_does_not_have(daemon):
    me = daemon.client()
    network(me, "nw-own", 15)
    path = "network_ranges/nw-own.host"
    own = shown(me.put(path, {"vlan": 9, "use_vlan": True}))
    assert own["vlan"] == 9 and own["use_vlan"] is True and own["conduit"] == "1g0", own
    shown(me.put("networks/nw-own", {"vlan": 4, "use_bridge": True}))
    found = shown(me.get(path))
    assert found["vlan"] == 9 and found["use_bridge"] is True, found
    # Null: inherited again. Lists show the same values and filter by them.
    found = shown(me.patch(path, [{"op": "replace", "path": "/vlan", "value": None}]))
    assert found["vlan"] == 4 and found["use_vlan"] is True, found
    listed = shown(me.get("networks/nw-own/network_ranges?vlan=4&use_vlan=true"))
    assert [r["vlan"] for r in listed] == [4] and listed[0] == found, listed
    assert shown(me.get("networks/nw-own/network_ranges?vlan=9")) == []
    check_error(me.put(path, {"conduit": "cow"}), 409, "network_invalid", "conduit")
    check_error(me.put(path, {"use_vlan": "perhaps"}), 400, "bad_value", "use_vlan")


def test_ranges_are_found_by_name_within_their_network(daemon):
    me = daemon.client()
    network(me, "nw-find-a", 16)
    other = network(me, "nw-find-b", 17)
    check_error(me.get("network_ranges/host"), 400, "bad_value", "id")
    found = shown(me.get("network_ranges/nw-find-b.host"))
    assert found["network_id"] == other["id"]
    assert shown(me.get(f"network_ranges/{found['id']}")) == found
    assert shown(me.get(f"networks/nw-find-b/network_ranges/{found['id']}")) == found
    check_error(me.get(f"networks/nw-find-a/network_ranges/{found['id']}"), 404, "not_found", "id")
    changed = me.put("networks/nw-find-b/network_ranges/host", {"name": "nw-only"})
    assert shown(changed)["name"] == "nw-only"
    assert shown(me.get("network_ranges/nw-only"))["id"] == found["id"]
    renamed = [{"op": "replace", "path": "/name", "value": "nw-patched"}]
    assert shown(me.patch("networks/nw-find-b/network_ranges/nw-only", renamed))["name"] == "nw-patched"
    check_error(me.patch("networks/nw-find-a/network_ranges/nw-patched", renamed), 404, "not_found", "id")
    more = me.post("networks/nw-find-b/network_ranges",
                   {"name": "more", "first": "10.16.17.40/24", "last": "10.16.17.41/24"})
    assert shown(more)["network_id"] == other["id"]


def test_usage_of_a_range(daemon):
    me = daemon.client()
    network(me, "nw-use", 18, router={"address": "10.16.18.10/24"})
    counts = ("size", "allocated", "leased", "resting", "routers", "free")

    def usage():
        found = shown(me.get("network_ranges/nw-use.host/usage"))
        assert found["name"] == "host", found
        return tuple(found[key] for key in counts)

    assert usage() == (5, 0, 0, 0, 1, 4)
    node(me, "nw-use-1")
    node(me, "nw-use-2")
    for name in ("nw-use-1", "nw-use-2"):
        shown(me.post("network_allocations", {"node": f"{name}.example.com", "network": "nw-use"}))
    assert usage() == (5, 2, 0, 0, 1, 2)
    shown(me.delete("network_allocations/10.16.18.11"))
    assert usage() == (5, 1, 0, 1, 1, 2)
    [freed] = shown(me.get("leases?address=10.16.18.11%2F24"))
    assert freed["state"] == "freed" and freed["mac"] is None and TIME.match(freed["ends_at"]), freed
    assert shown(me.get("leases/10.16.18.11")) == shown(me.get(f"leases/{freed['id']}")) == freed
    check_error(me.get("leases/10.16.18.99"), 404, "not_found", "id")
    check_error(me.post("leases", {}), 405, "not_supported")
    only = me.ask("GET", "network_ranges/nw-use.host/usage", None, headers={"x-return-attributes": '["free"]'})
    assert shown(only) == {"free": 2}
    six = make(me, "networks", name="nw-use-6", conduit="1g0", v6prefix="fd16:0:0:18")
    found = shown(me.get(f"network_ranges/{six['name']}.host-v6/usage"))
    assert found["size"] == 2**64 - 2 == found["free"], found


# ---- routers ----


def test_case_156_157_routers(daemon):
    me = daemon.client()
    made = network(me, "nw-156", 20, router={"address": "10.10.99.1", "pref": 42})
    assert shown(me.get("network_routers")) and me.get("network_routers").type == vnd("network_router", "list")
    for key in ("any", "1", "nw-156"):
        router = shown(me.get(f"networks/nw-156/network_routers/{key}"))
        assert set(router) == ROUTER and len(ROUTER) == 6, router
        assert router["address"] == "10.10.99.1/32" and router["pref"] == 42
    assert shown(me.get("network_routers/nw-156")) == shown(me.get(f"network_routers/{router['id']}")) == router
    other = network(me, "nw-157", 21)
    router = make(me, "networks/nw-157/network_routers", address="10.16.21.1/24")
    assert router["pref"] == 65536 and router["network_id"] == other["id"]
    changed = shown(me.put("networks/nw-157/network_routers/x", {"pref": 100, "network_id": made["id"]}))
    assert changed["pref"] == 100 and changed["network_id"] == other["id"], changed
    check_error(me.post("network_routers", {"network": "nw-157", "address": "10.16.21.2/24"}), 409, "in_use",
                "network_id")
    check_error(me.put("network_routers/nw-157", {"address": "10.16.21.2/33"}), 409, "network_invalid", "address")
    check_error(me.put("network_routers/nw-157", {"pref": -1}), 400, "bad_value", "pref")
    patched = me.patch("networks/nw-157/network_routers/x", [{"op": "replace", "path": "/pref", "value": 7}])
    assert shown(patched) == {**changed, "pref": 7, "updated_at": patched.json()["updated_at"]}, patched
    assert me.delete("networks/nw-157/network_routers/x").status == 200
    assert shown(me.get("networks/nw-157/network_routers")) == []
    check_error(me.get("networks/nw-157/network_routers/x"), 404, "not_found", "id")
    check_error(me.post("network_routers", {"address": "10.16.21.2/24"}), 400, "missing", "network")


# ---- allocations ----


def test_case_158_a_hinted_address_is_allocated_in_the_admin_network(fixture):
    me = fixture.client()
    make(me, "nodes", name="c158.example.com", ip="192.168.124.126/24")
    [address] = shown(me.get("nodes/c158.example.com/network_allocations"))
    assert set(address) == ALLOCATION and len(ALLOCATION) == 7, address
    assert address["address"] == "192.168.124.126/24", address
    found = shown(me.get("nodes/c158.example.com/addresses?network=admin"))
    assert found["addresses"] == ["192.168.124.126/24"], found


def test_a_range_is_named_in_either_way_by_both_routes(daemon):
    me = daemon.client()
    network(me, "nw-way", 73, ranges=[{"name": "host", "first": "10.16.73.10/24", "last": "10.16.73.19/24"},
                                      {"name": "vip", "first": "10.16.73.20/24", "last": "10.16.73.29/24"}])
    vip = shown(me.get("network_ranges/nw-way.vip"))["id"]
    ways = [{"range": "vip"}, {"range_id": vip}, {"network_range": "vip"}, {"network_range_id": vip}]
    for number, way in enumerate(ways):
        for path, where in (("network_allocations", {"network": "nw-way"}), ("networks/nw-way/allocate_ip", {})):
            name = f"nw-way-{number}-{len(where)}"
            node(me, name)
            got = shown(me.post(path, {"node": f"{name}.example.com", **where, **way}))
            assert got["network_range_id"] == vip, (path, way, got)
    check_error(me.post("network_allocations", {"node": "nw-way-0-0.example.com", "network": "nw-way", "range": "none"}),
                404, "not_found", "range")
    check_error(me.post("networks/nw-way/allocate_ip", {"node": "nw-way-0-0.example.com", "network_range": "none"}),
                404, "not_found", "network_range")


def test_case_160_addresses_are_allocated_once_and_a_full_range_refuses(daemon):
    me = daemon.client()
    network(me, "nw-160", 30)
    for i in range(6):
        node(me, f"nw-160-{i}")
    first = shown(me.post("network_allocations", {"node": "nw-160-0.example.com", "network": "nw-160"}))
    assert [a["address"] for a in first] == ["10.16.30.10/24"], first
    again = shown(me.post("network_allocations", {"node": "nw-160-0.example.com", "network": "nw-160"}))
    assert again == first
    one = me.post("network_allocations", {"node_id": shown(me.get("nodes/nw-160-1.example.com"))["id"],
                                          "network_range_id": shown(me.get("network_ranges/nw-160.host"))["id"],
                                          "address": "10.16.30.13"})
    assert one.type == vnd("network_allocation", "obj"), one.type
    assert shown(one)["address"] == "10.16.30.13/24"
    taken = me.post("network_allocations", {"node": "nw-160-2.example.com", "network_range": "nw-160.host",
                                            "address": "10.16.30.13"})
    check_error(taken, 409, "address_taken", "address")
    rest = me.post("network_allocations", [{"node": f"nw-160-{i}.example.com", "network": "nw-160",
                                            "network_range": "host"} for i in (2, 3, 4)])
    assert [a["address"] for a in shown(rest)] == ["10.16.30.11/24", "10.16.30.12/24", "10.16.30.14/24"], rest
    full = me.post("network_allocations", {"node": "nw-160-5.example.com", "network": "nw-160"})
    assert full.status == 409 and full.json()["code"] == "range_full", full
    assert len(shown(me.get("networks/nw-160/network_allocations"))) == 5
    assert shown(me.get("network_ranges/nw-160.host/network_allocations?limit=2&sort=-address"))[0]["address"] \
        == "10.16.30.14/24"


def test_what_is_wrong_with_a_request_for_an_address(daemon):
    me = daemon.client()
    network(me, "nw-wrong", 31)
    other = network(me, "nw-wrong-b", 32)
    node(me, "nw-wrong")
    ask = {"node": "nw-wrong.example.com", "network": "nw-wrong"}
    check_error(me.post("network_allocations", {"network": "nw-wrong"}), 400, "missing", "node")
    check_error(me.post("network_allocations", {"node": "nw-wrong.example.com"}), 400, "missing", "network")
    check_error(me.post("network_allocations", {**ask, "node": "nw-none"}), 404, "not_found", "node")
    check_error(me.post("network_allocations", {**ask, "network_range": "none"}), 404, "not_found", "network_range")
    check_error(me.post("network_allocations", {**ask, "address": "10.16.31.300"}), 400, "bad_value", "address")
    check_error(me.post("network_allocations", {**ask, "address": "fd16::9"}), 400, "bad_value", "address")
    check_error(me.post("network_allocations", {**ask, "address": "10.16.31.11", "suggestion": "10.16.31.12"}), 400,
                "bad_value", "suggestion")
    refused = me.post("network_allocations", {**ask, "network_range": f"{other['name']}.host"})
    check_error(refused, 400, "bad_value", "network_range")
    assert shown(me.get("nodes/nw-wrong.example.com/network_allocations")) == []
    check_error(me.put("network_allocations/1", {}), 405, "not_supported")


def test_addresses_through_the_network(daemon):
    me = daemon.client()
    made = network(me, "nw-ip", 33, v6prefix="fd16:0:0:33", category="nw-ip-cat")
    node(me, "nw-ip")
    name = "nw-ip.example.com"
    assert [r["name"] for r in shown(me.get(f"networks/nw-ip/auto_ranges/{name}"))] == ["host", "host-v6"]
    got = shown(me.post("networks/nw-ip/allocate_ip", {"node": name, "range": "host", "suggestion": "10.16.33.12"}))
    assert got["address"] == "10.16.33.12/24" and got["network_id"] == made["id"], got
    both = shown(me.post("networks/nw-ip/ip", {"node_id": got["node_id"]}))
    assert [a["address"] for a in both][0] == "10.16.33.12/24" and len(both) == 2, both
    six = both[1]["address"]
    for path in ("allocations", "ip"):
        assert shown(me.get(f"networks/nw-ip/{path}?node={name}")) == both
        assert sorted(shown(me.get(f"networks/nw-ip/{path}")), key=lambda a: a["id"]) == both
    check_error(me.get("networks/nw-ip/ip?node=nw-none"), 404, "not_found", "node")
    # By network, and by category in the order asked for; IPv6 comes before IPv4.
    one = me.get(f"nodes/{name}/addresses?network=nw-ip")
    assert one.type == vnd("json", "object"), one.type
    whole = {"node": name, "network": "nw-ip", "category": "nw-ip-cat", "addresses": [six, "10.16.33.12/24"]}
    assert shown(one) == whole
    assert shown(me.get(f"nodes/{name}/addresses")) == [whole]
    assert me.get(f"nodes/{name}/addresses").type == vnd("json", "array")
    assert shown(me.get(f"nodes/{name}/addresses?category=other&category=nw-ip-cat")) == [whole]
    assert shown(me.get(f"nodes/{name}/addresses?category=other")) == []
    network(me, "nw-ip-none", 34)
    assert shown(me.get(f"nodes/{name}/addresses?network=nw-ip-none"))["addresses"] == []
    check_error(me.get(f"nodes/{name}/addresses?network=nw-nowhere"), 404, "not_found", "network")
    # Freed by address, then by node.
    check_error(me.delete("networks/nw-ip/deallocate_ip"), 400, "missing", "node")
    check_error(me.delete("networks/nw-ip/deallocate_ip?address=10.16.33.14"), 404, "not_found", "address")
    check_error(me.delete("networks/nw-ip-none/ip?address=10.16.33.12"), 404, "not_found", "address")
    check_error(me.delete(f"networks/nw-ip/ip?node={name}&address="), 400, "bad_value", "address")
    assert len(shown(me.get(f"networks/nw-ip/ip?node={name}"))) == 2
    assert me.delete("networks/nw-ip/deallocate_ip?address=10.16.33.12").status == 200
    shown(me.post("networks/nw-ip/ip", {"node": name}))
    assert me.delete(f"networks/nw-ip/ip?node={name}").status == 200
    assert shown(me.get(f"nodes/{name}/addresses")) == []
    check_error(me.delete(f"networks/nw-ip/ip?node={name}"), 404, "not_found", "node")


def test_case_161_ranges_by_default(fixture):
    me = fixture.client()
    found = [r["name"] for r in shown(me.get("networks/admin/auto_ranges/admin"))]
    assert found == ["admin", "host-v6"], found
    make(me, "nodes", name="c161.example.com")
    found = [r["name"] for r in shown(me.get("networks/admin/auto_ranges/c161.example.com"))]
    assert found == ["host", "host-v6"], found


def test_case_163_in_a_network_that_is_not_configured_nothing_is_allocated(daemon):
    me = daemon.client()
    network(me, "nw-163", 35, configure=False)
    node(me, "nw-163")
    assert shown(me.post("network_allocations", {"node": "nw-163.example.com", "network": "nw-163"})) == []
    one = me.post("network_allocations", {"node": "nw-163.example.com", "network": "nw-163", "network_range": "host"})
    assert shown(one) is None, one


def test_a_node_that_is_deleted_has_no_addresses(daemon):
    me = daemon.client()
    network(me, "nw-gone", 36)
    node(me, "nw-gone")
    shown(me.post("network_allocations", {"node": "nw-gone.example.com", "network": "nw-gone"}))
    assert me.delete("nodes/nw-gone.example.com").status == 200
    assert shown(me.get("networks/nw-gone/network_allocations")) == []
    assert me.delete("networks/nw-gone").status == 200
    assert shown(me.get("leases?address=10.16.36.10%2F24")) == []


def test_addresses_are_in_the_inventory(daemon):
    me = daemon.client()
    network(me, "nw-inv", 37, deployment="system")
    node(me, "nw-inv")
    shown(me.post("network_allocations", {"node": "nw-inv.example.com", "network": "nw-inv"}))
    seen = shown(me.get("/api/status/inventory?hostvar=nw-inv.example.com"))
    assert seen["network"] == {"nw-inv": {"host": "10.16.37.10/24"}}, seen
    whole = shown(me.get("/api/status/inventory"))
    listed = whole["system"]["vars"]["networks"]["nw-inv"]
    assert listed["ranges"]["host"] == {"first": "10.16.37.10/24", "last": "10.16.37.14/24"}, listed
    assert whole["_meta"]["hostvars"]["nw-inv.example.com"]["network"] == seen["network"]


def test_a_machine_reads_its_own_addresses(daemon):
    me = daemon.client()
    network(me, "nw-token", 38)
    node(me, "nw-token")
    node(me, "nw-token-b")
    shown(me.post("network_allocations", {"node": "nw-token.example.com", "network": "nw-token"}))
    token = make(me, "nodes/nw-token.example.com/token", name="own")["token"]
    machine = Client(daemon.url, "Bearer " + token)
    for below in ("addresses", "network_allocations", "nics"):
        assert machine.get(f"nodes/nw-token.example.com/{below}").status == 200, below
        check_error(machine.get(f"nodes/nw-token-b.example.com/{below}"), 403, "forbidden")
    check_error(machine.get("networks"), 403, "forbidden")


PER_NETWORK = """
barclamp: {name: nwper}
roles:
  - {name: "nwper-{name}", jig: test, per: network}
"""


def test_a_plan_lists_the_addresses_that_it_configures(daemon):
    me = daemon.client()
    shown(me.post("barclamps", {"value": PER_NETWORK}))
    made = network(me, "nw-plan", 39)
    make(me, "deployments", name="nw-plan")
    make(me, "nodes", name="nw-plan.example.com", deployment="nw-plan")
    make(me, "node_roles", node="nw-plan.example.com", role="nwper-nw-plan", deployment="nw-plan")
    [entry] = shown(me.get("deployments/nw-plan/plan"))["addresses"]
    assert entry["address"] == "10.16.39.10/24" and entry["how"] == "configure", entry
    assert entry["network"] == made["id"] and entry["network_name"] == "nw-plan", entry
    assert entry["node_name"] == "nw-plan.example.com" and entry["role_name"] == "nwper-nw-plan", entry


def test_a_plan_without_networks_lists_no_addresses(daemon):
    me = daemon.client()
    make(me, "deployments", name="nw-plan-none")
    assert shown(me.get("deployments/nw-plan-none/plan"))["addresses"] == []


NAMED = """
barclamp: {name: nwnamed}
roles:
  - name: nwnamed-dns
    jig: test
    lists-services: nwnamed-services
    attribs:
      - {name: nwnamed-services, map: nwnamed/services, default: [nwnamed], schema: {type: seq, sequence: [{type: str}]}}
  - name: nwnamed-use
    jig: test
    attribs:
      - {name: nwnamed-use, map: nwnamed/use, default: none, writable: true, schema: {type: str}}
"""


def test_a_plan_lists_the_names_that_it_changes(daemon):
    me = daemon.client()
    shown(me.post("barclamps", {"value": NAMED}))
    network(me, "nw-named", 40)
    make(me, "deployments", name="nw-named")
    make(me, "nodes", name="nw-named.example.com", deployment="nw-named", alive=True, available=True)
    [address] = shown(me.post("network_allocations", {"node": "nw-named.example.com", "network": "nw-named"}))

    def commit():
        """And waits for the runs: only what has run is kept when the deployment is proposed again."""
        shown(me.put("deployments/nw-named/commit"))
        eventually(lambda: all(r["state"] == 0 for r in shown(me.get("nodes/nw-named.example.com/node_roles"))),
                   "all noderoles are active")
        shown(me.put("deployments/nw-named/propose"))

    for role in ("nwnamed-dns", "nwnamed-use"):
        make(me, "node_roles", node="nw-named.example.com", role=role, deployment="nw-named")
        commit()
    for name, matcher in (("nw-named-a", 'node.attr.nwnamed-use == "web"'),
                          ("nw-named-b", 'node.role has "nwnamed-use", net.name == "nw-named"')):
        make(me, "dns_name_filters", **{**filter_of(name, 1700 + ord(name[-1])), "matcher": matcher,
                                        "service": "nwnamed", "template": name + "-{{node.name}}"})
    found = {"address": address["address"], "node": address["node_id"], "node_name": "nw-named.example.com"}

    def names():
        return {n["name"] for n in shown(me.get("dns_name_entries"))
                if n["network_allocation_id"] == address["id"]}

    def plan():
        summary = shown(me.get("deployments/nw-named/plan?summary=true"))["summary"]
        assert len(summary["names"]) == summary["names_count"], summary
        return summary["names"]

    eventually(lambda: names() == {"nw-named-b-nw-named"}, "the name of the role")
    assert plan() == []
    role_id = shown(me.get("roles/nwnamed-use"))["id"]
    [use] = [r["id"] for r in shown(me.get("nodes/nw-named.example.com/node_roles")) if r["role_id"] == role_id]
    shown(me.put(f"node_roles/{use}/propose"))
    attrib = "nodes/nw-named.example.com/attribs/nwnamed-use"
    shown(me.put(attrib, {"value": "web"}))
    added = {**found, "filter": "nw-named-a", "from": None, "to": "nw-named-a-nw-named"}
    assert plan() == [added]
    # A plan is computed again when a filter changes, and its names are those that the commit makes.
    shown(me.put("dns_name_filters/nw-named-a", {"template": "www-{{node.name}}"}))
    assert plan() == [{**added, "to": "www-nw-named"}]
    commit()
    eventually(lambda: names() == {"nw-named-b-nw-named", "www-nw-named"}, "the name of the value")
    # A role that is removed takes the names with it that test it or its value.
    first = min(snapshot["id"] for snapshot in shown(me.get("deployments/nw-named/snapshots")))
    shown(me.put("deployments/nw-named/revert", {"snapshot": first}))
    gone = [{**found, "filter": "nw-named-a", "from": "www-nw-named", "to": None},
            {**found, "filter": "nw-named-b", "from": "nw-named-b-nw-named", "to": None}]
    assert plan() == gone
    shown(me.put("deployments/nw-named/commit"))
    eventually(lambda: names() == set(), "no names")
    for name in ("nw-named-a", "nw-named-b"):
        shown(me.delete(f"dns_name_filters/{name}"))


# ---- interfaces of nodes ----


def test_interfaces_of_nodes_and_the_move_of_a_mac(daemon):
    me = daemon.client()
    make(me, "nodes", name="nw-nic-a.example.com", mac="52-54-00-16-00-0A")
    make(me, "nodes", name="nw-nic-b.example.com")
    [nic] = shown(me.get("nodes/nw-nic-a.example.com/nics"))
    assert nic["mac"] == "52:54:00:16:00:0a" and nic["hinted"] is True and nic["discovered"] is False, nic
    assert shown(me.get("nics/52:54:00:16:00:0a")) == shown(me.get(f"nics/{nic['id']}")) == nic
    assert shown(me.get("nics?mac=52:54:00:16:00:0a")) == [nic]
    moved = shown(me.post("nics/move", {"node": "nw-nic-b.example.com", "mac": "52:54:00:16:00:0a"}))
    assert moved["node_id"] == shown(me.get("nodes/nw-nic-b.example.com"))["id"], moved
    assert shown(me.get("nodes/nw-nic-a.example.com/nics")) == []
    check_error(me.post("nics/move", {"node": "nw-nic-b.example.com", "mac": "nothing"}), 400, "bad_value", "mac")


def test_a_move_names_node_and_mac(daemon):
    me = daemon.client()
    check_error(me.post("nics/move", {"mac": "52:54:00:16:00:0b"}), 400, "missing", "node")
    node(me, "nw-move")
    check_error(me.post("nics/move", {"node": "nw-move.example.com"}), 400, "missing", "mac")
    check_error(me.get("nics/52:54:00:16:ff:ff"), 404, "not_found", "id")
    check_error(me.post("nics", {}), 405, "not_supported")


# ---- interface maps ----


def test_without_a_role_that_has_interface_maps_the_reply_says_so(daemon):
    me = daemon.client()
    for answer in (me.get("interfaces"), me.post("interfaces", {"pattern": "x", "bus_order": "a"})):
        check_error(answer, 404, "not_found", "interfaces")
        assert "network_interface_maps" in answer.json()["message"], answer


MAPS = """
barclamp: {name: nwmaps}
roles:
  - name: nw-maps
    jig: test
    attribs:
      - name: network_interface_maps
        map: crowbar/interface_map
        default: []
        schema:
          type: seq
          required: true
          sequence:
            - type: map
              mapping:
                pattern: {type: str, required: true}
                bus_order: {type: seq, required: true, sequence: [{type: str}]}
"""


def test_case_165_interface_maps(daemon):
    me = daemon.client()
    shown(me.post("barclamps", {"value": MAPS}))
    check_error(me.get("interfaces"), 409, "wrong_state", "interfaces")
    shown(me.post("deployments/system/roles", {"role": "nw-maps"}))
    assert shown(me.get("interfaces")) == {}
    made = shown(me.post("interfaces", {"pattern": "ProLiant .*", "bus_order": "foo | bar"}))
    assert made == {"pattern": "ProLiant .*", "bus_order": ["foo", "bar"]}, made
    shown(me.post("interfaces", {"pattern": "other", "bus_order": ["0000:00/0000:00:03.0"]}))
    listed = shown(me.get("interfaces"))
    assert list(listed) == ["ProLiant .*", "other"] and listed["ProLiant .*"] == ["foo", "bar"], listed
    check_error(me.post("interfaces", {"pattern": "other", "bus_order": "a"}), 409, "name_taken", "pattern")
    check_error(me.post("interfaces", {"bus_order": "a"}), 400, "missing", "pattern")
    check_error(me.post("interfaces", {"pattern": "", "bus_order": "a"}), 400, "bad_value", "pattern")
    for order in ("", "a | | b", [], ["a", 1], 7, "|".join(["a"] * 257)):
        check_error(me.post("interfaces", {"pattern": "p", "bus_order": order}), 400, "bad_value", "bus_order")
    check_error(me.post("interfaces", {"pattern": "p"}), 400, "missing", "bus_order")
    changed = shown(me.put("interfaces/other", {"bus_order": "x"}))
    assert changed == {"pattern": "other", "bus_order": ["x"]} == shown(me.get("interfaces/other"))
    check_error(me.put("interfaces/none", {"bus_order": "x"}), 404, "not_found", "id")
    assert me.delete("interfaces/other").status == 200
    check_error(me.get("interfaces/other"), 404, "not_found", "id")
    assert list(shown(me.get("interfaces"))) == ["ProLiant .*"]
    # All maps are one document.
    longest = [f"{i:03}" + "x" * 252 for i in range(256)]
    for number in range(15):
        shown(me.post("interfaces", {"pattern": f"long{number}", "bus_order": longest}))
    check_error(me.post("interfaces", {"pattern": "long15", "bus_order": longest}), 409, "limit_reached", "bus_order")
    check_error(me.put("interfaces/ProLiant%20.*", {"bus_order": longest}), 409, "limit_reached", "bus_order")
    shown(me.put("interfaces/long3", {"bus_order": longest[:-1]}))
    for number in range(15):
        assert me.delete(f"interfaces/long{number}").status == 200
    assert list(shown(me.get("interfaces"))) == ["ProLiant .*"]


# ---- names ----


def filter_of(name, priority, **more):
    return {"name": name, "matcher": 'net.category == "nw-names"', "priority": priority, "service": "system",
            "template": "{{node.name}}", **more}


def test_filters_have_8_fields_and_come_by_priority(daemon):
    me = daemon.client()
    made = make(me, "dns_name_filters", **filter_of("nw-f2", 1602))
    assert set(made) == FILTER and len(FILTER) == 8, made
    make(me, "dns_name_filters", **filter_of("nw-f1", 1601))
    priorities = [f["priority"] for f in shown(me.get("dns_name_filters"))]
    assert priorities == sorted(priorities) and {1601, 1602} <= set(priorities), priorities
    assert shown(me.get("dns_name_filters/nw-f2")) == shown(me.get(f"dns_name_filters/{made['id']}")) == made
    changed = shown(me.put("dns_name_filters/nw-f2", {"template": "x-{{node.id}}"}))
    assert changed["template"] == "x-{{node.id}}" and changed["matcher"] == made["matcher"]
    patched = me.patch("dns_name_filters/nw-f2", [{"op": "replace", "path": "/priority", "value": 1603}])
    assert shown(patched)["priority"] == 1603
    check_error(me.post("dns_name_filters", filter_of("nw-f3", 1601)), 409, "name_taken", "priority")
    assert me.delete("dns_name_filters/nw-f2").status == 200
    check_error(me.get("dns_name_filters/nw-f2"), 404, "not_found", "id")
    shown(me.delete("dns_name_filters/nw-f1"))


def test_a_filter_needs_all_its_fields(daemon):
    me = daemon.client()
    good = filter_of("nw-need", 1610)
    for field in good:
        refused = me.post("dns_name_filters", {key: value for key, value in good.items() if key != field})
        check_error(refused, 400, "missing", field)
    check_error(me.post("dns_name_filters", {**good, "priority": "first"}), 400, "bad_value", "priority")
    check_error(me.post("dns_name_filters", {**good, "name": "sample"}), 409, "name_invalid", "name")
    sample = shown(me.get("dns_name_filters/sample"))
    assert sample == {"name": "default", "matcher": 'net.category == "admin"', "priority": 50, "service": "system",
                      "template": "{{node.name}}"}, sample


def test_a_machine_with_many_interfaces_is_accepted_and_why_says_what_is_used(daemon):
    me = daemon.client()
    macs = [f"52:54:00:16:72:{i:02x}" for i in range(70)]
    interfaces = {f"eth{i:03}": {"permanent_address": mac} for i, mac in enumerate(macs)}
    made = make(me, "nodes", name="nw-many.example.com", hint={"admin_macs": macs[-2:]},
                discovery={"ohai": {"network": {"interfaces": interfaces}}})
    assert [n["mac"] for n in shown(me.get("nodes/nw-many.example.com/nics"))] == macs[-2:] + macs[:62]
    assert shown(me.get("nodes/nw-many.example.com/why"))["interfaces_complete"] is False
    make(me, "nodes", name="nw-few.example.com", mac="52:54:00:16:73:01")
    assert shown(me.get("nodes/nw-few.example.com/why"))["interfaces_complete"] is True
    make(me, "nodes", name="nw-full.example.com", hint={"admin_macs": [m.replace(":72:", ":74:") for m in macs]})
    assert len(shown(me.get("nodes/nw-full.example.com/nics"))) == 64
    moved = me.post("nics/move", {"node": "nw-full.example.com", "mac": "52:54:00:16:73:01"})
    check_error(moved, 409, "limit_reached", "mac")
    assert me.delete(f"nodes/{made['id']}").status == 200


def test_why_of_a_node_says_which_addresses_have_no_name(daemon):
    me = daemon.client()
    network(me, "nw-why", 70)
    node(me, "nw-why")
    make(me, "network_allocations", node="nw-why.example.com", network="nw-why")
    made = make(me, "dns_name_filters", **{**filter_of("nw-why", 1620), "matcher": 'net.name == "nw-why"'})
    full = shown(me.get("dns_name_filters/nw-why?view=full"))
    assert full == {**made, "has_service": False, "deleting": False}, full
    assert "nw-why" in [f["name"] for f in shown(me.get("dns_name_filters?has_service=false"))]
    assert not shown(me.get("dns_name_filters?has_service=true"))
    check_error(me.get("dns_name_filters?has_service=7"), 400, "bad_value", "has_service")
    why = shown(me.get("nodes/nw-why.example.com/why"))
    assert why["names_complete"] is True, why
    assert "name_not_served" not in [cause["code"] for cause in why["chain"]], why
    [cause] = why["names"]
    assert [cause[key] for key in ("code", "object", "object_id", "name", "subject")] == [
        "name_not_served", "dns_name_filter", made["id"], "nw-why", "system"], cause
    assert "gives 10.16.70.10 of network `nw-why` no name" in cause["text"], cause
    assert me.delete("dns_name_filters/nw-why").status == 200
    assert shown(me.get("nodes/nw-why.example.com/why"))["names"] == []


def test_entries_are_read_only_and_found_by_id(daemon):
    me = daemon.client()
    answer = me.get("dns_name_entries")
    assert answer.type == vnd("dns_name_entry", "list"), answer.type
    assert isinstance(shown(answer), list)
    check_error(me.get("dns_name_entries/a.example.com"), 404, "not_found", "id")
    check_error(me.post("dns_name_entries", {}), 405, "not_supported")
    assert shown(me.get("dns_name_entries/sample")) == {"name": None, "rr_type": "A"}
