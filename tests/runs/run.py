#!/usr/bin/env python3
"""Runs against a real halligand, with real processes.

    tests/runs/run.py --build DIR [--full] [--store URL] [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with a daemon of its own. `--full`: as often as a campaign wants it. Prints PASS or FAIL for each;
the exit status is 0 when all passed.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from yard import Yard  # noqa: E402


def run(function, options):
    yard = Yard(os.path.abspath(options.build), options)

    def body():
        function(yard)
        yard.finish()

    try:
        return harness.attempt(function, body, lambda: yard.read("stderr")[-2000:], frames=5,
                               is_timed=True)
    finally:
        yard.close()


def played(modules, options):
    """The exit status."""
    return harness.finish([run(function, options)
                           for function in harness.tests(modules, options.names)])


def main():
    parser = harness.parser(__doc__, "where halligand is")
    parser.add_argument("--full", action="store_true", help="campaigns instead of samples")
    parser.add_argument("--store", help="URL of a PostgreSQL server; default: SQLite")
    return played(harness.modules(HERE), parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
