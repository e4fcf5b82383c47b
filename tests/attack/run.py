#!/usr/bin/env python3
"""Attacks on a running halligand, built with sanitizers.

    tests/attack/run.py --build DIR [--size quick|ci|full] [--jobs N] [--requests N] [--seed S]
                        [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with daemons of its own. `--requests` sets the number of mutated requests (in `full` two million); a
campaign of them alone is

    tests/attack/run.py --build build-asan --requests 2000000 test_mutated_requests

N tests run side by side. Prints PASS or FAIL for each, with its time; the exit status is 0 when all
passed.
"""
import concurrent.futures
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from installation import Installation  # noqa: E402


class Attack:
    """What a test is given: options, and daemons that are ended with it."""

    def __init__(self, options):
        self.build = os.path.abspath(options.build)
        self.options = options
        self.daemons = []

    def of_size(self, quick, ci, full):
        return {"quick": quick, "ci": ci, "full": full}[self.options.size]

    def installation(self, store=None):
        daemon = Installation(self.build, store)
        self.daemons.append(daemon)
        return daemon

    def close(self):
        for daemon in self.daemons:
            daemon.close()


def run(function, options):
    attack = Attack(options)
    try:
        return harness.attempt(
            function, lambda: function(attack),
            lambda: "\n".join(daemon.read("stderr")[-2000:] for daemon in attack.daemons), frames=5,
            is_timed=True)
    finally:
        attack.close()


def main():
    parser = harness.parser(__doc__, "where halligand is", build="build-asan")
    parser.add_argument("--size", choices=("quick", "ci", "full"), default="ci")
    parser.add_argument("--jobs", type=int, default=1, help="tests that run side by side")
    parser.add_argument("--requests", type=int, help="mutated requests, instead of a time")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.size == "full" and not options.requests:
        options.requests = 2000000
    found = harness.tests(harness.modules(HERE), options.names)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return harness.finish(list(pool.map(lambda function: run(function, options), found)))


if __name__ == "__main__":
    sys.exit(main())
