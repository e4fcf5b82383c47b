"""Which roles have served the boot of a machine: nodes/N/boot, nodes/N/bootstate, node_roles/N/boot_due,
`why`, and the setting boot-server. The daemon has no test jig, with which no role serves boots.

A published role without scripts fails at once, so that its machines stay due; a boot server is named by
the configuration and never connects."""
import contextlib
import os
import signal
import sqlite3

from daemon import Own, eventually
from test_networks import vnd
from test_objects import check_error

YAML = """barclamp: {name: boots}
jigs:
  - {name: noop, class: noop}
  - {name: boots, class: native}
  - {name: script, class: script}
hammers:
  - {name: redfish, type: redfish, priority: 5}
bootenvs:
  - {name: sledgehammer, method: discovery, kernel: vmlinuz}
roles:
  - {name: found, jig: noop, flags: [discovery, implicit, milestone]}
  - {name: dhcp, jig: script, flags: [serves-boot]}
  - {name: pxe, jig: boots, flags: [serves-boot]}
  - {name: plain, jig: noop}
"""
SERVER = ["node_role_id", "role", "node", "state", "kind", "served", "connected", "since", "turn", "attempt"]
DUE = ["node_id", "node", "bootenv", "generation", "since", "attempt"]
STATE = ["node", "node_id", "bootenv", "generation", "served", "bootstate"]


@contextlib.contextmanager
def site(daemon, *words, roles=("dhcp",)):
    """An admin node with the roles committed, and the machine m1 in the boot view."""
    with Own(daemon) as own:
        os.makedirs(own.path("shelf/boots"))
        own.write("shelf/boots/boots.yml", YAML)
        own.start("--barclamps", own.path("shelf"), *words)
        me = own.client
        done(me.post("nodes", {"name": "adm.example.com", "admin": True, "alive": True, "available": True}))
        bound = {role: bind(me, "adm.example.com", role) for role in roles}
        if "dhcp" in bound and "--test-jig" not in words:
            in_error(me, bound["dhcp"])
        machine(me, 1)
        yield own, me, bound


def done(answer):
    assert answer.status == 200, answer
    return answer.json()


def bind(me, node, role):
    made = done(me.post("node_roles", {"node": node, "role": role}))
    done(me.put(f"node_roles/{made['id']}/commit"))
    return made["id"]


def machine(me, number):
    made = done(me.post("nodes", {"name": f"m{number}.example.com", "mac": f"52:54:00:00:01:0{number}",
                                  "ip": f"10.1.2.{number}/24"}))
    bind(me, made["name"], "found")
    return made["id"]


def in_error(me, noderole):
    eventually(lambda: done(me.get(f"node_roles/{noderole}"))["state"] == -1, "it is in error")


def test_with_the_test_jig_no_role_serves_boots_and_nothing_is_waited_for(daemon):
    with site(daemon, "--test-jig", roles=("dhcp", "pxe")) as (_, me, bound):
        boot = done(me.get("nodes/m1.example.com/boot"))
        assert (boot["served"], boot["servers"]) == (True, []), boot
        assert isinstance(boot["entry"]["turn"], int) and boot["entry"]["turn"] > 0, boot["entry"]
        answer = me.get("nodes/m1.example.com/bootstate")
        state = done(answer)
        assert answer.type == vnd("bootstate", "obj") and list(state) == STATE, (answer.type, state)
        assert state == {"node": "m1.example.com", "node_id": boot["node_id"], "bootenv": "sledgehammer",
                         "generation": 0, "served": True, "bootstate": "sledgehammer"}, state
        done(me.put("nodes/m1.example.com", {"bootenv": "local"}))
        state = done(me.get(f"nodes/{boot['node_id']}/bootstate"))
        assert (state["bootstate"], state["generation"]) == ("local", 1), state
        assert done(me.get(f"node_roles/{bound['dhcp']}/boot_due")) == []
        only = me.ask("GET", "nodes/m1.example.com/bootstate", None,
                      headers={"x-return-attributes": '["bootstate"]'})
        assert done(only) == {"bootstate": "local"}
        # Without an entry in the boot view there is nothing to boot.
        done(me.post("nodes", {"name": "bare.example.com"}))
        state = done(me.get("nodes/bare.example.com/bootstate"))
        assert (state["served"], state["bootstate"]) == (True, None), state
        check_error(me.get("nodes/nothing/bootstate"), 404, "not_found", "id")
        for method in ("PUT", "POST", "DELETE"):
            assert me.ask(method, "nodes/m1.example.com/bootstate", {}).status == 405


def test_a_published_role_that_failed_has_due_machines(daemon):
    with site(daemon) as (_, me, bound):
        boot = done(me.get("nodes/m1.example.com/boot"))
        [server] = boot["servers"]
        assert list(server) == SERVER and boot["served"] is False, boot
        assert server == {"node_role_id": bound["dhcp"], "role": "dhcp", "node": "adm.example.com",
                          "state": "error", "kind": "published", "served": False, "connected": None,
                          "since": server["since"], "turn": None, "attempt": None}, server
        assert server["since"].endswith("Z"), server
        assert done(me.get("nodes/m1.example.com/bootstate"))["bootstate"] is None
        # The admin node is in no boot view: nothing has to be published for it.
        boot = done(me.get("nodes/adm.example.com/boot"))
        assert boot["served"] is True and boot["servers"][0]["served"] is True, boot

        ids = [done(me.get("nodes/m1.example.com"))["id"], *(machine(me, i) for i in range(2, 6))]
        answer = me.get(f"node_roles/{bound['dhcp']}/boot_due")
        due = done(answer)
        assert answer.type == vnd("boot_due", "list") and all(list(one) == DUE for one in due), due
        assert [one["node_id"] for one in due] == ids and "Link" not in answer.headers, due
        assert due[0] == {"node_id": ids[0], "node": "m1.example.com", "bootenv": "sledgehammer",
                          "generation": 0, "since": server["since"], "attempt": None}, due[0]
        # A run gets all of them, and fails; one that changes is due anew, one that is deleted too.
        done(me.put(f"node_roles/{bound['dhcp']}/retry"))
        eventually(lambda: done(me.get(f"node_roles/{bound['dhcp']}/boot_due"))[4]["attempt"] == 2, "it ran")
        in_error(me, bound["dhcp"])
        done(me.put("nodes/m2.example.com", {"bootenv": "local"}))
        done(me.delete("nodes/m3.example.com"))
        now = done(me.get(f"node_roles/{bound['dhcp']}/boot_due"))
        assert [one["since"] for one in now] == [one["since"] for one in due], (now, due)
        assert [one["attempt"] for one in now] == [2, None, None, 2, 2], now
        assert (now[1]["bootenv"], now[1]["generation"]) == ("local", 1), now
        assert now[2] == {"node_id": ids[2], "node": None, "bootenv": None, "generation": None,
                          "since": due[2]["since"], "attempt": None}, now
        assert done(me.get("nodes/m1.example.com/boot"))["servers"][0]["attempt"] == 2


def test_due_machines_are_paged(daemon):
    with site(daemon) as (_, me, bound):
        ids = [done(me.get("nodes/m1.example.com"))["id"], *(machine(me, i) for i in range(2, 6))]
        due = f"node_roles/{bound['dhcp']}/boot_due"
        page = me.get(f"{due}?limit=2")
        assert [one["node_id"] for one in done(page)] == ids[:2], page
        link = f"</api/v2/{due}?after={ids[1]}&limit=2>; rel=\"next\""
        assert page.headers["Link"] == link, page.headers
        page = me.get(f"{due}?after={ids[2]}&limit=2")
        assert [one["node_id"] for one in done(page)] == ids[3:] and "Link" not in page.headers, page
        assert done(me.get(f"{due}?after={ids[4]}")) == done(me.get(f"{due}?after={2**63 - 1}")) == []
        only = me.ask("GET", f"{due}?limit=1", None, headers={"x-return-attributes": '["node"]'})
        assert done(only) == [{"node": "m1.example.com"}]
        for query, field in (("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"),
                             ("after=-1", "after"), ("after=x", "after"), (f"after={2**63}", "after"),
                             ("offset=1", "offset"), ("sort=id", "sort")):
            check_error(me.get(f"{due}?{query}"), 400, "bad_value", field)
        assert len(done(me.get(f"{due}?limit=1000"))) == 5
        check_error(me.get("node_roles/999999/boot_due"), 404, "not_found", "id")
        assert me.post(due, {}).status == 405 and me.delete(due).status == 405
        # A role that serves no boots, and a noderole that is proposed, have nothing to publish.
        plain = bind(me, "adm.example.com", "plain")
        assert done(me.get(f"node_roles/{plain}/boot_due")) == []
        done(me.put(f"node_roles/{bound['dhcp']}/propose"))
        assert done(me.get(due)) == []
        assert done(me.get("nodes/m1.example.com/boot"))["servers"] == []


def setting(own):
    with contextlib.closing(sqlite3.connect(own.path("halligan.db"))) as store:
        return bool(store.execute("SELECT boot_server FROM settings").fetchone()[0])


def test_a_boot_server_that_never_connected_is_named(daemon):
    with site(daemon, "--boot-server", "true", roles=("pxe",)) as (own, me, bound):
        assert setting(own)
        boot = done(me.get("nodes/m1.example.com/boot"))
        assert boot["served"] is False and boot["servers"] == [{
            "node_role_id": bound["pxe"], "role": "pxe", "node": "adm.example.com", "state": "active",
            "kind": "native", "served": False, "connected": False, "since": None, "turn": None,
            "attempt": None}], boot
        assert done(me.get("nodes/m1.example.com/bootstate"))["bootstate"] is None
        assert done(me.get(f"node_roles/{bound['pxe']}/boot_due")) == []
        # A restart waits for it, and `why` names it.
        done(me.post("hammers", {"node": "m1.example.com", "available_hammer": "redfish",
                                 "endpoint": "https://127.0.0.1:9", "username": "root"}))
        done(me.put("nodes/m1.example.com", {"bootenv": "local"}))
        order = me.put("nodes/m1.example.com/power?poweraction=reset")
        assert order.status in (200, 202), order
        chain = done(me.get("nodes/m1.example.com/why"))["chain"]
        assert [(c["code"], c["object"], c["name"]) for c in chain] == [
            ("boot_not_served", "node_role", "system: adm.example.com: pxe"),
            ("boot_server_lost", "node", "adm.example.com")], chain
        assert chain[0]["node_role_id"] == bound["pxe"], chain
        assert "has not connected since the daemon started" in chain[1]["text"], chain
        groups = done(me.get("deployments/system/why"))["groups"]
        [lost] = [g for g in groups if g["code"] == "boot_server_lost"]
        assert (lost["roots"], lost["node_roles"]) == (1, 1) and lost["text"], lost


def test_boot_server_is_kept_set_and_unset(daemon):
    with site(daemon, roles=("pxe",)) as (own, me, _):
        conf = own.path("halligan.conf")

        def restarted(*words):
            own.stop()
            own.start("--barclamps", own.path("shelf"), *words)
            return own.client

        # Nothing is waited for until one has connected.
        assert not setting(own) and done(me.get("nodes/m1.example.com/boot"))["served"] is True
        me = restarted("--boot-server", "true")
        assert setting(own) and done(me.get("nodes/m1.example.com/boot"))["served"] is False
        # Without the option, and with auto, the stored value is kept.
        for words in ((), ("--boot-server", "auto")):
            me = restarted(*words)
            assert setting(own) and done(me.get("nodes/m1.example.com/boot"))["served"] is False
        own.write("halligan.conf", f"barclamps = {own.path('shelf')}\n")
        restarted("--config", conf)
        assert setting(own)
        own.write("halligan.conf", f"barclamps = {own.path('shelf')}\nboot-server = false\n")
        own.process.send_signal(signal.SIGHUP)
        eventually(lambda: not setting(own), "the setting is unset")
        assert done(own.client.get("nodes/m1.example.com/boot"))["served"] is True
        wrong = own.run("--boot-server", "perhaps", "--check-config")
        assert wrong.returncode == 2 and "must be auto, true or false" in wrong.stderr, wrong
