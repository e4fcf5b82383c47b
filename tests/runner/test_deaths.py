"""Daemon or supervisor are killed: every run ends once and is reported with its real result."""
import os

from toy import eventually, processes_with

CHILDREN = 20


def at_work(place, toy, count=CHILDREN, tail="sleep 1000", **data):
    toy.facts()
    for run in range(1, count + 1):
        toy.start(run, f"{place.enter(f'r{run}')}; {tail}", **data)
    for run in range(1, count + 1):
        toy.wait(said="begun", run=run)
    eventually(lambda: len(place.entries()) == count, "all are at work")


def test_the_supervisor_is_killed_with_children(place):
    toy = place.toy()
    at_work(place, toy, scratch=True, tail="echo half >&2; sleep 1000")
    first = place.kill_supervisor()
    for run in range(1, CHILDREN + 1):
        done = toy.done(run)
        assert done["result"] == "failed", done
        assert "halligan-exec ended during the run: the run was killed" in done["runlog"], done
        assert "half" in done["runlog"], done
    toy.wait_quiet()
    assert place.supervisor() != first
    assert len(place.entries()) == CHILDREN and len(toy.find(said="done")) == CHILDREN
    assert processes_with(place.path("runs")) == []
    toy.start(99, "exit 0")
    assert toy.done(99)["result"] == "ok"
    toy.wait_quiet()


def test_the_supervisor_is_killed_with_its_shims(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, f"{place.enter('one')}; (setsid sleep 1000 &); sleep 1000", scratch=True)
    eventually(lambda: place.entries(), "it is at work")
    pid = place.supervisor()
    for child in processes_with(place.data):
        with open(f"/proc/{child}/cmdline", "rb") as file:
            if b"--shim" in file.read():
                os.kill(child, 9)
    os.kill(pid, 9)
    done = toy.done(1)
    assert done["result"] == "failed", done
    toy.wait_quiet()
    assert processes_with(place.path("runs")) == []


def test_the_daemon_is_killed_with_children(place):
    toy = place.toy()
    gate = os.path.join(place.folder, "gate")
    at_work(place, toy, scratch=True, tail=f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 7",
            stdin="x")
    toy.kill()
    again = place.toy()
    again.facts()
    for run in range(1, CHILDREN + 1):
        again.query(run, place.enter("again"), begun=run % 2 == 0, scratch=True)
    again.go()
    for run in range(1, CHILDREN + 1, 2):  # the store did not know that they began
        again.wait(said="begun", run=run)
    with open(gate, "w", encoding="ascii"):
        pass
    for run in range(1, CHILDREN + 1):
        assert again.done(run)["result"] == "failed"
    again.wait_quiet()
    assert len(again.find(said="done")) == CHILDREN and len(again.find(said="begun")) == 10
    assert sorted(place.entries()) == sorted(f"r{run}" for run in range(1, CHILDREN + 1))


def test_the_daemon_is_killed_and_children_end_without_it(place):
    toy = place.toy()
    gate = os.path.join(place.folder, "gate")
    at_work(place, toy, tail=f"while [ ! -e {gate} ]; do sleep 0.05; done; {place.enter('over')}",
            scratch=True)
    toy.kill()
    with open(gate, "w", encoding="ascii"):
        pass
    eventually(lambda: place.entries().count("over") == CHILDREN, "all have ended")
    again = place.toy()
    again.facts()
    for run in range(1, CHILDREN + 1):
        again.query(run, place.enter("again"), begun=True, scratch=True)
    again.go()
    for run in range(1, CHILDREN + 1):
        assert again.done(run)["result"] == "ok"
    again.wait_quiet()
    assert len(place.entries()) == 2 * CHILDREN


def test_the_daemon_is_killed_again_and_again_and_nothing_is_done_twice(place):
    toy = place.toy()
    ended, runs, rounds = set(), 60, 12
    toy.facts()
    for run in range(1, runs + 1):
        toy.start(run, f"{place.enter(f'r{run}')}; sleep 0.{run % 5}; exit {run % 2}")
    for _ in range(rounds):
        eventually(lambda: toy.read(0.01) or toy.events, "something is said")
        toy.kill()
        begun = {e["run"] for t in place.toys for e in t.find(said="begun")}
        # The store contains what was submitted; the other runs are queried.
        ended |= {e["run"] for e in toy.find(said="done")}
        toy = place.toy()
        toy.facts()
        left = [run for run in range(1, runs + 1) if run not in ended]
        if not left:
            break
        for run in left:
            toy.query(run, f"{place.enter(f'r{run}')}; sleep 0.{run % 5}; exit {run % 2}",
                      begun=run in begun)
        toy.go()
    toy.start(900, "exit 0")
    toy.go()
    toy.done(900)
    for run in range(1, runs + 1):
        if run not in ended:
            done = toy.done(run)
            assert done["result"] == ("failed" if run % 2 else "ok"), done
    toy.wait_quiet()
    assert sorted(place.entries()) == sorted(f"r{run}" for run in range(1, runs + 1))
    # A run whose end was reported but not acknowledged is still in the journal until the next start.
    eventually(lambda: place.leftovers() == [], "nothing is left of any of them")


def test_both_are_killed(place):
    toy = place.toy()
    at_work(place, toy, count=5)
    toy.kill()
    place.kill_supervisor()
    again = place.toy()
    again.facts()
    for run in range(1, 7):
        again.query(run, place.enter(f"r{run}"), begun=run < 6)
    again.go()
    for run in range(1, 6):
        assert "halligan-exec ended during the run" in again.done(run)["runlog"]
    assert again.done(6)["result"] == "ok"
    again.wait_quiet()
    assert sorted(place.entries()) == [f"r{run}" for run in range(1, 7)]


def test_a_journal_that_is_gone_means_that_runs_are_lost(place):
    toy = place.toy()
    at_work(place, toy, count=3)
    toy.kill()
    place.kill_supervisor()
    eventually(place.lock_is_free, "its leads are gone")
    os.unlink(place.path("exec", "journal"))
    again = place.toy()
    again.facts()
    for run in range(1, 4):
        again.query(run, place.enter("again"), begun=True)
    again.go()
    for run in range(1, 4):
        assert again.done(run)["result"] == "lost"
    again.wait_quiet()
    assert "again" not in place.entries()


def test_a_journal_of_an_earlier_boot_is_rewritten_after_reconciliation(place):
    toy = place.toy()
    at_work(place, toy, count=2)
    toy.kill()
    place.kill_supervisor()
    eventually(place.lock_is_free, "its leads are gone")
    path = place.path("exec", "journal")
    with open(path, "r+b") as file:
        head = file.readline()
        file.seek(0)
        boot = open("/proc/sys/kernel/random/boot_id", "rb").read().strip()
        assert boot in head, head
        file.write(head.replace(boot, b"0" * 8 + boot[8:]))
    again = place.toy()
    again.facts()
    again.query(1, place.enter("again"), begun=True)
    again.query(2, place.enter("again"), begun=True)
    again.query(3, place.enter("again"))  # it may have begun: the journal is of another boot
    again.go()
    assert "ended during the run: the run was killed" in again.done(1)["runlog"]
    assert again.done(2)["result"] == "failed" and again.done(3)["result"] == "lost"
    again.wait_quiet()
    again.query(4, place.enter("four"))  # the journal is of this boot now
    assert again.done(4)["result"] == "ok"
    again.wait_quiet()
    assert sorted(place.entries()) == ["four", "r1", "r2"]


def test_runs_without_an_order_are_cancelled_and_forgotten(place):
    toy = place.toy()
    toy.facts()
    toy.take(why="hold")
    toy.start(1, "echo x >&2; exit 0")
    toy.done(1)
    toy.start(2, f"{place.enter('two')}; sleep 1000", scratch=True)
    eventually(lambda: place.entries(), "it is at work")
    toy.kill()
    again = place.toy()
    again.facts()
    again.start(3, "exit 0")
    again.go()
    again.done(3)
    eventually(lambda: place.leftovers() == [], "nothing of them is left")
    eventually(lambda: processes_with(place.path("runs")) == [], "nor of their processes")
    again.wait_quiet()
    assert {e["run"] for e in again.events if "run" in e} == {3}


def test_the_supervisor_ends_itself_while_orders_come(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "exit 0")
    toy.done(1)
    for turn in range(5):
        os.kill(place.supervisor(), 15)
        for run in range(100 * turn + 10, 100 * turn + 30):
            toy.start(run, place.enter(f"r{run}"))
        for run in range(100 * turn + 10, 100 * turn + 30):
            toy.done(run)
    toy.wait_quiet()
    # It cancelled those that were started; none was started twice.
    assert len(place.entries()) == len(set(place.entries()))
    for run in (e["run"] for e in toy.find(said="done", result="ok") if e["run"] > 1):
        assert f"r{run}" in place.entries()


def test_a_daemon_that_says_goodbye_leaves_its_runs_at_work(place):
    toy = place.toy()
    gate = os.path.join(place.folder, "gate")
    at_work(place, toy, count=3, tail=f"while [ ! -e {gate} ]; do sleep 0.05; done")
    toy.close(bye=True)
    assert len(processes_with(gate)) >= 3
    again = place.toy()
    again.facts()
    for run in range(1, 4):
        again.query(run, begun=True)
    again.go()
    with open(gate, "w", encoding="ascii"):
        pass
    for run in range(1, 4):
        assert again.done(run)["result"] == "ok"
    again.wait_quiet()


def test_a_cancel_after_a_restart_reaches_what_still_runs(place):
    toy = place.toy()
    at_work(place, toy, count=2, scratch=True)
    toy.kill()
    again = place.toy()
    again.facts()
    again.cancel(1)
    again.query(2, begun=True, scratch=True)
    again.go()
    again.wait(said="stopped", run=1)
    again.cancel(2)
    again.wait(said="stopped", run=2)
    again.wait_quiet()
    assert again.find(said="done") == []
    assert processes_with(place.path("runs")) == []
