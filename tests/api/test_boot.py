"""What machines boot: the entries of DHCP clients, computed from the boot view."""
from test_networks import make, shown, vnd
from test_objects import check_error

CLIENT = ["node", "node_id", "mac_addresses", "v4addr", "bootenv", "generation"]


def machine(me, name, **fields):
    """A managed machine: the commit of a node binds the discovery role."""
    made = make(me, "nodes", name=f"{name}.example.com", **fields)
    shown(me.put(f"nodes/{made['id']}/commit"))
    return made


def test_case_159_hinted_mac_and_address_make_a_dhcp_client(fixture):
    me = fixture.client()
    made = machine(me, "c159", mac="52-54-00-1A-59-0F", ip="192.168.124.159/24")
    client = shown(me.get("dhcp/c159.example.com"))
    assert client == {"node": "c159.example.com", "node_id": made["id"], "mac_addresses": ["52:54:00:1A:59:0F"],
                      "v4addr": "192.168.124.159/24", "bootenv": "sledgehammer", "generation": 0}, client
    assert list(client) == CLIENT and me.get(f"dhcp/{made['id']}").type == vnd("dhcp", "obj")
    assert shown(me.get(f"dhcp/{made['id']}")) == client
    only = me.ask("GET", "dhcp/c159.example.com", None, headers={"x-return-attributes": '["v4addr"]'})
    assert shown(only) == {"v4addr": "192.168.124.159/24"}
    # Another environment is another generation of the same entry.
    shown(me.put("nodes/c159.example.com", {"bootenv": "local"}))
    changed = shown(me.get("dhcp/c159.example.com"))
    assert changed == {**client, "bootenv": "local", "generation": 1}, changed
    # MACs are sorted, and hinted ones may be replaced.
    macs = ["52:54:00:ff:00:01", "52:54:00:1a:59:0f", "52:54:00:00:00:aa"]
    shown(me.put("nodes/c159.example.com/attribs/hint-admin-macs", {"value": macs}))
    assert shown(me.get("dhcp/c159.example.com"))["mac_addresses"] == [
        "52:54:00:00:00:AA", "52:54:00:1A:59:0F", "52:54:00:FF:00:01"]


def test_a_node_without_an_entry_is_404_with_the_reason(fixture):
    me = fixture.client()
    made = make(me, "nodes", name="unmanaged.example.com", mac="52:54:00:1a:00:01", ip="192.168.124.160/24")

    def refused(name, said):
        answer = me.get(f"dhcp/{name}")
        check_error(answer, 404, "not_found", "id")
        assert said in answer.json()["message"], answer

    refused("nothing", "there is no node called nothing")
    refused("999999999", "there is no node with id 999999999")
    refused("system-phantom.internal.local", "system-phantom.internal.local has no DHCP entry: it is not managed")
    refused("unmanaged.example.com", "it has no committed noderole of a discovery role")
    shown(me.put(f"nodes/{made['id']}/commit"))
    assert shown(me.get("dhcp/unmanaged.example.com"))["v4addr"] == "192.168.124.160/24"
    shown(me.put(f"nodes/{made['id']}/propose"))
    refused("unmanaged.example.com", "it has no committed noderole of a discovery role")
    machine(me, "macless", ip="192.168.124.161/24")
    refused("macless.example.com", "none of its MACs is known")
    machine(me, "homeless", mac="52:54:00:1a:00:02")
    refused("homeless.example.com", "it has no IPv4 address in a network of the category admin")
    assert me.post("dhcp", {}).status == 405 and me.delete("dhcp/macless.example.com").status == 405


def test_dhcp_clients_are_listed_filtered_and_paged(fixture):
    me = fixture.client()
    for i in range(5):
        machine(me, f"listed{i}", mac=f"52:54:00:1b:00:0{i}", ip=f"192.168.124.{170 + i}/24")
    machine(me, "listed9", ip="192.168.124.179/24")
    shown(me.put("nodes/listed3.example.com", {"bootenv": "local"}))
    answer = me.get("dhcp?node.contains=listed")
    assert answer.type == vnd("dhcp", "list"), answer.type
    names = [client["node"] for client in shown(answer)]
    assert names == [f"listed{i}.example.com" for i in range(5)], names
    assert all(list(client) == CLIENT for client in shown(me.get("dhcp")))
    assert [c["node"] for c in shown(me.get("dhcp?node.contains=listed&bootenv=local"))] == ["listed3.example.com"]
    [found] = shown(me.get("dhcp?mac_addresses.contains=52:54:00:1B:00:04"))
    assert found["node"] == "listed4.example.com"
    [found] = shown(me.get("dhcp?v4addr=192.168.124.172%2F24"))
    assert found["node"] == "listed2.example.com"
    page = me.get("dhcp?node.contains=listed&limit=2&sort=-v4addr")
    assert [c["node"] for c in shown(page)] == ["listed4.example.com", "listed3.example.com"]
    assert page.headers["X-Total-Count"] == "5" and 'rel="next"' in page.headers["Link"], page.headers
    check_error(me.get("dhcp?mac=x"), 400, "bad_value", "mac")
    check_error(me.get("dhcp?generation=x"), 400, "bad_value", "generation")
    check_error(me.get("dhcp?limit=x"), 400, "bad_value", "limit")


# -- nodes/NODE/boot -----------------------------------------------------------------------------

BOOT = ["node", "node_id", "bootenv", "generation", "missing", "entry", "environment", "grant", "served", "servers",
        "problems"]
NO_GRANT = {"state": "none", "reason": None, "node_role_id": None, "role": None, "used_at": None,
            "stamp_generation": None}


def problems_of(me, name):
    return {problem["code"]: problem for problem in shown(me.get(f"nodes/{name}/boot"))["problems"]}


def test_the_boot_of_a_machine_has_its_entry_environment_and_grant(fixture):
    me = fixture.client()
    made = machine(me, "boots", mac="52:54:00:1c:00:01", ip="192.168.124.190/24")
    answer = me.get("nodes/boots.example.com/boot")
    boot = shown(answer)
    assert answer.type == vnd("boot", "obj") and list(boot) == BOOT, (answer.type, list(boot))
    assert boot["entry"] == {
        "name": "boots.example.com", "mac_addresses": ["52:54:00:1C:00:01"],
        "addresses": [{"address": "192.168.124.190/24", "network": "admin", "network_range": "host"}],
        "bootenv": "sledgehammer", "generation": 0, "installer_started": False,
        "turn": boot["entry"]["turn"]}, boot["entry"]
    assert (boot["node"], boot["node_id"], boot["missing"]) == ("boots.example.com", made["id"], None), boot
    known = shown(me.get("bootenvs/sledgehammer"))
    assert boot["environment"] == {"name": "sledgehammer", "exists": True, "available": False,
                                   "bootenv_id": known["id"], "method": "discovery"}, boot["environment"]
    assert boot["grant"] == NO_GRANT and boot["problems"] == [], boot
    assert shown(me.get(f"nodes/{made['id']}/boot")) == boot
    only = me.ask("GET", "nodes/boots.example.com/boot", None, headers={"x-return-attributes": '["generation"]'})
    assert shown(only) == {"generation": 0}
    # `local` is the disk: it is no object, and always there.
    shown(me.put("nodes/boots.example.com", {"bootenv": "local"}))
    boot = shown(me.get("nodes/boots.example.com/boot"))
    assert boot["environment"] == {"name": "local", "exists": True, "available": True, "bootenv_id": None,
                                   "method": None}, boot["environment"]
    assert (boot["generation"], boot["entry"]["generation"], boot["problems"]) == (1, 1, []), boot
    # An environment of an operator has no grant.
    shown(me.put("nodes/boots.example.com", {"bootenv": "debian-12-install"}))
    boot = shown(me.get("nodes/boots.example.com/boot"))
    assert boot["environment"]["method"] == "installer" and boot["grant"] == NO_GRANT, boot
    check_error(me.get("nodes/nothing.example.com/boot"), 404, "not_found", "id")
    assert me.post("nodes/boots.example.com/boot", {}).status == 405


def test_what_keeps_a_machine_from_booting_is_named(fixture):
    me = fixture.client()
    made = make(me, "nodes", name="strange.example.com")
    boot = shown(me.get("nodes/strange.example.com/boot"))
    assert boot["entry"] is None and boot["missing"].startswith("it is not managed"), boot
    assert list(problems_of(me, "strange.example.com")) == ["not_managed"]
    shown(me.put(f"nodes/{made['id']}/commit"))
    named = problems_of(me, "strange.example.com")
    assert list(named) == ["no_mac", "no_boot_address"], named
    assert named["no_mac"]["object"] == "node" and named["no_mac"]["object_id"] == made["id"], named
    assert shown(me.get("nodes/strange.example.com/boot"))["entry"]["addresses"] == []
    shown(me.put("nodes/strange.example.com", {"bootenv": "no-such-environment"}))
    named = problems_of(me, "strange.example.com")
    assert list(named) == ["no_mac", "no_boot_address", "bootenv_unknown"], named
    assert "`no-such-environment`, which no barclamp defines" in named["bootenv_unknown"]["text"], named
    environment = shown(me.get("nodes/strange.example.com/boot"))["environment"]
    assert environment == {"name": "no-such-environment", "exists": False, "available": False,
                           "bootenv_id": None, "method": None}, environment
    # A MAC that another node has is named first: it is why this one has none.
    machine(me, "owner", mac="52:54:00:1c:00:02", ip="192.168.124.191/24")
    machine(me, "second", ip="192.168.124.192/24",
            discovery={"ohai": {"network": {"interfaces": {
                "eth0": {"addresses": {"52:54:00:1C:00:02": {"family": "lladdr"}}}}}}})
    named = problems_of(me, "second.example.com")
    assert list(named) == ["mac_taken", "no_mac"], named
    assert named["mac_taken"]["name"] == "owner.example.com", named
    # A node that boots its disk needs no entry.
    make(me, "nodes", name="disk.example.com", bootenv="local")
    assert problems_of(me, "disk.example.com") == {}
