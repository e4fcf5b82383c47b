"""Stores as tables of rows: loaded from a dump, read, dumped. Both engines give the same rows."""
import contextlib
import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POSTGRES = os.path.join(os.path.dirname(TESTS), "tools", "postgres")
BIN = "/usr/lib/postgresql/15/bin"

SQLITE_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
POSTGRES_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def in_order(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


class Sqlite:
    kind = "sqlite"

    def __init__(self, path):
        self.path = path
        self.url = "sqlite:" + path

    def run(self, *statements):
        with contextlib.closing(sqlite3.connect(self.path)) as store:
            for statement in statements:
                store.executescript(statement)

    def load(self, dump):
        """With a write-ahead log, as a daemon leaves it."""
        with open(dump, encoding="utf-8") as file:
            self.run(file.read(), "PRAGMA journal_mode = WAL")
        os.chmod(self.path, 0o600)

    @contextlib.contextmanager
    def copied(self):
        """A connection to a copy: one to the file itself would recover what a killed daemon left."""
        with tempfile.TemporaryDirectory(prefix="halligan-copy-") as folder:
            for path in glob.glob(self.path + "*"):
                shutil.copy(path, folder)
            copy = os.path.join(folder, os.path.basename(self.path))
            with contextlib.closing(sqlite3.connect(copy)) as store:
                yield store

    def rows(self):
        """{table: [{column: value}]}, each table in an order of its own."""
        with self.copied() as store:
            store.row_factory = sqlite3.Row
            names = [name for (name,) in store.execute(SQLITE_TABLES)]
            return {name: in_order(map(dict, store.execute(f'SELECT * FROM "{name}"')))
                    for name in names}

    def dump(self):
        with self.copied() as store:
            return "\n".join(store.iterdump()) + "\n"


class Postgres:
    kind = "postgres"

    def __init__(self, url):
        self.url = url

    def psql(self, text):
        done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", "-", self.url], input=text,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def run(self, *statements):
        self.psql(";\n".join(statements) + ";\n")

    def load(self, dump):
        with open(dump, encoding="utf-8") as file:
            self.psql("BEGIN;\n" + file.read() + "COMMIT;\n")

    def rows(self):
        names = self.psql(POSTGRES_TABLES)
        union = "".join(f"SELECT '{name} ' || to_jsonb(t)::text FROM \"{name}\" t;\n" for name in names)
        found = {name: [] for name in names}
        for line in self.psql(union):
            name, row = line.split(" ", 1)
            found[name].append(json.loads(row))
        return {name: in_order(rows) for name, rows in found.items()}

    def dump(self):
        """Without comments and settings of the session, which differ between versions of pg_dump."""
        done = subprocess.run([os.path.join(BIN, "pg_dump"), "--inserts", "--no-owner",
                               "--no-privileges", self.url], capture_output=True, text=True, check=True)
        dropped = ("-- ", "--\n", "SET ", "SELECT pg_catalog.set_config", "\\restrict", "\\unrestrict")
        lines = [line for line in done.stdout.splitlines(keepends=True)
                 if line.strip() and not line.startswith(dropped)]
        return "".join(lines)


class Cluster:
    """A PostgreSQL server of its own; a database for each store."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        self.lock = threading.Lock()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` stops the server
        self.run("start")

    def run(self, verb, *words):
        done = subprocess.run([POSTGRES, verb, self.folder, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def store(self):
        with self.lock:
            self.count += 1
            return Postgres(self.run("newdb", f"upgrade{self.count}"))

    def stop(self):
        self.run("stop")
