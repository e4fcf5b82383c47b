"""Machines that boot: addresses by DHCP, scripts by HTTP, loaders by TFTP, installers with a grant."""
import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import threading

import messages
from daemon import PLENTY
from segment import IP, PROVISIONER, ip

MAC, OTHER, THIRD = "52:54:00:00:00:07", "52:54:00:00:00:09", "52:54:00:00:00:0a"
NETWORK = {"name": "admin", "category": "admin"}
ON = {"dhcp": {"unknown": "all"}, "provisioner": {}}


def view(segment, bootenv="sledgehammer", generation=3, **machine):
    """A network, a range of hosts and a pool, two environments and a machine at 10.9.0.2."""
    d = segment.daemon
    d.put("NETWORK", 1, **NETWORK)
    d.put("RANGE", 1, network=1, name="host", first="10.9.0.2/24", last="10.9.0.99/24")
    d.put("RANGE", 2, network=1, name="dhcp", first="10.9.0.100/24", last="10.9.0.110/24")
    d.put("BOOTENV", 1, name="sledgehammer", kernel="sledgehammer/vmlinuz", method="discovery",
          args="", initrds=["sledgehammer/initrd"])
    d.put("BOOTENV", 2, name="debian-12-install", kernel="debian/vmlinuz", method="installer",
          os="debian-12", initrds=["debian/initrd"])
    d.put("MACHINE", 5, name="n1.example.com", bootenv=bootenv, generation=generation, macs=[MAC],
          addresses=[{"address": "10.9.0.2/24", "network": 1, "range": 1}], **machine)


def dhcp(segment, kind, mac=MAC, device="m0", options=b"", arch=0, **fields):
    """Sends a DHCP packet from port 68 and returns the next reply as (fields, {option: value})."""
    s = dhcp_socket(segment, device)
    send_dhcp(s, kind, mac, options, arch, **fields)
    return read_dhcp(s.recv(4096))


def dhcp_socket(segment, device="m0"):
    s = segment.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, 25, device.encode())
    s.bind(("0.0.0.0", 68))
    return s


def send_dhcp(s, kind, mac=MAC, options=b"", arch=0, ciaddr="0.0.0.0", flags=0x8000):
    hardware = bytes.fromhex(mac.replace(":", ""))
    packet = struct.pack("!BBBBIHH4s12x16s192x", 1, 1, 6, 0, 0x12345678, 1, flags,
                         socket.inet_aton(ciaddr), hardware)
    packet += b"\x63\x82\x53\x63" + bytes([53, 1, kind])
    packet += bytes([60, 20]) + b"PXEClient:Arch:00000"[:20] + bytes([93, 2, 0, arch]) + options
    packet += bytes([55, 6, 1, 3, 6, 15, 66, 67, 255])
    s.sendto(packet.ljust(300, b"\0"), ("255.255.255.255", 67))


def read_dhcp(data):
    fields = {"yiaddr": socket.inet_ntoa(data[16:20]), "siaddr": socket.inet_ntoa(data[20:24]),
              "file": data[108:236].split(b"\0")[0].decode()}
    options, at = {}, 240
    while data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        options[data[at]] = data[at + 2:at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    return fields, options


def served(segment):
    """DHCP is served some time after the start, when no other server has answered."""
    def is_served():
        s = dhcp_socket(segment)
        s.settimeout(0.5)
        send_dhcp(s, 1)
        try:
            return s.recv(4096)
        except TimeoutError:
            return None
        finally:
            s.close()
    segment.eventually(is_served, 30)


def script(segment, mac=MAC, path="", **how):
    status, _, body = segment.get(f"/boot/{mac}{path}", **how)
    return status, body.decode()


def test_a_known_machine_gets_its_address_and_a_loader(segment):
    segment.file("undionly.kpxe", b"loader")
    view(segment)
    segment.start(serves=False)
    segment.serve(ON)
    served(segment)
    fields, options = dhcp(segment, 1)
    assert fields["yiaddr"] == "10.9.0.2" and options[53] == b"\x02", (fields, options)
    assert options[1] == b"\xff\xff\xff\0" and socket.inet_ntoa(options[54]) == "10.9.0.1"
    assert fields["file"] == "undionly.kpxe" or options.get(67, b"").rstrip(b"\0") == b"undionly.kpxe"
    assert fields["siaddr"] == "10.9.0.1", fields
    request = bytes([50, 4]) + socket.inet_aton("10.9.0.2") + bytes([54, 4]) + socket.inet_aton("10.9.0.1")
    fields, options = dhcp(segment, 3, options=request)
    assert fields["yiaddr"] == "10.9.0.2" and options[53] == b"\x05", (fields, options)
    assert not segment.daemon.count("LEASE_TAKE")
    for name in ("dhcp-offered", "dhcp-acknowledged"):
        seen = segment.daemon.seen(name)
        assert seen["mac"] == messages.mac_number(MAC) and seen["node"] == 5, seen
        assert seen["address"] == 0x0a090002 and seen["detail"] == "undionly.kpxe", seen
    # iPXE gets the URL of its script, with a ticket.
    fields, options = dhcp(segment, 1, options=bytes([77, 4]) + b"iPXE" + bytes([175, 3, 19, 1, 1]))
    url = fields["file"] or options[67].decode()
    found = re.fullmatch(r"http://10\.9\.0\.1:8091(/boot/[0-9A-Fa-f:%-]+)\?t=[0-9a-f]{100}", url.rstrip("\0"))
    assert found, url
    status, body = script(segment, mac=url.rstrip("\0").split("/boot/")[1])
    assert status == 200 and body.startswith("#!ipxe"), body


def test_replies_reach_a_machine_without_an_address(segment):
    """The reply is sent to the hardware address, without a request by ARP."""
    view(segment)
    ip("addr", "flush", "dev", "m0", namespace=segment.machines)
    segment.start(serves=False)
    segment.serve(ON)
    served(segment)
    raw = segment.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    raw.bind(("m0", 0x0800))
    s = dhcp_socket(segment)
    send_dhcp(s, 1, flags=0)
    while True:
        frame = raw.recv(4096)
        if frame[23] == 17 and frame[36:38] == b"\x00\x44":
            break
    assert frame[:6] == bytes.fromhex(MAC.replace(":", "")), frame[:14]
    assert frame[26:30] == socket.inet_aton("10.9.0.1") and frame[30:34] == socket.inet_aton("10.9.0.2")
    header, udp = frame[14:34], frame[34:34 + struct.unpack("!H", frame[38:40])[0]]

    def checksum(data):
        data += b"\0" * (len(data) % 2)
        total = sum(struct.unpack(f"!{len(data) // 2}H", data))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        return total

    assert checksum(header) == 0xffff
    assert checksum(header[12:20] + struct.pack("!HH", 17, len(udp)) + udp) == 0xffff
    fields, _ = read_dhcp(udp[8:])
    assert fields["yiaddr"] == "10.9.0.2", fields


def test_a_lease_is_durable_before_it_is_acknowledged(segment):
    view(segment)
    segment.start(serves=False)
    segment.serve(ON)
    served(segment)
    fields, options = dhcp(segment, 1, mac=OTHER)
    address = fields["yiaddr"]
    assert address.startswith("10.9.0.1") and options[53] == b"\x02", fields
    request = bytes([50, 4]) + socket.inet_aton(address) + bytes([54, 4]) + socket.inet_aton("10.9.0.1")
    fields, options = dhcp(segment, 3, mac=OTHER, options=request)
    taken = segment.daemon.await_message("LEASE_TAKE")
    assert options[53] == b"\x05" and fields["yiaddr"] == address, (fields, options)
    assert taken["range"] == 2 and taken["mac"] == messages.mac_number(OTHER), taken
    assert taken["address"] == int.from_bytes(socket.inet_aton(address), "big") and taken["request"] > 0
    segment.daemon.lease = lambda values: False
    address = dhcp(segment, 1, mac=THIRD)[0]["yiaddr"]
    request = bytes([50, 4]) + socket.inet_aton(address) + bytes([54, 4]) + socket.inet_aton("10.9.0.1")
    fields, options = dhcp(segment, 3, mac=THIRD, options=request)
    assert options[53] == b"\x06", options


def test_an_address_in_use_is_not_offered(segment):
    """A host of the segment answers the ARP probe."""
    view(segment)
    for last in range(100, 110):
        ip("addr", "add", f"10.9.0.{last}/24", "dev", "m0", namespace=segment.machines)
    segment.start(serves=False)
    segment.serve(ON)
    served(segment)

    def offered():
        s = dhcp_socket(segment)
        s.settimeout(3)
        send_dhcp(s, 1, mac=OTHER)
        try:
            return read_dhcp(s.recv(4096))[0]["yiaddr"] == "10.9.0.110"
        except TimeoutError:
            return False

    segment.eventually(offered, 30)
    assert segment.daemon.seen("address-in-use")


def test_dhcp_continues_after_the_link_was_down(segment):
    view(segment)
    ip("addr", "add", "10.9.0.100/24", "dev", "m0", namespace=segment.machines)
    for state in ("down", "up"):
        if segment.process is None:
            segment.start(serves=False)
            segment.serve(ON)
            served(segment)
        ip("link", "set", "eth0", state, namespace=segment.server)
        segment.await_log(f'msg="interface is {state}" interface=eth0')
    served(segment)
    # An ARP reply is received: the packet sockets had an error while the link was down.
    segment.eventually(lambda: dhcp(segment, 1, mac=OTHER)[0]["yiaddr"] != "10.9.0.100", 30)
    for last in range(100, 111):
        ip("addr", "replace", f"10.9.0.{last}/24", "dev", "m0", namespace=segment.machines)
    s = dhcp_socket(segment)
    for i in range(16):
        send_dhcp(s, 1, mac=f"52:54:00:00:01:{i:02x}")
    assert segment.daemon.seen("address-in-use")


def test_a_router_solicitation_is_answered(segment):
    view(segment)
    segment.start(serves=False)
    segment.serve(ON)
    served(segment)
    dhcp(segment, 1)
    s = segment.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    s.setsockopt(socket.SOL_SOCKET, 25, b"m0")
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    index = json.loads(ip("-j", "link", "show", "m0", namespace=segment.machines).stdout)[0]["ifindex"]
    option = bytes([1, 1]) + bytes.fromhex(MAC.replace(":", ""))
    s.sendto(bytes([133, 0, 0, 0, 0, 0, 0, 0]) + option, ("ff02::2", 0, 0, index))
    while True:
        data = s.recv(4096)
        if data[0] == 134:
            break
    assert data[6:8] == b"\0\0", data  # no router of anyone


def test_a_script_is_given_to_the_machine_only(segment):
    view(segment)
    segment.start()
    status, text = script(segment)
    assert status == 200 and text.startswith("#!ipxe") and "sledgehammer/vmlinuz" in text, text
    assert "http://10.9.0.1:8091" in text, text
    assert segment.daemon.seen("script")["node"] == 5
    ip("addr", "add", "10.9.0.3/24", "dev", "m0", namespace=segment.machines)
    status, text = script(segment, source="10.9.0.3")
    assert status == 403 and len(text) <= 512, (status, text)
    assert segment.daemon.seen("script-forbidden")
    assert script(segment, mac="nonsense")[0] == 404
    assert script(segment, path="/other")[0] == 404


def test_the_view_is_followed(segment):
    view(segment)
    segment.start()
    view(segment, bootenv="local", generation=4)
    segment.daemon.commit(("MACHINE", 5))
    assert "sledgehammer/vmlinuz" not in script(segment)[1]
    segment.daemon.commit(removed=[("MACHINE", 5)])
    assert script(segment)[0] == 403


def test_an_installer_needs_a_grant(segment):
    view(segment, bootenv="debian-12-install", generation=9)
    segment.start()
    text = script(segment)[1]
    ticket = re.search(r"/install\?t=([0-9a-f]{100})", text).group(1)
    path = f"/install?t={ticket}"
    status, text = script(segment, path=path)
    grant = segment.daemon.await_message("GRANT")
    assert status == 200 and "boot" in text, text
    assert grant["node"] == 5 and grant["generation"] == 9 and grant["mac"] == messages.mac_number(MAC)
    assert grant["ticket"] == hashlib.sha256(ticket.encode()).hexdigest()
    assert segment.daemon.seen("installer-granted")["generation"] == 9
    segment.daemon.grant = lambda values: 2
    assert script(segment, path=path)[0] == 200 and segment.daemon.seen("installer-local")
    segment.daemon.grant = lambda values: 3
    assert script(segment, path=path)[0] == 200 and segment.daemon.seen("installer-stale")
    segment.daemon.grant = lambda values: 0
    status, headers, _ = segment.get(f"/boot/{MAC}{path}")
    assert status == 503 and headers["retry-after"], headers
    # A daemon that disappears while the request waits.
    segment.daemon.grant = lambda values: None
    waiting = segment.daemon.count("GRANT")
    results = []
    thread = threading.Thread(target=lambda: results.append(script(segment, path=path)[0]))
    thread.start()
    segment.eventually(lambda: segment.daemon.count("GRANT") > waiting)
    segment.daemon.stop()
    thread.join()
    assert results == [503]
    assert script(segment, path=path)[0] == 503
    assert ticket not in segment.logged()


def test_the_last_state_is_served_without_the_daemon(segment):
    segment.file("f", b"content")
    view(segment)
    segment.start()
    segment.daemon.stop()
    segment.await_log("not connected to halligand: machines are answered from the last known state, "
                      "and installers and new addresses wait; trying again\" socket="
                      + segment.daemon.path + " reason=\"the daemon has closed the connection\"")
    assert script(segment)[0] == 200 and segment.get("/files/f")[2] == b"content"
    view(segment, bootenv="local")
    segment.daemon.received.clear()
    segment.daemon.epoch = 6  # of a leader that was replaced
    segment.daemon.start()
    segment.await_log("halligand has an old epoch")
    segment.daemon.stop()
    segment.daemon.epoch = 8
    segment.daemon.start()
    segment.daemon.await_message("TAKEN")
    hello = segment.daemon.await_message("HELLO", lambda v: v["installation"])
    assert hello["installation"] == "i-1" and hello["epoch"] == 7, hello
    assert "sledgehammer/vmlinuz" not in script(segment)[1]


def test_counts_are_reported(segment):
    segment.file("f", b"content")
    view(segment)
    segment.start()
    script(segment)
    segment.get("/files/f")
    counts = segment.daemon.await_message("COUNTS", lambda v: v["counts"])["counts"]
    assert b"script" in counts and b"sledgehammer" in counts and b"file" in counts, counts


def test_a_wrong_base_image_is_refused(segment):
    view(segment)
    segment.start(serves=False)
    digest, messages.digest = messages.digest, lambda parts: b"\1" * 16
    try:
        segment.daemon.documents = [PROVISIONER]
        segment.daemon.start()
        segment.await_log("the base image of the boot view is not complete")
    finally:
        messages.digest = digest
    segment.daemon.await_message("TAKEN")
    assert script(segment)[0] == 200


def is_sent(segment, data):
    """False while the connection of before is still the one that is known."""
    try:
        with segment.daemon.changed:
            segment.daemon.connection.sendall(data)
    except OSError:
        return False
    return True


def test_nonsense_of_the_daemon_ends_the_connection(segment):
    view(segment)
    segment.start()
    for data in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\1\0\0\0\0", b"\2\0\0\0\1\0", os.urandom(64),
                 messages.message("BASE", turn=2) + messages.message("AT", turn=2)
                 + messages.message("ENTRIES", entries=b"\3abc"),
                 messages.message("WELCOME", version=1, node=1, ticket_key=bytes(32))):
        hellos = segment.daemon.count("HELLO")
        segment.eventually(lambda data=data: is_sent(segment, data))
        segment.eventually(lambda: segment.daemon.count("HELLO") > hellos)
        segment.eventually(lambda: script(segment)[0] == 200)
    assert segment.stop() == 0


def test_documents_come_from_the_daemon(segment):
    view(segment)
    segment.start()
    ticket = re.search(r"halligan\.ticket=([0-9a-f]{100})", script(segment)[1]).group(1)
    status, headers, body = segment.get(f"/seed/{ticket}/preseed/late")
    asked = segment.daemon.await_message("DOCUMENT")
    assert (status, body) == (200, b"a document\n") and headers["content-type"] == "text/plain"
    assert asked["path"] == f"seed/{ticket}/preseed/late" and asked["node"] == 5, asked
    assert asked["generation"] == 3 and asked["mac"] == messages.mac_number(MAC)
    assert asked["address"] == int.from_bytes(socket.inet_aton("10.9.0.2"), "big")
    assert segment.get(f"/seed/{'0' * 100}/preseed")[0] == 403
    assert segment.get("/nodes/n1.example.com/bootstate")[0] == 200
    segment.daemon.document = lambda values: (404, "text/plain", b"none\n")
    assert segment.get("/nodes/n1.example.com/bootstate")[0] == 404
    # A client that leaves does not leave its request behind.
    segment.daemon.document = lambda values: None
    s = segment.connect()
    s.sendall(b"GET /nodes/x/bootstate HTTP/1.1\r\nHost: boot\r\n\r\n")
    segment.daemon.await_message("DOCUMENT", lambda v: v["path"] == "nodes/x/bootstate")
    s.close()
    segment.daemon.stop()
    assert segment.get("/nodes/x/bootstate")[0] == 503
    assert segment.stop() == 0


def tftp(segment, name, *options):
    """The content that tftp-hpa receives; None if it fails."""
    target = os.path.join(segment.folder, f"tftp-{threading.get_ident()}")
    done = subprocess.run([IP, "netns", "exec", segment.machines, "tftp", "-m", "binary", *options,
                           "10.9.0.1", "-c", "get", name, target], check=False, text=True,
                          capture_output=True, timeout=60)
    if "Error code" in done.stdout + done.stderr or not os.path.exists(target):
        return None
    with open(target, "rb") as file:
        content = file.read()
    os.unlink(target)
    return content


def test_files_by_tftp(segment):
    content = os.urandom(300001)
    segment.file("undionly.kpxe", content)
    segment.file("sub/exact", content[:512 * 10])
    segment.file("empty")
    os.symlink("undionly.kpxe", os.path.join(segment.files, "link"))
    view(segment)
    segment.start()
    assert tftp(segment, "undionly.kpxe") == content
    assert tftp(segment, "/sub/exact") == content[:512 * 10]
    assert tftp(segment, "empty") in (b"", None)
    for name in ("none", "../log", "link", "sub", "/etc/passwd"):
        assert not tftp(segment, name), name
    for size in (8, 1468, 9000):
        done = subprocess.run([IP, "netns", "exec", segment.machines, "curl", "-s",
                               "--tftp-blksize", str(size),
                               "tftp://10.9.0.1/undionly.kpxe"], check=True, timeout=60,
                              capture_output=True)
        assert done.stdout == content, size
    sent = segment.daemon.seen("tftp-sent")
    assert sent["detail"] == "undionly.kpxe" and sent["other"] == len(content), sent
    assert segment.daemon.seen("tftp-failed")


def test_texts_by_tftp(segment):
    view(segment, bootenv="debian-12-install")
    segment.start()
    name = MAC.replace(":", "-")
    assert b"#!ipxe" in tftp(segment, "autoexec.ipxe")
    for path in (f"pxelinux.cfg/01-{name}", f"grub/grub.cfg-01-{name}"):
        text = tftp(segment, path)
        assert text and b"install?" not in text, (path, text)
    assert not tftp(segment, f"pxelinux.cfg/01-{OTHER.replace(':', '-')}")


def test_many_transfers_at_once(segment):
    content = os.urandom(200000)
    segment.file("f", content)
    segment.start()
    results = []
    threads = [threading.Thread(target=lambda: results.append(tftp(segment, "f") == content))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8
    # Requests beyond the limit for one address are dropped, and the others go on.
    sockets = [segment.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(30)]
    for s in sockets:
        s.settimeout(2)
        s.sendto(b"\0\1f\0octet\0", ("10.9.0.1", 69))
    answered = 0
    for s in sockets:
        try:
            answered += s.recv(1000)[:4] == b"\0\3\0\1"
        except TimeoutError:
            break
    assert answered == 8, answered


def test_broken_tftp_requests(segment):
    segment.file("f", b"x" * 2000)
    segment.start()
    s = segment.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for data in (b"", b"\0", b"\0\1", b"\0\1f", b"\0\1f\0octet", b"\0\2f\0octet\0", b"\0\3\0\1", b"\0\7",
                 b"\0\1" + b"f" * 1400 + b"\0octet\0", os.urandom(1400), b"\0\1f\0octet\0blksize\0x\0"):
        s.sendto(data, ("10.9.0.1", 69))
    s.settimeout(0.5)
    try:
        while True:
            assert s.recv(2000)[:2] == b"\0\5"
    except TimeoutError:
        pass
    assert tftp(segment, "f") == b"x" * 2000
    assert segment.stop() == 0
