"""A wall clock that is wrong: credentials expire by it, and the stamp is used for order only."""
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clock"))

from clock import DAY_S, HOUR_S, YEAR_S, Clock  # noqa: E402
from daemon import Client, Own, another_store, basic, eventually  # noqa: E402

TROUBLE = 1
HELD = 4
CONFIRM_S = 50  # the daemon believes a jump after sixty


class Timed(Own):
    """A daemon whose wall clock the test sets."""

    def __init__(self, daemon, store=None):
        super().__init__(daemon)
        self.store = ["--store", store] if store else []
        self.clock = Clock(os.path.dirname(self.program), self.path("clock"))

    def start(self, *words):
        self.launch("--log-format", "json", *self.store, *words, env=self.clock.environment())
        eventually(lambda: self.read("listen") or self.process.poll() is not None, "it listens")
        assert self.process.poll() is None, self.read("stderr")

    def set_clock(self, data=None):
        command = [self.program, "set-clock", "--data", data or self.data, *self.store]
        return subprocess.run(command, env=self.clock.environment(), capture_output=True,
                              text=True, timeout=120)

    def condition(self):
        """The word behind "clock:" in /readyz?verbose, and the seconds behind it, or 0."""
        answer = self.client.get("/readyz?verbose")
        assert answer.status == 200, answer
        found = re.search(r"^clock: (\w+)(?: by (\d+) s)?$", answer.text, re.M)
        return found[1], int(found[2] or 0)

    def behind_s(self):
        text = self.client.get("/metrics").text
        return float(re.search(r"^halligan_clock_behind_seconds ([0-9.]+)$", text, re.M)[1])

    def warnings(self):
        lines = [json.loads(line) for line in self.read("stderr").splitlines()]
        return [line for line in lines if line["level"] == "warning" and "seconds" in line]


def later(seconds):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def token(client, name, seconds=None):
    fields = {"name": name} if seconds is None else {"name": name, "expires_at": later(seconds)}
    answer = client.post("tokens", fields)
    assert answer.status == 200, answer
    return answer.json()["token"]


def login(own):
    password = own.read("admin.password").strip()
    return Client(own.read("listen").strip()).post(
        "session", {"username": "admin", "password": password})


def with_cookie(own, answer):
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    return Client(own.read("listen").strip()).get("session", headers={"Cookie": cookie})


def bearer(own, secret):
    return Client(own.read("listen").strip(), "Bearer " + secret).get("deployments").status


def test_a_clock_that_is_ahead_for_a_moment_invalidates_nothing(daemon):
    with Timed(daemon) as own:
        own.start()
        me = own.client
        assert me.post("users", {"username": "bob", "password": "long enough"}).status == 200
        short, long = token(me, "short", DAY_S), token(me, "long")
        session = login(own)
        assert session.status == 200 and with_cookie(own, session).status == 200
        began = time.monotonic()
        own.clock.set(10 * YEAR_S)
        eventually(lambda: own.condition()[0] == "ahead", "the jump is noticed")
        assert (bearer(own, short), bearer(own, long)) == (401, 200)
        assert with_cookie(own, session).status == 401
        token(own.client, "made meanwhile")
        wrong = Client(own.read("listen").strip(), basic("bob", "guessed"))
        for _ in range(6):
            assert wrong.get("deployments").status == 401
        assert wrong.get("deployments").status == 429
        own.clock.set(0)
        elapsed = time.monotonic() - began
        # A lock-out is ten minutes long, wherever the clock was when it began.
        left = int(wrong.get("deployments").headers["Retry-After"])
        assert 0 < left <= 600, left
        assert with_cookie(own, session).status == 200
        assert login(own).status == 200
        if elapsed < CONFIRM_S:  # later the jump counts, and what it made old may go
            assert (bearer(own, short), bearer(own, long)) == (200, 200)
            eventually(lambda: own.condition() == ("ok", 0), "the clock is right again")
            assert own.behind_s() < 1
        assert own.stop() == 0


def test_a_stamp_that_is_ahead_does_not_extend_lockouts(daemon):
    with Timed(daemon) as own:
        own.clock.set(10 * YEAR_S)  # an empty store has no stamp: this one is adopted at once
        own.start()
        assert own.condition() == ("ok", 0) and own.warnings() == []
        own.clock.set(0)
        eventually(lambda: own.condition()[0] == "behind", "the clock is behind")
        for _ in range(2):  # and after a restart
            session = login(own)
            assert session.status == 200 and with_cookie(own, session).status == 200
            short = token(own.client, "short", HOUR_S)
            token(own.client, "another")
            assert bearer(own, short) == 200
            state, seconds = own.condition()
            assert state == "behind" and abs(seconds - 10 * YEAR_S) < HOUR_S
            assert abs(own.behind_s() - 10 * YEAR_S) < HOUR_S
            eventually(own.warnings, "it is said")
            assert len(own.warnings()) == 1, own.warnings()
            assert own.set_clock().returncode == HELD
            assert own.stop() == 0
            os.unlink(own.path("stderr"))
            own.start()
        assert own.stop() == 0


def test_set_clock_creates_no_store(daemon):
    with Timed(daemon, another_store(daemon.store, "set_clock_empty")) as own:
        absent = own.path("absent")
        done = own.set_clock(absent)
        assert done.returncode == TROUBLE, done
        assert daemon.store or not os.path.exists(absent)


def test_set_clock_lowers_the_stamp_and_leaves_a_record(daemon):
    with Timed(daemon, another_store(daemon.store, "set_clock")) as own:
        own.clock.set(10 * YEAR_S)
        own.start()
        assert own.client.post("deployments", {"name": "early"}).status == 200
        assert own.stop() == 0
        own.clock.set(0)
        done = own.set_clock()
        assert done.returncode == 0, done
        assert own.run("check", *own.store).returncode == 0
        os.unlink(own.path("stderr"))
        own.start()
        assert own.condition() == ("ok", 0) and own.warnings() == []
        assert own.client.post("deployments", {"name": "now"}).status == 200
        events = own.client.get("events?verb=set_clock").json()
        assert len(events) == 1 and events[0]["actor"] == "halligand set-clock", events
        before, after = events[0]["changes"]["stamp"]
        assert before > later(9 * YEAR_S) and after < later(DAY_S), events
        made = own.client.get("deployments/now").json()
        assert made["created_at"] < later(DAY_S), made
        assert own.client.get("deployments/early").json()["created_at"] > later(9 * YEAR_S)
        assert own.stop() == 0
        assert own.set_clock().returncode == 0  # nothing is ahead any more
        own.start()
        assert len(own.client.get("events?verb=set_clock").json()) == 1
        assert own.stop() == 0


def test_a_start_far_ahead_of_the_stamp_does_not_move_it_at_once(daemon):
    with Timed(daemon) as own:
        own.start()
        assert own.stop() == 0
        own.clock.set(10 * YEAR_S)
        began = time.monotonic()
        own.start()
        state = own.condition()[0]
        assert own.client.post("deployments", {"name": "hasty"}).status == 200
        assert own.stop() == 0
        if time.monotonic() - began < CONFIRM_S:
            assert state == "ahead"
            own.clock.set(0)
            own.start()
            assert own.condition() == ("ok", 0), own.condition()
            assert own.stop() == 0


SAYING = """
barclamp: {name: saying, source_path: SOURCE}
jigs: [{name: script, class: script}]
roles: [{name: say, jig: script}]
"""


class Saying(Timed):
    """A daemon with a role whose run says something, on this host."""

    def __init__(self, daemon):
        super().__init__(daemon)
        os.makedirs(self.path("shelf/saying/scripts/say"))
        self.write("shelf/saying/saying.yml", SAYING.replace("SOURCE", self.path("shelf/saying")))
        self.write("shelf/saying/scripts/say/10-say.sh", "#!/bin/sh\necho said\n", 0o755)

    def begin(self):
        self.start("--barclamps", self.path("shelf"))

    def bind(self):
        me = self.client
        node = {"name": "here.example.com", "admin": True, "alive": True, "available": True}
        assert me.post("nodes", node).status == 200
        bound = me.post("node_roles", {"node": node["name"], "role": "say"})
        assert bound.status == 200, bound
        assert me.put("nodes/here.example.com/commit").status == 200
        return bound.json()["id"]

    def runs(self, noderole, count):
        """When so many runs have ended well: the names of the logs that are kept."""

        def is_done():
            row = self.client.get(f"node_roles/{noderole}").json()
            return row["state"] == 0 and row["run_count"] == count

        eventually(is_done, f"run {count} has ended")
        return sorted(os.listdir(self.path(f"logs/{noderole}")))


def test_a_clock_that_is_ahead_for_a_moment_deletes_no_log_of_a_run(daemon):
    with Saying(daemon) as own:
        own.begin()
        noderole = own.bind()
        assert own.runs(noderole, 1) == ["1.log"]
        began = time.monotonic()
        own.clock.set(10 * YEAR_S)
        eventually(lambda: own.condition()[0] == "ahead", "the jump is noticed")
        assert own.client.put(f"node_roles/{noderole}/retry").status == 200
        kept = own.runs(noderole, 2)
        if time.monotonic() - began < CONFIRM_S:  # later the jump counts
            assert kept == ["1.log", "2.log"], kept
        assert own.stop() == 0
        # A clock that a start adopts counts: these logs are older than thirty days then.
        own.clock.set(100 * DAY_S)
        own.begin()
        assert own.client.put(f"node_roles/{noderole}/retry").status == 200
        assert "1.log" not in own.runs(noderole, 3)
        assert own.stop() == 0


def test_a_clock_that_is_ahead_for_a_moment_renews_no_certificate(daemon):
    with Timed(daemon) as own:

        def certificates():
            names = sorted(os.listdir(own.path("tls")))
            return {name: own.read(f"tls/{name}") for name in names}

        own.start("--tls-auto")
        made = certificates()
        began = time.monotonic()
        own.clock.set(10 * YEAR_S)
        eventually(lambda: own.condition()[0] == "ahead", "the jump is noticed")
        own.process.send_signal(signal.SIGHUP)
        own.says("reloaded")
        if time.monotonic() - began < CONFIRM_S:
            assert certificates() == made
            assert "certificate expired" not in own.read("stderr")
        assert own.stop() == 0
        own.clock.set(310 * DAY_S)  # adopted by a start; sixty days before its end it is renewed
        own.start("--tls-auto")
        renewed = certificates()
        assert renewed["ca.pem"] == made["ca.pem"] and renewed != made
        # A jump that stays is adopted after a minute, and the certificate is checked then.
        own.clock.set((310 + 320) * DAY_S)
        deadline = time.monotonic() + 150
        while certificates() == renewed:
            assert time.monotonic() < deadline, "the certificate is not renewed"
            time.sleep(0.5)
        assert own.stop() == 0
