"""Authentication, paths and methods, and the probes."""
import socket
import urllib.parse

from daemon import Client, basic


def check_unauthorized(answer):
    assert answer.status == 401, answer
    digest, basic_too = answer.headers.get_all("WWW-Authenticate")
    assert digest.startswith('Digest realm="Crowbar", qop="auth", algorithm=MD5, nonce="'), digest
    assert basic_too == 'Basic realm="Crowbar"'
    assert answer.json()["code"] == "unauthorized"
    assert answer.json()["status"] == 401


def test_the_probes_need_no_credentials(daemon):
    answer = daemon.stranger().get("/healthz")
    assert answer.status == 200 and answer.text == "ok\n", answer
    assert daemon.stranger().get("/readyz").status == 200


def test_everything_else_needs_credentials(daemon):
    stranger = daemon.stranger()
    for path in ("nodes", "roles/nix", "tokens", "/", "/nowhere", "/api/v2"):
        check_unauthorized(stranger.get(path))
    check_unauthorized(stranger.post("nodes", {"name": "x.example.com"}))
    check_unauthorized(Client(daemon.url, "Bearer nonsense").get("nodes"))
    check_unauthorized(Client(daemon.url, "Digest username=admin").get("nodes"))


def test_correct_passwords_are_accepted(daemon):
    assert daemon.with_password().get("deployments").status == 200
    for user, password in (("admin", "wrong"), ("admin", ""), ("nobody", daemon.password)):
        check_unauthorized(Client(daemon.url, basic(user, password)).get("deployments"))


def test_tokens_are_shown_once_and_can_be_deleted(daemon):
    me = daemon.client()
    made = me.post("tokens", {"name": "short-lived"})
    assert made.status == 200, made
    assert made.type == "application/vnd.crowbar.token.obj+json; version=2.0"
    token = made.json()
    bearer = Client(daemon.url, "Bearer " + token["token"])
    assert bearer.get("nodes").status == 200
    listed = me.get("tokens")
    assert token["id"] in [t["id"] for t in listed.json()]
    assert token["token"] not in listed.text
    assert all("hash" not in t and "token" not in t for t in listed.json())
    assert me.delete(f"tokens/{token['id']}").status == 200
    check_unauthorized(bearer.get("nodes"))
    assert me.delete(f"tokens/{token['id']}").status == 404


def test_tokens_may_expire(daemon):
    me = daemon.client()
    made = me.post("tokens", {"name": "t", "expires_at": "2100-01-02T03:04:05Z"})
    assert made.json()["expires_at"] == "2100-01-02T03:04:05.000Z", made
    past = me.post("tokens", {"name": "t", "expires_at": "2001-01-01T00:00:00Z"})
    assert past.status == 400 and past.json()["field"] == "expires_at", past
    for past in (0, "0", "1970-01-01T00:00:00Z", False):
        answer = me.post("tokens", {"name": "t", "expires_at": past})
        assert answer.status == 400 and answer.json()["field"] == "expires_at", answer
    assert me.post("tokens", {}).json()["field"] == "name"


def test_changes_by_pages_of_other_sites_are_refused(daemon):
    me = daemon.client()
    host = urllib.parse.urlsplit(daemon.url).netloc
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://" + host + "1"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        answer = me.ask("POST", "deployments", raw=b"name=evil", headers={**form, **headers})
        assert answer.status == 403 and answer.json()["code"] == "forbidden", answer
        assert me.get("deployments", headers=headers).status == 200
    assert me.get("deployments/evil").status == 404
    own = {"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}
    assert me.post("deployments", {"name": "from-a-page"}, headers=own).status == 200


def test_a_refused_client_need_not_send_its_body(daemon):
    """The answer comes after the head: not one byte of the body is sent."""
    bearer = daemon.client().authorization
    for path, authorization, status in (
        ("/api/v2/nodes", "", b"401"),
        ("/api/v2/nodes", "Authorization: Bearer hlg_unknown\r\n", b"401"),
        ("/api/v2/nowhere", f"Authorization: {bearer}\r\n", b"404"),
        ("/api/v2/nodes/1", f"Authorization: {bearer}\r\n", b"405"),
    ):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"
        head += f"{authorization}\r\n"
        with connect(daemon) as link:
            link.sendall(head.encode())
            assert link.recv(4096).split()[1] == status, (path, authorization)


def test_unknown_paths_are_404_and_unsupported_methods_405(daemon):
    me = daemon.client()
    for path in ("/", "/api", "/api/v1/nodes", "/api/v10/nodes", "nodess", "nodes/a/b/c/d"):
        answer = me.get(path)
        assert answer.status == 404 and answer.json()["code"] == "not_found", answer
    answer = me.post("roles", {"name": "r"})
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD", answer
    answer = me.delete("roles/base")
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD, PUT, PATCH", answer
    assert me.get("deployments/system/commit").headers["Allow"] == "PUT"
    assert me.ask("OPTIONS", "nodes").status == 405


def test_the_version_may_be_two_to_nine(daemon):
    me = daemon.client()
    for version in range(2, 10):
        assert me.get(f"/api/v{version}/deployments/system").json()["id"] == 1


def test_head_is_get_without_a_body(daemon):
    answer = daemon.client().ask("HEAD", "deployments/system")
    assert answer.status == 200 and answer.text == "", answer
    assert answer.headers["ETag"]


def connect(daemon):
    parts = urllib.parse.urlsplit(daemon.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def raw(daemon, text):
    """What comes back for bytes that no client would send."""
    with connect(daemon) as link:
        link.sendall(text)
        answer = b""
        while piece := link.recv(65536):
            answer += piece
        return answer


def test_malformed_requests_do_no_harm(daemon):
    auth = daemon.client().authorization.encode()
    for text in (
        b"nonsense\r\n\r\n",
        b"GET /api/v2/nodes HTTP/1.1\r\n\r\n",
        b"POST /api/v2/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
    ):
        with connect(daemon) as link:  # and hang up
            link.sendall(text)
    answer = raw(
        daemon,
        b"GET /api/v2/nodes/%ff%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Authorization: " + auth + b"\r\n\r\n",
    )
    assert b" 400 " in answer.split(b"\r\n")[0] or b" 404 " in answer.split(b"\r\n")[0], answer
    assert daemon.stranger().get("/healthz").status == 200
