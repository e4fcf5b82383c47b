"""--check, ports that are taken, and interfaces that are missing or change."""
import os
import signal
import socket
import subprocess

from segment import PROVISIONER, ip


def test_usage(segment):
    for options, word in ((["--bogus"], "--bogus"), ([], "--interface"),
                          (["--interface", "a" * 16], "name of an interface"),
                          (["--interface", "eth0", "--http", "1.2.3.4"], "address with a port"),
                          (["--interface", "eth0", "--http", "[1.2.3.4]:80"], "address with a port"),
                          (["--interface"], "without its value"),
                          (["--interface", ",".join(f"e{i}" for i in range(17))], "more than 16")):
        done = subprocess.run([segment.program, *options], check=False, capture_output=True, text=True)
        assert done.returncode == 2 and word in done.stderr, (options, done)
    for option in ("--help", "--version"):
        done = subprocess.run([segment.program, option], check=False, capture_output=True, text=True)
        assert done.returncode == 0 and "halligan-boot" in done.stdout, done


def test_check_finds_nothing(segment):
    for name in ("undionly.kpxe", "snponly.efi"):
        segment.file(name, b"loader")
    assert segment.check() == (0, "everything is ready to be served\n")


def test_check_reports_everything_at_once(segment):
    ip("link", "set", "eth1", "down", namespace=segment.server)
    ip("addr", "flush", "dev", "eth1", namespace=segment.server)
    os.rmdir(os.path.dirname(segment.daemon.path))
    code, text = segment.check("--files", "/nonexistent", interfaces="eth0,eth1,eth7")
    assert code == 0, text
    for line in ("there is no interface eth7: it is not served",
                 "the interface eth1 is down or has no carrier",
                 "the interface eth1 has no IPv4 address",
                 "the directory of the files, /nonexistent, cannot be opened",
                 "the directory of the socket,"):
        assert sum(line in found for found in text.splitlines()) == 1, (line, text)
    code, text = segment.check(interfaces="eth7")
    assert code == 1 and "nothing can be served" in text, text


def test_check_reports_missing_loaders_and_access(segment):
    os.chmod(segment.files, 0o700)
    segment.file("snponly.efi", b"loader")
    os.chmod(segment.files, 0o700)
    code, text = segment.check()
    assert code == 0 and "undionly.kpxe is missing: machines with a BIOS cannot boot" in text, text
    assert "snponly.efi" not in text and "may not read the directory of the files" in text, text


def test_a_port_that_is_taken_limits_one_service(segment):
    holders = [segment.hold_port("DGRAM", 67), segment.hold_port("DGRAM", 69, device="eth1"),
               segment.hold_port("STREAM", 8092)]
    code, text = segment.check("--http", ":8092")
    assert code == 0, text
    assert f"port 67 on eth0 is held by python3, pid {holders[0]}; DHCP is not served" in text, text
    assert f"port 67 on eth1 is held by python3, pid {holders[0]}; DHCP is not served" in text, text
    assert f"port 69 on eth1 is held by python3, pid {holders[1]}; TFTP is not served" in text, text
    assert "port 69 on eth0" not in text, text
    assert f"port 8092 on eth0 is held by python3, pid {holders[2]}; HTTP is not served" in text
    segment.start()
    assert segment.get("/files/none")[0] == 404
    status = segment.daemon.await_message("STATUS", lambda v: v["text"])
    assert f"port 67 on eth0 is held by python3, pid {holders[0]}" in status["text"], status
    code, text = segment.check("--no-dhcp", "--no-tftp", "--http", ":8092")
    assert code == 1 and "nothing can be served" in text, text


def test_the_service_manager_is_notified(segment):
    path = os.path.join(segment.directory("run"), "notify")
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(path)
    os.chmod(path, 0o666)
    manager.settimeout(20)
    segment.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "2000000"})
    assert b"READY=1" in manager.recv(1000)
    assert b"WATCHDOG=1" in manager.recv(1000)
    segment.process.send_signal(signal.SIGHUP)  # is ignored
    assert segment.get("/files/none")[0] == 404
    assert segment.stop() == 0
    while b"STOPPING=1" not in manager.recv(1000):
        pass
    manager.close()


def test_services_that_are_off_are_not_reported(segment):
    segment.hold_port("DGRAM", 67)
    segment.start("--no-dhcp", serves=False)
    segment.serve({"provisioner": {}})
    assert segment.daemon.await_message("STATUS")["text"] == ""
    segment.daemon.documents = [PROVISIONER]
    segment.daemon.send_config()
    status = segment.daemon.await_message("STATUS", lambda v: v["text"])
    assert "--no-dhcp" in status["text"], status


def test_an_interface_that_vanishes_stops_being_served(segment):
    segment.file("a", b"hello")
    segment.start()
    assert segment.get("/files/a", address="10.9.1.1")[2] == b"hello"
    ip("link", "del", "eth1", namespace=segment.server)
    segment.await_log("interface was removed")
    status = segment.daemon.await_message("STATUS", lambda v: v["text"])
    assert "the interface eth1 was removed" in status["text"], status
    assert segment.get("/files/a")[2] == b"hello"
    segment.wire(1)
    segment.await_log("not served until halligan-boot is restarted")
    try:
        segment.connect(address="10.9.1.1")
        raise AssertionError("the new interface is served")
    except ConnectionRefusedError:
        pass
    assert segment.get("/files/a")[2] == b"hello"
    assert segment.stop() == 0


def test_an_interface_that_is_renamed_stops_being_served(segment):
    segment.start()
    ip("link", "set", "eth1", "down", namespace=segment.server)
    segment.await_log("interface is down")
    ip("link", "set", "eth1", "name", "lan1", namespace=segment.server)
    segment.await_log("interface was renamed")
    ip("link", "set", "lan1", "up", namespace=segment.server)
    try:
        segment.connect(address="10.9.1.1")
        raise AssertionError("the interface is served under its new name")
    except ConnectionRefusedError:
        pass
    assert segment.get("/files/none")[0] == 404


def test_changes_are_followed_after_messages_of_the_kernel_were_lost(segment):
    segment.start()
    segment.process.send_signal(signal.SIGSTOP)
    commands = os.path.join(segment.folder, "commands")
    with open(commands, "w", encoding="utf-8") as file:
        for i in range(4000):
            file.write(f"addr {'del' if i % 2 else 'add'} 10.8.0.1/32 dev lo\n")
        file.write("link del eth1\naddr add 10.9.0.9/24 dev eth0\n")
    ip("-batch", commands, namespace=segment.server)
    segment.process.send_signal(signal.SIGCONT)
    segment.await_log("interface was removed")
    # And messages are received again.
    ip("link", "set", "eth0", "down", namespace=segment.server)
    segment.await_log('msg="interface is down" interface=eth0')


def test_addresses_are_followed(segment):
    segment.file("a", b"hello")
    ip("addr", "flush", "dev", "eth1", namespace=segment.server)
    segment.start()
    ip("addr", "add", "10.9.1.7/24", "dev", "eth1", namespace=segment.server)
    assert segment.get("/files/a", address="10.9.1.7")[2] == b"hello"


def test_another_interface_is_not_answered(segment):
    segment.start(interfaces="eth0")
    # The address of eth0 through eth1: the host accepts it, but the listener is bound to eth0.
    ip("route", "add", "10.9.0.1/32", "via", "10.9.1.1", "dev", "m1", namespace=segment.machines)
    try:
        segment.connect(address="10.9.0.1", source="10.9.1.2")
        raise AssertionError("a request through another interface was answered")
    except ConnectionRefusedError:
        pass


def test_the_address_of_http(segment):
    segment.file("a", b"hello")
    segment.start("--http", "10.9.1.1:8099")
    assert segment.get("/files/a", address="10.9.1.1", port=8099)[2] == b"hello"
    try:
        segment.connect(port=8099)
        raise AssertionError("HTTP is served at another address")
    except ConnectionRefusedError:
        pass
