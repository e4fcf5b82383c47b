#!/usr/bin/env python3
"""halligan-boot from outside: real interfaces, real sockets, and a daemon that the test plays.

    tests/boot/run.py --build DIR [NAME ...]

Every test_* function of every test_*.py here (or those whose names begin with a NAME) gets a Segment:
network namespaces for the boot server and for machines, connected by veth interfaces. The tests of
fencing, isolation and peers start a real halligand instead (installation.py). Prints PASS or
FAIL for each; the exit status is 0 when all passed. Requires root.
"""
import concurrent.futures
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from segment import Segment  # noqa: E402

AT_ONCE = 4  # segments; most of them wait


def run(function, build):
    segment = Segment(build)
    try:
        return harness.attempt(function, lambda: function(segment), segment.said, is_timed=True)
    finally:
        segment.close()


def main():
    parser = harness.parser(__doc__, "where the programs are")
    parser.add_argument("--sanitized", action="store_true",
                        help="a build whose filter only logs: leave out the tests of the sandbox")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    # At a time limit the tests that run end and delete their namespaces; the others do not begin.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        modules = [m for m in harness.modules(HERE)
                   if not (options.sanitized and m.__name__ == "test_sandbox")]
        return harness.finish(list(pool.map(lambda f: run(f, build),
                                            harness.tests(modules, options.names))))


if __name__ == "__main__":
    sys.exit(main())
