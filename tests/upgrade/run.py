#!/usr/bin/env python3
"""Stores that older versions wrote, upgraded by the present halligand, on SQLite and PostgreSQL.

    tests/upgrade/run.py --build DIR [NAME ...]

The stores are the dumps of tests/upgrade/dumps, which make.py wrote. Runs every test_* function of
test_upgrade.py (or those whose names begin with a NAME). Prints PASS or FAIL for each; the exit
status is 0 when all passed.
"""
import concurrent.futures
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, TESTS]
sys.dont_write_bytecode = True

import harness  # noqa: E402
from stores import Cluster  # noqa: E402
from upgrades import Upgrades  # noqa: E402


SIDE_BY_SIDE = 4  # tests wait for daemons, servers and disks most of the time


def run(function, build, cluster):
    upgrades = Upgrades(build, cluster)
    try:
        return harness.attempt(function, lambda: function(upgrades), upgrades.said, frames=5,
                               is_timed=True)
    finally:
        upgrades.close()


def main():
    options = harness.parser(__doc__, "where halligand is").parse_args()
    with tempfile.TemporaryDirectory(prefix="halligan-upgrade-") as folder:
        os.chmod(folder, 0o711)  # the server of PostgreSQL is another user
        cluster = Cluster(os.path.join(folder, "pg"))
        try:
            build = os.path.abspath(options.build)
            tests = harness.tests(harness.modules(HERE), options.names)
            with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
                return harness.finish(list(pool.map(lambda test: run(test, build, cluster), tests)))
        finally:
            cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
