"""Which interfaces a conduit means: bus order, interface maps, speeds and signs. Only plans."""
import os


def four(machine):
    """Four interfaces whose names are not in bus order."""
    machine.interface("net3", "pci0000:00/0000:00:01.0/0000:01:00.0")
    machine.interface("net2", "pci0000:00/0000:00:01.0/0000:01:00.1")
    machine.interface("net1", "pci0000:00/0000:00:1c.0/0000:03:00.0", speed=10000)
    machine.interface("net0", "pci0000:00/0000:00:1c.4/0000:02:00.0")


def resolved(machine, conduit, **more):
    """The physical interfaces of the plan for one conduit."""
    members = conduit.count(",")
    data = machine.data({"192.168.124.81/24": {"conduit": conduit, "use_team": members > 0}}, **more)
    return [line[5:] for line in machine.plan(data).lines("plan: ") if line.startswith("link ")]


def refused(machine, conduit, **more):
    result = machine.run(machine.data({"192.168.124.81/24": {"conduit": conduit}}, **more))
    assert result.code == 1 and result.changes == [] and result.wall == {}, result.text
    return result.text


def test_interfaces_are_counted_in_the_order_of_their_bus_addresses(machine):
    four(machine)
    assert [resolved(machine, f"1g{i}") for i in range(3)] == [["net3"], ["net2"], ["net0"]]
    assert resolved(machine, "1g2,1g0") == ["net0", "net3"]


def test_the_first_interface_map_that_matches_the_product_forces_the_order(machine):
    four(machine)
    maps = [{"pattern": "^Other", "bus_order": ["0000:00/0000:00:01.0/0000:01:00.1"]},
            {"pattern": "^KV", "bus_order": ["0000:00/0000:00:1c", "0000:00/0000:00:01.0/0000:01:00.1"]},
            {"pattern": "KVM", "bus_order": ["0000:00/0000:00:01.0/0000:01:00.0"]}]
    # 1c without a function covers both bridges; net3 is not in the map and comes last.
    assert [resolved(machine, f"1g{i}", maps=maps) for i in range(3)] == [["net0"], ["net2"], ["net3"]]
    machine.product("Other Machine")
    assert resolved(machine, "1g0", maps=maps) == ["net2"]
    machine.product("none")
    assert resolved(machine, "1g0", maps=maps) == ["net3"]
    machine.product("R720 (rev. 2)")
    maps[2]["pattern"] = r"\(rev\. 2\)$"
    maps[2]["bus_order"] = ["0000:00/0000:00:1c.4"]
    assert resolved(machine, "1g0", maps=maps) == ["net0"]


def test_an_entry_of_a_map_with_a_function_means_this_function_alone(machine):
    four(machine)
    maps = [{"pattern": ".", "bus_order": ["0000:00/0000:00:1c.4", "0000:00/0000:00:01.0/0000:01:00"]}]
    assert [resolved(machine, f"1g{i}", maps=maps) for i in range(3)] == [["net0"], ["net3"], ["net2"]]


def test_a_pattern_that_is_no_expression_is_named(machine):
    four(machine)
    text = refused(machine, "1g0", maps=[{"pattern": "(", "bus_order": []}])
    assert 'the pattern "(" of the interface map is not a regular expression' in text, text


def test_signs_choose_among_the_speeds(machine):
    for i, speed in enumerate((100, 1000, 1000, 10000, 40000)):
        machine.interface(f"net{i}", f"pci0000:00/0000:00:0{i + 1}.0", speed=speed)
    expected = {"1g0": "net1", "1g1": "net2", "10g0": "net3", "+1g0": "net1", "+100m0": "net0",
                "+100m1": "net2", "+10m0": "net0", "+25g0": "net4", "-10g0": "net3", "-10g1": "net2",
                "-25g0": "net3", "-400g0": "net4", "?10g0": "net3", "?10g1": "net2", "?25g0": "net4",
                "?100m0": "net0", "?100m1": "net2", "?400g0": "net4", "40g0": "net4"}
    assert {c: resolved(machine, c) for c in expected} == {c: [n] for c, n in expected.items()}
    # All members have one speed: only 1 Gbit/s has two interfaces.
    assert resolved(machine, "+100m0,+100m1") == ["net1", "net2"]
    assert resolved(machine, "-40g1,-40g0") == ["net2", "net1"]
    for conduit in ("10g1", "1g2", "+10g1", "-100m1", "10m0", "?1g2", "10g0,10g1"):
        refused(machine, conduit)


def test_no_match_names_conduit_interfaces_and_remedy(machine):
    four(machine)
    text = refused(machine, "10g1")
    for part in ('network admin: no interface matches the conduit "10g1"', "product: \"KVM\"",
                 "net3 (0000:00/0000:00:01.0/0000:01:00.0, 1g)",
                 "net1 (0000:00/0000:00:1c.0/0000:03:00.0, 10g)", "Change the conduit"):
        assert part in text, (part, text)


def test_conduits_that_mean_nothing_are_refused(machine):
    four(machine)
    assert '"1k0" of the conduit "1k0" is not an interface' in refused(machine, "1k0")
    assert '"bmcX" of the conduit' in refused(machine, "bmcX")
    assert "names an interface twice" in refused(machine, "1g0,1g0")
    assert "different speeds or signs" in refused(machine, "1g0,10g0")
    assert "different speeds or signs" in refused(machine, "1g0,+1g1")
    assert "no interface has the speed 3g" in refused(machine, "3g0")


def test_all_problems_are_reported_at_once(machine):
    four(machine)
    data = machine.data({"10.0.0.1/24": {"conduit": "10g7"}, "10.1.0.1/24": {"conduit": "x"},
                         "nonsense": {}})
    text = machine.run(data).text
    for part in ('"10g7"', '"x" of the conduit', '"nonsense" is not an address'):
        assert part in text, (part, text)


def test_only_ethernet_devices_on_a_bus_count(machine):
    machine.interface("usb0", "pci0000:00/0000:00:01.0/usb1/1-1/1-1:1.0")
    machine.interface("ib0", "pci0000:00/0000:00:01.0", files={"type": 32})
    machine.interface("wlan0", "pci0000:00/0000:00:02.0", files={"wireless/status": 0})
    machine.interface("veth9", "virtual")
    machine.interface("vf0", "pci0000:00/0000:00:03.2")
    machine.write("devices/pci0000:00/0000:00:03.2/physfn/vendor", "0x8086")
    machine.interface("pf0", "pci0000:00/0000:00:05.0")
    assert [resolved(machine, f"1g{i}") for i in range(2)] == [["pf0"], ["usb0"]]
    text = refused(machine, "1g2")
    assert "interfaces in bus order: pf0 (0000:00/0000:00:05.0, 1g), usb0 (" in text, text


def test_two_ports_of_one_device_are_counted_by_port(machine):
    machine.interface("b", "pci0000:00/0000:00:05.0", port=0)
    machine.interface("a", "pci0000:00/0000:00:05.0", port=1)
    assert [resolved(machine, f"1g{i}") for i in range(2)] == [["b"], ["a"]]


def test_the_maximum_speed_is_that_of_the_supported_modes(machine):
    machine.tool("ethtool", """#!/bin/sh
[ "$1" = net0 ] || exit 1
cat << 'END'
Settings for net0:
	Supported ports: [ TP ]
	Supported link modes:   100baseT/Full
	                        1000baseT/Full
	                        10000baseT/Full
	Supported pause frame use: Symmetric
	Advertised link modes:  40000baseCR4/Full
	Speed: 1000Mb/s
END
""")
    machine.interface("net0", "pci0000:00/0000:00:03.0", speed=1000)
    machine.interface("net1", "pci0000:00/0000:00:04.0", speed=2500)
    assert resolved(machine, "10g0") == ["net0"]
    assert resolved(machine, "1g0") == ["net1"]  # the highest speed of the ladder below 2.5 Gbit/s


def test_an_unknown_speed_matches_nothing_except_on_virtual_machines(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0", speed=-1)
    text = refused(machine, "?1g0")
    assert "net0 (0000:00/0000:00:03.0, speed unknown)" in text and "install ethtool" in text, text
    machine.interface("net1", "pci0000:00/0000:00:04.0/virtio1", speed=-1)
    machine.write("bus/virtio/x", "")
    device = "devices/pci0000:00/0000:00:04.0/virtio1/subsystem"
    machine.symlink("../../../../bus/virtio", device)
    assert resolved(machine, "1g0") == ["net1"]


def test_networks_of_the_bmc_and_unmanaged_ones_are_skipped(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    assert resolved(machine, "bmc") == []
    assert resolved(machine, "1g0", configure=False) == []
    assert resolved(machine, "7g9", configure=False) == []


def test_devices_are_bond_then_vlan_then_bridge(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    machine.interface("net1", "pci0000:00/0000:00:04.0")

    def lines(**own):
        return machine.plan(machine.data({"10.0.0.5/24": own})).lines("plan: ")

    team = {"conduit": "1g0,1g1", "use_team": True, "team_mode": 4}
    assert lines(use_vlan=True, vlan=100, use_bridge=True, **team) == [
        "link net0", "link net1", "bond bond-net0 802.3ad", "member net0 bond-net0", "member net1 bond-net0",
        "vlan bond-net0.100 bond-net0 100", "bridge br100", "port bond-net0.100 br100",
        "address 10.0.0.5/24 br100"]
    assert lines(use_bridge=True, **team)[-3:] == [
        "bridge br-bond-net0", "port bond-net0 br-bond-net0", "address 10.0.0.5/24 br-bond-net0"]
    assert lines(use_bridge=True) == ["link net0", "bridge br-net0", "port net0 br-net0",
                                      "address 10.0.0.5/24 br-net0"]
    assert lines(use_vlan=True, vlan=7) == ["link net0", "vlan net0.7 net0 7",
                                            "address 10.0.0.5/24 net0.7"]
    assert lines(vlan=7) == ["link net0", "address 10.0.0.5/24 net0"]


def test_every_team_mode_has_its_bonding_mode(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    machine.interface("net1", "pci0000:00/0000:00:04.0")
    modes = []
    for mode in range(7):
        data = machine.data({"10.0.0.5/24": {"conduit": "1g0,1g1", "team_mode": mode}})
        modes += [line.split()[2] for line in machine.plan(data).lines("plan: ")
                  if line.startswith("bond ")]
    assert modes == ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad",
                     "balance-tlb", "balance-alb"], modes
    result = machine.run(machine.data({"10.0.0.5/24": {"conduit": "1g0,1g1", "team_mode": 7}}))
    assert result.code == 1 and 'team_mode "7" is not a bonding mode' in result.text, result.text


def test_long_names_are_shortened_to_what_the_kernel_permits(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    machine.interface("enp129s0f1np12", "pci0000:00/0000:00:04.0")
    machine.interface("enp130s0f1np", "pci0000:00/0000:00:05.0")  # 12 bytes
    data = machine.data({"10.0.0.5/24": {"conduit": "1g1", "use_vlan": True, "vlan": 4094},
                         "10.1.0.5/24": {"conduit": "1g1", "use_bridge": True},
                         "10.2.0.5/24": {"conduit": "1g2", "use_vlan": True, "vlan": 42},
                         "10.3.0.5/24": {"conduit": "1g2", "use_vlan": True, "vlan": 421}})
    lines = machine.plan(data).lines("plan: ")
    assert "vlan if1.4094 enp129s0f1np12 4094" in lines, lines
    assert "port enp129s0f1np12 br-if1" in lines, lines
    assert "vlan enp130s0f1np.42 enp130s0f1np 42" in lines, lines  # 15 bytes, the maximum
    assert "vlan if2.421 enp130s0f1np 421" in lines, lines


def test_the_default_route_uses_the_lowest_preference_below_10000(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    machine.interface("net1", "pci0000:00/0000:00:04.0")

    def routes(*routers):
        data = machine.data({
            address: {"conduit": f"1g{i}", "router": {"address": router, "pref": pref}}
            for i, (address, router, pref) in enumerate(routers)})
        return [line for line in machine.plan(data).lines("plan: ") if line.startswith("route")]

    admin, other = ("10.0.0.5/24", "10.0.0.1/24"), ("10.1.0.5/24", "10.1.0.1/24")
    assert routes((*admin, 10), (*other, 9)) == ["route 4 10.1.0.1 net1"]
    assert routes((*admin, 10), (*other, 11)) == ["route 4 10.0.0.1 net0"]
    assert routes((*admin, 9999)) == ["route 4 10.0.0.1 net0"]
    assert routes((*admin, 10000)) == []
    assert routes((*admin, 10), ("fd12::5/64", "fd12::1/64", 70)) == [
        "route 4 10.0.0.1 net0", "route 6 fd12::1 net1"]
    assert routes(("10.0.0.1/24", "10.0.0.1/24", 10)) == []  # this machine is the router


def test_the_network_is_the_named_one_or_the_only_one(machine):
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    data = machine.data({"10.0.0.5/24": {}}, name="storage")
    data["crowbar"]["network"]["admin"] = machine.data({"10.9.0.5/24": {}})["crowbar"]["network"]["admin"]
    assert machine.plan(data).lines("plan: ") == ["link net0", "address 10.0.0.5/24 net0"]
    del data["crowbar"]["network_name"]
    result = machine.run(data)
    assert result.code == 1 and "2 networks with addresses" in result.text, result.text
    del data["crowbar"]["network"]["storage"]
    assert machine.plan(data).lines("plan: ") == ["link net0", "address 10.9.0.5/24 net0"]


def test_plans_are_the_same_with_busybox(machine):
    four(machine)
    maps = [{"pattern": "^KV", "bus_order": ["0000:00/0000:00:1c"]}]
    data = machine.data({"10.0.0.5/24": {"conduit": "?1g1,?1g0", "use_vlan": True, "vlan": 9,
                                         "use_bridge": True,
                                         "router": {"address": "10.0.0.1/24", "pref": 10}},
                         "fd12::5/64": {"conduit": "+1g0"}}, maps=maps)
    usual = machine.plan(data).lines("plan: ")
    machine.use_busybox()
    assert machine.plan(data).lines("plan: ") == usual and len(usual) > 8, usual


def test_the_plan_of_the_configured_network_has_precedence_over_older_plans(machine):
    """Two networks share a conduit, and its bonding mode has been changed; the other one runs later."""
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    machine.interface("net1", "pci0000:00/0000:00:04.0")
    os.makedirs(machine.state)
    with open(os.path.join(machine.state, "store.plan"), "w", encoding="ascii") as file:
        file.write("link\tnet0\nlink\tnet1\nbond\tbond-net0\tbalance-rr\n"
                   "member\tnet0\tbond-net0\nmember\tnet1\tbond-net0\n"
                   "address\t10.1.0.5/24\tbond-net0\nroute\t4\t10.1.0.1\tbond-net0\t5\n")
    data = machine.data({"10.0.0.5/24": {"conduit": "1g0,1g1", "team_mode": 4,
                                         "router": {"address": "10.0.0.1/24", "pref": 10}}})
    result = machine.plan(data)
    assert result.lines("plan: ") == [
        "link net0", "link net1", "bond bond-net0 802.3ad", "member net0 bond-net0",
        "member net1 bond-net0", "address 10.0.0.5/24 bond-net0", "address 10.1.0.5/24 bond-net0",
        "route 4 10.1.0.1 bond-net0"], result.text
    ignored = "ignored, because it contradicts another network of this machine: "
    assert result.lines(ignored) == ["bond bond-net0 balance-rr"], result.text
