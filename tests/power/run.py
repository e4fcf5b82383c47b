#!/usr/bin/env python3
"""Power and probes in a running halligand, against real peers: the Redfish test service over HTTPS,
ipmi_sim, a socket that receives Wake-on-LAN, and OpenSSH servers on loopback addresses.

    tests/power/run.py --build DIR [NAME ...]

Every test_* function of every test_*.py here (or those whose names begin with a NAME) gets a Plant:
DIR/halligand with a data directory of its own, not started yet. Prints PASS or FAIL for each; the
exit status is 0 when all passed.
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
OTHERS = [os.path.join(TESTS, name) for name in ("api", "redfish", "hammer", "jig")]
sys.path[:0] = [HERE, *OTHERS, TESTS]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from plant import Plant  # noqa: E402


def run(function, build, folder):
    plant = Plant(build, folder)

    def body():
        function(plant)
        plant.close()

    return harness.attempt(function, body, plant.abandon)


def main():
    options = harness.parser(__doc__, "where the programs are").parse_args()
    with tempfile.TemporaryDirectory(prefix="halligan-power-") as folder:
        return harness.finish([run(function, os.path.abspath(options.build), folder)
                               for function in harness.tests(harness.modules(HERE), options.names)])


if __name__ == "__main__":
    sys.exit(main())
