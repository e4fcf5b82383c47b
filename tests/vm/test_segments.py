"""Hosts on the segment that are in the way: `why` names them. No machine is emulated here: the clients
are hosts with a DHCP client of their own."""
import os

from daemon import eventually
from lab import SERVER

MAC = "52:54:00:77:01:0{}"


def causes(lab, node):
    return lab.done(lab.client.get(f"nodes/{node}/why"))["chain"]


def udhcpc(lab, host, *words):
    script = lab.path("udhcpc.script")
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\ncase $1 in bound | renew) echo \"$1 $ip $serverid $lease\" ;; esac\n")
    os.chmod(script, 0o755)
    return lab.on_host(host, "busybox", "udhcpc", "-n", "-q", "-f", "-t", "8", "-T", "1", "-i", "eth0",
                       "-s", script, *words, check=False).stdout


def test_an_address_that_another_host_uses_is_not_offered(lab):
    lab.open()
    node = lab.node("taken", MAC.format(1))
    [address] = lab.done(lab.client.get("network_allocations"))
    lab.host(MAC.format(9), address["address"])
    host = lab.host(MAC.format(1))
    assert "bound" not in udhcpc(lab, host)
    eventually(lambda: causes(lab, node)[-1]["code"] == "address_in_use", "why names the address")
    last = causes(lab, node)[-1]
    assert last["subject"] == MAC.format(9) and address["address"].split("/")[0] in last["text"], last


def start_foreign_server(lab):
    host = lab.host(MAC.format(8), "10.77.0.240/24")
    return lab.launch(["ip", "netns", "exec", host, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null",
                       "--port=0", "--interface=eth0", "--bind-interfaces", "--user=root",
                       "--dhcp-range=10.77.0.241,10.77.0.250,1h", "--leasefile-ro", "--dhcp-authoritative",
                       "--no-ping", "--pid-file="], "foreign")


def test_a_segment_with_another_dhcp_server_is_not_served_unless_it_is_named(lab):
    lab.open_without_boot()
    start_foreign_server(lab)
    lab.node_without_boot("known", MAC.format(2))
    lab.start_boot()

    def faults():
        return lab.done(lab.client.get("nodes/known.example.com/why"))["installation"]

    eventually(lambda: any(f["code"] == "foreign_dhcp" for f in faults()), "the installation has a fault")
    [fault] = [f for f in faults() if f["code"] == "foreign_dhcp"]
    assert "10.77.0.240" in fault["text"] and "br0" in fault["text"], fault
    host = lab.host(MAC.format(2))
    said = udhcpc(lab, host)
    assert SERVER not in said, said


def address_of(lab, node):
    [one] = [a for a in lab.done(lab.client.get("network_allocations"))
             if a["node_id"] == lab.done(lab.client.get(f"nodes/{node}"))["id"]]
    return one["address"].split("/")[0]


def test_dhclient_and_dhcpcd_get_the_address_of_their_node(lab):
    lab.open()
    for number, (name, words) in enumerate((
            ("dhclient", ["dhclient", "-1", "-v", "-sf", "/bin/true", "-lf", lab.path("dhclient.leases"),
                          "-pf", lab.path("dhclient.pid"), "eth0"]),
            ("dhcpcd", ["dhcpcd", "-4", "-1", "-A", "-c", "/bin/true", "-t", "20", "eth0"]))):
        mac = MAC.format(3 + number)
        node = lab.node(name, mac)
        host = lab.host(mac)
        done = lab.on_host(host, *words, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 0 and address_of(lab, node) in said, (name, said)
        # The client that is left ends with its namespace.
        lab.on_host(host, "sh", "-c", f"kill $(cat {lab.path('dhclient.pid')} 2>/dev/null) 2>/dev/null; true")


def test_a_machine_behind_a_relay_gets_its_address(lab):
    lab.open()
    lab.done(lab.client.post("networks", {
        "name": "far", "category": "admin", "conduit": "1g1", "deployment": "system",
        "ranges": [{"name": "host", "first": "10.78.0.100/24", "last": "10.78.0.200/24"}]}))
    node = lab.node_without_boot("behind", MAC.format(5), network_range="far.host")
    lab.switch(node, "sledgehammer")
    # A router with one interface on the segment and one towards the machine.
    relay = lab.host(address="10.77.0.240/24")
    far = lab.name_of_host()
    lab.on_host(relay, "ip", "link", "add", "far0", "type", "veth", "peer", "name", "eth0", "netns", far)
    for words in (["addr", "add", "10.78.0.1/24", "dev", "far0"], ["link", "set", "far0", "up"]):
        lab.on_host(relay, "ip", *words)
    lab.on_host(far, "ip", "link", "set", "eth0", "address", MAC.format(5), "up")
    lab.ip("route", "add", "10.78.0.0/24", "via", "10.77.0.240")
    lab.launch(["ip", "netns", "exec", relay, "dhcrelay", "-4", "-d", "--no-pid", "-a", "-m", "append",
                "-iu", "eth0", "-id", "far0", SERVER], "relay")
    eventually(lambda: "Sending on" in lab.read("relay"), "the relay listens")
    said = udhcpc(lab, far)
    assert address_of(lab, node).startswith("10.78.0.") and address_of(lab, node) in said, (
        said, lab.read("relay"))
