"""A wall clock that was wrong once: logins work, tokens keep their validity, the trouble is shown.

Whether each rule of docs/operating.md holds is tested by tests/api/test_clock.py; here the clock jumps
while clients log in and change things, and the daemon is killed in between.
"""
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clock"))

from clock import DAY_S, HOUR_S, YEAR_S, Clock  # noqa: E402
from daemon import Client, basic, eventually  # noqa: E402
from installation import made  # noqa: E402

PASSWORD = "a long secret"


def timed(attack):
    daemon = attack.installation()
    daemon.clock = Clock(attack.build, daemon.path("clock"))
    daemon.environment = daemon.clock.environment()
    daemon.environment["ASAN_OPTIONS"] += ":quarantine_size_mb=8:abort_on_error=1"
    daemon.start()
    return daemon


def condition(daemon):
    """The word behind "clock:" of /readyz?verbose."""
    answer = daemon.stranger().get("/readyz?verbose")
    assert answer.status == 200, answer
    return re.search(r"^clock: (\w+)", answer.text, re.M)[1]


def behind_s(daemon):
    text = daemon.client().get("/metrics").text
    return float(re.search(r"^halligan_clock_behind_seconds ([0-9.]+)$", text, re.M)[1])


def work(daemon, count):
    """Logs in with a password, makes a session, and changes something with each."""
    user = Client(daemon.url, basic("ann", PASSWORD))
    made(user.post("nodes", {"name": f"c{count}.example.com"}))
    login = daemon.stranger().post("session", {"username": "ann", "password": PASSWORD})
    csrf = made(login)["csrf_token"]
    cookie = {"Cookie": login.headers["Set-Cookie"].split(";")[0], "X-CSRF-Token": csrf}
    made(daemon.stranger().put(f"nodes/c{count}.example.com", {"description": "w"}, headers=cookie))
    return made(user.post("tokens", {"name": f"t{count}", "expires_at": None}))["token"]


def test_a_clock_that_jumps_back_and_forth(attack):
    daemon = timed(attack)
    me = daemon.client()
    made(me.post("users", {"username": "ann", "password": PASSWORD, "access": "operator"}))
    lasting = [work(daemon, 0)]
    warned = daemon.read("stderr").count("level=warning")
    for count, seconds in enumerate((3 * HOUR_S, 0, 20 * DAY_S, -HOUR_S, 0), 1):
        daemon.clock.set(seconds)
        if seconds == 20 * DAY_S:  # adopted at once by a start, then the clock is right again
            daemon.process.kill()
            daemon.process.wait()
            daemon.start()
        lasting.append(work(daemon, count))
        for token in lasting:
            assert Client(daemon.url, "Bearer " + token).get("nodes").status == 200
    eventually(lambda: condition(daemon) == "behind", "the clock is seen to be behind")
    assert behind_s(daemon) > 10 * DAY_S
    eventually(lambda: daemon.read("stderr").count("level=warning") > warned, "it is warned of")
    daemon.process.kill()
    daemon.process.wait()
    daemon.start()
    work(daemon, 99)
    for token in lasting:
        assert Client(daemon.url, "Bearer " + token).get("nodes").status == 200
    assert condition(daemon) == "behind"
    daemon.expect_well()
    daemon.end()


def test_a_start_does_not_trust_a_clock_years_ahead(attack):
    """Nothing that is valid is deleted by a clock that is ten years ahead for a start."""
    daemon = timed(attack)
    token = made(daemon.client().post("tokens", {"name": "a year", "expires_at": None}))["token"]
    daemon.end()
    daemon.clock.set(10 * YEAR_S)
    daemon.start()
    assert condition(daemon) == "ahead"
    daemon.clock.set(0)
    daemon.process.kill()
    daemon.process.wait()
    daemon.start()
    assert Client(daemon.url, "Bearer " + token).get("nodes").status == 200
    assert condition(daemon) == "ok"
    daemon.end()
