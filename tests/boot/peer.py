"""A connection to the daemon's socket for boot servers, whose messages are those of a test."""
import socket
import struct

import messages

PLENTY = 30  # s


class Peer:
    """A connection to the socket. Its messages are those of the test."""

    def __init__(self, path, node):
        self.node, self.received = node, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)  # waits while the backlog is full; with a timeout it would fail
        self.socket.settimeout(PLENTY)

    def send(self, message, **values):
        self.raw(messages.message(message, **values))

    def raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # it was ended already; read() finds that

    def hello(self, **more):
        self.send("HELLO", **{"version": 1, "admin_node": self.node, "http_port": 8091, **more})

    def read(self):
        """The next message; None at the end of the connection."""
        size = self.exactly(4)
        body = size and self.exactly(struct.unpack("<I", size)[0])
        if not body:
            return None
        kind, values = messages.parse(body)
        self.received.append(kind)
        return kind, values

    def exactly(self, size):
        data = b""
        try:
            while len(data) < size:
                part = self.socket.recv(size - len(data))
                if not part:
                    return None
                data += part
        except ConnectionResetError:
            return None
        return data

    def until(self, kind):
        while message := self.read():
            if message[0] == kind:
                return message[1]
        raise AssertionError(f"it was ended before {kind}: {self.received}")

    def joins(self):
        """It is the boot server of its node, and has the view."""
        self.hello()
        self.until("WELCOME")
        sealed = self.until("SEALED")
        self.send("TAKEN", turn=sealed["turn"])
        return sealed["turn"]

    def is_ended(self):
        """The daemon closes the connection, whatever it sent before."""
        while self.read():
            pass
        self.socket.close()
        return True
