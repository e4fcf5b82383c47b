"""Start, reload and stop: each daemon has its own directory."""
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import tempfile
import urllib.parse

from daemon import STOP_S, Own, eventually

FAILED, USAGE = 1, 2


def refuses(own, *words):
    done = own.run()
    assert done.returncode == FAILED, done
    for word in words:
        assert word in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


# ---- what is trusted ----


def test_a_directory_that_others_may_write_is_refused(daemon):
    with Own(daemon) as own:
        for mode in (0o770, 0o707, 0o720, 0o777):
            os.chmod(own.data, mode)
            refuses(own, "chmod 700", own.data)
        assert sorted(os.listdir(own.data)) == []
        if os.geteuid() == 0:  # only root can give it away
            os.chmod(own.data, 0o700)
            os.chown(own.data, 1, 1)
            refuses(own, "belongs to user 1", "chmod 700")
            os.chown(own.data, 0, 0)
        os.chmod(own.data, 0o755)
        own.start()
        assert own.stop() == 0


def test_links_in_the_directory_are_not_followed(daemon):
    for name in ("lock", "halligan.db.lock", "test-jig.journal"):
        with Own(daemon) as own:
            own.write("victim", "precious")
            os.symlink("victim", own.path(name))
            refuses(own, name)
            assert own.read("victim") == "precious"


def test_a_password_that_others_may_know_is_refused(daemon):
    with Own(daemon) as own:
        # One that died between the password and its user: the next start takes the password.
        own.launch(env={**os.environ, "HALLIGAN_FAILPOINT": "admin.file.after:1"})
        assert own.process.wait(timeout=STOP_S) == -signal.SIGABRT, own.read("stderr")
        wrong = (("short\n", 0o600), ("long enough it is\n", 0o644), ("long enough\n", 0o600))
        for text, mode in wrong:
            own.write("admin.password", text, mode)
            done = own.run()
            assert done.returncode == FAILED and "chmod 600" in done.stderr, done
            assert "at least 12 characters" in done.stderr and own.read("admin.password") == text
        own.write("admin.password", "long enough it is\n")
        own.start()
        assert own.client.get("deployments").status == 200
        assert own.stop() == 0


def test_a_missing_database_is_reported(daemon):
    with Own(daemon) as own:
        own.start()
        assert own.client.post("deployments", {"name": "kept"}).status == 200
        assert own.stop() == 0
        done = own.run("backup", own.path("backup"))
        assert done.returncode == 0, done
        password = own.read("admin.password")
        for end in ("", "-wal", "-shm"):
            if os.path.exists(own.path("halligan.db" + end)):
                os.unlink(own.path("halligan.db" + end))
        gone = ("used data directory", own.path("halligan.db"), "restore a backup")
        refuses(own, *gone)
        assert not os.path.exists(own.path("halligan.db"))
        own.write("halligan.db", "")
        refuses(own, *gone)
        assert own.read("halligan.db") == "" and own.read("admin.password") == password
        os.unlink(own.path("halligan.db"))
        assert own.run("restore", own.path("backup")).returncode == FAILED  # it is not empty
        done = own.run("restore", own.path("backup"), "--keep-existing")
        assert done.returncode == 0, done
        own.start()
        assert own.client.get("deployments/kept").status == 200
        assert own.stop() == 0
        os.unlink(own.path("halligan.db"))
        os.unlink(own.path("admin.password"))
        own.start()  # anew, since that is what removing it means
        assert own.client.get("deployments/kept").status == 404
        assert own.stop() == 0


def test_a_pipe_among_the_barclamps_does_not_block(daemon):
    with Own(daemon) as own:
        os.mkdir(own.path("barclamps"))
        os.mkfifo(own.path("barclamps/pipe.json"))
        own.start("--barclamps", own.path("barclamps"))
        assert "pipe.json" in own.read("stderr")
        assert own.stop() == 0


# ---- command line ----


def test_an_option_is_no_value_of_another(daemon):
    with Own(daemon) as own:
        for words in (["--store", "--check-config"], ["--barclamps", "--test-jig"], ["--config"]):
            done = own.run(*words)
            assert done.returncode == USAGE and "needs a value" in done.stderr, done
        done = own.run("--barclamps=--odd", "--check-config")
        assert done.returncode == 0, done
        assert os.listdir(own.data) == []


# ---- SIGHUP ----


def test_a_reload_that_comes_too_early_does_no_harm(daemon):
    """The signal is sent from before main() begins until the daemon listens."""
    with Own(daemon) as own, tempfile.TemporaryDirectory() as folder:
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(os.path.join(folder, "notify"))
        manager.settimeout(STOP_S)
        told = {**os.environ, "NOTIFY_SOCKET": manager.getsockname()}
        own.launch("--log-level", "notice", env=told)
        wait_for_main(own)
        while not own.read("listen") and own.process.poll() is None:
            own.process.send_signal(signal.SIGHUP)
        assert own.process.poll() is None, own.process.returncode
        assert manager.recv(4096).startswith(b"READY=1"), "nothing but READY comes first"
        assert own.client.get("deployments").status == 200
        own.process.send_signal(signal.SIGHUP)
        own.says("reloading")
        assert own.stop() == 0
        manager.close()


def wait_for_main(own):
    """No process can ignore a signal before its first instruction: waits until it does."""

    def ignores():
        with open(f"/proc/{own.process.pid}/status") as file:
            text = file.read()
        masks = re.findall(r"Sig(?:Ign|Cgt):\s*([0-9a-f]+)", text)
        return any(int(mask, 16) & 1 << (signal.SIGHUP - 1) for mask in masks)

    eventually(ignores, "SIGHUP does no harm")


def test_a_reload_during_a_reload_is_not_forgotten(daemon):
    with Own(daemon) as own:
        own.write("conf", "test-jig = off\nlog-level = notice\n")
        own.start("--config", own.path("conf"))
        other = sqlite3.connect(own.path("halligan.db"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # so that the first change waits
        for number, value in enumerate(("on", "off"), 1):
            own.write("conf", f"test-jig = {value}\nlog-level = notice\n")
            own.process.send_signal(signal.SIGHUP)
            own.says("reloading", number)
        other.execute("ROLLBACK")
        other.close()
        own.says("test jig turned on")
        own.says("test jig turned off")
        assert own.stop() == 0


# ---- stop ----


def connect(own):
    parts = urllib.parse.urlsplit(own.read("listen").strip())
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what is not read stays with it
    link.settimeout(STOP_S)
    link.connect((parts.hostname, parts.port))
    return link


def read_all(link):
    text = b""
    while piece := link.recv(1 << 16):
        text += piece
    return text


def body_of(answer):
    """Without the lengths of its chunks, if it came in such."""
    head, body = answer.split(b"\r\n\r\n", 1)
    if b"transfer-encoding: chunked" not in head.lower():
        return body
    text, rest = b"", body
    while True:
        size, rest = rest.split(b"\r\n", 1)
        if int(size, 16) == 0:
            return text
        text, rest = text + rest[: int(size, 16)], rest[int(size, 16) + 2 :]


def test_a_half_read_request_is_answered_before_the_end(daemon):
    with Own(daemon) as own:
        own.start("--log-level", "notice")
        token = own.client.post("tokens", {"name": "t"}).json()["token"]
        body = json.dumps({"name": "late"}).encode()
        head = "POST /api/v2/deployments HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        head += f"Authorization: Bearer {token}\r\n\r\n"
        with connect(own) as link:
            link.sendall(head.encode() + body[:5])
            assert own.client.get("deployments").status == 200  # that one came later: it is read
            own.process.send_signal(signal.SIGTERM)
            own.says("stopping")
            link.sendall(body[5:])
            answer = read_all(link)
        assert b" 200 " in answer.split(b"\r\n")[0] and b'"late"' in answer, answer
        assert own.process.wait(timeout=STOP_S) == 0


def test_why_names_a_daemon_that_is_stopping(daemon):
    with Own(daemon) as own:
        own.start("--log-level", "notice")
        token = own.client.post("tokens", {"name": "t"}).json()["token"]
        head = "GET /api/v2/deployments/system/why HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 2\r\n"
        head += f"Authorization: Bearer {token}\r\n\r\n"
        with connect(own) as link:
            link.sendall(head.encode() + b"{")
            assert own.client.get("deployments").status == 200  # that one came later: it is read
            own.process.send_signal(signal.SIGTERM)
            own.says("stopping")
            link.sendall(b"}")
            why = json.loads(body_of(read_all(link)))
        assert [(f["code"], f["object"]) for f in why["installation"]] == [("stopping", "daemon")], why
        assert own.process.wait(timeout=STOP_S) == 0


def test_a_long_answer_is_sent_before_the_end(daemon):
    with Own(daemon) as own:
        own.start("--log-level", "notice")
        me = own.client
        me.authorization = "Bearer " + me.post("tokens", {"name": "t"}).json()["token"]
        for number in range(200):
            made = me.post("deployments", {"name": f"d{number}", "description": "x" * 60000})
            assert made.status == 200, made
        head = "GET /api/v2/deployments HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += f"Authorization: {me.authorization}\r\n\r\n"
        with connect(own) as link:
            link.sendall(head.encode())
            first = link.recv(1)  # it is on its way, and more of it than buffers hold
            own.process.send_signal(signal.SIGTERM)
            own.says("stopping")
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)  # it may come now
            answer = first + read_all(link)
        assert len(json.loads(body_of(answer))) == 201
        assert own.process.wait(timeout=STOP_S) == 0


# ---- what a crash leaves ----


def test_a_stale_listen_file_is_not_trusted(daemon):
    with Own(daemon) as own:
        assert own.run("url").returncode == FAILED  # there never was one
        own.start()
        said = own.run("url")
        assert said.returncode == 0 and said.stdout == own.read("listen"), said
        own.process.kill()
        own.process.wait()
        assert own.read("listen")  # no process was left to remove it
        said = own.run("url")
        assert said.returncode == FAILED and said.stdout == "", said
        # The next one removes it before anything else, also when it does not come up.
        os.rename(own.path("halligan.db"), own.path("away"))
        assert own.run().returncode == FAILED
        assert not os.path.exists(own.path("listen"))


def core_limit(own):
    with open(f"/proc/{own.process.pid}/limits") as file:
        return re.search(r"^Max core file size +(\S+) +(\S+)", file.read(), re.M).groups()


def test_a_crash_leaves_no_core_file_unless_that_is_wanted(daemon):
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    wanted = min(1 << 20, hard) if hard != resource.RLIM_INFINITY else 1 << 20

    def allow():
        resource.setrlimit(resource.RLIMIT_CORE, (wanted, hard))

    for words, limit in (((), "0"), (("--core-dumps",), str(wanted))):
        with Own(daemon) as own:
            # A sanitizer has a limit of its own.
            checks = os.environ.get("ASAN_OPTIONS", "") + ":disable_coredump=0"
            own.launch(*words, preexec_fn=allow, env={**os.environ, "ASAN_OPTIONS": checks})
            eventually(lambda: own.read("listen") or own.process.poll() is not None, "it listens")
            assert core_limit(own)[0] == limit, core_limit(own)
            assert own.stop() == 0
