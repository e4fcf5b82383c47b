"""A halligand of the test, and a client for it. Standard library only."""
import base64
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.parse

START_S = 60  # sanitized builds on a busy machine are slow
STOP_S = 30
WAIT_S = 30
HASHING_S = 120  # so are passwords there, many at a time

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "barclamps")
POSTGRES = "/usr/lib/postgresql/15/bin"

BARCLAMP = {
    "barclamp": {"name": "apitest", "source_path": "/apitest"},
    "jigs": [
        {"name": "noop", "class": "noop"},
        {"name": "test", "class": "test"},
        {"name": "script", "class": "script"},
    ],
    "hammers": [{"name": "ssh", "type": "ssh", "priority": 0}],
    "bootenvs": [{"name": "apitest-install", "kernel": "apitest/linux", "initrd": ["apitest/initrd"],
                  "args": "quiet", "method": "installer", "os": "apitest"}],
    "roles": [
        {"name": "base", "jig": "test", "flags": ["implicit"]},
        {
            "name": "middle",
            "jig": "test",
            "requires": ["base"],
            "provides": ["centre"],
            "flags": ["implicit"],
        },
        {"name": "top", "jig": "test", "requires": ["middle"]},
        {"name": "goal", "jig": "noop", "flags": ["milestone"]},
        {"name": "ghost", "jig": "test", "flags": ["abstract"]},
        {"name": "enemy", "jig": "test", "conflicts": ["base"]},
    ],
}


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.text = body.decode("utf-8")

    @property
    def type(self):
        return self.headers.get("Content-Type") or ""

    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text[:500]}"


class Client:
    """One connection for each request: nothing is shared between tests but the daemon."""

    def __init__(self, url, authorization=None):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.authorization = authorization
        self.has_tls = parts.scheme == "https"

    def connect(self):
        """Certificates are verified where they are tested (test_tls.py), not here."""
        if not self.has_tls:
            return http.client.HTTPConnection(self.host, self.port, timeout=WAIT_S)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.host, self.port, timeout=WAIT_S, context=context)

    def ask(self, method, path, body=None, headers=None, raw=None, form=None):
        """`body` is sent as JSON, `form` form-encoded, `raw` as it is."""
        wanted = dict(headers or {})
        data = raw
        if self.authorization and "Authorization" not in wanted:
            wanted["Authorization"] = self.authorization
        if body is not None:
            data = json.dumps(body).encode()
            wanted.setdefault("Content-Type", "application/json")
        if form is not None:
            data = urllib.parse.urlencode(form).encode()
            wanted.setdefault("Content-Type", "application/x-www-form-urlencoded")
        if not path.startswith("/"):
            path = "/api/v2/" + path
        connection = self.connect()
        try:
            connection.request(method, path, body=data, headers=wanted)
            answer = connection.getresponse()
            return Response(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)

    def put(self, path, body=None, **more):
        return self.ask("PUT", path, body, **more)

    def patch(self, path, body=None, **more):
        return self.ask("PATCH", path, body, **more)

    def delete(self, path, **more):
        return self.ask("DELETE", path, **more)


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def eventually(look, what):
    """Polls until it is true; fails at the deadline."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.02)


def another_store(url, name):
    """The URL of a new database beside that one; None, which is a SQLite file, for none."""
    if not url or not url.startswith("postgres"):
        return None
    parts = urllib.parse.urlsplit(url)
    host = urllib.parse.parse_qs(parts.query).get("host", [parts.hostname])[0]
    program = shutil.which("createdb", path=os.environ["PATH"] + ":" + POSTGRES)
    command = [program, "-h", host, "-U", parts.username, "--maintenance-db", parts.path[1:], name]
    subprocess.run(command, check=True)
    return urllib.parse.urlunsplit(parts._replace(path="/" + name))


class Daemon:
    def __init__(self, build, store=None, barclamps=None, has_admin_node=False):
        self.program = os.path.join(build, "halligand")
        self.has_admin_node = has_admin_node
        self.store = store
        self.barclamps = barclamps
        self.data = tempfile.mkdtemp(prefix="halligan-api-")
        self.process = None
        self.url = None
        self.password = None
        self.token = None
        os.mkdir(os.path.join(self.data, "barclamps"))
        with open(os.path.join(self.data, "barclamps", "apitest.json"), "w") as file:
            json.dump(BARCLAMP, file)

    def path(self, name):
        return os.path.join(self.data, name)

    def read(self, name):
        try:
            with open(self.path(name)) as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def start(self):
        command = [self.program, "--data", self.data, "--listen", "127.0.0.1:0", "--test-jig"]
        if not self.has_admin_node:
            command += ["--admin-node", "none"]  # tests count nodes; see test_admin_node.py
        command += ["--barclamps", self.barclamps or self.path("barclamps")]
        command += ["--log-level", "warning"]
        if self.store:
            command += ["--store", self.store]
        if os.path.exists(self.path("listen")):
            os.unlink(self.path("listen"))  # left by a killed daemon
        self.log = open(self.path("stderr"), "ab")
        # A sanitized build keeps what was freed for a while; tests look at how much memory it has.
        checks = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log,
                                        env={**os.environ, "ASAN_OPTIONS": checks})
        deadline = time.monotonic() + START_S
        while not self.read("listen"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("halligand did not start:\n" + self.read("stderr"))
            time.sleep(0.02)
        self.url = self.read("listen")
        self.password = self.read("admin.password")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(timeout=STOP_S)
        self.process = None
        self.log.close()
        return code

    def with_password(self):
        return Client(self.url, basic("admin", self.password))

    def client(self):
        if not self.token:
            answer = self.with_password().post("tokens", {"name": "tests/api"})
            assert answer.status == 200, answer
            self.token = answer.json()["token"]
        return Client(self.url, "Bearer " + self.token)

    def stranger(self):
        return Client(self.url)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.data, ignore_errors=True)


class Own:
    """A daemon on a SQLite store, started as a test wants it."""

    def __init__(self, daemon, has_admin_node=False):
        self.program = daemon.program
        self.has_admin_node = has_admin_node
        self.data = tempfile.mkdtemp(prefix="halligan-start-")
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.data)

    def path(self, name):
        return os.path.join(self.data, name)

    def read(self, name):
        try:
            with open(self.path(name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def command(self, words):
        """Without an admin node of its own, unless the test names one or asks for the default."""
        own = [] if "--admin-node" in words or self.has_admin_node else ["--admin-node", "none"]
        return [self.program, "--data", self.data, "--listen", "127.0.0.1:0", *own, *words]

    def run(self, *words):
        """One that is expected to end by itself."""
        command = self.command(words)
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def launch(self, *words, **more):
        command = self.command(words)
        with open(self.path("stderr"), "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **more)

    def start(self, *words):
        self.launch(*words)
        eventually(lambda: self.read("listen") or self.process.poll() is not None, "it listens")
        assert self.process.poll() is None, self.read("stderr")

    def says(self, text, times=1):
        eventually(lambda: self.read("stderr").count(text) >= times, f"it says {text}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_S)

    @property
    def client(self):
        password = self.read("admin.password").strip()
        return Client(self.read("listen").strip(), basic("admin", password))


class From:
    """Asks a daemon of a test from an address of the loopback network."""

    def __init__(self, own, address="127.0.0.1"):
        self.host = urllib.parse.urlsplit(own.read("listen").strip()).netloc
        self.address = address

    def ask(self, method, path, body=None, **headers):
        names = {key.replace("_", "-"): value for key, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, timeout=HASHING_S,
                                                source_address=(self.address, 0))
        try:
            connection.request(method, "/api/v2/" + path, body and json.dumps(body), names)
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)
