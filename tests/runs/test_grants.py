"""Grants of installations with a real daemon, hooks and stores (ADR 0089): who gets one, what a restore
and an import do to it, and what becomes of an installer that is silent or stops at a stamp.

No machine asks for its installer over HTTP: a test that needs a grant that was used writes the
ticket into the store while no daemon runs, as a boot server would have left it."""
import os
import sqlite3
import subprocess

from yard import ACTIVE, ERROR, RUN_PARKED, eventually

WAITS = "say wiped; exit 128"

# As the role that installs: sets the environment while its run waits.
INSTALLS = """\
return {
  on_node_change = function(node, context)
    local noderole = context.noderole
    if not noderole or not noderole.run or noderole.run.state ~= 'parked' then return end
    if node.bootenv == 'debian-install' and (node.grant == 'unused' or node.grant == 'used') then
      return
    end
    halligan.set_bootenv(halligan.maybe(node), 'debian-install', noderole)
  end,
}
"""


def write_store(y, *statements):
    """Into the store of a daemon that has stopped."""
    store = sqlite3.connect(y.path("halligan.db"))
    for statement in statements:
        store.execute(statement)
    store.execute("UPDATE leadership SET digest = ''")
    store.commit()
    store.close()


class Site:
    """One machine, whose run has wiped it and waits for the installer to be served."""

    def __init__(self, y, *flags):
        self.y = y
        y.role("found", flags=["discovery", "implicit", "milestone"])
        y.role("install", WAITS, lua=INSTALLS, flags=["destructive"])
        y.start(*flags)
        self.node = y.node("metal")
        y.reaches(y.run(self.node, "found"), ACTIVE)
        self.install = y.run(self.node, "install")
        self.parks()

    def parks(self):
        eventually(lambda: self.y.rows("SELECT 1 FROM run WHERE noderole_id = ? AND state = ?",
                                       self.install, RUN_PARKED), "its run waits")

    def row(self):
        return self.y.one("SELECT * FROM node WHERE name = ?", self.node)

    def shown(self):
        return self.y.me.get(f"nodes/{self.node}?view=full").json()

    def touch(self, text):
        """Something about the node changes, so its hooks are called."""
        self.y.set_node(self.node, description=text)

    def is_granted(self, generation):
        eventually(lambda: self.row()["boot_generation"] == generation, "the environment is set")
        row = self.row()
        assert (row["bootenv"], row["grant_noderole"]) == ("debian-install", self.install), row
        assert (row["grant_void"], row["grant_ticket"]) == (0, ""), row

    def write(self, *statements):
        write_store(self.y, *statements)

    def boots_installer(self):
        """The machine is restarted, and uses the grant while no daemon runs."""
        self.y.set_node(self.node, alive=False)
        self.y.stop()
        self.write("UPDATE node SET grant_at = 1700000000000, "
                   f"grant_ticket = '{'ab' * 32}' WHERE name = '{self.node}'")


def codes(y, node):
    return [cause["code"] for cause in y.me.get(f"nodes/{node}/why").json()["chain"]]


def replace_store(y, verb):
    """`halligand export`, then restore or import of the copy into an empty place."""
    copy = y.path("copy.db")
    subprocess.run([y.program, "--data", y.data, "export", copy], check=True, capture_output=True)
    for end in ("", "-wal", "-shm"):
        if os.path.exists(y.path("halligan.db" + end)):
            os.unlink(y.path("halligan.db" + end))
    subprocess.run([y.program, "--data", y.data, verb, copy], check=True, capture_output=True)
    os.unlink(copy)


def is_barred_until_committed(y, verb, how):
    site = Site(y)
    site.touch("the wipe is done")
    site.is_granted(1)
    y.stop()
    replace_store(y, verb)
    row = site.row()
    assert (row["grant_noderole"], row["grant_void"]) == (site.install, how), row
    y.start()
    # The run that waited before the copy asks again.
    site.touch("the daemon is back")
    y.reaches(site.install, ERROR)
    failed = y.me.get(f"node_roles/{site.install}?view=full").json()
    assert failed["reason"] == "commit_outdated", failed
    assert "proposed and committed again" in failed["reason_text"], failed
    assert site.row()["boot_generation"] == 1
    assert y.me.put(f"node_roles/{site.install}/propose").status == 200
    y.commit(site.install)
    site.parks()
    site.touch("it was committed again")
    site.is_granted(2)


def test_a_restored_store_installs_after_a_new_commit_only(y):
    is_barred_until_committed(y, "restore", 4)


def test_an_imported_store_installs_after_a_new_commit_only(y):
    is_barred_until_committed(y, "import", 5)


def test_an_environment_of_an_operator_has_no_grant_and_why_states_it(y):
    y.start()
    node = y.node("plain", admin=False, alive=False)
    y.set_node(node, bootenv="ubuntu-install")
    assert y.one("SELECT * FROM node WHERE name = ?", node)["grant_noderole"] == 0
    assert codes(y, node) == ["no_grant"], codes(y, node)


def test_a_silent_installer_is_named_and_may_report_late(y):
    site = Site(y)
    site.touch("the wipe is done")
    site.is_granted(1)
    site.boots_installer()
    y.start("--install-wait", "1")
    eventually(lambda: site.shown()["status"], "it is silent")
    shown = site.shown()
    assert (shown["reason"], shown["reason_subject"]) == ("installer_silent", "debian-install"), shown
    assert codes(y, site.node)[-2:] == ["install_stopped", "installer_silent"], codes(y, site.node)
    assert site.row()["grant_void"] == 7 and site.row()["grant_ticket"] == ""
    report = {"bootenv": "local", "boot_generation": 1}
    assert y.me.put(f"nodes/{site.node}", report).status == 200
    assert site.shown()["reason"] is None and site.row()["grant_noderole"] == 0
    # Repeated, it changes nothing.
    before = site.row()
    answer = y.me.put(f"nodes/{site.node}", report)
    assert answer.status == 409 and answer.json()["code"] == "stale", answer
    assert site.row() == before


def test_a_redeploy_installs_above_the_stamp_that_stopped_the_installer(y):
    y.start()
    node = y.node("plain", admin=False, alive=False)
    y.set_node(node, bootenv="debian-install")
    y.set_node(node, boot_generation=1, stamp_generation=9)
    shown = y.me.get(f"nodes/{node}?view=full").json()
    assert (shown["reason"], shown["reason_subject"]) == ("disk_stamped", "9"), shown
    assert codes(y, node) == ["install_stopped", "disk_stamped"], codes(y, node)
    answer = y.me.put(f"nodes/{node}", {"stamp_generation": 0})
    assert answer.status == 400 and answer.json()["code"] == "bad_value", answer
    answer = y.me.put(f"nodes/{node}", {"boot_generation": 2, "stamp_generation": 12})
    assert answer.status == 409 and answer.json()["code"] == "stale", answer
    assert y.me.put(f"nodes/{node}/redeploy").status == 200
    row = y.one("SELECT * FROM node WHERE name = ?", node)
    assert (row["boot_generation"], row["stamp_generation"]) == (10, 0), row
    assert row["reason"] == 0 or "stamp" not in row["status"], row
