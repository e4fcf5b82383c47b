"""One halligand as a process: started, queried over HTTP, killed, checked.

This module knows the contract of the program (its files, exit codes and environment) and
nothing about the requests. A Daemon may be started many times over the same data directory; at most one
process of it lives at a time, and it is ended by its pid only.
"""
import base64
import http.client
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
EXIT_OUSTED = 3
EXIT_HELD = 4
TRACE_SIZE = 64


class Trouble(Exception):
    """What ends a campaign in one line, and not with a traceback."""


class Violation(Trouble):
    """The daemon violated a guarantee."""


class Died(Trouble):
    """The process ended while a caller waited for it; `code` as subprocess gives it."""

    def __init__(self, code, said):
        super().__init__(f"the daemon ended with {code}: {said}")
        self.code = code


class NotSent(Trouble):
    """The connection was refused, so the request cannot have had an effect."""


class Lost(Trouble):
    """The request was sent, at least in part, and no whole answer came."""


class Unavailable(Trouble):
    """A read was answered 503."""


class Patience:
    """Sleeps that begin short and double, within a bound: the first checks are cheap, and a caller that
    waits long does not eat the processor that the awaited one needs."""

    def __init__(self, seconds, first=0.0005, longest=0.004):
        self.end = time.monotonic() + seconds
        self.next = first
        self.longest = longest

    def wait(self):
        """False when the time is over."""
        if time.monotonic() >= self.end:
            return False
        time.sleep(self.next)
        self.next = min(self.next * 2, self.longest)
        return True


class Answer:
    def __init__(self, status, body):
        self.status = status
        self.text = body.decode("utf-8", "replace")

    @property
    def json(self):
        try:
            return json.loads(self.text)
        except ValueError:
            raise Violation(f"an answer {self.status} is not JSON: {self.text[:200]!r}") from None


class Client:
    """One keep-alive connection with credentials."""

    def __init__(self, base_url, authorization):
        address = urllib.parse.urlsplit(base_url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        self.headers = {"Content-Type": "application/json"}
        if authorization:
            self.headers["Authorization"] = authorization

    def connect(self):
        if self.connection.sock is None:
            try:
                self.connection.connect()
            except OSError as error:
                raise NotSent(str(error)) from None

    def ask(self, method, path, body=None):
        self.connect()
        data = None if body is None else json.dumps(body).encode()
        try:
            self.connection.request(method, path, data, self.headers)
            response = self.connection.getresponse()
            return Answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise Lost(f"{type(error).__name__}: {error}") from None

    def get(self, path):
        answer = self.ask("GET", path)
        if answer.status == 503:
            raise Unavailable(answer.text[:300])
        if answer.status != 200:
            raise Violation(f"GET {path}: {answer.status} {answer.text[:300]}")
        return answer.json

    def close(self):
        self.connection.close()


class Daemon:
    def __init__(self, build, data, store=None, log=None):
        self.program = str(pathlib.Path(build).resolve() / "halligand")
        self.data = pathlib.Path(data)
        self.log_path = pathlib.Path(log) if log else self.data.with_name(self.data.name + ".log")
        self.store = store
        self.process = None
        self.url = None
        self.authorization = None  # of the token, once there is one

    # ---- its process ----

    def options(self):
        options = ["--data", str(self.data), "--test-jig", "--barclamps", str(HERE)]
        options += ["--admin-node", "none"]
        return options + (["--store", self.store] if self.store else [])

    def start(self, failpoint=None, trace=None, extra=None):
        """Start it and return at once. What the one before left would look like its own."""
        assert self.process is None
        self.data.mkdir(parents=True, exist_ok=True)
        (self.data / "listen").unlink(missing_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HALLIGAN_")}
        if failpoint:
            environment["HALLIGAN_FAILPOINT"] = failpoint
        if trace:
            pathlib.Path(trace).unlink(missing_ok=True)
            environment["HALLIGAN_FAILPOINT_TRACE"] = str(trace)
        environment.update(extra or {})
        where = ["--listen", "127.0.0.1:0", "--log-level", "notice"]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, *self.options(), *where],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def expect_alive(self):
        code = self.process.poll()
        if code is not None:
            self.process = None
            raise Died(code, self.last_words())

    def last_words(self):
        with open(self.log_path, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 600))
            return log.read().decode("utf-8", "replace").strip()

    def wait_ready(self, seconds=20):
        """Died when it ends meanwhile."""
        patience = Patience(seconds)
        while True:
            self.expect_alive()
            if self.answers_ready():
                return
            if not patience.wait():
                raise Violation(f"not ready after {seconds} s: {self.last_words()}")

    def answers_ready(self):
        try:
            url = (self.data / "listen").read_text()
        except FileNotFoundError:
            return False
        if not url.endswith("\n"):
            return False
        self.url = url.strip()
        client = Client(self.url, None)
        try:
            return client.ask("GET", "/readyz").status == 200
        except (NotSent, Lost):
            return False
        finally:
            client.close()

    def signal(self, number):
        if self.is_alive():
            self.process.send_signal(number)

    def wait_end(self, seconds=20):
        """The exit code; negative for a signal."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Violation(f"the daemon does not end within {seconds} s") from None
        self.process = None
        return code

    def kill(self):
        """SIGKILL cannot be caught, so there is no need to wait with a bound (subprocess
        would do that in naps). Also clean-up: harmless when it is not running."""
        if self.process is not None:
            self.signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def drain(self):
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait_end()

    def end_well(self):
        code = self.drain()
        if code != 0:
            raise Violation(f"exit {code} after SIGTERM: {self.last_words()}")

    # ---- talking to it ----

    def client(self):
        return Client(self.url, self.authorization)

    def log_in(self):
        """A bearer token, made with the password that the first start left behind: hashing a
        password with every request would be the slowest thing in these tests."""
        password = (self.data / "admin.password").read_text().strip()
        basic = base64.b64encode(f"admin:{password}".encode()).decode()
        client = Client(self.url, "Basic " + basic)
        answer = client.ask("POST", "/api/v2/tokens", {"name": "crash tests"})
        client.close()
        if answer.status not in (200, 201):
            raise Violation(f"no token for admin: {answer.status} {answer.text[:300]}")
        self.authorization = "Bearer " + answer.json["token"]

    # ---- checks of the files it left ----

    def check(self):
        """`halligand check`, while no process runs."""
        done = subprocess.run(
            [self.program, "check", *self.options()],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )
        if done.returncode != 0:
            raise Violation(f"check: exit {done.returncode}: {done.stdout}{done.stderr}".strip())

    def failpoints(self):
        listed = subprocess.run(
            [self.program, "--list-failpoints"],
            capture_output=True, text=True, check=True, timeout=10,
        )
        return listed.stdout.split()


def read_trace(path):
    """The last failpoint that a process passed; "" when it came to none."""
    try:
        with open(path, "rb") as trace:
            return trace.read(TRACE_SIZE).split(b"\0", 1)[0].decode("ascii", "replace")
    except FileNotFoundError:
        return ""
