#!/usr/bin/env python3
"""Machines with real firmware that boot from halligan-boot: qemu in a network namespace.

    tests/vm/run.py [--build DIR] [NAME ...]

Starts a halligand, a halligan-boot on a bridge of its own namespace, and machines with BIOS and UEFI
firmware whose network cards are ports of the bridge. Runs every test_* function of every test_*.py
here (or those whose names begin with a NAME), one after the other. Prints PASS or FAIL for each, with
the seconds until a machine had booted; the exit status is 0 when all passed. Requires root.
"""
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "api")]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from lab import Lab  # noqa: E402


def main():
    options = harness.parser(__doc__, "directory of the programs").parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = []
    for function in harness.tests(harness.modules(HERE), options.names):
        lab = Lab(os.path.abspath(options.build))
        try:
            results.append(harness.attempt(function, lambda: function(lab), lab.said, is_timed=True))
        finally:
            lab.close()
    return harness.finish(results)


if __name__ == "__main__":
    sys.exit(main())
