"""One directory, and a halligan to run in it; and a halligand for tests that need one."""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from daemon import Daemon  # noqa: E402

NOBODY = 65534
WAIT_S = 60


class Terminal:
    """A halligan with a terminal of its own: what it shows, and what is typed."""

    def __init__(self, command, cwd, env, **how):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=slave, stdout=how.get("stdout", slave),
                                        stderr=slave, start_new_session=True, preexec_fn=lambda: self._take(slave))
        os.close(slave)
        self.shown = ""

    @staticmethod
    def _take(slave):
        import fcntl
        import termios
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def _read(self):
        if not select.select([self.master], [], [], 0.1)[0]:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # the other side is gone
            return False
        self.shown += piece.decode("utf-8", "replace")
        return bool(piece)

    def shows(self, text):
        deadline = time.monotonic() + WAIT_S
        while text not in self.shown:
            assert self._read() or text in self.shown, f"never shown: {text}\n{self.shown}"
            assert time.monotonic() < deadline, f"never shown: {text}\n{self.shown}"

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Its exit status; what it shows until then is kept."""
        deadline = time.monotonic() + WAIT_S
        while self._read() and self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end\n{self.shown}"
        status = self.process.wait(timeout=WAIT_S)
        while self._read() and select.select([self.master], [], [], 0)[0]:
            pass
        os.close(self.master)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Answer:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


class Bench:
    shared = None  # the daemon, from the first test that needs it to the last

    def __init__(self, build):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="halligan-cli-"))
        self.build = build
        self.root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

    def close(self):
        shutil.rmtree(self.folder)

    @property
    def daemon(self):
        if not Bench.shared:
            Bench.shared = Daemon(self.build)
            Bench.shared.start()
        return Bench.shared

    @classmethod
    def close_daemon(cls):
        """What is wrong with how it ended; nothing, mostly."""
        if not cls.shared:
            return None
        died = cls.shared.process.poll() is not None
        code = cls.shared.process.returncode if died else cls.shared.stop()
        said = cls.shared.read("stderr")
        cls.shared.close()
        return f"halligand left with {code}:\n{said}" if died or code else None

    def environment(self, **more):
        """Without the settings of the user that runs the tests."""
        mine = {k: v for k, v in os.environ.items() if not k.startswith("HALLIGAN_") and k != "XDG_CONFIG_HOME"}
        return {**mine, "LC_ALL": "C", "HOME": self.folder, "TERM": "xterm", **more}

    def credentials(self):
        token = self.daemon.client().authorization.split()[1]
        return {"HALLIGAN_URL": self.daemon.url, "HALLIGAN_TOKEN": token}

    def online(self, *words, env=None, **how):
        """With the address of the daemon, and a token of the administrator."""
        return self.halligan(*words, env=dict(self.credentials(), **(env or {})), **how)

    def says(self, *words, **how):
        """What it prints; anything but success fails."""
        answer = self.online(*words, **how)
        assert answer.status == 0 and not answer.err, (words, answer)
        return answer.out

    def at_terminal(self, *words, env=None, **how):
        command = [os.path.join(self.build, "halligan"), *words]
        return Terminal(command, self.folder, self.environment(**(env or {})), **how)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o644):
        """Directories on the way are made."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def everything(self):
        """All paths below the directory, hidden ones too."""
        found = []
        for folder, folders, files in os.walk(self.folder):
            found += [os.path.relpath(os.path.join(folder, name), self.folder) for name in folders + files]
        return sorted(found)

    def halligan(self, *words, **how):
        """how: cwd below the directory, stdout, input, env."""
        return self._run([os.path.join(self.build, "halligan"), *words], **how)

    def halligan_as_nobody(self, *words):
        """As a user without full rights. The programs are copied to a directory that every user can read."""
        if os.geteuid() != 0:
            return self.halligan(*words)
        os.chmod(self.folder, 0o755)
        programs = self.path(".programs")
        if not os.path.exists(programs):
            os.mkdir(programs)
            for name in ["halligan", "halligan-barclamp"]:
                shutil.copy(os.path.join(self.build, name), programs)
            subprocess.run(["chmod", "-R", "a+rX", programs], check=True)
        program = os.path.join(programs, "halligan")
        return self._run([program, *words], user=NOBODY, group=NOBODY, extra_groups=[])

    def shell(self, line):
        """As the guide's reader: halligan on the PATH, HALLIGAN the checkout. Both outputs in one."""
        environment = self.environment(HALLIGAN=self.root)
        environment["PATH"] = self.build + ":" + environment["PATH"]
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=environment, timeout=60, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout

    def _run(self, words, cwd=".", stdout=subprocess.PIPE, env=None, **who):
        if "input" not in who:
            who["stdin"] = subprocess.DEVNULL
        return Answer(subprocess.run(words, cwd=self.path(cwd), env=self.environment(**(env or {})), timeout=WAIT_S,
                                     text=True, errors="replace", stdout=stdout, stderr=subprocess.PIPE,
                                     start_new_session=True, check=False, **who))
