"""Machines are switched by the hammers of their nodes; what fails leaves a sentence."""
import http.client
import os
import socket
import stat
import subprocess

from daemon import eventually
from sshd import Server
from test_peers import Simulator


def test_a_machine_behind_redfish_is_switched(plant):
    plant.start().node("n1.example.com")
    _, machine = plant.redfish("n1.example.com")
    actions = plant.ask("GET", "nodes/n1.example.com/power")
    assert {"on", "off", "reset", "reboot"} <= set(actions), actions
    plant.power("n1.example.com", "on")
    eventually(lambda: machine.real_power == "On", "it is on")
    plant.says('on of node \\"n1.example.com\\" by hammer \\"redfish\\" done: ', "is on")
    plant.power("n1.example.com", "reset")
    eventually(lambda: "ForceRestart" in machine.resets, "it is reset")
    plant.power("n1.example.com", "off")
    eventually(lambda: machine.real_power == "Off", "it is off")
    plant.power("n1.example.com", "pxeboot")
    plant.power("n1.example.com", "on")
    eventually(lambda: machine.boots[-1] == "Pxe", "it starts from the network")


def test_what_it_starts_from_follows_the_bootenv(plant):
    plant.start().node("n1.example.com")
    _, machine = plant.redfish("n1.example.com")
    plant.ask("PUT", "nodes/n1.example.com", {"bootenv": "local"})
    eventually(lambda: machine.target == "Hdd" and machine.enabled == "Continuous", "disk")
    plant.ask("PUT", "nodes/n1.example.com", {"bootenv": "sledgehammer"})
    eventually(lambda: machine.target == "Pxe", "network")
    plant.says('boot pxe of node', 'by hammer')


def test_orders_of_one_node_keep_their_order(plant):
    plant.start().node("n1.example.com")
    _, machine = plant.redfish("n1.example.com")
    machine.delay = 0.2
    for action in ("on", "off", "on", "reset", "off"):
        plant.power("n1.example.com", action)
    plant.says("off of node", "is off", times=2)
    assert machine.resets == ["On", "ForceOff", "On", "ForceRestart", "ForceOff"], machine.resets


def test_nodes_do_not_wait_for_each_other(plant):
    plant.start().node("n1.example.com")
    plant.node("n2.example.com")
    slow, first = plant.redfish("n1.example.com")
    _, second = plant.redfish("n2.example.com")
    slow.faults.add(do="delay", seconds=300)
    plant.power("n1.example.com", "on")
    eventually(lambda: slow.asked("GET"), "the first receives a request")
    plant.power("n2.example.com", "on")
    eventually(lambda: second.real_power == "On", "the second is on")
    assert first.real_power == "Off"


def test_ipmi_switches_a_machine(plant):
    plant.start().node("n1.example.com")
    sim = Simulator(plant)
    plant.hammer("n1.example.com", "ipmi", endpoint=f"127.0.0.1:{sim.port}",
                 authenticator="pass#w0rd")
    plant.power("n1.example.com", "on")
    eventually(lambda: sim.read("power") == "1", "it is on")
    plant.ask("PUT", "nodes/n1.example.com", {"bootenv": "local"})
    eventually(lambda: sim.read("boot") == "default", "it starts from its disk")
    plant.power("n1.example.com", "off")
    eventually(lambda: sim.read("power") == "0", "it is off")
    plant.says("off of node", 'by hammer \\"ipmi\\"', times=1)


def test_wake_on_lan_wakes_a_machine(plant):
    plant.start().node("n1.example.com")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(30)
        plant.hammer("n1.example.com", "wol", endpoint=f"127.0.0.1:{ear.getsockname()[1]}",
                     extra={"mac": "52:54:00:12:34:56"})
        plant.power("n1.example.com", "on")
        assert ear.recv(200) == b"\xff" * 6 + bytes.fromhex("525400123456") * 16
    plant.says("on of node", 'by hammer \\"wol\\"')


def test_the_hammer_with_the_higher_priority_does_it(plant):
    plant.start().node("n1.example.com")
    sim = Simulator(plant)
    plant.hammer("n1.example.com", "ipmi", endpoint=f"127.0.0.1:{sim.port}",
                 authenticator="pass#w0rd")
    _, machine = plant.redfish("n1.example.com")
    plant.power("n1.example.com", "on")
    plant.says("on of node", 'by hammer \\"redfish\\"')
    assert machine.real_power == "On" and sim.read("power") == "0"
    plant.hammer("n1.example.com", "ipmi", priority=9)
    plant.power("n1.example.com", "on")
    plant.says("on of node", 'by hammer \\"ipmi\\"')
    assert sim.read("power") == "1"


# -- failures --------------------------------------------------------------------------------------


def has_reason(plant, reason, action, node="n1.example.com"):
    def found():
        row = plant.shows(node)
        return (row["reason"], row["reason_subject"]) == (reason, action)

    eventually(found, f"the reason of node {node} is {reason} of {action}")


def test_a_wrong_password_is_reported_and_not_retried(plant):
    plant.start().node("n1.example.com")
    service, machine = plant.redfish("n1.example.com", password="wrong")
    plant.power("n1.example.com", "on")
    plant.says('on of node \\"n1.example.com\\" by hammer \\"redfish\\" failed (auth): ')
    assert machine.real_power == "Off" and plant.said("trying again") == 0
    assert "wrong" not in plant.read("stderr")
    assert service.asked("POST") == []


def test_an_action_that_no_hammer_offers_is_refused(plant):
    plant.start().node("n1.example.com")
    answer = plant.client.put("nodes/n1.example.com/power?poweraction=cycle")
    assert answer.status == 501 and "valid actions: reboot" in answer.text, answer
    answer = plant.client.put("nodes/n1.example.com/power")
    assert answer.status == 400 and "poweraction" in answer.text, answer
    answer = plant.client.put("nodes/nobody.example.com/power?poweraction=on")
    assert answer.status == 404, answer


def test_a_hammer_that_went_meanwhile_leaves_a_sentence(plant):
    plant.start().node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    service.faults.add(do="delay", seconds=300)
    plant.power("n1.example.com", "on")
    eventually(lambda: service.asked("GET"), "the first is under way")
    plant.power("n1.example.com", "cycle")
    for hammer in plant.ask("GET", "nodes/n1.example.com/hammers"):
        if hammer["name"] == "redfish":
            plant.ask("DELETE", f"hammers/{hammer['id']}")
    service.server.closing.set()  # the delay ends
    plant.says("on of node", "is on")
    plant.says('cycle of node \\"n1.example.com\\" is not possible: its hammers offer', "reboot")
    has_reason(plant, "power_not_offered", "cycle")
    assert machine.resets == ["On"], machine.resets


def test_an_unreachable_service_is_retried(plant):
    plant.start("--log-level", "info").node("n1.example.com")
    service, _ = plant.redfish("n1.example.com")
    service.close()
    plant.things.remove(service)
    plant.power("n1.example.com", "reset")
    plant.says("trying again in 2 s")
    _, machine = plant.redfish("n1.example.com", port=service.port)
    eventually(lambda: machine.real_power == "On", "it is on")
    plant.says("reset of node", "(2 tries)")


def test_what_may_have_happened_is_not_done_twice(plant):
    plant.start("--log-level", "info").node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    plant.power("n1.example.com", "on")
    plant.says("on of node", "is on")
    service.faults.add(method="POST", do="drop")
    plant.power("n1.example.com", "cycle")
    plant.power("n1.example.com", "off")
    plant.says("cycle of node", "failed (lost)")
    plant.says("off of node", "is off")
    assert plant.said("trying again") == 0
    assert len(service.asked("POST")) == 3 and machine.resets == ["On", "ForceOff"]


def test_what_does_no_harm_is_done_again_when_it_may_have_happened(plant):
    plant.start("--log-level", "info").node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    service.faults.add(method="POST", do="drop")
    plant.power("n1.example.com", "on")
    plant.says("trying again in 2 s")
    eventually(lambda: machine.real_power == "On", "it is on")


def test_after_three_tries_it_is_given_up(plant):
    plant.start("--log-level", "info").node("n1.example.com")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        plant.hammer("n1.example.com", "redfish", authenticator="calvin",
                     endpoint=f"https://127.0.0.1:{taken.getsockname()[1]}")
        plant.power("n1.example.com", "on")
        plant.says("on of node", "failed (refused, given up after 3 tries): ")
    assert plant.said("trying again") == 2
    plant.stop()
    plant.start("--log-level", "info")
    plant.node("n2.example.com")  # a turn of the new daemon, which would have begun it by then
    assert plant.said("trying again") == 2


def test_with_the_test_jig_nothing_is_switched(plant):
    plant.start("--test-jig").node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    plant.power("n1.example.com", "on")
    plant.alive("n1.example.com")
    plant.stop()
    plant.start()  # nothing is left to do
    plant.power("n1.example.com", "off")
    plant.says("off of node", "is already off")
    assert service.asked("POST") == [] and machine.resets == []


# -- dying in the middle -----------------------------------------------------------------------------


def test_an_order_outlives_the_daemon(plant):
    plant.start().node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    service.faults.add(do="delay", seconds=300)
    plant.power("n1.example.com", "on")
    eventually(lambda: service.asked("GET"), "it is under way")
    plant.kill()
    assert machine.real_power == "Off"
    plant.start()
    eventually(lambda: machine.real_power == "On", "it is on")
    plant.says("on of node", "is on")
    plant.kill()
    plant.start()
    plant.power("n1.example.com", "off")
    plant.says("off of node", "is off")
    assert machine.resets == ["On", "ForceOff"], machine.resets  # what was answered is not repeated


def resets(service):
    """The number of reset requests, including those without a response."""
    posts = service.asked("POST", "Reset")
    return sum("ForceRestart" in str(body) or "PowerCycle" in str(body) for _, body, _ in posts)


def is_not_known(plant, node, action):
    text = f"the daemon ended during {action} of node "
    eventually(lambda: text in plant.shows(node)["status"], f"{action} is not known")
    has_reason(plant, "power_interrupted", action)


def end_in_the_middle(plant, action, leave):
    """The request was sent; the response never arrives."""
    plant.start().node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    plant.power("n1.example.com", "on")
    plant.says("on of node", "is on")
    service.faults.add(method="POST", do="delay", seconds=300)
    plant.power("n1.example.com", action)
    eventually(lambda: resets(service), "the request was sent")
    leave()
    plant.start()
    is_not_known(plant, "n1.example.com", action)
    plant.power("n1.example.com", "off")  # whatever was left of it would come before
    plant.says("off of node", "is o")
    assert resets(service) == 1, service.asked("POST")
    plant.kill()
    plant.start()
    plant.power("n1.example.com", "on")
    plant.says("on of node", "is on", times=2)
    assert resets(service) == 1, service.asked("POST")


def test_a_reset_is_not_repeated_after_a_kill(plant):
    end_in_the_middle(plant, "reset", plant.kill)


def test_a_reset_is_not_repeated_after_a_stop(plant):
    end_in_the_middle(plant, "reset", plant.stop)


def test_a_cycle_is_not_repeated_after_a_kill(plant):
    end_in_the_middle(plant, "cycle", plant.kill)


def test_a_cycle_is_not_repeated_after_a_stop(plant):
    end_in_the_middle(plant, "cycle", plant.stop)


def order_and_die(plant, number):
    """A reset, and a daemon that dies before the batch of that number is in the store. Whether it
    did, and whether the order was acknowledged to the client."""
    os.environ["HALLIGAN_FAILPOINT"] = f"store.commit.before:{number}"
    said, is_ordered = plant.said("reset of node"), False
    try:
        plant.start()
        plant.power("n1.example.com", "reset")
        is_ordered = True
    except (AssertionError, OSError, http.client.HTTPException):
        pass  # it died first
    finally:
        del os.environ["HALLIGAN_FAILPOINT"]
    eventually(lambda: plant.process.poll() is not None or plant.said("reset of node") > said,
               "it dies, or does it")
    died = plant.process.poll() is not None
    plant.kill()
    return died, is_ordered


def test_a_reset_is_done_once_wherever_the_daemon_dies(plant):
    plant.start().node("n1.example.com")
    service, machine = plant.redfish("n1.example.com")
    plant.power("n1.example.com", "on")
    plant.says("on of node", "is on")
    plant.stop()
    known = unknown = 0
    for number in range(1, 10):
        before = resets(service)
        died, is_ordered = order_and_die(plant, number)
        plant.start()
        plant.power("n1.example.com", "on")  # behind it
        plant.says("on of node", "is already on", times=number)
        done = resets(service) - before
        assert done == 1 or (done == 0 and not is_ordered), (number, done)
        is_unknown = plant.said("the daemon ended during reset of node") > unknown
        unknown += is_unknown
        known += died and done == 1 and not is_unknown
        plant.stop()
    assert known, "it never died before the mark was durable"


def test_a_daemon_that_stops_does_not_wait_for_a_machine(plant):
    plant.start().node("n1.example.com")
    sim = Simulator(plant)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        plant.hammer("n1.example.com", "ipmi", endpoint=f"127.0.0.1:{deaf.getsockname()[1]}",
                     authenticator="pass#w0rd")
        plant.power("n1.example.com", "on")
        deaf.settimeout(30)
        deaf.recv(1000)  # ipmitool is at it
        plant.stop()
        plant.start()
        deaf.recv(1000)
    plant.hammer("n1.example.com", "ipmi", endpoint=f"127.0.0.1:{sim.port}")
    eventually(lambda: sim.read("power") == "1", "the next try finds it")


# -- ssh ---------------------------------------------------------------------------------------------


def test_the_key_of_the_installation_is_made_once(plant):
    os.mkdir(plant.path("ssh"), 0o700)
    for name in ("id_ed25519.new", "id_ed25519.new.pub", "id_ed25519.pub"):
        with open(plant.path("ssh/" + name), "w", encoding="ascii") as file:
            file.write("of a start that was cut off\n")
    plant.start()
    plant.says("created the ssh key of this installation")
    key, public = plant.read("ssh/id_ed25519"), plant.read("ssh/id_ed25519.pub")
    assert key.startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert public.split()[2] == "halligan@" + socket.gethostname(), public
    derived = subprocess.run(["ssh-keygen", "-y", "-f", plant.path("ssh/id_ed25519")], check=True,
                             capture_output=True, text=True).stdout
    assert derived.split()[:2] == public.split()[:2]
    for name, mode in (("ssh", 0o700), ("ssh/id_ed25519", 0o600), ("ssh/known_hosts", 0o600),
                       ("ssh/control", 0o700), ("hammer", 0o700)):
        assert stat.S_IMODE(os.stat(plant.path(name)).st_mode) == mode, name
    assert sorted(os.listdir(plant.path("ssh"))) == ["control", "id_ed25519", "id_ed25519.pub",
                                                     "known_hosts"]
    plant.stop()
    plant.start()
    assert plant.read("ssh/id_ed25519") == key and plant.said("created the ssh key") == 1


def test_a_reboot_goes_to_the_machine_that_was_pinned(plant):
    plant.start("--log-level", "info").node("n1.example.com")
    # A login runs this instead of the command, and would find no program for it either:
    # nothing here restarts anything.
    server = Server(plant, ("127.0.0.9",), path=plant.place("empty"),
                    more=f"ForceCommand echo \"$SSH_ORIGINAL_COMMAND\" >> {plant.scratch}/asked")
    plant.reach("n1.example.com", server)
    plant.power("n1.example.com", "reboot")
    plant.says("reboot of node", "failed (tls): ", "its host key is not known")
    plant.alive("n1.example.com")
    plant.says('node \\"n1.example.com\\" answers')
    plant.power("n1.example.com", "reboot")
    plant.says("reboot of node", "failed (auth): ", "the key is not accepted")
    server.allow(plant.path("ssh/id_ed25519"))
    plant.power("n1.example.com", "reboot")
    plant.says('reboot of node \\"n1.example.com\\" by hammer \\"ssh\\" done: ', "restarts")
    with open(f"{plant.scratch}/asked", encoding="ascii") as file:
        assert "reboot" in file.read()
