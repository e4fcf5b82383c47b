"""A wall clock that a test can set, in a daemon that runs: see clock_shim.c.

    clock = Clock(build, path)            # path: a file that is made, beside the daemon's data
    subprocess.Popen(..., env=clock.environment())
    clock.set(10 * YEAR_S)                # from now on the process lives ten years later
"""
import os

MINUTE_S = 60
HOUR_S = 3600
DAY_S = 24 * HOUR_S
YEAR_S = 365 * DAY_S


class Clock:
    def __init__(self, build, path):
        self.shim = os.path.join(os.path.abspath(build), "tests", "clock", "clock_shim.so")
        assert os.path.exists(self.shim), f"{self.shim} is not built"
        self.path = path
        self.set(0)

    def set(self, seconds):
        """Ahead of the kernel's clock by so many seconds. Readers see the old or the new value."""
        with open(self.path + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(self.path + ".new", self.path)

    def environment(self):
        # The sanitizer's runtime would refuse to start behind another preloaded library.
        checks = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {**os.environ, "LD_PRELOAD": self.shim, "HALLIGAN_CLOCK": self.path,
                "ASAN_OPTIONS": checks}
