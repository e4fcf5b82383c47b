"""Half-closed connections, failed logins under ever new names, and answers that are not read. Meanwhile and
afterwards a client that behaves is served."""
import socket
import threading
import time

from daemon import Client, basic, eventually
from installation import made

PASSWORD = "a long secret"


def connect(daemon, source=None):
    link = socket.create_connection(("127.0.0.1", daemon.port), timeout=60,
                                    source_address=(source, 0) if source else None)
    return link


def say(link, data):
    try:
        link.sendall(data)
        return True
    except OSError:
        return False


def check_served(daemon):
    """Valid requests on new connections."""
    for _ in range(5):
        assert daemon.stranger().get("/healthz").status == 200
        assert daemon.client().get("deployments/system").status == 200


def test_half_closed_connections(attack):
    """A request, then the end of the sending side: the answer still comes, or the connection ends."""
    daemon = attack.installation()
    daemon.start()
    whole = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
    links = [connect(daemon) for _ in range(len(whole) + 1)]
    for length, link in enumerate(links):
        say(link, whole[:length])
        link.shutdown(socket.SHUT_WR)
    for length, link in enumerate(links):
        heard = b""
        try:
            while piece := link.recv(65536):
                heard += piece
        except ConnectionResetError:
            pass
        link.close()
        assert heard == b"" or heard.startswith(b"HTTP/1.1 "), heard
        if length == len(whole):
            assert heard.startswith(b"HTTP/1.1 200 "), heard
    daemon.expect_well()
    daemon.end()


def test_failed_logins_under_ever_new_names(attack):
    """A flood of failed logins from one address does not keep another address from logging in."""
    daemon = attack.installation()
    daemon.start()
    made(daemon.client().post("users", {"username": "ann", "password": PASSWORD}))
    is_over, statuses = threading.Event(), {}

    def guess(worker):
        count = 0
        while not is_over.is_set():
            count += 1
            request = (f"GET /api/v2/session HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                       f"Authorization: {basic(f'name{worker}-{count}', 'wrong')}\r\n\r\n")
            try:
                with connect(daemon, "127.0.1.1") as link:
                    link.sendall(request.encode())
                    status = int(link.recv(65536)[9:12])
                    statuses[status] = statuses.get(status, 0) + 1
            except (OSError, ValueError):
                pass

    guessers = [threading.Thread(target=guess, args=(i,)) for i in range(8)]
    for guesser in guessers:
        guesser.start()
    try:
        # Passwords take their time: until the client is refused without a verification.
        began, least_s = time.monotonic(), attack.of_size(2, 5, 30)
        while time.monotonic() < began + (least_s if 429 in statuses else 90):
            answer = Client(daemon.url, basic("ann", PASSWORD)).get("session")
            assert answer.status == 200, (answer, statuses)
            login = daemon.stranger().post("session", {"username": "ann", "password": PASSWORD})
            assert login.status == 200, (login, statuses)
    finally:
        is_over.set()
        for guesser in guessers:
            guesser.join()
    assert set(statuses) <= {401, 429, 503} and 429 in statuses, statuses
    daemon.expect_well()
    daemon.end()


def test_answers_that_are_not_read(attack):
    """Large answers to clients that never read: memory stays bounded, others are served."""
    daemon = attack.installation()
    daemon.start()
    me = daemon.client()
    nodes = attack.of_size(500, 2000, 10000)
    for first in range(0, nodes, 500):
        made(me.post("nodes", [{"name": f"m{i}.example.com", "description": "x" * 500}
                               for i in range(first, first + 500)]))
    size = len(me.get("nodes?view=full").text)
    before = daemon.resident_kib()
    count, links = attack.of_size(50, 150, 500), []
    try:
        for i in range(count):
            path = ("/api/v2/nodes?view=full", "/api/status/inventory", "/api/v2/nodes")[i % 3]
            link = socket.socket()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.connect(("127.0.0.1", daemon.port))
            say(link, f"GET {path} HTTP/1.1\r\nHost: h\r\n"
                      f"Authorization: {me.authorization}\r\n\r\n".encode())
            links.append(link)
        assert me.get("deployments/system").status == 200
        eventually(lambda: daemon.stranger().get("/healthz").status == 200, "it answers")
        grown = daemon.resident_kib() - before
        print(f"unread answers: {count} of {size >> 10} KiB, resident memory grew by {grown} KiB")
        assert grown < 200 << 10, f"{grown} KiB more for {count} answers of {size >> 10} KiB"
    finally:
        for link in links:
            link.close()
    check_served(daemon)
    daemon.end()
