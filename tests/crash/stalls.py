#!/usr/bin/env python3
"""A store that stops answering: PostgreSQL stopped by SIGSTOP, a disk that does not sync.

    stalls.py --build DIR [--only NAME]

Each scenario has a store and a daemon of its own, and all run at the same time. While the store is
stalled the daemon must answer everything that does not need it, refuse what would have to wait,
say so in /readyz, in /metrics and in one log line, and go on by itself when the store answers
again, with what the store then holds.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import threading
import time

from daemon import Client, Daemon, Violation
from workspace import Postgres, Workspace, add_build, program, query

API = "/api/v2/"
SOON_S = 4  # what never waits is answered within this time, also on a busy machine
JUDGED_S = 30  # a stall is noticed after 5 to 8 s
BACK_S = 60


def expect(condition, text):
    if not condition:
        raise Violation(text)


def until(look, seconds, what):
    """Look until it is true."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        expect(time.monotonic() < end, f"not within {seconds} s: {what}")
        time.sleep(0.05)


# ---- stores that can be stopped ----


class StoppedPostgres:
    """A cluster whose processes are stopped all at once, and continued."""

    def __init__(self, directory):
        self.cluster = Postgres(directory)
        self.url = self.cluster.url
        self.stopped = []

    def processes(self):
        """The postmaster first, so that no further ones come."""
        first = (pathlib.Path(self.cluster.directory) / "data" / "postmaster.pid").read_text()
        postmaster = int(first.split()[0])
        return [postmaster] + [pid for pid in all_pids() if parent_of(pid) == postmaster]

    def stall(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGSTOP)
            self.stopped.append(pid)

    def go_on(self):
        for pid in self.stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.stopped = []

    def environment(self):
        return {}

    def close(self):
        self.go_on()
        self.cluster.stop(keep=False)


class BlockedSqlite:
    """A file on a disk that does not sync."""

    url = None

    def __init__(self, build, directory):
        self.blocked = directory.with_name(directory.name + ".blocked")
        found = list(pathlib.Path(build).resolve().glob("tests/store/*blocked_disk.so"))
        expect(len(found) == 1, f"{build} has no blocked_disk.so: build it")
        self.library = str(found[0])

    def stall(self):
        self.blocked.touch()

    def go_on(self):
        self.blocked.unlink(missing_ok=True)

    def environment(self):
        return {
            "LD_PRELOAD": self.library, "HALLIGAN_TEST_BLOCKED": str(self.blocked),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
        }

    close = go_on


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(text.rsplit(")", 1)[1].split()[1])


# ---- a daemon on one of them ----


class Later(threading.Thread):
    """A request that may take long; `answer` once it is there."""

    def __init__(self, client, method, path, body=None):
        super().__init__(daemon=True)
        self.client, self.words = client, (method, path, body)
        self.client.connection.timeout = 120
        self.answer, self.problem, self.seconds = None, None, None
        self.start()

    def run(self):
        began = time.monotonic()
        try:
            self.answer = self.client.ask(*self.words)
        except Exception as problem:  # raised by result()
            self.problem = problem
        self.seconds = time.monotonic() - began

    def result(self, seconds=120):
        self.join(seconds)
        expect(self.answer is not None, f"{self.words}: no answer after {seconds} s: {self.problem}")
        return self.answer


class Scene:
    def __init__(self, options, space, name, store):
        self.options, self.space, self.name, self.store = options, space, name, store
        self.daemon = Daemon(options.build, space.path / name, store.url)
        space.daemons.append(self.daemon)
        self.log_at = 0

    def start(self):
        self.daemon.start(extra=self.store.environment())
        self.daemon.wait_ready(60)
        self.daemon.log_in()
        self.create("before")
        self.create("other")
        # The reader of the history has its connection.
        self.ask("GET", API + "events")

    def ask(self, method, path, body=None):
        client = self.daemon.client()
        try:
            return client.ask(method, path, body)
        finally:
            client.close()

    def soon(self, method, path, body=None):
        """What must not wait."""
        began = time.monotonic()
        answer = self.ask(method, path, body)
        seconds = time.monotonic() - began
        expect(seconds < SOON_S, f"{self.name}: {method} {path} took {seconds:.1f} s")
        return answer

    def expect_status(self, method, path, status, code=None, body=None):
        answer = self.soon(method, path, body)
        expect(answer.status == status,
               f"{self.name}: {method} {path}: {answer.status} {answer.text[:200]}, not {status}")
        if code:
            expect(answer.json["code"] == code, f"{self.name}: {path}: {answer.text[:200]}")
        return answer

    @staticmethod
    def node(name):
        return {"name": f"{name}.stall.example"}

    def create(self, name):
        answer = self.ask("POST", API + "nodes", self.node(name))
        expect(answer.status in (200, 201), f"{self.name}: {answer.status} {answer.text[:200]}")

    def create_later(self, name):
        return Later(self.daemon.client(), "POST", API + "nodes", self.node(name))

    def has(self, name):
        answer = self.ask("GET", API + f"nodes/{name}.stall.example")
        expect(answer.status in (200, 404), f"{self.name}: {answer.status} {answer.text[:200]}")
        return answer.status == 200

    def store_up(self):
        answer = self.soon("GET", "/metrics")
        expect(answer.status == 200, f"{self.name}: /metrics: {answer.status} {answer.text[:200]}")
        return int(re.search(r"^halligan_store_up (\d)", answer.text, re.M).group(1))

    def is_ready(self):
        return self.soon("GET", "/readyz").status == 200

    def stall(self):
        self.log_at = self.daemon.log_path.stat().st_size
        self.store.stall()

    def await_stalled(self):
        until(lambda: not self.is_ready(), JUDGED_S, f"{self.name}: /readyz says that it is stalled")
        expect(self.soon("GET", "/readyz").text.strip() != "", "/readyz gives no reason")
        expect(self.store_up() == 0, f"{self.name}: halligan_store_up is not 0")

    def await_back(self):
        until(self.is_ready, BACK_S, f"{self.name}: ready again")
        until(lambda: self.store_up() == 1, BACK_S, f"{self.name}: halligan_store_up is 1 again")

    def lines(self, level):
        """How many lines of that level were logged since the stall began."""
        with open(self.daemon.log_path, "rb") as log:
            log.seek(self.log_at)
            return len(re.findall(rf"level={level}\b", log.read().decode("utf-8", "replace")))

    def expect_lines(self, warnings, notices):
        seen = (self.lines("warning"), self.lines("notice"))
        expect(seen == (warnings, notices),
               f"{self.name}: {seen} warnings and notices: {self.daemon.last_words()}")

    def end(self):
        """It goes on as if nothing had been, and its store is sound."""
        self.create("after")
        for name in ("before", "other", "after"):
            expect(self.has(name), f"{self.name}: node {name} is gone")
        self.daemon.end_well()
        self.daemon.check()
        self.daemon.start(extra=self.store.environment())
        self.daemon.wait_ready(60)
        for name in ("before", "other", "after"):
            expect(self.has(name), f"{self.name}: node {name} is gone after a restart")
        self.daemon.end_well()


# ---- scenarios ----


def short(scene):
    """Less than 5 s: requests wait, and nothing is reported."""
    scene.stall()
    later = scene.create_later("during")
    time.sleep(1.5)
    expect(scene.is_ready() and scene.store_up() == 1, f"{scene.name}: reported too early")
    scene.expect_status("GET", "/healthz", 200)
    scene.store.go_on()
    expect(later.result().status in (200, 201), f"{scene.name}: {later.answer.text[:200]}")
    expect(scene.has("during"), f"{scene.name}: what was acknowledged is not there")
    scene.expect_lines(0, 0)


def held_read(scene):
    """A read behind the batch in flight; None while the command that fills it is not stepped."""
    later = Later(scene.daemon.client(), "GET", API + "nodes")
    later.join(1)
    return None if later.answer and later.answer.status == 200 else later


def medium(scene):
    """Some 10 s, with a batch in flight: it is done when the store answers again."""
    scene.stall()
    later = scene.create_later("during")
    held = until(lambda: held_read(scene), JUDGED_S, f"{scene.name}: a read is held")
    scene.await_stalled()
    scene.expect_status("GET", "/healthz", 200)
    expect(held.result(SOON_S).status == 503, f"{scene.name}: a held read: {held.answer.status}")
    scene.expect_status("GET", API + "nodes", 503, "unavailable")
    scene.expect_status("GET", API + "nodes/before.stall.example", 200)
    scene.expect_status("POST", API + "nodes", 503, "unavailable", scene.node("refused"))
    expect(later.answer is None, f"{scene.name}: answered though nothing is known yet")
    if scene.store.url:  # a reader of SQLite waits for no sync
        past = Later(scene.daemon.client(), "GET", API + "events")
        expect(past.result(20).status == 503, f"{scene.name}: history: {past.answer.status}")
    scene.store.go_on()
    expect(later.result().status in (200, 201), f"{scene.name}: {later.answer.text[:200]}")
    scene.await_back()
    expect(scene.has("during") and not scene.has("refused"), f"{scene.name}: not what was said")
    scene.expect_lines(1, 1)


def quiet(scene):
    """With nothing in flight: whatever is durable is answered, all of it."""
    time.sleep(1)
    scene.stall()
    scene.await_stalled()
    expect("before.stall" in scene.expect_status("GET", API + "nodes", 200).text, "not the list")
    scene.expect_status("GET", API + "nodes/before.stall.example", 200)
    scene.expect_status("GET", API + "deployments/system/plan", 200)
    scene.expect_status("GET", API + "deployments/system/consent", 200)
    scene.expect_status("POST", API + "nodes", 503, "unavailable", scene.node("refused"))
    scene.store.go_on()
    scene.await_back()
    expect(not scene.has("refused"), f"{scene.name}: a refused command was done")
    scene.expect_lines(1, 1)


def expect_unknown(scene, later):
    answer = later.result()
    expect(answer.status == 500 and answer.json["code"] == "unknown",
           f"{scene.name}: {answer.status} {answer.text[:200]}")
    expect(20 < later.seconds < 45, f"{scene.name}: unknown after {later.seconds:.1f} s")
    scene.expect_status("GET", "/healthz", 200)
    scene.expect_status("POST", API + "nodes", 503, "unavailable", scene.node("refused"))
    expect(scene.store_up() == 0, f"{scene.name}: halligan_store_up is not 0")


def long(scene):
    """More than 30 s: the outcome is unknown to the client, and the same for daemon and store."""
    scene.stall()
    later = scene.create_later("during")
    scene.await_stalled()
    expect_unknown(scene, later)
    scene.store.go_on()
    scene.await_back()
    settle_unknown(scene)


def longer(scene):
    """So long that the connection is given up: the store is led anew."""
    scene.stall()
    later = scene.create_later("during")
    scene.await_stalled()
    expect_unknown(scene, later)
    until(lambda: scene.lines("error") > 0, BACK_S, f"{scene.name}: the connection is given up")
    scene.expect_status("GET", "/healthz", 200)
    expect(not scene.is_ready() and scene.store_up() == 0, f"{scene.name}: reported as well")
    scene.store.go_on()
    scene.await_back()
    settle_unknown(scene)


def settle_unknown(scene):
    there = scene.has("during")
    if scene.store.url:
        name = "during.stall.example"
        stored = query(scene.store.url, f"SELECT count(*) FROM node WHERE name = '{name}'")
        expect(stored == str(int(there)), f"{scene.name}: the API says {there}, the store {stored}")
    answer = scene.ask("POST", API + "nodes", scene.node("during"))
    expect((answer.status in (200, 201)) != there, f"{scene.name}: {there} but {answer.status}")
    expect(not scene.has("refused"), f"{scene.name}: a refused command was done")
    expect(scene.lines("warning") == 1 and scene.lines("notice") == 1,
           f"{scene.name}: not one warning and one notice: {scene.daemon.last_words()}")


def stopping(scene):
    """SIGTERM while it is stalled: it ends, though its store does not answer."""
    scene.stall()
    later = scene.create_later("during")
    scene.await_stalled()
    scene.daemon.signal(signal.SIGTERM)
    scene.daemon.wait_end(60)
    later.join(10)
    scene.store.go_on()
    scene.daemon.start(extra=scene.store.environment())
    scene.daemon.wait_ready(60)


SLEEPER = """CREATE FUNCTION stall_sleep() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(TG_ARGV[0]::float8); RETURN NULL; END $$"""


def sleep_in(url, table, seconds):
    query(url, f"CREATE TRIGGER stall_sleep AFTER INSERT OR UPDATE ON {table} "
               f"FOR EACH STATEMENT EXECUTE FUNCTION stall_sleep({seconds})")


def progress(scene):
    """A batch that takes long, but of which every statement is answered in time, is no stall."""
    url = scene.store.url
    query(url, SLEEPER)
    tables = ("node", "counter", "noderole", "event")
    for table in tables:
        sleep_in(url, table, 3)
    scene.log_at = scene.daemon.log_path.stat().st_size
    later = scene.create_later("during")
    while later.is_alive():
        expect(scene.is_ready() and scene.store_up() == 1, f"{scene.name}: taken for stalled")
        time.sleep(0.2)
    expect(later.result().status in (200, 201), f"{scene.name}: {later.answer.text[:200]}")
    expect(later.seconds > 6, f"{scene.name}: it took only {later.seconds:.1f} s")
    scene.expect_lines(0, 0)
    for table in tables:
        query(url, f"DROP TRIGGER stall_sleep ON {table}")
    query(url, "DROP FUNCTION stall_sleep")


POSTGRES = (short, medium, quiet, long, longer, stopping, progress)
SQLITE = (short, medium, long)


def play(options, space, scenario, make_store, name):
    store = make_store(space.path / (name + "-store"))
    try:
        scene = Scene(options, space, name, store)
        scene.start()
        began = time.monotonic()
        scenario(scene)
        seconds = time.monotonic() - began
        scene.end()
        print(f"PASS {name} ({seconds:.1f} s)", flush=True)
        space.forget(scene.daemon)
    finally:
        store.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_build(parser)
    parser.add_argument("--only", help="scenarios whose names begin like this")
    options = parser.parse_args()
    program(options.build)
    chosen = [(s, "postgres-" + s.__name__, StoppedPostgres) for s in POSTGRES]
    chosen += [(s, "sqlite-" + s.__name__, lambda path: BlockedSqlite(options.build, path))
               for s in SQLITE]
    chosen = [each for each in chosen if each[1].startswith(options.only or "")]
    with Workspace("stalls") as space:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = [pool.submit(play, options, space, s, make, name) for s, name, make in chosen]
            problems = [each.exception() for each in done]
        for problem in problems:
            if problem:
                print(f"FAIL {problem}", flush=True)
        failed = sum(problem is not None for problem in problems)
        print(f"{len(chosen) - failed} passed, {failed} failed", flush=True)
        if failed:
            raise next(problem for problem in problems if problem)


if __name__ == "__main__":
    main()
