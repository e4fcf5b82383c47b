"""Operators: clients that send commands, record each response, and check that it still holds.

A command that got no answer is either wholly in or wholly out, so at any time there are at most two
right states of what an operator has.
"""
import collections
import random
import threading
import time

import things as do
from daemon import Lost, NotSent, Patience, Unavailable, Violation
from sight import ACTIVE, API, Journal, Sight
from things import CHAIN, ROOT, Node, Things

NODES_MAX = 6
DEPLOYMENTS_MAX = 3
REFUSED_S = 0.005  # before the next command, so that a daemon in trouble is left some processor


class Operator:
    def __init__(self, name, seed):
        self.name = name
        self.chance = random.Random(f"{seed}/{name}")
        self.things = Things()
        self.pending = None  # the command without a known outcome
        self.sent_at = None  # when the last command left
        self.retried = set()  # keys of noderoles that must run once more
        self.seen = {}  # key -> noderole, as last shown
        self.number = 0
        self.statuses = collections.Counter()
        self.labels = collections.Counter()  # of what was acknowledged
        self.problem = None  # what ended its thread, if that was not the daemon's end

    def owns(self, name):
        return name.startswith(self.name + "-")

    # ---- sending ----

    def perform(self, client, command):
        """The answer, or Lost, or NotSent."""
        client.connect()
        self.sent_at = time.monotonic()
        try:
            answer = client.ask(command.method, API + command.path, command.body)
        except Lost:
            self.pending = command
            raise
        self.statuses[answer.status] += 1
        self.take_answer(command, answer)
        return answer

    def take_answer(self, command, answer):
        if answer.status in (200, 201):
            self.things = command.after(self.things)
            self.note_done(command, answer)
        elif answer.status in (503, 507):
            pass  # a promise that nothing was done, and nothing will be
        elif answer.status >= 500:
            self.pending = command
        elif not command.may_refuse:
            raise Violation(f"{command}: {answer.status} {answer.text[:300]}")

    def note_done(self, command, answer):
        self.labels[command.label] += 1
        if command.label == "noderole retry":
            self.retried.add(command.noderole)
        if command.label == "noderole bind":
            shown = answer.json
            if "id" not in shown:
                raise Violation(f"{command}: {answer.status} without the noderole: {shown}")
            self.seen.setdefault(command.noderole, {"id": shown["id"], "run_count": 0})
        self.forget_gone()

    def forget_gone(self):
        self.seen = {k: v for k, v in self.seen.items() if k in self.things.noderoles}
        self.retried &= self.things.noderoles.keys()

    # ---- looking ----

    def compare(self, sight):
        """What is shown must be what was acknowledged; the unanswered command is in or out. True
        when there was one and it is in."""
        found = sight.things_of(self)
        outcomes = [self.things]
        if self.pending:
            outcomes.append(self.pending.after(self.things))
        if found not in outcomes:
            differences = [each.differences(found) for each in outcomes]
            raise Violation(
                f"{self.name}: what was acknowledged is not there, unanswered: {self.pending}\n"
                + "\n  nor, if that is in:\n".join(differences)
            )
        came_in = self.pending is not None and found != self.things
        self.things = found
        self.pending = None
        self.look_back(sight)
        return came_in

    def look_back(self, sight):
        """Noderoles keep their id, and what was counted once stays counted."""
        self.forget_gone()
        for key in self.things.noderoles:
            now, before = sight.by_key[key], self.seen.get(key)
            if before and (now["id"] != before["id"] or now["run_count"] < before["run_count"]):
                raise Violation(f"noderole {key} was {before} and is {now}")
            if key not in self.retried:
                self.seen[key] = now

    def check_retried(self, sight):
        """Once everything rests: who was retried and is ACTIVE has run since."""
        for key in list(self.retried):
            now, before = sight.by_key[key], self.seen[key]
            if now["state"] != ACTIVE:
                continue
            if now["run_count"] <= before["run_count"]:
                raise Violation(f"noderole {key} was retried as {before} and never ran: {now}")
            self.retried.discard(key)
            self.seen[key] = now

    # ---- choosing ----

    def draw(self, weights):
        return self.chance.choices(list(weights), list(weights.values()))[0]

    def fresh_name(self):
        """Never given twice, so that what was deleted can only be absent."""
        self.number += 1
        return f"{self.name}-{self.number}"

    def some_text(self, verb):
        return f"{verb} {self.chance.getrandbits(40):x}"

    def some_bootenv(self):
        return self.chance.choice(["local", "sledgehammer"])

    def node_create(self):
        home = self.chance.choice(["system", *self.things.deployments])
        node = Node(self.some_text("made as"), self.some_bootenv(), home)
        return do.create_node(self.fresh_name() + ".crash.example", node)

    def noderole_bind(self, node):
        role = self.chance.choice(CHAIN)
        deployment = self.things.nodes[node].deployment
        bound = self.things.noderoles.get((node, role))
        if bound and not bound.proposed:
            return do.bind(node, role, deployment, None)  # its data are sealed
        data = {"delay": self.chance.choice([0, 1, 5, 20])}
        if self.chance.random() < 0.05:
            data["fail"] = True
        return do.bind(node, role, deployment, data)

    def node_command(self):
        name = self.chance.choice(sorted(self.things.nodes))
        delete = 5 if len(self.things.nodes) >= NODES_MAX else 1
        kind = self.draw({"bind": 6, "update": 4, "commit": 4, "propose": 1, "delete": delete})
        if kind == "bind":
            return self.noderole_bind(name)
        if kind == "update":
            old = self.things.nodes[name]
            return do.update_node(name, old, self.some_text("changed to"), self.some_bootenv())
        if kind == "delete":
            return do.delete_node(name)
        return do.move_node(name, kind)

    def deployment_command(self):
        name = self.chance.choice(sorted(self.things.deployments))
        delete = 3 if len(self.things.deployments) >= DEPLOYMENTS_MAX else 1
        kind = self.draw({"commit": 6, "propose": 2, "recall": 1, "update": 2, "delete": delete})
        if kind == "commit":
            return do.commit_deployment(name)
        if kind == "update":
            old = self.things.deployments[name]
            return do.update_deployment(name, old, self.some_text("changed to"))
        if kind == "delete":
            return do.delete_deployment(name)
        return do.reopen_deployment(name, kind)

    def noderole_command(self):
        key = self.chance.choice(sorted(self.seen))
        noderole_id = self.seen[key]["id"]
        if self.things.noderoles[key].proposed:
            kind = self.draw({"commit": 4, "delete": 1})
        else:
            kind = self.draw({"retry": 6, "propose": 2, "delete": 1})
        if kind == "retry":
            return do.retry_noderole(key, noderole_id)
        if kind == "delete":
            return do.delete_noderole(key, noderole_id)
        return do.move_noderole(key, noderole_id, kind)

    def next_command(self):
        kind = self.draw({
            "node create": 3 if len(self.things.nodes) < NODES_MAX else 0,
            "deployment create": 1 if len(self.things.deployments) < DEPLOYMENTS_MAX else 0,
            "node": 6 if self.things.nodes else 0,
            "deployment": 3 if self.things.deployments else 0,
            "noderole": 4 if self.seen else 0,
        })
        if kind == "node create":
            return self.node_create()
        if kind == "deployment create":
            return do.create_deployment(self.fresh_name(), self.some_text("made as"))
        if kind == "node":
            return self.node_command()
        return self.deployment_command() if kind == "deployment" else self.noderole_command()


class World:
    """The operators of one daemon and its store, and all that can be checked of them."""

    def __init__(self, daemon, names, seed):
        self.daemon = daemon
        self.operators = [Operator(name, seed) for name in names]
        self.root = Operator("root", seed)
        self.journal = Journal(daemon.data / "test-jig.journal")

    def everybody(self):
        return [self.root, *self.operators]

    def found(self, client):
        """What the first role of every operator needs, or what is still missing of it."""
        node, key = "root-1.crash.example", ("root-1.crash.example", ROOT)
        if node not in self.root.things.nodes:
            created = Node("carries the root", "local", "system")
            self.root.perform(client, do.create_node(node, created))
        if key not in self.root.things.noderoles:
            self.root.perform(client, do.bind(node, ROOT, "system", None))
        if self.root.things.noderoles[key].proposed:
            self.root.perform(client, do.move_node(node, "commit"))

    def verify(self, client):
        """One check while no operator sends, and everything that must be true of it. Also how many
        unanswered commands turned out to be in."""
        sight = look(client)
        came_in = sum(operator.compare(sight) for operator in self.everybody())
        sight.check_once()
        sight.check_states()
        self.journal.check(sight)
        return sight, came_in

    def settle(self, client, seconds=20):
        """Left alone, the graph comes to rest."""
        patience = Patience(seconds, first=0.002)
        while True:
            sight, _ = self.verify(client)
            moving = sight.unsettled()
            if not moving:
                break
            if not patience.wait():
                raise Violation(f"after {seconds} s these still move: {moving}")
        for operator in self.everybody():
            operator.check_retried(sight)
        return sight

    def unanswered(self, before):
        """How many commands were sent before that moment and got no answer."""
        return sum(each.pending is not None and each.sent_at <= before for each in self.everybody())

    def total(self, counter):
        return sum((getattr(each, counter) for each in self.everybody()), collections.Counter())


class Crew:
    """The operators of a world at work, each in a thread with a connection of its own."""

    def __init__(self, world):
        self.world = world
        self.stop = threading.Event()
        self.threads = [
            threading.Thread(target=self.work, args=(each, world.daemon.client()), daemon=True)
            for each in world.operators
        ]
        for thread in self.threads:
            thread.start()

    def work(self, operator, client):
        try:
            while not self.stop.is_set():
                answer = operator.perform(client, operator.next_command())
                if operator.pending:
                    operator.compare(look(client))
                elif answer.status == 503:
                    self.stop.wait(REFUSED_S)
        except (Lost, NotSent):
            pass  # the daemon was ended by the test
        except Exception as problem:  # pylint: disable=broad-except; raised again by dismiss()
            operator.problem = problem
        finally:
            client.close()

    def dismiss(self):
        """Wait for the responses to the last commands of all operators."""
        self.stop.set()
        for thread in self.threads:
            thread.join()
        for operator in self.world.operators:
            if operator.problem:
                raise operator.problem


def look(client, seconds=20):
    """Reads may be refused for a while, when the daemon loads afresh."""
    patience = Patience(seconds)
    while True:
        try:
            return Sight(client)
        except Unavailable as refused:
            if not patience.wait():
                raise Violation(f"no read was answered for {seconds} s: {refused}") from None
