#!/usr/bin/env python3
"""Black-box tests of the API against a running halligand.

    tests/api/run.py --build DIR [--store URL] [NAME ...]

Starts DIR/halligand with a data directory of its own, runs every test_* function of every
test_*.py here (or those whose names begin with a NAME) and stops it. A store given by URL must be
empty. Prints PASS or FAIL for each; the exit status is 0 when all passed.
"""
import argparse
import importlib
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from daemon import Daemon  # noqa: E402


def tests(prefixes):
    """By file, then as written: some look at what earlier ones of their file made."""
    for name in sorted(os.listdir(HERE)):
        if not name.startswith("test_") or not name.endswith(".py"):
            continue
        module = importlib.import_module(name[:-3])
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def run(function, daemon):
    try:
        function(daemon)
        print("PASS", function.__name__, flush=True)
        return True
    except Exception:
        print("FAIL", function.__name__)
        traceback.print_exc(limit=-3, file=sys.stdout)
        sys.stdout.flush()
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligand is")
    parser.add_argument("--store", help="URL of an empty store; a new SQLite file otherwise")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    daemon = Daemon(os.path.abspath(options.build), options.store)
    try:
        daemon.start()
        for function in tests(options.names):
            if run(function, daemon):
                passed += 1
            else:
                failed += 1
            if daemon.process is None or daemon.process.poll() is not None:
                print("halligand is gone:\n" + daemon.read("stderr"))
                failed += 1
                break
        if daemon.process is not None and daemon.process.poll() is None:
            code = daemon.stop()
            if code != 0:
                print(f"halligand left with {code}:\n" + daemon.read("stderr"))
                failed += 1
    finally:
        daemon.close()
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
