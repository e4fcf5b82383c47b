#!/usr/bin/env python3
"""Black-box tests of the command line.

    tests/cli/run.py --build DIR [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with an empty directory of its own; those that need a daemon share one. Prints PASS or FAIL for each; the exit status is 0 when all
passed.
"""
import argparse
import importlib
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from bench import Bench  # noqa: E402


def tests(prefixes):
    for name in sorted(os.listdir(HERE)):
        if not name.startswith("test_") or not name.endswith(".py"):
            continue
        module = importlib.import_module(name[:-3])
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def run(function, build):
    bench = Bench(build)
    try:
        function(bench)
        print("PASS", function.__name__, flush=True)
        return True
    except Exception:
        print("FAIL", function.__name__)
        traceback.print_exc(limit=-3, file=sys.stdout)
        sys.stdout.flush()
        return False
    finally:
        bench.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligan and halligand are")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    try:
        for function in tests(options.names):
            if run(function, os.path.abspath(options.build)):
                passed += 1
            else:
                failed += 1
    finally:
        trouble = Bench.close_daemon()
    if trouble:
        print(trouble)
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
