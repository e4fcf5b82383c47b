"""Without a supervisor, runs that were not started fail with a reason; others wait."""
import os

from toy import eventually

SENTENCE = "halligan-exec cannot be started or does not answer"
SHORT = {"DRIVE_PATIENCE_MS": "300"}


def trouble(toy):
    return toy.answer("trouble", "trouble")["trouble"]


def test_a_program_that_is_missing_fails_runs_and_comes_back(place):
    program = place.program
    place.program = os.path.join(place.folder, "halligan-exec")
    toy = place.toy(env=SHORT)
    toy.facts()
    assert trouble(toy) == ""
    toy.start(1, place.enter("one"))
    done = toy.done(1)
    assert done["result"] == "failed" and done["runlog"].startswith(SENTENCE), done
    assert trouble(toy).startswith(SENTENCE)
    toy.start(2, place.enter("two"))
    assert toy.done(2)["runlog"].startswith(SENTENCE)
    toy.wait_quiet()
    said = place.said()
    assert said.count("cannot start halligan-exec") == 1 and said.count("until the timeout") == 1, said
    os.symlink(program, place.program)
    eventually(lambda: trouble(toy) == "", "there is a supervisor")
    toy.start(3, place.enter("three"))
    assert toy.done(3)["result"] == "ok"
    toy.wait_quiet()
    assert place.entries() == ["three"]


def test_a_program_that_fails_each_time_is_logged_once(place):
    place.program = os.path.join(place.folder, "halligan-exec")
    with open(place.program, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 1\n")
    os.chmod(place.program, 0o755)
    toy = place.toy(env=SHORT)
    toy.facts()
    for run in (1, 2, 3):
        toy.start(run)
        assert toy.done(run)["runlog"].startswith(SENTENCE)
    toy.wait_quiet()
    assert place.said().count("did not start") == 1, place.said()


def test_a_state_directory_that_cannot_be_opened_fails_runs(place):
    with open(place.path("exec"), "w", encoding="ascii"):
        pass
    toy = place.toy(env=SHORT)
    toy.facts()
    toy.start(1)
    assert toy.done(1)["runlog"].startswith(SENTENCE)
    toy.start(2)
    toy.cancel(2)
    toy.wait(said="stopped", run=2)
    os.unlink(place.path("exec"))
    eventually(lambda: trouble(toy) == "", "there is a supervisor")
    toy.start(3, place.enter("three"))
    assert toy.done(3)["result"] == "ok"
    toy.wait_quiet()


def test_what_may_have_begun_waits_for_its_supervisor(place):
    program = place.program
    place.program = os.path.join(place.folder, "halligan-exec")
    os.symlink(program, place.program)
    toy = place.toy(env=SHORT)
    toy.facts()
    toy.start(1, f"{place.enter('one')}; sleep 1000")
    toy.wait(said="begun", run=1)
    eventually(lambda: place.entries() == ["one"], "it is at work")
    os.unlink(place.program)
    place.kill_supervisor()
    eventually(lambda: "lost the connection" in place.said(), "no order goes to it any more")
    toy.start(2, place.enter("two"))
    toy.query(3, place.enter("three"))  # of an earlier daemon
    assert toy.done(2)["runlog"].startswith(SENTENCE)
    eventually(lambda: trouble(toy), "there is none")
    assert toy.find(said="done", run=1) == [] and toy.find(said="done", run=3) == []
    assert toy.count() >= 2
    os.symlink(program, place.program)
    assert "the run was killed" in toy.done(1)["runlog"]
    assert toy.done(3)["result"] == "ok"
    toy.wait_quiet()
    assert place.entries() == ["one", "three"]
