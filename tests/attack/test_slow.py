"""Slow and many connections, with and without TLS. Meanwhile and afterwards a client that behaves is
served."""
import ssl

from test_connections import check_served, connect, say

SLOW = 1000


def beginnings(daemon):
    """Beginnings of requests that never end."""
    bearer = daemon.client().authorization.encode()
    return (
        b"",
        b"GET /api/v2/no",
        b"GET / HTTP/1.1\r\nHost: h\r\nX-",
        b"POST /api/v2/nodes HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\nAuthorization: "
        + bearer + b"\r\nContent-Type: application/json\r\n\r\n{",
    )


def slow_ones(daemon, pieces, count):
    links = []
    for i in range(count):
        try:
            link = connect(daemon)
        except OSError:
            continue
        links.append(link)
        say(link, pieces[i % len(pieces)])
    return links


def besieged(daemon, pieces):
    links = slow_ones(daemon, pieces, SLOW)
    try:
        check_served(daemon)
        for link in links:
            say(link, b"a")
        check_served(daemon)
        links += slow_ones(daemon, pieces, SLOW // 4)
        check_served(daemon)
    finally:
        for link in links:
            link.close()
    check_served(daemon)
    daemon.expect_well()


def test_a_thousand_slow_connections(attack):
    daemon = attack.installation()
    daemon.start()
    besieged(daemon, beginnings(daemon))
    daemon.end()


def test_a_thousand_tls_handshakes_that_stop(attack):
    """Some send nothing, some the beginning of a ClientHello."""
    daemon = attack.installation()
    daemon.options = ["--tls-auto"]
    daemon.start()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    shake = context.wrap_bio(incoming, outgoing)
    try:
        shake.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()
    besieged(daemon, (b"", hello[:1], hello[:-1], hello))
    daemon.end()
