#!/usr/bin/env python3
"""The runner with a toy turn before it and the real halligan-exec behind it.

    tests/runner/run.py --build DIR [NAME ...]

Starts DIR/tests/runner/runner-drive and DIR/halligan-exec. Runs every test_* function of every
test_*.py here (or those whose names begin with a NAME), each with a data directory of its own, in
which nothing is left. Prints PASS or FAIL for each; the exit status is 0 when all passed.
"""
import argparse
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from toy import Place  # noqa: E402


def tests(prefixes):
    """By file, then as written."""
    for name in sorted(os.listdir(HERE)):
        if not name.startswith("test_") or not name.endswith(".py"):
            continue
        module = importlib.import_module(name[:-3])
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def run(function, build):
    place = Place(build)
    began = time.monotonic()
    try:
        function(place)
        place.check_clean()
        print(f"PASS {function.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        return True
    except Exception:
        print("FAIL", function.__name__)
        traceback.print_exc(limit=-6, file=sys.stdout)
        print(place.said()[-3000:], flush=True)
        return False
    finally:
        place.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    results = [run(function, os.path.abspath(options.build)) for function in tests(options.names)]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
