"""The wipe of the shipped role provisioner-os-install, with a real daemon: the disk is chosen before
the commit, and the run wipes what was committed or nothing.

The role, its code and its script are those of barclamps/provisioner, without the roles that it requires.
Disks are files. The directories that describe them have the form of sysfs; their paths replace the
defaults in the copy of the script, because a run gets no variables of the daemon.
"""
import os
import re
import shutil

from yard import ERROR, eventually

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIPPED = os.path.join(ROOT, "barclamps", "provisioner")
ROLE = "provisioner-os-install"
SIZE = 4 << 20


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Rack:
    """One machine with disks; its work is done on this host."""

    def __init__(self, y, *disks, flags=()):
        self.y, self.disks = y, disks
        with open(os.path.join(SHIPPED, "provisioner.yml"), encoding="utf-8") as file:
            text = file.read()
        role = text[text.index(f"  - name: {ROLE}\n"):text.index("\nattribs:\n")]
        role = re.sub(r"    requires:\n(      - .*\n)+", "", role)
        attribs = text[text.index("\nattribs:\n"):text.index("\n# Of versions")]
        attribs += ("  - {name: claimed-disks, description: owners, map: claimed-disks, schema: {type: map, "
                    "mapping: {'=': {type: str}}}}\n")
        folder = y.path("barclamps", "wipes")
        write(os.path.join(folder, "wipes.yml"), f"barclamp: {{name: wipes}}\nroles:\n{role}{attribs}")
        os.makedirs(os.path.join(folder, "roles"))
        shutil.copy(os.path.join(SHIPPED, "roles", ROLE + ".lua"), os.path.join(folder, "roles"))
        with open(os.path.join(SHIPPED, "scripts", ROLE, "10-wipe.sh"), encoding="utf-8") as file:
            script = file.read()
        for name in ["RUN", "SYSFS", "PROC", "DEV", "UDEV", "JOINED"]:
            script, count = re.subn(r"\$\{HALLIGAN_" + name + r":-[^}]*\}", y.path("machine", name), script)
            assert count == 1, name
        write(os.path.join(folder, "scripts", ROLE, "10-wipe.sh"), script)
        write(y.path("machine", "PROC", "self", "mountinfo"), "")
        os.symlink("/proc/uptime", y.path("machine", "PROC", "uptime"))
        for number, disk in enumerate(disks):
            write(y.path("machine", "SYSFS", "block", disk, "dev"), f"8:{16 * number}\n")
            write(y.path("machine", "SYSFS", "block", disk, "ro"), "0\n")
            write(y.path("machine", "SYSFS", "block", disk, "size"), f"{SIZE // 512}\n")
            self.serial(disk, "SERIAL-" + disk)
            write(y.path("machine", "DEV", disk), "x" * SIZE)
        y.role("unused")  # the barclamp of the yard has the jigs
        y.start(*flags)

    def serial(self, disk, text):
        write(self.y.path("machine", "SYSFS", "block", disk, "serial"), text + "\n")

    def inventory(self):
        return [{"unique_name": disk, "path": "/dev/" + disk, "serial": "SERIAL-" + disk, "size": SIZE}
                for disk in self.disks]

    def bind(self, disks=None):
        """The node and its noderole; the hooks have chosen a disk, or stated why not."""
        reservations = {"disks": self.inventory() if disks is None else disks}
        self.node = self.y.node("one", hint={"reservations": reservations})
        self.noderole = self.y.bind(self.node, ROLE)
        return eventually(lambda: self.value("provisioner-announced"), "the hook has answered")

    def value(self, attrib):
        answer = self.y.me.get(f"node_roles/{self.noderole}/attribs/{attrib}")
        assert answer.status == 200, answer
        return answer.json()["value"]

    def chosen(self):
        return [disk["name"] for disk in self.value("provisioner-wipe") or []]

    def set(self, attrib, value):
        answer = self.y.me.put(f"node_roles/{self.noderole}/attribs/{attrib}", {"value": value})
        assert answer.status == 200, answer

    def is_wiped(self, disk):
        """None: a part of it."""
        with open(self.y.path("machine", "DEV", disk), encoding="utf-8") as file:
            text = file.read()
        assert len(text) == SIZE, disk
        if text == "x" * SIZE:
            return False
        ends = {text[:1 << 20], text[-(1 << 20):]}
        return True if ends == {"\0" * (1 << 20)} and text[1 << 20:-(1 << 20)] == "x" * (SIZE - (2 << 20)) else None


def plan(rack):
    answer = rack.y.me.get("deployments/system/plan")
    assert answer.status == 200, answer
    return answer.json()


def commit(rack, **query):
    words = "&".join(f"{key}={value}" for key, value in query.items())
    return rack.y.me.put("deployments/system/commit" + ("?" + words if words else ""), {})


def test_the_committed_disk_is_wiped_and_no_other(y):
    rack = Rack(y, "da", "db", "dc")
    rack.bind()
    assert rack.chosen() == ["da"]
    rack.set("provisioner-disk", "db")
    eventually(lambda: rack.chosen() == ["db"], "the hook has chosen again")
    [entry] = plan(rack)["destroys"]
    assert entry["targets"]["wipe"] == [{"name": "db", "path": "/dev/db", "serial": "SERIAL-db", "size": SIZE}]
    assert commit(rack).status == 200
    eventually(lambda: rack.is_wiped("db"), "the wipe is complete")
    assert [rack.is_wiped(disk) for disk in rack.disks] == [False, True, False]


def test_unclaimed_disks_are_wiped_if_that_was_committed(y):
    rack = Rack(y, "da", "db", "dc", "dd")
    disks = rack.inventory()
    disks[3]["removable"] = True
    rack.bind(disks)
    answer = y.me.put(f"nodes/{rack.node}/attribs/claimed-disks", {"value": {"db": "ceph"}})
    assert answer.status == 200, answer
    rack.set("provisioner-wipe_scope", "unclaimed")
    eventually(lambda: rack.chosen() == ["da", "dc"], "the hook has chosen again")
    assert commit(rack).status == 200
    eventually(lambda: rack.is_wiped("da") and rack.is_wiped("dc"), "both are wiped")
    assert not rack.is_wiped("db") and not rack.is_wiped("dd")


def test_a_disk_that_was_replaced_stops_the_run_before_the_first_write(y):
    rack = Rack(y, "da", "db")
    rack.bind()
    rack.set("provisioner-wipe_scope", "unclaimed")
    eventually(lambda: rack.chosen() == ["da", "db"], "the hook has chosen again")
    rack.serial("db", "OTHER")
    assert commit(rack).status == 200
    y.reaches(rack.noderole, ERROR)
    failed = y.me.get(f"node_roles/{rack.noderole}?view=full").json()
    assert failed["reason"] == "disk_differs" and failed["reason_subject"] == "db", failed
    why = y.me.get(f"node_roles/{rack.noderole}/why").json()
    assert f"committed serial SERIAL-db, {SIZE} bytes, found serial OTHER" in str(why), why
    assert not rack.is_wiped("da") and not rack.is_wiped("db")


def test_without_a_disk_the_commit_is_refused_and_names_the_machine(y):
    rack = Rack(y, "da")
    rack.bind([{"unique_name": "da", "removable": True}])
    for answer in [commit(rack), y.me.put(f"node_roles/{rack.noderole}/commit", {}),
                   y.me.get("deployments/system/plan")]:
        assert answer.status == 409 and answer.json()["code"] == "hook_veto", answer
        assert f"no disk of {rack.node} can be used" in answer.json()["message"], answer
    assert not rack.is_wiped("da")


def test_a_plan_does_not_commit_another_disk(y):
    rack = Rack(y, "da", "db")
    rack.bind()
    agreed = plan(rack)
    rack.set("provisioner-disk", "db")
    eventually(lambda: rack.chosen() == ["db"], "the hook has chosen again")
    for query in [{"plan": agreed["hash"]}, {"consent": agreed["consent"]}]:
        answer = commit(rack, **query)
        assert answer.status == 409 and answer.json()["code"] == "plan_changed", answer
    assert not rack.is_wiped("da") and not rack.is_wiped("db")
