"""Machines that boot, for tests with many of them: DHCP on one socket, scripts on many threads.

All of them are in one network namespace on one interface. A packet names its machine by the hardware
address in it, a request for a script by the address that it comes from.
"""
import ctypes
import heapq
import itertools
import os
import re
import socket
import struct
import threading
import time

from segment import CLONE_NEWNET, HTTP

DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK = 1, 2, 3, 4, 5, 6
COOKIE = b"\x63\x82\x53\x63"
MESSAGE, WANTED, SERVER_ID, CLASS, FILE_NAME = 53, 50, 54, 60, 67
BROADCAST = "255.255.255.255"
IPXE = bytes([77, 4]) + b"iPXE" + bytes([175, 3, 19, 1, 1])
ANSWER_S = 15


def enter(namespace):
    """The calling thread, and the sockets that it makes, are in the namespace from now on."""
    fd = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        assert ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) == 0
    finally:
        os.close(fd)


def packet(kind, mac, xid, ciaddr="0.0.0.0", flags=0x8000, options=b"", is_boot=True):
    hardware = bytes.fromhex(mac.replace(":", ""))
    data = struct.pack("!BBBBIHH4s12x16s192x", 1, 1, 6, 0, xid, 1, flags, socket.inet_aton(ciaddr), hardware)
    data += COOKIE + bytes([MESSAGE, 1, kind])
    if is_boot:
        data += bytes([CLASS, 20]) + b"PXEClient:Arch:00000" + bytes([93, 2, 0, 0])
    data += options + bytes([55, 6, 1, 3, 6, 15, 66, 67, 255])
    return data.ljust(300, b"\0")


def option_address(number, address):
    return bytes([number, 4]) + socket.inet_aton(address)


class Reply:
    def __init__(self, data):
        self.xid = struct.unpack("!I", data[4:8])[0]
        self.address = socket.inet_ntoa(data[16:20])
        self.mac = ":".join(f"{b:02x}" for b in data[28:34])
        self.options, at = {}, 240
        while at < len(data) and data[at] != 255:
            if data[at] == 0:
                at += 1
                continue
            self.options[data[at]] = data[at + 2:at + 2 + data[at + 1]]
            at += 2 + data[at + 1]
        self.kind = self.options[MESSAGE][0]
        file = data[108:236].split(b"\0")[0] or self.options.get(FILE_NAME, b"").rstrip(b"\0")
        self.file = file.decode()


class Dhcp:
    """Port 68 of the machines. `on_reply(reply, received)` is called in the thread that receives."""

    def __init__(self, namespace, device, on_reply):
        self.on_reply, self.xids, self.is_open = on_reply, itertools.count(1), True
        self.socket = None
        ready = threading.Event()

        def receive():
            enter(namespace)
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            for option in (socket.SO_BROADCAST, socket.SO_REUSEADDR):
                s.setsockopt(socket.SOL_SOCKET, option, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
            s.bind(("0.0.0.0", 68))
            s.settimeout(0.5)
            self.socket = s
            ready.set()
            while self.is_open:
                try:
                    data = s.recv(4096)
                except TimeoutError:
                    continue
                self.on_reply(Reply(data), time.monotonic())
            s.close()

        self.thread = threading.Thread(target=receive, daemon=True)
        self.thread.start()
        ready.wait()

    def send(self, data, to=BROADCAST, source=None):
        """`source` is an address of the machines, for packets that are not broadcast."""
        ancillary = []
        if source:
            info = struct.pack("=I4s4s", 0, socket.inet_aton(source), bytes(4))
            ancillary = [(socket.IPPROTO_IP, 8, info)]  # IP_PKTINFO
        self.socket.sendmsg([data], ancillary, 0, (to, 67))

    def close(self):
        self.is_open = False
        self.thread.join()


class Workers:
    """Threads in the namespace that call functions at given times, the earliest first."""

    def __init__(self, namespace, count):
        self.changed = threading.Condition()
        self.heap, self.numbers, self.is_open, self.busy = [], itertools.count(), True, 0
        self.problems = []
        self.threads = [threading.Thread(target=self.work, args=(namespace,), daemon=True)
                        for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def after(self, seconds, function, *arguments):
        with self.changed:
            heapq.heappush(self.heap, (time.monotonic() + seconds, next(self.numbers), function, arguments))
            self.changed.notify()

    def now(self, function, *arguments):
        """The result of the function, when a thread has called it."""
        done, result = threading.Event(), []

        def call():
            try:
                result.append(function(*arguments))
            finally:
                done.set()

        self.after(0, call)
        done.wait()
        assert result, self.problems[-1:]
        return result[0]

    def work(self, namespace):
        enter(namespace)
        while True:
            with self.changed:
                while self.is_open and (not self.heap or self.heap[0][0] > time.monotonic()):
                    self.changed.wait(self.heap[0][0] - time.monotonic() if self.heap else None)
                if not self.is_open:
                    return
                _, _, function, arguments = heapq.heappop(self.heap)
                self.busy += 1
            try:
                function(*arguments)
            except Exception as problem:  # pylint: disable=broad-except
                self.problems.append(repr(problem))
            with self.changed:
                self.busy -= 1
                self.changed.notify_all()

    def drain(self):
        """Everything that is due was done."""
        with self.changed:
            while self.heap or self.busy:
                self.changed.wait(0.2)

    def close(self):
        with self.changed:
            self.is_open = False
            self.changed.notify_all()
        for thread in self.threads:
            thread.join()


def fetch(source, path, server="10.9.0.1"):
    """(status, text), or None if there was no whole answer. Called by Workers."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
            s.settimeout(ANSWER_S)
            s.bind((source, 0))
            s.connect((server, HTTP))
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: boot\r\nConnection: close\r\n\r\n".encode())
            data = b""
            while part := s.recv(65536):
                data += part
    except OSError:
        return None
    head, separator, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    if not separator or not found or len(body) != int(found.group(1)):
        return None
    return int(head.split()[1]), body.decode()


def ticket_facts(ticket):
    """(mac, node, generation) of the text of a ticket (src/boot/script/ticket.h)."""
    data = bytes.fromhex(ticket)
    return (":".join(f"{b:02x}" for b in data[:6]), int.from_bytes(data[6:14], "big"),
            int.from_bytes(data[14:22], "big"))
