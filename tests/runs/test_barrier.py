"""The boot barrier with real scripts of roles that publish boots and a real Redfish service (ADR 0090): a
power action waits until every noderole that serves boots has served the boot generation of the node.

The two databases run the script that docs/barclamp-guide.md prints for a site with a server of its own.
A second script notes what the run was given, waits at a gate, and fails while a file is there; both and
the supervisor are killed. The machine is behind Redfish.
"""
import glob
import importlib.util
import os
import signal
import subprocess
import sys

from test_wipe import Rack as DiskRack, write
from yard import ACTIVE, ERROR, OK, RUN_PARKED, TODO, contents, eventually, processes

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "redfish"))

from service import Service  # noqa: E402

ROLES = ("site-dhcp", "site-provisioner")

# HERE is the directory of the yard. The reload of the server comes last, as in the guide.
GATE = """\
note() {{ # WORD
    for id in $(get_keys boot/due); do
        generation=$(read_attribute "boot/due/$id/generation" || :)
        more=$id:$generation
        [ -n "$generation" ] || more=remove:$id
        read -r up _ < /proc/uptime
        printf '%s %s - {role} - %s\\n' "$up" "$1" "$more" >> '{here}/ledger'
    done
}}
note asked
flock -s '{here}/gate.{role}' true
[ ! -e '{here}/broken.{role}' ] || exit 1
note served
"""

MACHINE = {"admin-v4addr": "192.168.124.81/24", "admin_macs": ["52:54:00:ab:cd:0f"]}


def read_guide():
    """tests/cli/guide.py, whose folder has modules with names that are used here as well."""
    spec = importlib.util.spec_from_file_location("guide", os.path.join(HERE, "..", "cli", "guide.py"))
    guide = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guide)
    return guide


def publishing_script(y, role):
    """The script of the guide with another directory, and without a server that reads it."""
    guide = read_guide()
    script = next(text for kind, path, text in guide.steps()
                  if kind == "file" and path == "site/scripts/site-dhcp/10-publish.sh")
    for old, new in (("dir=/etc/dnsmasq.hosts", f"dir={y.path('state')}/$node.{role}"),
                     ("systemctl kill --signal=HUP dnsmasq", ":")):
        assert script.count(old) == 1, old
        script = script.replace(old, new)
    return script


def add_databases(y):
    for role in ROLES:
        y.role(role, publishing_script(y, role), GATE.format(here=y.data, role=role), flags=["serves-boot"])
    y.role("found", flags=["discovery", "implicit", "milestone"])
    y.hammers.append({"name": "redfish", "type": "redfish", "priority": 5})


RESETS = """\
return { on_active = function(noderole) halligan.power(noderole.node_id, 'reset') end }
"""


class Served:
    """What a machine of a rack boots, and who has served it."""

    def bind_databases(self, dhcp=1):
        y = self.y
        self.serve_redfish()
        self.dhcp = [y.run(y.node(f"dhcp{i}"), "site-dhcp") for i in range(dhcp)]
        self.pxe = y.run(y.node("pxe"), "site-provisioner")
        self.both = [*self.dhcp, self.pxe]
        y.reaches(y.run(self.node, "found"), ACTIVE)

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

    def boot(self):
        answer = self.y.me.get(f"nodes/{self.node}/boot")
        assert answer.status == 200, answer
        return answer.json()

    def has_served(self, noderole):
        return [server["served"] for server in self.boot()["servers"]
                if server["node_role_id"] == noderole] == [True]

    def is_served_by(self, noderole, generation):
        assert self.generation() == generation
        eventually(lambda: self.has_served(noderole),
                   lambda: f"{noderole} has served {generation}: {self.boot()}")

    def is_served(self):
        for noderole in self.both:
            self.is_served_by(noderole, self.generation())

    def entry(self, noderole):
        """What that database has published for the machine, a line for dnsmasq; None: nothing."""
        row = self.y.one("SELECT role.name AS role, node.name AS node FROM noderole JOIN role ON role.id = role_id "
                         "JOIN node ON node.id = node_id WHERE noderole.id = ?", noderole)
        return self.y.read("state", f"{row['node']}.{row['role']}", str(self.row()["id"])) or None

    def publishes(self, noderole, bootenv):
        name = self.row()["name"]
        wanted = f"52:54:00:ab:cd:0f,set:{bootenv},192.168.124.81,{name}\n"
        assert self.entry(noderole) == wanted, (self.entry(noderole), wanted)

    def was_asked(self, role, generation):
        wanted = f"{self.row()['id']}:{generation}"
        return any(line.more == wanted for line in self.y.ledger("asked", role=role))

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


class Rack(Served):
    """A machine that runs from its disk, and the noderoles that serve its boots."""

    def __init__(self, y, *flags, dhcp=1):
        self.y = y
        add_databases(y)
        y.role("install", "say install", lua=RESETS, flags=["destructive"])
        self.flags = ("--pool-high", "4", *flags)
        y.start(*self.flags)
        self.node = y.node("metal", hint=MACHINE)
        self.bind_databases(dhcp)
        y.set_node(self.node, bootenv="local")
        self.is_served()


def goes_down_behind_the_barrier(rack, verb, bootenv, boots):
    y = rack.y
    before = rack.generation()
    y.shut("site-dhcp")
    y.shut("site-provisioner")
    rack.verb(verb)
    assert rack.row()["bootenv"] == bootenv and rack.generation() == before + 1
    for role in ROLES:
        eventually(lambda: rack.was_asked(role, before + 1), f"{role} publishes it")
    rack.waits()
    rack.restart()
    rack.waits()
    y.open("site-dhcp")
    for noderole in rack.dhcp:
        rack.is_served_by(noderole, before + 1)
    rack.waits()
    y.open("site-provisioner")
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
    y.shut("site-provisioner")
    y.set_node(rack.node, bootenv="some-install")
    install = y.run(rack.node, "install")
    eventually(lambda: y.results(install) == [OK], "it is done")
    for noderole in rack.dhcp:
        rack.is_served_by(noderole, rack.generation())
    eventually(lambda: not rack.row()["alive"], "it is to go down")
    assert y.look(install)["state"] == TODO
    rack.waits()
    y.open("site-provisioner")
    rack.was_reset("Pxe")
    assert len(y.ledger("install")) == 1


def test_x01_a_machine_that_is_never_served_is_not_rebooted_and_its_node_says_so(y):
    rack = Rack(y, "--boot-wait", "2")
    y.shut("site-provisioner")
    rack.verb("redeploy")
    eventually(lambda: rack.row()["status"], "it was given up")
    server = y.one("SELECT node.name FROM node JOIN noderole ON node.id = node_id "
                   "WHERE noderole.id = ?", rack.pxe)["name"]
    assert rack.row()["status"] == (
        f"reset was not done: site-provisioner on {server} has not served boot generation "
        f"{rack.generation()} within 2 s"), rack.row()
    assert not rack.row()["alive"] and rack.machine.resets == []
    y.open("site-provisioner")  # too late
    rack.is_served_by(rack.pxe, rack.generation())
    eventually(lambda: not y.rows("SELECT 1 FROM outbox"), "all hooks are answered")
    assert rack.machine.resets == [] and rack.row()["status"] != ""
    answer = y.me.put(f"nodes/{rack.node}/power?poweraction=reset")
    assert answer.status == 200, answer
    rack.was_reset("Pxe")


def test_x01_a_database_that_fails_is_not_waited_for(y):
    rack = Rack(y)
    write(y.path("broken.site-provisioner"), "")
    rack.verb("redeploy")
    eventually(lambda: rack.row()["status"], "it was given up")
    assert "is in error and has not served boot generation" in rack.row()["status"], rack.row()
    assert not rack.row()["alive"] and rack.machine.resets == []


# -- scripts that are slow, fail and are killed ----------------------------------------------------


def processes_of(y, *words):
    """The processes of this yard with these words in their command lines."""
    found = [pid for pid in processes() if y.data.encode() in contents(pid, "cmdline") + contents(pid, "environ")]
    return [pid for pid in found if all(word.encode() in contents(pid, "cmdline") for word in words)]


def kill(y, *words):
    pids = eventually(lambda: processes_of(y, *words), f"{words} runs")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def test_c172_a_change_is_published_by_both_with_priority_and_no_change_by_none(y):
    rack = Rack(y)
    before = {noderole: len(y.history(noderole)) for noderole in rack.both}
    for role in ROLES:
        y.shut(role)
    y.set_node(rack.node, bootenv="sledgehammer")
    for role, noderole in zip(ROLES, rack.both):
        eventually(lambda: rack.was_asked(role, rack.generation()), f"{role} publishes it")
        assert [run["queue"] for run in y.runs(noderole)] == [1], y.runs(noderole)
        rack.publishes(noderole, "sledgehammer")
        assert not rack.has_served(noderole)
    for role in ROLES:
        y.open(role)
    rack.is_served()
    y.set_node(rack.node, bootenv="sledgehammer", description="nothing that it boots has changed")
    eventually(lambda: not y.rows("SELECT 1 FROM outbox"), "all hooks are answered")
    for noderole in rack.both:
        y.settles(noderole)
        assert len(y.history(noderole)) == before[noderole] + 1, y.history(noderole)
        rack.publishes(noderole, "sledgehammer")


def test_c172_what_a_failed_or_killed_publisher_got_is_repeated(y):
    """The script fails, is killed, the supervisor is killed."""
    rack = Rack(y)
    broken = y.path("broken.site-dhcp")
    for number, how in enumerate(("fails", "script", "supervisor")):
        y.shut("site-dhcp")
        y.set_node(rack.node, bootenv=f"env-{number}")
        generation = rack.generation()
        eventually(lambda: rack.was_asked("site-dhcp", generation), f"it is published ({how})")
        rack.is_served_by(rack.pxe, generation)
        if how == "fails":
            write(broken, "")
            y.open("site-dhcp")
        elif how == "script":
            kill(y, "10.sh")
        else:
            os.kill(y.supervisor(), signal.SIGKILL)
        y.reaches(rack.dhcp[0], ERROR)
        assert not rack.has_served(rack.dhcp[0])
        rack.publishes(rack.dhcp[0], f"env-{number}")
        if how == "fails":
            os.unlink(broken)
        else:
            y.open("site-dhcp")
        y.verb(rack.dhcp[0], "retry")
        rack.is_served()
        assert y.ledger("served", role="site-dhcp")[-1].more == f"{rack.row()['id']}:{generation}"
    assert not [line for line in y.ledger() if line.more.startswith("remove")]


def test_c172_a_deleted_machine_leaves_both_databases(y):
    rack = Rack(y)
    files = [glob.glob(y.path("state", f"*.{role}", str(rack.row()["id"]))) for role in ROLES]
    assert all(len(found) == 1 for found in files), files
    removed = f"remove:{rack.row()['id']}"
    assert y.me.delete(f"nodes/{rack.node}").status == 200
    for role in ROLES:
        eventually(lambda: any(line.more == removed for line in y.ledger("served", role=role)), f"{role} removes it")
    assert not any(os.path.exists(found[0]) for found in files)


class InstallRack(Served, DiskRack):
    """A machine with a disk that provisioner-os-install wipes; its databases are shut."""

    def __init__(self, y, *flags):
        add_databases(y)
        DiskRack.__init__(self, y, "da", flags=("--pool-high", "4", *flags))
        hint = dict(MACHINE, reservations={"disks": self.inventory()})
        self.node = y.node("one", hint=hint)
        self.bind_databases()
        self.is_served()

    def install(self):
        self.noderole = self.y.bind(self.node, "provisioner-os-install")
        eventually(lambda: self.chosen() == ["da"], "the disk is chosen")
        self.y.commit(self.noderole)

    def waits_for(self, role):
        self.y.shut(role)
        self.install()
        eventually(lambda: self.row()["bootenv"] == "debian-12-install", "the installer is ordered")
        eventually(lambda: self.was_asked(role, self.generation()), f"{role} publishes it")
        eventually(lambda: self.y.rows("SELECT 1 FROM run WHERE noderole_id = ? AND state = ?", self.noderole,
                                       RUN_PARKED), "its run waits")

    def fails_with(self, text):
        failed = self.y.reaches(self.noderole, ERROR)
        full = self.y.me.get(f"node_roles/{self.noderole}?view=full").json()
        assert full["reason"] == "boot_not_served" and text in full["reason_text"], full
        assert self.machine.resets == [] and self.is_wiped("da") and self.row()["alive"], failed


def test_c175_a_database_that_is_stopped_ends_the_installation_after_boot_wait(y):
    rack = InstallRack(y, "--boot-wait", "5")
    rack.waits_for("site-dhcp")
    rack.fails_with("site-dhcp on ")
    rack.fails_with(f"has not served boot generation {rack.generation()} within 5 s")
    y.open("site-dhcp")  # too late
    rack.is_served()
    assert y.look(rack.noderole)["state"] == ERROR and rack.machine.resets == []


def test_c175_a_database_that_is_killed_ends_the_installation_at_once(y):
    """Its script, and then the supervisor. Then it is repaired, and the machine is installed."""
    rack = InstallRack(y)
    rack.waits_for("site-provisioner")
    kill(y, "10.sh")
    rack.fails_with("site-provisioner on ")
    rack.fails_with(f"is in error and has not served boot generation {rack.generation()}")
    y.open("site-provisioner")
    y.verb(rack.pxe, "retry")
    rack.is_served()
    y.verb(rack.noderole, "retry")
    eventually(lambda: rack.machine.resets, lambda: f"it is restarted: {y.look(rack.noderole)}")
    assert len(rack.machine.resets) == 1 and not rack.row()["alive"]
    assert y.one("SELECT run_count FROM noderole WHERE id = ?", rack.noderole)["run_count"] == 1
