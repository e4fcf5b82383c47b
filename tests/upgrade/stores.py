"""Stores as tables of rows: loaded from a dump, read, dumped. Both engines give the same rows."""
import json
import os
import sqlite3
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POSTGRES = os.path.join(os.path.dirname(TESTS), "tools", "postgres")
BIN = "/usr/lib/postgresql/15/bin"

# Columns of both engines, by table, in their order.
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
        store = sqlite3.connect(self.path)
        try:
            for statement in statements:
                store.executescript(statement)
            store.commit()
        finally:
            store.close()

    def load(self, dump):
        with open(dump, encoding="utf-8") as file:
            self.run(file.read())
        os.chmod(self.path, 0o600)

    def rows(self):
        """{table: [{column: value}]}, each table in an order of its own."""
        store = sqlite3.connect(self.path)
        store.row_factory = sqlite3.Row
        try:
            names = [name for (name,) in store.execute(SQLITE_TABLES)]
            return {name: in_order(map(dict, store.execute(f'SELECT * FROM "{name}"')))
                    for name in names}
        finally:
            store.close()

    def dump(self):
        """No transaction is around it, so that a dump of several statements can be edited."""
        store = sqlite3.connect(self.path)
        try:
            return "\n".join(store.iterdump()) + "\n"
        finally:
            store.close()


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
        self.run("start")

    def run(self, verb, *words):
        done = subprocess.run([POSTGRES, verb, self.folder, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def store(self):
        self.count += 1
        return Postgres(self.run("newdb", f"upgrade{self.count}"))

    def stop(self):
        self.run("stop")
