"""A real OpenSSH server on loopback addresses, and the keys around it."""
import os
import pwd
import signal
import socket
import subprocess
import time

from bench import USUAL_PATH

CONFIG = """Port {port}
{listen}
HostKey "{folder}/host_key"
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 200
SetEnv {variables}
{more}
"""


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def free_port(address="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Server:
    """Answers at these addresses, 16 at most; accepts the user that runs the tests."""

    def __init__(self, bench, addresses=("127.0.0.1",), path=USUAL_PATH, more=""):
        self.folder = bench.place("sshd")
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.key = make_key(os.path.join(self.folder, "client_key"))
        make_key(os.path.join(self.folder, "host_key"))
        self.addresses = list(addresses)
        self.known_hosts = os.path.join(self.folder, "known_hosts")
        self.control_dir = os.path.join(self.folder, "c")
        os.mkdir(self.control_dir, 0o700)
        # what runs over there has its own directory for what it leaves
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        self.allow(self.key)
        with open(self.known_hosts, "w", encoding="ascii"):
            pass
        self.more = more
        self.variables = f"PATH={path} TMPDIR={self.tmp}"
        self.process = None
        self.shared = []
        bench.things.append(self)
        self.start()

    def allow(self, key):
        with open(key + ".pub", encoding="ascii") as pub, open(
            os.path.join(self.folder, "authorized_keys"), "w", encoding="ascii"
        ) as file:
            file.write(pub.read())

    def start(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd insists on it
        for _ in range(20):  # another process may take a port that was free
            self.port = free_port(self.addresses[0])
            config = os.path.join(self.folder, "sshd_config")
            listen = "\n".join(f"ListenAddress {address}" for address in self.addresses)
            with open(config, "w", encoding="ascii") as file:
                file.write(CONFIG.format(port=self.port, folder=self.folder, listen=listen,
                                         variables=self.variables, more=self.more))
            self.log = open(os.path.join(self.folder, "log"), "ab")
            self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", config],
                                            stderr=self.log)
            if self.is_up():
                return
            self.stop()
        raise RuntimeError("sshd does not start: " + self.said())

    def is_up(self):
        """By what it says itself: another server may listen at a port that this one was refused."""
        while self.process.poll() is None:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
                said = file.read()
            if all(f"Server listening on {address} port {self.port}." in said for address in self.addresses):
                return True
            time.sleep(0.01)
        return False

    def said(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-5000:]

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.log.close()
            self.process = None

    def close(self):
        for name in os.listdir(self.control_dir):
            subprocess.run(["ssh", "-F", "none", "-O", "exit", "-o",
                            f"ControlPath={self.control_dir}/{name}", "any"], capture_output=True)
        for started in self.shared:
            started.process.terminate()
            started.process.wait()
        self.stop()
        self.sweep()

    def sweep(self):
        """A test that fails in the middle leaves what it had cut off."""
        mark = f"\0TMPDIR={self.tmp}\0".encode()
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if name.isdigit() and mark in b"\0" + file.read():
                        os.kill(int(name), signal.SIGKILL)
            except OSError:
                pass  # gone meanwhile, or no process

    def transport(self, index=0, **more):
        transport = {"address": self.addresses[index], "port": self.port, "user": self.user,
                     "key_path": self.key, "known_hosts_path": self.known_hosts,
                     "control_path": os.path.join(self.control_dir, f"n{index}")}
        transport.update(more)
        return transport

    def share(self, bench, node, index=0):
        """A connection that runs share; until we close."""
        transport = self.transport(index)
        started = bench.start(bench.job("any", node=node, transport=transport), "master")
        while not os.path.exists(transport["control_path"]):
            assert started.process.poll() is None, started.log()
            time.sleep(0.01)
        self.shared.append(started)
        return started

    def pin(self, bench, node, index=0):
        """First contact, as the recipes have it: ask for the keys and write them down."""
        job = bench.job("any", node=node, transport=self.transport(index))
        started = bench.start(job, "scan")
        assert started.wait() == {"how": "exited", "code": 0}, started.log()
        answer = bench.drive("pin", node, started.out_path)
        with open(self.known_hosts, "a", encoding="ascii") as file:
            file.write(answer["lines"])
        return answer["lines"]
