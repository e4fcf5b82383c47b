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
