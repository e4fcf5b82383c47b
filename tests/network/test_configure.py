"""What the script configures in the kernel, that it does so once, and that the client stays connected."""
import os
import signal
import subprocess

from machine import CLIENT, IP, PLENTY, SCRIPTS, ip, missing_kinds

OURS = "192.168.124.81/24"
ROUTER = {"address": "192.168.124.1/24", "pref": 10}


def configured_once(machine, data):
    """Runs it, and a second time, which must not change anything. Returns the first result."""
    first = machine.ok(data)
    before, files = machine.configuration(), machine.files()
    second = machine.ok(data)
    assert second.changes == [], second.changes
    assert machine.configuration() == before and machine.files() == files
    assert second.wall == first.wall and "is up to date" in second.text, second.text
    return first


def test_an_address_and_the_default_route_are_set_once(machine):
    machine.wire(2)
    data = machine.data({OURS: {"router": ROUTER},
                         "fd12:3456:789a:1::5/64": {"router": {"address": "fd12:3456:789a:1::1/64",
                                                               "pref": 10}}}, conduit="1g1")
    first = configured_once(machine, data)
    assert len(first.changes) == 5, first.changes
    assert first.wall == {"admin": {OURS: "eth1", "fd12:3456:789a:1::5/64": "eth1"}}, first.wall
    assert machine.addresses() == {"eth1": sorted([OURS, "fd12:3456:789a:1::5/64"])}
    assert machine.defaults() == [(CLIENT, "eth1")]
    assert machine.defaults("-6") == [("fd12:3456:789a:1::1", "eth1")]
    machine.eventually(lambda: machine.reaches("192.168.124.81"))


def test_everything_works_with_busybox(machine):
    machine.wire(2)
    machine.use_busybox()
    machine.connect()
    configured_once(machine, machine.data({OURS: {"router": ROUTER}}, use_bridge=True))
    assert machine.addresses() == {"br-eth0": [OURS]}
    assert machine.defaults() == [(CLIENT, "br-eth0")]
    machine.tool("ss", "#!/bin/sh\nexit 1\n")
    result = machine.run(machine.data({"192.168.125.81/24": {}}, use_bridge=True),
                         HALLIGAN_ROLLBACK_S="4")
    assert result.code == 1 and "the configuration was restored" in result.text, result.text
    assert machine.addresses() == {"br-eth0": [OURS]}


def test_an_interface_that_carries_the_connection_becomes_a_port_of_a_bridge(machine):
    machine.wire(1)
    machine.connect()
    ip("route", "add", "default", "via", CLIENT, "dev", "eth0", namespace=machine.name)
    first = configured_once(machine, machine.data({OURS: {"router": ROUTER}}, use_bridge=True))
    assert machine.link("eth0")["master"] == "br-eth0"
    assert machine.addresses() == {"br-eth0": [OURS]} and first.wall == {"admin": {OURS: "br-eth0"}}
    assert machine.defaults() == [(CLIENT, "br-eth0")]
    assert machine.reaches("192.168.124.81")


def test_addresses_and_routes_of_others_move_with_the_interface(machine):
    """The connection uses an address that DHCP gave; the network has another one."""
    machine.wire(1)
    machine.connect(address="192.168.124.30/24")
    ip("addr", "change", "192.168.124.30/24", "dev", "eth0", "valid_lft", "900", "preferred_lft",
       "900", namespace=machine.name)
    ip("route", "add", "10.9.0.0/16", "via", CLIENT, "dev", "eth0", "metric", "7",
       namespace=machine.name)
    configured_once(machine, machine.data({OURS: {}}, use_bridge=True))
    assert machine.addresses() == {"br-eth0": ["192.168.124.30/24", OURS]}
    routes = [r for r in machine.show("route", "show") if r["dst"] == "10.9.0.0/16"]
    assert [(r["dev"], r["gateway"], r["metric"]) for r in routes] == [("br-eth0", CLIENT, 7)], routes
    moved = [a for e in machine.show("addr", "show") for a in e["addr_info"]
             if a["local"] == "192.168.124.30"]
    assert 0 < moved[0]["valid_life_time"] <= 900, moved
    assert machine.reaches("192.168.124.30")


def test_an_address_that_is_gone_is_removed_and_others_stay(machine):
    machine.wire(2)
    extra = "192.168.124.99/24"  # of another program; a secondary address of the same subnet
    machine.ok(machine.data({OURS: {}, "192.168.124.82/24": {}, "192.168.124.83/24": {}}))
    ip("addr", "add", extra, "dev", "eth0", namespace=machine.name)
    # The first address is the primary one: the kernel removes the others of the subnet with it.
    configured_once(machine, machine.data({"192.168.124.82/24": {}, "192.168.124.83/24": {}}))
    assert machine.addresses("eth0") == sorted([extra, "192.168.124.82/24", "192.168.124.83/24"])
    result = configured_once(machine, machine.data({}))
    assert machine.addresses() == {"eth0": [extra]} and result.wall == {"admin": {}}
    assert machine.files() == {}


def test_an_address_moves_to_the_interface_of_a_new_conduit(machine):
    machine.wire(2)
    machine.ok(machine.data({OURS: {"router": ROUTER}}))
    configured_once(machine, machine.data({OURS: {"router": ROUTER}}, conduit="1g1"))
    assert machine.addresses() == {"eth1": [OURS]} and machine.defaults() == [(CLIENT, "eth1")]


def test_a_wrong_prefix_length_is_corrected(machine):
    machine.wire(1)
    ip("addr", "add", "192.168.124.81/32", "dev", "eth0", namespace=machine.name)
    configured_once(machine, machine.data({OURS: {}}))
    assert machine.addresses() == {"eth0": [OURS]}


def test_a_bridge_that_is_not_wanted_any_more_is_removed(machine):
    machine.wire(1)
    machine.connect(address="192.168.124.30/24")
    machine.ok(machine.data({OURS: {"router": ROUTER}}, use_bridge=True))
    assert machine.link("br-eth0") is not None
    configured_once(machine, machine.data({OURS: {"router": ROUTER}}))
    assert machine.link("br-eth0") is None
    assert machine.addresses() == {"eth0": ["192.168.124.30/24", OURS]}
    assert machine.defaults() == [(CLIENT, "eth0")] and machine.reaches("192.168.124.30")


def test_two_networks_are_independent_and_share_the_default_route(machine):
    machine.wire(2)
    admin = machine.data({OURS: {"router": {**ROUTER, "pref": 20}}})
    store = machine.data({"10.1.0.5/24": {"router": {"address": "10.1.0.1/24", "pref": 5}}},
                         name="store", conduit="1g1")
    machine.ok(admin)
    assert machine.defaults() == [(CLIENT, "eth0")]
    configured_once(machine, store)
    assert machine.defaults() == [("10.1.0.1", "eth1")]
    assert machine.addresses() == {"eth0": [OURS], "eth1": ["10.1.0.5/24"]}
    assert machine.ok(admin).changes == []
    machine.ok(machine.data({}, name="store"))
    assert machine.addresses() == {"eth0": [OURS]} and machine.defaults() == [(CLIENT, "eth0")]


def test_a_bridge_of_one_network_takes_the_address_of_another_on_the_same_interface(machine):
    machine.wire(1)
    machine.connect()
    admin = machine.data({OURS: {}})
    machine.ok(admin)
    configured_once(machine, machine.data({"10.1.0.5/24": {}}, name="store", use_bridge=True))
    assert machine.addresses() == {"br-eth0": sorted([OURS, "10.1.0.5/24"])}
    again = machine.ok(admin)
    assert again.changes == [] and again.wall == {"admin": {OURS: "br-eth0"}}


def test_devices_of_others_are_not_taken(machine):
    machine.wire(2)
    ip("link", "add", "mine", "type", "bridge", namespace=machine.name)
    ip("link", "set", "eth0", "master", "mine", namespace=machine.name)
    result = machine.run(machine.data({OURS: {}}))
    assert result.code == 1 and result.changes == [], result.text
    assert "eth0 belongs to mine, which no network made" in result.text, result.text
    ip("link", "add", "br-eth1", "type", "ifb", namespace=machine.name)
    result = machine.run(machine.data({OURS: {"conduit": "1g1", "use_bridge": True}}))
    assert result.code == 1 and "br-eth1 exists and is not a bridge" in result.text, result.text


# -- the connection

def test_a_change_that_would_cut_the_connection_is_rolled_back(machine):
    """The plan moves the only address of the connection to an interface without a cable."""
    machine.wire(2)
    machine.ok(machine.data({OURS: {"router": ROUTER}}))
    machine.connect(address="192.168.124.40/24")
    ip("link", "set", "port1", "nomaster", "down", namespace=machine.client)
    before, files = machine.configuration(), machine.files()
    data = machine.data({OURS: {}, "192.168.124.40/24": {}}, conduit="1g1")
    result = machine.run(data, HALLIGAN_ROLLBACK_S="4")
    assert result.code == 1, result.text
    assert f"after the change no answer came from {CLIENT}" in result.text, result.text
    assert result.changes and machine.files() == files
    after = machine.configuration()
    assert machine.addresses() == {"eth0": sorted([OURS, "192.168.124.40/24"])}
    assert machine.defaults() == [(CLIENT, "eth0")]
    assert machine.reaches("192.168.124.40") and machine.reaches("192.168.124.81")
    assert [e["ifname"] for e in after[0]] == [e["ifname"] for e in before[0]]
    assert result.wall == {}
    # The plan was not stored: the next run compares with the old one and changes nothing.
    assert machine.ok(machine.data({OURS: {"router": ROUTER}})).changes == []


def test_a_bridge_is_taken_apart_by_the_rollback(machine):
    """The plan shortens the subnet of the address, so that the client is not reached any more."""
    machine.wire(1)
    machine.connect()
    ip("route", "add", "10.9.0.0/16", "dev", "eth0", "metric", "7", namespace=machine.name)
    before = machine.addresses(), machine.show("-4", "route", "show")
    data = machine.data({"192.168.125.81/24": {}, "192.168.124.81/32": {}}, use_bridge=True)
    result = machine.run(data, HALLIGAN_ROLLBACK_S="4")
    reason = f"after the change no answer came from {CLIENT}; the configuration was restored"
    assert result.code == 1 and reason in result.text, result.text
    assert (machine.addresses(), machine.show("-4", "route", "show")) == before
    assert machine.link("br-eth0") is None and "master" not in machine.link("eth0")
    assert machine.files() == {} and machine.reaches("192.168.124.81")


def test_the_rollback_survives_the_death_of_the_run(machine):
    """The process group of the run is killed after the change, as when its connection breaks."""
    machine.wire(2)
    machine.connect()
    ip("link", "set", "port1", "nomaster", "down", namespace=machine.client)
    run = machine.start(machine.data({OURS: {}}, conduit="1g1"), HALLIGAN_ROLLBACK_S="5")
    machine.eventually(lambda: machine.addresses("eth1") == [OURS])
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(timeout=PLENTY)
    assert not machine.reaches("192.168.124.81")
    machine.eventually(lambda: machine.addresses() == {"eth0": [OURS]})
    assert machine.reaches("192.168.124.81")
    # Nothing of it is left, and the next run works.
    machine.eventually(lambda: ip("netns", "pids", machine.name).stdout.split() == [])
    assert machine.ok(machine.data({OURS: {}})).changes == []


def test_the_next_run_waits_for_the_rollback_of_a_run_that_was_cut_off(machine):
    machine.wire(2)
    machine.connect()
    ip("link", "set", "port1", "nomaster", "down", namespace=machine.client)
    run = machine.start(machine.data({OURS: {}}, conduit="1g1"), HALLIGAN_ROLLBACK_S="4")
    machine.eventually(lambda: machine.addresses("eth1") == [OURS])
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(timeout=PLENTY)
    result = machine.ok(machine.data({OURS: {}}))
    assert "an earlier run was cut off" in result.text, result.text
    assert machine.addresses() == {"eth0": [OURS]} and machine.reaches("192.168.124.81")
    # If the process of the rollback has been killed as well, the next run restores by itself.
    run = machine.start(machine.data({OURS: {}}, conduit="1g1"), HALLIGAN_ROLLBACK_S="60")
    machine.eventually(lambda: machine.addresses("eth1") == [OURS])
    machine.kill_all(machine.name)
    run.wait(timeout=PLENTY)
    assert machine.addresses() == {"eth1": [OURS]}
    machine.ok(machine.data({OURS: {}}), HALLIGAN_ROLLBACK_S="-8")
    assert machine.addresses() == {"eth0": [OURS]} and machine.reaches("192.168.124.81")


def test_a_command_that_fails_is_rolled_back_at_once(machine):
    machine.wire(1)
    machine.connect()
    data = machine.data({OURS: {"router": {"address": "172.16.0.1/24", "pref": 1}}}, use_bridge=True)
    result = machine.run(data, HALLIGAN_ROLLBACK_S="60")
    assert result.code == 1 and "route replace default via 172.16.0.1" in result.text, result.text
    assert "failed; the configuration was restored" in result.text, result.text
    assert machine.addresses() == {"eth0": [OURS]} and machine.link("br-eth0") is None


def test_nothing_is_changed_if_nothing_could_confirm_it(machine):
    machine.wire(1)
    machine.connect()
    subprocess.run([IP, "netns", "exec", machine.client, "sysctl", "-q",
                    "net.ipv4.icmp_echo_ignore_all=1"], check=True, timeout=PLENTY)
    data = machine.data({OURS: {}}, use_bridge=True)
    result = machine.run(data)
    assert result.code == 1 and result.changes == [], result.changes
    assert f"nothing was changed: {CLIENT}" in result.text, result.text
    # The own address proves nothing either. Another target of the network that answers is enough.
    targets = data["crowbar"]["network"]["admin"]["targets"]
    targets.append("192.168.124.81")
    assert machine.run(data).code == 1
    ip("addr", "add", "fd12::1/64", "dev", "switch", "nodad", namespace=machine.client)
    ip("addr", "add", "fd12::5/64", "dev", "eth0", "nodad", namespace=machine.name)
    targets += ["192.168.124.2", "fd12::1"]
    machine.ok(data)
    assert machine.addresses() == {"br-eth0": [OURS, "fd12::5/64"]}


def test_a_run_over_ssh_keeps_its_connection(machine):
    """A real OpenSSH server in the namespace; the client does not answer ping, so acknowledgements
    of the connection itself confirm the change."""
    machine.wire(1)
    machine.connect()
    subprocess.run([IP, "netns", "exec", machine.client, "sysctl", "-q",
                    "net.ipv4.icmp_echo_ignore_all=1"], check=True, timeout=PLENTY)
    folder = os.path.join(machine.folder, "ssh")
    os.mkdir(folder, 0o700)
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd requires it
    for key in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"],
                       check=True, timeout=PLENTY)
    with open(f"{folder}/config", "w", encoding="ascii") as file:
        file.write(f"HostKey {folder}/host\nPidFile none\nAuthorizedKeysFile {folder}/client.pub\n"
                   "StrictModes no\nUsePAM no\nPermitRootLogin yes\n")
    server = subprocess.Popen([IP, "netns", "exec", machine.name, "/usr/sbin/sshd", "-D", "-e", "-f",
                               f"{folder}/config"], stderr=subprocess.DEVNULL, start_new_session=True)
    machine.processes.append(server)
    place = machine.prepare(machine.data({OURS: {"router": ROUTER}}, use_bridge=True))
    env = " ".join(f"{k}={v}" for k, v in machine.env.items() if k != "SSH_CONNECTION")
    runner = os.path.join(os.path.dirname(SCRIPTS), "..", "..", "crowbar", "templates",
                          "script-runner.sh")
    remote = f"env {env} sh {os.path.realpath(runner)} {place} >&2"
    command = [IP, "netns", "exec", machine.client, "ssh", "-F", "none", "-i", f"{folder}/client",
               "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known",
               "-o", "ConnectionAttempts=10", "root@192.168.124.81", remote]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PLENTY, check=False)
    machine.outputs.append(done.stderr)
    assert done.returncode == 0, done.stderr
    assert f"waiting for an acknowledgement of {CLIENT}" in done.stderr, done.stderr
    assert machine.wall(place) == {"admin": {OURS: "br-eth0"}}
    assert machine.addresses() == {"br-eth0": [OURS]} and machine.reaches("192.168.124.81")


# -- files of systemd-networkd

def test_files_of_systemd_networkd_describe_what_is_configured(machine):
    machine.wire(1)
    os.makedirs(machine.networkd)
    with open(os.path.join(machine.networkd, "80-mine.network"), "w", encoding="ascii") as file:
        file.write("[Match]\nName=eth9\n")
    machine.ok(machine.data({OURS: {"router": ROUTER}}, use_bridge=True))
    files = machine.files()
    head = "# Written by the network roles; changes are lost.\n"
    assert files.pop("80-mine.network")
    assert files == {
        "10-halligan-br-eth0.netdev": head + "[NetDev]\nName=br-eth0\nKind=bridge\n\n[Bridge]\n"
                                             "STP=no\nForwardDelaySec=0\n",
        "10-halligan-br-eth0.network": head + "[Match]\nName=br-eth0\n\n[Network]\n"
                                              f"KeepConfiguration=yes\nAddress={OURS}\n"
                                              f"\n[Route]\nGateway={CLIENT}\n",
        "10-halligan-eth0.network": head + "[Match]\nName=eth0\n\n[Link]\nRequiredForOnline=no\n\n"
                                           "[Network]\nBridge=br-eth0\nLinkLocalAddressing=no\n",
    }, files
    machine.ok(machine.data({}))
    assert list(machine.files()) == ["80-mine.network"]


NETWORKD = """
mount --bind "$1" /etc/systemd/network
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
mount -o remount,bind,ro /sys # it does not wait for udev, as in a container
SYSTEMD_LOG_TARGET=console exec /usr/lib/systemd/systemd-networkd
"""


def test_systemd_networkd_configures_the_same_at_the_next_start(machine):
    """The devices are deleted as by a restart; then the real systemd-networkd reads the files."""
    machine.wire(1)
    addresses = {OURS: {"router": ROUTER}, "fd12::5/64": {}}
    data = machine.data(addresses, use_bridge=True)
    machine.ok(data)
    ip("link", "del", "br-eth0", namespace=machine.name)
    ip("link", "set", "eth0", "down", namespace=machine.name)
    os.makedirs("/etc/systemd/network", exist_ok=True)
    log = os.path.join(machine.folder, "networkd.log")
    with open(log, "wb") as file:
        machine.processes.append(subprocess.Popen(
            [IP, "netns", "exec", machine.name, "unshare", "-m", "sh", "-ec", NETWORKD, "sh",
             machine.networkd], stdout=file, stderr=file, start_new_session=True))
    try:
        machine.eventually(lambda: machine.addresses() == {"br-eth0": sorted(addresses)})
        machine.eventually(lambda: machine.defaults() == [(CLIENT, "br-eth0")])
        machine.eventually(lambda: machine.reaches("192.168.124.81"))
    finally:
        with open(log, encoding="utf-8") as file:
            machine.outputs.append(file.read())
    assert "Unknown" not in machine.outputs[-1] and "Failed" not in machine.outputs[-1]
    assert machine.ok(data).changes == []


# -- bonds and VLANs: executed where the kernel has them

BOND = {"conduit": "1g0,1g1", "use_team": True, "team_mode": 1}


def parsed_by_ip(machine, commands):
    """The program ip accepts the commands; only the kernel refuses them."""
    for command in commands:
        done = ip(*command.split(), namespace=machine.name, check=False)
        reason = done.stderr.strip()
        assert done.returncode == 0 or reason in (
            "Error: Unknown device type.", "RTNETLINK answers: Operation not supported") or \
            reason.startswith(("Cannot find device", "Error: argument \"bond-eth0\" is wrong: Device",
                               "Device does not exist")), (command, done.stderr)


def test_a_bond_with_vlan_and_bridge(machine):
    machine.wire(2)
    machine.connect()
    data = machine.data({OURS: {"router": ROUTER}, "10.1.0.5/24": {"use_vlan": True, "vlan": 100,
                                                                   "use_bridge": True}}, **BOND)
    expected = [
        "address del 192.168.124.81/24 dev eth0",
        "link add bond-eth0 type bond mode active-backup miimon 100",
        "link add br100 type bridge forward_delay 0 stp_state 0",
        "link set eth0 down", "link set eth0 master bond-eth0", "link set eth1 master bond-eth0",
        "link add link bond-eth0 name bond-eth0.100 type vlan id 100", "link set bond-eth0.100 master br100",
        "link set bond-eth0 up", "link set bond-eth0.100 up", "link set br100 up",
        "address add 192.168.124.81/24 brd + dev bond-eth0", "address add 10.1.0.5/24 brd + dev br100",
        f"-4 route replace default via {CLIENT} dev bond-eth0"]
    planned = machine.plan(data).lines("ip ")
    assert planned == expected, planned
    if missing_kinds():
        parsed_by_ip(machine, planned)
        return
    configured_once(machine, data)
    assert machine.link("eth0")["master"] == machine.link("eth1")["master"] == "bond-eth0"
    assert machine.link("bond-eth0")["linkinfo"]["info_data"]["mode"] == "active-backup"
    assert machine.link("bond-eth0.100")["linkinfo"]["info_data"]["id"] == 100
    assert machine.addresses() == {"bond-eth0": [OURS], "br100": ["10.1.0.5/24"]}
    assert machine.reaches("192.168.124.81")
    other = machine.data({OURS: {"router": ROUTER}}, **{**BOND, "team_mode": 5})
    configured_once(machine, other)
    assert machine.link("bond-eth0")["linkinfo"]["info_data"]["mode"] == "balance-tlb"
    assert machine.link("br100") is None and machine.link("bond-eth0.100") is None
    configured_once(machine, machine.data({OURS: {"router": ROUTER}}))
    assert machine.link("bond-eth0") is None and machine.addresses() == {"eth0": [OURS]}
    assert machine.reaches("192.168.124.81")


def test_a_bond_is_taken_apart_by_the_rollback(machine):
    machine.wire(2)
    machine.connect()
    data = machine.data({"192.168.125.81/24": {}, "192.168.124.81/32": {}}, **BOND)
    result = machine.run(data, HALLIGAN_ROLLBACK_S="4")
    # Without bonding the first command fails, with it the confirmation does.
    assert result.code == 1 and "the configuration was restored" in result.text, result.text
    assert machine.addresses() == {"eth0": [OURS]} and machine.link("bond-eth0") is None
    assert machine.files() == {} and machine.reaches("192.168.124.81")


def test_files_of_systemd_networkd_for_bonds_and_vlans(machine):
    """The files are made from the plan, so they need no kernel that has these devices."""
    machine.interface("net0", "pci0000:00/0000:00:03.0")
    machine.interface("net1", "pci0000:00/0000:00:04.0")
    place = machine.prepare(machine.data({"10.1.0.5/24": {"use_vlan": True, "vlan": 100}}, **BOND))
    subprocess.run(machine.command(place, {"HALLIGAN_NETWORK_PLAN": "1"}), check=True,
                   capture_output=True, timeout=PLENTY)
    texts = {}
    for name in os.listdir(os.path.join(place, "networkd")):
        with open(os.path.join(place, "networkd", name), encoding="ascii") as file:
            texts[name[len("10-halligan-"):]] = file.read().split("\n", maxsplit=1)[1]
    assert texts["bond-net0.netdev"] == ("[NetDev]\nName=bond-net0\nKind=bond\n\n[Bond]\n"
                                     "Mode=active-backup\nMIIMonitorSec=100ms\n"), texts
    assert texts["bond-net0.100.netdev"] == "[NetDev]\nName=bond-net0.100\nKind=vlan\n\n[VLAN]\nId=100\n"
    assert texts["bond-net0.network"] == ("[Match]\nName=bond-net0\n\n[Link]\nRequiredForOnline=no\n\n"
                                      "[Network]\nKeepConfiguration=yes\nDHCP=yes\n"
                                      "VLAN=bond-net0.100\n"), texts
    assert texts["net1.network"].endswith("[Network]\nBond=bond-net0\nLinkLocalAddressing=no\n"), texts
    assert texts["bond-net0.100.network"].endswith("KeepConfiguration=yes\nAddress=10.1.0.5/24\n"), texts
    assert sorted(texts) == ["bond-net0.100.netdev", "bond-net0.100.network", "bond-net0.netdev", "bond-net0.network",
                             "net0.network", "net1.network"]
