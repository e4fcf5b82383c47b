#!/usr/bin/env python3
"""The jigs with real programs: shells, tar, an OpenSSH server, puppet, ansible-playbook.

    tests/jig/run.py --build DIR [NAME ...]

Creates launch specifications with DIR/tests/jig/jig-drive, starts them, and checks the results.
Runs every test_* function of every test_*.py here (or those whose names begin with a NAME). Prints
PASS or FAIL for each; the exit status is 0 when all passed.
"""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from bench import Bench  # noqa: E402


def run(function, build):
    """In a folder of its own, in which nothing is left."""
    folder = tempfile.mkdtemp(prefix="halligan-jig-")
    bench = Bench(build, folder)
    try:
        return harness.attempt(function, lambda: function(bench), is_timed=True)
    finally:
        bench.close()
        shutil.rmtree(folder)


def main():
    options = harness.parser(__doc__, "where tests/jig/jig-drive is").parse_args()
    return harness.finish([run(function, os.path.abspath(options.build))
                           for function in harness.tests(harness.modules(HERE), options.names)])


if __name__ == "__main__":
    sys.exit(main())
