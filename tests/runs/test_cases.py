"""Cases 75 to 85: the run queue, with scripts that really run."""
from yard import (
    ACTIVE, BLOCKED, ERROR, FAILED, OK, PROPOSED, RUN_QUEUED, TODO, TRANSITION, eventually,
    overlapping,
)

WORK = "say begin; sleep 0.05; say end"
GATED = 'say begin "$(read_attribute yard/word || true)"; gate one; say end'


def words_of(lines):
    return [(line.word, line.role) for line in lines]


def together(y, *noderoles):
    """They all become TODO in one step."""
    deployment = y.look(noderoles[0])["deployment_id"]
    answer = y.me.put(f"deployments/{deployment}/commit")
    assert answer.status == 200, answer


def deployment(y, name):
    answer = y.me.post("deployments", {"name": name})
    assert answer.status == 200, answer
    return name


# -- 75 ------------------------------------------------------------------------------------------


def test_c75_lower_cohorts_then_lower_ids_and_never_two_on_a_node(y):
    for name in ("late", "early", "base"):
        y.role(name, WORK)
    y.role("above", WORK, requires=["base"])
    y.start()
    deployment(y, "d")
    node = y.node("one", deployment="d")
    # Ids do not go with the cohorts: `above` would come before `early` if they decided.
    order = [y.bind(node, role) for role in ("late", "above", "early")]
    together(y, *order)
    for noderole in order:
        y.reaches(noderole, ACTIVE)
    roles = ["late", "base", "early", "above"]
    assert words_of(y.ledger()) == [(w, r) for r in roles for w in ("begin", "end")], y.ledger()
    at = [line.at for line in y.ledger()]
    assert at == sorted(at)


def test_c75_many_roles_on_many_nodes_never_overlap_on_one(y):
    roles = [f"r{i}" for i in range(4)]
    for name in roles:
        y.role(name, GATED)
    y.start("--pool-normal", "6")
    y.shut("one")
    deployment(y, "d")
    nodes = [y.node(f"n{i}", deployment="d") for i in range(6)]
    bound = [y.bind(node, role) for role in roles for node in nodes]
    together(y, *bound)
    y.wait_for("begin", 6)
    y.open("one")
    for noderole in bound:
        assert y.reaches(noderole, ACTIVE)["run_count"] == 1
    for node in nodes:
        lines = y.ledger(node=node)
        assert words_of(lines) == [(w, r) for r in roles for w in ("begin", "end")], lines
    assert overlapping(y.ledger()) == 6


# -- 76 ------------------------------------------------------------------------------------------


def test_c76_as_many_at_a_time_as_the_pool_has_and_the_next_waits(y):
    pool, count = 10, 14
    y.role("work", GATED)
    y.start()  # ten by default
    y.shut("one")
    bound = [y.run(y.node(f"n{i}"), "work") for i in range(count)]
    y.wait_for("begin", pool)
    states = [y.look(noderole)["state"] for noderole in bound]
    assert states == [TRANSITION] * pool + [TODO] * (count - pool), states
    assert len(y.runs()) == pool == len(y.ledger("begin"))
    y.open("one")
    for noderole in bound:
        y.reaches(noderole, ACTIVE)
    assert overlapping(y.ledger()) == pool
    assert len(y.ledger("begin")) == len(y.ledger("end")) == count


def test_c76_the_pool_is_as_large_as_it_was_said(y):
    y.role("work", GATED)
    y.start("--pool-normal", "3")
    y.shut("one")
    deployment(y, "d")
    bound = [y.bind(y.node(f"n{i}", deployment="d"), "work") for i in range(12)]
    together(y, *bound)
    y.wait_for("begin", 3)
    y.open("one")
    for noderole in bound:
        y.reaches(noderole, ACTIVE)
    assert overlapping(y.ledger()) == 3


# -- 77, 78, 79 ----------------------------------------------------------------------------------


def test_c77_an_active_noderole_that_is_enqueued_runs_once_more(y):
    y.role("work", WORK)
    y.start()
    noderole = y.run(y.node("one"), "work")
    y.settles(noderole)
    y.pull(f"enqueue {noderole}")
    eventually(lambda: y.look(noderole)["run_count"] == 2, "it ran again")
    y.settles(noderole)
    assert words_of(y.ledger()) == [("begin", "work"), ("end", "work")] * 2
    assert y.results(noderole) == [OK, OK]


def test_c77_enqueued_twice_before_it_starts_it_runs_once_with_the_second_data(y):
    y.role("work", GATED)
    y.role("other", "say other; gate two")
    y.start("--pool-high", "1")
    y.shut("two")
    noderole, other = y.run(y.node("one"), "work"), y.run(y.node("two"), "other")
    y.settles(noderole)
    y.wait_for("other")
    y.open("two")
    y.settles(other)
    y.shut("two")
    y.pull(f"enqueue {other}")  # holds the only worker of that pool
    y.wait_for("other", 2)
    y.pull(f"wall {noderole} word-work first", f"enqueue {noderole}")
    y.pull(f"wall {noderole} word-work second", f"enqueue {noderole}")
    assert [run["state"] for run in y.runs(noderole)] == [RUN_QUEUED]
    assert y.look(noderole)["state"] == ACTIVE
    y.open("two")
    eventually(lambda: y.look(noderole)["run_count"] == 2, "it ran again")
    y.settles(noderole)
    y.settles(other)
    assert [line.more for line in y.ledger("begin")] == ["", "second"]


def test_c78_enqueued_while_it_runs_it_runs_exactly_once_more_with_the_newest_data(y):
    y.role("work", GATED)
    y.start()
    y.shut("one")
    noderole = y.run(y.node("one"), "work")
    y.wait_for("begin")
    for word in ("first", "second", "third"):
        y.pull(f"wall {noderole} word-work {word}", f"enqueue {noderole}")
    states = [run["state"] for run in y.runs(noderole)]
    assert len(states) == 2 and states.count(RUN_QUEUED) == 1, states
    y.open("one")
    eventually(lambda: y.look(noderole)["run_count"] == 2, "it ran again")
    y.settles(noderole)
    assert [line.more for line in y.ledger("begin")] == ["", "third"]
    assert overlapping(y.ledger()) == 1


def test_c79_what_cannot_run_gets_no_run_when_it_is_enqueued(y):
    y.role("work", WORK)
    y.role("fails", "say fails; exit 1")
    y.role("above", WORK, requires=["fails"])
    y.start()
    proposed = y.bind(y.node("proposed"), "work")
    failing = y.node("failing")
    failed = y.run(failing, "fails")
    above = y.run(failing, "above")
    dead = y.run(y.node("dead", alive=False), "work")
    away = y.run(y.node("away", available=False), "work")
    y.reaches(failed, ERROR)
    states = {proposed: PROPOSED, failed: ERROR, above: BLOCKED, dead: TODO, away: TODO}
    y.pull(*[f"enqueue {noderole}" for noderole in states])
    assert y.runs() == []
    assert {noderole: y.look(noderole)["state"] for noderole in states} == states
    assert words_of(y.ledger()) == [("fails", "fails")]


# -- 80 ------------------------------------------------------------------------------------------


def test_c80_a_script_that_fails_is_an_error_with_its_words_and_the_next_queued_run_starts(y):
    y.role("fails", "say begin; gate one; echo nothing to be done here >&2; say end; exit 3")
    y.role("database", WORK)
    y.start()
    node = y.node("one")
    database = y.run(node, "database")
    y.settles(database)
    y.shut("one")
    fails = y.run(node, "fails")
    y.wait_for("begin", role="fails")
    y.pull(f"enqueue {database}")
    assert [run["state"] for run in y.runs(database)] == [RUN_QUEUED]
    assert len(y.ledger("begin", role="database")) == 1
    y.open("one")
    failed = y.reaches(fails, ERROR)
    eventually(lambda: y.look(database)["run_count"] == 2, "the queued one ran")
    y.settles(database)
    assert y.runs() == []
    assert "nothing to be done here\n" in failed["runlog"], failed
    assert failed["runlog"].endswith("a script of role fails ended with status 3"), failed
    assert failed["run_count"] == 0 and failed["node_error"] is True
    assert y.results(fails) == [FAILED]
    assert "nothing to be done here" in y.history(fails)[0]["runlog"]
    assert overlapping(y.ledger()) == 1


def test_c80_the_first_of_several_scripts_that_fails_is_the_last(y):
    y.role("work", "say first", "say second; false; say never", "say third")
    y.start()
    noderole = y.run(y.node("one"), "work")
    assert "ended with status 1" in y.reaches(noderole, ERROR)["runlog"]
    assert [line.word for line in y.ledger()] == ["first", "second"]
    y.role("work", "say fourth", "say fifth", "say sixth")
    y.verb(noderole, "retry")
    assert y.reaches(noderole, ACTIVE)["runlog"] == ""
    assert [line.word for line in y.ledger()][2:] == ["fourth", "fifth", "sixth"]


# -- 81 ------------------------------------------------------------------------------------------


def test_c81_an_enqueued_run_starts_although_all_normal_workers_are_busy(y):
    y.role("work", GATED)
    y.role("database", WORK)
    y.start("--pool-normal", "4")
    database = y.run(y.node("server"), "database")
    y.settles(database)
    y.shut("one")
    busy = [y.run(y.node(f"n{i}"), "work") for i in range(5)]
    y.wait_for("begin", 4, role="work")
    y.pull(f"enqueue {database}")
    eventually(lambda: y.look(database)["run_count"] == 2, "the database ran")
    assert len(y.ledger("begin", role="work")) == 4
    assert [y.look(noderole)["state"] for noderole in busy] == [TRANSITION] * 4 + [TODO]
    y.open("one")
    for noderole in busy:
        y.reaches(noderole, ACTIVE)


# -- 82 ------------------------------------------------------------------------------------------


def test_c82_a_run_goes_on_while_the_daemon_is_killed_and_ends_once(y):
    y.role("work", GATED, "write_attribute yard/kept yes")
    y.start()
    y.shut("one")
    node = y.node("one")
    noderole = y.run(node, "work")
    second = y.run(node, "lever")
    y.wait_for("begin")
    supervisor = y.supervisor()
    for _ in range(3):
        y.kill()
        y.start()
        assert y.look(noderole)["state"] == TRANSITION
        assert y.supervisor() == supervisor
    assert y.look(second)["state"] == TODO  # the node is not free
    y.open("one")
    assert y.reaches(noderole, ACTIVE)["run_count"] == 1
    y.reaches(second, ACTIVE)
    assert [line.word for line in y.ledger()] == ["begin", "end"]
    assert y.results(noderole) == [OK]
    assert y.wall(noderole) == {"yard": {"kept": "yes"}}, y.wall(noderole)


def test_c82_a_run_that_ends_while_no_daemon_is_there_is_booked_by_the_next(y):
    y.role("fine", 'say begin; gate one; write_attribute yard/word "from $node"; say end')
    y.role("fails", "say begin; gate one; echo so it goes >&2; say end; exit 9")
    y.start()
    y.shut("one")
    fine, fails = y.run(y.node("one"), "fine"), y.run(y.node("two"), "fails")
    y.wait_for("begin", 2)
    y.kill()
    y.open("one")
    y.wait_for("end", 2)
    y.start()
    assert y.reaches(fine, ACTIVE)["run_count"] == 1
    assert "so it goes\n" in y.reaches(fails, ERROR)["runlog"]
    assert y.wall(fine) == {"yard": {"word": "from " + y.ledger(role="fine")[0].node}}
    assert y.results(fine) == [OK] and y.results(fails) == [FAILED]
    assert len(y.ledger()) == 4


def test_c82_a_daemon_that_stops_regularly_leaves_its_runs_alone(y):
    y.role("work", GATED)
    y.start()
    y.shut("one")
    noderole = y.run(y.node("one"), "work")
    y.wait_for("begin")
    y.stop()
    y.start()
    assert y.look(noderole)["state"] == TRANSITION
    y.open("one")
    assert y.reaches(noderole, ACTIVE)["run_count"] == 1
    assert [line.word for line in y.ledger()] == ["begin", "end"]


# -- 83 ------------------------------------------------------------------------------------------


def test_c83_an_attrib_that_changes_during_a_run_makes_it_run_again(y):
    y.role("work", GATED)
    y.role("above", "say above", requires=["work"])
    y.start()
    y.shut("one")
    node = y.node("one")
    noderole, above = y.run(node, "work"), y.run(node, "above")
    y.wait_for("begin")
    y.pull(f"system {noderole} word-work newer")
    assert y.look(noderole)["state"] == TRANSITION
    y.open("one")
    y.settles(above)
    assert y.settles(noderole)["run_count"] == 2
    assert [(line.word, line.more) for line in y.ledger()] == [
        ("begin", ""), ("end", ""), ("begin", "newer"), ("end", ""), ("above", "")]


def test_c83_a_retry_during_a_run_makes_it_run_again(y):
    y.role("work", GATED)
    y.start()
    y.shut("one")
    noderole = y.run(y.node("one"), "work")
    y.wait_for("begin")
    y.verb(noderole, "retry")
    y.open("one")
    eventually(lambda: y.look(noderole)["run_count"] == 2, "it ran again")
    assert y.settles(noderole)["run_count"] == 2
    assert overlapping(y.ledger()) == 1


# -- 84 ------------------------------------------------------------------------------------------


def test_c84_a_node_that_becomes_unavailable_during_a_run_gets_its_result(y):
    y.role("work", GATED)
    y.role("above", "say above", requires=["work"])
    y.start()
    y.shut("one")
    node = y.node("one")
    noderole, above = y.run(node, "work"), y.run(node, "above")
    y.wait_for("begin")
    y.set_node(node, available=False)
    y.open("one")
    assert y.settles(noderole)["run_count"] == 1
    assert y.look(above)["state"] == TODO and y.runs() == []  # nothing new starts
    y.set_node(node, available=True)
    y.reaches(above, ACTIVE)
    assert [line.word for line in y.ledger()] == ["begin", "end", "above"]


# -- 85 ------------------------------------------------------------------------------------------


def test_c85_a_noderole_that_is_proposed_with_a_run_in_the_queue_stays_proposed(y):
    y.role("work", GATED)
    y.role("other", "say other; gate two")
    y.start()
    node = y.node("one")
    noderole = y.run(node, "work")
    y.settles(noderole)
    y.shut("two")
    other = y.run(node, "other")
    y.wait_for("other")
    y.pull(f"enqueue {noderole}")  # waits for the node
    assert [run["state"] for run in y.runs(noderole)] == [RUN_QUEUED]
    y.verb(noderole, "propose")
    assert y.runs(noderole) == []
    y.open("two")
    y.settles(other)
    assert y.settles(noderole, PROPOSED)["run_count"] == 1
    assert len(y.ledger("begin")) == 1


def test_c85_a_noderole_that_is_proposed_while_it_runs_stays_proposed_and_its_script_is_ended(y):
    y.role("work", GATED)
    y.role("next", "say next")
    y.start()
    y.shut("one")
    node = y.node("one")
    noderole = y.run(node, "work")
    y.wait_for("begin")
    y.verb(noderole, "propose")
    after = y.run(node, "next")
    y.reaches(after, ACTIVE)  # the node was free at last
    assert y.settles(noderole, PROPOSED)["run_count"] == 0
    assert y.strays() == []
    assert [line.word for line in y.ledger()] == ["begin", "next"]
