#!/usr/bin/env python3
"""The hammers against real peers: the Redfish test service over HTTPS, ipmi_sim, an OpenSSH server,
and a socket that receives Wake-on-LAN.

    tests/hammer/run.py --build DIR [NAME ...]

Every test_* function of every test_*.py here (or those whose names begin with a NAME) gets a fresh
Drive: DIR/tests/hammer/hammer-drive with a scratch directory of its own. Prints PASS or FAIL for
each; the exit status is 0 when all passed.
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "redfish"), HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from yard import Yard  # noqa: E402


def run(function, build, folder):
    yard = Yard(build, folder)

    def body():
        function(yard)
        yard.close()

    return harness.attempt(function, body, yard.abandon)


def main():
    options = harness.parser(__doc__, "where the programs are").parse_args()
    with tempfile.TemporaryDirectory(prefix="halligan-hammer-") as folder:
        return harness.finish([run(function, os.path.abspath(options.build), folder)
                               for function in harness.tests(harness.modules(HERE), options.names)])


if __name__ == "__main__":
    sys.exit(main())
