#!/usr/bin/env python3
"""Tests of halligan-exec with real processes, driven over its socket.

    tests/exec/run.py --build DIR [--times N] [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with a supervisor of its own. `--times` is how often each kind of misbehaving child is run. Prints
PASS or FAIL for each; the exit status is 0 when all passed.
"""
import argparse
import importlib
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from supervisor import Supervisor  # noqa: E402


def tests(prefixes):
    for name in sorted(os.listdir(HERE)):
        if not name.startswith("test_") or not name.endswith(".py"):
            continue
        module = importlib.import_module(name[:-3])
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def run(function, options):
    supervisor = Supervisor(options.build)
    supervisor.times = options.times
    try:
        supervisor.start()
        function(supervisor)
        print("PASS", function.__name__, flush=True)
        return True
    except Exception:
        print("FAIL", function.__name__)
        traceback.print_exc(limit=-4, file=sys.stdout)
        print(supervisor.said()[-2000:], flush=True)
        return False
    finally:
        supervisor.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligan-exec is")
    parser.add_argument("--times", type=int, default=1, help="runs of each misbehaving child")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    results = [run(function, options) for function in tests(options.names)]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
