"""The journeys: an own barclamp, a machine over ssh, Puppet and Ansible, stores, backup, power, many nodes.

The documents that describe one are bound to it: files are taken from them, and no command of their sections is missing in
the journeys (SECTIONS). test_pages.py runs the documents themselves.
"""
import ast
import json
import os
import re
import signal
import tempfile
import threading
import time

import pages
from harness import SHIPPED, Plant, Yard, eventually, guide
from test_pages import page
from test_puppet import puppet_path
from test_ssh import machines


def rows(text):
    return [line.split() for line in text.splitlines()[1:]]


# -- an own barclamp -----------------------------------------------------------------------------


def test_an_own_barclamp_from_the_guide(j):
    """Written as the guide says, checked, loaded, committed, broken and repaired."""
    shelf = j.yard.path("barclamps")
    guide.write_barclamp(shelf, "motd")
    j.yard.start("--test-jig")
    h = j.shell()
    answer = h.run("barclamp", "check", "--strict", "--with", SHIPPED, os.path.join(shelf, "motd"))
    assert answer.returncode == 0, answer
    h.says("nodes", "create", "name=n1.example.com", "alive=true", "available=true")
    h.says("nodes", "bind", "n1.example.com", "motd-banner")
    h.says("noderoles", "commit", *h.says("noderoles", "list", "-q", "--filter", "node=n1.example.com").split(), "--wait",
           "--timeout", "60")
    states = {(r["node"], r["role"]): r["state_name"] for r in json.loads(h.says("noderoles", "list", "-o", "json"))}
    assert states["n1.example.com", "motd-banner"] == "active", states
    # A change that is wrong is refused with the same line by both; what was there stays in force.
    path = os.path.join(shelf, "motd/motd.yml")
    with open(path, encoding="utf-8") as file:
        good = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(good.replace("jig: script", "jig: script\n    deadline: soon"))
    answer = h.run("barclamp", "check", shelf)
    (line,) = [x for x in answer.stdout.splitlines() if ": error: " in x]
    where = re.match(r"(.*?):(\d+): error: (.*)", line)
    j.yard.process.send_signal(signal.SIGHUP)
    eventually(lambda: f"motd.yml:{where.group(2)}: {where.group(3)}" in j.yard.read("stderr"), "the daemon says the same")
    assert h.says("roles", "show", "-q", "motd-banner") == "motd-banner\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(good.replace("version:", "version: 9.9 #", 1) if "version:" in good
                   else good.replace("barclamp:\n", "barclamp:\n  version: 9.9\n", 1))
    j.yard.process.send_signal(signal.SIGHUP)
    eventually(lambda: "9.9" in h.says("barclamps", "list"), "the new version is in")
    j.yard.stop()


# -- a machine over ssh --------------------------------------------------------------------------


def test_a_machine_over_ssh_with_a_live_log_a_cancel_and_a_deadline(j):
    y = j.yard
    y.role("talks", 'echo "first line"; say begin; gate one; echo "last line"')
    y.role("slow", f"echo slow; say begin; sleep {y.long}")
    y.role("late", f"say begin; sleep {y.long}", deadline=2)
    y.start()
    h = j.shell()
    far, (node,) = machines(y, 1)
    # The log is there while the run still works.
    y.shut("one")
    talks = y.run(node, "talks")
    y.wait_for("begin", role="talks")
    follow = h.popen("noderoles", "log", str(talks), "--follow")
    said = []
    reader = threading.Thread(target=lambda: said.extend(follow.stdout), daemon=True)
    reader.start()
    eventually(lambda: any("first line" in line for line in said), "the log is live")
    assert not any("last line" in line for line in said), said
    y.open("one")
    assert follow.wait(timeout=60) == 0
    reader.join(timeout=10)
    assert any("last line" in line for line in said), said
    y.settles(talks)
    # A cancel ends the work over there.
    slow = y.run(node, "slow")
    y.wait_for("begin", role="slow")
    (run,) = h.says("runs", "list", "-q").split()
    h.says("runs", "cancel", run)
    h.says("wait", "noderole", str(slow), "state", "error", "--timeout", "60")
    eventually(lambda: not y.runs(), "it has stopped")
    assert y.strays() == [] and far.left() == []
    # A deadline does so, too, and why says it.
    h.says("noderoles", "destroy", str(slow))
    late = y.bind(node, "late")
    answer = h.run("noderoles", "commit", str(late), "--wait", "--timeout", "60")
    assert answer.returncode == 1, answer
    assert re.search(rf"late on {re.escape(node)}: (\w*deadline\w*): ", answer.stderr), answer.stderr
    why = json.loads(h.says("noderoles", "why", str(late), "-o", "json"))
    assert "deadline" in json.dumps(why), why
    y.finish()


# -- Puppet and Ansible --------------------------------------------------------------------------


class Place:
    """What the helpers of tests/jig want of their bench."""

    def __init__(self, folder):
        self.folder = folder


def test_roles_of_puppet_and_of_ansible(j):
    """With the barclamp of docs/jigs.md, whose roles write elsewhere."""
    y = j.yard
    out = y.path("out")
    shelf = "/etc/halligan/barclamps/"
    files = [f for f in pages.fences(page("docs/jigs.md")) if f.path]
    assert {f.path.split("/")[-1] for f in files} >= {"tools.yml", "init.pp", "by-ansible.yml"}
    for file in files:
        assert file.path.startswith(shelf + "tools/"), file.path
        j.write(file.path.replace(shelf, "barclamps/"), file.text.replace("/run/tools", out))
    tools = y.path("tools")
    os.mkdir(tools)
    before = os.environ["PATH"]
    os.environ["PATH"] = puppet_path(Place(tools))
    try:
        y.start()
    finally:
        os.environ["PATH"] = before
    h = j.shell()
    checked = h.run("barclamp", "check", "--strict", y.path("barclamps/tools"))
    assert checked.returncode == 0, checked
    node = y.node("tools")
    h.says("nodes", "bind", node, "by-ansible")
    h.says("noderoles", "set", f"{node}/by-script", "tools-text", "set by hand")
    answer = h.run("nodes", "commit", node, "--wait", "--timeout", "110")
    assert answer.returncode == 0, (answer.stdout, answer.stderr)
    for name in ["script", "puppet", "ansible"]:
        with open(f"{out}.{name}", encoding="utf-8") as file:
            assert file.read().strip() == "set by hand", name
    y.finish()


# -- stores and backups --------------------------------------------------------------------------


def state_of(h):
    nodes = json.loads(h.says("nodes", "list", "--all", "-o", "json"))
    noderoles = json.loads(h.says("noderoles", "list", "-o", "json"))
    return ([(n["id"], n["name"], n["state_name"]) for n in nodes],
            [(r["id"], r["node"], r["role"], r["state_name"], r["run_count"]) for r in noderoles])


def test_from_sqlite_to_postgresql_and_through_a_backup_back(j):
    y = j.yard
    y.role("works", "echo done")
    y.start()
    h = j.shell()
    for name in ["a", "b"]:
        y.settles(y.run(y.node(name), "works"))
    before = state_of(h)
    assert len(before[1]) == 2, before
    y.stop()
    url = j.postgres()
    j.daemon_verb("export", y.path("move.db"), "--data", y.data)
    j.daemon_verb("import", y.path("move.db"), "--data", y.data, "--store", url)
    os.rename(y.path("halligan.db"), y.path("halligan.db.old"))
    y.start("--store", url)
    assert state_of(j.shell()) == before
    # It works on: one more machine, then a backup beside the running daemon.
    third = y.node("c")
    h = j.shell()
    h.says("nodes", "bind", third, "works")
    h.says("nodes", "commit", third, "--wait", "--timeout", "60")
    after = state_of(h)
    assert len(after[1]) == 3 and not os.path.exists(y.path("halligan.db")), after
    copy = tempfile.mkdtemp(prefix="halligan-backup-", dir=y.data)
    j.daemon_verb("backup", os.path.join(copy, "monday"), "--with-keys", "--data", y.data, "--store", url)
    h.says("nodes", "create", "name=later.example.com")
    y.stop()
    # What the machine was is gone; a new one gets the backup, on SQLite.
    new = Yard(j.build)
    j.closing.append(new.close)
    for name in os.listdir(new.data):
        os.rename(new.path(name), os.path.join(copy, "new-" + name))
    j.daemon_verb("restore", os.path.join(copy, "monday"), "--data", new.data, "--store", "sqlite:" + new.path("halligan.db"))
    assert "ok: " in j.daemon_verb("check", "--data", new.data)
    os.makedirs(new.folder)
    new.token = y.token  # tokens are part of the backup
    new.roles = y.roles
    os.symlink(os.path.join(y.folder, "scripts"), os.path.join(new.folder, "scripts"))
    os.makedirs(os.path.join(new.folder, "roles"), exist_ok=True)
    new.start()
    j.yard, old = new, j.yard
    try:
        h = j.shell()
        assert state_of(h) == after, state_of(h)
        h.says("nodes", "create", "name=after.example.com", "alive=true", "available=true", "admin=true")
        h.says("nodes", "bind", "after.example.com", "works")
        h.says("nodes", "commit", "after.example.com", "--wait", "--timeout", "60")
    finally:
        j.yard = old
    new.finish()


# -- power ---------------------------------------------------------------------------------------


def hammer_of_page(kind):
    """The document that docs/power.md gives to `hammers create` for a driver."""
    found = re.findall(r"<<'END'\n(.*?)\nEND\n", page("docs/power.md"), re.DOTALL)
    (document,) = [d for d in map(json.loads, found) if d["available_hammer"] == kind]
    return document


def test_a_machine_behind_redfish_is_switched_from_the_command_line(j):
    """Bound as docs/power.md says, with the address, the user and the CA of the service of the test."""
    plant = Plant(j.build, j.yard.path("home"))
    try:
        plant.start().node("n1.example.com")
        plant.node("n2.example.com")
        service, machine = plant.redfish("n2.example.com")  # the service; its hammer is not used
        hammer = hammer_of_page("redfish")
        assert set(hammer["extra"]) == {"ca"}, hammer
        hammer.update(endpoint=service.url, username="root", authenticator="calvin",
                      extra={"ca": os.path.join(plant.folder, "trusted.pem")})
        j.yard.token = plant.client.post("tokens", {"name": "journey"}).json()["token"]
        with open(j.yard.path("listen"), "w", encoding="ascii") as file:
            file.write(plant.read("listen"))
        h = j.shell()
        h.says("hammers", "create", "-f", j.write("hammer.json", json.dumps(hammer)))
        assert {"on", "off", "reset"} <= set(h.says("nodes", "power", "n1.example.com").split())
        for action, power in [("on", "On"), ("off", "Off"), ("on", "On")]:
            h.says("nodes", "power", "n1.example.com", action)
            eventually(lambda: machine.real_power == power, f"it is {power}")
        # As docs/power.md has it: the answer of the machine, the field, and the filter.
        for action, state in [("off", "off"), ("on", "on")]:
            answer = json.loads(h.says("nodes", "power", "n1.example.com", action, "--wait", "-o", "json"))
            assert (answer["state"], answer["driver"]) == ("done", "redfish"), answer
            answer = json.loads(h.says("nodes", "power", "n1.example.com", "status", "-o", "json"))
            assert (answer["state"], answer["power_state"]) == ("done", state), answer
            assert machine.real_power.lower() == state, machine.real_power
            assert h.says("nodes", "list", "-q", "--filter", f"power_state={state}").split() == ["n1.example.com"]
        h.says("nodes", "power", "n1.example.com", "reset")
        eventually(lambda: "ForceRestart" in machine.resets, "it is reset")
        plant.close()
    except BaseException:
        print(plant.abandon())
        raise


# -- many ----------------------------------------------------------------------------------------

NODES, ROLES = 5000, 10


def test_five_thousand_nodes_with_ten_roles_each(j):
    y = j.yard
    for i in range(ROLES):
        y.role(f"step{i}", requires=[f"step{i - 1}"] if i else [])
    y.start("--test-jig")  # no machine is behind these nodes; with it, probes succeed
    h = j.shell()
    began = time.monotonic()
    h.says("deployments", "create", "name=fleet")
    fleet = y.me.get("deployments/fleet").json()["id"]
    for first in range(0, NODES, 1000):
        many = [{"name": f"n{i}.example.com", "deployment_id": fleet, "alive": True, "available": True}
                for i in range(first, first + 1000)]
        answer = y.me.post("nodes", many)
        assert answer.status == 200, answer
    for first in range(0, NODES, 1000):
        many = [{"node": f"n{i}.example.com", "role": f"step{k}"} for i in range(first, first + 1000) for k in range(ROLES)]
        answer = y.me.post("node_roles", many)
        assert answer.status == 200, answer
    bound = time.monotonic()
    answer = h.run("deployments", "commit", "fleet", "--wait", "--timeout", "110", "-q")
    assert answer.returncode == 0, (answer.stdout, answer.stderr[-2000:])
    done = time.monotonic()
    assert answer.stderr.splitlines()[-1] == f"{NODES * ROLES}/{NODES * ROLES} active", answer.stderr[-500:]
    listed = h.says("nodes", "list", "-q", "--state", "active", "--filter", "deployment=fleet").split()
    assert len(listed) == NODES, len(listed)
    assert h.says("nodes", "list", "-q", "--state", "error") == ""
    first = json.loads(h.says("noderoles", "list", "--filter", "node=n17.example.com", "-o", "json"))
    assert sorted(r["role"] for r in first) == sorted(f"step{i}" for i in range(ROLES))
    assert {r["node"] for r in first} == {"n17.example.com"} and {r["state_name"] for r in first} == {"active"}
    print(f"    {NODES} nodes x {ROLES} roles: bound in {bound - began:.1f} s, active in {done - bound:.1f} s, "
          f"listed in {time.monotonic() - done:.1f} s")
    y.finish()


# -- the documents -------------------------------------------------------------------------------

# What a user is shown of the journeys. (That of the guide is guide.py; of many nodes no document speaks.)
SECTIONS = {
    "docs/jigs.md": ["An example"],
    "docs/operating.md": ["Backup and restore", "From SQLite to PostgreSQL"],
    "docs/power.md": ["Redfish", "Switching and reading"],
}
DAEMON_VERBS = "daemon_verb"
CALLS = {"says", "run", "popen", DAEMON_VERBS}


def called():
    """The commands of the journeys: (program, noun, verb), or (program, verb)."""
    found = set()
    with open(__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in CALLS:
            words = [a.value for a in call.args[:2] if isinstance(a, ast.Constant)]
            found.add(("halligand", words[0]) if call.func.attr == DAEMON_VERBS else ("halligan", *words))
    return found


def shown(text):
    """The commands of Halligan in the fences of a text, in the same form."""
    scripts = "".join(f.text for f in pages.fences(text) if f.language == "sh" and not f.path)
    for line in re.findall(r"\b(halligand?) ((?:[a-z][a-z-]* ?){1,2})", scripts):
        yield (line[0], *line[1].split()[:1 if line[0] == "halligand" else 2])


def test_the_journeys_have_the_commands_of_the_documents(j):
    have = called()
    assert ("halligan", "nodes", "create") in have and ("halligand", "export") in have, have
    for name, titles in SECTIONS.items():
        sections = dict(part.split("\n", 1) for part in page(name).split("\n## ")[1:])
        for title in titles:
            commands = set(shown(sections[title]))
            assert commands and not commands - have, (name, title, commands - have)
