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
