"""Runs from their order to their end, and what is said of them."""
import os

from toy import eventually, processes_with


def test_a_run_begins_ends_and_is_forgotten(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "cat; echo said >&2", stdin='{"a":1}')
    done = toy.done(1)
    assert done["result"] == "ok" and done["wall"] == '{"a":1}' and done["runlog"] == "said\n", done
    begun = toy.wait(said="begun", run=1)
    assert begun["job"].startswith("pid ") and begun["request"] == 0, begun
    assert done["request"] == -1000, done
    toy.wait_quiet()
    assert [e["said"] for e in toy.events if "said" in e] == ["begun", "done"]
    eventually(lambda: place.leftovers() == [], "its files are gone")


def test_a_run_fails_as_its_process_does(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "echo why >&2; exit 3")
    assert toy.done(1)["result"] == "failed" and toy.done(1)["runlog"] == "why\n"
    toy.start(2, "kill -9 $$")
    assert "ended by signal 9" in toy.done(2)["runlog"]
    toy.facts(jig_class="nothing")
    toy.start(3, "exit 0", attempt=7)
    assert toy.done(3, 7)["result"] == "ok"
    toy.wait_quiet()


def test_a_refused_launch_specification_is_a_failed_run(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, refuse="there are no files", scratch=True)
    done = toy.done(1)
    assert done["result"] == "failed" and done["runlog"] == "there are no files", done
    assert toy.find(said="begun") == []
    toy.wait_quiet()


def test_an_order_larger_than_a_message_is_a_failed_run(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "exit 0", long=5 << 20, stdin="x", scratch=True)
    done = toy.done(1)
    assert done["result"] == "failed" and "too long for a message" in done["runlog"], done
    toy.wait_quiet()


def test_a_noderole_that_is_gone_fails(place):
    toy = place.toy()
    toy.start(1, "exit 0")
    assert "does not exist any more" in toy.done(1)["runlog"]
    toy.facts()
    toy.start(2, f"{place.enter('two')}; sleep 1000")
    toy.wait(said="begun", run=2)
    toy.do("facts", noderole=1, gone=True)  # what was known when it began is enough
    toy.cancel(2)
    toy.wait(said="stopped", run=2)
    toy.wait_quiet()


def test_a_scratch_directory_lives_as_long_as_its_run(place):
    toy = place.toy()
    toy.facts()
    script = 'mkdir -p "$TMPDIR/a/b"; ln -s /etc "$TMPDIR/a/link"; echo x > "$TMPDIR/a/b/c"; ' \
             'chmod 000 "$TMPDIR/a/b"; stat -c "{\\"mode\\":\\"%a\\"}" "$TMPDIR"'
    toy.start(1, script, scratch=True)
    assert toy.done(1)["wall"] == '{"mode":"700"}\n', toy.done(1)
    toy.wait_quiet()
    assert os.listdir(place.path("runs", "scratch")) == [] and os.path.exists("/etc/passwd")


def test_what_is_there_in_the_way_of_a_scratch_directory_goes(place):
    os.makedirs(place.path("runs", "scratch", "1-1", "old"))
    os.makedirs(place.path("runs", "in"))
    toy = place.toy()
    toy.facts()
    toy.start(1, 'ls "$TMPDIR" | wc -l >&2', scratch=True)
    assert toy.done(1)["runlog"] == "0\n"
    toy.wait_quiet()


def test_orders_that_are_repeated_are_done_once(place):
    toy = place.toy()
    toy.facts()
    for _ in range(3):
        toy.start(1, f"{place.enter('one')}; sleep 1000")
    toy.wait(said="begun", run=1)
    for _ in range(3):
        toy.start(1, place.enter("again"))
    eventually(lambda: place.entries(), "it is at work")
    assert toy.count() == 1
    toy.cancel(1)
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    toy.wait_quiet()
    assert place.entries() == ["one"]
    assert len(toy.find(said="begun")) == 1 and toy.find(said="done") == [], toy.events


def test_a_repeat_is_answered_from_memory_until_the_answer_is_durable(place):
    toy = place.toy()
    toy.facts()
    toy.take(why="hold")
    toy.start(1, f"{place.enter('one')}; exit 4")
    toy.done(1)
    toy.start(1, place.enter("again"))  # not acknowledged yet
    toy.query(1, place.enter("again"))
    assert toy.count() == 1 and len(toy.find(said="done")) == 1
    toy.kill()
    toy = place.toy()
    toy.facts()
    toy.query(1, place.enter("again"), begun=True)
    toy.go()
    assert toy.done(1)["result"] == "failed"
    assert toy.find(said="begun") == []  # the store knew
    toy.wait_quiet()
    assert place.entries() == ["one"]


def test_a_cancel_before_the_start_was_processed(place):
    toy = place.toy()
    toy.facts()
    toy.do("start", run=1, attempt=1, noderole=1, epoch=1, data={"sh": place.enter("one")})
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    toy.wait_quiet()
    assert len(toy.find(run=1, said="done")) == 0


def test_a_cancel_while_it_runs_takes_everything_with_it(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, f"trap '' TERM; (setsid sleep 1000 &) ; {place.enter('one')}; sleep 1000",
              scratch=True)
    toy.wait(said="begun", run=1)
    eventually(lambda: place.entries(), "it is at work")
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    assert processes_with(place.path("runs")) == []
    assert toy.find(said="done") == []
    toy.wait_quiet()


def test_a_cancel_after_the_end(place):
    toy = place.toy()
    toy.facts()
    toy.take(why="hold")
    toy.start(1, "exit 0")
    toy.done(1)
    toy.take(why="ok")
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    toy.wait_quiet()
    toy.cancel(1)  # durable and forgotten
    toy.wait(said="stopped", run=1, count=2)
    toy.cancel(99)
    toy.wait(said="stopped", run=99)
    toy.wait_quiet()


def test_a_deadline_ends_a_run_as_failed(place):
    toy = place.toy()
    toy.facts(deadline_ms=300)
    toy.start(1, "sleep 1000 & sleep 1000")
    done = toy.done(1)
    assert done["result"] == "failed" and "took longer than it may" in done["runlog"], done
    toy.wait_quiet()


def test_answers_that_are_not_taken_are_given_again(place):
    toy = place.toy()
    toy.facts()
    toy.take(limit=5)
    for run in range(1, 6):
        toy.start(run, "exit 0")
    for run in range(1, 6):
        toy.done(run)
    toy.wait_quiet()
    for run in range(1, 6):
        assert len(toy.find(said="done", run=run)) == 1
        said = [e["said"] for e in toy.find(run=run)]
        assert said == ["begun", "done"], said


def test_answers_that_did_not_become_durable_are_given_again(place):
    toy = place.toy()
    toy.facts()
    toy.take(why="unavailable")
    toy.start(1, f"{place.enter('one')}; echo log >&2; exit 5")
    toy.start(2, "sleep 1000")
    toy.wait(said="begun", run=2)
    first = toy.done(1)
    again = toy.done(1, count=2)
    assert again["runlog"] == first["runlog"] and again["request"] != first["request"]
    toy.cancel(2)
    toy.wait(said="stopped", run=2, count=2)
    toy.take(why="ok")
    toy.query(1, begun=True)  # as the turn does after it loaded
    toy.wait_quiet()
    assert place.entries() == ["one"]


def test_an_answer_that_the_core_refuses_becomes_a_failure(place):
    toy = place.toy()
    toy.facts()
    toy.take(why="refused")
    toy.start(1, "exit 0")
    assert toy.done(1)["result"] == "ok"
    again = toy.done(1, count=2)
    assert again["result"] == "failed" and "refused the result of the run" in again["runlog"], again
    toy.take(why="ok")
    toy.query(1, begun=True)
    toy.done(1, count=3)
    toy.wait_quiet()


def test_a_failure_that_the_core_refuses_is_lost_until_that_is_taken(place):
    toy = place.toy()
    toy.facts()
    toy.take(why="refused")
    toy.start(1, "echo '{}'")
    for count in (3, 4, 5):  # it is submitted again without a request
        last = toy.done(1, count=count)
        assert last["result"] == "lost" and last["runlog"] == "" and "wall" not in last, last
    toy.take(why="ok")
    toy.wait_quiet()
    assert place.said().count("refused the result of a run") == 2, place.said()


def test_a_query_of_what_never_began_starts_it(place):
    toy = place.toy()
    toy.facts()
    toy.query(1, place.enter("one"))
    toy.query(1, place.enter("again"))
    assert toy.done(1)["result"] == "ok"
    toy.wait_quiet()
    assert place.entries() == ["one"]


def test_a_query_of_what_began_and_is_not_known_is_lost(place):
    toy = place.toy()
    toy.facts()
    toy.query(1, place.enter("one"), begun=True)
    done = toy.done(1)
    assert done["result"] == "lost" and "halligan-exec has no record of it" in done["runlog"], done
    toy.wait_quiet()
    assert place.entries() == []


def test_a_higher_epoch_takes_over_and_orders_of_a_lower_one_are_ignored(place):
    toy = place.toy(epoch=5)
    toy.facts()
    toy.start(1, f"{place.enter('one')}; sleep 1000")
    toy.wait(said="begun", run=1)
    toy.epoch = 6
    toy.start(2, place.enter("two"))
    assert toy.done(2)["result"] == "ok"
    toy.start(3, place.enter("three"), epoch=5)
    toy.start(4, place.enter("four"))
    toy.done(4)
    assert toy.count() == 1  # the first
    toy.cancel(1)  # with the epoch of the leader
    toy.wait(said="stopped", run=1)
    toy.wait_quiet()
    assert sorted(place.entries()) == ["four", "one", "two"]


def test_a_daemon_with_a_lower_epoch_starts_nothing(place):
    new = place.toy(epoch=9)
    new.facts()
    new.start(1, "exit 0")
    new.done(1)
    new.wait_quiet()
    old = place.toy(epoch=3)
    old.facts()
    old.start(2, place.enter("two"))
    old.go()
    eventually(lambda: "higher epoch" in place.said(), "it is notified of the higher epoch")
    new.start(3, place.enter("three"))
    new.done(3)
    assert old.count() == 1 and old.find(run=2) == [] and place.entries() == ["three"]
    old.epoch = 10  # it leads again
    old.start(2, place.enter("two"))
    assert old.done(2)["result"] == "ok"
    assert place.entries() == ["three", "two"]
    old.wait_quiet()


def test_a_flood_of_orders(place):
    toy = place.toy()
    toy.facts()
    toy.start(1, "exit 0")
    toy.done(1)
    toy.wait_quiet()
    fds = toy.fds()
    for run in range(2, 1002):
        toy.start(run, "exit $(($$ % 2))" if run % 10 else "echo said >&2", stdin="x",
                  attempt=run)
    for run in range(2, 1002):
        done = toy.done(run, run)
        assert done["result"] in ("ok", "failed"), done
    toy.wait_quiet()
    assert len(toy.find(said="done")) == 1001 and len(toy.find(said="begun")) == 1001
    assert toy.fds() <= fds + 1
    eventually(lambda: toy.children() == [], "it has no child, dead or alive")
    before = toy.rss_kb()
    for run in range(2002, 3002):
        toy.start(run, "exit 0", attempt=run)
    for run in range(2002, 3002):
        toy.done(run, run)
    toy.wait_quiet()
    assert toy.fds() <= fds + 1
    assert "asan" in place.build or toy.rss_kb() < before + 4096, (before, toy.rss_kb())
