#!/usr/bin/env python3
"""Makes the dump of the schema that a halligand has: runs it, fills its store, and writes the rows.

    tests/upgrade/make.py --build DIR

DIR is a build directory of the version, old or present, with halligand and halligan-exec. Written
are tests/upgrade/dumps/MIGRATION.sqlite.sql, .postgres.sql and .json, MIGRATION being the newest one
in the store. The rows of PostgreSQL are those of SQLite, moved by `export` and `import` of the same
halligand. The daemon is killed while a run is under way.

The dump is edited in four places: the data directory is called /var/lib/halligan, the name of the
host is removed from the leadership, the digest of the rows is therefore empty, as migrations leave
it, and noderoles are not marked as imported, so that both engines have the same rows. Passwords and tokens in it are used nowhere else.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, *(os.path.join(TESTS, name) for name in ("api", "jig", "redfish"))]
sys.dont_write_bytecode = True

from installation import ADMIN_NODE, Installation  # noqa: E402
from service import Service  # noqa: E402
from sshd import Server  # noqa: E402
from stores import Cluster, Sqlite  # noqa: E402
from yard import ACTIVE, BLOCKED, ERROR, TODO, TRANSITION, eventually  # noqa: E402

NODE = "n1.example.com"  # has a pinned host key and hammers
DARK = "n2.example.com"  # is not alive
NAMES = {  # a role that lists the DNS service of the names
    "barclamp": {"name": "upgrade_names"},
    "roles": [{"name": "names", "jig": "noop", "lists-services": "names-list",
               "attribs": [{"name": "names-list", "map": "names/list", "default": ["system"]}]}],
}
BOOTENVS = {
    "barclamp": {"name": "upgrade_bootenvs"},
    "bootenvs": [{"name": "upgrade-install", "method": "installer", "os": "upgrade",
                  "kernel": "upgrade/linux", "initrd": ["upgrade/initrd"], "args": "quiet"}],
}
MACHINES = 50
# Until 0016, hooks report which generations of a node are served; later ones than it has are ignored.
SERVES = f"""\
return {{
  on_active = function(noderole)
    for i = 0, {MACHINES - 1} do
      for generation = 1, 3 do
        halligan.boot_served('m' .. i .. '.example.com', noderole, generation)
      end
    end
  end,
}}
"""
TEXT = "quote ' double \" backslash \\ zwölf\nsecond line"
PLACE = "/var/lib/halligan"


class Maker(Installation):
    """Also the bench of the ssh server: gives it directories, and closes it."""

    def place(self, name):
        path = self.path(f"{name}{len(self.things)}")
        os.mkdir(path, 0o700)
        return path

    def ask(self, method, path, body=None):
        answer = self.me.ask(method, path, body)
        assert answer.status == 200, (path, answer)
        return answer.json()

    def has_ended(self):
        """No run and no call is left."""
        return not self.runs() and not self.rows("SELECT 1 FROM outbox")


def add_people(m, lab):
    people = [
        {"username": "olga", "email": "olga@example.com", "password": "a test password", "digest": True},
        {"username": "grantee", "password": "a test password", "access": "viewer",
         "grants": {str(lab): "operator"}},
        {"username": "locked", "password": "a test password", "is_admin": True},
    ]
    for fields in people:
        m.ask("POST", "users", fields)
    m.ask("POST", "users/locked/lock")
    m.ask("POST", "tokens", {"name": "limited", "access": "viewer", "deployment": lab,
                             "expires_at": "2035-01-01T00:00:00Z"})
    m.ask("POST", f"nodes/{NODE}/token")


def add_nodes(m):
    nodes = m.ask("GET", "nodes")
    if not any(node["admin"] for node in nodes):  # older versions make none
        m.ask("POST", "nodes", {"name": ADMIN_NODE, "admin": True})
    m.ask("PUT", f"nodes/{ADMIN_NODE}", {"alive": True, "available": True, "description": TEXT})
    m.ask("POST", "nodes", {"name": NODE, "description": TEXT, "available": True})
    m.ask("POST", "nodes", {"name": DARK, "available": True})
    m.ask("POST", "groups", {"name": "r7", "category": "rack"})
    m.ask("POST", "groups/rack%2Fr7/nodes", {"node": NODE})
    m.ask("POST", "groups/rack%2Fr7/nodes", {"node": DARK})


def add_hammers(m):
    """A machine that was switched on through Redfish, and an ssh server whose key is pinned."""
    key, cert = m.path("service.key"), m.path("service.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days",
                    "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    service = Service("generic", cert=cert, key=key)
    m.things.append(service)
    m.ask("POST", "hammers", {"node": NODE, "available_hammer": "redfish", "username": "root",
                              "endpoint": service.url, "authenticator": "calvin",
                              "extra": {"ca": cert}})
    m.ask("PUT", f"nodes/{NODE}/power?poweraction=on")
    eventually(lambda: service.systems["1"].resets, "it is switched on")
    server = Server(m)
    server.allow(m.path("ssh", "id_ed25519"))
    m.hammer(NODE, "ssh", endpoint=f"127.0.0.1:{server.port}", username=server.user)
    m.ask("PUT", f"nodes/{NODE}", {"alive": True})
    with open(os.path.join(server.folder, "host_key.pub"), encoding="ascii") as file:
        host_key = " ".join(file.read().split()[:2])
    eventually(lambda: host_key in m.read("ssh", "known_hosts"), "its host key is pinned")
    return host_key


def add_snapshots(m, lab):
    """Three commits of one deployment: a value changes, a noderole goes."""
    m.ask("PUT", f"nodes/{NODE}", {"deployment": "lab"})
    web = m.bind(NODE, "web", deployment="lab")
    goal = m.bind(NODE, "goal", deployment="lab")
    m.ask("PUT", "deployments/lab/commit")
    m.reaches(web, ACTIVE)
    for value in (8, 16):
        m.ask("PUT", "deployments/lab/propose")
        m.ask("PUT", "deployments/lab/attribs/web-workers", {"value": value})
        if value == 16:
            m.ask("DELETE", f"node_roles/{goal}")
        m.ask("PUT", "deployments/lab/commit")
        eventually(m.has_ended, "it ran again")
        m.reaches(web, ACTIVE)
    assert len(m.rows("SELECT 1 FROM snapshot WHERE deployment_id = ?", lab)) == 3


def add_networks(m):
    """Two nodes have an address and a name; one address was freed; one node has a MAC."""
    m.ask("POST", "barclamps", {"value": NAMES})
    m.reaches(m.run(ADMIN_NODE, "names"), ACTIVE)
    m.ask("POST", "barclamps", {"value": BOOTENVS})
    m.ask("POST", "networks", {
        "name": "racks", "category": "admin", "conduit": "1g0", "description": TEXT,
        "ranges": [{"name": "host", "first": "198.51.100.10/24", "last": "198.51.100.99/24"}],
        "router": {"address": "198.51.100.1/24"}})
    m.ask("POST", "nodes", {"name": "n3.example.com", "mac": "52:54:00:12:34:56"})
    made = [m.ask("POST", "network_allocations", {"node": node, "network": "racks"})[0]["id"]
            for node in (NODE, DARK, "n3.example.com")]
    eventually(lambda: len(m.rows("SELECT 1 FROM dns_name_entry")) == len(made), "they have names")
    m.ask("DELETE", f"network_allocations/{made[1]}")


def add_machines(m):
    """In the boot view, and served by the role `boots`; of several environments and generations."""
    for i in range(MACHINES):
        name = f"m{i}.example.com"
        m.ask("POST", "nodes", {"name": name, "mac": f"52:54:00:00:00:{i:02x}"})
        m.ask("POST", "network_allocations", {"node": name, "network": "racks"})
        m.run(name, "managed")
        for bootenv in ("local", "upgrade-install", "local")[:i % 4]:
            m.ask("PUT", f"nodes/{name}", {"bootenv": bootenv})
    m.reaches(m.run(ADMIN_NODE, "boots"), ACTIVE)
    eventually(m.has_ended, "they are served")
    seen = m.rows("SELECT boot_seen FROM node WHERE boot_seen != '' AND boot_generation > 0")
    assert len(seen) == len([i for i in range(MACHINES) if i % 4]), len(seen)


def add_states(m):
    """A noderole in each state. On the admin node one is under way and the next waits for it."""
    broken = m.run(NODE, "broken")
    m.reaches(broken, ERROR)
    m.reaches(m.run(NODE, "behind-broken"), BLOCKED)
    m.bind(ADMIN_NODE, "later")
    m.run(DARK, "later")
    m.verb(broken, "retry")
    eventually(lambda: len(m.history(broken)) == 2, "it failed again")
    eventually(m.has_ended, "nothing is under way")
    m.reaches(m.run(ADMIN_NODE, "slow"), TRANSITION)
    m.reaches(m.run(ADMIN_NODE, "next"), TODO)
    eventually(lambda: [run["begun"] for run in m.runs()] == [1], "its process was started")


def kill(m):
    """The daemon first, so that it sees no end of a run."""
    m.kill()
    supervisor = m.supervisor()
    os.kill(supervisor, signal.SIGKILL)
    eventually(m.lock_is_free, "nothing of the supervisor is left")


def edited(m, text):
    text = text.replace(m.data, PLACE)
    assert tempfile.gettempdir() + "/" not in text, "a path of this machine is in the dump"
    return text


def write(name, kind, text):
    with open(os.path.join(HERE, "dumps", f"{name}.{kind}"), "w", encoding="utf-8") as file:
        file.write(text)


def dump(m, cluster, facts):
    store, moved = Sqlite(m.path("halligan.db")), cluster.store()
    exported = m.path("exported.db")
    for words in (("export", exported), ("import", exported)):
        m.store = moved.url if words[0] == "import" else None
        done = m.run_verb(*words)
        assert done.returncode == 0, done.stderr
    name = max(row["name"] for row in store.rows()["schema_migration"])
    facts["known_hosts"] = edited(m, m.read("ssh", "known_hosts"))
    if "grant_barred" in store.rows()["noderole"][0]:
        moved.run("UPDATE noderole SET grant_barred = 0")
    for each in (store, moved):
        each.run("UPDATE leadership SET digest = '', holder = 'host.example.com 1'")
        write(name, each.kind + ".sql", edited(m, each.dump()))
    write(name, "json", json.dumps(facts, indent=1, sort_keys=True) + "\n")
    return name


def make(m, cluster):
    m.write_content(slow="sleep 1000")
    os.makedirs(os.path.join(m.folder, "roles"), exist_ok=True)
    with open(os.path.join(m.folder, "roles", "boots.lua"), "w", encoding="utf-8") as file:
        file.write(SERVES)
    m.start()
    lab = m.ask("POST", "deployments", {"name": "lab", "description": TEXT})["id"]
    add_nodes(m)
    add_people(m, lab)
    host_key = add_hammers(m)
    add_snapshots(m, lab)
    add_networks(m)
    add_machines(m)
    add_states(m)
    kill(m)
    return dump(m, cluster, {"host_key": host_key, "node": NODE, "token": m.token})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, help="where halligand is")
    m = Maker(os.path.abspath(parser.parse_args().build))
    with tempfile.TemporaryDirectory(prefix="halligan-dump-") as folder:
        os.chmod(folder, 0o711)  # the server of PostgreSQL is another user
        cluster = Cluster(os.path.join(folder, "pg"))
        try:
            print(make(m, cluster))
        except AssertionError:
            print(m.read("stderr")[-3000:], file=sys.stderr)
            raise
        finally:
            m.close()
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
