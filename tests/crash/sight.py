"""What a daemon shows of everything, and what its test jig wrote down.

The states that noderoles reach by themselves are not predicted: of those only invariants are
checked.
"""
import collections

from daemon import Violation
from things import CHAIN, ROOT, Deployment, Node, Noderole, Things

API = "/api/v2/"
ERROR, ACTIVE, TODO, TRANSITION, BLOCKED, PROPOSED = -1, 0, 1, 2, 3, 4
WORKING = {"crash-first", "crash-second"}  # roles with a jig that leaves a journal


class Sight:
    """Everything, as three lists showed it."""

    def __init__(self, client):
        self.nodes = client.get(API + "nodes")
        self.deployments = client.get(API + "deployments")
        self.noderoles = client.get(API + "node_roles")
        roles = {role["id"]: role["name"] for role in client.get(API + "roles")}
        names = {node["id"]: node["name"] for node in self.nodes}
        self.deployment_names = {d["id"]: d["name"] for d in self.deployments}
        for noderole in self.noderoles:
            noderole["key"] = (names.get(noderole["node_id"]), roles[noderole["role_id"]])
        self.by_key = {noderole["key"]: noderole for noderole in self.noderoles}
        self.committed = {d["id"] for d in self.deployments if d["state"] != 0}

    def things_of(self, operator):
        things = Things()
        for node in self.nodes:
            if operator.owns(node["name"]) and not node["system"]:
                things.nodes[node["name"]] = Node(
                    node["description"],
                    node["bootenv"],
                    self.deployment_names.get(node["deployment_id"]),
                    node["alive"],
                    node["available"],
                )
        for deployment in self.deployments:
            if operator.owns(deployment["name"]):
                things.deployments[deployment["name"]] = Deployment(
                    deployment["description"], deployment["id"] in self.committed
                )
        for key, noderole in self.by_key.items():
            if key[0] and operator.owns(key[0]):
                name = self.deployment_names.get(noderole["deployment_id"])
                things.noderoles[key] = Noderole(name, noderole["state"] == PROPOSED)
        return things

    def parent_of(self, noderole):
        node, role = noderole["key"]
        if role not in CHAIN:
            return None
        place = CHAIN.index(role)
        if place > 0:
            return self.by_key.get((node, CHAIN[place - 1]))
        return next((each for each in self.noderoles if each["key"][1] == ROOT), None)

    def check_once(self):
        """Nothing is there twice."""
        for kind, names in (
            ("node", [node["name"] for node in self.nodes]),
            ("deployment", [deployment["name"] for deployment in self.deployments]),
            ("noderole", [noderole["key"] for noderole in self.noderoles]),
        ):
            twice = [name for name, count in collections.Counter(names).items() if count > 1]
            if twice:
                raise Violation(f"{kind} more than once: {twice}")

    def check_states(self):
        """Invariant I2, and nothing that hangs in the air."""
        for noderole in self.noderoles:
            parent = self.parent_of(noderole)
            if noderole["key"][0] is None or noderole["key"][1] in CHAIN and parent is None:
                raise Violation(f"noderole {noderole} lacks its node or its parent")
            ready = parent is None or parent["state"] == ACTIVE
            if noderole["state"] == TODO and not ready or noderole["state"] == BLOCKED and ready:
                raise Violation(f"{noderole} does not fit the state of its parent, {parent}")
        phantoms = {node["name"] for node in self.nodes if node["system"]}
        expected = {f"{d['name']}-phantom.internal.local" for d in self.deployments}
        if phantoms != expected:
            raise Violation(f"phantom nodes and deployments differ: {phantoms ^ expected}")

    def unsettled(self):
        """Noderoles that will still change without any command."""
        stuck = {each["node_id"] for each in self.noderoles if each["state"] == ERROR}
        return [
            each["key"] for each in self.noderoles
            if each["state"] == TRANSITION
            or each["state"] == TODO
            and each["deployment_id"] in self.committed
            and each["node_id"] not in stuck
        ]


class Journal:
    """What the test jig did. Read as it grows."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.started = set()  # (run, attempt)
        self.starts_of = collections.Counter()  # by noderole

    def read(self):
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                fresh = file.read()
        except FileNotFoundError:
            return
        whole = fresh[: fresh.rfind(b"\n") + 1]  # the daemon may be in the middle of a line
        self.offset += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            self.take(line)

    def take(self, line):
        words = line.split()
        pair = tuple(words[1:3])
        if words[:1] == ["start"] and len(words) == 4:
            if pair in self.started:
                raise Violation(f"started twice: {line}")
            self.started.add(pair)
            self.starts_of[int(words[3])] += 1
        elif words[:1] != ["done"] or len(words) != 3 or pair not in self.started:
            raise Violation(f"a line of the journal makes no sense: {line!r}")

    def check(self, sight):
        """Every success that the store shows was work that began."""
        self.read()
        for noderole in sight.noderoles:
            if noderole["key"][1] in WORKING:
                starts = self.starts_of[noderole["id"]]
                if noderole["run_count"] > starts or noderole["state"] == ACTIVE and not starts:
                    raise Violation(f"{starts} starts in the journal, but the store has {noderole}")
