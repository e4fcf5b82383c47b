"""Power can be read: on request, after an action and by polling; what fails keeps the last state."""
import json
import os
import shutil
import socket
import subprocess
import time

from daemon import eventually
from sshd import Server
from test_peers import Simulator

N1, N2 = "n1.example.com", "n2.example.com"


def halligan(plant, *words):
    """The command line against the daemon: exit status and standard output."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HALLIGAN_")}
    env.update(HALLIGAN_URL=plant.read("listen").strip(), HALLIGAN_USER="admin",
               HALLIGAN_PASSWORD=plant.read("admin.password").strip(), HOME=plant.scratch)
    program = os.path.join(os.path.dirname(plant.program), "halligan")
    done = subprocess.run([program, *words], env=env, cwd=plant.scratch, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.stdout or done.returncode, done.stderr
    return done.returncode, done.stdout


def status(plant, node):
    """What the command line says: exit status and document."""
    code, said = halligan(plant, "nodes", "power", node, "status", "-o", "json")
    return code, json.loads(said)


def ended(plant, node, action):
    """Order it and wait for its result by the API."""
    order = plant.ask("PUT", f"nodes/{node}/power?poweraction={action}&view=full")["order"]

    def look():
        answer = plant.ask("GET", f"nodes/{node}/power/{order}")
        assert answer["order"] == order and answer["action"] == action, answer
        return answer if answer["state"] in ("done", "failed") else None

    return eventually(look, f"{action} of {node} ends")


def events(plant, verb, node):
    node_id = plant.shows(node)["id"]
    found = plant.ask("GET", f"audit?verb={verb}&object=node&object_id={node_id}")
    return [event["changes"] for event in found]


def ipmi(plant, node):
    sim = Simulator(plant)
    plant.hammer(node, "ipmi", endpoint=f"127.0.0.1:{sim.port}", authenticator="pass#w0rd")
    return sim


class Deaf:
    """A service processor that accepts connections and never answers."""

    def __init__(self, plant, node):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(64)
        plant.things.append(self)
        plant.hammer(node, "redfish", authenticator="calvin",
                     endpoint=f"https://127.0.0.1:{self.socket.getsockname()[1]}")

    def close(self):
        self.socket.close()


# -- on request --------------------------------------------------------------------------------------


def test_a_node_that_was_never_read_says_so(plant):
    plant.start().node(N1)
    node = plant.shows(N1)
    assert node["power_state"] == "unknown" and node["power_read_at"] is None, node
    assert node["power_driver"] is None and node["power_reason"] is None, node
    assert node["power_error"] == "" and node["power_results"] == [], node
    assert "power_state" not in plant.ask("GET", f"nodes/{N1}")


def test_status_by_redfish(plant):
    plant.start().node(N1)
    _, machine = plant.redfish(N1)
    code, answer = status(plant, N1)
    assert code == 0 and answer["state"] == "done" and answer["power_state"] == "off", answer
    assert answer["driver"] == "redfish" and answer["reason"] is None, answer
    machine.reset("On")
    code, answer = status(plant, N1)
    assert code == 0 and answer["power_state"] == "on", answer
    node = plant.shows(N1)
    assert node["power_state"] == "on" and node["power_driver"] == "redfish", node
    assert node["power_read_at"] == answer["at"], (node, answer)
    assert [r["action"] for r in node["power_results"]] == ["status", "status"], node


def test_status_by_ipmi(plant):
    plant.start().node(N1)
    sim = ipmi(plant, N1)
    code, answer = status(plant, N1)
    assert code == 0 and answer["power_state"] == "off" and answer["driver"] == "ipmi", answer
    with open(os.path.join(sim.folder, "power"), "w", encoding="ascii") as file:
        file.write("1\n")
    code, answer = status(plant, N1)
    assert code == 0 and answer["power_state"] == "on", answer
    assert plant.shows(N1)["power_driver"] == "ipmi"


def test_status_by_ssh(plant):
    plant.start("--log-level", "info").node(N1)
    server = Server(plant, ("127.0.0.11",))
    plant.reach(N1, server)
    plant.alive(N1)
    plant.says(f'node \\"{N1}\\" answers')
    server.allow(plant.path("ssh/id_ed25519"))
    code, answer = status(plant, N1)
    assert code == 0 and answer["power_state"] == "on" and answer["driver"] == "ssh", answer
    server.stop()
    code, answer = status(plant, N1)
    assert code == 1 and answer["state"] == "failed", answer
    assert answer["reason"] == "power_refused" and answer["power_state"] == "on", answer
    assert plant.shows(N1)["power_reason"] == "power_refused"


def test_wake_on_lan_cannot_read(plant):
    plant.start().node(N1)
    for hammer in plant.ask("GET", f"nodes/{N1}/hammers"):
        plant.ask("DELETE", f"hammers/{hammer['id']}")
    plant.hammer(N1, "wol", endpoint="127.0.0.1:9", extra={"mac": "52:54:00:12:34:56"})
    answer = plant.client.put(f"nodes/{N1}/power?poweraction=status")
    assert answer.status == 501 and "valid actions: on" in answer.text, answer
    assert halligan(plant, "nodes", "power", N1, "status")[0] != 0
    assert plant.shows(N1)["power_state"] == "unknown"


# -- after an action ---------------------------------------------------------------------------------


def test_an_action_brings_the_state_it_led_to(plant):
    plant.start().node(N1)
    plant.redfish(N1)
    for action, state in (("on", "on"), ("off", "off"), ("cycle", "on"), ("reset", "on")):
        answer = ended(plant, N1, action)
        assert answer["state"] == "done" and answer["power_state"] == state, answer
        assert answer["driver"] == "redfish", answer
    results = plant.shows(N1)["power_results"]
    assert [r["action"] for r in results] == ["reset", "cycle", "off", "on"], results
    status(plant, N1)
    results = plant.shows(N1)["power_results"]  # four are kept, the newest first
    assert [r["action"] for r in results] == ["status", "reset", "cycle", "off"], results


def test_the_state_is_read_after_an_action_whose_driver_reports_none(plant):
    plant.start().node(N1)
    sim = ipmi(plant, N1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        plant.hammer(N1, "wol", endpoint=f"127.0.0.1:{ear.getsockname()[1]}", priority=9,
                     extra={"mac": "52:54:00:12:34:56"})
        with open(os.path.join(sim.folder, "power"), "w", encoding="ascii") as file:
            file.write("1\n")
        answer = ended(plant, N1, "on")
    assert answer["state"] == "done" and answer["driver"] == "wol", answer
    eventually(lambda: plant.shows(N1)["power_state"] == "on", "its state is read")
    assert plant.shows(N1)["power_driver"] == "ipmi"


def test_a_machine_that_boots_after_an_action_is_no_failed_reading(plant):
    plant.start("--log-level", "info").node(N1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear, socket.socket() as closed:
        ear.bind(("127.0.0.1", 0))
        closed.bind(("127.0.0.1", 0))  # without listen(): connections are refused
        plant.hammer(N1, "wol", endpoint=f"127.0.0.1:{ear.getsockname()[1]}",
                     extra={"mac": "52:54:00:12:34:56"})
        plant.hammer(N1, "ssh", endpoint=f"127.0.0.1:{closed.getsockname()[1]}")
        answer = ended(plant, N1, "on")
        assert answer["state"] == "done" and answer["driver"] == "wol", answer
        plant.says("power state of node", "not read (refused)")
        plant.node(N2)  # a command that comes after the answer of the reading
        node = plant.shows(N1)
        assert node["power_reason"] is None and node["power_error"] == "", node
        assert events(plant, "node_power_read", N1) == []
        assert status(plant, N1)[1]["reason"] == "power_refused"  # on request it is an answer
        assert plant.shows(N1)["power_reason"] == "power_refused"


def test_wait_shows_what_the_machine_answered(plant):
    plant.start().node(N1)
    _, machine = plant.redfish(N1)
    machine.delay = 0.5
    code, said = halligan(plant, "nodes", "power", N1, "on", "--wait", "-o", "json")
    answer = json.loads(said)
    assert code == 0 and answer["state"] == "done" and answer["power_state"] == "on", answer
    assert machine.real_power == "On"
    code, said = halligan(plant, "nodes", "power", N1, "off", "-o", "json")
    assert code == 0 and json.loads(said)["result"] == "ordered", said
    plant.says("off of node", "is off")
    code, said = halligan(plant, "nodes", "power", N1, "cycle", "--wait", "--timeout", "60")
    assert code == 0 and "done" in said, said
    assert halligan(plant, "nodes", "power", N1, "off", "--timeout", "60")[0] == 2


def test_wait_ends_when_its_time_is_over(plant):
    plant.start().node(N1)
    Deaf(plant, N1)
    code, _ = halligan(plant, "nodes", "power", N1, "on", "--wait", "--timeout", "1")
    assert code == 8, code


def test_an_order_that_is_not_kept_is_not_found(plant):
    plant.start().node(N1)
    plant.node(N2)
    plant.redfish(N1)
    order = ended(plant, N1, "status")["order"]
    for path in (f"nodes/{N1}/power/{order + 1000}", f"nodes/{N1}/power/x",
                 f"nodes/{N2}/power/{order}"):
        answer = plant.client.get(path)
        assert answer.status == 404, (path, answer)


# -- failures ----------------------------------------------------------------------------------------


def test_a_failed_reading_keeps_the_state_and_a_later_one_clears_the_reason(plant):
    plant.start().node(N1)
    _, machine = plant.redfish(N1)
    assert ended(plant, N1, "on")["power_state"] == "on"
    before = plant.shows(N1)
    plant.hammer(N1, "redfish", authenticator="wrong")
    code, answer = status(plant, N1)
    assert code == 1 and answer["state"] == "failed" and answer["reason"] == "power_auth", answer
    node = plant.shows(N1)
    assert node["power_state"] == "on" and node["power_reason"] == "power_auth", node
    assert node["power_error"] and node["power_read_at"] == before["power_read_at"], node
    assert node["status"] == "" and node["reason"] is None, node  # no action failed
    machine.reset("ForceOff")
    plant.hammer(N1, "redfish", authenticator="calvin")
    code, answer = status(plant, N1)
    assert code == 0 and answer["power_state"] == "off", answer
    node = plant.shows(N1)
    assert node["power_reason"] is None and node["power_error"] == "", node


def test_a_reading_clears_the_failure_of_an_action_that_it_shows_done(plant):
    plant.start().node(N1)
    _, machine = plant.redfish(N1, password="wrong")
    assert ended(plant, N1, "on")["reason"] == "power_auth"
    assert plant.shows(N1)["reason"] == "power_auth"
    plant.hammer(N1, "redfish", authenticator="calvin")
    assert status(plant, N1)[1]["power_state"] == "off"
    assert plant.shows(N1)["reason"] == "power_auth"  # it is not on
    machine.reset("On")
    assert status(plant, N1)[1]["power_state"] == "on"
    assert plant.shows(N1)["reason"] is None and plant.shows(N1)["status"] == ""


# -- looking -----------------------------------------------------------------------------------------


def test_the_audit_has_action_and_result(plant):
    plant.start().node(N1)
    plant.redfish(N1)
    ended(plant, N1, "on")
    plant.hammer(N1, "redfish", authenticator="wrong")
    ended(plant, N1, "cycle")
    asked = events(plant, "node_power", N1)
    assert sorted(e["action"][1] for e in asked) == ["cycle", "on"], asked
    done = {e["action"][1]: e for e in events(plant, "node_power_done", N1)}
    assert done["on"]["result"] == [None, "done"], done
    assert done["on"]["power_state"] == ["unknown", "on"] and "is on" in done["on"]["text"][1], done
    assert done["cycle"]["result"] == [None, "failed"], done
    assert done["cycle"]["reason"][1], done


def test_nodes_are_listed_and_filtered_by_their_power(plant):
    plant.start().node(N1)
    plant.node(N2)
    plant.redfish(N1)
    plant.redfish(N2)
    ended(plant, N1, "on")
    ended(plant, N2, "status")
    assert [n["name"] for n in plant.ask("GET", "nodes?power_state=on")] == [N1]
    assert [n["name"] for n in plant.ask("GET", "nodes?power_state=off")] == [N2]
    answer = plant.client.get("nodes?power_state=sideways")
    assert answer.status == 400 and "power_state" in answer.text, answer
    code, said = halligan(plant, "nodes", "list", "--filter", "power_state=on")
    lines = said.splitlines()
    assert code == 0 and "POWER" in lines[0].split() and len(lines) == 2, said
    assert N1 in lines[1] and "on" in lines[1].split(), said


# -- polling -----------------------------------------------------------------------------------------


def test_every_node_is_polled(plant):
    plant.start("--power-poll", "1").node(N1)
    plant.node(N2)
    service, machine = plant.redfish(N1)
    sim = ipmi(plant, N2)
    for node in (N1, N2):
        eventually(lambda n=node: plant.shows(n)["power_state"] == "off", f"{node} is polled")
    machine.reset("On")
    eventually(lambda: plant.shows(N1)["power_state"] == "on", "the change is seen")
    seen = len(service.asked("GET"))
    turn_before = plant.client.get(f"nodes/{N1}").headers.get("ETag")
    eventually(lambda: len(service.asked("GET")) > seen + 8, "it is polled again and again")
    # What changed nothing is not written: the record is as it was.
    assert plant.client.get(f"nodes/{N1}").headers.get("ETag") == turn_before
    assert events(plant, "node_power_read", N1)[-1]["power_state"], "a change is an event"
    assert len(events(plant, "node_power_read", N1)) == 2
    sim.close()
    plant.things.remove(sim)
    eventually(lambda: plant.shows(N2)["power_reason"], "its failure is seen")
    assert plant.shows(N2)["power_state"] == "off"


def test_a_node_that_is_reached_locally_is_not_polled_by_ssh(plant):
    plant.start("--power-poll", "1")
    here = "here.example.com"
    plant.node(here, admin=True)
    assert [h["name"] for h in plant.ask("GET", f"nodes/{here}/hammers")] == ["ssh"]
    plant.node(N1)
    service, _ = plant.redfish(N1)  # of a later node: its polls count the rounds
    eventually(lambda: len(service.asked("GET")) > 8, "rounds have passed")
    node = plant.shows(here)
    assert node["power_reason"] is None and node["power_state"] == "unknown", node
    assert ended(plant, here, "status")["reason"] == "power_not_offered"
    assert plant.shows(here)["power_reason"] is None


def test_without_power_poll_no_state_is_read(plant):
    plant.start().node(N1)
    service, _ = plant.redfish(N1)
    time.sleep(2)
    assert service.asked("GET") == []


def test_a_processor_that_hangs_delays_no_other_and_no_order(plant):
    plant.start("--power-poll", "1", "--log-level", "info")
    deaf = [f"deaf{i}.example.com" for i in range(40)]  # more than are polled at a time
    for name in deaf:
        plant.node(name)
    mute = Deaf(plant, deaf[0])
    for name in deaf[1:]:
        plant.hammer(name, "redfish", authenticator="calvin",
                     endpoint=f"https://127.0.0.1:{mute.socket.getsockname()[1]}")
    time.sleep(2)  # polls of machines that do not answer are under way
    plant.node(N1)
    _, machine = plant.redfish(N1)
    began = time.monotonic()
    answer = ended(plant, N1, "on")
    assert answer["state"] == "done" and machine.real_power == "On", answer
    assert time.monotonic() - began < 8, "an order waited for polls"
    # The one that hangs gets a service that answers: an order for it ends its poll at once.
    service, woken = plant.redfish(deaf[0])
    began = time.monotonic()
    answer = ended(plant, deaf[0], "on")
    assert answer["state"] == "done" and woken.real_power == "On", answer
    assert time.monotonic() - began < 8, "an order waited for the poll of its own machine"
    eventually(lambda: plant.shows(deaf[1])["power_reason"] == "power_timeout", "polls end")


def test_an_order_does_not_wait_for_a_status_that_hangs(plant):
    plant.start().node(N1)
    service, machine = plant.redfish(N1)
    service.faults.add(do="delay", seconds=300)
    plant.power(N1, "status")
    eventually(lambda: service.asked("GET"), "the status is under way")
    began = time.monotonic()
    assert ended(plant, N1, "on")["state"] == "done"
    assert time.monotonic() - began < 8, "it waited"
    assert machine.real_power == "On"


def test_a_status_that_waits_in_the_queue_is_read(plant):
    plant.start()
    deaf = [f"deaf{i}.example.com" for i in range(64)]  # as many as are read at a time
    for name in deaf:
        plant.node(name)
    mute = Deaf(plant, deaf[0])
    for name in deaf[1:]:
        plant.hammer(name, "redfish", authenticator="calvin",
                     endpoint=f"https://127.0.0.1:{mute.socket.getsockname()[1]}")
    plant.node(N1)
    plant.redfish(N1)
    for name in deaf:
        plant.power(name, "status")
    answer = ended(plant, N1, "status")
    assert answer["state"] == "done" and answer["power_state"] == "off", answer
    eventually(lambda: plant.shows(deaf[0])["power_reason"] == "power_timeout", "the others end")


# -- what is shipped ---------------------------------------------------------------------------------


def test_the_shipped_barclamps_bring_the_drivers(plant):
    here = os.path.dirname(os.path.abspath(__file__))
    shipped = os.path.join(os.path.dirname(os.path.dirname(here)), "barclamps")
    os.unlink(plant.path("barclamps/powertest.json"))
    shutil.copytree(shipped, plant.path("barclamps"), dirs_exist_ok=True)
    plant.start()
    kinds = {k["name"]: k for k in plant.ask("GET", "available_hammers")}
    assert {"redfish", "ipmi", "wol", "ssh"} <= set(kinds), kinds
    assert kinds["redfish"]["priority"] > kinds["ipmi"]["priority"] > kinds["wol"]["priority"]
    assert kinds["wol"]["priority"] > kinds["ssh"]["priority"], kinds
    plant.node(N1)
    plant.redfish(N1)
    assert status(plant, N1)[1]["power_state"] == "off"
