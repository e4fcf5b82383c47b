"""A directory for one campaign, and everything it started: stopped at the end, whatever the end is.

When a campaign passes, nothing of it remains; when it fails, its files stay and it says where.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from daemon import HERE, Daemon, Trouble, Violation

POSTGRES = HERE.parent.parent / "tools" / "postgres"


class Postgres:
    """A throw-away cluster that waits for the disk, as a real one does."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.url = self.run("start", "--durable")
        self.count = 0

    def run(self, verb, *options):
        done = subprocess.run(
            [POSTGRES, verb, self.directory, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
        )
        return done.stdout.strip()

    def new_database(self):
        self.count += 1
        return self.run("newdb", f"world{self.count}")

    def stop(self, keep):
        self.run("stop", *(["--keep"] if keep else []))


def query(url, statement):
    """What psql says to one statement, unaligned."""
    done = subprocess.run(
        ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, url],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        raise Violation(f"psql {statement!r}: {done.stderr.strip()}")
    return done.stdout.strip()


class Workspace:
    def __init__(self, name):
        self.name = name
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=f"halligan-{name}."))
        self.path.chmod(0o711)  # the PostgreSQL server runs as another user and needs access
        self.daemons = []
        self.cluster = None

    def daemon(self, build, name, store=None):
        daemon = Daemon(build, self.path / name, store)
        self.daemons.append(daemon)
        return daemon

    def postgres(self):
        if self.cluster is None:
            self.cluster = Postgres(self.path / "pg")
        return self.cluster

    def forget(self, daemon):
        """It passed: its files go, its log with them."""
        daemon.kill()
        self.daemons.remove(daemon)
        shutil.rmtree(daemon.data, ignore_errors=True)
        daemon.log_path.unlink(missing_ok=True)

    def __enter__(self):
        # SIGTERM must not leave child processes behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return self

    def __exit__(self, kind, problem, _):
        for daemon in self.daemons:
            daemon.kill()
        if self.cluster:
            self.cluster.stop(keep=problem is not None)
        if problem is None:
            shutil.rmtree(self.path)
            return
        sys.stdout.flush()
        print(f"{self.name}: FAILED; what is left is in {self.path}", file=sys.stderr)
        if isinstance(problem, Trouble):
            print(f"{self.name}: {type(problem).__name__}: {problem}", file=sys.stderr)
            sys.exit(1)


def add_build(parser):
    """The option that every campaign has."""
    parser.add_argument("--build", required=True, help="directory that holds halligand")


def histogram(title, counter):
    print(f"{title}:")
    for name, count in sorted(counter.items(), key=lambda item: (-item[1], str(item[0]))):
        print(f"    {count:8d}  {name}")


def program(build):
    """Nothing to test is not a pass."""
    path = pathlib.Path(build) / "halligand"
    if not os.access(path, os.X_OK):
        sys.exit(f"{path}: no such program")
