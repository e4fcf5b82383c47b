#!/usr/bin/env python3
"""Tests of halligan-exec with real processes, driven over its socket.

    tests/exec/run.py --build DIR [--times N] [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with a supervisor of its own. `--times` is how often each kind of misbehaving child is run. Prints
PASS or FAIL for each; the exit status is 0 when all passed.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from supervisor import Supervisor  # noqa: E402


def run(function, options):
    supervisor = Supervisor(options.build)
    supervisor.times = options.times

    def body():
        supervisor.start()
        function(supervisor)

    try:
        return harness.attempt(function, body, lambda: supervisor.said()[-2000:])
    finally:
        supervisor.close()


def main():
    parser = harness.parser(__doc__, "where halligan-exec is")
    parser.add_argument("--times", type=int, default=1, help="runs of each misbehaving child")
    options = parser.parse_args()
    return harness.finish([run(function, options)
                           for function in harness.tests(harness.modules(HERE), options.names)])


if __name__ == "__main__":
    sys.exit(main())
