"""A proxy between a client and PostgreSQL that parses messages and cuts connections between them.

It listens on a unix socket of its own and passes every message on, both ways. One cut can be armed
at a time: at the Nth message with a certain label, before it, inside it, after it, one byte into
the next, or late, which is to say that the client loses the connection at once and the server still
gets the message, but only after a while.
"""
import collections
import dataclasses
import os
import pathlib
import re
import socket
import struct
import threading
import time

POSITIONS = ("before", "one byte short", "after", "one byte over")
LATE = "late"  # only for what a client says

# Codes in place of a protocol version, in packets without a type.
CANCEL, SSL, GSSENC = 80877102, 80877103, 80877104

FROM_CLIENT = {
    "Q": "Query", "P": "Parse", "B": "Bind", "E": "Execute", "D": "Describe", "C": "Close",
    "S": "Sync", "H": "Flush", "d": "CopyData", "c": "CopyDone", "f": "CopyFail", "X": "Terminate",
    "p": "Password", "F": "FunctionCall",
}
FROM_SERVER = {
    "R": "Authentication", "K": "BackendKeyData", "S": "ParameterStatus", "Z": "ReadyForQuery",
    "C": "CommandComplete", "T": "RowDescription", "D": "DataRow", "E": "ErrorResponse",
    "N": "NoticeResponse", "1": "ParseComplete", "2": "BindComplete", "3": "CloseComplete",
    "n": "NoData", "t": "ParameterDescription", "G": "CopyInResponse", "H": "CopyOutResponse",
    "d": "CopyData", "c": "CopyDone", "I": "EmptyQueryResponse", "s": "PortalSuspended",
    "A": "NotificationResponse",
}


@dataclasses.dataclass
class Cut:
    label: str
    position: str
    countdown: int = 1
    delay_s: float = 0.0  # of a late one


class Closed(Exception):
    """One side has nothing more to say."""


def texts(payload, count):
    """The first zero-terminated texts of a message."""
    return [part.decode("utf-8", "replace") for part in payload.split(b"\0", count)[:count]]


def tag(query):
    """The first word of a statement; those about the leadership are distinguished."""
    word = re.match(r"\s*(\w*)", query).group(1).upper()
    return word + (" leadership" if "leadership" in query else "")


class Reader:
    """Cuts a stream into messages."""

    def __init__(self, source):
        self.source = source
        self.data = b""

    def fill(self, size):
        while len(self.data) < size:
            try:
                fresh = self.source.recv(65536)
            except OSError:
                raise Closed from None
            if not fresh:
                raise Closed
            self.data += fresh

    def take(self, size):
        self.fill(size)
        piece, self.data = self.data[:size], self.data[size:]
        return piece

    def packet(self):
        """Length first, no type: how a client begins."""
        self.fill(4)
        return self.take(struct.unpack("!I", self.data[:4])[0])

    def message(self):
        self.fill(5)
        return self.take(1 + struct.unpack("!I", self.data[1:5])[0])

    def one_more_byte(self):
        """The first byte of what follows, if it is here or comes soon."""
        try:
            self.source.settimeout(0.05)
            return self.take(1)
        except Closed:
            return b""


class Link:
    """One connection of the client and the one to the server that belongs to it."""

    def __init__(self, proxy, client):
        self.proxy = proxy
        self.client = client
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.connect(str(proxy.server_path))
        self.queries = {}  # name of a statement -> its tag
        self.portals = {}  # name of a portal -> tag of its statement
        self.held = False  # a late message still has to reach the server

    def start(self):
        for work in (self.pump_client, self.pump_server):
            threading.Thread(target=self.guard, args=(work,), daemon=True).start()

    def guard(self, work):
        try:
            work()
        except (Closed, OSError):
            pass
        self.drop()

    def drop(self):
        """Both ends, in any state."""
        self.proxy.forget(self)
        self.close(self.client)
        if not self.held:
            self.close(self.server)

    @staticmethod
    def close(end):
        """Wakes up a thread that reads from it, which closing alone does not."""
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

    # ---- naming ----

    def label_client(self, message):
        kind, payload = chr(message[0]), message[5:]
        name = FROM_CLIENT.get(kind, kind)
        if kind == "Q":
            return f"{name} {tag(texts(payload, 1)[0])}"
        if kind == "P":
            statement, query = texts(payload, 2)
            self.queries[statement] = tag(query)
            return f"{name} {self.queries[statement]}"
        if kind == "B":
            portal, statement = texts(payload, 2)
            self.portals[portal] = self.queries.get(statement, "?")
            return f"{name} {self.portals[portal]}"
        if kind == "E":
            return f"{name} {self.portals.get(texts(payload, 1)[0], '?')}"
        return name

    @staticmethod
    def label_server(message):
        kind, payload = chr(message[0]), message[5:]
        name = "answer " + FROM_SERVER.get(kind, kind)
        if kind == "C":
            return f"{name} {tag(texts(payload, 1)[0])}"
        if kind == "Z":
            return f"{name} {chr(payload[0])}"
        return name

    # ---- passing on ----

    def pump_client(self):
        reader = Reader(self.client)
        packet = reader.packet()
        while struct.unpack("!I", packet[4:8])[0] in (SSL, GSSENC):
            self.client.sendall(b"N")
            packet = reader.packet()
        self.pass_on(packet, "Startup", reader, self.server)
        if struct.unpack("!I", packet[4:8])[0] == CANCEL:
            return
        while True:
            message = reader.message()
            self.pass_on(message, self.label_client(message), reader, self.server)

    def pump_server(self):
        reader = Reader(self.server)
        while True:
            message = reader.message()
            self.pass_on(message, self.label_server(message), reader, self.client)

    def pass_on(self, message, label, reader, target):
        cut = self.proxy.consult(label)
        if cut is None:
            target.sendall(message)
            return
        if cut.position == LATE:
            self.deliver_late(message, cut)
        elif cut.position != "before":
            over = reader.one_more_byte() if cut.position == "one byte over" else b""
            whole = message[:-1] if cut.position == "one byte short" else message
            target.sendall(whole + over)
        self.proxy.note_fired(cut)
        raise Closed

    def deliver_late(self, message, cut):
        """Delivers the message to the old server process late, when the client may have reconnected."""
        self.held = True
        self.close(self.client)
        time.sleep(cut.delay_s)
        try:
            self.server.sendall(message)
        finally:
            self.held = False
            self.close(self.server)


class Proxy:
    """Serves until stop(). A connection it has accepted lives in two threads of its own."""

    def __init__(self, server_dir, listen_dir):
        self.server_path = pathlib.Path(server_dir) / ".s.PGSQL.5432"
        self.path = pathlib.Path(listen_dir) / ".s.PGSQL.5432"
        self.lock = threading.Lock()
        self.fired = threading.Event()
        self.cut = None
        self.links = set()  # those that live
        self.seen = collections.Counter()  # messages by label
        self.cuts = collections.Counter()  # cuts by (label, position)
        os.makedirs(listen_dir, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                link = Link(self, client)
            except OSError:
                client.close()  # no server: the client shall see what it would see without us
                continue
            with self.lock:
                self.links.add(link)
            link.start()

    def forget(self, link):
        with self.lock:
            self.links.discard(link)

    def drop_all(self):
        """Make the client connect again, for the sake of what is only said then."""
        with self.lock:
            links = list(self.links)
        for link in links:
            link.drop()

    def arm(self, cut):
        with self.lock:
            self.fired.clear()
            self.cut = cut

    def disarm(self):
        with self.lock:
            self.cut = None

    def hurry(self):
        """The next message with the label will do."""
        with self.lock:
            if self.cut:
                self.cut.countdown = 1

    def consult(self, label):
        """The cut to make at this message, or None. Each is made once."""
        with self.lock:
            self.seen[label] += 1
            if self.cut is None or self.cut.label != label:
                return None
            self.cut.countdown -= 1
            if self.cut.countdown > 0:
                return None
            cut, self.cut = self.cut, None
            return cut

    def note_fired(self, cut):
        with self.lock:
            self.cuts[cut.label, cut.position] += 1
        self.fired.set()

    def stop(self):
        self.disarm()
        Link.close(self.listener)
        self.path.unlink(missing_ok=True)
