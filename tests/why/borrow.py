"""Modules of other test directories. Several of those directories have a module `yard` or `daemon` of
their own, so each module is imported with its own search path and kept under a name of ours."""
import importlib
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AMBIGUOUS = ("yard", "daemon", "bench", "workspace")


def borrow(name, *directories):
    """The module `name` of the first directory; what it imports is looked for in all of them."""
    hidden = {key: sys.modules.pop(key) for key in AMBIGUOUS if key in sys.modules}
    paths = sys.path[:]
    sys.path[:0] = [os.path.join(TESTS, directory) for directory in directories]
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = paths
        for key in AMBIGUOUS:
            sys.modules.pop(key, None)
        sys.modules.update(hidden)


yard = borrow("yard", "runs", "api")  # a daemon whose roles run real scripts
sshd = borrow("sshd", "jig")  # a real OpenSSH server
grants = borrow("test_grants", "runs", "api")  # a machine that waits for its installer
redfish = borrow("service", "redfish")
peers = borrow("test_peers", "hammer", "redfish")  # ipmi_sim
certificates = borrow("yard", "hammer", "redfish")
stalls = borrow("stalls", "crash")  # stores that do not answer
workspace = borrow("workspace", "crash")
clock = borrow("clock", "clock")
