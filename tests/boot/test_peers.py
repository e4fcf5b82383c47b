"""Peers of the daemon's socket that are no boot servers: what they send ends their connection with one line
in the log, and changes nothing else."""
import os
import struct
import subprocess
import sys
import time

import messages
from installation import ADMIN, Installation, eventually, give_addresses, silence_arp
from peer import Peer

SECOND = "second.example.com"  # an admin node whose boot server the test plays
MACHINE, MAC = "m1.example.com", "52:54:00:01:00:01"
ENDED, REFUSED = "disconnected: ", "boot server refused: "
PLENTY = 30  # s
DRIBBLE_S = 0.002
QUEUED, FLOOD = 8_000_000, 12_000_000  # bytes of changes that a connection does not read


class Site(Installation):
    """A boot server that serves a machine, and a second admin node without one."""

    def __init__(self, segment):
        super().__init__(segment)
        self.start()
        self.open(first_pool=251)
        self.post("nodes", {"name": SECOND, "admin": True, "alive": True, "available": True})
        _, self.address = self.node("m1", MAC)
        silence_arp(segment)
        give_addresses(segment, [self.address])
        self.start_boot()
        self.connects()
        # The first connection of a node stores that it has boot servers.
        peer = self.peer()
        peer.joins()
        peer.socket.close()
        self.is_alone()

    def peer(self, node=SECOND):
        return Peer(self.segment.daemon.path, node)

    def is_alone(self):
        eventually(lambda: [s["node"] for s in self.get("boot_servers") if s["connected"]] == [ADMIN],
                   lambda: f"only its own boot server is connected: {self.get('boot_servers')}")

    def lines(self):
        return [line for line in self.read("stderr").splitlines() if ENDED in line or REFUSED in line]

    def digest(self):
        """What is committed, but for the turn and the time: the objects that a boot server may change."""
        shown = [self.get(path) for path in ("nodes?view=full", "node_roles?view=full", "leases", "bootenvs",
                                             "networks", "network_allocations")]
        return shown, self.get("boot_servers")[0]

    def is_served(self):
        status, _, text = self.segment.get(f"/boot/{MAC}", source=self.address)
        assert status == 200 and b"sledgehammer/vmlinuz" in text, (status, text)


def malformed():
    """{name: bytes} of what is no message, whenever it is sent."""
    taken = messages.message("TAKEN", turn=1)
    hello = messages.message("HELLO", version=1, admin_node=SECOND)
    return {
        "a length of zero": bytes(4),
        "a length of 3 MB": struct.pack("<I", 3_000_000) + bytes(100),
        "the largest length": b"\xff\xff\xff\xff",
        "an unknown kind": b"\1\0\0\0\xff",
        "kind zero": b"\1\0\0\0\0",
        "fields after the last": struct.pack("<I", len(taken) - 3) + taken[4:] + b"\0",
        "a message that is cut": struct.pack("<I", len(hello) - 6) + hello[4:-2],
        "a mask of unknown fields": b"\3\0\0\0\2\xff\x7f",
        "a varint without an end": b"\x0d\0\0\0\2\1" + b"\xff" * 11,
        "text that is not UTF-8": messages.message("STATUS", text=b"\xff\xfe"),
        "a text that is too long": messages.message("STATUS", text="x" * 5000),
        "noise": os.urandom(4096)[:4095] + b"\xff" + b"\xff" * 4096,
    }


def illegal(turn):
    """{name: bytes} of messages that are not legal after a HELLO and an acknowledgement of the turn."""
    m = messages.message
    return {
        "a second HELLO": m("HELLO", version=1, admin_node=SECOND),
        "a turn that was never sent": m("TAKEN", turn=turn + 1),
        "a turn far ahead": m("TAKEN", turn=1 << 60),
        "a negative turn": m("TAKEN", turn=-1),
        "a turn before the last": m("TAKEN", turn=turn - 1),
        "a WELCOME": m("WELCOME", version=1, node=1),
        "entries": m("ENTRIES", entries=messages.items([messages.entry("NETWORK", 1, name="evil")])),
        "removed keys": m("REMOVED", keys=messages.key("NETWORK", 1)),
        "a base image": m("BASE", turn=1) + m("SEALED", turn=1, digest=bytes(16)),
        "a configuration": m("CONFIG", documents=b""),
        "an answer to a lease": m("LEASED", request=1, granted=True),
        "an answer to a grant": m("GRANTED", request=1, answer=1),
        "a refusal": m("REFUSED", text="no"),
        "content": m("CONTENT", request=1, status=200),
    }


def early():
    """{name: bytes} of messages that are legal after a HELLO only."""
    mac = messages.mac_number(MAC)
    m = messages.message
    return {
        "an acknowledgement": m("TAKEN", turn=1),
        "a lease": m("LEASE_TAKE", request=1, range=3, address=0x0A0900FC, mac=mac, lease_s=600),
        "the end of a lease": m("LEASE_RELEASE", request=1, range=3, address=0x0A0900FC, mac=mac),
        "a grant": m("GRANT", request=1, node=4, generation=0, mac=mac, ticket="ab" * 32),
        "a document": m("DOCUMENT", request=1, path=f"nodes/{MACHINE}/bootstate"),
        "a status": m("STATUS", text="it does not work"),
        "a report about files": m("FILES", bootenv="sledgehammer", available=True),
        "an observation": m("SEEN", mac=mac, node=4),
        "a digest": m("DIGEST", turn=1, digest=bytes(16)),
    }


def ends(site, name, peer, data):
    """The bytes end the connection with one line."""
    before = site.lines()
    peer.raw(data)
    assert peer.is_ended(), name
    eventually(lambda: len(site.lines()) > len(before) or not peer.received, f"a line in the log: {name}", 5)
    return len(site.lines()) - len(before)


def test_illegal_messages_end_the_connection_alone(segment):
    site = Site(segment)
    before = site.digest()
    for name, data in {**malformed(), **early()}.items():
        assert ends(site, name, site.peer(), data) <= 1, name
    for name, data in malformed().items():
        peer = site.peer()
        peer.joins()
        assert ends(site, name, peer, data) == 1, (name, site.lines()[-3:])
        site.is_served()
    turn = site.get("boot_servers")[0]["sent_turn"]
    for name, data in illegal(turn).items():
        peer = site.peer()
        data = illegal(peer.joins())[name]
        assert ends(site, name, peer, data) == 1, (name, site.lines()[-3:])
    site.is_alone()
    site.is_served()
    after = site.digest()
    assert after == before, (before, after)
    assert segment.process.poll() is None and segment.logged().count("connected to halligand") == 1
    site.stop()


def test_a_message_may_come_byte_by_byte(segment):
    site = Site(segment)
    peer = site.peer()
    for byte in messages.message("HELLO", version=1, admin_node=SECOND):
        peer.raw(bytes([byte]))
        time.sleep(DRIBBLE_S)
    assert peer.until("WELCOME")["node_name"] == SECOND
    site.is_served()
    peer.socket.close()
    # One that stops before the end of its HELLO is ended after a time.
    late = site.peer()
    late.raw(messages.message("HELLO", version=1, admin_node=SECOND)[:-1])
    began = time.monotonic()
    assert late.is_ended() and time.monotonic() - began > 5
    site.is_served()
    site.stop()


def test_a_peer_that_reads_nothing_is_disconnected(segment):
    """It is sent 8 MiB at most; the daemon and the other boot server are not delayed."""
    site = Site(segment)
    peer = site.peer()
    peer.hello()
    eventually(lambda: any(s["node"] == SECOND and s["connected"] for s in site.get("boot_servers")),
               "it is connected")
    filler = "x" * 4000  # options of the boot, which are part of the entry
    sent, slowest, turns = 0, 0.0, 0
    while ENDED + "it does not read what it is sent" not in site.read("stderr"):
        assert sent < FLOOD, (sent, site.lines())
        began = time.monotonic()
        site.put(f"nodes/{MACHINE}/attribs/boot-options", {"value": {"args": f"{turns} {filler}"}})
        slowest = max(slowest, time.monotonic() - began)
        sent, turns = sent + 4000, turns + 1
    assert sent > QUEUED, sent
    print(f"    disconnected after {turns} changes of {sent >> 20} MiB, slowest {slowest * 1000:.0f} ms",
          flush=True)
    assert len([line for line in site.lines() if "does not read" in line]) == 1, site.lines()
    site.is_alone()
    site.connects()
    site.is_served()
    # It may come back, and begins with a base image.
    peer.socket.close()
    again = site.peer()
    assert again.joins() > 0
    site.stop()


def test_a_node_has_one_boot_server(segment):
    site = Site(segment)
    before = site.digest()
    second = site.peer(ADMIN)
    second.hello()
    assert second.read() == ("REFUSED", {"text": "the node has a boot server already"})
    assert second.is_ended()
    for node, why in (("none.example.com", "there is no admin node of this name"),
                      (MACHINE, "there is no admin node of this name"),
                      ("", "there are several admin nodes: start it with --node NAME")):
        peer = site.peer(node)
        peer.hello()
        assert peer.read() == ("REFUSED", {"text": why}), node
        assert peer.is_ended()
    other = site.peer()
    other.hello(version=2)
    assert "another version" in other.read()[1]["text"] and other.is_ended()
    # Refused peers connect again at once, so their warning is not repeated.
    assert len([line for line in site.lines() if REFUSED in line]) == 1, site.lines()
    site.is_served()
    assert site.digest() == before
    # A real second one keeps trying, and replaces the first one when that has ended.
    site.stop()


def test_another_user_is_refused(segment):
    site = Site(segment)
    before = site.digest()
    code = ("import socket,sys\n"
            f"s=socket.socket(socket.AF_UNIX); s.connect({segment.daemon.path!r})\n"
            f"s.sendall({messages.message('HELLO', version=1, admin_node=SECOND)!r})\n"
            "s.settimeout(20)\n"
            "try: print(len(s.recv(100)))\n"
            "except ConnectionResetError: print(0)\n")

    def connect(*user):
        done = subprocess.run([*user, sys.executable, "-c", code], check=False, capture_output=True,
                              text=True, timeout=PLENTY)
        return done.stdout.strip() + done.stderr

    as_user = ("setpriv", "--reuid=65533", "--regid=65533", "--clear-groups")
    for _ in range(3):
        found = connect(*as_user)
        assert found == "0" or "BrokenPipe" in found, found
    warning = "its user is neither root nor boot-user"
    eventually(lambda: site.logged(warning), "it is logged")
    assert site.logged(warning) == 1
    assert int(connect("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")) > 0
    site.is_alone()
    site.is_served()
    assert site.digest() == before
    site.stop()


def test_connections_without_a_hello_do_not_keep_boot_servers_out(segment):
    """They are ended after 10 s; until then the daemon takes up to 72 connections."""
    site = Site(segment)
    idle = [site.peer() for _ in range(80)]
    site.is_served()
    assert segment.process.poll() is None
    peer = site.peer()
    peer.hello()
    for one in idle:
        assert one.is_ended()
    last = site.peer()
    assert last.joins() > 0
    site.stop()
