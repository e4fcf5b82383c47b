"""What a test of upgrades works with: installations whose store is a dump of an older version."""
import json
import os
import signal

from installation import TESTS, WAIT_S, Installation
from stores import Sqlite
from yard import eventually

DUMPS = os.path.join(TESTS, "upgrade", "dumps")
MIGRATIONS = os.path.join(os.path.dirname(TESTS), "src", "store", "migrations")

# The failpoint behind the last migration. Nothing but migrations has written to the store then.
MIGRATED = "store.open.after:1"
KNOWN_HOSTS = ("ssh", "known_hosts")


def known_migrations():
    """Their names, in the order in which they are applied."""
    return sorted({name.split(".")[0] for name in os.listdir(MIGRATIONS)})


def dumped():
    """The newest migration of each dump, oldest dump first."""
    return sorted(name[:-5] for name in os.listdir(DUMPS) if name.endswith(".json"))


class Upgrade(Installation):
    """One store. `name` is the newest migration in it, `facts` what make.py noted about it."""

    def __init__(self, build, name, cluster=None):
        super().__init__(build)
        self.name = name
        self.tables = cluster.store() if cluster else Sqlite(self.path("halligan.db"))
        self.store = self.tables.url if cluster else None
        with open(os.path.join(DUMPS, name + ".json"), encoding="utf-8") as file:
            self.facts = json.load(file)
        self.token = self.facts["token"]
        self.tables.load(os.path.join(DUMPS, f"{name}.{self.tables.kind}.sql"))
        os.mkdir(self.path("ssh"), 0o700)
        self.write(self.facts["known_hosts"], *KNOWN_HOSTS)
        self.write("of another time\n", "admin.password")
        self.write_content()

    def __repr__(self):
        return f"{self.name} on {self.tables.kind}"

    def write(self, text, *names):
        with open(self.path(*names), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(*names), 0o600)

    def dies_at(self, failpoint):
        self.environment = {**os.environ, "HALLIGAN_FAILPOINT": failpoint}
        self.launch()
        code = self.process.wait(timeout=WAIT_S)
        self.environment = self.process = None
        assert code == -signal.SIGABRT, (self, failpoint, code, self.read("stderr"))

    def migrate(self):
        self.dies_at(MIGRATED)
        return self.tables.rows()

    def is_refused(self, *words):
        """The daemon, or the verb, ends with 1 (a failure of the store). What it wrote."""
        done = self.run_verb(*words, *([] if words else self.flags))
        assert done.returncode == 1, (self, words, done)
        return done.stdout + done.stderr

    def check(self):
        done = self.run_verb("check")
        assert done.returncode == 0, (self, done.stdout, done.stderr)

    def end(self):
        self.stop()
        eventually(self.lock_is_free, "the supervisor has ended")


class Upgrades:
    def __init__(self, build, cluster):
        self.build, self.cluster = build, cluster
        self.last = None

    def new(self, name, on_postgres=False):
        """One at a time."""
        self.close()
        self.last = Upgrade(self.build, name, self.cluster if on_postgres else None)
        return self.last

    def each(self, names=None, on=(False, True)):
        """Every dump, or those named, on SQLite and on PostgreSQL."""
        for name in names or dumped():
            for on_postgres in on:
                yield self.new(name, on_postgres)

    def samples(self):
        """Every dump on SQLite, the oldest on PostgreSQL as well."""
        yield from self.each(on=[False])
        yield from self.each(dumped()[:1], on=[True])

    def said(self):
        return f"{self.last}\n{self.last.read('stderr')[-2000:]}" if self.last else ""

    def close(self):
        if self.last:
            self.last.close()
        self.last = None
