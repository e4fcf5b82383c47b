"""What a test of the hammers works with: the driver, services, and certificates."""
import json
import os
import shutil
import subprocess
import tempfile
import time

from service import Replay, Service

HERE = os.path.dirname(os.path.abspath(__file__))
REDFISH = os.path.join(os.path.dirname(HERE), "redfish")
PLENTY = 60_000  # ms; nothing here takes that long unless it hangs

certificates = {}


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


CA_CONFIG = """[ca]
default_ca = it
[it]
database = {base}.index
rand_serial = yes
new_certs_dir = {folder}
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = IP:127.0.0.1
"""


def make_expired(folder):
    """A self-signed certificate of the last century."""
    base = os.path.join(folder, "expired")
    with open(base + ".conf", "w", encoding="ascii") as file:
        file.write(CA_CONFIG.format(base=base, folder=folder))
    with open(base + ".index", "w", encoding="ascii"):
        pass
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            base + ".key", "-subj", "/CN=127.0.0.1", "-out", base + ".csr")
    openssl("ca", "-batch", "-config", base + ".conf", "-selfsign", "-keyfile", base + ".key", "-in",
            base + ".csr", "-out", base + ".pem", "-notext", "-startdate", "19900101000000Z",
            "-enddate", "19910101000000Z")
    return base + ".pem", base + ".key"


def make_certificate(folder, name, subject="127.0.0.1", alternative="IP:127.0.0.1", signer=None):
    """A certificate and its key; signed by `signer` (another name), or by itself."""
    if name in certificates:
        return certificates[name]
    base = os.path.join(folder, name)
    key, cert = base + ".key", base + ".pem"
    common = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
              "-subj", f"/CN={subject}"]
    if signer is None:
        openssl("req", "-x509", *common, "-out", cert, "-days", "30", "-addext",
                f"subjectAltName={alternative}")
    else:
        ca_cert, ca_key = certificates[signer]
        openssl("req", *common, "-out", base + ".csr")
        with open(base + ".ext", "w", encoding="ascii") as file:
            file.write(f"subjectAltName={alternative}\n")
        openssl("x509", "-req", "-in", base + ".csr", "-CA", ca_cert, "-CAkey", ca_key,
                "-CAcreateserial", "-out", cert, "-days", "30", "-extfile", base + ".ext")
    certificates[name] = (cert, key)
    return certificates[name]


class Yard:
    def __init__(self, build, folder):
        self.folder = folder
        self.program = os.path.join(build, "tests", "hammer", "hammer-drive")
        self.scratch = tempfile.mkdtemp(dir=folder)
        self.errors = tempfile.TemporaryFile(dir=folder)
        self.things = []  # to be closed in the end
        self.process = None
        self.key = 0
        self.results = {}

    def start(self, ssh_key=None, poll_ms=5):
        words = [self.program, self.scratch, str(poll_ms)] + ([ssh_key] if ssh_key else [])
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)
        return self

    # -- orders ------------------------------------------------------------------------------------

    def send(self, line):
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line, "hammer-drive is gone"
        return json.loads(line)

    def give(self, hammers, category, method, args=None, node=1, deadline_ms=PLENTY):
        """Gives an order and returns its key."""
        self.key += 1
        hammers = [hammers] if isinstance(hammers, dict) else hammers
        self.send({"key": self.key, "node": {"id": node, "name": f"n{node}"}, "hammers": hammers,
                   "category": category, "method": method, "args": args or {},
                   "deadline_ms": deadline_ms})
        return self.key

    def take(self, key):
        while key not in self.results:
            result = self.read()
            self.results[result["key"]] = result
        return self.results.pop(key)

    def do(self, *words, **options):
        return self.take(self.give(*words, **options))

    def done(self, *words, **options):
        """Its value; fails unless it is done."""
        result = self.do(*words, **options)
        assert result["end"] == "done", result
        return result["value"]

    def fails(self, end, part, *words, **options):
        result = self.do(*words, **options)
        assert result["end"] == end and part in result["text"], result
        return result["text"]

    # -- peers -------------------------------------------------------------------------------------

    def trusted(self):
        return make_certificate(self.folder, "trusted")

    def service(self, flavour="generic", is_secure=True, **options):
        if is_secure and "cert" not in options:
            options["cert"], options["key"] = self.trusted()
        service = Service(flavour, **options)
        self.things.append(service)
        return service

    def replay(self, vendor, script="exchanges.json"):
        cert, key = self.trusted()
        replay = Replay(os.path.join(REDFISH, vendor), script, cert, key)
        self.things.append(replay)
        return replay

    def redfish(self, service, password="calvin", **extra):
        extra.setdefault("ca", self.trusted()[0])
        return {"class": "redfish", "priority": 5, "endpoint": service.url, "username": "root",
                "authenticator": password, "extra": {k: v for k, v in extra.items() if v is not None}}

    # -- the end -------------------------------------------------------------------------------------

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def close(self):
        """Everything has to end well: the driver's exit, no secret left, no leak."""
        if self.process:
            self.process.stdin.close()
            rest = self.process.stdout.read()
            status = self.process.wait()
            self.process.stdout.close()
            assert status == 0, f"hammer-drive left with {status}: {self.stderr()}"
            assert not rest, f"unexpected results: {rest}"
            self.process = None
        left = os.listdir(self.scratch)
        assert not left, f"left in scratch: {left}"
        self.abandon()

    def abandon(self):
        said = self.stderr()
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        for thing in reversed(self.things):
            thing.close()
        self.things = []
        shutil.rmtree(self.scratch, ignore_errors=True)
        return said


def until(condition, what, seconds=30):
    """Wait for a condition outside the driver, without a notification."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)
