"""How runs end, and what that does to the noderole and its node."""
import os
import shutil
import time

from yard import (
    ACTIVE, CANCELLED, ERROR, FAILED, LONG, OK, PARKED, PROPOSED, RUN_PARKED, TODO, TRANSITION,
    eventually,
)
from stream import stream  # yard.py adds its directory to sys.path

MIB = 1 << 20
RUNLOG_MAX = 2048  # as in src/model/limits.h


def node_of(y, noderole):
    return y.one("SELECT node.* FROM node JOIN noderole ON node.id = node_id "
                 "WHERE noderole.id = ?", noderole)


# -- exit codes ----------------------------------------------------------------------------------


def exits(y, codes):
    """One node for each, with a script that exits so: {code: noderole}."""
    for code in codes:
        y.role(f"exits-{code}", f"say ran; write_attribute yard/code {code}; exit {code}")
    y.start()
    return {code: y.run(y.node(f"n{code}"), f"exits-{code}") for code in codes}


def test_exits_that_are_fine(y):
    """0, 16, 32, 64 and their sums: the work is done, and the machine is served."""
    bound = exits(y, range(0, 128, 16))
    for code, noderole in bound.items():
        goes_down = bool(code & (32 | 64))
        # What goes down with its machine is to be done again once that is back.
        y.settles(noderole, TODO if goes_down else ACTIVE)
        node = node_of(y, noderole)
        assert bool(node["alive"]) != goes_down, (code, node)
        assert bool(node["stopped"]) == bool(code & 16), (code, node)
        assert y.look(noderole)["run_count"] == 1
        assert y.results(noderole) == [OK], code
        assert y.wall(noderole) == {"yard": {"code": code}}
        if goes_down:  # in the very step that ended the run
            assert node["alive_since"] == y.history(noderole)[0]["ended_at"], node
    assert len(y.ledger()) == len(bound)


def test_exits_that_are_not_finished(y):
    """128 and sums with it: parked, unless the machine goes down."""
    bound = exits(y, range(128, 256, 16))
    for code, noderole in bound.items():
        goes_down = bool(code & (32 | 64))
        eventually(lambda: y.results(noderole), f"{code} ended")
        assert y.results(noderole) == [PARKED], code
        assert y.look(noderole)["state"] == (TODO if goes_down else TRANSITION), code
        states = [run["state"] for run in y.runs(noderole)]
        assert states == ([] if goes_down else [RUN_PARKED]), (code, states)
        node = node_of(y, noderole)
        assert bool(node["alive"]) != goes_down and bool(node["stopped"]) == bool(code & 16), code
        assert y.look(noderole)["run_count"] == 0
        assert y.wall(noderole) == {"yard": {"code": code}}
    for run in y.runs():  # so that nothing is left for the end
        assert y.me.put(f"runs/{run['id']}/cancel").status == 200


def test_all_other_exits_have_failed(y):
    codes = [1, 2, 8, 15, 17, 33, 63, 65, 100, 127, 129, 137, 143, 254, 255]
    bound = exits(y, codes)
    for code, noderole in bound.items():
        failed = y.reaches(noderole, ERROR)
        told = 254 if code == 255 else code  # that one belongs to ssh
        assert failed["runlog"].endswith(f"ended with status {told}"), failed
        assert failed["status"] == "run failed" and failed["run_count"] == 0
        assert y.results(noderole) == [FAILED]
        assert y.wall(noderole) == {}, "what a failed run wrote does not count"
        node = node_of(y, noderole)
        assert node["alive"] and not node["stopped"], node
    assert len(y.ledger()) == len(codes)


def test_a_script_that_a_signal_ends_has_failed(y):
    signals = [1, 2, 3, 6, 9, 10, 11, 13, 14, 15]
    for signal in signals:
        y.role(f"dies-{signal}", f"ulimit -c 0; say ran; kill -{signal} $$; say never")
    y.start()
    bound = {signal: y.run(y.node(f"n{signal}"), f"dies-{signal}") for signal in signals}
    for signal, noderole in bound.items():
        assert f"ended with status {128 + signal}" in y.reaches(noderole, ERROR)["runlog"]
    assert y.ledger("never") == []


def test_a_stopped_node_does_nothing_more_until_something_there_is_retried(y):
    y.role("stops", "say stops; exit 16")
    y.role("next", "say next")
    y.start()
    node = y.node("one")
    stops, after = y.bind(node, "stops"), y.bind(node, "next")
    y.commit(stops)
    y.reaches(stops, ACTIVE)
    y.commit(after)
    other = y.run(y.node("two"), "next")  # later roles run on other nodes
    y.reaches(other, ACTIVE)
    assert y.look(after)["state"] == TODO
    y.kill()
    y.start()
    other = y.run(y.node("three"), "next")
    y.reaches(other, ACTIVE)
    assert y.look(after)["state"] == TODO and node_of(y, after)["stopped"]
    y.role("stops", "say stops; exit 0")
    y.verb(stops, "retry")
    y.reaches(after, ACTIVE)
    assert not node_of(y, after)["stopped"]


def test_a_parked_run_goes_on_when_it_is_resumed(y):
    y.role("rounds", """
        n=$(read_attribute yard/n || echo 0)
        say round "$n"
        write_attribute yard/n $((n + 1))
        [ $n -ge 2 ] || exit 128
    """)
    y.role("next", "say next")
    y.start("--pool-normal", "1")
    node = y.node("one")
    noderole, after = y.run(node, "rounds"), y.run(node, "next")
    for number in range(2):
        eventually(lambda: len(y.results(noderole)) == number + 1, "a round is over")
        runs = y.runs()
        assert [run["state"] for run in runs] == [RUN_PARKED]
        assert y.look(noderole)["state"] == TRANSITION
        assert y.look(after)["state"] == TODO  # the node is not free, the worker is
        y.reaches(y.run(y.node(f"other{number}"), "next"), ACTIVE)
        if number:
            y.kill()
            y.start("--pool-normal", "1")
            assert [run["id"] for run in y.runs()] == [runs[0]["id"]]
        y.pull(f"resume {runs[0]['id']}")
    assert y.settles(noderole)["run_count"] == 1
    y.reaches(after, ACTIVE)
    assert [line.more for line in y.ledger("round")] == ["0", "1", "2"]
    assert y.results(noderole) == [PARKED, PARKED, OK]
    assert len({run["run_id"] for run in y.history(noderole)}) == 1
    assert y.wall(noderole) == {"yard": {"n": 3}}


# -- retries -------------------------------------------------------------------------------------

FAILS_TWICE = 'say try; [ "$(grep -c " try $node " "$here/ledger")" -gt 2 ]'


def test_a_role_that_may_fail_is_tried_again(y):
    y.role("shaky", FAILS_TWICE, attempts=3, backoff=1)
    y.start()
    noderole = y.run(y.node("one"), "shaky")
    eventually(lambda: y.results(noderole), "the first start is over")
    assert y.settles(noderole)["run_count"] == 1
    runs = y.history(noderole)
    assert [run["result"] for run in runs] == [FAILED, FAILED, OK]
    assert len({run["run_id"] for run in runs}) == 1
    assert len(y.ledger("try")) == 3
    waits = [later["started_at"] - run["ended_at"] for run, later in zip(runs, runs[1:])]
    assert waits[0] >= 900 and waits[1] >= 1900, waits  # each twice as long as the one before
    assert y.look(noderole)["runlog"] == "" and y.look(noderole)["status"] == ""


def test_a_role_that_fails_each_time_is_an_error_in_the_end(y):
    y.role("broken", "say try; echo no luck >&2; exit 5", attempts=2, backoff=1)
    y.start()
    noderole = y.run(y.node("one"), "broken")
    eventually(lambda: [run["state"] for run in y.runs(noderole)] == [RUN_PARKED], "it waits")
    waiting = y.look(noderole)
    assert waiting["state"] == TRANSITION
    assert waiting["status"] == "attempt 1 of 2 failed; next attempt in 1 s", waiting
    assert "no luck\n" in waiting["runlog"]
    failed = y.reaches(noderole, ERROR)
    assert failed["runlog"].endswith("ended with status 5") and failed["run_count"] == 0
    assert y.results(noderole) == [FAILED, FAILED] and y.runs() == []
    assert [run["result"] for run in y.api_runs(noderole)] == ["failed", "failed"]
    assert len(y.ledger("try")) == 2


def test_a_daemon_that_is_killed_in_between_tries_again_all_the_same(y):
    y.role("shaky", FAILS_TWICE, attempts=3, backoff=1)
    y.start()
    noderole = y.run(y.node("one"), "shaky")
    for tries in (1, 2):
        eventually(lambda: len(y.results(noderole)) >= tries, "a start is over")
        y.kill()
        y.start()
    assert y.settles(noderole)["run_count"] == 1
    assert y.results(noderole) == [FAILED, FAILED, OK]
    assert len(y.ledger("try")) == 3


def test_a_destructive_role_is_not_tried_again(y):
    y.role("wipe", "say try; exit 1", attempts=3, backoff=1, flags=["destructive"])
    y.start()
    noderole = y.run(y.node("one"), "wipe")
    y.reaches(noderole, ERROR)
    assert y.results(noderole) == [FAILED] and y.runs() == [] and len(y.ledger()) == 1


def test_a_destructive_role_that_was_done_is_not_done_again(y):
    y.role("wipe", "say wiped", flags=["destructive"])
    y.start()
    noderole = y.run(y.node("one"), "wipe")
    assert y.settles(noderole)["run_count"] == 1
    y.verb(noderole, "retry")
    assert y.settles(noderole)["run_count"] == 1
    assert len(y.ledger()) == 1 and y.results(noderole) == [OK]


# -- time ----------------------------------------------------------------------------------------


def test_a_run_that_takes_too_long_is_ended_with_all_it_has_started(y):
    y.role("slow", f"say begin; setsid sleep {LONG} & sleep {LONG}", deadline=1)
    y.start()
    noderole = y.run(y.node("one"), "slow")
    failed = y.reaches(noderole, ERROR)
    assert failed["runlog"].endswith("the run took longer than it may, and was stopped"), failed
    assert y.results(noderole) == [FAILED]
    assert y.strays() == []


def test_the_deadline_of_the_installation_counts_where_a_role_has_none(y):
    y.role("slow", f"say begin; sleep {LONG}")
    y.role("patient", "say begin; sleep 1.5; say end", deadline=600)
    y.start("--run-deadline", "1")
    slow, patient = y.run(y.node("one"), "slow"), y.run(y.node("two"), "patient")
    assert "longer than it may" in y.reaches(slow, ERROR)["runlog"]
    y.reaches(patient, ACTIVE)


def test_a_deadline_counts_while_no_daemon_is_there(y):
    y.role("slow", f"say begin; exec sleep {LONG}", deadline=2)
    y.start()
    noderole = y.run(y.node("one"), "slow")
    y.wait_for("begin")
    eventually(lambda: y.runs(noderole)[0]["begun"], "the beginning is known")
    y.kill()
    eventually(lambda: not y.strays(), "it was ended")
    y.start()
    assert "longer than it may" in y.reaches(noderole, ERROR)["runlog"]
    assert y.results(noderole) == [FAILED] and len(y.ledger("begin")) == 1


# -- cancelling ----------------------------------------------------------------------------------

SLEEPS = f"say begin; setsid sleep {LONG} & sleep {LONG}; say end"


def test_an_operator_cancels_a_run(y):
    y.role("slow", SLEEPS)
    y.role("next", "say next")
    y.start()
    node = y.node("one")
    noderole = y.run(node, "slow")
    y.wait_for("begin")
    run = y.me.get("runs").json()[0]
    assert run["node_role_id"] == noderole and run["state"] == "running", run
    answer = y.me.put(f"runs/{run['id']}/cancel")
    assert answer.status == 200 and "is being stopped" in answer.text, answer
    failed = y.reaches(noderole, ERROR)
    assert "cancelled" in failed["runlog"] + failed["status"], failed
    eventually(lambda: not y.runs(), "it has stopped")
    assert y.strays() == []
    assert [run["result"] for run in y.api_runs(noderole)] == ["cancelled"]
    assert y.me.put(f"runs/{run['id']}/cancel").status == 404
    y.role("slow", "say again")
    y.verb(noderole, "retry")
    assert y.settles(noderole)["run_count"] == 1
    assert [line.word for line in y.ledger()] == ["begin", "again"]


def test_a_cancelled_run_is_not_tried_again(y):
    y.role("slow", SLEEPS, attempts=3, backoff=1)
    y.start()
    noderole = y.run(y.node("one"), "slow")
    y.wait_for("begin")
    assert y.me.put(f"runs/{y.runs()[0]['id']}/cancel").status == 200
    eventually(lambda: y.results(noderole) == [CANCELLED], "it has stopped")
    assert y.settles(noderole, ERROR)["run_count"] == 0
    assert len(y.ledger()) == 1


def test_a_node_that_dies_ends_its_run_and_has_it_again_when_it_lives(y):
    y.role("work", "say begin; gate one; say end")
    y.start()
    y.shut("one")
    node = y.node("one")
    noderole = y.run(node, "work")
    y.wait_for("begin")
    y.set_node(node, alive=False)
    assert y.look(noderole)["state"] == TODO
    eventually(lambda: not y.runs(), "it has stopped")
    assert y.results(noderole) == [CANCELLED] and y.strays() == []
    y.open("one")
    y.set_node(node, alive=True)
    assert y.settles(noderole)["run_count"] == 1
    assert y.results(noderole) == [CANCELLED, OK]
    assert [line.word for line in y.ledger()] == ["begin", "begin", "end"]


def test_what_was_cancelled_before_a_kill_is_stopped_after_it(y):
    y.role("stubborn", "trap '' TERM; say begin; while :; do sleep 0.1; done")
    y.start()
    node = y.node("one")
    noderole = y.run(node, "stubborn")
    y.wait_for("begin")
    y.verb(noderole, "propose")
    y.kill()
    y.start()
    eventually(lambda: not y.runs(), "it has stopped")
    assert y.strays() == [] and y.look(noderole)["state"] == PROPOSED
    assert y.results(noderole) == [CANCELLED]


def test_a_noderole_or_node_that_is_deleted_takes_its_run_with_it(y):
    y.role("slow", SLEEPS)
    y.start()
    y.node("stays")
    node = y.node("one")
    first, second = y.run(node, "slow"), y.run(y.node("two"), "slow")
    y.wait_for("begin", 2)
    assert y.me.delete(f"node_roles/{second}").status == 200
    answer = y.me.delete("nodes/" + node)
    assert answer.status == 200, answer
    eventually(lambda: not y.runs(), "they have stopped")
    eventually(lambda: not y.strays(), "nothing is left of them")
    assert y.results(first) == [CANCELLED] and y.results(second) == [CANCELLED]
    assert y.me.get(f"node_roles/{second}").status == 404


# -- what they say -------------------------------------------------------------------------------


def test_the_end_of_a_long_log_is_kept_and_what_is_missing_is_said(y):
    size = 5 * MIB
    y.role("talks", f"yes 0123456789 | head -c {size} >&2; echo the last words >&2; exit 1")
    y.start()
    noderole = y.run(y.node("one"), "talks")
    failed = y.reaches(noderole, ERROR)
    head, rest = failed["runlog"].split("\n", 1)
    assert len(failed["runlog"].encode()) <= RUNLOG_MAX
    assert head.endswith(" bytes before this are left out]"), head
    log, last = rest.rsplit("\n", 1)
    assert log.endswith("the last words") and "ended with status 1" in last
    total = len("== 00.sh\n") + size + len("the last words\n")
    assert int(head[1:].split()[0]) + len(log) + 1 == total, (head, len(log), total)
    assert y.history(noderole)[0]["runlog"] == failed["runlog"]
    kept = y.path("logs", str(noderole), "1.log")
    with open(kept) as file:
        first = file.readline()
        body = file.read()
    assert int(first.split(", ")[1].split()[0]) + len(body) == total, first
    assert len(body) == MIB and body.endswith("the last words\n")


def test_a_log_can_be_read_while_it_grows_and_after_that(y):
    y.role("talks", "echo first >&2; say begin; gate one; echo last; printf '\\303\\244\\n'")
    y.start()
    y.shut("one")
    noderole = y.run(y.node("one"), "talks")
    y.wait_for("begin")
    run = y.runs()[0]["id"]
    log = y.me.get(f"runs/{run}/log").json()
    assert log["text"] == "== 00.sh\nfirst\n" and log["ended"] is False, log
    assert log["offset"] == 0 and log["next"] == log["total"] == len(log["text"]), log
    more = y.me.get(f"runs/{run}/log?offset={log['next']}").json()
    assert more["text"] == "" and more["next"] == log["next"], more
    y.kill()
    y.start()
    again = eventually(lambda: (lambda a: a if a.status == 200 else None)(y.me.get(f"runs/{run}/log")),
                       "the log is found again")
    assert again.json()["text"] == log["text"], again
    y.open("one")
    y.reaches(noderole, ACTIVE)
    which = f"runs/{run}/log?node_role={noderole}&attempt=1"
    rest = y.me.get(f"{which}&offset={log['next']}").json()
    assert rest["text"] == "last\n\u00e4\n" and rest["ended"] is True, rest
    assert y.me.get(which).json()["text"] == log["text"] + rest["text"]
    assert y.me.get(f"runs/{run}/log").status == 404


def test_a_log_is_followed_to_its_end(y):
    y.role("talks", "echo first >&2; say begin; gate one; yes more | head -n 5000; echo last")
    y.start()
    y.shut("one")
    noderole = y.run(y.node("one"), "talks")
    y.wait_for("begin")
    with stream(y.me, f"runs/{y.runs()[0]['id']}/log") as followed:
        event, at, data = followed.next()
        assert event == "log" and data == {"offset": 0, "text": "== 00.sh\nfirst\n"}, data
        told, reached = data["text"], at
        y.open("one")
        while True:
            event, at, data = followed.next()
            if event == "end":
                break
            assert event == "log" and str(data["offset"]) == reached, data
            told, reached = told + data["text"], at
        assert told == "== 00.sh\nfirst\n" + "more\n" * 5000 + "last\n"
        assert followed.next() is None
    y.reaches(noderole, ACTIVE)
    run = y.history(noderole)[0]["run_id"]
    which = f"runs/{run}/log?node_role={noderole}&attempt=1"
    with stream(y.me, which, **{"Last-Event-ID": "9"}) as followed:
        event, at, data = followed.next()
        assert data["offset"] == 9 and data["text"].startswith("first\nmore\n"), data


def test_as_many_logs_and_runs_are_kept_as_was_said(y):
    y.role("talks", 'echo "$HALLIGAN_RUN_ID" >&2')
    y.start("--keep-runs", "3")
    noderole = y.run(y.node("one"), "talks")
    for count in range(1, 7):
        eventually(lambda: y.look(noderole)["run_count"] == count, "it ran")
        y.settles(noderole)
        if count < 6:
            y.verb(noderole, "retry")
    runs = y.history(noderole)
    assert [run["attempt"] for run in runs] == [4, 5, 6], runs
    assert [f"{run['run_id']}-{run['attempt']}" in run["runlog"] for run in runs] == [True] * 3
    assert [run["attempt"] for run in y.api_runs(noderole)] == [6, 5, 4]
    assert len(y.me.get(f"node_roles/{noderole}/runs?limit=2").json()) == 2
    logs = sorted(os.listdir(y.path("logs", str(noderole))))
    assert {"4.log", "5.log", "6.log"} <= set(logs), logs


def test_what_scripts_write_is_the_wall_and_replaces_the_one_before(y):
    y.role("writes", """
        echo this goes to the log
        write_attribute a/number 42; write_attribute a/yes TRUE
        write_attribute a/list '[1, {"x": null}]'; write_attribute a/text 007
    """, "write_attribute b/second 'two\nlines'")
    y.start()
    noderole = y.run(y.node("one"), "writes")
    y.reaches(noderole, ACTIVE)
    assert y.wall(noderole) == {
        "a": {"number": 42, "yes": True, "list": [1, {"x": None}], "text": "007"},
        "b": {"second": "two\nlines"}}, y.wall(noderole)
    assert "this goes to the log\n" in y.history(noderole)[0]["runlog"]
    y.role("writes", "write_attribute c 1", "exit 3")
    y.verb(noderole, "retry")
    y.reaches(noderole, ERROR)
    assert "c" not in y.wall(noderole) and y.wall(noderole)["a"]["number"] == 42
    y.role("writes", "write_attribute d 1", "exit 0")
    y.verb(noderole, "retry")
    y.reaches(noderole, ACTIVE)
    assert y.wall(noderole) == {"d": 1}
    y.role("writes", f"mkdir -p attrs/e; head -c {MIB + 1} /dev/zero | tr '\\0' x > attrs/e/wall")
    y.verb(noderole, "retry")
    failed = y.reaches(noderole, ERROR)
    assert "too much" in failed["runlog"] and y.wall(noderole) == {"d": 1}, failed


def test_a_script_finds_its_data(y):
    y.role("reads", "say found \"$(read_attribute yard/word)\" \"$(cat values/yard/word)\"")
    y.start()
    noderole = y.bind(y.node("one"), "reads", data={"yard": {"word": "a b"}})
    y.commit(noderole)
    y.reaches(noderole, ACTIVE)
    assert [line.more for line in y.ledger()] == ["a b a b"]


# -- what cannot even begin ----------------------------------------------------------------------


def test_a_role_without_scripts_fails_with_the_path_and_works_when_it_has_them(y):
    y.role("empty", jig="script")
    y.start()
    noderole = y.run(y.node("one"), "empty")
    failed = y.reaches(noderole, ERROR)
    assert "role empty has no scripts" in failed["runlog"], failed
    assert os.path.join(y.folder, "scripts", "empty") in failed["runlog"], failed
    assert y.results(noderole) == [FAILED]
    y.role("empty", "say now")
    y.verb(noderole, "retry")
    y.reaches(noderole, ACTIVE)
    assert len(y.ledger()) == 1


# -- a tool that is missing ----------------------------------------------------------------------


def jig(y, name):
    return y.one("SELECT active, inactive_reason FROM jig WHERE name = ?", name)


def test_a_jig_whose_tool_is_missing_is_off_and_says_which(y):
    y.role("work", "say ran")
    y.start()
    before = y.bind(y.node("one"), "work")
    assert jig(y, "script") == {"active": 1, "inactive_reason": ""}
    y.stop()
    os.mkdir(y.path("nothing"))
    y.start("--tool-path", y.path("nothing"))
    eventually(lambda: not jig(y, "script")["active"], "the jig is off")
    state = jig(y, "script")
    assert state["inactive_reason"] == "sh is not installed here (package dash)", state
    refused = y.me.post("node_roles", {"node": y.node("two"), "role": "work"})
    assert refused.status == 409 and refused.json()["code"] == "jig_inactive", refused
    assert state["inactive_reason"] in refused.json()["message"], refused
    y.commit(before)
    assert y.look(before)["state"] == TODO  # it waits until the jig is active
    y.kill()
    y.start()
    y.settles(before)
    assert jig(y, "script") == {"active": 1, "inactive_reason": ""}
    y.reaches(y.run(y.node("three"), "work"), ACTIVE)
    assert len(y.ledger()) == 2


def test_without_a_supervisor_runs_fail_and_the_daemon_is_not_ready(y):
    """A missing program must not leave runs waiting for ever."""
    y.role("lonely", "say ran")
    alone = os.path.join(y.data, "alone")  # halligan-exec is expected beside the daemon
    os.mkdir(alone)
    y.program = shutil.copy(y.program, alone)
    y.start()
    noderole = y.run(y.node("n1"), "lonely")
    deadline = time.monotonic() + 90  # until the timeout
    while y.look(noderole)["state"] != ERROR and time.monotonic() < deadline:
        time.sleep(0.2)
    assert "halligan-exec cannot be started or does not answer" in y.look(noderole)["runlog"], y.look(noderole)
    assert y.me.get("/readyz").status == 503
    assert y.ledger() == []
