"""A node that is set alive is probed, and identified by its host keys from the first contact on."""
import os
import socket
import sqlite3
import subprocess
import time

from daemon import eventually
from sshd import Server, make_key

NODE = "n1.example.com"
MANY = 80


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


def fails(plant, reason, subject, node=NODE):
    is_dead(plant, node)
    row = plant.shows(node)
    assert (row["reason"], row["reason_subject"]) == (reason, subject), row


def own_key(server):
    with open(os.path.join(server.folder, "host_key.pub"), encoding="ascii") as file:
        return " ".join(file.read().split()[:2])


def new_key(server):
    server.stop()
    os.unlink(os.path.join(server.folder, "host_key"))
    make_key(os.path.join(server.folder, "host_key"))
    server.start()


def test_one_that_is_pinned_has_to_show_its_key(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    before = plant.pinned(NODE)
    plant.alive(NODE, False)
    plant.alive(NODE)
    answers(plant, times=2)
    plant.alive(NODE, False)
    with socket.socket() as other:  # which speaks no ssh
        other.bind(("127.0.0.1", 0))
        other.listen()
        plant.hammer(NODE, "ssh", endpoint=f"127.0.0.1:{other.getsockname()[1]}")
        plant.alive(NODE)
        for _ in range(4):  # it has to accept, and is asked for each type of key
            connection, _ = other.accept()
            connection.close()
        is_dead(plant)
    assert plant.pinned(NODE) == before
    assert plant.said("pinned at first contact with") == 1


def test_the_key_of_another_node_is_refused(plant):
    """Whichever of its names or addresses the second node was given."""
    other = "n2.example.com"
    plant.start("--log-level", "info").node(NODE)
    plant.node(other)
    server = Server(plant, ("127.0.0.1", "127.0.0.2"))
    plant.reach(NODE, server)
    plant.reach(other, server, 1)
    plant.alive(NODE)
    answers(plant)
    plant.alive(other)
    fails(plant, "host_key_taken", NODE, other)
    assert plant.pinned(other) == [] and plant.pinned(NODE) == [own_key(server)]
    # a node that has a key of its own is not led elsewhere either
    second = Server(plant)
    plant.reach(other, second)
    plant.alive(other)
    answers(plant, other)
    plant.alive(other, False)
    plant.reach(other, server, 1)
    plant.alive(other)
    fails(plant, "host_key_taken", NODE, other)
    assert plant.pinned(other) == [own_key(second)]
    # the pins of a deleted node are gone, and its machine may be another node
    plant.ask("DELETE", f"nodes/{NODE}")
    plant.ask("PUT", f"nodes/{other}/forget_key")
    plant.alive(other)
    answers(plant, other, times=2)
    assert plant.pinned(other) == [own_key(server)]


def test_a_changed_key_is_refused_until_it_is_forgotten(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    before = plant.pinned(NODE)
    plant.alive(NODE, False)
    new_key(server)
    plant.reach(NODE, server)
    plant.alive(NODE)
    fails(plant, "host_key_changed", NODE)
    assert plant.pinned(NODE) == before
    plant.ask("PUT", f"nodes/{NODE}/forget_key")
    eventually(lambda: plant.pinned(NODE) == [], "it is forgotten")
    plant.alive(NODE)
    answers(plant, times=2)
    assert plant.pinned(NODE) == [own_key(server)] != before


def test_without_ssh_keyscan_no_node_answers(plant):
    """No run could succeed there: ssh accepts pinned host keys only."""
    server = Server(plant)
    plant.start("--log-level", "info", "--tool-path", server.folder).node(NODE)
    plant.reach(NODE, server)
    plant.alive(NODE)
    fails(plant, "tool_missing", "ssh-keyscan")
    assert plant.pinned(NODE) == []


def test_probes_that_were_replaced_end_without_an_answer(plant):
    """Each time the node is set dead its probe is of no use; the last one counts."""
    plant.start("--log-level", "info").node(NODE)
    plant.hammer(NODE, "ssh", endpoint="127.0.0.1:1")  # where no server is
    for _ in range(100):
        plant.alive(NODE)
        plant.alive(NODE, False)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    time.sleep(4)  # longer than any of them is probed again
    assert plant.shows(NODE)["alive"] and plant.pinned(NODE) == [own_key(server)]
    assert plant.said("does not answer") == 0


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


def test_a_refused_connection_fails_the_probe(plant):
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


def test_a_machine_that_listens_late_is_alive(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    for times in (1, 2):  # first it is asked for its keys, then it only has to accept
        server.stop()
        plant.alive(NODE, False)
        plant.alive(NODE)
        plant.says("probing again for", times=times)
        start_where_it_was(server)
        answers(plant, times=times)
        assert plant.shows(NODE)["alive"] and plant.said("does not answer") == 0
    assert len(plant.pinned(NODE)) == 1


def test_an_unresolvable_name_fails_the_probe(plant):
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


def test_a_server_without_host_key_fails_the_probe(plant):
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
        plant.says(f'node \\"{name}\\" answers: it is the machine that the daemon runs on')
        assert plant.shows(name)["alive"] and plant.pinned(name) == []


def test_pins_outlive_the_daemon_and_what_is_written_into_the_file(plant):
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    before = plant.read("ssh/known_hosts")
    plant.kill()
    with open(plant.path("ssh/known_hosts"), "w", encoding="ascii") as file:
        file.write("node-1 ssh-ed25519 AAAA\n")
    plant.start("--log-level", "info")
    eventually(lambda: plant.read("ssh/known_hosts") == before, "it is written again")
    plant.ask("DELETE", f"nodes/{NODE}")
    eventually(lambda: "node-" not in plant.read("ssh/known_hosts"), "its pins go with it")


def make_older(plant):
    """The store as its migration leaves it: nothing was taken over yet, and no digest is known."""
    store = sqlite3.connect(plant.path("halligan.db"))
    store.execute("UPDATE settings SET host_keys_imported = 0")
    store.execute("UPDATE leadership SET digest = ''")
    store.commit()
    store.close()


def test_the_file_of_an_older_version_is_taken_over_once(plant):
    plant.start("--log-level", "info").node(NODE)
    node = plant.shows(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.stop()
    make_older(plant)
    with open(plant.path("ssh/known_hosts"), "w", encoding="ascii") as file:
        file.write(f"{NODE} {own_key(server)} node-{node['id']}-boot-{node['boot_generation']}\n"
                   "gone.example.com ssh-ed25519 AAAA\n")
    plant.start("--log-level", "info")
    eventually(lambda: plant.pinned(NODE) == [own_key(server)], "it is taken over")
    plant.says("known_hosts", "line 2 is not taken over")
    plant.alive(NODE)
    answers(plant)
    assert plant.said("pinned at first contact with") == 0
    plant.ask("PUT", f"nodes/{NODE}/forget_key")
    plant.says("pinned at first contact with")
    plant.ask("DELETE", f"nodes/{NODE}")
    plant.stop()
    plant.start("--log-level", "info")
    assert plant.said("were taken over") == 1


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
    """More nodes than are probed at the same time; each machine has a host key of its own."""
    plant.start("--log-level", "info")
    names = [f"m{i:03}.example.com" for i in range(MANY)]
    for i, name in enumerate(names):
        plant.node(name)
        plant.reach(name, Server(plant, (f"127.0.1.{1 + i % 8}",)))
    for name in names:
        plant.alive(name)
    plant.says("pinned at first contact with", times=MANY)
    for name in names:
        answers(plant, name)
    assert all(len(plant.pinned(n)) == 1 for n in names)
    assert all(node["alive"] for node in plant.ask("GET", "nodes") if node["name"] in names)
    for name in names:
        plant.alive(name, False)
        plant.alive(name)
    plant.says("answers: its ssh host keys are the pinned ones", times=MANY)
    assert plant.read("ssh/known_hosts").count("\nnode-") == MANY


def test_a_machine_that_boots_something_else_is_pinned_anew(plant):
    """Another system shows other keys: then, and only then, that is no reason to be afraid."""
    plant.start("--log-level", "info").node(NODE)
    server = Server(plant)
    plant.reach(NODE, server)
    plant.alive(NODE)
    answers(plant)
    before = plant.pinned(NODE)
    new_key(server)
    plant.reach(NODE, server)
    plant.alive(NODE, False)
    assert plant.client.put(f"nodes/{NODE}", {"bootenv": "local"}).status == 200
    plant.alive(NODE)
    answers(plant, times=2)
    assert plant.pinned(NODE) == [own_key(server)] != before
