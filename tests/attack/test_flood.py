"""Mutated requests through real sockets and the real HTTP library.

attack-flood (flood.c) makes them from a seed and the corpus, and reads every answer strictly. What
is checked here: the daemon lives, serves valid requests all the time, leaves with exit status 0, and
no sanitizer reported anything.
"""
import json
import os
import subprocess
import time

from daemon import Client, basic
from installation import HERE, made

PASSWORD = "a long secret"
SLICE_S = 8
SLICE_REQUESTS = 25000
ROUND_REQUESTS = 250000

# What a path names, by the noun before it; anything else is an id that may or may not be there.
NAMES = {
    "nodes": "n1.example.com",
    "deployments": "lab",
    "roles": "base",
    "attribs": "attack-size",
    "jigs": "test",
    "available_hammers": "ssh",
    "barclamps": "attack",
    "users": "bert",
    "snapshots": "lab",
    "groups": "not_set",
    "inventory": "lab",
    "node_roles": "1",
    "hammers": "2",
    "deployment_roles": "base",
    "runs": "1",
    "tokens": "999999",
    "diff": "system",
}
CREDENTIALS = ("admin", "admin", "operator", "viewer", "node_token")


def furnish(daemon):
    """Objects that the corpus names, made again if they are gone, and new credentials of each kind:
    {NAME: VALUE}."""
    me = daemon.client()
    if me.get("deployments/lab").status == 404:
        made(me.post("deployments", {"name": "lab"}))
    lab = made(me.get("deployments/lab"))
    for name in ("n1.example.com", "n2.example.com"):
        if me.get(f"nodes/{name}").status == 404:
            made(me.post("nodes", {"name": name, "alive": True, "available": True}))
            made(me.put(f"nodes/{name}", {"deployment": "lab"}))
    values = {"basic": basic("ann", PASSWORD).split()[1]}
    for name, user, rights in (
        ("admin", "mallory", {"is_admin": True}),
        ("operator", "opal", {"access": "viewer", "grants": {str(lab["id"]): "operator"}}),
        ("viewer", "ann", {"access": "viewer", "digest": True}),
    ):
        me.delete(f"users/{user}")
        made(me.post("users", {"username": user, "password": PASSWORD, **rights}))
        client = Client(daemon.url, basic(user, PASSWORD))
        values[name] = made(client.post("tokens", {"name": "attack"}))["token"]
    values["node_token"] = made(me.post("nodes/n1.example.com/token", {"name": "own"}))["token"]
    session = daemon.stranger().post("session", {"username": "opal", "password": PASSWORD})
    values["csrf"] = made(session)["csrf_token"]
    cookie = session.headers["Set-Cookie"]
    values["session"] = cookie.split("halligan_session=")[1].split(";")[0]
    return values


def operation_heads(daemon):
    """A head for each operation that openapi.json describes, in turn with each credential."""
    described = daemon.client().get("/api/openapi.json").json()
    heads = []
    for path, methods in sorted(described["paths"].items()):
        words = path.split("/")
        for at, word in enumerate(words):
            if word.startswith("{"):
                words[at] = NAMES.get(words[at - 1], "1")
        for method in sorted(methods):
            credential = CREDENTIALS[len(heads) % len(CREDENTIALS)]
            lines = [f"{method.upper()} {'/'.join(words)}", "Host: here"]
            lines.append(f"Authorization: Bearer {{{credential}}}")
            if method in ("post", "put", "patch"):
                lines.append("Content-Type: application/json")
            heads.append("\n".join(lines) + "\n")
    assert len(heads) > 150, len(heads)
    return "\n".join(heads)


class Flood:
    """attack-flood against one daemon, in slices: after each, what the requests deleted is made
    again, so that later ones do not meet an empty installation."""

    def __init__(self, attack, tls=False):
        self.daemon = attack.installation()
        self.daemon.options = ["--tls-auto"] if tls else []
        self.daemon.start()
        with open(self.daemon.path("operations.txt"), "w") as file:
            file.write(operation_heads(self.daemon))
        program = os.path.join(attack.build, "tests", "attack", "attack-flood")
        self.command = [program, "--port", str(self.daemon.port), "--seed", str(attack.options.seed)]
        self.command += ["--corpus", os.path.join(HERE, "corpus")]
        self.command += ["--heads", self.daemon.path("operations.txt")]
        self.command += ["--tls"] if tls else []

    def slice(self, first, *bound):
        """The report of attack-flood, when it found nothing."""
        command = self.command + ["--first", str(first), *bound]
        for name, value in furnish(self.daemon).items():
            command += ["--fill", f"{name}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode in (0, 1), (done.returncode, done.stderr[-2000:])
        report = json.loads(done.stdout)
        if not self.daemon.is_alive():
            raise AssertionError(
                f"halligand ended {report['seconds']} s after session {first} began; the last "
                f"sessions were {report['recent']}\n{self.daemon.read('stderr')[-3000:]}"
            )
        assert done.returncode == 0, (done.stderr[-3000:], report)
        self.daemon.expect_well()
        return report


class Figures:
    """What the slices reported, added up."""

    def __init__(self):
        self.began = time.monotonic()
        self.next, self.requests, self.answers, self.statuses = 1, 0, 0, {}

    def add(self, report):
        self.next = report["next"]
        self.requests += report["requests"]
        self.answers += report["answers"]
        for status, count in report["statuses"].items():
            self.statuses[status] = self.statuses.get(status, 0) + count

    def show(self, name):
        seconds = time.monotonic() - self.began
        counts = " ".join(f"{s}:{n}" for s, n in sorted(self.statuses.items()))
        print(f"{name}: {self.requests} requests, {self.answers} answers in {seconds:.0f} s "
              f"({self.requests / seconds:.0f}/s); {counts}", flush=True)


def test_mutated_requests(attack):
    """For a time, or until there were --requests of them; a round has a daemon of its own."""
    figures, wanted = Figures(), attack.options.requests
    is_over = False
    while not is_over:
        flood, end = Flood(attack), figures.requests + ROUND_REQUESTS
        slices = attack.of_size(1, 3, 30)
        while not is_over and figures.requests < end:
            if wanted:
                rest = min(wanted, end) - figures.requests
                figures.add(flood.slice(figures.next, "--requests", str(min(rest, SLICE_REQUESTS))))
                is_over = figures.requests >= wanted
            else:
                figures.add(flood.slice(figures.next, "--seconds", str(SLICE_S)))
                slices -= 1
                is_over = slices == 0
        flood.daemon.end()
        flood.daemon.close()
    figures.show("mutated requests")
    assert {"200", "400", "401", "403", "404", "409"} <= set(figures.statuses), figures.statuses


def test_mutated_requests_over_tls(attack):
    figures, flood = Figures(), Flood(attack, tls=True)
    figures.add(flood.slice(1, "--seconds", str(attack.of_size(3, 6, 60)), "--connections", "50"))
    flood.daemon.end()
    figures.show("mutated requests over TLS")
    assert {"200", "400", "401", "404"} <= set(figures.statuses), figures.statuses
