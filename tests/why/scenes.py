"""Scenes: a daemon and what is done to it. `works` runs all makers of the book in one daemon; each
other scene makes the faults that need a daemon of their own, one after the other."""
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import borrow
import making

ACTIVE, ERROR = borrow.yard.ACTIVE, borrow.yard.ERROR
WAIT_S = 40
POOL = ("--pool-normal", "64", "--pool-high", "8")
SCRIPTS = ("noop", "script", "role-provided", "native")
HAMMERS = ("redfish", "ipmi")
STORED_ERROR = 5  # of enum noderole_state


class Yard(borrow.yard.Yard):
    def write_barclamp(self):
        self.hammers += [{"name": name, "type": name, "priority": 5} for name in HAMMERS
                         if name not in [hammer["name"] for hammer in self.hammers]]
        super().write_barclamp()
        path = os.path.join(self.folder, "yard.yml")
        with open(path) as file:
            barclamp = borrow.yard.json.load(file)
        barclamp["jigs"] = [{"name": name, "class": name} for name in SCRIPTS]
        with open(path, "w") as file:
            borrow.yard.json.dump(barclamp, file)


class Scene:
    """`ask` reads an answer and hands it to the judge, which compares it with the book."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        self.y = Yard(world.build)
        self.folder = self.scratch = self.y.path("peers")  # where peers keep their files
        os.makedirs(self.folder, exist_ok=True)
        self.things = self.y.things
        self.mounts = []
        self.lock = threading.Lock()
        self.count = 0

    # -- peers -----------------------------------------------------------------------------------

    def place(self, name):
        """A directory for a server; see sshd.Server."""
        with self.lock:
            self.count += 1
            path = os.path.join(self.folder, f"{name}{self.count}")
        os.mkdir(path, 0o700)
        return path

    def server(self):
        server = borrow.sshd.Server(self)
        server.allow(self.y.path("ssh", "id_ed25519"))
        return server

    def far_node(self, name, server):
        """A node behind that server, whose host key is pinned."""
        node = self.y.node(name, admin=False, alive=False)
        self.y.hammer(node, "ssh", endpoint=f"127.0.0.1:{server.port}", username=server.user)
        self.y.set_node(node, alive=True)
        borrow.yard.eventually(lambda: self.y.rows(
            "SELECT key FROM host_key JOIN node ON node.id = node_id WHERE node.name = ?", node),
            f"{node} is pinned")
        return node

    def certificate(self, name):
        with self.world.lock:
            return borrow.certificates.make_certificate(self.world.folder, name)

    def mount_at(self, path, options):
        making.mount(path, options)
        self.mounts.append(path)

    def mount(self, name, options):
        path = os.path.join(self.folder, "disk-" + name)
        self.mount_at(path, options)
        return path

    # -- answers ---------------------------------------------------------------------------------

    def ask(self, fault, target, node=None, role=None, **others):
        self.world.judge(self, fault, target, {"node": node, "role": role, **others})

    def close(self):
        self.y.close()
        for path in reversed(self.mounts):
            making.unmount(path)
        shutil.rmtree(self.y.data, ignore_errors=True)


# -- makers ----------------------------------------------------------------------------------------


def prepare_makers(scene, *flags):
    faults = scene.world.of_scene(scene.name)
    for fault in faults:
        fault.how.declare(scene, making.slug(fault.name))
    scene.y.start(*POOL, *flags)
    return faults


def play_maker(scene, fault):
    """One fault, from its beginning to its answer."""
    how, until = fault.how, time.monotonic() + WAIT_S
    try:
        how.make(scene, making.slug(fault.name))
    except Exception as problem:  # one fault that cannot be made is no reason to lose the others
        scene.world.failed(fault, f"it could not be made: {problem!r}")
        return
    while not how.is_there(scene):
        if time.monotonic() > until:
            scene.world.failed(fault, "it did not happen")
            return
        time.sleep(0.05)
    attrib = getattr(how, "attrib", None) or getattr(getattr(how, "root", None), "attrib", None)
    scene.ask(fault.name, how.target, how.node, how.role, attrib=attrib,
              dns_name_filter=getattr(how, "dns_name_filter", None))
    how.close()


def works(scene):
    """All of them at the same time."""
    faults = prepare_makers(scene, "--run-deadline", "3", "--probe-wait", "2")
    list(scene.world.pool.map(lambda fault: play_maker(scene, fault), faults))
    scene.world.after_works(scene)


def disks(scene):
    """One fault at a time, because the reason of a failed run is a property of the whole machine."""
    for fault in prepare_makers(scene):
        play_maker(scene, fault)


# -- memory ----------------------------------------------------------------------------------------


class Group:
    """A control group with little memory, of whichever version of cgroups this host has."""

    def __init__(self, name, size):
        roots = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        for root, limit in roots:
            self.path = os.path.join(root, name)
            if not os.path.isdir(root):
                continue
            os.mkdir(self.path)
            if os.path.exists(os.path.join(self.path, limit)):
                with open(os.path.join(self.path, limit), "w") as file:
                    file.write(str(size))
                return
            os.rmdir(self.path)
        raise AssertionError("no control group with a limit of memory can be made on this host")

    @property
    def processes(self):
        return os.path.join(self.path, "cgroup.procs")

    def add(self, pid):
        with open(self.processes, "w") as file:
            file.write(str(pid))

    def close(self):
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


# `tail` keeps the only line, which has 600 MB, in its memory.
TOO_MUCH = "head -c 600000000 /dev/zero | tail -n 1 > /dev/null"


def memory(scene):
    """The daemon, its runs and the machine behind ssh have 300 MB together."""
    y = scene.y
    group = Group(f"halligan-why-{y.mark}", 300 << 20)
    scene.things.insert(0, group)
    y.role("hungry", TOO_MUCH)
    y.role("later", TOO_MUCH + " || true; exit 5")
    y.role("killed", "sh -c 'kill -9 $$'")
    y.wrapper = ["sh", "-c", f'echo $$ > {group.processes}; exec "$@"', "sh"]
    y.start(*POOL)
    server = scene.server()
    group.add(server.process.pid)
    far = scene.far_node("far", server)
    todo = [("memory of the host", y.node("here"), "hungry"),
            ("a child without memory, and another status", y.node("there"), "later"),
            ("memory of a machine", far, "hungry"),
            ("no memory is missing", y.node("alone"), "killed")]
    for fault, node, role in todo:  # one after the other: all of them share the group
        noderole = y.run(node, role)
        y.reaches(noderole, ERROR)
        scene.ask(fault, f"node_roles/{noderole}", node, role)


# -- the host of the daemon ------------------------------------------------------------------------


def own_disk(scene):
    """The directory with the input of runs is on a disk that is full."""
    y = scene.y
    y.role("work", "say ran")
    y.start(*POOL)
    first = y.run(y.node("first"), "work")
    y.reaches(first, ACTIVE)
    path = y.path("runs")
    below = [name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name))]
    scene.mount_at(path, "size=64k,mode=700")
    for name in below:
        os.mkdir(os.path.join(path, name), 0o700)
    making.fill(path)
    node = y.node("one")
    noderole = y.run(node, "work")
    y.reaches(noderole, ERROR)
    scene.ask("disk of the daemon", f"node_roles/{noderole}", node, "work")


def ssh_key(scene):
    y = scene.y
    y.role("work", "say ran")
    y.start(*POOL)
    node = scene.far_node("far", scene.server())
    with open(y.path("ssh", "id_ed25519"), "w") as file:
        file.write("no key\n")
    noderole = y.run(node, "work")
    y.reaches(noderole, ERROR)
    scene.ask("key of the installation unreadable", f"node_roles/{noderole}", node, "work")


def supervisor(scene):
    y = scene.y
    y.role("slow", f"say begin; sleep {y.long}")
    y.role("lost", f"say begin; sleep {y.long}")
    y.start(*POOL)
    node = y.node("one")
    noderole = y.run(node, "slow")
    y.wait_for("begin", role="slow")
    os.kill(y.supervisor(), signal.SIGKILL)
    y.reaches(noderole, ERROR)
    scene.ask("supervisor killed", f"node_roles/{noderole}", node, "slow")

    node = y.node("two")
    noderole = y.run(node, "lost")
    y.wait_for("begin", role="lost")
    y.kill()
    os.kill(y.supervisor(), signal.SIGKILL)
    borrow.yard.eventually(y.lock_is_free, "nothing of the supervisor is left")
    shutil.rmtree(y.path("exec"))
    y.start(*POOL)
    y.reaches(noderole, ERROR)
    scene.ask("records of runs deleted", f"node_roles/{noderole}", node, "lost")


def no_supervisor(scene):
    """halligan-exec is expected beside halligand, and here it is not."""
    y = scene.y
    y.role("work", "say ran")
    os.mkdir(y.path("alone"))
    # cp writes it: a descriptor of ours that is open for writing could be inherited by a process that
    # another scene starts at this moment, and the file could not be executed ("text file busy").
    subprocess.run(["cp", y.program, y.path("alone")], check=True)
    y.program = os.path.join(y.path("alone"), os.path.basename(y.program))
    y.start(*POOL)
    node = y.node("one")
    noderole = y.run(node, "work")
    scene.ask("program missing", f"node_roles/{noderole}")


def open_supervisor(scene):
    """It does not work in a directory that others may enter."""
    y = scene.y
    y.role("work", "say ran")
    os.mkdir(y.path("exec"), 0o777)
    os.chmod(y.path("exec"), 0o777)
    y.start(*POOL)
    noderole = y.run(y.node("one"), "work")
    scene.ask("directory open to others", f"node_roles/{noderole}")


def no_shell(scene):
    """A shell that is there, may be executed and is no program."""
    y = scene.y
    y.role("work", "say ran")
    tools = y.path("tools")
    os.mkdir(tools)
    for name in ("tar", "ssh", "ssh-keyscan"):
        os.symlink(shutil.which(name), os.path.join(tools, name))
    with open(os.path.join(tools, "sh"), "wb") as file:
        file.write(b"\x7fELF no program")
    os.chmod(os.path.join(tools, "sh"), 0o755)
    y.start(*POOL, "--tool-path", tools)
    node = y.node("one")
    noderole = y.run(node, "work")
    y.reaches(noderole, ERROR)
    scene.ask("shell that cannot be started", f"node_roles/{noderole}", node, "work")


# -- stores ----------------------------------------------------------------------------------------


def change(scene):
    """Changes until one is refused, or not answered."""
    for number in range(20000):
        try:
            text = "x" * 60000
            answer = scene.y.me.put("deployments/system", {"description": f"{number} {text}"})
        except OSError:
            return
        if answer.status != 200:
            return


def sqlite_full(scene):
    y = scene.y
    disk = scene.mount("store", "size=6m")
    y.start(*POOL, "--store", f"sqlite:{disk}/store.db")
    making.fill(disk)
    change(scene)
    scene.ask("disk of SQLite full", "deployments/system")


def postgres(scene, disk=None):
    """A cluster, and the daemon on it."""
    place = disk or os.path.join(scene.world.folder, scene.name)
    cluster = borrow.stalls.StoppedPostgres(place)
    scene.things.append(cluster)
    scene.y.start(*POOL, "--store", cluster.url)
    return cluster


def postgres_full(scene):
    disk = os.path.join(scene.world.folder, "postgres-disk")
    scene.mount_at(disk, "size=80m,mode=755")
    os.mkdir(os.path.join(disk, "pg"))
    postgres(scene, os.path.join(disk, "pg"))
    making.fill(disk)
    change(scene)
    scene.ask("disk of PostgreSQL full", "deployments/system")


def postgres_down(scene):
    cluster = postgres(scene)
    cluster.cluster.stop(keep=True)
    cluster.close = lambda: shutil.rmtree(cluster.cluster.directory, ignore_errors=True)
    scene.ask("PostgreSQL stopped", "deployments/system")


def postgres_stalled(scene):
    cluster = postgres(scene)
    cluster.stall()
    threading.Thread(target=change, args=(scene,), daemon=True).start()
    scene.ask("PostgreSQL silent", "deployments/system")
    cluster.go_on()


def sqlite_stalled(scene):
    y = scene.y
    disk = borrow.stalls.BlockedSqlite(scene.world.build, borrow.stalls.pathlib.Path(y.data))
    scene.things.append(disk)
    y.environment = {**os.environ, **disk.environment()}
    y.start(*POOL)
    disk.stall()
    threading.Thread(target=change, args=(scene,), daemon=True).start()
    scene.ask("disk of SQLite silent", "deployments/system")
    disk.go_on()


# -- boot ------------------------------------------------------------------------------------------


def serve_boots(scene, script, *flags):
    """A machine in the boot view, behind a Redfish service, and the noderole that serves its boots with a
    run of that script; without one, with a boot server."""
    y = scene.y
    y.role("found", flags=["discovery", "implicit", "milestone"])
    y.role("pxe", *([script] if script else []), flags=["serves-boot"], jig="script" if script else "native")
    y.start(*POOL, *flags)
    server, node = y.node("server"), y.node("metal", bootenv="sledgehammer", hint={
        "admin_macs": ["52:54:00:1d:00:09"], "admin-v4addr": "10.78.0.19/24"})
    for hammer in y.me.get(f"nodes/{node}/hammers").json():
        assert y.me.delete(f"hammers/{hammer['id']}").status == 200  # only its power is left
    cert, key = scene.certificate("trusted")
    service = borrow.redfish.Service("generic", cert=cert, key=key)
    y.things.append(service)
    y.hammer(node, "redfish", endpoint=service.url, username="root", authenticator="calvin", extra={"ca": cert})
    pxe, found = y.run(server, "pxe"), y.run(node, "found")
    y.reaches(pxe, ACTIVE)
    y.reaches(found, ACTIVE)
    return server, node, pxe, found


def restart(y, node, bootenv):
    y.set_node(node, bootenv=bootenv)
    answer = y.me.put(f"nodes/{node}/power?poweraction=reset")
    assert answer.status == 200, answer


def is_served(y, node):
    return y.me.get(f"nodes/{node}/boot").json()["served"]


def gave_up(y, node):
    borrow.yard.eventually(lambda: y.me.get(f"nodes/{node}?view=full").json()["status"], "it was given up")


def boot(scene):
    y = scene.y
    server, node, pxe, found = serve_boots(scene, "gate pxe; say published", "--boot-wait", "20")
    borrow.yard.eventually(lambda: is_served(y, node), "it is served")
    y.shut("pxe")
    restart(y, node, "local")
    scene.ask("waits for a run that publishes", "nodes/" + node, run=None)
    scene.ask("noderole of a machine that waits", f"node_roles/{found}", run=None)
    y.set_node(server, available=False)
    y.open("pxe")
    y.settles(pxe)
    restart(y, node, "sledgehammer")
    scene.ask("database on a closed node", "nodes/" + node, server)
    gave_up(y, node)
    scene.ask("never served", "nodes/" + node, node)


def boot_error(scene):
    y = scene.y
    _, node, pxe, _ = serve_boots(scene, "say published")
    borrow.yard.eventually(lambda: is_served(y, node), "it is served")
    y.role("pxe", "say broken; exit 1")
    restart(y, node, "local")
    gave_up(y, node)
    y.reaches(pxe, ERROR)
    scene.ask("database in error", "nodes/" + node, node)
    metal = y.node("metal2", admin=False, alive=False)
    y.hammer(metal, "redfish", endpoint=f"https://127.0.0.1:{borrow.sshd.free_port()}",
             username="root", authenticator="calvin")
    y.set_node(metal, bootenv="local")
    gave_up(y, metal)
    scene.ask("boot device not set", "nodes/" + metal, metal)


def boot_server(scene):
    """No boot server connects over HTTP, so what one reported is written into the store."""
    y = scene.y
    server, node, pxe, _ = serve_boots(scene, None, "--boot-server", "true")
    restart(y, node, "local")
    scene.ask("boot server never connected", "nodes/" + node, server)
    y.stop()
    with open(os.path.join(borrow.TESTS, "..", "src", "model", "reason.h"), encoding="utf-8") as file:
        reasons = re.findall(r'^    X\(\w+, "(\w+)", \w+\)', file.read(), re.MULTILINE)
    borrow.grants.write_store(y, f"UPDATE noderole SET state = {STORED_ERROR}, status = 'it failed', "
                              f"reason = {reasons.index('boot_server')}, reason_text = 'no kernel' WHERE id = {pxe}")
    y.start(*POOL)
    scene.ask("boot server cannot serve", f"node_roles/{pxe}", server, "pxe")


def grant(scene):
    """The run that waited for the installer fails; the machine is down and may not start it."""
    y = scene.y
    site = borrow.grants.Site(y, *POOL)
    found = y.one("SELECT noderole.id FROM noderole JOIN role ON role.id = role_id WHERE role.name = 'found' "
                  "AND node_id = (SELECT id FROM node WHERE name = ?)", site.node)["id"]
    site.touch("the wipe is done")
    site.is_granted(1)
    y.verb(site.install, "propose")
    y.set_node(site.node, alive=False)
    scene.ask("grant void", f"node_roles/{found}", site.node)


def installer(scene):
    """The grant of the first was used; its ticket is written into the store, because no machine asks
    for its installer over HTTP."""
    y = scene.y
    site = borrow.grants.Site(y, *POOL)
    site.touch("the wipe is done")
    site.is_granted(1)
    stamped = y.node("stamped", admin=False, alive=False)
    y.set_node(stamped, bootenv="debian-install")
    y.set_node(stamped, boot_generation=1, stamp_generation=9)
    scene.ask("disk with a later stamp", "nodes/" + stamped, stamped)
    site.boots_installer()
    y.start(*POOL, "--install-wait", "1")
    borrow.yard.eventually(lambda: site.shown()["status"], "it is silent")
    scene.ask("installer silent", "nodes/" + site.node, site.node)


def unbootable(scene):
    """Machines that no boot server can answer, for a reason of their own."""
    y = scene.y
    y.role("found", flags=["discovery", "implicit", "milestone"])
    y.role("plain")
    y.role("pxe", "say published", flags=["serves-boot"])
    y.start(*POOL)
    y.run(y.node("server"), "pxe")
    hints = {"admin_macs": ["52:54:00:1d:00:01"], "admin-v4addr": "10.78.0.10/24"}

    def machine(fault, name, role="found", hint=None, **fields):
        node = y.node(name, admin=False, alive=False, hint=hint or {}, **fields)
        y.run(node, role)
        if fault:
            scene.ask(fault, "nodes/" + node, node)
        return node

    machine("not managed", "stranger", role="plain", hint={"admin-v4addr": "10.78.0.13/24"})
    owner = machine(None, "owner", hint=hints)
    machine("no MAC known", "macless", hint={"admin-v4addr": "10.78.0.11/24"})
    machine("no address", "homeless", hint={"admin_macs": ["52:54:00:1d:00:02"]})
    machine("environment that no barclamp defines", "lost", bootenv="no-such-environment",
            hint={"admin_macs": ["52:54:00:1d:00:03"], "admin-v4addr": "10.78.0.12/24"})
    twin = y.node("twin", admin=False, alive=False, discovery={"ohai": {"network": {"interfaces": {
        "eth0": {"addresses": {"52:54:00:1D:00:01": {"family": "lladdr"}}}}}}})
    y.run(twin, "found")
    scene.ask("MAC of another machine", "nodes/" + twin, owner)


# -- clocks ----------------------------------------------------------------------------------------


def clock(scene):
    y = scene.y
    times = borrow.clock
    wall = times.Clock(scene.world.build, y.path("clock"))
    y.environment = wall.environment()
    y.start(*POOL)
    wall.set(-times.HOUR_S)
    scene.ask("set back an hour", "deployments/system")
    wall.set(times.DAY_S)
    scene.ask("set ahead a day", "deployments/system")
    wall.set(0)
    y.stop()
    wall.set(-times.DAY_S)
    y.start(*POOL)
    scene.ask("set back before a start", "deployments/system")
    y.stop()
    wall.set(2 * times.YEAR_S)  # less than 400 days would be taken for a daemon that was down
    y.start(*POOL)
    scene.ask("set ahead before a start", "deployments/system")


SCENES = (works, disks, memory, own_disk, ssh_key, supervisor, no_supervisor, open_supervisor, no_shell,
          sqlite_full, postgres_full, postgres_down, postgres_stalled, sqlite_stalled, boot,
          boot_error, boot_server, grant, installer, unbootable, clock)
