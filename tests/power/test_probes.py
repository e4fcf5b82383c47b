"""A node that says it is alive is asked, and known by its host keys from the first contact on."""
import os
import socket
import subprocess
import time

from daemon import eventually
from sshd import Server, make_key

NODE = "n1.example.com"


def answers(plant, node=NODE, times=1):
    plant.says(f'node \\"{node}\\" answers', times=times)


def is_dead(plant, node=NODE):
    """Not before the patience of a probe is at its end."""
    deadline = time.monotonic() + 120
    while plant.shows(node)["alive"]:
        assert time.monotonic() < deadline, f"{node} is alive"
        time.sleep(0.1)
    assert plant.shows(node)["status"].startswith("does not answer: "), plant.shows(node)["status"]


def test_a_machine_that_answers_is_alive_and_pinned(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant, ("127.0.0.7",))
    plant.reach(NODE, server)
    assert plant.alive(NODE)["alive"]
    answers(plant)
    assert plant.shows(NODE)["alive"]
    with open(os.path.join(server.folder, "host_key.pub"), encoding="ascii") as file:
        assert plant.pinned(NODE) == [" ".join(file.read().split()[:2])]


def test_one_that_is_pinned_only_has_to_accept(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    before = plant.pinned(NODE)
    plant.alive(NODE, False)
    with socket.socket() as other:  # which speaks no ssh
        other.bind(("127.0.0.1", 0))
        other.listen()
        plant.hammer(NODE, "ssh", endpoint=f"127.0.0.1:{other.getsockname()[1]}")
        plant.alive(NODE)
        answers(plant, times=2)
        assert plant.shows(NODE)["alive"] and plant.pinned(NODE) == before
    assert plant.said("are pinned") == 2  # the notice, and the sentence


def test_a_machine_that_goes_away_is_not_alive(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    server.stop()
    plant.alive(NODE, False)
    plant.alive(NODE)
    is_dead(plant)
    plant.says(f'node \\"{NODE}\\" does not answer: 127.0.0.1 port {server.port}: ',
               "nothing listens there (connection refused)")


def test_where_nobody_listens_there_is_nobody(plant):
    plant.start().node(NODE)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        plant.hammer(NODE, "ssh", endpoint=f"127.0.0.1:{taken.getsockname()[1]}")
        plant.alive(NODE)
        is_dead(plant)
    assert plant.pinned(NODE) == []
    plant.says("does not answer")


def start_where_it_was(server):
    server.log = open(os.path.join(server.folder, "log"), "ab")
    server.process = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", os.path.join(server.folder, "sshd_config")],
        stderr=server.log)
    assert server.is_up(), server.said()


def test_one_that_tells_before_it_listens_is_alive(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    for times in (1, 2):  # first it is asked for its keys, then it only has to accept
        server.stop()
        plant.alive(NODE, False)
        plant.alive(NODE)
        plant.says("it is asked again", times=times)
        start_where_it_was(server)
        answers(plant, times=times)
        assert plant.shows(NODE)["alive"] and plant.said("does not answer") == 0
    assert len(plant.pinned(NODE)) == 1


def test_a_name_that_leads_nowhere_is_nobody(plant):
    plant.start().node("no-such-name.example.invalid")
    plant.alive("no-such-name.example.invalid")
    is_dead(plant, "no-such-name.example.invalid")
    plant.says("does not answer: no-such-name.example.invalid port 22: ")


def test_a_node_created_alive_is_probed(plant):
    plant.start("--log-level", "info")
    made = plant.node("no-such-name.example.invalid", alive=True, available=True)
    assert made["alive"]
    is_dead(plant, "no-such-name.example.invalid")
    plant.says("does not answer: no-such-name.example.invalid port 22: ")
    # The machine of an admin node without an endpoint is this host, which answers.
    plant.node("here.example.com", admin=True, alive=True, available=True)
    answers(plant, "here.example.com")
    assert plant.shows("here.example.com")["alive"]


def test_one_that_listens_and_shows_no_key_is_nobody(plant):
    plant.start().node(NODE)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        plant.hammer(NODE, "ssh", endpoint=f"127.0.0.1:{other.getsockname()[1]}")
        plant.alive(NODE)
        for _ in range(3):  # it asks for each type of key
            connection, _ = other.accept()
            connection.close()
        is_dead(plant)
    assert plant.pinned(NODE) == []


def test_the_address_may_be_of_the_sixth_kind(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant, ("::1",))
    plant.hammer(NODE, "ssh", endpoint=f"[::1]:{server.port}")
    plant.alive(NODE)
    answers(plant)
    plant.alive(NODE, False)
    plant.alive(NODE)
    answers(plant, times=2)
    assert len(plant.pinned(NODE)) == 1


def test_this_machine_always_answers(plant):
    plant.start("--log-level", "info").node("here.example.com")
    plant.hammer("here.example.com", "local")
    plant.node("admin.example.com", admin=True)
    for name in ("here.example.com", "admin.example.com"):
        plant.alive(name)
        plant.says(f'node \\"{name}\\" answers: it is this machine')
        assert plant.shows(name)["alive"] and plant.pinned(name) == []


def test_pins_outlive_the_daemon_and_can_be_taken_away_by_hand(plant):
    plant.start("--log-level", "info").node(NODE)
    plant.node("n2.example.com")
    server = Server(plant, ("127.0.0.1", "127.0.0.2"))
    plant.reach(NODE, server)
    plant.reach("n2.example.com", server, 1)
    plant.alive(NODE)
    plant.alive("n2.example.com")
    answers(plant)
    answers(plant, "n2.example.com")
    before = plant.read("ssh/known_hosts")
    plant.kill()
    plant.start("--log-level", "info")
    assert plant.read("ssh/known_hosts") == before
    # the machine is installed anew, and somebody who knows that forgets the old key
    server.stop()
    os.unlink(os.path.join(server.folder, "host_key"))
    make_key(os.path.join(server.folder, "host_key"))
    server.start()
    subprocess.run(["ssh-keygen", "-q", "-R", NODE, "-f", plant.path("ssh/known_hosts")], check=True,
                   capture_output=True)
    plant.reach(NODE, server)
    plant.alive(NODE, False)
    plant.alive(NODE)
    answers(plant, times=2)
    with open(os.path.join(server.folder, "host_key.pub"), encoding="ascii") as file:
        assert plant.pinned(NODE) == [" ".join(file.read().split()[:2])]
    assert plant.pinned("n2.example.com") and plant.pinned("n2.example.com") != plant.pinned(NODE)


def test_a_probe_outlives_the_daemon(plant):
    plant.start("--log-level", "info").node(NODE)
    with socket.socket() as silent:  # accepts, and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        plant.hammer(NODE, "ssh", endpoint=f"127.0.0.1:{silent.getsockname()[1]}")
        plant.alive(NODE)
        silent.accept()
        plant.kill()
    plant.start("--log-level", "info")
    is_dead(plant)


def test_many_at_once(plant):
    plant.start("--log-level", "info")
    server = Server(plant, tuple(f"127.0.1.{i}" for i in range(1, 9)), more="MaxStartups 1000")
    names = [f"m{i:03}.example.com" for i in range(150)]
    for i, name in enumerate(names):
        plant.node(name)
        plant.reach(name, server, i % 8)
    for name in names:
        plant.alive(name)
    plant.says("are pinned", times=300)
    for name in names:
        answers(plant, name)
    assert all(len(plant.pinned(n)) == 1 for n in names)
    assert all(node["alive"] for node in plant.ask("GET", "nodes") if node["name"] in names)
    for name in names:
        plant.alive(name, False)
        plant.alive(name)
    plant.says("answers: it accepts connections", times=150)
    assert len(plant.read("ssh/known_hosts").splitlines()) == 150


def test_a_machine_that_boots_something_else_is_pinned_anew(plant):
    """Another system shows other keys: then, and only then, that is no reason to be afraid."""
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    before = plant.pinned(NODE)
    server.stop()
    os.unlink(os.path.join(server.folder, "host_key"))
    make_key(os.path.join(server.folder, "host_key"))
    server.start()
    plant.reach(NODE, server)
    plant.alive(NODE, False)
    plant.alive(NODE)  # the same boot: whoever logs in will see that it is not the same machine
    answers(plant, times=2)
    assert plant.pinned(NODE) == before
    plant.alive(NODE, False)
    assert plant.client.put(f"nodes/{NODE}", {"bootenv": "local"}).status == 200
    plant.alive(NODE)
    answers(plant, times=3)
    with open(os.path.join(server.folder, "host_key.pub"), encoding="ascii") as file:
        assert plant.pinned(NODE) == [" ".join(file.read().split()[:2])] != before
