"""Real firmware boots what was committed: the system of the network, and its disk."""
import signal

from lab import HTTP_PORT, SERVER

MAC = "52:54:00:77:00:0{}"
# Attempts that cost a minute each before the firmware comes to the disk.
DETOURS = ("proxydhcp", "dhcp6")


def check_report(lab, machine, node):
    arguments = machine.wait_for_report()
    assert f"halligan.mac={machine.mac}" in arguments, arguments
    assert "halligan.ticket=" in arguments and "console=ttyS0" in arguments, arguments
    assert not machine.events(*DETOURS), machine.events(*DETOURS)
    address = lab.done(lab.client.get(f"nodes/{node}/addresses"))
    acks = [e for e in machine.events("dhcp") if e.get("type") == "ack"]
    assert acks and all(e["address"] in str(address) for e in acks), (acks, address)
    boots = [e["event"] for e in lab.done(lab.client.get(f"nodes/{node}/boots"))]
    assert "dhcp-acknowledged" in boots[:boots.index("script")], boots
    assert "file-sent" in boots[boots.index("script"):], boots
    # It has not reported itself alive: what it was answered last is the end of the chain.
    last = lab.done(lab.client.get(f"nodes/{node}/why"))["chain"][-1]
    assert last["code"] == "boot_silent" and "it has not reported since" in last["text"], last


def test_bios_with_ipxe_boots_the_system_of_the_network(lab):
    lab.open()
    node = lab.node("bios", MAC.format(1))
    check_report(lab, lab.machine("bios", MAC.format(1), "bios"), node)


def test_uefi_pxe_boots_the_system_of_the_network(lab):
    lab.open()
    node = lab.node("pxe", MAC.format(2))
    check_report(lab, lab.machine("pxe", MAC.format(2), "uefi"), node)


def test_uefi_http_boots_the_system_of_the_network(lab):
    lab.open()
    node = lab.node("http", MAC.format(3))
    check_report(lab, lab.machine("http", MAC.format(3), "uefi-http"), node)


def bootstate(lab, node):
    """What halligan-boot says by HTTP, to a host of the segment."""
    host = lab.host(address="10.77.0.230/24")
    return lab.on_host(host, "curl", "-sS", f"http://{SERVER}:{HTTP_PORT}/nodes/{node}/bootstate").stdout


def test_c173_bios_boots_its_disk_without_boot_options(lab):
    lab.open()
    node = lab.node("bios", MAC.format(4))
    assert bootstate(lab, node) == "sledgehammer"
    lab.switch(node, "local")
    assert bootstate(lab, node) == "local"
    machine = lab.machine("bios", MAC.format(4), "bios", lab.images.bios_disk())
    machine.wait_for_disk()
    assert not machine.events(*DETOURS), machine.events(*DETOURS)
    acks = [e for e in machine.events("dhcp") if e.get("type") == "ack"]
    assert acks and not any(e["file"] for e in acks), acks


def test_uefi_pxe_boots_its_disk(lab):
    lab.open()
    lab.node("pxe", MAC.format(5), "local")
    machine = lab.machine("pxe", MAC.format(5), "uefi", lab.images.uefi_disk())
    machine.wait_for_disk()
    assert not machine.events(*DETOURS), machine.events(*DETOURS)


def test_uefi_http_boots_its_disk(lab):
    lab.open()
    lab.node("http", MAC.format(6), "local")
    machine = lab.machine("http", MAC.format(6), "uefi-http", lab.images.uefi_disk())
    machine.wait_for_disk()
    assert not machine.events(*DETOURS), machine.events(*DETOURS)


def test_an_unknown_machine_boots_the_discovery_environment(lab):
    lab.open()
    machine = lab.machine("new", MAC.format(7), "bios")
    arguments = machine.wait_for_report()
    assert f"halligan.mac={machine.mac}" in arguments, arguments
    [lease] = [one for one in lab.done(lab.client.get("leases")) if one["state"] == "live"]
    assert lease["mac"] == machine.mac, lease


def test_a_machine_boots_what_is_committed_when_it_asks(lab):
    lab.open()
    node = lab.node("switched", MAC.format(8))
    machine = lab.machine("switched", MAC.format(8), "bios", lab.images.bios_disk())
    machine.wait(lambda: machine.events("dhcp"), "asking for an address")
    lab.switch(node, "local")
    machine.wait_for_disk()
    assert lab.report_of(machine.mac, machine.began) is None


def test_a_machine_boots_although_the_boot_server_dies_while_it_loads(lab):
    lab.open()
    node = lab.node("cut", MAC.format(9))
    machine = lab.machine("cut", MAC.format(9), "bios")
    # One connection carries the script and the files: it is cut after the script.
    machine.wait(lambda: any(e["event"] == "script" for e in
                             lab.done(lab.client.get(f"nodes/{node}/boots"))), "its script was sent")
    lab.stop_boot(signal.SIGKILL)
    lab.start_boot()
    machine.wait_for_report()
    assert "trying again" in machine.says() or machine.says().count("vmlinuz") > 1, machine.says()[-1500:]
