"""What the run.py of every suite does: find its tests, run them, print PASS or FAIL, and count.

A suite is a directory of test_*.py. Its run.py puts this directory and its own into sys.path, says
what a test is given, and what else is printed when one fails.
"""
import argparse
import importlib
import os
import time
import traceback


def parser(doc, build_help, build="build"):
    """Options of every suite: --build and the beginnings of the names of tests."""
    p = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    p.add_argument("--build", default=build, help=build_help)
    p.add_argument("names", nargs="*")
    return p


def modules(folder):
    """Every test_*.py of the directory, by name; it is in sys.path."""
    files = sorted(n for n in os.listdir(folder) if n.startswith("test_") and n.endswith(".py"))
    return [importlib.import_module(name[:-3]) for name in files]


def tests(among, prefixes):
    """The test_* functions of the modules, in the order they are written: some tests depend on what
    earlier ones of their file made. With prefixes, those whose names begin with one."""
    for module in among:
        functions = [f for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            if not prefixes or any(function.__name__.startswith(p) for p in prefixes):
                yield function


def attempt(function, body, said=lambda: "", frames=4, is_timed=False):
    """Runs the body of a test. True: it passed. What `said` returns follows the traceback of one
    that failed, of which the last `frames` are printed."""
    began = time.monotonic()

    def title(word):
        took = f" ({time.monotonic() - began:.1f} s)" if is_timed else ""
        return f"{word} {function.__name__}{took}"

    try:
        body()
    except Exception:
        # One print: tests of other threads print too.
        print("\n".join([title("FAIL"), traceback.format_exc(limit=-frames), said()]), flush=True)
        return False
    print(title("PASS"), flush=True)
    return True


def finish(results, failures=0):
    """Prints how many passed and failed, with `failures` of no single test. The exit status."""
    passed, failed = results.count(True), results.count(False) + failures
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1
