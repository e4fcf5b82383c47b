"""A daemon for a boot server: it listens on the unix socket and speaks boot/proto.

It keeps a set of entries and documents, which a test changes; a boot server that connects gets them
as a base image. Requests of the boot server are answered by functions that a test sets.
"""
import json
import os
import socket
import struct
import threading
import time

import messages

KEY = bytes(range(32))
PLENTY = 20  # s


class Daemon:
    def __init__(self, path):
        self.path = path
        self.entries, self.documents = {}, []
        self.received = []  # (kind, values)
        self.turn, self.epoch, self.installation = 1, 7, "i-1"
        self.connection = None
        self.changed = threading.Condition()
        self.lease = lambda values: True
        self.grant = lambda values: 1  # enum grant_answer + 1
        self.document = lambda values: (200, "text/plain", b"a document\n")
        self.listener = None

    # -- the socket

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o666)
        self.listener.listen(4)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        """As if the daemon had died: no connection, and no socket."""
        if self.listener:
            # A thread that is in accept() keeps the socket open otherwise.
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
            os.unlink(self.path)
        with self.changed:
            connection, self.connection = self.connection, None
        if connection:
            connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            while True:
                size, = struct.unpack("<I", self.exactly(connection, 4))
                kind, values = messages.parse(self.exactly(connection, size))
                self.take(connection, kind, values)
        except (OSError, EOFError, ValueError):
            return

    @staticmethod
    def exactly(connection, size):
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def take(self, connection, kind, values):
        if kind == "HELLO":
            with self.changed:
                self.connection = connection
            self.welcome()
        elif kind == "LEASE_TAKE":
            self.send("LEASED", request=values["request"], granted=self.lease(values))
        elif kind == "GRANT":
            answer = self.grant(values)
            if answer is not None:
                self.send("GRANTED", request=values["request"], answer=answer)
        elif kind == "DOCUMENT":
            answer = self.document(values)
            if answer is not None:
                status, text, body = answer
                self.send("CONTENT", request=values["request"], status=status, type=text, body=body)
        with self.changed:
            self.received.append((kind, values))
            self.changed.notify_all()

    def send(self, kind, **values):
        with self.changed:
            self.connection.sendall(messages.message(kind, **values))

    # -- the view

    def welcome(self):
        self.send("WELCOME", version=1, installation=self.installation, epoch=self.epoch, node=1,
                  node_name="admin.example.com", ticket_key=KEY)
        self.send_config()
        self.send("BASE", turn=self.turn)
        parts = list(self.entries.values())
        for at in range(0, len(parts), 100):
            self.send("ENTRIES", entries=messages.items(parts[at:at + 100]))
        self.send("SEALED", turn=self.turn, digest=messages.digest(parts))

    def send_config(self):
        self.send("CONFIG", documents=messages.items([json.dumps(d).encode()
                                                      for d in self.documents]))

    def put(self, fact, number, **values):
        """An entry, to be sent with the next base image or commit()."""
        self.entries[fact, number] = messages.entry(fact, number, **values)

    def commit(self, *keys, removed=()):
        """A turn that changed these entries."""
        self.turn += 1
        for k in removed:
            self.entries.pop(k, None)
        if keys:
            self.send("ENTRIES", entries=messages.items([self.entries[k] for k in keys]))
        if removed:
            self.send("REMOVED", keys=b"".join(messages.key(*k) for k in removed))
        self.send("AT", turn=self.turn)
        self.await_message("TAKEN", lambda v: v["turn"] == self.turn)

    # -- what was received

    def await_message(self, kind, matches=lambda values: True, seconds=PLENTY):
        """The first message of the kind that matches, also one that came before."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for got, values in self.received:
                    if got == kind and matches(values):
                        return values
                assert time.monotonic() < end, (kind, self.received[-20:])
                self.changed.wait(0.2)

    def count(self, kind):
        with self.changed:
            return sum(got == kind for got, _ in self.received)

    def seen(self, name):
        """The values of an observation."""
        return self.await_message("SEEN", lambda v: messages.SEEN[v["kind"]] == name)
