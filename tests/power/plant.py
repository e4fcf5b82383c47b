"""What a test of power works with: a daemon, its nodes and their hammers, and the peers."""
import json
import os
import shutil
import signal
import subprocess
import tempfile

from daemon import Client, basic, eventually
from service import Service
from yard import make_certificate

STOP_S = 30

HAMMERS = {
    "barclamp": {"name": "powertest", "source_path": "/powertest"},
    "hammers": [
        {"name": "ssh", "type": "ssh", "priority": 0},
        {"name": "wol", "type": "wol", "priority": 1},
        {"name": "ipmi", "type": "ipmi", "priority": 3},
        {"name": "redfish", "type": "redfish", "priority": 5},
        {"name": "local", "type": "local", "priority": 2},
    ],
}


class Plant:
    def __init__(self, build, folder):
        self.program = os.path.join(build, "halligand")
        self.folder = folder
        self.scratch = tempfile.mkdtemp(dir=folder)
        self.data = os.path.join(self.scratch, "data")
        os.makedirs(self.data, 0o700)
        os.mkdir(self.path("barclamps"))
        with open(self.path("barclamps/powertest.json"), "w", encoding="ascii") as file:
            json.dump(HAMMERS, file)
        self.process = None
        self.things = []  # to be closed in the end
        self.count = 0

    # -- the daemon ----------------------------------------------------------------------------------

    def path(self, name):
        return os.path.join(self.data, name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def start(self, *words):
        command = [self.program, "--data", self.data, "--listen", "127.0.0.1:0", "--barclamps",
                   self.path("barclamps"), "--probe-wait", "2", "--admin-node", "none",
                   *words]
        if os.path.exists(self.path("listen")):
            os.unlink(self.path("listen"))  # of one that was killed
        with open(self.path("stderr"), "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        eventually(lambda: self.read("listen") or self.process.poll() is not None, "it listens")
        assert self.process.poll() is None, self.read("stderr")
        self.client = Client(self.read("listen").strip(),
                             basic("admin", self.read("admin.password").strip()))
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=STOP_S)
        self.process = None
        assert code == 0, f"halligand left with {code}"

    def says(self, *parts, times=1):
        """A line of its log has all of these."""

        def found():
            lines = self.read("stderr").splitlines()
            return sum(all(p in line for p in parts) for line in lines) >= times

        eventually(found, f"it says {parts}")

    def said(self, part):
        return self.read("stderr").count(part)

    # -- nodes ---------------------------------------------------------------------------------------

    def ask(self, method, path, body=None):
        answer = self.client.ask(method, path, body)
        assert answer.status == 200, answer
        return answer.json()

    def node(self, name, **more):
        return self.ask("POST", "nodes", {"name": name, **more})

    def shows(self, name):
        return self.ask("GET", f"nodes/{name}?view=full")

    def hammer(self, node, kind, **more):
        """Bind it, or change the one that is bound."""
        for have in self.ask("GET", f"nodes/{node}/hammers"):
            if have["name"] == kind:
                return self.ask("PUT", f"hammers/{have['id']}", more)
        return self.ask("POST", "hammers", {"node": node, "available_hammer": kind,
                                            "username": "root", **more})

    def power(self, node, action):
        answer = self.ask("PUT", f"nodes/{node}/power?poweraction={action}")
        assert answer["action"] == action and answer["result"] == "ordered", answer

    def alive(self, node, alive=True):
        return self.ask("PUT", f"nodes/{node}", {"alive": alive})

    # -- peers ---------------------------------------------------------------------------------------

    def place(self, name):
        self.count += 1
        path = os.path.join(self.scratch, f"{name}{self.count}")
        os.mkdir(path, 0o700)
        return path

    def redfish(self, node, password="calvin", **options):
        """A machine behind the Redfish service, and the node that has a hammer for it."""
        cert, key = make_certificate(self.folder, "trusted")
        service = Service("generic", cert=cert, key=key, **options)
        self.things.append(service)
        self.hammer(node, "redfish", endpoint=service.url, authenticator=password,
                    extra={"ca": cert})
        return service, service.systems["1"]

    def reach(self, node, server, index=0):
        self.hammer(node, "ssh", endpoint=f"{server.addresses[index]}:{server.port}",
                    username=server.user)

    def pinned(self, node):
        """Type and base64 of its host keys, in the file that ssh reads."""
        name = f"node-{self.shows(node)['id']} "
        return [line[len(name):] for line in self.read("ssh/known_hosts").splitlines()
                if line.startswith(name)]

    # -- the end -------------------------------------------------------------------------------------

    def close(self):
        """Everything has to end well: the daemon's exit, and no secret left."""
        if self.process:
            self.stop()
        left = os.listdir(self.path("hammer"))
        assert left == [], f"left in the hammers' directory: {left}"
        assert not [n for n in os.listdir(self.path("ssh")) if ".new" in n or ".tmp" in n]
        self.abandon()

    def abandon(self):
        said = self.read("stderr")[-6000:]
        if self.process:
            self.kill()
        for thing in reversed(self.things):
            thing.close()
        self.things = []
        shutil.rmtree(self.scratch, ignore_errors=True)
        return said
