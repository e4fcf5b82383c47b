"""A reader of text/event-stream, for tests."""
import contextlib
import http.client
import json

from daemon import WAIT_S


class Stream:
    """A reader of text/event-stream."""

    def __init__(self, client, path, **headers):
        self.connection = http.client.HTTPConnection(client.host, client.port, timeout=WAIT_S)
        wanted = {"Accept": "text/event-stream", "Authorization": client.authorization, **headers}
        self.connection.request("GET", "/api/v2/" + path, headers=wanted)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.headers["Content-Type"] == "text/event-stream"

    def next(self):
        """The next event as (event, id, data); None at the end."""
        found = {}
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if line.startswith(":") or (not line and not found):
                continue
            if not line and "data" not in found:
                found = {}
                continue
            if not line:
                return found["event"], found.get("id"), json.loads(found["data"])
            key, value = line.split(": ", 1)
            found[key] = value
        return None

    def find(self, verb, name=None):
        while True:
            event, at, data = self.next()
            assert event == "event" and data["id"] == at
            if data["verb"] == verb and (name is None or name in json.dumps(data["changes"])):
                return at, data

    def find_place(self):
        """Where it would go on, as it says before anything else."""
        line = self.answer.readline().decode().rstrip("\n")
        assert line.startswith("id: "), line
        return line[len("id: "):]

    def close(self):
        self.connection.close()


def stream(client, path, **headers):
    return contextlib.closing(Stream(client, path, **headers))
