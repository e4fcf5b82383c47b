"""Two network namespaces: one with the boot server, one with machines, connected by veth interfaces.

The boot server is started as root and changes to a user without privileges. Its interfaces are eth0
(10.9.0.1/24) and eth1 (10.9.1.1/24); the machines' ends are m0 (10.9.0.2/24, MAC 52:54:00:00:00:07) and m1
(10.9.1.2/24, MAC 52:54:00:00:01:07).
Sockets of machines are created in their namespace and used by the test directly.
"""
import ctypes
import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from daemon import Daemon, PLENTY

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IP = shutil.which("ip", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
USER = "nobody"
HTTP = 8091
CLONE_NEWNET = 0x40000000
PROVISIONER = {"dhcp": {"unknown": "none"}, "provisioner": {}}


def ip(*arguments, namespace=None, check=True):
    command = [IP, *(["-n", namespace] if namespace else []), *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=PLENTY)


class Segment:
    numbers = itertools.count(1)  # tests run in several threads

    def __init__(self, build):
        number = next(Segment.numbers)
        self.build = build
        self.folder = tempfile.mkdtemp(prefix="halligan-boot-")
        os.chmod(self.folder, 0o755)
        self.files = self.directory("files")
        self.is_release = not os.path.basename(build).endswith("asan")
        self.program = os.path.join(build, "halligan-boot")
        self.server, self.machines = f"hb{os.getpid()}-{number}", f"hk{os.getpid()}-{number}"
        self.log = os.path.join(self.folder, "log")
        self.process, self.others, self.sockets, self.http_connections = None, [], [], []
        self.ends, self.logs = [], []  # functions of a test: to be called at the end, and for said()
        self.daemon = Daemon(os.path.join(self.directory("run"), "boot.sock"))
        for namespace in (self.server, self.machines):
            ip("netns", "add", namespace)
            ip("link", "set", "lo", "up", namespace=namespace)
        for i in range(2):
            self.wire(i)
        self.eventually(lambda: "tentative" not in ip("-6", "addr", namespace=self.server).stdout)

    def directory(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o755)
        return path

    def wire(self, i, address=True):
        ip("link", "add", f"eth{i}", "type", "veth", "peer", "name", f"m{i}", "netns", self.machines,
           namespace=self.server)
        ip("link", "set", f"eth{i}", "up", namespace=self.server)
        ip("link", "set", f"m{i}", "address", f"52:54:00:00:0{i}:07", "up", namespace=self.machines)
        ip("addr", "add", f"10.9.{i}.2/24", "dev", f"m{i}", namespace=self.machines)
        if address:
            ip("addr", "add", f"10.9.{i}.1/24", "dev", f"eth{i}", namespace=self.server)

    def file(self, name, content=b"", mode=0o644):
        path = os.path.join(self.files, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for folder in (os.path.dirname(path),):
            os.chmod(folder, 0o755)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    # -- the boot server

    def command(self, *options, interfaces="eth0,eth1", user=USER):
        return [IP, "netns", "exec", self.server, self.program, "--interface", interfaces,
                "--socket", self.daemon.path, "--files", self.files, "--user", user, *options]

    def check(self, *options, **how):
        """--check: the exit status, and the lines."""
        done = subprocess.run(self.command("--check", *options, **how), check=False, text=True,
                              capture_output=True, timeout=PLENTY)
        return done.returncode, done.stdout + done.stderr

    def start(self, *options, serves=True, env=None, **how):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(*options, **how), stdout=log, stderr=log,
                                            env={**os.environ, **(env or {})})
        self.await_log("privileges were dropped")
        if serves:
            self.serve()

    def serve(self, *documents):
        """The daemon appears, with these settings."""
        self.daemon.documents = list(documents) or [PROVISIONER]
        self.daemon.start()
        self.daemon.await_message("TAKEN")

    def stop(self):
        """Returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PLENTY)

    def logged(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return file.read()
        return ""

    def await_log(self, text):
        self.eventually(lambda: text in self.logged() or self.process.poll() is not None)
        assert text in self.logged(), text

    def status(self):
        """/proc/PID/status of the boot server."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def hold_port(self, kind, port, namespace=None, device=None):
        """Another process that holds a port."""
        code = ("import socket,time;"
                f"s=socket.socket(socket.AF_INET,socket.SOCK_{kind});"
                + (f"s.setsockopt(socket.SOL_SOCKET,25,b'{device}');" if device else "")
                + f"s.bind(('0.0.0.0',{port}));"
                + ("s.listen();" if kind == "STREAM" else "")
                + "print('ready',flush=True);time.sleep(600)")
        process = subprocess.Popen([IP, "netns", "exec", namespace or self.server, "python3", "-c",
                                    code], stdout=subprocess.PIPE)
        self.others.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    # -- machines

    def socket(self, *arguments, namespace=None):
        """A socket in the namespace of the machines."""
        made = []

        def make():
            path = f"/run/netns/{namespace or self.machines}"
            fd = os.open(path, os.O_RDONLY)
            assert ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) == 0
            os.close(fd)
            made.append(socket.socket(*arguments))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        made[0].settimeout(PLENTY)
        self.sockets.append(made[0])
        return made[0]

    def connect(self, address="10.9.0.1", port=HTTP, source=None, namespace=None):
        s = self.socket(socket.AF_INET, socket.SOCK_STREAM, namespace=namespace)
        if source:
            s.bind((source, 0))
        s.connect((address, port))
        return s

    def raw(self, text, **how):
        """Sends bytes and returns everything that is received until the end."""
        s = self.connect(**how)
        s.sendall(text.encode() if isinstance(text, str) else text)
        s.shutdown(socket.SHUT_WR)
        data = b""
        while part := s.recv(65536):
            data += part
        return data

    def request(self, method, path, headers=(), **how):
        """(status, headers in lower case, body)"""
        lines = [f"{method} {path} HTTP/1.1", "Host: boot", "Connection: close",
                 *(f"{k}: {v}" for k, v in dict(headers).items())]
        s = self.connect(**how)
        s.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        data = b""
        while part := s.recv(1 << 20):
            data += part
        s.close()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *rest = head.decode().split("\r\n")
        found = {k.lower(): v for k, v in (line.split(": ", 1) for line in rest)}
        return int(first.split()[1]), found, body

    def get(self, path, headers=(), **how):
        return self.request("GET", path, headers, **how)

    # -- the rest

    def eventually(self, condition, seconds=PLENTY):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "the condition did not become true in time"
            time.sleep(0.05)

    def said(self):
        return "\n".join([self.logged()[-6000:], *(log() for log in self.logs)])

    def close(self):
        for end in self.ends:
            end()
        self.daemon.stop()
        for s in self.sockets:
            s.close()
        for process in [self.process, *self.others]:
            if process and process.poll() is None:
                process.kill()
            if process:
                process.wait(PLENTY)
        for namespace in (self.server, self.machines):
            ip("netns", "del", namespace, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
