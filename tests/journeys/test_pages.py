"""Every command of README.md, docs/operating.md, docs/power.md, docs/jigs.md and docs/networks.md runs, on a machine as a new user has.

Each test has a machine of its own (machine.py) with a checkout and a real systemd, in which nothing of Halligan is
installed. Nothing in the pages is replaced: paths, ports, users and addresses are those that are printed there.
"""
import json
import os
import re
import subprocess

import pages
import told
from harness import eventually, peers
from machine import ROOT, Machine

PAGE_S = 480  # that of the installation compiles the daemon


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def run(machine, name, before="true\n"):
    """Runs all fences of a page, in a shell that has run other commands before; how many there were."""
    with open(machine.path("page.md"), "w", encoding="utf-8") as file:
        file.write(f"```sh\n{before}```\n```yaml\n```\n" + pages.session(page(name)))
    try:
        return told.check(machine.path("page.md"), machine.folder, dict(os.environ), shell=machine.shell, timeout=PAGE_S) - 1
    except AssertionError:
        print(machine.call("journalctl --no-pager -o cat -n 40 -u halligand").stdout)
        raise


def on_machine(j):
    machine = Machine(j.build)
    j.closing.append(machine.close)
    return machine


def test_the_first_steps_of_the_readme(j):
    m = on_machine(j)
    assert run(m, "README.md") >= 4
    m.run("kill $(cat foreground.pid)")


def test_the_options_of_the_tests_that_the_readme_names(j):
    """./test cannot run inside of itself: its command line is read, and the parts that it lists are there."""
    (fence,) = pages.exceptions(page("README.md"))
    for line in fence.text.splitlines():
        done = subprocess.run(["bash", "-c", line.partition("#")[0] + " --help"], cwd=ROOT, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, (line, done)
        listed = re.search(r"^Parts: ((?:[a-z -]+\n)+)", done.stdout, re.MULTILINE).group(1).split()
        script = page("test")
        assert "journeys" in listed and sorted(re.findall(r"^part_([a-z-]+)\(\)", script, re.MULTILINE)) == sorted(listed)
    done = subprocess.run(["./test", "no-such-part"], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2, done


CERTIFICATE = """
mkdir -p /etc/halligan
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout /etc/halligan/key.pem -out /etc/halligan/cert.pem 2>/dev/null
"""


def ini(name, word):
    """The lines of the configuration of a page that have the word."""
    (text,) = [f.text for f in pages.fences(page(name)) if f.language == "ini" and word in f.text]
    return text


def configure(m, lines):
    """Puts the lines in place of those with the same keys, and restarts the service."""
    m.run(pages.change("/etc/halligan/halligan.conf", lines) + "systemctl restart halligand")


def test_operating_from_the_installation_to_the_move_to_postgresql(j):
    m = on_machine(j)
    m.run("pg_createcluster --start 15 main")
    m.run(CERTIFICATE)
    assert run(m, "docs/operating.md") >= 19
    # The service runs from the unit that was installed, as its user.
    m.run("systemctl start halligand")
    assert m.run("systemctl show -p User -p SubState -p FragmentPath halligand").split() == [
        "User=halligan", "SubState=running", "FragmentPath=/lib/systemd/system/halligand.service"]
    before = m.run("halligan nodes list --all -o json")
    # Lines of the configuration that the page only shows take effect.
    configure(m, ini("docs/operating.md", "store"))
    checked = m.run("runuser -u halligan -- halligand check")
    assert checked.startswith("open: postgresql\n"), checked
    assert m.run("halligan nodes list --all -o json") == before
    m.run("chgrp halligan /etc/halligan/key.pem && chmod 640 /etc/halligan/key.pem")
    configure(m, ini("docs/operating.md", "tls-cert"))
    m.run("curl -sf --cacert /etc/halligan/cert.pem https://localhost:3000/healthz")


# A machine for ssh, 10.0.0.31, with a host key that is not that of the machine of the daemon. root there accepts the
# user's key.
FAR = """
ip address add 10.0.0.31/24 dev lo
echo 10.0.0.31 n1.example.com n2.example.com n3.example.com >>/etc/hosts
mkdir -p -m 700 /root/.ssh /run/sshd
ssh-keygen -q -t ed25519 -N "" -f /run/host_key
systemctl start systemd-user-sessions
systemd-run --quiet --unit=far-ssh /usr/sbin/sshd -D -f /dev/null -h /run/host_key -o ListenAddress=10.0.0.31 -o UsePAM=yes
ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519
cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
n=0
until ssh-keyscan n1.example.com >/root/.ssh/known_hosts 2>/dev/null && [ -s /root/.ssh/known_hosts ]; do
    n=$((n + 1))
    [ $n -lt 600 ]
    sleep 0.1
done
"""
# The service processor of n1 speaks Redfish, that of n2 IPMI.
PROCESSORS = """
for address in 10.0.0.21 10.0.0.22; do ip address add $address/24 dev lo; done
mkdir -p /etc/halligan /run/ipmi/state
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=10.0.0.21 \\
    -addext subjectAltName=IP:10.0.0.21 -keyout /run/bmc.key -out /etc/halligan/bmc-ca.pem 2>/dev/null
systemd-run --quiet --unit=redfish sh -c "sleep infinity | python3 $PWD/tests/redfish/service.py --address 10.0.0.21 \\
    --port 443 --user halligan --password 'the password' --cert /etc/halligan/bmc-ca.pem --key /run/bmc.key"
cat >/run/ipmi/chassis {chassis}
cat >/run/ipmi/sim.emu {emulator}
cat >/run/ipmi/lan.conf {lan}
chmod 755 /run/ipmi/chassis
echo 0 >/run/ipmi/power
echo none >/run/ipmi/boot
systemd-run --quiet --unit=ipmi --working-directory=/run/ipmi ipmi_sim -c lan.conf -f sim.emu -s state -n
n=0
until curl -sk -o /run/answer https://10.0.0.21/redfish/v1; do
    n=$((n + 1))
    [ $n -lt 600 ]
    sleep 0.1
done
"""
# The service, started from the build; root is logged in.
DAEMON = """
PATH=$PWD/build:$PATH
mkdir -p /etc/halligan/barclamps
cat >/run/systemd/system/halligand.service <<END
[Service]
Type=notify
ExecStart=$PWD/build/halligand --barclamps /etc/halligan/barclamps:$PWD/barclamps --probe-wait 2
END
systemctl start halligand
HALLIGAN_PASSWORD=$(cat /var/lib/halligan/admin.password) halligan login --user admin
"""


def test_power_with_service_processors_and_ssh(j):
    m = on_machine(j)
    lan = peers.LAN.format(folder="/run/ipmi", port=623).replace("127.0.0.1", "10.0.0.22")
    lan = lan.replace('"root" "pass#w0rd"', '"halligan" "ipmi-password"')
    m.run(FAR)
    m.run(PROCESSORS.format(chassis=pages.quoted(peers.CHASSIS.format(folder="/run/ipmi")), lan=pages.quoted(lan),
                            emulator=pages.quoted(peers.EMULATOR)))
    nodes = "for n in 1 2 3; do halligan nodes create name=n$n.example.com -q; done\n"
    assert run(m, "docs/power.md", DAEMON + nodes) >= 4
    # The machine behind Redfish was switched, and the others can be.
    state = json.loads(m.run("curl -s --cacert /etc/halligan/bmc-ca.pem https://10.0.0.21/_test/state"))
    assert state["systems"]["1"]["real_power"] == "On", state
    m.run("build/halligan nodes power n2.example.com on --wait")
    assert m.run("cat /run/ipmi/power") == "1\n"
    m.run("build/halligan nodes update n3.example.com alive=true")  # it is probed, and its host keys are pinned
    eventually(lambda: m.call("build/halligan nodes power n3.example.com status").returncode == 0, "it accepts the key")
    nodes = json.loads(m.run("build/halligan nodes list --filter power_state=on -o json"))
    assert {(n["name"], n["power_driver"]) for n in nodes} == {
        ("n1.example.com", "redfish"), ("n2.example.com", "ipmi"), ("n3.example.com", "ssh")}, nodes


def test_jigs_on_a_machine_by_ssh(j):
    m = on_machine(j)
    m.run(FAR)
    assert run(m, "docs/jigs.md", DAEMON) >= 7
    for name in ["script", "puppet", "ansible"]:
        assert m.run(f"cat /run/tools.{name}").strip() == "set by hand", name
    # What was cancelled ends on the machine, too.
    eventually(lambda: m.call("pgrep -fx 'sleep 300'").returncode == 1, "the cancelled run has ended")
    (slow,) = [r for r in json.loads(m.run("build/halligan noderoles list -o json")) if r["role"] == "slow"]
    assert slow["reason"] == "cancelled", slow


# The interface of the page, in a subnet with a router.
INTERFACE = """
ip link add eth1 type veth peer name eth1-peer
ip address add 192.168.124.10/24 dev eth1
ip link set eth1-peer up
ip link set eth1 up
ip route replace default via 192.168.124.1 dev eth1
"""


def test_networks_from_the_first_one_to_the_role_of_another(j):
    m = on_machine(j)
    m.run(INTERFACE)
    assert run(m, "docs/networks.md", DAEMON) >= 16

    def addresses(node):
        return {a["network"]: a["addresses"]
                for a in json.loads(m.run(f"build/halligan nodes addresses {node} -o json"))}

    first, second = addresses("n1.example.com"), addresses("n2.example.com")
    assert first["admin"] == ["192.168.124.101/24"], first
    assert first["storage"] == ["10.20.0.5/24", "10.20.0.101/24"], first
    # The host part of its address in the network admin, which the page does not state.
    assert second["storage"] == ["10.20.0." + second["admin"][0].split("/")[0].rpartition(".")[2] + "/24"], second
    assert addresses("far.example.org") == {"unmanaged": ["203.0.113.9/0"]}
    (nic,) = [n for n in json.loads(m.run("build/halligan nics list -o json")) if n["mac"] == "52:54:00:00:00:01"]
    nodes = json.loads(m.run("build/halligan nodes list --all -o json"))
    assert [n["name"] for n in nodes if n["id"] == nic["node_id"]] == ["n2.example.com"], nic
    routes = json.loads(m.run("build/halligan routers list -o json"))
    assert {(r["address"], r["pref"]) for r in routes} == {
        ("192.168.124.1/24", 10), ("10.20.0.1/24", 20000), ("10.30.0.1/24", 300)}, routes
