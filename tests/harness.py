"""Common part of the run.py of every suite: finds the tests, runs them and prints the results.

A suite is a directory of test_*.py files. Its run.py adds this directory and its own to sys.path,
supplies the arguments of the tests, and the additional output when a test fails.
"""
import argparse
import importlib
import os
import time
import traceback


def parser(doc, build_help, build="build"):
    """The options of every suite: --build, and prefixes of names of tests."""
    p = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    p.add_argument("--build", default=build, help=build_help)
    p.add_argument("names", nargs="*")
    return p


def modules(folder):
    """Imports every test_*.py of the directory, which is in sys.path, sorted by name."""
    files = sorted(n for n in os.listdir(folder) if n.startswith("test_") and n.endswith(".py"))
    return [importlib.import_module(name[:-3]) for name in files]


def tests(among, prefixes):
    """The test_* functions of the modules, in the order of the file: some tests depend on objects
    that earlier tests of their file created. With prefixes, those whose names begin with one."""
    for module in among:
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def attempt(function, body, said=lambda: "", frames=4, is_timed=False):
    """Runs the body of a test and returns True if it passed. If it failed, prints the last `frames`
    frames of the traceback and the text that `said` returns."""
    began = time.monotonic()

    def title(word):
        took = f" ({time.monotonic() - began:.1f} s)" if is_timed else ""
        return f"{word} {function.__name__}{took}"

    try:
        body()
    except Exception:
        # One print call, because tests of other threads print concurrently.
        print("\n".join([title("FAIL"), traceback.format_exc(limit=-frames), said()]), flush=True)
        return False
    print(title("PASS"), flush=True)
    return True


def finish(results, failures=0):
    """Prints the number of passed and failed tests and returns the exit status. `failures` counts
    failures that belong to no single test."""
    passed, failed = results.count(True), results.count(False) + failures
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1
