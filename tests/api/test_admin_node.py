"""The admin node that an installation has from its first start (ADR 0070)."""
import ipaddress
import os
import socket
import subprocess
import time
import uuid

from daemon import SHIPPED, Own, another_store, eventually

NAME = "admin.example.com"
ADDRESS = "192.0.2.10/24"
ERROR, ACTIVE, PROPOSED = -1, 0, 4
BOOTSTRAP = """
barclamp: {name: boots, source_path: /boots}
jigs: [{name: noop, class: noop}, {name: test, class: test}]
hammers: [{name: ssh, type: ssh, priority: 0}]
roles:
  - {name: below, jig: test, flags: [implicit]}
  - {name: served, jig: test, flags: [bootstrap], requires: [below]}
  - {name: plain, jig: test}
attribs:
  - {name: hint-admin-v4addr, map: admin-v4addr}
"""


class Host(Own):
    """An installation that makes its admin node, with two roles for it."""

    def __init__(self, daemon, store=None):
        super().__init__(daemon, has_admin_node=True)
        self.store = store
        os.makedirs(self.path("shelf/boots"))
        self.write("shelf/boots/boots.yml", BOOTSTRAP)

    def begin(self, *words, shelf="shelf", test_jig=True):
        more = ["--store", self.store] if self.store else []
        more += ["--test-jig"] if test_jig else []
        self.start("--barclamps", self.path(shelf), *more, *words)
        return self.client

    def again(self, *words, **more):
        assert self.stop() == 0
        return self.begin(*words, **more)


def machines(me):
    found = me.get("nodes?view=full").json()
    return [node for node in found if not node["name"].endswith("-phantom.internal.local")]


def the_node(me):
    found = machines(me)
    assert len(found) == 1, found
    return found[0]


def hint_of(me, node):
    return me.get(f"nodes/{node['id']}/attribs/hint-admin-v4addr").json()["value"]


def roles_of(me, node):
    roles = {role["id"]: role["name"] for role in me.get("roles").json()}
    return {roles[row["role_id"]]: row for row in me.get(f"nodes/{node['id']}/node_roles").json()}


def source_address():
    """What the daemon finds, found another way; None where there is no default route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]


def test_the_first_start_makes_the_admin_node_of_its_host(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", NAME, "--admin-address", ADDRESS)
        node = the_node(me)
        assert node["name"] == NAME and node["admin"] and node["automatic"] and node["alive"]
        assert node["bootenv"] == "local" and not node["system"]
        assert hint_of(me, node) == ADDRESS
        roles = roles_of(me, node)
        assert sorted(roles) == ["below", "served"], roles
        assert {row["state"] for row in roles.values()} == {PROPOSED}
        assert me.put(f"nodes/{node['id']}/commit").status == 200
        eventually(lambda: all(row["state"] == ACTIVE for row in roles_of(me, node).values()), "active")


def name_on(host, host_name, hosts=""):
    """The name that a start on a host with this name and this /etc/hosts gives its admin node."""
    host.write("hosts", hosts, 0o644)
    script = "mount --bind \"$1\" /etc/hosts && hostname \"$2\" && shift 2 && exec \"$@\""
    command = ["unshare", "-rum", "sh", "-c", script, "sh", host.path("hosts"), host_name,
               *host.command(["--barclamps", host.path("shelf")])]
    with open(host.path("stderr"), "ab") as log:
        host.process = subprocess.Popen(command, stdout=log, stderr=log)
    eventually(lambda: host.read("listen") or host.process.poll() is not None, "it listens")
    assert host.process.poll() is None, host.read("stderr")
    return the_node(host.client)["name"]


def test_its_name_is_that_of_the_host_with_its_domain_or_below_internal_local(daemon):
    for host_name, hosts, expected in (
            ("Box.Example.COM", "", "box.example.com"),
            ("box", "127.0.1.1 box.example.com box\n", "box.example.com"),
            ("box", "127.0.1.1 box.lan box\n", "box.internal.local"),
            ("box.lan", "", "box.internal.local"),
            ("BOX-1", "", "box-1.internal.local"),
            ("box", "127.0.0.1 localhost\n# 10.0.0.1 box.example.com box\n", "box.internal.local"),
    ):
        with Host(daemon) as host:
            name = name_on(host, host_name, hosts)
            assert name == expected, (host_name, hosts, name)


def test_its_address_is_the_source_address_of_the_default_route(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", NAME)
        expected, found = source_address(), hint_of(me, the_node(me))
        if expected is None or ipaddress.ip_address(expected).is_loopback:
            assert found is None, found
            assert "admin-address" in host.read("stderr")
        else:
            assert found.split("/")[0] == expected and 1 <= int(found.split("/")[1]) <= 32, found


def test_an_address_without_a_prefix_gets_that_of_its_interface(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-address", "127.0.0.1")
        assert hint_of(me, the_node(me)) == "127.0.0.1/8"
    with Host(daemon) as host:
        me = host.begin("--admin-address", "192.0.2.77")
        assert hint_of(me, the_node(me)) == "192.0.2.77/32"


def test_admin_node_none_creates_none(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", "none")
        assert machines(me) == []
        assert machines(host.again("--admin-node", "none")) == []


def test_an_installation_with_nodes_gets_no_automatic_node(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", "none")
        assert me.post("nodes", {"name": "n1.example.com"}).status == 200
        assert [node["name"] for node in machines(host.again())] == ["n1.example.com"]


def test_a_wrong_name_or_address_is_refused_before_anything_is_made(daemon):
    with Host(daemon) as host:
        for key, values in (("admin-node", ["two.parts", "a b.example.com", "x..example.com"]),
                            ("admin-address", ["here", "fd00::1", "10.0.0.1/33", "10.0.0.1/",
                                               "0.0.0.0", "10.0.0.1/0"])):
            for value in values:
                done = host.run(f"--{key}", value)
                assert done.returncode == 2 and key in done.stderr, (value, done)
        assert not os.path.exists(host.path("halligan.db"))


def test_a_restart_keeps_it_and_what_was_changed(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", NAME, "--admin-address", ADDRESS)
        before = the_node(me)
        assert me.put(f"nodes/{before['id']}", {"name": "mine.example.com"}).status == 200
        after = the_node(host.again("--admin-node", "other.example.com"))
        assert after["id"] == before["id"] and after["name"] == "mine.example.com"
        assert after["automatic"] and hint_of(host.client, after) == ADDRESS


def replaced(me, name):
    """An operator's admin node takes the place of the automatic one."""
    old = the_node(me)
    assert old["automatic"]
    answer = me.post("nodes", {"name": name, "admin": True})
    assert answer.status == 200, answer
    node = the_node(me)
    assert node["id"] == answer.json()["id"] != old["id"] and not node["automatic"]
    assert sorted(roles_of(me, node)) == ["below", "served"]
    assert me.get(f"nodes/{old['id']}").status == 404


def test_the_first_admin_node_of_an_operator_replaces_it(daemon):
    with Host(daemon) as host:
        replaced(host.begin("--admin-node", NAME), "real.example.com")
        again = the_node(host.again("--admin-node", NAME))
        assert again["name"] == "real.example.com"
    with Host(daemon) as host:
        replaced(host.begin("--admin-node", NAME), NAME)
        assert host.client.post("nodes", {"name": "second.example.com",
                                          "admin": True}).status == 200
        second = [node for node in machines(host.client) if node["name"] != NAME]
        assert len(second) == 1 and roles_of(host.client, second[0]) == {}


def test_a_refused_admin_node_replaces_nothing(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", NAME)
        before = the_node(me)
        assert me.post("nodes", {"name": "bad", "admin": True}).status == 409
        assert me.post("nodes", {"name": "m.example.com"}).status == 200
        assert before in machines(me)


def test_one_that_is_in_use_stays_as_an_admin_node_like_any_other(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", NAME)
        old = the_node(me)
        assert me.post("node_roles", {"node": NAME, "role": "plain"}).status == 200
        assert me.post("nodes", {"name": "second.example.com", "admin": True}).status == 200
        found = {node["name"]: node for node in machines(me)}
        assert sorted(found) == [NAME, "second.example.com"]
        assert found[NAME]["id"] == old["id"] and not found[NAME]["automatic"]
        assert roles_of(me, found["second.example.com"]) == {}


def test_clients_cannot_set_automatic(daemon):
    with Host(daemon) as host:
        me = host.begin("--admin-node", "none")  # without nodes, where the core would make one
        answer = me.post("nodes", {"name": "n1.example.com", "automatic": True})
        made = machines(me)  # with the fields of view=full, which has automatic
        assert [node["automatic"] for node in made] == [False] * len(made), made
        assert answer.status == 400 or [node["admin"] for node in made] == [False], answer


def test_content_that_comes_later_gives_it_its_roles_and_address(daemon):
    with Host(daemon) as host:
        os.makedirs(host.path("empty"))
        me = host.begin("--admin-node", NAME, "--admin-address", ADDRESS, shelf="empty")
        node = the_node(me)
        assert roles_of(me, node) == {}
        me = host.again("--admin-address", ADDRESS)
        assert the_node(me)["id"] == node["id"]
        assert sorted(roles_of(me, node)) == ["below", "served"]
        assert hint_of(me, node) == ADDRESS


def test_it_is_made_on_the_other_engine_too(daemon):
    """The store of the suite: SQLite or PostgreSQL, whichever it runs on."""
    store = another_store(daemon.store, "admin" + uuid.uuid4().hex[:12])
    with Host(daemon, store) as host:
        me = host.begin("--admin-node", NAME, "--admin-address", ADDRESS)
        before = the_node(me)
        assert the_node(host.again()) == before
        replaced(host.client, "real.example.com")
        assert not the_node(host.again())["automatic"]


def test_the_first_machine_that_is_committed_has_no_error(daemon):
    with Own(daemon, has_admin_node=True) as host:
        host.start("--barclamps", SHIPPED, "--test-jig", "--admin-node", NAME,
                   "--admin-address", ADDRESS)
        me = host.client
        made = me.post("nodes", {"name": "m1.example.com", "alive": True}).json()
        assert me.put(f"nodes/{made['id']}/commit").status == 200
        node = me.get(f"nodes/{made['id']}").json()
        on_machine = roles_of(me, node)
        assert "crowbar-managed-node" in on_machine
        servers = [role for role in on_machine if role.endswith(("-server", "-service", "-database"))]
        assert servers == [], servers
        time.sleep(0.5)
        assert not [row for row in roles_of(me, node).values() if row["state"] == ERROR]
        # The admin node serves it once it is committed.
        admin = next(one for one in machines(me) if one["admin"])
        assert me.put(f"nodes/{admin['id']}/commit").status == 200
        for one in (admin, node):
            eventually(lambda: {row["state"] for row in roles_of(me, one).values()} == {ACTIVE},
                       f"{one['name']} is active")


def without_network(host, *words):
    """One start in a network namespace of its own: only the loopback interface, and no route."""
    script = "ip link set lo up && exec \"$@\""
    command = ["unshare", "-rn", "sh", "-c", script, "sh", *host.command(words)]
    with open(host.path("stderr"), "ab") as log:
        host.process = subprocess.Popen(command, stdout=log, stderr=log)
    eventually(lambda: host.read("listen") or host.process.poll() is not None, "it listens")
    assert host.process.poll() is None, host.read("stderr")
    assert host.stop() == 0


def test_without_an_address_server_roles_name_the_option_to_set(daemon):
    content = ("--barclamps", SHIPPED, "--test-jig")
    with Own(daemon, has_admin_node=True) as host:
        without_network(host, *content, "--admin-node", NAME)
        host.start(*content, "--admin-node", "none")  # does not look for an address either
        me = host.client
        node = the_node(me)
        assert node["automatic"] and hint_of(me, node) is None
        assert me.put(f"nodes/{node['id']}/commit").status == 200

        def ntp():
            return roles_of(me, node)["ntp-server"]

        eventually(lambda: ntp()["state"] == ERROR, "the server fails")
        assert "admin-address" in ntp()["runlog"], ntp()
        assert host.stop() == 0
        host.start(*content, "--admin-address", ADDRESS)
        me = host.client
        assert hint_of(me, node) == ADDRESS

        def has_come_up():
            rows = roles_of(me, node).values()
            for row in rows:
                if row["state"] == ERROR:
                    assert me.put(f"node_roles/{row['id']}/retry").status == 200
            return {row["state"] for row in rows} == {ACTIVE}

        eventually(has_come_up, "the servers have their address")
