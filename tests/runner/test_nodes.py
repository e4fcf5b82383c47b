"""Runs on other machines: leftover processes are stopped there before the end is reported."""
import os
import shutil
import signal
import sys

from toy import eventually, processes_with

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "jig"))

from sshd import Server  # noqa: E402

NODE = "n1.example.com"
LEFT = "processes of the run may still be active on the node: they could not be stopped"


# -- with a shell for a node: when it is cleaned up, and when not ----------------------------------


def swept(place):
    return f"cat > /dev/null; {place.enter('swept')}"


def test_a_cancelled_run_is_cleaned_up_before_it_is_reported_as_stopped(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, f"{place.enter('one')}; sleep 1000", stop=swept(place), stdin="x")
    eventually(lambda: place.entries(), "it is at work")
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    assert place.entries() == ["one", "swept"]
    toy.wait_quiet()


def test_a_run_past_its_deadline_is_cleaned_up_before_it_is_reported(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1", deadline_ms=200)
    toy.start(1, "sleep 1000", stop=swept(place))
    assert "took longer than it may" in toy.done(1)["runlog"]
    assert place.entries() == ["swept"]
    toy.wait_quiet()


def test_a_broken_connection_is_cleaned_up(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, "exit 255", stop=swept(place))
    assert LEFT not in toy.done(1)["runlog"]
    assert place.entries() == ["swept"]
    toy.wait_quiet()
    assert LEFT not in place.said()


def test_the_start_of_a_run_is_reported_before_the_cleanup(place):
    """A core that is loaded in between must not treat it as a run that was never started."""
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    go = place.path("go")
    toy.start(1, "exit 255", stop=f"{swept(place)}; until [ -e {go} ]; do sleep 0.01; done")
    eventually(lambda: place.entries() == ["swept"], "its node is being swept")
    toy.wait(said="begun", run=1)
    assert not toy.find(said="done", run=1)
    open(go, "w").close()
    toy.done(1)
    toy.wait_quiet()


def test_a_failed_cleanup_is_reported(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, "echo said >&2; exit 255", stop="exit 255")
    done = toy.done(1)
    assert done["result"] == "failed" and done["runlog"] == f"said\n{LEFT}", done
    toy.start(2, "exit 255")  # nothing can be left
    assert LEFT not in toy.done(2)["runlog"]
    toy.start(3, "echo 'ssh: connect to host x port 22: Connection refused' >&2; exit 255",
              stop="exit 255")
    assert LEFT not in toy.done(3)["runlog"]
    toy.start(4, "kill -9 $$", stop="exit 1")
    assert toy.done(4)["runlog"].endswith("\n" + LEFT)
    toy.wait_quiet()
    assert place.said().count(LEFT) == 2, place.said()


def test_a_run_that_exited_by_itself_is_not_cleaned_up(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, "exit 3", stop=swept(place))
    toy.done(1)
    toy.start(2, "exit 3", refuse="no", stop=swept(place))
    toy.done(2)
    toy.facts()  # no process is left on this machine after a run
    toy.start(3, "sleep 1000", stop=swept(place))
    toy.wait(said="begun", run=3)
    toy.cancel(3)
    toy.wait(said="stopped", run=3)
    toy.wait_quiet()
    assert place.entries() == []


def test_a_cleanup_that_cannot_start_does_not_delay_the_result(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, f"{place.enter('one')}; sleep 1000")  # nothing to clean up
    toy.start(2, f"{place.enter('two')}; sleep 1000", stop="exit 255")
    eventually(lambda: len(place.entries()) == 2, "they are at work")
    for run in (1, 2):
        toy.cancel(run)
        toy.wait(said="stopped", run=run)
    toy.wait_quiet()


def test_the_supervisor_dies_and_its_runs_are_cleaned_up(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, f"{place.enter('one')}; sleep 1000", stop=swept(place))
    eventually(lambda: place.entries(), "it is at work")
    place.kill_supervisor()
    assert "ended during the run: the run was killed" in toy.done(1)["runlog"]
    assert place.entries() == ["one", "swept"]
    toy.wait_quiet()


def test_the_supervisor_dies_during_a_cleanup(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, f"{place.enter('one')}; sleep 1000", stop=f"{place.enter('swept')}; sleep 1000")
    eventually(lambda: place.entries(), "it is at work")
    toy.cancel(1)
    eventually(lambda: "swept" in place.entries(), "it is being swept")
    assert toy.find(said="stopped") == []
    place.kill_supervisor()
    toy.wait(said="stopped", run=1)
    toy.wait_quiet()
    assert processes_with(place.ledger) == []


def test_the_daemon_dies_in_the_middle_of_a_sweep(place):
    toy = place.toy()
    toy.facts(address="192.0.2.1")
    toy.start(1, f"{place.enter('one')}; sleep 1000", stop=f"{place.enter('swept')}; sleep 1000")
    eventually(lambda: place.entries(), "it is at work")
    toy.cancel(1)
    eventually(lambda: "swept" in place.entries(), "it is being swept")
    toy.kill()
    again = place.toy()
    again.facts(address="192.0.2.1")
    again.order("cancel", 1, data={"stop": swept(place)})
    again.go()
    again.wait(said="stopped", run=1)
    again.wait_quiet()
    eventually(lambda: processes_with(place.ledger) == [], "the first sweep is cancelled")


# -- with the jigs, and a real server ----------------------------------------------------------------


def write_script(place, role, text):
    folder = os.path.join(place.source, "scripts", role)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "10.sh"), "w", encoding="utf-8") as file:
        file.write(text)


def remote(place, more="", **env):
    server = Server(place, more=more)
    with open(os.path.join(server.folder, "host_key.pub"), encoding="ascii") as file:
        words = file.read().split()
    with open(server.known_hosts, "w", encoding="ascii") as file:
        file.write(f"{NODE} {words[0]} {words[1]}\n")
    return server, daemon(place, server, **env)


def daemon(place, server, **env):
    return place.toy("jigs", env={"DRIVE_KEY": server.key, "DRIVE_KNOWN_HOSTS": server.known_hosts,
                                  **env})


def address(server, **more):
    return {"address": server.addresses[0], "port": server.port, "user": server.user, **more}


def test_a_script_runs_on_this_machine(place):
    write_script(place, "here", 'write_attribute place "$TMPDIR"\necho said\nexit 64\n')
    toy = place.toy("jigs")
    toy.facts(role="here")
    toy.start(1)
    done = toy.done(1)
    assert done["result"] == "ok" and "said" in done["runlog"], done
    assert place.path("runs", "scratch", "1-1") in done["wall"], done
    toy.facts(role="nowhere")
    toy.start(2)
    done = toy.done(2)
    assert done["result"] == "failed" and "has no scripts" in done["runlog"], done
    toy.facts(jig_class="noop")
    toy.start(3)
    assert "no runner for jigs of class noop" in toy.done(3)["runlog"]
    toy.wait_quiet()


def test_a_script_runs_on_a_node(place):
    write_script(place, "there", 'write_attribute from "$SSH_CONNECTION"\n')
    server, toy = remote(place)
    toy.facts(role="there", **address(server))
    toy.start(1)
    done = toy.done(1)
    assert done["result"] == "ok" and f" {server.port}" in done["wall"], done
    toy.wait_quiet()
    assert os.listdir(place.path("runs", "scratch")) == [] and os.listdir(server.tmp) == []


def test_a_cancelled_script_leaves_nothing_on_its_node(place):
    write_script(place, "there", f"trap '' HUP TERM\n{place.enter('one')}\nsleep 1000\n")
    server, toy = remote(place)
    toy.facts(role="there", **address(server))
    toy.start(1)
    eventually(lambda: place.entries(), "it is at work")
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    assert os.listdir(server.tmp) == [] and processes_with(f"{server.tmp}/halligan-{NODE}") == []
    toy.wait_quiet()


def test_a_script_that_had_its_time_leaves_nothing_on_its_node(place):
    write_script(place, "there", f"trap '' HUP TERM\n{place.enter('one')}\nsleep 1000\n")
    server, toy = remote(place)
    toy.facts(role="there", **address(server), deadline_ms=2000)
    toy.start(1)
    done = toy.done(1)
    assert done["result"] == "failed" and "took longer" in done["runlog"], done
    assert os.listdir(server.tmp) == [] and processes_with(f"{server.tmp}/halligan-{NODE}") == []
    toy.wait_quiet()


def sessions(server):
    """The processes of the server that hold its connections."""
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children",
              encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def test_a_connection_that_breaks_leaves_nothing_on_its_node(place):
    write_script(place, "there", f"trap '' HUP TERM\n{place.enter('one')}\nsleep 1000\n")
    server, toy = remote(place)
    toy.facts(role="there", **address(server))
    toy.start(1)
    eventually(lambda: place.entries(), "it is at work")
    mark = f"{server.tmp}/halligan-{NODE}"
    assert processes_with(mark)
    for pid in sessions(server):
        os.kill(pid, signal.SIGKILL)
    done = toy.done(1)
    assert done["result"] == "failed" and "the connection broke" in done["runlog"], done
    assert LEFT not in done["runlog"], done
    assert os.listdir(server.tmp) == [] and processes_with(mark) == []
    toy.wait_quiet()


def test_a_node_that_goes_away_in_the_middle_is_said_to_be_left(place):
    write_script(place, "there", f"{place.enter('one')}\nsleep 1000\n")
    server, toy = remote(place)
    toy.facts(role="there", **address(server))
    toy.start(1)
    eventually(lambda: place.entries(), "it is at work")
    before = sessions(server)
    server.stop()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    done = toy.done(1)
    assert "the connection broke" in done["runlog"] and done["runlog"].endswith(LEFT), done
    toy.wait_quiet()


def test_a_node_that_is_gone_keeps_no_cancel(place):
    write_script(place, "there", f"{place.enter('one')}\nsleep 1000\n")
    server, toy = remote(place)
    toy.facts(role="there", **address(server))
    toy.start(1)
    eventually(lambda: place.entries(), "it is at work")
    server.stop()
    toy.cancel(1)
    toy.wait(said="stopped", run=1)
    toy.start(2)
    assert "nothing listens there" in toy.done(2)["runlog"]
    toy.wait_quiet()


def test_a_playbook_has_a_place_of_its_own(place):
    assert shutil.which("ansible-playbook"), "ansible is not installed"
    folder = os.path.join(place.source, "ansible", "roles")
    os.makedirs(folder)
    with open(os.path.join(folder, "book.yml"), "w", encoding="ascii") as file:
        file.write("- hosts: all\n  gather_facts: false\n  tasks:\n  - command: /bin/true\n")
    toy = place.toy("jigs")
    toy.facts(role="book", jig_class="ansible")
    toy.start(1)
    done = toy.done(1)
    assert done["result"] == "ok" and "ansible" in done["wall"], done
    toy.wait_quiet()
    assert os.listdir(place.path("runs", "scratch")) == []
