"""What the sandbox forbids, and the privileges of the running program."""
import errno
import os
import signal
import subprocess

from daemon import PLENTY
from segment import USER

# Calls that are refused by Landlock or for lack of a capability, and those that are allowed.
REFUSED = {"open_outside": errno.EACCES, "connect_tcp": errno.EACCES, "bind_tcp": errno.EACCES,
           "bind_tftp": errno.EACCES, "socket_raw": errno.EPERM}
ALLOWED = ("open_read", "bind_udp", "socket_unix", "socket_inet6", "map")


def test_every_other_call_kills_the_process(segment):
    drive = os.path.join(segment.build, "tests", "boot", "sandbox-drive")
    segment.file("file", b"content", 0o666)
    names = subprocess.run([drive, "--list"], check=True, capture_output=True, text=True).stdout
    for name in names.split():
        done = subprocess.run([drive, USER, segment.files, name], check=False, text=True,
                              capture_output=True, timeout=PLENTY)
        if name in ALLOWED:
            assert done.stdout.startswith("done"), (name, done)
        elif name in REFUSED:
            assert done.stdout == f"failed {REFUSED[name]}\n", (name, done)
        else:
            assert done.returncode == -signal.SIGSYS and not done.stdout, (name, done)
    assert set(REFUSED) | set(ALLOWED) < set(names.split())
    with open(os.path.join(segment.files, "file"), "rb") as file:
        assert file.read() == b"content"


def test_the_program_has_no_privileges(segment):
    segment.start()
    status = segment.status()
    assert status["Uid"].split() == ["65534"] * 4 and status["Gid"].split() == ["65534"] * 4
    assert status["Groups"].strip() == ""
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, (name, status[name])
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert status["Threads"] == "1"
    assert segment.stop() == 0


def test_the_user_must_exist(segment):
    code, text = segment.check(user="no-such-user")
    assert code == 1 and 'the user "no-such-user" does not exist' in text, text
    code, text = segment.check(user="root")
    assert code == 1 and 'the user "root" does not exist, or is root' in text, text


def test_an_unprivileged_start_reports_what_is_missing(segment):
    command = segment.command("--check")
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all",
                           "--bounding-set=-all", *command[4:]], check=False, text=True,
                          capture_output=True, timeout=PLENTY)
    assert "the capability CAP_NET_RAW is missing" in done.stdout, done
    assert "the capability CAP_NET_BIND_SERVICE is missing" in done.stdout, done


def test_ambient_capabilities_suffice(segment):
    command = segment.command()
    segment.program = None
    with open(segment.log, "ab") as log:
        segment.process = subprocess.Popen(
            [*command[:4], "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             "--inh-caps=-all,+net_raw,+net_bind_service",
             "--ambient-caps=-all,+net_raw,+net_bind_service", *command[4:]], stdout=log, stderr=log)
    segment.await_log("privileges were dropped")
    segment.serve()
    status = segment.status()
    assert int(status["CapPrm"], 16) == int(status["CapAmb"], 16) == 0
    assert "is missing:" not in segment.logged().replace("kpxe is missing", "").replace(
        "efi is missing", ""), segment.logged()
    assert segment.get("/files/none")[0] == 404
    assert segment.stop() == 0
