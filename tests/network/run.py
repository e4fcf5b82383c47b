#!/usr/bin/env python3
"""The script of the network roles: resolution of conduits, and configuration of a real kernel.

    tests/network/run.py [NAME ...]

Runs the script in network namespaces with veth interfaces, and with a sysfs tree that the test
creates. Runs every test_* function of every test_*.py here (or those whose names begin with a NAME).
Prints PASS or FAIL for each; the exit status is 0 when all passed. Requires root.
"""
import concurrent.futures
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from machine import Machine, missing_kinds  # noqa: E402

AT_ONCE = 4  # machines; most of them wait


def run(function):
    """On a machine of its own, of which nothing is left."""
    machine = Machine()
    try:
        return harness.attempt(function, lambda: function(machine), machine.said, is_timed=True)
    finally:
        machine.close()


def main():
    options = harness.parser(__doc__, "ignored: nothing is built").parse_args()
    # At a time limit the tests that run end and delete their namespaces; the others do not begin.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    missing = missing_kinds()
    if missing:
        print(f"this kernel has no {' and no '.join(missing)} devices: their commands are compared "
              "and parsed by ip, but not executed")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return harness.finish(list(pool.map(run, harness.tests(harness.modules(HERE),
                                                               options.names))))


if __name__ == "__main__":
    sys.exit(main())
