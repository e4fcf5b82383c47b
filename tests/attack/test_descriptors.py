"""Few descriptors: accepting recovers by itself, and whole requests are served beside incomplete ones."""
import os

from daemon import eventually
from installation import made
from test_connections import connect


def test_few_descriptors(attack):
    """150 connections that sent part of a request and closed, with 64 descriptors."""
    daemon = attack.installation()
    daemon.limits = {"nofile": 64}
    daemon.start()
    made(daemon.client().post("nodes", {"name": "before.example.com"}))
    for _ in range(attack.of_size(1, 3, 20)):
        links = []
        for _ in range(150):
            try:
                link = connect(daemon)
                link.sendall(b"GET /healthz HT")
                links.append(link)
            except OSError:  # refused or reset at once is an answer too
                pass
        for link in links:
            link.close()
        eventually(lambda: answers(daemon), "it accepts again")
    made(daemon.client().post("nodes", {"name": "after.example.com"}))
    assert len(os.listdir(f"/proc/{daemon.process.pid}/fd")) < 64
    daemon.expect_well()
    daemon.end()


def answers(daemon):
    try:
        return daemon.stranger().get("/healthz").status == 200
    except OSError:
        return False


def test_descriptors_are_held_open(attack):
    """As many connections as there are descriptors stay open: a client that sends a request is served."""
    daemon = attack.installation()
    daemon.limits = {"nofile": 64}
    daemon.start()
    links = []
    try:
        for _ in range(120):
            try:
                link = connect(daemon)
                link.sendall(b"GET /healthz HT")
                links.append(link)
            except OSError:
                pass
        eventually(lambda: answers(daemon), "a whole request is served beside incomplete ones")
    finally:
        for link in links:
            link.close()
    eventually(lambda: answers(daemon), "it accepts again")
    made(daemon.client().post("nodes", {"name": "after.example.com"}))
    daemon.expect_well()
    daemon.end()
