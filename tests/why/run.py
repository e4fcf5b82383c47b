#!/usr/bin/env python3
"""The fault book: every fault is made for real, and `why` has to name its code and its object.

    tests/why/run.py --build DIR [--times] [NAME ...]

Makes the faults of book.py (or those of the scenes, groups or names that begin with a NAME) against
DIR/halligand with real supervisors, OpenSSH servers, BMCs, stores and disks, all scenes at the same
time, and compares what the API answers to `why`. Everything runs in a mount namespace of its own, so
that disks can be filled. All answers but two have to be right, and some are looked for in the command
line, the log and the fields as well; the exit status is then 0.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

INSIDE = "HALLIGAN_WHY_INSIDE"
WRONG_MAX = 2
FAULTS_MIN = 48
EACH_MIN = 4
GROUPS = (("ssh",), ("exit", "signal"), ("deadline", "memory"), ("disk",), ("supervisor",), ("lua",),
          ("wall", "schema"), ("parents",), ("store",), ("power",), ("boot",), ("clock",),
          ("names",))
# Faults whose reason is looked for in every place that shows it.
SHOWN = ("status 3", "key refused", "deadline of the role", "signal 9", "loop without end")
WAIT_S = 30  # for an answer; most are there at once


def enter_namespace():
    """Run again where mounts are seen by no other process."""
    if os.environ.get(INSIDE):
        return
    for way in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        if subprocess.run([*way, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            os.execvpe(way[0], [*way, "--", sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    sys.exit("tests/why: a mount namespace is needed, and none can be made on this host")


class World:
    def __init__(self, build, folder, book):
        self.build, self.folder = os.path.abspath(build), folder
        self.book = {fault.name: fault for fault in book}
        self.lock = threading.RLock()
        self.pool = concurrent.futures.ThreadPoolExecutor(max(len(book), 1))
        self.results = {}
        self.checks = []

    def of_scene(self, name):
        return [fault for fault in self.book.values()
                if (fault.how if isinstance(fault.how, str) else fault.how.scene) == name]

    # -- judging ---------------------------------------------------------------------------------

    def note(self, fault, is_right, text):
        with self.lock:
            self.results[fault.name] = (is_right, text)

    def failed(self, fault, text):
        self.note(fault, False, text)

    def judge(self, scene, name, target, names):
        """The answer of the API; what needs some time to be noticed is asked for again."""
        fault = self.book.get(name)
        if not fault:
            return
        until, why = time.monotonic() + WAIT_S, {}
        while time.monotonic() < until:
            answer = scene.y.me.get(target + "/why")
            why = answer.json() if answer.status == 200 else {"status": answer.status}
            if is_right(fault, why, names):
                self.note(fault, True, "")
                return
            time.sleep(0.1)
        self.failed(fault, f"{target}: {shown(why)}")

    # -- other places that carry the reason --------------------------------------------------------

    def check(self, name, is_right_answer, text):
        with self.lock:
            self.checks.append((name, bool(is_right_answer), text))

    def after_works(self, scene):
        """The command line, the log of the daemon, the fields and the groups say the same."""
        faults = {fault.name: fault for fault in self.of_scene(scene.name)}
        for name in (name for name in SHOWN if name in faults):
            self.check_places(scene, faults[name])
        self.check_groups(scene, faults.values())

    def check_places(self, scene, fault):
        y, how = scene.y, fault.how
        reply = y.me.get(f"{how.target}?view=full").json()
        self.check(f"{fault.name}: fields of the noderole", reply["reason"] == fault.code and
                   (fault.subject is None or reply["reason_subject"] == fault.subject), reply)
        said = self.halligan(y, "noderoles", "why", how.target.split("/")[1], "-o", "json")
        self.check(f"{fault.name}: halligan noderoles why",
                   is_right(fault, json.loads(said or "{}"), {"node": how.node, "role": how.role}), said)
        said = self.halligan(y, "noderoles", "why", how.target.split("/")[1])
        self.check(f"{fault.name}: the same as a table", f"{fault.code}: " in said, said)
        words = (how.node, f"reason={fault.code}")
        lines = [line for line in y.read("stderr").splitlines() if all(w in line for w in words)]
        self.check(f"{fault.name}: log of the daemon", lines, y.read("stderr")[-1500:])

    def check_groups(self, scene, faults):
        """Every noderole that waits is in one group, and each group names a code of the book."""
        why = scene.y.me.get("deployments/system/why").json()
        counted = sum(group["node_roles"] for group in why["groups"]) + why["left_off"]
        self.check("groups: all are counted", counted == why["looked_at"] == why["waiting"], why)
        for group in why["groups"]:
            named = [fault for fault in faults if fault.code == group["code"]]
            self.check(f"groups: {group['code']}", named and group["examples"], group)

    def halligan(self, y, *words):
        environment = {**os.environ, "HALLIGAN_URL": y.read("listen").strip(),
                       "HALLIGAN_TOKEN": y.token, "HOME": y.data}
        done = subprocess.run([os.path.join(self.build, "halligan"), *words], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else ""


def about(fault, cause, names):
    """Does the cause name the object that the book expects?"""
    if cause.get("object") != fault.about:
        return False
    if fault.about == "node_role":
        return cause.get("node") == names["node"] and cause.get("role") == names["role"]
    return cause.get("name") == names[fault.about]


def is_right(fault, why, names):
    if fault.about in ("store", "supervisor", "clock"):
        return any(one["code"] == fault.code and one["object"] == fault.about
                   for one in why.get("installation", []))
    if fault.about == "dns_name_filter":
        return any(one["code"] == fault.code and one["subject"] == fault.subject and
                   about(fault, one, names) for one in why.get("names", []))
    chain = why.get("chain")
    if not chain or chain[-1]["code"] != fault.code:
        return False
    if fault.subject is not None and chain[-1].get("subject") != fault.subject:
        return False
    return about(fault, chain[-1], names)


def shown(why):
    keys = ("code", "object", "name", "subject", "node", "role", "text")
    causes = why.get("chain", []) + why.get("names", []) + why.get("installation", [])
    return "; ".join(str({k: c[k] for k in keys if k in c}) for c in causes[-2:]) or str(why)


# -- running ---------------------------------------------------------------------------------------


def leave_mounts_alone():
    """The calling thread, and the processes it starts, get mounts of their own."""
    clone_fs, clone_newns = 0x200, 0x20000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_fs | clone_newns) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def play(world, scene_of, play_scene):
    """One scene; its faults that were not judged have failed."""
    leave_mounts_alone()
    scene = scene_of(world, play_scene.__name__)
    began = time.monotonic()
    try:
        play_scene(scene)
    except BaseException:
        problem = traceback.format_exc(limit=-4)
        for fault in world.of_scene(play_scene.__name__):
            if fault.name not in world.results:
                world.failed(fault, problem + scene.y.read("stderr")[-1500:])
    try:
        scene.close()
    except Exception:
        print(f"scene {play_scene.__name__} was not closed:\n{traceback.format_exc()}", flush=True)
    return play_scene.__name__, time.monotonic() - began


def check_book(book):
    """It holds what it has to hold; a smaller one would show less."""
    assert len(book) >= FAULTS_MIN and len({fault.name for fault in book}) == len(book)
    for groups in GROUPS:
        count = sum(fault.group in groups for fault in book)
        assert count >= EACH_MIN, f"{groups}: {count} faults"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--times", action="store_true", help="print how long each scene took")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    enter_namespace()
    from book import BOOK  # after the namespace: it reads modules of other directories
    from scenes import SCENES, Scene
    check_book(BOOK)

    def is_wanted(fault):
        scene = fault.how if isinstance(fault.how, str) else fault.how.scene
        words = (scene, fault.group, fault.name)
        return not options.names or any(word.startswith(n) for word in words for n in options.names)

    wanted = [fault for fault in BOOK if is_wanted(fault)]
    with tempfile.TemporaryDirectory(prefix="halligan-why-") as folder:
        os.chmod(folder, 0o711)  # a database server that is another user passes through it
        world = World(options.build, folder, wanted)
        scenes = [scene for scene in SCENES if world.of_scene(scene.__name__)]
        with concurrent.futures.ThreadPoolExecutor(len(SCENES)) as pool:
            times = list(pool.map(lambda scene: play(world, Scene, scene), scenes))
    for name, seconds in sorted(times, key=lambda pair: pair[1]) if options.times else []:
        print(f"{seconds:6.1f} s  {name}")
    return report(wanted, world.results, world.checks)


def report(wanted, results, checks):
    wrong = 0
    for fault in wanted:
        is_right_answer, text = results.get(fault.name, (False, "it was not asked"))
        wrong += not is_right_answer
        print("PASS" if is_right_answer else "WRONG", f"{fault.group}: {fault.name}: {fault.code}",
              text, flush=True)
    for name, is_right_answer, text in checks:
        print("PASS" if is_right_answer else "FAIL", name, "" if is_right_answer else text)
    print(f"{len(wanted)} faults, {wrong} wrong")
    good = sum(is_right_answer for _, is_right_answer, _ in checks)
    failed = len(checks) - good + (wrong if wrong > WRONG_MAX else 0)
    print(f"{len(wanted) - wrong + good} passed, {failed} failed")
    return 0 if wanted and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
