"""A machine whose ssh hammer has no endpoint is reached at the address that its node has in a network,
although its name does not resolve; what fails names that address."""
from sshd import Server
from test_probes import answers, fails, own_key

NODE = "n1.example.invalid"  # RFC 2606: never resolved
ADDRESS = "127.0.0.77"


def network(plant, name="admin", category="admin", first="127.0.0.70/8", last="127.0.0.90/8"):
    return plant.ask("POST", "networks",
                     {"name": name, "category": category, "conduit": "1g0",
                      "ranges": [{"name": "host", "first": first, "last": last}]})


def allocate(plant, address=ADDRESS, name="admin"):
    return plant.ask("POST", f"networks/{name}/allocate_ip", {"node": NODE, "suggestion": address})


def reach_by_allocation(plant, port, user="root"):
    plant.hammer(NODE, "ssh", endpoint="", username=user, extra={"port": port})


def test_a_machine_is_probed_and_switched_at_its_allocation(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant, (ADDRESS,))
    network(plant)
    allocate(plant)
    reach_by_allocation(plant, server.port, server.user)
    plant.alive(NODE)
    answers(plant, NODE)
    assert plant.shows(NODE)["alive"]
    assert plant.pinned(NODE) == [own_key(server)]
    # The pin is of the node and not of its address: it is in force at another address of the machine.
    plant.alive(NODE, False)
    server.stop()
    server.addresses = ["127.0.0.88"]
    server.start()
    rows = plant.ask("GET", f"nodes/{NODE}/network_allocations")
    plant.ask("DELETE", f"network_allocations/{rows[0]['id']}")
    allocate(plant, "127.0.0.88")
    reach_by_allocation(plant, server.port, server.user)
    plant.alive(NODE)
    answers(plant, NODE, times=2)
    assert plant.said("pinned at first contact with") == 1


def test_why_names_the_address_that_was_tried(plant):
    plant.start().node(NODE)
    network(plant)
    allocate(plant)
    reach_by_allocation(plant, 9)
    plant.alive(NODE)
    fails(plant, "connection_refused", ADDRESS, NODE)
    chain = plant.ask("GET", f"nodes/{NODE}/why")["chain"]
    assert ADDRESS in chain[-1]["text"], chain
    # So does a power action of the ssh driver.
    plant.power(NODE, "reboot")
    plant.says("reboot of node", "by hammer", "failed", f"to {ADDRESS}: ")
    chain = plant.ask("GET", f"nodes/{NODE}/why")["chain"]
    assert f"to {ADDRESS}: " in chain[-1]["text"], chain


def test_an_endpoint_has_precedence_and_other_networks_are_not_used(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant, ("127.0.0.7",))
    network(plant, "backup", "general")
    allocate(plant, name="backup")
    reach_by_allocation(plant, server.port, server.user)
    plant.alive(NODE)
    fails(plant, "name_unresolved", NODE, NODE)
    plant.ask("PUT", "networks/backup", {"category": "admin"})
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant, NODE)
