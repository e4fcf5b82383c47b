"""meson install: everything an installation needs, each in its place."""
import json
import os
import re
import shutil
import stat
import subprocess

MESON = shutil.which("meson", path="/usr/bin") or "meson"


def install(bench):
    """Into a directory of our own; where things would lie, from there on."""
    root = bench.path("root")
    command = [MESON, "install", "-C", bench.build, "--no-rebuild", "--destdir", root]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    command = [MESON, "introspect", "--buildoptions", bench.build]
    options = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    values = {option["name"]: option["value"] for option in json.loads(options.stdout)}
    return root, root + values["prefix"]


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def test_programs_and_content_are_installed(bench):
    root, prefix = install(bench)
    for program in ["bin/halligan", "sbin/halligand"]:
        path = os.path.join(prefix, program)
        assert os.access(path, os.X_OK), files_below(root)
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and done.stdout, done
    shelf = os.path.join(prefix, "share/halligan/barclamps")
    assert files_below(shelf) == files_below(os.path.join(bench.root, "barclamps"))
    done = subprocess.run([os.path.join(prefix, "bin/halligan"), "barclamp", "check", "--strict", shelf],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    runner = os.path.join(shelf, "crowbar/scripts/crowbar-access/10-keys.sh")
    original = os.path.join(bench.root, "barclamps/crowbar/scripts/crowbar-access/10-keys.sh")
    assert stat.S_IMODE(os.stat(runner).st_mode) & 0o111 == stat.S_IMODE(os.stat(original).st_mode) & 0o111


def test_what_is_told_about_them_is_installed_too(bench):
    root, prefix = install(bench)
    for path in ["share/man/man1/halligan.1", "share/man/man8/halligand.8",
                 "share/doc/halligan/halligan.conf.example", "lib/systemd/system/halligand.service",
                 "share/bash-completion/completions/halligan", "share/zsh/site-functions/_halligan",
                 "share/fish/vendor_completions.d/halligan.fish"]:
        assert os.path.isfile(os.path.join(prefix, path)), files_below(root)
    with open(os.path.join(prefix, "lib/systemd/system/halligand.service")) as file:
        program = re.search("^ExecStart=([^ ]+)", file.read(), re.M).group(1)
    assert os.access(root + program, os.X_OK), program
