"""Whole stores: checked, copied, moved; and those that must be refused and left as they are."""
import hashlib
import itertools
import os
import shutil
import sqlite3
import subprocess
import tempfile

from daemon import Daemon

FAILED, HELD = 1, 4
numbers = itertools.count(1)


class Place:
    """A data directory and an empty store of the same kind as the running daemon's."""

    def __init__(self, daemon):
        self.program = daemon.program
        self.data = tempfile.mkdtemp(prefix="halligan-upkeep-")
        self.is_sqlite = daemon.store is None
        self.store = f"sqlite:{self.data}/halligan.db"
        if not self.is_sqlite:
            name = f"upkeep{os.getpid()}_{next(numbers)}"
            psql(daemon.store, f"CREATE DATABASE {name}")
            head, tail = daemon.store.split("?", 1)
            self.store = head.rsplit("/", 1)[0] + f"/{name}?" + tail

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.data)

    @property
    def file(self):
        return os.path.join(self.data, "halligan.db")

    def run(self, *words):
        command = [self.program, *words, "--data", self.data, "--store", self.store]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def start(self):
        return self.run("--listen", "127.0.0.1:0")

    def sql(self, text):
        if not self.is_sqlite:
            return psql(self.store, text)
        connection = sqlite3.connect(self.file)
        connection.executescript(text)
        connection.close()

    def state(self):
        """Everything that a refusal must not change."""
        if self.is_sqlite:
            with open(self.file, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        return psql(self.store, "SELECT * FROM leadership; SELECT * FROM schema_migration")


def psql(url, text):
    command = ["psql", url, "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def backup_of(daemon, path):
    command = [daemon.program, "backup", path, "--data", daemon.data]
    command += ["--store", daemon.store] if daemon.store else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done


def restored(daemon):
    """A copy of what the running daemon has, as its backup gives it."""
    place = Place(daemon)
    with tempfile.TemporaryDirectory() as folder:
        backup_of(daemon, os.path.join(folder, "backup"))
        done = place.run("restore", os.path.join(folder, "backup"))
        assert done.returncode == 0, done
    return place


def is_refused(place, *words):
    before = place.state()
    done = place.start()
    assert done.returncode == FAILED, done
    for word in words:
        assert word in done.stderr, done.stderr
    assert place.state() == before


def test_check_beside_a_running_daemon(daemon):
    command = [daemon.program, "check", "--data", daemon.data]
    command += ["--store", daemon.store] if daemon.store else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("ok: turn "), done


def test_a_second_daemon_is_refused_and_the_first_named(daemon):
    command = [daemon.program, "--data", daemon.data, "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == HELD and f"pid {daemon.process.pid}" in done.stderr, done


def test_a_second_daemon_is_refused_by_the_store_too(daemon):
    with tempfile.TemporaryDirectory() as other:
        store = daemon.store or f"sqlite:{daemon.data}/halligan.db"
        command = [daemon.program, "--data", other, "--listen", "127.0.0.1:0", "--store", store]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == HELD and str(daemon.process.pid) in done.stderr, done


def test_a_backup_has_what_was_there_and_starts_as_a_daemon(daemon):
    me = daemon.client()
    assert me.post("nodes", {"name": "kept.example.com", "description": "ä ' \" %"}).status == 200
    before = me.get("nodes").json()
    with restored(daemon) as place:
        done = place.run("check")
        assert done.returncode == 0, done
        again = place.run("restore", os.path.join(place.data, "nothing"))
        assert again.returncode == FAILED, again
        other = Daemon(os.path.dirname(daemon.program), place.store)
        try:
            other.start()
            other.token = daemon.token
            assert other.client().get("nodes").json() == before
            assert other.client().post("nodes", {"name": "later.example.com"}).status == 200
            assert other.stop() == 0
        finally:
            other.close()


def test_a_backup_never_overwrites(daemon):
    with Place(daemon) as place:
        file = os.path.join(place.data, "precious")
        with open(file, "w") as out:
            out.write("precious")
        done = subprocess.run(
            [daemon.program, "backup", file, "--data", daemon.data],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == FAILED, done
        with open(file) as kept:
            assert kept.read() == "precious"


def test_an_export_can_be_imported_elsewhere(daemon):
    with restored(daemon) as place, Place(daemon) as target:
        file = os.path.join(place.data, "moved")
        done = place.run("export", file)
        assert done.returncode == 0, done
        assert target.run("import", file).returncode == 0
        assert target.run("check").stdout.splitlines()[-1] == place.run("check").stdout.splitlines()[-1]
        again = target.run("import", file)
        assert again.returncode == FAILED and "not empty" in again.stderr, again


def test_a_plain_file_can_be_restored(daemon):
    """What export writes, and what backup wrote in older versions."""
    with restored(daemon) as place, Place(daemon) as target:
        file = os.path.join(place.data, "plain")
        assert place.run("export", file).returncode == 0
        assert os.path.isfile(file) and os.stat(file).st_mode & 0o777 == 0o600
        done = target.run("restore", file)
        assert done.returncode == 0, done
        assert target.run("check").stdout.splitlines()[-1] == place.run("check").stdout.splitlines()[-1]


def test_a_newer_schema_is_refused(daemon):
    with restored(daemon) as place:
        place.sql("INSERT INTO schema_migration VALUES ('9999_tomorrow', 'abc', 0)")
        is_refused(place, "newer", "9999_tomorrow")


def test_an_altered_migration_is_refused(daemon):
    with restored(daemon) as place:
        place.sql("UPDATE schema_migration SET hash = 'abc'")
        is_refused(place, "altered", "0001_initial")


def test_an_altered_table_is_refused(daemon):
    with restored(daemon) as place:
        place.sql("ALTER TABLE node ADD COLUMN colour TEXT")
        is_refused(place, "altered", "node")


def test_records_that_were_tampered_with_are_refused(daemon):
    with restored(daemon) as place:
        place.sql("UPDATE node SET description = 'not what was written' WHERE id = 1")
        is_refused(place, "digest differs")
        done = place.run("check")
        assert done.returncode == FAILED and "digest" in done.stderr, done


def test_a_row_that_is_missing_is_refused(daemon):
    with restored(daemon) as place:
        place.sql("DELETE FROM deployment WHERE id = 1")
        is_refused(place, "the store is damaged")


def test_a_file_that_is_no_database_is_refused(daemon):
    with Place(daemon) as place:
        if not place.is_sqlite:
            return  # a server has databases only
        with open(place.file, "wb") as out:
            out.write(b"this is not a database, it is a letter to a friend" * 100)
        is_refused(place, "not a database")


def test_a_foreign_database_is_refused(daemon):
    with Place(daemon) as place:
        place.sql("CREATE TABLE node (mine TEXT)")
        before = place.state() if place.is_sqlite else None
        done = place.start()
        assert done.returncode == FAILED and "not" in done.stderr, done
        assert before is None or place.state() == before


def test_damaged_pages_are_refused(daemon):
    """Pages are overwritten near their end, where rows begin to grow: the daemon either notices and leaves the
    file alone, or the page held nothing that is loaded, and `check` may still notice."""
    with restored(daemon) as place:
        if not place.is_sqlite:
            return  # pages of PostgreSQL are not checked
        with open(place.file, "rb") as file:
            whole = file.read()
        noticed = 0
        for page in range(0, len(whole), 4096 * max(1, len(whole) // 4096 // 12)):
            torn = whole[: page + 3996] + b"\xde\xad\xbe\xef" * 16 + whole[page + 4060 :]
            with open(place.file, "wb") as out:
                out.write(torn)
            done = place.run("check")
            noticed += done.returncode == FAILED
            if done.returncode == FAILED and "digest" not in done.stderr and "files" not in done.stderr:
                is_refused(place)
        assert noticed > 0
