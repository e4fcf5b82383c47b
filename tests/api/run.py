#!/usr/bin/env python3
"""Black-box tests of the API against a running halligand.

    tests/api/run.py --build DIR [--store URL] [NAME ...]

Starts DIR/halligand with a data directory of its own, runs every test_* function of every
test_*.py here (or those whose names begin with a NAME) and stops it. A store given by URL must be
empty. Prints PASS or FAIL for each; the exit status is 0 when all passed.

A test is given the daemon it names: `daemon` has a few roles of its own, `shipped` has the
barclamps that come with the program, and a database of its own beside the one given. `fixture` has
those too, and what the numbered cases of the specification start from (fixture.py). A test that gives
another name has a daemon of that name for itself, with those barclamps.
"""
import inspect
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import fixture  # noqa: E402
import harness  # noqa: E402
from daemon import SHIPPED, Daemon, another_store  # noqa: E402


class Daemons:
    """Each daemon is started when a test needs it."""

    def __init__(self, build, store):
        self.build, self.store = os.path.abspath(build), store
        self.started = {}

    def get(self, name):
        if name not in self.started:
            if name == "daemon":
                daemon = Daemon(self.build, self.store)
            else:
                daemon = Daemon(self.build, another_store(self.store, name), SHIPPED)
            self.started[name] = daemon
            daemon.start()
            if name == "fixture":
                fixture.prepare(daemon)
        return self.started[name]

    def are_gone(self):
        """Those that should be there and are not; what they said is printed."""
        gone = [d for d in self.started.values() if d.process is None or d.process.poll() is not None]
        for daemon in gone:
            print("halligand is gone:\n" + daemon.read("stderr"))
        return len(gone)

    def stop(self):
        """How many did not leave well."""
        failed = 0
        for daemon in self.started.values():
            code = daemon.stop()
            if code != 0:
                print(f"halligand left with {code}:\n" + daemon.read("stderr"))
                failed += 1
        return failed

    def close(self):
        for daemon in self.started.values():
            daemon.close()


def run(function, daemons):
    def body():
        function(*[daemons.get(name) for name in inspect.signature(function).parameters])

    return harness.attempt(function, body, frames=3)


def run_all(daemons, names):
    """The results of the tests, and how many daemons died or did not leave well."""
    results = []
    for function in harness.tests(harness.modules(HERE), names):
        results.append(run(function, daemons))
        gone = daemons.are_gone()
        if gone:
            return results, gone
    return results, daemons.stop()


def main():
    parser = harness.parser(__doc__, "where halligand is")
    parser.add_argument("--store", help="URL of an empty store; a new SQLite file otherwise")
    options = parser.parse_args()
    daemons = Daemons(options.build, options.store)
    try:
        results, failures = run_all(daemons, options.names)
    finally:
        daemons.close()
    return harness.finish(results, failures)


if __name__ == "__main__":
    sys.exit(main())
