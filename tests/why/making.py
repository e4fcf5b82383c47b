"""How faults are made. A maker declares its roles before the daemon starts, makes the fault, and has
the expected values: `target` (the path whose `why` is read), `node` and `role` (the names that the
answer must contain). `is_there` is true when the fault has happened and its answer can be read."""
import os
import re
import shutil
import socket
import subprocess

import borrow

ERROR = borrow.yard.ERROR
LONG_S = 120  # the deadline of roles that must not reach it


class Maker:
    """A role of its own, on a node of its own, both called after the fault."""

    scene = "works"
    target = node = role = None

    def declare(self, scene, name):
        pass

    def make(self, scene, name):
        raise NotImplementedError

    def is_there(self, scene):
        return True

    def close(self):
        pass


# -- runs ------------------------------------------------------------------------------------------


class Script(Maker):
    """A script on a node whose work is done on this host."""

    def __init__(self, *scripts, scene="works", **keys):
        self.scripts, self.scene = scripts, scene
        self.keys = {"deadline": LONG_S, **keys}

    def declare(self, scene, name):
        self.role = name
        scripts = [script.replace("LONG", scene.y.long) for script in self.scripts]
        keys = {key: value for key, value in self.keys.items() if value is not None}
        scene.y.role(name, *scripts, **keys)

    def place(self, scene, name):
        return scene.y.node(name)

    def make(self, scene, name):
        self.node = self.place(scene, name)
        self.noderole = scene.y.bind(self.node, self.role)
        self.target = f"node_roles/{self.noderole}"
        scene.y.commit(self.noderole)

    def is_there(self, scene):
        return scene.y.look(self.noderole)["state"] == ERROR


class Lua(Script):
    """Code of the role that does the work of the run, or runs before it."""

    def __init__(self, code, **keys):
        super().__init__(**{"jig": "role-provided", "deadline": None, **keys})
        self.code = code

    def declare(self, scene, name):
        self.role = name
        keys = {key: value for key, value in self.keys.items() if value is not None}
        scene.y.role(name, lua=self.code, **keys)


class Gone(Script):
    """The files of the role are deleted after the daemon has read its barclamp."""

    def make(self, scene, name):
        for folder, _, files in os.walk(os.path.join(scene.y.folder, "scripts", self.role)):
            for file in files:
                os.unlink(os.path.join(folder, file))
            os.rmdir(folder)
        super().make(scene, name)


class Large(Script):
    """The files of the role fill the archive that a run sends, up to a few blocks."""

    def __init__(self):
        super().__init__("say ran")

    def make(self, scene, name):
        path = os.path.join(scene.y.folder, "scripts", self.role, "data")
        with open(path, "wb") as file:
            file.truncate((64 << 20) - 6144)
        super().make(scene, name)


class NoCode(Script):
    """The Lua file of the role is deleted before the first run."""

    def __init__(self):
        super().__init__(jig="role-provided", deadline=None)


class Cancelled(Script):
    def make(self, scene, name):
        super().make(scene, name)
        scene.y.wait_for("begin", role=self.role)
        run = scene.y.runs(self.noderole)[0]["id"]
        answer = scene.y.me.put(f"runs/{run}/cancel")
        assert answer.status == 200, answer


class Value(Script):
    """A required attrib of the role without a value."""

    def __init__(self, schema):
        super().__init__("say ran")
        self.schema = schema

    def declare(self, scene, name):
        self.attrib = "needs-" + name
        self.keys["attribs"] = [{"name": self.attrib, "map": f"why/{name}", "schema": self.schema}]
        super().declare(scene, name)


# -- disks and memory --------------------------------------------------------------------------------


class SmallDisk(Script):
    """DISK in the script is a file system of its own, as large as `options` say."""

    def __init__(self, *scripts, options="size=256k", fill=False, far=False):
        super().__init__(*scripts, scene="disks")
        self.options, self.fill, self.far = options, fill, far

    def declare(self, scene, name):
        self.path = scene.mount(name, self.options)
        self.scripts = [script.replace("DISK", self.path) for script in self.scripts]
        super().declare(scene, name)

    def place(self, scene, name):
        return scene.far_node(name, scene.server()) if self.far else super().place(scene, name)

    def make(self, scene, name):
        if self.fill:
            fill(self.path)
        super().make(scene, name)


def fill(path):
    """Until nothing more can be written there."""
    with open(os.path.join(path, "ballast"), "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


# -- machines behind ssh -------------------------------------------------------------------------------


class Far(Script):
    """A script on a machine behind an OpenSSH server."""

    def place(self, scene, name):
        return scene.far_node(name, scene.server())


class Machine(Script):
    """A machine with an OpenSSH server of its own, to which `how` happens before the run."""

    def __init__(self, how, script="say ran", scene="works"):
        super().__init__(script, scene=scene)
        self.how = how

    def place(self, scene, name):
        self.server = scene.server()
        node = scene.far_node(name, self.server)
        getattr(self, self.how)(scene, node)
        return node

    def other_key(self, scene, node):
        self.server.allow(borrow.sshd.make_key(os.path.join(self.server.folder, "other")))

    def other_host_key(self, scene, node):
        port = scene.server().port
        scene.y.hammer(node, "ssh", endpoint=f"127.0.0.1:{port}")

    def closed_port(self, scene, node):
        scene.y.hammer(node, "ssh", endpoint=f"127.0.0.1:{borrow.sshd.free_port()}")

    def no_address(self, scene, node):
        scene.y.hammer(node, "ssh", endpoint="no-such-machine.invalid:22")

    def full_tmp(self, scene, node):
        scene.mount_at(self.server.tmp, "size=64k")
        fill(self.server.tmp)

    def stays(self, scene, node):
        pass


class Probe(Maker):
    """A node that says it is alive and does not answer at `endpoint`."""

    def __init__(self, endpoint):
        self.endpoint, self.listener = endpoint, None

    def close(self):
        if self.listener:
            self.listener.close()

    def make(self, scene, name):
        if self.endpoint.endswith("SILENT"):  # connections are accepted, and nothing is sent
            self.listener = socket.create_server(("127.0.0.1", 0))
        endpoint = self.endpoint.replace("CLOSED", str(borrow.sshd.free_port()))
        endpoint = endpoint.replace("SILENT", str(self.listener and self.listener.getsockname()[1]))
        self.node = scene.y.node(name, admin=False, alive=False)
        scene.y.hammer(self.node, "ssh", endpoint=endpoint)
        scene.y.set_node(self.node, alive=True)
        self.target = "nodes/" + self.node

    def is_there(self, scene):
        return scene.y.me.get(f"nodes/{self.node}?view=full").json()["status"] != ""


class OwnKey(Probe):
    """A node at whose address the ssh server of the daemon's host answers."""

    def __init__(self):
        super().__init__("")

    def declare(self, scene, name):
        scene.mount_at("/etc/ssh", "size=64k")  # of this scene only

    def make(self, scene, name):
        server = scene.server()
        self.endpoint = f"127.0.0.1:{server.port}"
        shutil.copy(os.path.join(server.folder, "host_key.pub"), "/etc/ssh/ssh_host_ed25519_key.pub")
        super().make(scene, name)


# -- parents on other machines ---------------------------------------------------------------------


class Chain(Maker):
    """A role on one machine that requires a role on another, `length` machines long; the first one is
    made to fail by `root`, a maker whose answer is the one expected."""

    def __init__(self, root, length=2, **first):
        self.root, self.length, self.first = root, length, first

    def declare(self, scene, name):
        self.root.declare(scene, name)
        for index in range(1, self.length):
            above = name if index == 1 else f"{name}-{index - 1}"
            scene.y.role(f"{name}-{index}", requires=[above])

    def make(self, scene, name):
        y = scene.y
        answer = y.me.post("deployments", {"name": name, "parent": "system"})
        assert answer.status == 200, answer
        self.node = self.root.place(scene, name)
        self.role = name
        y.set_node(self.node, **self.first)
        bound = [y.bind(self.node, name, deployment=name)]
        for index in range(1, self.length):
            node = y.node(f"{name}-{index}")
            bound.append(y.bind(node, f"{name}-{index}", deployment=name))
        self.root.noderole, self.root.node = bound[0], self.node
        self.target = f"node_roles/{bound[-1]}"
        answer = y.me.put(f"deployments/{name}/commit")
        assert answer.status == 200, answer
        self.deployment = name

    def is_there(self, scene):
        return bool(self.first) or self.root.is_there(scene)


# -- names -----------------------------------------------------------------------------------------


class Named(Maker):
    """A node with the address 10.77.THIRD.10, and a name filter that matches it and gives no name."""

    def __init__(self, third, template, is_served=True):
        self.third, self.template, self.is_served = third, template, is_served

    def declare(self, scene, name):
        """The role lists the DNS service of the filter; it is not bound if that shall be missing."""
        self.role = name
        lists = {"name": "lists-" + name, "map": f"why/{name}", "default": [name]}
        scene.y.role(name, attribs=[lists], **{"lists-services": lists["name"]})

    def post(self, scene, noun, **fields):
        answer = scene.y.me.post(noun, fields)
        assert answer.status == 200, answer

    def make(self, scene, name):
        self.node = scene.y.node(name)
        if self.is_served:
            scene.y.commit(scene.y.bind(self.node, self.role))
        ends = {"first": f"10.77.{self.third}.10/24", "last": f"10.77.{self.third}.19/24"}
        self.post(scene, "networks", name=name, conduit="1g0", ranges=[{"name": "host", **ends}])
        self.post(scene, "network_allocations", node=self.node, network=name)
        self.post(scene, "dns_name_filters", name=name, matcher=f'net.name == "{name}"',
                  priority=self.third, service=name, template=self.template)
        self.dns_name_filter = name
        self.target = "nodes/" + self.node


# -- power -----------------------------------------------------------------------------------------


class Redfish(Maker):
    """A node with a Redfish service of its own that is asked for `action`."""

    def __init__(self, action="on", fault=None, password="calvin", trusted=True, endpoint=None,
                 closed=False, retrying=False, extra=None):
        self.action, self.fault, self.password, self.trusted = action, fault, password, trusted
        self.endpoint, self.closed, self.retrying, self.extra = endpoint, closed, retrying, extra

    def make(self, scene, name):
        y = scene.y
        self.node = y.node(name, admin=False, alive=False)
        cert, key = scene.certificate("trusted")
        service = borrow.redfish.Service("generic", cert=cert, key=key)
        y.things.append(service)
        ca = cert if self.trusted else scene.certificate("another")[0]
        if self.fault:
            service.faults.add(**self.fault)
        y.hammer(self.node, "redfish", endpoint=self.endpoint or service.url, username="root",
                 authenticator=self.password, extra={"ca": ca, **(self.extra or {})})
        if self.closed:
            service.close()
            y.things.remove(service)
        self.target = "nodes/" + self.node
        answer = y.me.put(f"nodes/{self.node}/power?poweraction={self.action}")
        assert answer.status == 200, answer

    def is_there(self, scene):
        if self.retrying:  # between two tries; the answer is asked for until it is right
            return True
        return scene.y.me.get(f"nodes/{self.node}?view=full").json()["status"] != ""


class Ipmi(Maker):
    """A node with a BMC that speaks IPMI."""

    def __init__(self, password):
        self.password = password

    def make(self, scene, name):
        y = scene.y
        self.node = y.node(name, admin=False, alive=False)
        sim = borrow.peers.Simulator(scene)
        y.hammer(self.node, "ipmi", endpoint=f"127.0.0.1:{sim.port}", username="root",
                 authenticator=self.password)
        self.target = "nodes/" + self.node
        answer = y.me.put(f"nodes/{self.node}/power?poweraction=on")
        assert answer.status == 200, answer

    def is_there(self, scene):
        return scene.y.me.get(f"nodes/{self.node}?view=full").json()["status"] != ""


# -- names and disks ----------------------------------------------------------------------------


def slug(name):
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:40]


def mount(path, options):
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)


def unmount(path):
    subprocess.run(["umount", "-l", path], check=True)
