#!/usr/bin/env python3
"""Power and probes in a running halligand, against real peers: the Redfish test service over HTTPS,
ipmi_sim, a socket that hears Wake-on-LAN, and OpenSSH servers on loopback addresses.

    tests/power/run.py --build DIR [NAME ...]

Every test_* function of every test_*.py here (or those whose names begin with a NAME) gets a Plant:
DIR/halligand with a data directory of its own, not started yet. Prints PASS or FAIL for each; the
exit status is 0 when all passed.
"""
import argparse
import importlib
import os
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
for room in ("jig", "hammer", "redfish", "api"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), room))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from plant import Plant  # noqa: E402


def tests(prefixes):
    for name in sorted(os.listdir(HERE)):
        if not name.startswith("test_") or not name.endswith(".py"):
            continue
        module = importlib.import_module(name[:-3])
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def run(function, build, folder):
    plant = Plant(build, folder)
    try:
        function(plant)
        plant.close()
        print("PASS", function.__name__, flush=True)
        return True
    except Exception:
        print("FAIL", function.__name__)
        traceback.print_exc(limit=-4, file=sys.stdout)
        print(plant.abandon(), flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="halligan-power-") as folder:
        for function in tests(options.names):
            if run(function, os.path.abspath(options.build), folder):
                passed += 1
            else:
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
