#!/usr/bin/env python3
"""Black-box tests of the command line.

    tests/cli/run.py --build DIR [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with an empty directory of its own; those that need a daemon share one. Prints PASS or FAIL for each; the exit status is 0 when all
passed.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from bench import Bench  # noqa: E402


def run(function, build):
    bench = Bench(build)
    try:
        return harness.attempt(function, lambda: function(bench), frames=3)
    finally:
        bench.close()


def main():
    options = harness.parser(__doc__, "where halligan and halligand are").parse_args()
    try:
        results = [run(function, os.path.abspath(options.build))
                   for function in harness.tests(harness.modules(HERE), options.names)]
    finally:
        trouble = Bench.close_daemon()
    if trouble:
        print(trouble)
    return harness.finish(results, 1 if trouble else 0)


if __name__ == "__main__":
    sys.exit(main())
