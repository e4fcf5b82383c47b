"""The dynamic inventory as Ansible uses it: names it accepts, one host, and a real connection."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid

from daemon import Own

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jig"))
from sshd import Server  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PATH = "/api/status/inventory"


class Place:
    """What sshd.py needs of a test: folders, and things to stop."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="halligan-inventory-")
        self.things = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for thing in reversed(self.things):
            thing.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def place(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path


def good(answer):
    assert answer.status == 200, answer
    return answer.json()


def fresh(me, deployment, **more):
    name = f"n{uuid.uuid4().hex[:8]}.example.com"
    return good(me.post("nodes", {"name": name, "deployment": deployment, "alive": True,
                                  "available": True, **more}))


# ---- names of groups ----


def test_groups_have_names_that_ansible_accepts(daemon):
    me = daemon.client()
    word = "i" + uuid.uuid4().hex[:6]
    names = [f"{word}-a-b", f"{word}_a-b", f"{word}_a_b", f"{word}__d7", f"role-{word}"]
    made = {name: good(me.post("deployments", {"name": name})) for name in names}
    nodes = {name: fresh(me, name)["name"] for name in names}
    content = {"barclamp": {"name": word, "source_path": "/" + word},
               "roles": [{"name": f"{word}-r", "jig": "noop"}]}
    good(me.post("barclamps", {"value": content}))
    good(me.post("node_roles", {"node": nodes[names[0]], "role": f"{word}-r"}))
    told = good(me.get(PATH))
    assert all(NAME.fullmatch(group) for group in told), sorted(told)
    by_host = {}
    for group, fields in told.items():
        if not group.startswith("state_") and group != "_meta":
            for host in fields.get("hosts", []):
                by_host.setdefault(host, []).append(group)
    first, *others = [made[name] for name in names[:3]]
    assert f"{word}_a_b" in by_host[nodes[first["name"]]], by_host[nodes[first["name"]]]
    for other in others:  # the lowest id has the name, the others a suffix
        assert f"{word}_a_b__d{other['id']}" in by_host[nodes[other["name"]]]
        group = told[f"{word}_a_b__d{other['id']}"]
        assert group["vars"]["halligan_name"] == other["name"], group
    assert told[f"{word}_a_b"]["vars"]["halligan_name"] == f"{word}-a-b"
    odd = made[f"{word}__d7"]  # it looks as if it had a suffix
    assert by_host[nodes[odd["name"]]] == [f"{word}__d7__d{odd['id']}"]
    assert by_host[nodes[f"role-{word}"]] == [f"deployment_role_{word}"]
    assert told[f"deployment_role_{word}"]["vars"]["halligan_name"] == f"role-{word}"
    group = told[f"role_{word}_r"]
    assert group == {"hosts": [nodes[names[0]]], "vars": {"halligan_name": f"{word}-r"}}, group
    assert "halligan_name" not in told["system"]["vars"], told["system"]
    # Children are called as the groups are.
    children = told["system"]["children"]
    assert set(children) <= set(told) and len(children) == len(set(children)), children


# ---- hosts ----


def test_the_variables_of_one_host(daemon):
    me = daemon.client()
    home = "v" + uuid.uuid4().hex[:6]
    good(me.post("deployments", {"name": home}))
    node = fresh(me, home)
    whole = good(me.get(PATH))["_meta"]["hostvars"][node["name"]]
    one = me.get(f"{PATH}?hostvar={node['name']}")
    assert one.type == "application/vnd.crowbar.inventory+json", one.type
    assert good(one) == whole == good(me.get(f"{PATH}/{home}?hostvar={node['id']}"))
    assert "_meta" not in good(me.get(PATH + "?hostvar=none"))
    assert me.get(PATH + "?hostvar=nobody.example.com").status == 404
    elsewhere = "w" + uuid.uuid4().hex[:6]
    good(me.post("deployments", {"name": elsewhere}))
    refused = me.get(f"{PATH}/{elsewhere}?hostvar={node['name']}")
    assert refused.status == 404 and refused.json()["field"] == "hostvar", refused
    phantom = me.get(f"{PATH}?hostvar=system-phantom.internal.local")
    assert phantom.status == 404, phantom


def test_where_a_host_is_comes_from_the_ssh_driver(daemon):
    me = daemon.client()
    node = fresh(me, "system")
    path = f"nodes/{node['name']}/hammers/ssh"

    def address():
        told = good(me.get(f"{PATH}?hostvar={node['name']}"))
        return told["ansible_host"], told["ansible_port"], told["ansible_user"]

    assert address() == (node["name"], 22, "root")
    good(me.put(path, {"endpoint": "10.1.2.3:2222", "username": "crowbar"}))
    assert address() == ("10.1.2.3", 2222, "crowbar")
    good(me.put(path, {"endpoint": "[fd00::7]", "extra": {"port": 2022}}))
    assert address() == ("fd00::7", 2022, "crowbar")


def test_dead_machines_are_not_among_the_active(daemon):
    me = daemon.client()
    up, down = fresh(me, "system"), fresh(me, "system")
    good(me.put(f"nodes/{down['name']}", {"alive": False}))
    told = good(me.get(PATH + "?hostvar=none"))
    assert up["name"] in told["state_active"]["hosts"]
    assert down["name"] not in told["state_active"]["hosts"]
    assert down["name"] in told["state_dead"]["hosts"]
    assert up["name"] not in told["state_dead"]["hosts"]
    good(me.put(f"nodes/{down['name']}", {"alive": True}))
    assert down["name"] in good(me.get(PATH))["state_active"]["hosts"]


# ---- Ansible ----


def run_ansible(folder, own, program, *words):
    """With the script of packaging/ as its inventory; no configuration of this machine is used."""
    script, config = os.path.join(folder, "inventory"), os.path.join(folder, "ansible.cfg")
    with open(config, "w", encoding="ascii"):
        pass
    shutil.copy(os.path.join(ROOT, "packaging", "halligan-inventory"), script)
    os.chmod(script, 0o755)
    token = own.client.post("tokens", {"name": "ansible"}).json()["token"]
    environment = {"PATH": os.path.dirname(own.program) + ":" + os.environ["PATH"],
                   "HOME": folder, "LC_ALL": "C.UTF-8", "ANSIBLE_CONFIG": config,
                   "ANSIBLE_HOST_KEY_CHECKING": "false", "ANSIBLE_LOCAL_TEMP": folder,
                   "ANSIBLE_INVENTORY_UNPARSED_FAILED": "true", "ANSIBLE_SSH_ARGS": "-F none",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                   "HALLIGAN_URL": own.read("listen").strip(), "HALLIGAN_TOKEN": token}
    ran = subprocess.run([program, "-i", script, *words], capture_output=True, text=True,
                         timeout=180, env=environment)
    assert ran.returncode == 0, ran
    assert "Invalid characters" not in ran.stderr, ran.stderr
    return ran.stdout


def test_ansible_reaches_a_host_over_ssh(daemon):
    """The real program, a real sshd: it is found, logged in to and answers."""
    with Place() as place, Own(daemon) as own:
        sshd = Server(place)
        own.start("--barclamps", daemon.path("barclamps"), "--test-jig")
        me = own.client
        good(me.post("deployments", {"name": "lab-1"}))
        node = fresh(me, "lab-1")
        good(me.put(f"nodes/{node['name']}/hammers/ssh",
                    {"endpoint": f"127.0.0.1:{sshd.port}", "username": sshd.user}))
        fresh(me, "system")  # one that is not asked
        told = run_ansible(place.folder, own, "ansible", "lab_1", "-o", "-m", "ping",
                           "--private-key", sshd.key)
        found = re.fullmatch(r"(\S+) \| SUCCESS => (\{.*\})\n?", told)
        assert found and found.group(1) == node["name"], told
        assert json.loads(found.group(2))["ping"] == "pong", told
        assert "Accepted publickey" in sshd.said()
        told = run_ansible(place.folder, own, "ansible-inventory", "--host", node["name"])
        one = json.loads(told)
        assert one["ansible_port"] == sshd.port and one["halligan_name"] == "lab-1", one
        assert own.stop() == 0
