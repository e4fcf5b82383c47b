"""What journeys work with: the yard of tests/runs, the plant of tests/power, the guide of tests/cli, and a halligan.

tests/hammer and tests/runs both have a module `yard`: that of the hammers is imported first, under the name that the plant
expects, and taken out again.
"""
import importlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
sys.dont_write_bytecode = True


def use(*folders):
    for folder in folders:
        sys.path.insert(0, os.path.join(TESTS, folder))


use("hammer", "redfish", "jig", "api", "power")
Plant = importlib.import_module("plant").Plant
peers = importlib.import_module("test_peers")  # ipmi_sim
del sys.modules["yard"]
sys.path.remove(os.path.join(TESTS, "hammer"))
use("runs")
Yard = importlib.import_module("yard").Yard
eventually = importlib.import_module("yard").eventually
sys.path.append(os.path.join(TESTS, "cli"))
guide = importlib.import_module("guide")
SHIPPED = os.path.join(ROOT, "barclamps")
WAIT_S = 120


class Shell:
    """halligan as a user calls it, with the address and a token of a daemon."""

    def __init__(self, build, url, token, home):
        self.program = os.path.join(build, "halligan")
        mine = {k: v for k, v in os.environ.items() if not k.startswith("HALLIGAN_") and k != "XDG_CONFIG_HOME"}
        self.environment = {**mine, "LC_ALL": "C", "HOME": home, "HALLIGAN_URL": url, "HALLIGAN_TOKEN": token}

    def run(self, *words, **how):
        return subprocess.run([self.program, *words], env=self.environment, capture_output=True, text=True,
                              timeout=WAIT_S, check=False, **how)

    def says(self, *words, **how):
        done = self.run(*words, **how)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def popen(self, *words):
        return subprocess.Popen([self.program, *words], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)


class Journey:
    """A yard, not started yet, and the folder of the user."""

    def __init__(self, build):
        self.build = build
        self.yard = Yard(build)
        self.home = self.yard.path("home")
        os.mkdir(self.home)
        self.closing = []

    def shell(self):
        url = self.yard.read("listen").strip()
        return Shell(self.build, url, self.yard.token, self.home)

    def write(self, path, text):
        place = os.path.join(self.yard.data, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
        return place

    def daemon_verb(self, *words):
        done = subprocess.run([self.yard.program, *words], capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def postgres(self):
        """A server of its own, reached through a unix socket; its URL."""
        folder = self.yard.path("pg")
        os.chmod(self.yard.data, 0o711)  # the server is another user when root runs this
        tool = os.path.join(ROOT, "tools/postgres")
        url = subprocess.run([tool, "start", folder], capture_output=True, text=True, timeout=WAIT_S, check=True).stdout.strip()
        self.closing.append(lambda: subprocess.run([tool, "stop", folder], capture_output=True, timeout=WAIT_S, check=True))
        return url

    def close(self):
        for end in reversed(self.closing):
            end()
        self.yard.close()
