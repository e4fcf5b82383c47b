#!/usr/bin/env python3
"""Attacks on a running halligand, built with sanitizers.

    tests/attack/run.py --build DIR [--size quick|ci|full] [--jobs N] [--requests N] [--seed S]
                        [NAME ...]

Runs every test_* function of every test_*.py here (or those whose names begin with a NAME), each
with daemons of its own. `--requests` sets the number of mutated requests (in `full` two million); a
campaign of them alone is

    tests/attack/run.py --build build-asan --requests 2000000 test_mutated_requests

N tests run side by side. Prints PASS or FAIL for each, with its time; the exit status is 0 when all
passed.
"""
import argparse
import concurrent.futures
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from installation import Installation  # noqa: E402


class Attack:
    """What a test is given: options, and daemons that are ended with it."""

    def __init__(self, options):
        self.build = os.path.abspath(options.build)
        self.options = options
        self.daemons = []

    def of_size(self, quick, ci, full):
        return {"quick": quick, "ci": ci, "full": full}[self.options.size]

    def installation(self, store=None):
        daemon = Installation(self.build, store)
        self.daemons.append(daemon)
        return daemon

    def close(self):
        for daemon in self.daemons:
            daemon.close()


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
    attack = Attack(options)
    began = time.monotonic()
    try:
        function(attack)
        print(f"PASS {function.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        return True
    except Exception:
        said = [f"FAIL {function.__name__} ({time.monotonic() - began:.1f} s)"]
        said.append(traceback.format_exc(limit=-5))
        said += [daemon.read("stderr")[-2000:] for daemon in attack.daemons]
        print("\n".join(said), flush=True)
        return False
    finally:
        attack.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build-asan", help="where halligand is")
    parser.add_argument("--size", choices=("quick", "ci", "full"), default="ci")
    parser.add_argument("--jobs", type=int, default=1, help="tests that run side by side")
    parser.add_argument("--requests", type=int, help="mutated requests, instead of a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.size == "full" and not options.requests:
        options.requests = 2000000
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda function: run(function, options), tests(options.names)))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
