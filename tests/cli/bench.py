"""One directory, and a halligan to run in it."""
import os
import shutil
import subprocess
import tempfile

NOBODY = 65534


class Answer:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


class Bench:
    def __init__(self, build):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="halligan-cli-"))
        self.build = build
        self.root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

    def close(self):
        shutil.rmtree(self.folder)

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
        """how: cwd below the directory, stdout."""
        return self._run([os.path.join(self.build, "halligan"), *words], **how)

    def halligan_as_nobody(self, *words):
        """By somebody who may not do everything. The program is copied to where anybody can go."""
        if os.geteuid() != 0:
            return self.halligan(*words)
        os.chmod(self.folder, 0o755)
        program = self.path(".halligan")
        if not os.path.exists(program):
            shutil.copy(os.path.join(self.build, "halligan"), program)
            os.chmod(program, 0o755)
        return self._run([program, *words], user=NOBODY, group=NOBODY, extra_groups=[])

    def shell(self, line):
        """As the guide's reader: halligan on the PATH, HALLIGAN the checkout. Both outputs in one."""
        environment = dict(os.environ, HALLIGAN=self.root, LC_ALL="C")
        environment["PATH"] = self.build + ":" + environment["PATH"]
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=environment, timeout=60, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout

    def _run(self, words, cwd=".", stdout=subprocess.PIPE, **who):
        return Answer(subprocess.run(words, cwd=self.path(cwd), env=dict(os.environ, LC_ALL="C"), timeout=60,
                                     text=True, errors="replace", stdout=stdout, stderr=subprocess.PIPE, check=False, **who))
