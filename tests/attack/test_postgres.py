"""PostgreSQL stopped (SIGSTOP), killed and restarted under load: what is answered, and that nothing
acknowledged is lost. The deadlines themselves are measured by tests/crash/stalls.py."""
import os
import signal
import subprocess
import threading
import time

from daemon import eventually
from installation import HERE

TOOL = os.path.join(HERE, "..", "..", "tools", "postgres")
CLIENTS = 4
PROBE_S = 10  # what never waits answers within this, on any machine


class Cluster:
    """A throw-away server; what is acknowledged survives its death."""

    def __init__(self, path):
        self.path = path
        self.url = self.run("start", "--durable")

    def run(self, verb, *words):
        done = subprocess.run([TOOL, verb, self.path, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def pids(self):
        """The postmaster and its children."""
        with open(os.path.join(self.path, "data", "postmaster.pid")) as file:
            first = int(file.readline())
        children = open(f"/proc/{first}/task/{first}/children").read().split()
        return [first] + [int(pid) for pid in children]

    def signal(self, number):
        for pid in self.pids():
            os.kill(pid, number)

    def kill(self):
        """All processes at once, as a crash of the machine would."""
        pids = self.pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "it is gone")

    def stop(self):
        self.run("stop")


class Load:
    """Clients that make nodes as fast as they are answered, and remember each answer."""

    def __init__(self, daemon):
        self.daemon, self.is_over, self.count = daemon, False, 0
        self.acknowledged, self.refused, self.unknown, self.statuses = set(), set(), set(), {}
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._work) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def _work(self):
        client = self.daemon.client()
        while not self.is_over:
            with self.lock:
                self.count += 1
                name = f"l{self.count}.example.com"
            try:
                status = client.post("nodes", {"name": name}).status
            except OSError:
                status = 0
            with self.lock:
                self.statuses[status] = self.statuses.get(status, 0) + 1
                if status == 200:
                    self.acknowledged.add(name)
                elif status in (429, 503):
                    self.refused.add(name)
                else:
                    self.unknown.add(name)
            if status != 200:
                time.sleep(0.05)

    def progresses(self):
        before = len(self.acknowledged)
        eventually(lambda: len(self.acknowledged) > before, "changes are taken")

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def check(self):
        """Acknowledged is there, refused is not, and only 500 and a cut answer leave it open."""
        there = {node["name"] for node in self.daemon.client().get("nodes").json()}
        lost = self.acknowledged - there
        assert not lost, f"{len(lost)} acknowledged nodes are gone: {sorted(lost)[:5]}"
        done = self.refused & there
        assert not done, f"{len(done)} refused nodes are there: {sorted(done)[:5]}"
        assert set(self.statuses) <= {0, 200, 429, 500, 503}, self.statuses
        assert self.acknowledged


def ask(daemon, path):
    """The status of what must never wait."""
    began = time.monotonic()
    client = daemon.stranger() if path != "/metrics" else daemon.client()
    answer = client.get(path)
    assert time.monotonic() - began < PROBE_S, f"{path} waited"
    return answer


def with_load(attack, disturb):
    daemon = attack.installation()
    os.chmod(daemon.data, 0o711)  # the server runs under another user
    cluster = Cluster(daemon.path("pg"))
    try:
        daemon.store = cluster.url
        daemon.start()
        daemon.client()
        load = Load(daemon)
        try:
            eventually(lambda: len(load.acknowledged) > 50, "changes are taken")
            disturb(daemon, cluster, load)
            eventually(lambda: daemon.stranger().get("/readyz").status == 200, "it is ready again")
            load.progresses()
        finally:
            load.stop()
        load.check()
        daemon.expect_well()
        daemon.end()
        print(f"postgres: {len(load.acknowledged)} acknowledged, {load.statuses}")
    finally:
        if daemon.is_alive():
            daemon.process.kill()
            daemon.process.wait()
        cluster.stop()


def test_postgres_is_stopped(attack):
    def disturb(daemon, cluster, load):
        cluster.signal(signal.SIGSTOP)
        try:
            eventually(lambda: ask(daemon, "/readyz").status == 503, "the stall is reported")
            for _ in range(3):
                assert ask(daemon, "/healthz").status == 200
                assert ask(daemon, "/readyz").status == 503
                answer = ask(daemon, "/metrics")
                assert answer.status == 200 and "\nhalligan_store_up 0\n" in answer.text, answer
            refused = daemon.client().post("nodes", {"name": "stalled.example.com"})
            assert refused.status == 503 and refused.json()["code"] == "unavailable", refused
        finally:
            cluster.signal(signal.SIGCONT)
    with_load(attack, disturb)


def test_postgres_is_killed_and_restarted(attack):
    def disturb(daemon, cluster, load):
        for _ in range(attack.of_size(1, 2, 20)):
            cluster.kill()
            eventually(lambda: ask(daemon, "/readyz").status == 503, "the loss is reported")
            assert ask(daemon, "/healthz").status == 200
            assert ask(daemon, "/metrics").status == 200
            cluster.run("start", "--durable")
            load.progresses()
    with_load(attack, disturb)
