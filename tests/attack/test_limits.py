"""Limits of the system: memory and a full disk. The daemon refuses, recovers by itself, and keeps
what it acknowledged."""
import os
import socket
import subprocess
import sys
import threading

from daemon import eventually
from installation import HERE

DISK_FULL = os.path.join(HERE, "..", "crash", "disk_full.py")


def test_full_disk(attack):
    """The same that part `disks` does, in the sanitized build."""
    rounds = str(attack.of_size(1, 1, 10))
    done = subprocess.run([sys.executable, DISK_FULL, "--build", attack.build, "--rounds", rounds],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_bodies_that_do_not_end(attack):
    """Bodies of 240 MiB together, none of them whole: 64 MiB are held, the rest is refused."""
    daemon = attack.installation()
    daemon.start()
    bearer = daemon.client().authorization
    size = 4 << 20
    head = (f"POST /api/v2/nodes HTTP/1.1\r\nHost: h\r\nAuthorization: {bearer}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n").encode()
    before, links, statuses = daemon.resident_kib(), [], []

    def send():
        link = socket.create_connection(("127.0.0.1", daemon.port), timeout=60)
        links.append(link)
        try:
            link.sendall(head + b" " * (size - 1))
            link.settimeout(0.5)
            statuses.append(link.recv(16)[9:12])
        except TimeoutError:
            statuses.append(b"")  # read, and waited for
        except OSError:
            statuses.append(b"cut")

    senders = [threading.Thread(target=send) for _ in range(60)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    grown = daemon.resident_kib() - before
    print(f"bodies: {sorted(set(statuses))}, resident memory grew by {grown} KiB")
    assert daemon.stranger().get("/healthz").status == 200
    assert daemon.client().get("nodes").status == 200
    assert grown < 200 << 10, grown
    assert set(statuses) <= {b"", b"cut", b"503", b"413"} and b"503" in statuses, statuses
    for link in links:
        link.close()
    eventually(lambda: daemon.client().post("nodes", {"name": "n.example.com"}).status == 200,
               "bodies are read again")
    daemon.expect_well()
    daemon.end()
