"""What one operator has, and the commands that change it.

Each operator owns the things that carry its name, and no other operator changes them: what the daemon
must show of them follows from the operator's own commands, one after the other. This module says
what each command does; it sends nothing.
"""
import copy
import dataclasses

# The roles of crash.json, each needing the one before. The root exists once, on its own node.
CHAIN = ("crash-first", "crash-second", "crash-last")
ROOT = "crash-root"


@dataclasses.dataclass(frozen=True)
class Node:
    description: str
    bootenv: str
    deployment: str
    alive: bool = True
    available: bool = True


@dataclasses.dataclass(frozen=True)
class Deployment:
    description: str
    committed: bool = False


@dataclasses.dataclass(frozen=True)
class Noderole:
    deployment: str
    proposed: bool = True


@dataclasses.dataclass
class Things:
    """All that one operator has, as the operator must find it."""

    nodes: dict = dataclasses.field(default_factory=dict)  # by name
    deployments: dict = dataclasses.field(default_factory=dict)  # by name
    noderoles: dict = dataclasses.field(default_factory=dict)  # by (name of the node, role)

    def set_proposed(self, proposed, wanted):
        """Of every noderole whose (key, value) is `wanted`."""
        for key, value in self.noderoles.items():
            if wanted(key, value):
                self.noderoles[key] = dataclasses.replace(value, proposed=proposed)

    def drop_noderoles(self, wanted):
        self.noderoles = {k: v for k, v in self.noderoles.items() if not wanted(k, v)}

    def differences(self, other):
        lines = []
        for kind in ("nodes", "deployments", "noderoles"):
            mine, theirs = getattr(self, kind), getattr(other, kind)
            for key in sorted(mine.keys() | theirs.keys(), key=str):
                wanted, found = mine.get(key), theirs.get(key)
                if wanted != found:
                    lines.append(f"    {kind} {key}: expected {wanted}, found {found}")
        return "\n".join(lines)


@dataclasses.dataclass
class Command:
    """A request, and what it does to the objects of its sender."""

    label: str
    method: str
    path: str
    body: object
    change: object  # function of Things
    may_refuse: bool = False  # whether it is allowed depends on what noderoles do by themselves
    noderole: tuple = None  # of a retry: which; of a bind: which the answer describes

    def __str__(self):
        return f"{self.label} ({self.method} {self.path} {self.body})"

    def after(self, things):
        changed = copy.copy(things)
        changed.nodes = dict(things.nodes)
        changed.deployments = dict(things.deployments)
        changed.noderoles = dict(things.noderoles)
        self.change(changed)
        return changed


# ---- the commands ----


def create_node(name, node):
    body = {"name": name, **dataclasses.asdict(node)}
    return Command("node create", "POST", "nodes", body, lambda t: t.nodes.update({name: node}))


def update_node(name, old, description, bootenv):
    new = dataclasses.replace(old, description=description, bootenv=bootenv)
    body = {"description": description, "bootenv": bootenv}
    return Command(
        "node update", "PUT", f"nodes/{name}", body, lambda t: t.nodes.update({name: new})
    )


def delete_node(name):
    def change(things):
        del things.nodes[name]
        things.drop_noderoles(lambda key, _: key[0] == name)

    return Command("node delete", "DELETE", f"nodes/{name}", None, change)


def move_node(name, verb):
    def change(things):
        things.set_proposed(verb == "propose", lambda key, _: key[0] == name)

    return Command(f"node {verb}", "PUT", f"nodes/{name}/{verb}", {}, change)


def create_deployment(name, description):
    body = {"name": name, "description": description}
    new = Deployment(description)
    return Command(
        "deployment create", "POST", "deployments", body,
        lambda t: t.deployments.update({name: new}),
    )


def update_deployment(name, old, description):
    new = dataclasses.replace(old, description=description)
    return Command(
        "deployment update", "PUT", f"deployments/{name}", {"description": description},
        lambda t: t.deployments.update({name: new}),
    )


def delete_deployment(name):
    def change(things):
        del things.deployments[name]
        things.drop_noderoles(lambda _, noderole: noderole.deployment == name)
        for key, node in things.nodes.items():
            if node.deployment == name:
                things.nodes[key] = dataclasses.replace(node, deployment="system")

    return Command("deployment delete", "DELETE", f"deployments/{name}", None, change)


def commit_deployment(name):
    def change(things):
        things.deployments[name] = dataclasses.replace(things.deployments[name], committed=True)
        things.set_proposed(False, lambda _, noderole: noderole.deployment == name)

    return Command("deployment commit", "PUT", f"deployments/{name}/commit", {}, change)


def reopen_deployment(name, verb):
    """propose or recall: whatever the head was, it is a proposal afterwards."""

    def change(things):
        things.deployments[name] = dataclasses.replace(things.deployments[name], committed=False)

    return Command(f"deployment {verb}", "PUT", f"deployments/{name}/{verb}", {}, change)


def bind(node, role, deployment, data):
    """Missing parents on the same node come with it."""

    def change(things):
        needed = CHAIN[: CHAIN.index(role) + 1] if role in CHAIN else (role,)
        for each in needed:
            things.noderoles.setdefault((node, each), Noderole(deployment))

    body = {"node": node, "role": role, "deployment": deployment}
    if data is not None:
        body["data"] = data
    return Command("noderole bind", "POST", "node_roles", body, change, noderole=(node, role))


def move_noderole(key, noderole_id, verb):
    def change(things):
        things.set_proposed(verb == "propose", lambda each, _: each == key)

    return Command(f"noderole {verb}", "PUT", f"node_roles/{noderole_id}/{verb}", {}, change)


def retry_noderole(key, noderole_id):
    return Command(
        "noderole retry", "PUT", f"node_roles/{noderole_id}/retry", {}, lambda _: None,
        may_refuse=True, noderole=key,
    )


def delete_noderole(key, noderole_id):
    def change(things):
        below = CHAIN[CHAIN.index(key[1]) :]
        things.drop_noderoles(lambda each, _: each[0] == key[0] and each[1] in below)

    return Command("noderole delete", "DELETE", f"node_roles/{noderole_id}", None, change)
