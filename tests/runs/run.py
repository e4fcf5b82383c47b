#!/usr/bin/env python3
"""Runs against a real halligand, with real processes.

    tests/runs/run.py --build DIR [--full] [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with a daemon of its own. `--full`: as often as a campaign wants it. Prints PASS or FAIL for each;
the exit status is 0 when all passed.
"""
import argparse
import importlib
import os
import re
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from yard import Yard  # noqa: E402


def tests(modules, prefixes):
    for module in modules:
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def run(function, options):
    yard = Yard(os.path.abspath(options.build), options)
    began = time.monotonic()
    try:
        function(yard)
        yard.finish()
        print(f"PASS {function.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        return True
    except Exception:
        print("FAIL", function.__name__)
        traceback.print_exc(limit=-5, file=sys.stdout)
        print(yard.read("stderr")[-2000:], flush=True)
        return False
    finally:
        yard.close()


def played(modules, options):
    """The exit status."""
    results = [run(function, options) for function in tests(modules, options.names)]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where halligand is")
    parser.add_argument("--full", action="store_true", help="campaigns instead of samples")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    files = sorted(name for name in os.listdir(HERE) if re.fullmatch(r"test_\w+\.py", name))
    return played([importlib.import_module(name[:-3]) for name in files], options)


if __name__ == "__main__":
    sys.exit(main())
