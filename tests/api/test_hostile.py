"""Hostile clients: bytes that no library would send, and too many of them."""
import json
import os
import socket
import urllib.parse

from daemon import WAIT_S

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: here\r\n\r\n"


class Wire:
    """One connection, in bytes."""

    def __init__(self, daemon):
        parts = urllib.parse.urlsplit(daemon.url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=WAIT_S)
        self.heard = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def say(self, data):
        """Sends all of it, or as much as the peer accepts."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.heard += data
        return bool(data)

    def answer(self):
        """The status and the body of the next answer; 0 when the connection ends instead."""
        while b"\r\n\r\n" not in self.heard:
            if not self.more():
                return 0, b""
        head, _, rest = self.heard.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(rest) < length and self.more():
            rest = self.heard.partition(b"\r\n\r\n")[2]
        self.heard = rest[length:]
        return int(head.split()[1]), rest[:length]

    def everything(self):
        while self.more():
            pass
        return self.heard


def head(daemon, lines=b"", method=b"POST", path=b"/api/v2/nodes", version=b"HTTP/1.1"):
    daemon.client()  # has a token afterwards
    return (
        method + b" " + path + b" " + version + b"\r\nHost: here\r\nAuthorization: Bearer "
        + daemon.token.encode() + b"\r\nContent-Type: application/json\r\n" + lines + b"\r\n"
    )


def count(daemon):
    return len(daemon.client().get("nodes").json())


def is_well(daemon):
    assert daemon.stranger().get("/healthz").status == 200
    assert daemon.client().get("nodes").status == 200


def refused(daemon, data):
    """Refused, and no byte after it is taken for a request."""
    with Wire(daemon) as wire:
        wire.say(data)
        heard = wire.everything()
    assert heard == b"" or heard[9:12] in (b"400", b"413"), (data[:200], heard[:200])
    assert b" 404 " not in heard, (data[:200], heard[:400])  # an answer to /smuggled


def test_a_body_with_two_lengths_is_refused(daemon):
    before = count(daemon)
    body = b'{"name": "smuggled.example.com"}'
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    size = b"Content-Length: %d\r\n" % len(body)
    for lines in (
        size + size,
        size + b"Content-Length: 0\r\n",
        b"Content-Length: 0\r\n" + size,
        b"Content-Length: %d, %d\r\n" % (len(body), len(body)),
        b"Content-Length: +%d\r\n" % len(body),
        b"Content-Length: 99999999999999999999999999\r\n",
        b"Content-Length: -1\r\n",
        size + b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\n" + size,
        b"Transfer-Encoding : chunked\r\n" + size,
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"X-Fold: a\r\n " + size,
        b"X-Fold: a\r\n\tb\r\n" + size,
    ):
        for behind in (body, chunked):
            refused(daemon, head(daemon, lines) + behind + SMUGGLED)
    assert count(daemon) == before
    is_well(daemon)


def test_lines_must_end_with_crlf(daemon):
    before = count(daemon)
    body = b'{"name": "smuggled.example.com"}'
    size = b"Content-Length: %d\r\n" % len(body)
    whole = head(daemon, size)
    refused(daemon, whole.replace(b"\r\n", b"\n") + body + SMUGGLED)
    refused(daemon, whole.replace(b"\r\n", b"\r") + body + b"\r\n\r\n" + SMUGGLED)
    for lines in (
        b"X: a\n" + size,
        b"X: a\r" + size,
        b"X: a\0b\r\n" + size,
        b"X\0: a\r\n" + size,
        b"X: a\x08\r\n" + size,
        b"X Y: a\r\n" + size,
        b": a\r\n" + size,
        b"no colon at all\r\n" + size,
        b"Host: elsewhere\r\n" + size,
    ):
        refused(daemon, head(daemon, lines) + body + SMUGGLED)
    for path in (b"/api/v2/nodes\0", b"/api/v2/nodes%00", b"/%ff%fe", b"/%", b"/ /nodes", b"/\x7f"):
        refused(daemon, head(daemon, b"Connection: close\r\n", path=path, method=b"GET"))
    with Wire(daemon) as wire:
        wire.say(head(daemon, path=b"/nowhere%0d%0aX-Injected:%20yes", method=b"GET"))
        status, body = wire.answer()
        assert status == 404 and b"\n" not in body, body
        assert b"\\r\\nX-Injected" in body, body
    assert count(daemon) == before
    is_well(daemon)


def test_headers_have_a_maximum_size(daemon):
    """A long line is read, heads of a megabyte are not; other clients are not affected."""
    with Wire(daemon) as wire:
        wire.say(head(daemon, b"X-Long: " + b"a" * 8192 + b"\r\n", method=b"GET"))
        assert wire.answer()[0] == 200
    huge = b"".join(b"X-%d: %s\r\n" % (i, b"b" * 1000) for i in range(1000))
    for data in (
        head(daemon, b"X-Long: " + b"a" * (1 << 20) + b"\r\n", method=b"GET"),
        head(daemon, huge, method=b"GET"),
        head(daemon, path=b"/api/v2/nodes/" + b"a" * (1 << 20), method=b"GET"),
        b"G" * (1 << 20),
        b"\r\n" * (1 << 19),
    ):
        with Wire(daemon) as wire:
            wire.say(data + SMUGGLED)
            heard = wire.everything()
            assert heard == b"" or heard[9:12] in (b"400", b"413", b"414", b"431"), heard[:200]
        is_well(daemon)


def test_malformed_chunked_bodies_are_refused(daemon):
    """The bytes after a malformed body are not taken for a request, wherever another parser would see its end."""
    before = count(daemon)
    start = head(daemon, b"Transfer-Encoding: chunked\r\n")
    for chunks in (
        b"5;" + b"x" * (1 << 20) + b"\r\nabcde\r\n0\r\n\r\n",
        b"".join(b"1;%s\r\na\r\n" % (b"e=f;" * 8000) for _ in range(40)) + b"0\r\n\r\n",
        b"5\r\nabcdeX\r\n0\r\n\r\n",
        b"5\nabcde\n0\n\n",
        b"5;\nabcde\r\n0\r\n\r\n",
        b"-5\r\nabcde\r\n0\r\n\r\n",
        b"0x5\r\nabcde\r\n0\r\n\r\n",
        b"FFFFFFFFFFFFFFFFFFFF\r\nabcde\r\n0\r\n\r\n",
        b"\r\nabcde\r\n0\r\n\r\n",
        b"2\r\n[]\r\n0\r\nHost: there\r\nAuthorization: Basic eDp5\r\n\r\n",
        b"2\r\n[]\r\n0\r\n" + b"X: y\r\n" * 100000,
    ):
        with Wire(daemon) as wire:
            wire.say(start + chunks + SMUGGLED)
            heard = wire.everything()
            wanted = (b"400", b"413", b"422", b"431")
            assert heard == b"" or heard[9:12] in wanted, (chunks[:40], heard[:200])
            assert b" 404 " not in heard, (chunks[:40], heard[:400])
    assert count(daemon) == before
    is_well(daemon)


def test_five_hundred_slow_clients_do_not_block_others(daemon):
    """They send a part of a head or body, and then nothing."""
    body = head(daemon, b"Content-Length: 1000000\r\n") + b"{"
    slow = []
    try:
        for i in range(500):
            wire = Wire(daemon)
            slow.append(wire)
            wire.say((b"GET /api/v2/no", b"GET / HTTP/1.1\r\nHost: h\r\nX-", body, b"")[i % 4])
        for _ in range(20):
            is_well(daemon)
            for wire in slow:
                wire.say(b"a")
    finally:
        for wire in slow:
            wire.socket.close()
    is_well(daemon)


def test_pipelined_requests_are_answered_in_order(daemon):
    paths = [b"/healthz", b"/api/v2/nodes", b"/nowhere", b"/api/v2/roles/0", b"/readyz"] * 20
    with Wire(daemon) as wire:
        wire.say(b"".join(head(daemon, path=path, method=b"GET") for path in paths))
        statuses = [wire.answer()[0] for _ in paths]
    assert statuses == [200, 200, 404, 404, 200] * 20, statuses


def test_paths_lead_nowhere_but_into_the_api(daemon):
    for path in (
        "/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/v2/../../etc/passwd",
        "/api/v2/nodes/..%2f..%2f..%2fetc%2fpasswd",
        "/api/v2/nodes/%2e%2e",
        "/api/v2/runs/1%2f..%2flog",
        "/api/v2/runs/../../../admin.password",
        "/api/v2//nodes",
        "//etc/passwd",
        "/./healthz",
        "/healthz/..",
        "/" + "../" * 1000,
    ):
        for client in (daemon.client(), daemon.stranger()):
            answer = client.get(path)
            assert answer.status in (400, 401, 404), (path, answer)
            assert "root:" not in answer.text and daemon.password not in answer.text


def test_absolute_targets_mean_their_paths_and_nothing_else(daemon):
    targets = {
        b"http://here/healthz": 200,
        b"https://elsewhere.example.com/healthz": 200,
        b"http://here/../healthz": 404,
        b"http://here": 404,
        b"http://here?x": 400,
        b"file:///etc/passwd": 400,
        b"*": 400,
        b"healthz": 400,
        b"here:80": 400,
        b"": 400,
    }
    for target, status in targets.items():
        with Wire(daemon) as wire:
            wire.say(head(daemon, path=target, method=b"GET"))
            assert wire.answer()[0] == status, target


def test_other_methods_echo_nothing_and_open_nothing(daemon):
    secret = b"X-Secret: do-not-echo\r\n"
    for method, path in (
        (b"TRACE", b"/healthz"),
        (b"TRACE", b"/api/v2/nodes"),
        (b"TRACK", b"/healthz"),
        (b"CONNECT", b"127.0.0.1:22"),
        (b"CONNECT", b"/healthz"),
        (b"OPTIONS", b"*"),
        (b"BREW", b"/api/v2/nodes"),
        (b"get", b"/api/v2/nodes"),
    ):
        with Wire(daemon) as wire:
            wire.say(head(daemon, secret, method=method, path=path))
            status, body = wire.answer()
            assert status in (400, 404, 405, 501), (method, path, status)
            assert b"do-not-echo" not in body and b"SSH-" not in body


def test_deep_and_broken_documents_are_refused(daemon):
    before = count(daemon)
    deep = 100000
    for raw in (
        b"[" * deep,
        b"[" * deep + b"]" * deep,
        b'{"a":' * deep + b"1" + b"}" * deep,
        b'{"name":' + b"[" * deep + b"]" * deep + b"}",
        b'{"name": "a", "name": "b"',
        b'{"name": "\xff\xfe"}',
        b'{"name": "\\ud800"}',
        b'{"name": "a\\u0000b"}',
        b"\xef\xbb\xbf{}",
        b"1" * 1000000,
        b'{"name": 1e999999}',
        b"nul",
        b"\0" * 1000,
    ):
        for method in ("POST", "PATCH"):
            path = "nodes" if method == "POST" else "nodes/1"
            answer = daemon.client().ask(
                method, path, raw=raw, headers={"Content-Type": "application/json"}
            )
            assert answer.status in (400, 404, 405, 422), (raw[:40], answer)
    assert count(daemon) == before
    is_well(daemon)


def test_a_body_of_five_megabytes_is_refused(daemon):
    body = json.dumps({"name": "large.example.com", "description": "x" * (5 << 20)}).encode()
    answer = daemon.client().post("nodes", raw=body, headers={"Content-Type": "application/json"})
    assert answer.status == 413, answer
    assert answer.json()["code"] == "too_large"
    # A client without rights is refused before it has sent them.
    with Wire(daemon) as wire:
        wire.say(
            b"POST /api/v2/nodes HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        assert wire.answer()[0] == 401
    with Wire(daemon) as wire:
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        wire.say(head(daemon, b"Transfer-Encoding: chunked\r\n") + chunk * 80 + b"0\r\n\r\n")
        assert wire.answer()[0] == 413
    is_well(daemon)


def test_memory_does_not_grow_with_what_is_refused(daemon):
    def resident():
        with open(f"/proc/{daemon.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    data = head(daemon, b"X: " + b"a" * 20000 + b"\r\nX\0: b\r\n", method=b"GET")
    for _ in range(100):
        refused(daemon, data)
    before = resident()
    for _ in range(400):
        refused(daemon, data)
    assert os.path.exists(f"/proc/{daemon.process.pid}")
    assert resident() < before + 20000, (before, resident())


# Two errors in one head: libmicrohttpd closes such a connection without saying that the request is
# over.
TWO_ERRORS = b'GET /healthz HTTP/1.1\r\nHost: here\r\nCookie: a="\r\nContent-Length: abc\r\n\r\n'


def test_two_errors_in_one_head_end_only_the_connection(daemon):
    before = daemon.process.pid
    for _ in range(20):
        with Wire(daemon) as wire:
            wire.say(TWO_ERRORS)
            status = wire.answer()[0]
            assert status in (0, 400), status
    is_well(daemon)
    assert daemon.process.pid == before and daemon.process.poll() is None


def test_an_empty_document_is_refused_and_nothing_changes(daemon):
    before = daemon.client().get("barclamps").json()
    for body in ({"value": ""}, {"value": " "}, {"value": "\ufeff"}, {"value": "---\n"},
                 {"value": "# nothing\n"}, {"value": None}, {"value": []}, {"value": {}}, {}):
        answer = daemon.client().post("barclamps", body)
        assert 400 <= answer.status < 500, (body, answer)
        assert answer.json()["code"], (body, answer)
    for raw in (b"", b" ", b"null", b'""', b"{}", b"[]"):
        answer = daemon.client().post("barclamps", raw=raw,
                                      headers={"Content-Type": "application/json"})
        assert 400 <= answer.status < 500, (raw, answer)
    assert daemon.client().get("barclamps").json() == before
    is_well(daemon)
