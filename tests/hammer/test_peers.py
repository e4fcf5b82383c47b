"""IPMI against ipmi_sim, ssh against a real OpenSSH server, Wake-on-LAN against a socket."""
import os
import pwd
import shutil
import socket
import stat
import subprocess

from yard import until

CHASSIS = """#!/bin/sh
# What ipmi_sim asks: get power, get boot, set power 1, set boot pxe, set reset 1, ...
cd "{folder}" || exit 1
echo "$*" >>calls
verb=$1
shift
while [ $# -gt 0 ]; do
    case $verb.$1 in
    get.power) echo "power:$(cat power)"; shift ;;
    get.boot) echo "boot:$(cat boot)"; shift ;;
    get.*) echo "$1:0"; shift ;;
    set.power | set.boot) echo "$2" >"$1"; shift 2 ;;
    set.shutdown) echo 0 >power; shift 2 ;;
    *) shift 2 ;;
    esac
done
"""

LAN = """name "test"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{folder}/chassis"
  user 1 true "" "" user 10 none md2 md5 straight
  user 2 true "root" "pass#w0rd" admin 10 none md2 md5 straight
  user 3 true "viewer" "look" user 10 none md2 md5 straight
"""

EMULATOR = """mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
"""


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Simulator:
    """A service processor with its chassis in files."""

    def __init__(self, yard):
        self.folder = os.path.join(yard.folder, f"ipmi-{os.path.basename(yard.scratch)}")
        os.makedirs(self.folder + "/state")
        self.port = free_port(socket.SOCK_DGRAM)
        for name, text in (("chassis", CHASSIS.format(folder=self.folder)), ("power", "0\n"),
                           ("boot", "none\n"), ("calls", ""), ("sim.emu", EMULATOR),
                           ("lan.conf", LAN.format(folder=self.folder, port=self.port))):
            with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        os.chmod(self.folder + "/chassis", 0o755)
        self.process = subprocess.Popen(
            ["ipmi_sim", "-c", "lan.conf", "-f", "sim.emu", "-s", "state", "-n"], cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        yard.things.append(self)
        until(self.listens, "ipmi_sim listens")

    def listens(self):
        assert self.process.poll() is None, "ipmi_sim is gone"
        with open("/proc/net/udp", encoding="ascii") as file:
            return f"0100007F:{self.port:04X}" in file.read()

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="ascii") as file:
            return file.read().strip()

    def hammer(self, username="root", password="pass#w0rd", **extra):
        return {"class": "ipmi", "priority": 1, "endpoint": f"127.0.0.1:{self.port}",
                "username": username, "authenticator": password, "extra": extra}

    def close(self):
        self.process.kill()
        self.process.wait()


def test_ipmi_switches_a_machine(yard):
    sim = Simulator(yard)
    hammer = sim.hammer()
    assert yard.done(hammer, "power", "status") == {"power": "off"}
    assert yard.done(hammer, "power", "on") == {"power": "on"} and sim.read("power") == "1"
    assert "already" in yard.do(hammer, "power", "on")["text"]
    assert yard.done(hammer, "power", "reset") == {"power": "on"}
    assert "set reset 1" in sim.read("calls")
    assert yard.done(hammer, "power", "halt") == {"power": "off"} and sim.read("power") == "0"
    assert "set shutdown 1" in sim.read("calls")
    assert yard.done(hammer, "power", "cycle") == {"power": "on"}  # it was off
    assert yard.done(hammer, "power", "off") == {"power": "off"} and sim.read("power") == "0"


def test_ipmi_cycles_a_machine(yard):
    sim = Simulator(yard)
    yard.done(sim.hammer(), "power", "on")
    assert yard.done(sim.hammer(), "power", "cycle") == {"power": "on"}
    until(lambda: sim.read("power") == "1", "the cycle ends with it on")
    assert "set power 0" in sim.read("calls")


def test_ipmi_sets_what_a_machine_starts_from(yard):
    sim = Simulator(yard)
    hammer = sim.hammer()
    yard.done(hammer, "boot", "pxe")
    assert sim.read("boot") == "pxe"
    yard.done(hammer, "boot", "disk")
    assert sim.read("boot") == "default"
    yard.done(hammer, "power", "pxeboot")
    assert sim.read("boot") == "pxe"


def test_ipmi_identifies_and_takes_any_command(yard):
    sim = Simulator(yard)
    yard.done(sim.hammer(), "power", "identify", {"seconds": 7})
    assert "set identify 7 0" in sim.read("calls")
    value = yard.done(sim.hammer(), "run", "invoke", {"argv": ["mc", "info"]})
    assert value["status"] == 0 and "IPMI Version" in value["stdout"], value


def test_ipmi_failures_have_their_kind(yard):
    sim = Simulator(yard)
    yard.fails("auth", "password", sim.hammer(password="wrong"), "power", "status")
    yard.fails("auth", "user is not known", sim.hammer(username="nobody"), "power", "status")
    yard.fails("auth", "may not", sim.hammer("viewer", "look", level="USER"), "power", "on")
    yard.fails("not_offered", "cipher", sim.hammer(cipher=17), "power", "status")
    assert sim.read("power") == "0"
    yard.fails("unreachable", "name", {**sim.hammer(), "endpoint": "no-such-name.invalid"}, "power",
               "status")
    gone = {**sim.hammer(), "endpoint": f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}"}
    yard.fails("timeout", "", gone, "power", "status", deadline_ms=1000)


def test_the_ipmi_password_is_in_no_command_line(yard):
    sim = Simulator(yard)
    hammer = {**sim.hammer(password="needle-9"), "endpoint": f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}"}
    key = yard.give(hammer, "power", "status", deadline_ms=20_000)
    seen = []

    def ipmitool_runs():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    line = file.read()
                if line.startswith(b"ipmitool\0") and yard.scratch.encode() in line:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        seen.append(line + file.read())
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass
        return seen

    until(ipmitool_runs, "ipmitool runs")
    assert all(b"needle-9" not in s for s in seen)
    files = os.listdir(yard.scratch)
    assert len(files) == 1, files
    path = os.path.join(yard.scratch, files[0])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path, encoding="ascii") as file:
        assert file.read() == "needle-9"
    yard.take(key)
    assert os.listdir(yard.scratch) == []


# -- ssh -------------------------------------------------------------------------------------------


class SshServer:
    """An OpenSSH server on a port of its own."""

    def __init__(self, yard):
        self.folder = os.path.join(yard.folder, f"ssh-{os.path.basename(yard.scratch)}")
        os.makedirs(self.folder, mode=0o700)
        self.port = free_port(socket.SOCK_STREAM)
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        for name in ("host", "client", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            f"{self.folder}/{name}"], check=True)
        shutil.copy(f"{self.folder}/client.pub", f"{self.folder}/authorized")
        with open(f"{self.folder}/config", "w", encoding="ascii") as file:
            file.write(f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.folder}/host\n"
                       f"AuthorizedKeysFile {self.folder}/authorized\nPidFile none\nUsePAM no\n"
                       "StrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n"
                       "Subsystem sftp internal-sftp\n")
        os.makedirs("/run/sshd", exist_ok=True)
        self.process = subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-e", "-f", f"{self.folder}/config"],
            stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/log", "wb"))
        yard.things.append(self)
        until(self.listens, "sshd listens")

    def listens(self):
        assert self.process.poll() is None, self.read("log")
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="ascii", errors="replace") as file:
            return file.read()

    def hammer(self, key="client", **extra):
        return {"class": "ssh", "endpoint": f"127.0.0.1:{self.port}", "username": self.user,
                "authenticator": self.read(key) if key else "", "extra": extra}

    def pinned(self, name="host"):
        return " ".join(self.read(name + ".pub").split()[:2])

    def close(self):
        self.process.terminate()
        self.process.wait()


def test_ssh_runs_commands(yard):
    server = SshServer(yard)
    hammer = server.hammer(host_key=server.pinned())
    value = yard.done(hammer, "run", "run", {"command": "echo out; echo 'a  b' >&2; exit 9"})
    assert value == {"stdout": "out\n", "stderr": "a  b\n", "status": 9}, value
    hammer["authenticator"] = hammer["authenticator"].strip()  # as a form may cut it
    assert yard.done(hammer, "run", "run", {"command": "true"})["status"] == 0
    yard.fails("setting", "command", hammer, "run", "run")


def test_ssh_uses_the_key_of_the_installation(yard):
    server = SshServer(yard)
    yard.start(ssh_key=f"{server.folder}/client")
    hammer = server.hammer(key=None, host_key=server.pinned())
    assert yard.done(hammer, "run", "run", {"command": "echo x"})["stdout"] == "x\n"


def test_ssh_copies_files(yard):
    server = SshServer(yard)
    hammer = server.hammer(host_key=server.pinned())
    here, there, back = (f"{server.folder}/{n}" for n in ("here", "there x", "back"))
    with open(here, "wb") as file:
        file.write(os.urandom(300_000))
    yard.done(hammer, "xfer", "copy_to", {"from": here, "to": there})
    yard.done(hammer, "xfer", "copy_from", {"from": there, "to": back})
    with open(here, "rb") as one, open(back, "rb") as two:
        assert one.read() == two.read()
    yard.fails("failed", "scp", hammer, "xfer", "copy_from", {"from": "/no/such", "to": back})
    yard.fails("setting", "slash", hammer, "xfer", "copy_to", {"from": "-F", "to": there})


def test_ssh_checks_who_it_talks_to(yard):
    server = SshServer(yard)
    run = ("run", "run", {"command": f"touch {server.folder}/ran"})
    yard.fails("tls", "host key is not known", server.hammer(), *run)
    yard.fails("tls", "host key", server.hammer(host_key=server.pinned("stranger")), *run)
    assert not os.path.exists(f"{server.folder}/ran")
    yard.fails("tls", "host key is not known", server.hammer(accept_new=True), *run)  # never
    pinned = server.pinned()
    yard.done(server.hammer(host_key=pinned), *run)
    os.replace(f"{server.folder}/stranger", f"{server.folder}/host")
    server.close()
    server.process = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", f"{server.folder}/config"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(server.listens, "sshd listens again")
    yard.fails("tls", "not the one it had before", server.hammer(host_key=pinned), *run)


def test_ssh_failures_have_their_kind(yard):
    server = SshServer(yard)
    run = ("run", "run", {"command": "true"})
    pinned = server.pinned()
    yard.fails("auth", "key is not accepted", server.hammer("stranger", host_key=pinned), *run)
    yard.fails("setting", "no private key", {**server.hammer(host_key=pinned),
                                             "authenticator": "swordfish"}, *run)
    closed = {**server.hammer(host_key=pinned), "endpoint": f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"}
    yard.fails("refused", "nothing listens", closed, *run)
    unknown = {**closed, "endpoint": "no-such-name.invalid"}
    yard.fails("unreachable", "name", unknown, *run)
    yard.fails("timeout", "ssh", server.hammer(host_key=pinned), "run", "run",
               {"command": "sleep 30"}, deadline_ms=1500)
    yard.fails("setting", "address", {**closed, "endpoint": "-oProxyCommand=true"}, *run)


def test_a_server_that_says_nothing_is_a_timeout(yard):
    server = SshServer(yard)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        hammer = {**server.hammer(host_key=server.pinned()),
                  "endpoint": f"127.0.0.1:{mute.getsockname()[1]}"}
        yard.fails("timeout", "", hammer, "run", "run", {"command": "true"}, deadline_ms=1500)


# -- Wake-on-LAN ---------------------------------------------------------------------------------------


def test_a_magic_packet_is_received(yard):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(30)
        endpoint = f"127.0.0.1:{ear.getsockname()[1]}"
        hammer = {"class": "wol", "endpoint": endpoint, "username": "-",
                  "extra": {"mac": "52:54:00:12:34:56"}}
        yard.done(hammer, "power", "on")
        assert ear.recv(200) == b"\xff" * 6 + bytes.fromhex("525400123456") * 16


def test_a_magic_packet_may_be_broadcast(yard):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.255.255.255", 0))  # loopback's own broadcast address
        ear.settimeout(30)
        hammer = {"class": "wol", "endpoint": f"127.255.255.255:{ear.getsockname()[1]}",
                  "username": "-", "extra": {"mac": ["52:54:00:12:34:56"]}}
        yard.done(hammer, "power", "on")
        assert len(ear.recv(200)) == 102
