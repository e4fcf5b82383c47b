#!/usr/bin/env python3
"""The runner with a minimal turn and a real halligan-exec.

    tests/runner/run.py --build DIR [NAME ...]

Starts DIR/tests/runner/runner-drive and DIR/halligan-exec. Runs every test_* function of every
test_*.py here (or those whose names begin with a NAME), each with a data directory of its own, in
which nothing is left. Prints PASS or FAIL for each; the exit status is 0 when all passed.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from toy import Place  # noqa: E402


def run(function, build):
    place = Place(build)

    def body():
        function(place)
        place.check_clean()

    try:
        return harness.attempt(function, body, lambda: place.said()[-3000:], frames=6,
                               is_timed=True)
    finally:
        place.close()


def main():
    options = harness.parser(__doc__, "where the programs are").parse_args()
    return harness.finish([run(function, os.path.abspath(options.build))
                           for function in harness.tests(harness.modules(HERE), options.names)])


if __name__ == "__main__":
    sys.exit(main())
