"""The boot barrier with real scripts and a real Redfish service (ADR 0048): a power action waits until
every noderole that serves boots has served the boot generation of the node.

Two kinds of database serve what machines boot. Their scripts publish what they were given, at a
gate of their own; only what a script has published is acknowledged. The machine is behind Redfish.
"""
import json
import os
import subprocess
import sys

from yard import ACTIVE, OK, TODO, eventually

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "redfish"))

from service import Service  # noqa: E402

PUBLISH = """
word=$(read_attribute yard/word || echo '{}')
say asked "$word"
gate "$role"
write_attribute yard/word "$word"
say served "$word"
"""

SERVES = """\
return {
  on_node_change = function(node, context)
    if not halligan.find(node.name, 'metal') then return end
    for _, nr in ipairs(context.noderoles) do
      halligan.set_attrib('noderole', nr, 'word-ROLE', { [node.name] = node.boot_generation })
      halligan.hurry(nr)
    end
  end,
  on_active = function(noderole)
    local yard = noderole.wall.yard
    for name, generation in pairs(yard and yard.word or {}) do
      halligan.boot_served(halligan.maybe(name), noderole, generation)
    end
  end,
}
"""

RESETS = """\
return { on_active = function(noderole) halligan.power(noderole.node_id, 'reset') end }
"""


class Rack:
    """A machine that runs from its disk, and the noderoles that serve its boots."""

    def __init__(self, y, *flags, dhcp=1):
        self.y = y
        for role in ("dhcp", "pxe"):
            y.role(role, PUBLISH, lua=SERVES.replace("ROLE", role), flags=["serves-boot"])
        y.role("found", flags=["discovery", "implicit", "milestone"])
        y.role("install", "say install", lua=RESETS, flags=["destructive"])
        y.hammers.append({"name": "redfish", "type": "redfish", "priority": 5})
        self.flags = ("--pool-high", "4", *flags)
        y.start(*self.flags)
        self.node = y.node("metal")
        self.serve_redfish()
        self.dhcp = [y.run(y.node(f"dhcp{i}"), "dhcp") for i in range(dhcp)]
        self.pxe = y.run(y.node("pxe"), "pxe")
        y.reaches(y.run(self.node, "found"), ACTIVE)
        y.set_node(self.node, bootenv="local")
        for noderole in [*self.dhcp, self.pxe]:
            self.is_served_by(noderole, self.generation())

    def serve_redfish(self):
        y = self.y
        cert, key = y.path("redfish.pem"), y.path("redfish.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "30", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        for hammer in y.me.get(f"nodes/{self.node}/hammers").json():
            assert y.me.delete(f"hammers/{hammer['id']}").status == 200  # only its power is left
        service = Service("generic", cert=cert, key=key)
        y.things.append(service)
        self.machine = service.systems["1"]
        self.machine.turn("On")
        y.hammer(self.node, "redfish", endpoint=service.url, username="root",
                 authenticator="calvin", extra={"ca": cert})

    def row(self):
        return self.y.one("SELECT * FROM node WHERE name = ?", self.node)

    def generation(self):
        return self.row()["boot_generation"]

    def seen(self):
        return json.loads(self.row()["boot_seen"] or "{}")

    def is_served_by(self, noderole, generation):
        eventually(lambda: self.seen().get(str(noderole)) == generation,
                   lambda: f"{noderole} has served {generation}: {self.seen()}")

    def was_asked(self, role, generation):
        return any(f":{generation}" in line.more for line in self.y.ledger("asked", role=role))

    def verb(self, verb):
        answer = self.y.me.put(f"nodes/{self.node}/{verb}")
        assert answer.status == 200, answer

    def restart(self):
        self.y.kill()
        self.y.start(*self.flags)

    def waits(self):
        """Nothing reached the machine, and the order is still there."""
        rows = self.y.rows("SELECT * FROM outbox WHERE generation > 0")
        assert [row["generation"] for row in rows] == [self.generation()], rows
        assert self.machine.resets == [], self.machine.resets

    def was_reset(self, boots):
        eventually(lambda: self.machine.resets, lambda: f"it is restarted: {self.row()}")
        assert self.machine.resets == ["ForceRestart"], self.machine.resets
        assert self.machine.boots[-1] == boots, self.machine.boots
        eventually(lambda: not self.y.rows("SELECT 1 FROM outbox"), "all hooks are answered")
        assert self.row()["status"] == "" and not self.row()["alive"]


def goes_down_behind_the_barrier(rack, verb, bootenv, boots):
    y = rack.y
    before = rack.generation()
    y.shut("dhcp")
    y.shut("pxe")
    rack.verb(verb)
    assert rack.row()["bootenv"] == bootenv and rack.generation() == before + 1
    for role in ("dhcp", "pxe"):
        eventually(lambda: rack.was_asked(role, before + 1), f"{role} publishes it")
    rack.waits()
    rack.restart()
    rack.waits()
    y.open("dhcp")
    for noderole in rack.dhcp:
        rack.is_served_by(noderole, before + 1)
    rack.waits()
    y.open("pxe")
    rack.was_reset(boots)


def test_x10_a_redeploy_reaches_the_machine_after_all_have_served_it(y):
    goes_down_behind_the_barrier(Rack(y), "redeploy", "sledgehammer", "Pxe")


def test_x10_so_does_a_debug_and_an_undebug(y):
    rack = Rack(y)
    goes_down_behind_the_barrier(rack, "debug", "sledgehammer", "Pxe")
    rack.machine.resets.clear()
    goes_down_behind_the_barrier(rack, "undebug", "local", "Hdd")


def test_x09_every_one_of_several_databases_has_to_serve_it(y):
    """Two noderoles of the same role, and one of another: the slowest counts."""
    goes_down_behind_the_barrier(Rack(y, dhcp=2), "redeploy", "sledgehammer", "Pxe")


def test_x01_an_install_is_rebooted_after_all_have_served_what_it_boots(y):
    rack = Rack(y)
    y.shut("pxe")
    y.set_node(rack.node, bootenv="some-install")
    install = y.run(rack.node, "install")
    eventually(lambda: y.results(install) == [OK], "it is done")
    for noderole in rack.dhcp:
        rack.is_served_by(noderole, rack.generation())
    eventually(lambda: not rack.row()["alive"], "it is to go down")
    assert y.look(install)["state"] == TODO
    rack.waits()
    y.open("pxe")
    rack.was_reset("Pxe")
    assert len(y.ledger("install")) == 1


def test_x01_a_machine_that_is_never_served_is_not_rebooted_and_its_node_says_so(y):
    rack = Rack(y, "--boot-wait", "2")
    y.shut("pxe")
    rack.verb("redeploy")
    eventually(lambda: rack.row()["status"], "it was given up")
    server = y.one("SELECT node.name FROM node JOIN noderole ON node.id = node_id "
                   "WHERE noderole.id = ?", rack.pxe)["name"]
    assert rack.row()["status"] == (
        f"reset was not done: pxe on {server} has not served boot generation "
        f"{rack.generation()} within 2 s"), rack.row()
    assert not rack.row()["alive"] and rack.machine.resets == []
    y.open("pxe")  # too late
    rack.is_served_by(rack.pxe, rack.generation())
    eventually(lambda: not y.rows("SELECT 1 FROM outbox"), "all hooks are answered")
    assert rack.machine.resets == [] and rack.row()["status"] != ""
    answer = y.me.put(f"nodes/{rack.node}/power?poweraction=reset")
    assert answer.status == 200, answer
    rack.was_reset("Pxe")


def test_x01_a_database_that_fails_is_not_waited_for(y):
    rack = Rack(y)
    y.role("pxe", "say broken; exit 1")
    rack.verb("redeploy")
    eventually(lambda: rack.row()["status"], "it was given up")
    assert "is in error and has not served boot generation" in rack.row()["status"], rack.row()
    assert not rack.row()["alive"] and rack.machine.resets == []
