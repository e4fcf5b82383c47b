"""A machine that a new user has: machine.sh with systemd as its first process, and commands that run in it."""
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WAIT_S = 120


class Machine:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="halligan-machine-")
        self.first = None  # the pid of the first process, as seen from here
        self.as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        with open(self.path("log"), "wb") as log:
            self.process = subprocess.Popen(
                [*self.as_root, "setpriv", "--pdeathsig", "TERM", "unshare", "--mount", os.path.join(HERE, "machine.sh"), self.folder, ROOT, build],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait(lambda: os.path.exists(self.path("pid")))
            with open(self.path("pid"), encoding="ascii") as file:
                self.first = file.read().strip()
            self.wait(lambda: self.call("systemctl is-active --quiet basic.target").returncode == 0)
        except BaseException:
            self.close()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def wait(self, condition):
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    @property
    def shell(self):
        """The words in front of a script: a login shell of root in the checkout."""
        return [*self.as_root, "nsenter", "--target", self.first, "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup",
                "env", "-i", "HOME=/root", "USER=root", "LOGNAME=root", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "sh", "-c", f'cd {ROOT} && eval "$1"', "sh"]

    def call(self, script, **how):
        return subprocess.run([*self.shell, script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=WAIT_S, check=False, **how)

    def run(self, script):
        done = self.call("set -eu\n" + script)
        assert done.returncode == 0, f"{script}\nends with {done.returncode}\n{done.stdout}"
        return done.stdout

    def close(self):
        """The end of the first process is that of all others; machine.sh then removes the control groups."""
        if self.first:
            subprocess.run([*self.as_root, "kill", "-KILL", self.first], check=False)
        else:
            self.process.terminate()
        self.process.wait(timeout=WAIT_S)
        shutil.rmtree(self.folder)
