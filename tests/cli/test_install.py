"""meson install: everything an installation needs, each in its place."""
import json
import os
import re
import shutil
import stat
import subprocess

MESON = shutil.which("meson", path="/usr/bin") or "meson"


def install(bench):
    """Install into a temporary directory; returns it and the prefix in it."""
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
    for program in ["bin/halligan", "sbin/halligand", "sbin/halligan-boot"]:
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


def test_documentation_is_installed(bench):
    root, prefix = install(bench)
    for path in ["share/man/man1/halligan.1", "share/man/man8/halligand.8",
                 "share/doc/halligan/halligan.conf.example", "share/doc/halligan/operating.md",
                 "share/doc/halligan/runbook.md", "share/doc/halligan/messages.md",
                 "share/doc/halligan/README.md", "share/doc/halligan/CHANGELOG.md",
                 "share/doc/halligan/adr/README.md", "share/man/man8/halligan-exec.8",
                 "share/man/man8/halligan-boot.8", "lib/systemd/system/halligan-boot.service",
                 "lib/sysusers.d/halligan-boot.conf", "bin/halligan-inventory", "bin/halligan-barclamp",
                 "lib/systemd/system/halligand.service",
                 "share/bash-completion/completions/halligan", "share/zsh/site-functions/_halligan",
                 "share/fish/vendor_completions.d/halligan.fish"]:
        assert os.path.isfile(os.path.join(prefix, path)), files_below(root)
    with open(os.path.join(prefix, "lib/systemd/system/halligand.service")) as file:
        program = re.search("^ExecStart=([^ ]+)", file.read(), re.M).group(1)
    assert os.access(root + program, os.X_OK), program


def test_the_installed_inventory_is_a_program_that_ansible_can_call(bench):
    _, prefix = install(bench)
    program = os.path.join(prefix, "bin/halligan-inventory")
    environment = bench.environment(**bench.credentials())
    environment["PATH"] = os.path.join(prefix, "bin") + ":" + environment["PATH"]
    done = subprocess.run([program, "--list"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "_meta" in json.loads(done.stdout), done
    done = subprocess.run([program, "--host", "nosuch.example.com"], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode in (0, 4), done


def directives(path):
    """(section, key) -> values."""
    found, section = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line.startswith("["):
                section = line[1:-1]
            elif line and not line.startswith("#"):
                key, _, value = line.partition("=")
                found.setdefault((section, key), []).append(value)
    return found


def test_the_unit_restarts_a_daemon_that_lost_the_lead(bench):
    unit = os.path.join(bench.root, "packaging/systemd/halligand.service")
    found = directives(unit)
    assert found["Service", "Restart"] == ["on-failure"], found
    # 2 is a wrong configuration; 3, 4 and 1 are tried again, and the unit never gives up.
    assert found["Service", "RestartPreventExitStatus"] == ["2"], found
    assert found["Unit", "StartLimitIntervalSec"] == ["0"], found
    # After exit 3 the restart waits for half a minute.
    (wait,) = [w for w in found["Service", "ExecStopPost"] if "EXIT_STATUS" in w]
    pause = int(re.search(r"sleep (\d+)", wait).group(1)) + int(found["Service", "RestartSec"][0])
    assert pause == 30 and pause <= int(found["Service", "TimeoutStopSec"][0]), found
    script = re.search(r"-c '(.*)'$", wait).group(1).replace("sleep", "echo sleep").replace("$$", "$")
    for status, says in [("3", True), ("1", False), ("0", False)]:
        done = subprocess.run(["/bin/sh", "-c", script], env={"EXIT_STATUS": status, "PATH": "/bin:/usr/bin"},
                              capture_output=True, text=True, timeout=10, check=False)
        assert ("sleep" in done.stdout) == says and done.returncode == 0, (status, done)


def test_systemd_can_read_the_unit(bench):
    root, prefix = install(bench)
    for name in ["halligand.service", "halligan-boot.service"]:
        with open(os.path.join(prefix, "lib/systemd/system", name), encoding="utf-8") as file:
            text = file.read()
        # verify looks for the program; it is below the destination directory.
        text = re.sub(r"^(ExecStart=|ExecStartPre=-\+)", r"\1" + root, text, flags=re.M)
        bench.write(name, text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", bench.path(name)], capture_output=True,
                              text=True, timeout=60, check=False)
        said = [line for line in (done.stdout + done.stderr).splitlines() if name in line]
        assert done.returncode == 0 and not said, done


def test_manual_pages_have_a_date_and_the_version(bench):
    with open(os.path.join(bench.root, "meson.build"), encoding="utf-8") as file:
        version = re.search(r"version: '([\d.]+)'", file.read()).group(1)
    for page in ["halligan.1", "halligand.8", "halligan-exec.8", "halligan-boot.8"]:
        with open(os.path.join(bench.root, "docs/man", page), encoding="utf-8") as file:
            head = file.readline()
        match = re.fullmatch(r'\.TH [A-Z-]+ [18] "(\d{4}-\d{2}-\d{2})" "Halligan ([\d.]+)" "[A-Za-z ]+"\n', head)
        assert match and match.group(2) == version and match.group(1) >= "2026-01-01", head


def test_the_role_of_puppet_keeps_the_file_that_it_replaces(bench):
    script = os.path.join(bench.root, "barclamps/puppet/scripts/puppet-agent_sa/10-agent.sh")
    bench.write("bin/puppet", "#!/bin/sh\n", 0o755)
    bench.write("bin/read_attribute", "#!/bin/sh\necho n1.example.com\n", 0o755)
    os.chmod(bench.path("bin/puppet"), 0o755)
    os.chmod(bench.path("bin/read_attribute"), 0o755)
    bench.write("etc/puppet.conf", "[main]\nserver = old\n")
    environment = bench.environment(HALLIGAN_PUPPET_DIR=bench.path("etc"))
    environment["PATH"] = bench.path("bin") + ":" + environment["PATH"]

    def run():
        done = subprocess.run(["sh", script], env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done
        with open(bench.path("etc/puppet.conf"), encoding="utf-8") as file:
            assert "certname = n1.example.com" in file.read()
        with open(bench.path("etc/puppet.conf.before-halligan"), encoding="utf-8") as file:
            return file.read()

    assert run() == "[main]\nserver = old\n"
    assert run() == "[main]\nserver = old\n"  # its own file is no reason for another copy
    assert sorted(os.listdir(bench.path("etc"))) == ["puppet.conf", "puppet.conf.before-halligan"]
    bench.write("etc/puppet.conf", "[main]\nserver = other\n")  # a package or a person wrote it again
    assert run() == "[main]\nserver = old\n"
    with open(bench.path("etc/puppet.conf.before-halligan.2"), encoding="utf-8") as file:
        assert file.read() == "[main]\nserver = other\n"
    bench.write("etc/puppet.conf", "[main]\nserver = other\n")
    run()
    assert sorted(os.listdir(bench.path("etc"))) == \
        ["puppet.conf", "puppet.conf.before-halligan", "puppet.conf.before-halligan.2"]
