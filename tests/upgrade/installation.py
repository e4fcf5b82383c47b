"""A halligand of any version with the content of the dumps, on SQLite or PostgreSQL."""
import json
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TESTS, "runs"))

from yard import WAIT_S, Yard  # noqa: E402

ADMIN_NODE = "admin.example.com"

ATTRIBS = [
    {"name": "base-text", "map": "base/text"},
    {"name": "web-workers", "map": "web/workers", "default": 4, "schema": {"type": "int"}},
]
ROLES = [
    {"name": "base", "jig": "script", "flags": ["implicit"], "attribs": ATTRIBS[:1]},
    {"name": "web", "jig": "script", "requires": ["base"], "wants-attribs": ["base-text"],
     "attribs": ATTRIBS[1:]},
    {"name": "broken", "jig": "script"},
    {"name": "behind-broken", "jig": "script", "requires": ["broken"]},
    {"name": "slow", "jig": "script"},
    {"name": "next", "jig": "script"},
    {"name": "later", "jig": "script"},
    {"name": "goal", "jig": "noop", "flags": ["milestone"]},
    {"name": "managed", "jig": "noop", "flags": ["discovery", "milestone"]},
    {"name": "boots", "jig": "script", "flags": ["serves-boot"]},
]
SCRIPTS = {
    "base": "write_attribute base/text 'it is \"here\"'",
    "web": "echo 'web runs'",
    "broken": "echo 'broken fails' >&2; exit 3",
    "behind-broken": "true",
    "slow": "true",
    "next": "true",
    "later": "true",
    "boots": "true",
}


class Installation(Yard):
    """The options are those that every version since the first dump has, and those of later versions
    that this program lists."""

    def __init__(self, build, store=None):
        super().__init__(build)
        self.folder = self.path("barclamps", "upgrade")
        self.store = store  # a URL; None: the SQLite file of the data directory
        shown = subprocess.run([self.program, "--help"], capture_output=True, text=True, check=True)
        self.flags = ["--listen", "127.0.0.1:0", "--log-level", "info",
                      "--barclamps", self.path("barclamps")]
        if "--admin-node" in shown.stdout:
            self.flags += ["--admin-node", ADMIN_NODE, "--admin-address", "192.0.2.1"]

    def command(self, *words):
        place = ["--store", self.store] if self.store else []
        return [self.program, *words, "--data", self.data, *place]

    def launch(self, *flags):
        if os.path.exists(self.path("listen")):
            os.unlink(self.path("listen"))
        with open(self.path("stderr"), "ab") as log:
            self.process = subprocess.Popen([*self.command(), *self.flags, *flags], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL,
                                            env=self.environment)

    def write_content(self, **scripts):
        """The barclamp of all dumps. A script given by the name of its role replaces the usual one."""
        for name, text in {**SCRIPTS, **scripts}.items():
            place = os.path.join(self.folder, "scripts", name)
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, "10.sh"), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        barclamp = {
            "barclamp": {"name": "upgrade"},
            "jigs": [{"name": name, "class": name} for name in ("noop", "script")],
            "hammers": [{"name": "ssh", "type": "ssh", "priority": 0},
                        {"name": "redfish", "type": "redfish", "priority": 5}],
            "roles": ROLES,
        }
        with open(os.path.join(self.folder, "upgrade.yml"), "w", encoding="utf-8") as file:
            json.dump(barclamp, file)

    def run_verb(self, *words):
        """`check`, `export` and the like, which end by themselves."""
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=WAIT_S,
                              check=False)
