"""Logs of runs, while they run and afterwards."""
import os
import time

from toy import eventually

NOT_FOUND = 2


def test_a_log_is_read_while_it_grows_and_after_the_end(place):
    toy = place.toy()
    toy.facts(noderole=7)
    gate = os.path.join(place.folder, "gate")
    toy.start(1, f"echo one >&2; while [ ! -e {gate} ]; do sleep 0.05; done; echo two >&2",
              attempt=3, noderole=7)
    toy.wait(said="begun", run=1)
    eventually(lambda: toy.log(1, 3, 7).get("log") == "one\n", "its first line can be read")
    live = toy.log(1, 3, 7, offset=1, size=2)
    assert live["log"] == "ne" and live["total"] == 4 and live["over"] is False, live
    with open(gate, "w", encoding="ascii"):
        pass
    toy.done(1, 3)
    toy.wait_quiet()
    kept = toy.log(1, 3, 7)
    assert kept["log"] == "one\ntwo\n" and kept["total"] == 8 and kept["over"] is True, kept
    assert toy.log(1, 3, 7, offset=4)["log"] == "two\n"
    assert toy.log(1, 3, 7, offset=-3)["log"] == "wo\n"
    assert toy.log(1, 3, 7, offset=-300)["log"] == "one\ntwo\n"
    assert toy.log(1, 3, 7, offset=100)["log"] == ""
    assert toy.log(2, 3, 7)["err"] == NOT_FOUND  # it is of another run
    assert toy.log(1, 4, 7)["err"] == NOT_FOUND
    path = place.path("logs", "7", "3.log")
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path, encoding="utf-8") as file:
        assert "0 bytes before this are gone" in file.readline()


def test_bytes_have_the_same_number_live_and_kept(place):
    toy = place.toy()
    toy.facts()
    gate = os.path.join(place.folder, "gate")
    toy.start(1, f"seq 100000 199999 >&2; while [ ! -e {gate} ]; do sleep 0.05; done")
    eventually(lambda: toy.log(1).get("total") == 700000, "all was written")
    live = toy.log(1, offset=-700)
    begin = toy.log(1, offset=0)
    assert begin["offset"] == 700000 - 4096, begin  # size of the driver's buffer
    with open(gate, "w", encoding="ascii"):
        pass
    toy.done(1)
    toy.wait_quiet()
    kept = toy.log(1, offset=-700)
    assert kept["log"] == live["log"] and kept["offset"] == live["offset"] == 699300, kept
    assert kept["total"] == 700000
    with open(place.path("logs", "1", "1.log"), encoding="utf-8") as file:
        assert f"{700000 - 4096} bytes before this are gone" in file.readline()


def test_how_many_logs_are_kept_can_change(place):
    toy = place.toy()
    toy.facts()

    def kept():
        return sorted(int(name[:-4]) for name in os.listdir(place.path("logs", "1")))

    def go_on(attempts):
        for attempt in attempts:
            toy.start(attempt, "echo x >&2", attempt=attempt)
            toy.done(attempt, attempt)
    go_on(range(1, 6))
    assert kept() == [3, 4, 5]
    toy.do("keep", runs=1)
    go_on([6])
    assert kept() == [6]
    toy.do("keep", runs=0)
    go_on(range(7, 19))
    assert kept() == list(range(9, 19))
    toy.wait_quiet()


def test_a_run_that_says_nothing_leaves_no_file(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "exit 0")
    toy.done(1)
    toy.wait_quiet()
    assert toy.log(1)["err"] == NOT_FOUND
    assert os.listdir(place.path("logs")) == []


def test_only_the_last_logs_of_a_noderole_are_kept(place):
    toy = place.toy()
    toy.facts(1)
    toy.facts(2)
    for attempt in range(1, 13):
        toy.start(attempt, "echo x >&2", attempt=attempt)
        toy.done(attempt, attempt)
    toy.start(50, "echo x >&2", attempt=1, noderole=2)
    toy.done(50)
    toy.wait_quiet()
    assert sorted(os.listdir(place.path("logs", "1"))) == ["10.log", "11.log", "12.log"]
    assert os.listdir(place.path("logs", "2")) == ["1.log"]


def test_logs_of_a_cancelled_run_and_of_one_that_died_are_kept(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "echo here >&2; sleep 1000")
    toy.start(2, "echo there >&2; sleep 1000", attempt=2)
    for run in (1, 2):
        eventually(lambda: toy.log(run, run).get("log", "") != "", "its line can be read")
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    place.kill_supervisor()
    toy.done(2, 2)
    toy.wait_quiet()
    assert toy.log(1)["log"] == "here\n" and toy.log(2, 2)["log"] == "there\n"


def test_logs_older_than_wanted_go(place):
    old, young = place.path("logs", "5"), place.path("logs", "6")
    os.makedirs(old)
    os.makedirs(young)
    for folder in (old, young):
        with open(os.path.join(folder, "1.log"), "w", encoding="ascii") as file:
            file.write("halligan run 1 attempt 1, 0 bytes before this are gone\nx\n")
    week_ago = time.time() - 8 * 86400
    os.utime(os.path.join(old, "1.log"), (week_ago, week_ago))
    toy = place.toy(env={"DRIVE_KEEP_MS": str(7 * 86400 * 1000)})
    toy.facts()
    toy.start(1, "exit 0")
    toy.done(1)
    eventually(lambda: not os.path.exists(old), "the old one is gone, and its directory")
    assert os.listdir(young) == ["1.log"]
    toy.wait_quiet()


def test_a_log_that_cannot_be_kept_costs_no_run(place):
    os.makedirs(place.path("logs"))
    with open(place.path("logs", "1"), "w", encoding="ascii"):
        pass  # in the way of the directory
    toy = place.toy()
    toy.facts()
    toy.start(1, "echo x >&2; exit 0")
    assert toy.done(1)["result"] == "ok"
    toy.wait_quiet()
    assert "cannot store the log of a run" in place.said()
