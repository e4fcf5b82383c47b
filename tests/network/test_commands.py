"""Which commands follow from a configuration that was recorded on a kernel with bonds and VLANs.

The files of `recorded` are the output of ip on a machine with two members in a bond, a VLAN on the
bond and a bridge on the VLAN; 192.168.124.30 is an address of a DHCP client. They let every machine
test what happens to such devices, whatever its kernel has.
"""
import os
import subprocess

from machine import PLENTY, SCRIPTS

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
LINKS = ["link eth0", "link eth1", "bond bond-eth0 active-backup", "member eth0 bond-eth0",
         "member eth1 bond-eth0"]
TAGGED = ["vlan bond-eth0.100 bond-eth0 100", "bridge br100", "port bond-eth0.100 br100",
          "address 10.1.0.5/24 br100", "address fd12::5/64 br100"]
ADMIN = ["address 192.168.124.81/24 bond-eth0", "route 4 192.168.124.1 bond-eth0"]
ALL = LINKS + TAGGED + ADMIN


def awk(machine, programs, wanted=None, dropped=(), restore=0, replace=None):
    """Runs the programs with the recorded configuration; `replace` is (file, old, new)."""
    inputs = {}
    for name in ("links", "addresses", "routes4", "routes6"):
        inputs[name] = os.path.join(RECORDED, name)
        if replace and replace[0] == name:
            with open(inputs[name], encoding="utf-8") as file:
                text = file.read()
            assert replace[1] in text
            inputs[name] = os.path.join(machine.folder, name)
            with open(inputs[name], "w", encoding="utf-8") as file:
                file.write(text.replace(replace[1], replace[2]))
    for name, lines in (("dropped", dropped), ("wanted", wanted)):
        if lines is not None:
            inputs = {name: os.path.join(machine.folder, name), **inputs}
            with open(inputs[name], "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
    arguments = [word for name, path in inputs.items() for word in (f"what={name}", path)]
    files = [word for name in programs for word in ("-f", os.path.join(SCRIPTS, "lib", name))]
    done = subprocess.run(["awk", "-v", f"restore={restore}", *files, *arguments], check=True,
                          capture_output=True, text=True, timeout=PLENTY)
    return done.stdout.splitlines()


def commands(machine, wanted, dropped=(), **more):
    def tabbed(lines):
        return [line.replace(" ", "\t") for line in lines]
    return awk(machine, ["machine.awk", "commands.awk"], tabbed(wanted), tabbed(dropped), **more)


def test_what_is_configured_needs_no_command(machine):
    assert commands(machine, ALL, ALL) == []


def test_a_snapshot_of_the_configuration_restores_nothing(machine):
    snapshot = awk(machine, ["machine.awk", "snapshot.awk"], dropped=None)
    assert "bond\tbond-eth0\tactive-backup" in snapshot and "port\tbond-eth0.100\tbr100" in snapshot
    assert "address\t192.168.124.30/24\tbond-eth0\tvalid_lft 899 preferred_lft 899" in snapshot
    assert awk(machine, ["machine.awk", "commands.awk"], snapshot, (), restore=1) == []
    undone = awk(machine, ["machine.awk", "commands.awk"], snapshot, (), restore=1,
                 replace=("links", "master bond-eth0 ", ""))
    assert undone == ["link set eth0 down", "link set eth0 master bond-eth0", "link set eth1 down",
                      "link set eth1 master bond-eth0"], undone


def test_a_bond_that_is_removed_leaves_its_members_usable(machine):
    """Bonding closes the members it releases; what the DHCP client configured stays reachable."""
    wanted = ["link eth0", "address 192.168.124.81/24 eth0", "route 4 192.168.124.1 eth0"]
    assert commands(machine, wanted, ALL) == [
        "link del br100", "link del bond-eth0.100", "link del bond-eth0", "link set eth0 up",
        "address add 192.168.124.81/24 brd + dev eth0",
        "address add 192.168.124.30/24 brd + dev eth0 valid_lft 899 preferred_lft 899",
        "-4 route replace 10.9.0.0/16 via 192.168.124.1 dev eth0 metric 7",
        "-4 route replace default via 192.168.124.1 dev eth0"]


def test_a_vlan_that_is_removed_takes_its_bridge_along(machine):
    assert commands(machine, LINKS + ADMIN, ALL) == ["link del br100", "link del bond-eth0.100"]


def test_the_mode_of_a_bond_is_changed_without_members(machine):
    wanted = [line.replace("active-backup", "802.3ad") for line in ALL]
    assert commands(machine, wanted, ALL) == [
        "link set eth0 nomaster", "link set eth1 nomaster", "link set bond-eth0 down",
        "link set bond-eth0 type bond mode 802.3ad", "link set eth0 master bond-eth0",
        "link set eth1 master bond-eth0", "link set bond-eth0 up"]


def test_a_bond_without_link_monitoring_gets_it(machine):
    assert commands(machine, ALL, ALL, replace=("links", "miimon 100", "miimon 0")) == [
        "link set bond-eth0 type bond miimon 100"]


def test_a_vlan_with_another_id_is_made_again(machine):
    assert commands(machine, ALL, ALL, replace=("links", "802.1Q id 100", "802.1Q id 7")) == [
        "link del bond-eth0.100", "link add link bond-eth0 name bond-eth0.100 type vlan id 100",
        "link set bond-eth0.100 master br100", "link set bond-eth0.100 up"]


def test_a_bond_becomes_the_port_of_a_bridge_with_all_its_addresses(machine):
    wanted = LINKS + ["bridge br-bond-eth0", "port bond-eth0 br-bond-eth0",
                      "address 192.168.124.81/24 br-bond-eth0", "route 4 192.168.124.1 br-bond-eth0"]
    assert commands(machine, wanted, LINKS + ADMIN) == [
        "-4 route del default via 192.168.124.1 dev bond-eth0",
        "-4 route del 10.9.0.0/16 via 192.168.124.1 dev bond-eth0 metric 7",
        "address del 192.168.124.30/24 dev bond-eth0", "address del 192.168.124.81/24 dev bond-eth0",
        "link add br-bond-eth0 type bridge forward_delay 0 stp_state 0",
        "link set bond-eth0 master br-bond-eth0", "link set br-bond-eth0 up",
        "address add 192.168.124.81/24 brd + dev br-bond-eth0",
        "address add 192.168.124.30/24 brd + dev br-bond-eth0 valid_lft 899 preferred_lft 899",
        "-4 route replace 10.9.0.0/16 via 192.168.124.1 dev br-bond-eth0 metric 7",
        "-4 route replace default via 192.168.124.1 dev br-bond-eth0"]
