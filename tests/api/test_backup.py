"""Backup and restore: everything that is needed to run again, and what is said to be missing."""
import http.client
import json
import os
import resource
import shutil
import signal
import ssl
import subprocess
import tempfile

from daemon import BARCLAMP, Response, another_store, basic, eventually

FAILED = 1
UPLOAD = {
    "barclamp": {"name": "sent"},
    "jigs": [{"name": "script", "class": "script"}],
    "roles": [{"name": "sent-role", "jig": "script"}],
}
PRIVATE = ("admin.password", "boot.key", "ssh/id_ed25519", "tls/ca.key", "tls/server.key")


class Machine:
    """One installation in a directory that represents its machine."""

    def __init__(self, daemon, name):
        self.program = daemon.program
        self.root = tempfile.mkdtemp(prefix="halligan-backup-")
        self.process = None
        self.data = self.path("var", "halligan")
        self.config = self.path("etc", "halligan.conf")
        self.shelf = self.path("usr", "barclamps")
        self.store = another_store(daemon.store, f"backup{os.getpid()}_{name}")
        self.spare = another_store(daemon.store, f"spare{os.getpid()}_{name}")
        for folder in ("var", "etc", "usr"):
            os.mkdir(self.path(folder))
        self.furnish()
        self.write(self.config, f"data = {self.data}\nlisten = 127.0.0.1:0\ntls-auto = true\n"
                                f"test-jig = true\nbarclamps = {self.shelf}\n"
                                + (f"store = {self.store}\n" if self.store else ""))

    def furnish(self):
        os.mkdir(self.shelf)
        self.write(os.path.join(self.shelf, "apitest.json"), json.dumps(BARCLAMP))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.root)

    def path(self, *names):
        return os.path.join(self.root, *names)

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def read(self, name):
        try:
            with open(os.path.join(self.data, name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def run(self, *words, **more):
        command = [self.program, *words, "--config", self.config]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)

    def start(self, *words):
        with open(self.path("stderr"), "ab") as log:
            self.process = subprocess.Popen([self.program, "--config", self.config, *words],
                                            stdout=log, stderr=log)
        eventually(lambda: self.read("listen") or self.process.poll() is not None, "it listens")
        with open(self.path("stderr")) as log:
            assert self.process.poll() is None, log.read()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0

    @property
    def port(self):
        return int(self.read("listen").strip().rsplit(":", 1)[1])

    def ask(self, method, path, body=None, password=None):
        context = ssl.create_default_context(cadata=self.read("tls/ca.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        headers = {"Authorization": basic("admin", password or self.read("admin.password").strip()),
                   "Content-Type": "application/json"}
        try:
            connection.request(method, "/api/v2/" + path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return Response(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def certificate(self):
        return ssl.get_server_certificate(("127.0.0.1", self.port))

    def work(self):
        """An installation with data: runs, an uploaded barclamp with code, users."""
        for path, body in (
            ("deployments", {"name": "lab"}),
            ("nodes", {"name": "n1.backup.example", "deployment": "lab",
                       "alive": True, "available": True}),
            ("barclamps", {"value": UPLOAD}),
            ("users", {"username": "ann", "email": "ann@backup.example", "password": "long enough"}),
        ):
            answer = self.ask("POST", path, body)
            assert answer.status == 200, (path, answer)
        bound = self.ask("POST", "node_roles", {"node": "n1.backup.example", "role": "base",
                                                "deployment": "lab"})
        assert bound.status == 200, bound
        assert self.ask("PUT", "deployments/lab/commit").status == 200
        noderole = f"node_roles/{bound.json()['id']}"
        eventually(lambda: self.ask("GET", noderole).json()["state"] == 0, "the run ends")
        script = os.path.join(self.data, "uploads", "sent", "scripts", "sent-role", "10-work.sh")
        self.write(script, "#!/bin/sh\ntrue\n")
        os.chmod(script, 0o755)
        return noderole

    def shows(self, noderole):
        """The state that must be the same afterwards."""
        paths = ("nodes", "deployments", "node_roles", "roles", "barclamps", "users", "snapshots",
                 noderole + "/runs", "groups", "attribs", "audit?verb=node_create")
        return {path: (self.ask("GET", path).status, self.ask("GET", path).text) for path in paths}

    def files(self):
        """The files of the data directory that a backup must bring back, with their modes."""
        found = {}
        for top in ("ssh", "tls", "uploads"):
            for folder, _, names in os.walk(os.path.join(self.data, top)):
                for name in names:
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.data)] = (
                            file.read(), os.stat(path).st_mode & 0o777)
        return found

    def burn(self):
        """Deletes everything except for files outside of this machine."""
        for folder in ("var", "etc", "usr"):
            shutil.rmtree(self.path(folder))
            os.mkdir(self.path(folder))

    def restore_words(self):
        """A store on a server is a new database there."""
        return ("--store", self.spare) if self.spare else ()


def missing_of(done):
    return {line.split(": ")[1] for line in done.stdout.splitlines() if line.startswith("missing: ")}


def everything_below(path):
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def backed_up(machine, name, *words):
    path = machine.path(name)
    done = machine.run("backup", path, *words)
    assert done.returncode == 0, done
    assert not os.path.exists(path + ".partial")
    return path


def test_a_drill_on_an_empty_machine(daemon):
    with Machine(daemon, "drill") as machine:
        machine.start()
        noderole = machine.work()
        before, files = machine.shows(noderole), machine.files()
        password, certificate = machine.read("admin.password").strip(), machine.certificate()
        assert before["node_roles"][0] == 200 and before[noderole + "/runs"][0] == 200
        assert '"address":"127.0.0.1"' in before["audit?verb=node_create"][1]
        backup = backed_up(machine, "backup", "--with-keys")  # of the living daemon
        assert os.stat(backup).st_mode & 0o777 == 0o700
        for path in everything_below(backup):
            assert os.stat(path).st_mode & 0o777 == 0o600, path
        checked = machine.run("check", "--store", f"sqlite:{backup}/store.sqlite")
        assert checked.returncode == 0, checked
        machine.stop()
        machine.burn()
        done = machine.run("restore", backup, *machine.restore_words())
        assert done.returncode == 0, done
        assert missing_of(done) == {machine.shelf}, done.stdout
        machine.furnish()
        machine.start(*machine.restore_words())
        assert machine.files() == files
        assert machine.certificate() == certificate
        assert machine.read("admin.password").strip() == password
        assert machine.shows(noderole) == before
        assert machine.ask("GET", "barclamps/sent").json()["source_path"] == os.path.join(
            machine.data, "uploads", "sent")
        assert machine.ask("POST", "nodes", {"name": "later.backup.example"}).status == 200
        machine.stop()
        checked = machine.run("check", *machine.restore_words())
        assert checked.returncode == 0, checked


def test_a_backup_without_keys_has_no_secrets_and_restore_reports_it(daemon):
    with Machine(daemon, "bare") as machine:
        machine.start()
        machine.stop()
        secrets = [machine.read(name).encode() for name in PRIVATE]
        backup = backed_up(machine, "backup")
        for path in everything_below(backup):
            with open(path, "rb") as file:
                text = file.read()
            assert not any(secret.strip() in text for secret in secrets), path
        machine.burn()
        machine.furnish()
        done = machine.run("restore", backup, *machine.restore_words())
        assert done.returncode == 0, done
        assert missing_of(done) == {os.path.join(machine.data, name) for name in PRIVATE}, done


def test_a_restore_into_a_directory_in_use_needs_keep_existing(daemon):
    with Machine(daemon, "used") as machine:
        machine.start()
        machine.stop()
        backup = backed_up(machine, "backup", "--with-keys")
        machine.burn()
        machine.furnish()
        own = os.path.join(machine.data, "admin.password")
        machine.write(own, "mine")
        done = machine.run("restore", backup, *machine.restore_words())
        assert done.returncode == FAILED, done
        assert sorted(os.listdir(machine.data))[0] == "admin.password"
        assert not os.path.exists(os.path.join(machine.data, "ssh"))
        done = machine.run("restore", backup, "--keep-existing", *machine.restore_words())
        assert done.returncode == 0, done
        assert machine.read("admin.password") == "mine"
        assert os.path.exists(os.path.join(machine.data, "ssh", "id_ed25519"))
        again = machine.run("restore", backup, "--keep-existing", *machine.restore_words())
        assert again.returncode == FAILED, again  # there is a store now


def test_a_damaged_backup_changes_nothing(daemon):
    with Machine(daemon, "damaged") as machine:
        machine.start()
        machine.stop()
        backup = backed_up(machine, "backup", "--with-keys")
        machine.burn()
        machine.furnish()
        for name in ("store.sqlite", "data/ssh/id_ed25519", "manifest.json"):
            path = os.path.join(backup, name)
            with open(path, "rb") as file:
                text = file.read()
            with open(path, "wb") as file:
                half = len(text) // 2
                file.write(text[:half] + (b"" if name == "manifest.json" else b"?" + text[half + 1:]))
            done = machine.run("restore", backup, "--data", machine.data, *machine.restore_words())
            assert done.returncode == FAILED, (name, done)
            left = os.listdir(machine.data) if os.path.exists(machine.data) else []
            assert all(each.endswith("lock") for each in left), left
            with open(path, "wb") as file:
                file.write(text)
        manifest = json.loads(open(os.path.join(backup, "manifest.json")).read())
        manifest["files"][0]["path"] = "data/../../outside"
        with open(os.path.join(backup, "manifest.json"), "w") as file:
            json.dump(manifest, file)
        done = machine.run("restore", backup, "--data", machine.data, *machine.restore_words())
        assert done.returncode == FAILED and not os.path.exists(machine.path("var", "outside")), done


def test_a_failed_backup_leaves_nothing(daemon):
    with Machine(daemon, "failed") as machine:
        machine.start()
        machine.stop()
        machine.write(os.path.join(machine.data, "uploads", "sent", "large"), "x" * (8 << 20))
        for limit in (64 << 10, 4 << 20):  # of the store; of what comes after it
            done = machine.run(
                "backup", machine.path("backup"), restore_signals=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            assert done.returncode == FAILED, done
            assert not [name for name in os.listdir(machine.root) if "backup" in name]
        backed_up(machine, "backup")
        done = machine.run("backup", machine.path("backup"))
        assert done.returncode == FAILED, done  # it is never overwritten
        os.mkdir(machine.path("later.partial"))  # of one that was killed
        backed_up(machine, "later")


def test_a_failed_restore_takes_its_files_back(daemon):
    with Machine(daemon, "taken") as machine:
        machine.start()
        machine.stop()
        backup = backed_up(machine, "backup", "--with-keys")
        machine.burn()
        machine.furnish()
        # The files fit, the store does not; on a server, the store is not empty.
        done = machine.run(
            "restore", backup, restore_signals=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10)))
        assert done.returncode == FAILED, done
        assert all(name.endswith("lock") for name in os.listdir(machine.data)), machine.data
        assert not os.path.exists(machine.config)
        done = machine.run("restore", backup, *machine.restore_words())
        assert done.returncode == 0 and not missing_of(done), done
        assert os.path.exists(machine.config)


def test_files_that_the_configuration_names_come_along(daemon):
    with Machine(daemon, "named") as machine:
        machine.start()  # certificates of its own, to be given by name then
        machine.stop()
        named = {}
        for key, name in (("tls-cert", "server.pem"), ("tls-key", "server.key")):
            named[key] = machine.path("etc", name)
            shutil.copy(os.path.join(machine.data, "tls", name), named[key])
        with open(machine.config) as file:
            text = file.read().replace("tls-auto = true\n", "")
        machine.write(machine.config, text + "".join(f"{k} = {v}\n" for k, v in named.items()))
        bytes_of = {path: open(path, "rb").read() for path in (*named.values(), machine.config)}
        bare = backed_up(machine, "bare")
        full = backed_up(machine, "full", "--with-keys")
        machine.burn()
        machine.furnish()
        done = machine.run("restore", bare, *machine.restore_words())
        assert done.returncode == 0 and named["tls-key"] in missing_of(done), done
        assert named["tls-cert"] not in missing_of(done), done
        if machine.store:
            return  # there is no third database to restore into
        machine.burn()
        machine.furnish()
        done = machine.run("restore", full)
        assert done.returncode == 0 and not missing_of(done), done
        for path, text in bytes_of.items():
            assert open(path, "rb").read() == text, path
        assert os.stat(named["tls-key"]).st_mode & 0o777 == 0o600


def test_a_configuration_with_a_database_password_is_private(daemon):
    with Machine(daemon, "url") as machine:
        machine.start()
        machine.stop()
        url = machine.store or f"sqlite:{machine.data}/halligan.db"
        machine.write(machine.config, f"data = {machine.data}\nbarclamps = {machine.shelf}\n"
                                      f"store = postgresql://u:geheim@127.0.0.1:1/x\n")
        bare = backed_up(machine, "bare", "--store", url)
        assert not os.path.exists(os.path.join(bare, "halligan.conf"))
        manifest = json.loads(open(os.path.join(bare, "manifest.json")).read())
        assert "halligan.conf" in manifest["left_out"], manifest
        full = backed_up(machine, "full", "--with-keys", "--store", url)
        assert os.path.exists(os.path.join(full, "halligan.conf"))


def test_a_restore_that_did_not_end_is_no_installation(daemon):
    with Machine(daemon, "half") as machine:
        machine.write(os.path.join(machine.data, "restoring"), "")
        os.chmod(machine.data, 0o700)
        done = machine.run()
        assert done.returncode == FAILED, done
        assert not os.path.exists(os.path.join(machine.data, "halligan.db"))


def test_options_of_other_verbs_are_refused(daemon):
    with Machine(daemon, "options") as machine:
        assert machine.run("restore", machine.path("x"), "--with-keys").returncode == 2
        assert machine.run("backup", machine.path("x"), "--keep-existing").returncode == 2
