"""Connections that runs share, with a real server: what goes through them, and when they go."""
import os
import signal

from test_nodes import address, daemon, remote, write_script
from toy import eventually, processes_with


def sharing(place, **env):
    """A server, a daemon that shares connections to it, and where their sockets are."""
    write_script(place, "there", "write_attribute from \"$SSH_CONNECTION\"\n")
    control = place.place("c")
    server, toy = remote(place, DRIVE_CONTROL=control, **env)
    with open(server.known_hosts, "r+", encoding="ascii") as file:
        key = file.read().split(" ", 1)[1]
        file.write(f"n2.example.com {key}n3.example.com {key}")
    return server, toy, control


def at_work(place, role="waits"):
    """A role that waits until the file is removed; and the file."""
    mark = os.path.join(place.folder, role)
    write_script(place, role, f"echo > {mark}\nwhile [ -e {mark} ]; do sleep 0.01; done\n")
    return mark


def facts(toy, server, role="there", noderole=1, session=1):
    toy.facts(noderole, role=role, node=f"n{noderole}.example.com", session=session,
              **address(server))


def logins(server):
    return server.said().count("Accepted publickey")


def run(toy, *runs, **more):
    """Those runs, one after the other; where each came from."""
    walls = []
    for number in runs:
        toy.start(number, **more)
        done = toy.done(number)
        assert done["result"] == "ok", done
        assert "ontrol" not in done["runlog"] and "mux" not in done["runlog"], done
        walls.append(done.get("wall"))
    toy.wait_quiet()
    return walls


def nodes(control):
    """The nodes that have a connection, once for each; what is only being made has a dot."""
    return sorted(name.split("-")[0] for name in os.listdir(control) if "." not in name)


def wait_shared(control, node="n1", count=1):
    eventually(lambda: nodes(control).count(node) == count, "there is a connection to share")


def control_processes(control):
    return processes_with(f"ControlPath=\"{control}/n")


def test_all_runs_after_the_first_go_through_one_connection(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    first = run(toy, 1)
    wait_shared(control)
    later = run(toy, 2, 3, 4)
    assert logins(server) == 2, server.said()
    assert len(set(later)) == 1 and set(later) != set(first), (first, later)
    assert len(control_processes(control)) == 1


def test_another_session_has_another_connection(place):
    server, toy, control = sharing(place)
    facts(toy, server, session=0x1234567890ab)
    run(toy, 1)
    wait_shared(control)
    facts(toy, server, session=0x1234567890ac)
    run(toy, 2)
    wait_shared(control, count=2)
    run(toy, 3)
    assert logins(server) == 4, server.said()


def test_another_way_has_another_connection(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    toy.facts(role="there", session=1, **address(server, port=1))
    toy.start(2)
    assert "nothing listens there" in toy.done(2)["runlog"]
    facts(toy, server)
    run(toy, 3)
    assert logins(server) == 2, server.said()


def test_nothing_is_shared_without_a_session_or_a_place_that_is_short_enough(place):
    server, toy, control = sharing(place)
    toy.facts(role="there", **address(server))
    run(toy, 1, 2)
    assert logins(server) == 2 and os.listdir(control) == []
    toy.close()
    long = place.place("c" * 60)
    again = daemon(place, server, DRIVE_CONTROL=long)
    facts(again, server)
    again.go()
    run(again, 3, 4)
    assert logins(server) == 4 and os.listdir(long) == []


def test_nodes_share_nothing_with_each_other(place):
    server, toy, control = sharing(place)
    for noderole in (1, 2):
        facts(toy, server, noderole=noderole)
        run(toy, noderole, noderole=noderole)
        wait_shared(control, f"n{noderole}")
    one, two = run(toy, 3, noderole=1), run(toy, 4, noderole=2)
    assert one != two and logins(server) == 4


def test_an_unused_connection_is_closed_and_a_new_one_is_opened(place):
    server, toy, control = sharing(place, DRIVE_SHARE_MS="1000")
    mark = at_work(place)
    facts(toy, server, "waits")
    toy.start(1)
    eventually(lambda: os.path.exists(mark), "it is at work")
    wait_shared(control)
    os.unlink(mark)
    assert toy.done(1)["result"] == "ok"
    eventually(lambda: os.listdir(control) == [] and not control_processes(control), "it is gone")
    assert logins(server) == 2, server.said()
    facts(toy, server)
    numbers = iter(range(2, 1000))
    eventually(lambda: run(toy, next(numbers)) and os.listdir(control), "another one comes")


def test_a_connection_stays_as_long_as_a_run_is_on_its_node(place):
    server, toy, control = sharing(place, DRIVE_SHARE_MS="40")
    mark = at_work(place)
    facts(toy, server, "waits")
    facts(toy, server, noderole=2)
    toy.start(1)
    eventually(lambda: os.path.exists(mark), "it is at work")
    wait_shared(control)
    found = control_processes(control)
    for number in (2, 3, 4):  # others come and go meanwhile, with theirs
        run_one(toy, number, noderole=2)
        eventually(lambda: nodes(control) == ["n1"], "the other one is gone")
    eventually(lambda: control_processes(control) == found, "only the first is left")
    os.unlink(mark)
    assert toy.done(1)["result"] == "ok"
    eventually(lambda: not control_processes(control), "it is gone")


def run_one(toy, number, **more):
    toy.start(number, **more)
    assert toy.done(number)["result"] == "ok"


def test_the_one_that_was_used_longest_ago_makes_room(place):
    server, toy, control = sharing(place, DRIVE_SHARE_MAX="2")
    mark = at_work(place)
    facts(toy, server, "waits")
    toy.start(1)
    eventually(lambda: os.path.exists(mark), "it is at work")
    wait_shared(control)
    for noderole in (2, 3):
        facts(toy, server, noderole=noderole)
        run_one(toy, noderole, noderole=noderole)
        wait_shared(control, f"n{noderole}")
    assert nodes(control) == ["n1", "n3"], "node 1 is at work"
    os.unlink(mark)
    assert toy.done(1)["result"] == "ok"
    toy.wait_quiet()


def test_where_all_are_in_use_runs_have_their_own(place):
    server, toy, control = sharing(place, DRIVE_SHARE_MAX="1")
    mark = at_work(place)
    facts(toy, server, "waits")
    facts(toy, server, noderole=2)
    toy.start(1)
    eventually(lambda: os.path.exists(mark), "it is at work")
    wait_shared(control)
    for number in (2, 3):
        run_one(toy, number, noderole=2)
    assert logins(server) == 4 and nodes(control) == ["n1"]
    os.unlink(mark)
    assert toy.done(1)["result"] == "ok"
    toy.wait_quiet()


def test_a_killed_connection_delays_no_run_and_is_not_opened_again_at_once(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    os.kill(control_processes(control)[0], signal.SIGKILL)
    eventually(lambda: os.listdir(control) == [], "its end was reported")
    walls = run(toy, 2, 3, 4)
    assert len(set(walls)) == 3 and logins(server) == 5, server.said()
    assert os.listdir(control) == []


def test_a_connection_that_cannot_be_opened_is_reported_by_the_run_alone(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    server.stop()
    for number in (1, 2):
        toy.start(number)
        assert "nothing listens there" in toy.done(number)["runlog"]
    toy.wait_quiet()
    eventually(lambda: not control_processes(control), "none is left")
    assert os.listdir(control) == [] and place.said() == ""


def sessions(server):
    """The processes that serve the connections of that server."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == server.process.pid:
                    found.append(int(name))
        except (OSError, ValueError):
            pass
    return found


def test_a_machine_that_started_anew_is_not_reached_as_before(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    gone = eventually(lambda: len(sessions(server)) == 1 and sessions(server), "only it is left")
    os.kill(gone[0], signal.SIGSTOP)  # runs that use it hang
    try:
        facts(toy, server, session=2)
        run(toy, 2)
        wait_shared(control, count=2)
        run(toy, 3)
        assert control_processes(control) and logins(server) == 4
    finally:
        os.kill(gone[0], signal.SIGKILL)


def test_a_cancelled_run_takes_nothing_from_others(place):
    server, toy, control = sharing(place)
    mark = at_work(place)
    write_script(place, "stays", f"trap '' HUP TERM\n{place.enter('one')}\nsleep 1000\n")
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    facts(toy, server, "stays")
    toy.start(2)
    eventually(lambda: place.entries(), "it is at work")
    toy.cancel(2)
    toy.wait(said="stopped", run=2)
    assert os.listdir(server.tmp) == []
    facts(toy, server, "waits")
    toy.start(3)
    eventually(lambda: os.path.exists(mark), "it is at work")
    os.unlink(mark)
    assert toy.done(3)["result"] == "ok" and logins(server) == 2, server.said()
    toy.wait_quiet()


def test_the_supervisor_dies_with_its_connections(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    place.kill_supervisor()
    eventually(lambda: os.listdir(control) == [], "its end was reported")
    run(toy, 2)
    wait_shared(control)  # the machine has done nothing wrong


def test_the_daemon_dies_and_the_next_has_its_connections(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    found = control_processes(control)
    toy.kill()
    again = daemon(place, server, DRIVE_CONTROL=control)
    facts(again, server)
    again.go()
    run(again, 2)
    assert control_processes(control) == found and logins(server) == 2, server.said()
    assert "has no order" not in place.said()


def test_the_daemon_dies_and_the_next_takes_no_connection_from_a_run(place):
    server, toy, control = sharing(place)
    mark = at_work(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    facts(toy, server, "waits")
    toy.start(2)
    eventually(lambda: os.path.exists(mark), "it is at work")
    found = control_processes(control)
    toy.kill()
    again = daemon(place, server, DRIVE_CONTROL=control, DRIVE_SHARE_MS="40")
    facts(again, server, "waits")
    facts(again, server, noderole=2)
    again.query(2, begun=True)
    again.go()
    for number in (3, 4):
        run_one(again, number, noderole=2)
        eventually(lambda: nodes(control) == ["n1"], "the other one is gone")
    eventually(lambda: control_processes(control) == found, "only its own is left")
    os.unlink(mark)
    assert again.done(2)["result"] == "ok" and logins(server) >= 4
    eventually(lambda: not control_processes(control), "it is closed when it is unused")
    again.wait_quiet()


def test_the_daemon_goes_for_good_and_a_connection_with_its_last_run(place):
    server, toy, control = sharing(place)
    mark = at_work(place)
    for noderole in (1, 2):
        facts(toy, server, noderole=noderole)
        run(toy, noderole, noderole=noderole)
        wait_shared(control, f"n{noderole}")
    facts(toy, server, "waits")
    toy.start(3)
    eventually(lambda: os.path.exists(mark), "it is at work")
    toy.close(bye=True)
    eventually(lambda: os.listdir(control) == [], "no new run can use it")
    assert not place.lock_is_free()
    os.unlink(mark)
    eventually(place.lock_is_free, "the supervisor has nothing to do any more")
    assert not control_processes(control)
    again = daemon(place, server, DRIVE_CONTROL=control)
    facts(again, server, "waits")
    again.query(3, begun=True)
    again.go()
    assert again.done(3)["result"] == "ok"
    again.wait_quiet()


def test_the_daemon_goes_for_good_and_nothing_is_left(place):
    server, toy, control = sharing(place)
    facts(toy, server)
    run(toy, 1)
    wait_shared(control)
    toy.close(bye=True)
    eventually(place.lock_is_free, "the supervisor has nothing to do any more")
    assert not control_processes(control) and os.listdir(control) == []
