"""Users, passwords and authentication (docs/spec/objects.md, docs/spec/api.md; cases 17, 18, 20, 106, 136)."""
import base64
import ctypes
import ctypes.util
import hashlib
import http.client
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from daemon import Client, basic

FIELDS = {"id", "username", "email", "is_admin", "is_locked", "created_at", "updated_at"}


def make(me, username, password="pass-word", **more):
    made = me.post("users", {"username": username, "password": password, **more})
    assert made.status == 200, made
    return made.json()


def as_user(daemon, username, password="pass-word"):
    return Client(daemon.url, basic(username, password))


def host_of(daemon):
    return urllib.parse.urlsplit(daemon.url).netloc


# ---- case 136 ----


def test_case_136_users(daemon):
    me = daemon.client()
    for name in ("crowbar", "developer"):
        make(me, name, is_admin=True)
    assert {"crowbar", "developer", "admin"} <= {u["username"] for u in me.get("users").json()}
    made = me.post("users", {"username": "Oscar", "email": "Oscar@Grouch.com"})
    assert made.status == 200, made
    assert made.type == "application/vnd.crowbar.user.obj+json; version=2.0"
    user = made.json()
    assert set(user) == FIELDS
    assert user["username"] == "oscar" and user["email"] == "oscar@grouch.com"
    assert user["is_locked"] is False and user["is_admin"] is False
    changed = me.put("users/oscar", {"email": "oscar@street.com"})
    assert changed.status == 200 and changed.json()["email"] == "oscar@street.com", changed
    assert me.get(f"users/{user['id']}").json()["email"] == "oscar@street.com"
    assert me.post("users/oscar/admin").json()["is_admin"] is True
    assert me.delete("users/oscar/admin").json()["is_admin"] is False
    assert me.post(f"users/{user['id']}/lock").json()["is_locked"] is True
    assert me.delete("users/oscar/lock").json()["is_locked"] is False
    reset = {"password": "trash-can", "password_confirmation": "trash-can"}
    assert me.put("users/oscar/reset_password", reset).status == 200
    assert as_user(daemon, "oscar", "trash-can").get("nodes").status == 200
    assert me.delete("users/oscar").status == 200
    assert me.get("users/oscar").status == 404
    assert as_user(daemon, "oscar", "trash-can").get("nodes").status == 401


def test_users_can_be_matched_and_have_no_sample(daemon):
    me = daemon.client()
    assert me.get("users/sample").json() == {}
    found = me.post("users/match", {"username": "admin"}).json()
    assert [u["username"] for u in found] == ["admin"]
    assert all(set(u) == FIELDS for u in me.get("users").json())
    full = me.get("users/admin?view=full").json()
    assert FIELDS | {"digest"} <= set(full)
    assert "hash" not in json.dumps(full)


def test_users_are_patched(daemon):
    me = daemon.client()
    make(me, "patched")
    change = [{"op": "replace", "path": "/email", "value": "a@b.org"}]
    answer = me.patch("users/patched", change)
    assert answer.status == 200 and answer.json()["email"] == "a@b.org", answer
    promote = [{"op": "replace", "path": "/is_admin", "value": True}]
    assert me.patch("users/patched", promote).json()["is_admin"] is True
    for key, value in (("id", 1), ("is_locked", True), ("password", "x"), ("digest", True)):
        answer = me.patch("users/patched", [{"op": "add", "path": "/" + key, "value": value}])
        assert answer.status == 409 and answer.json()["field"] == key, answer
    me.delete("users/patched")


# ---- cases 17, 18, 20 ----


def test_case_20_passwords_have_six_characters(daemon):
    me = daemon.client()
    for short in ("12345", "", "äöüßé"):
        answer = me.post("users", {"username": "brief", "password": short})
        assert answer.status == 409 and answer.json()["field"] == "password", answer
    other = {"username": "brief", "password": "123456", "password_confirmation": "1234567"}
    answer = me.post("users", other)
    assert answer.status == 409 and answer.json()["field"] == "password_confirmation", answer
    assert me.get("users/brief").status == 404
    make(me, "brief", "123456")
    assert as_user(daemon, "brief", "123456").get("nodes").status == 200
    answer = me.put("users/brief/reset_password", {"password": "12345"})
    assert answer.status == 409 and answer.json()["field"] == "password", answer
    assert me.put("users/brief/reset_password", {}).json()["field"] == "password"
    assert me.put("users/brief/reset_password", {"password": "äöüßéè"}).status == 200
    assert as_user(daemon, "brief", "äöüßéè").get("nodes").status == 200
    long = me.put("users/brief/reset_password", {"password": "x" * 1025})
    assert long.status == 409 and long.json()["field"] == "password", long
    me.delete("users/brief")


def test_users_without_a_password_cannot_log_in(daemon):
    me = daemon.client()
    assert me.post("users", {"username": "nopass"}).status == 200
    for password in ("", "nopass", "null"):
        assert as_user(daemon, "nopass", password).get("nodes").status == 401
    me.delete("users/nopass")


def test_case_17_both_kinds_verify_the_right_password(daemon):
    me = daemon.client()
    make(me, "old-client", "digest-me", digest=True)
    make(me, "new-client", "digest-me")
    assert me.get("users/old-client?view=full").json()["digest"] is True
    assert me.get("users/new-client?view=full").json()["digest"] is False
    for name in ("old-client", "new-client"):
        assert as_user(daemon, name, "digest-me").get("nodes").status == 200
    assert digest_once(daemon, "old-client", "digest-me") == 200
    assert digest_once(daemon, "new-client", "digest-me") == 401
    # a new password keeps it, `digest` takes it away and brings it back
    assert me.put("users/old-client/reset_password", {"password": "again-me"}).status == 200
    assert digest_once(daemon, "old-client", "again-me") == 200
    without = {"password": "not-again", "digest": False}
    assert me.put("users/old-client/reset_password", without).status == 200
    assert digest_once(daemon, "old-client", "not-again") == 401
    again = {"password": "once-more", "digest": True}
    assert me.put("users/old-client/reset_password", again).status == 200
    assert digest_once(daemon, "old-client", "once-more") == 200
    # and a new name makes it worthless, so it goes
    assert me.put("users/old-client", {"username": "renamed-client"}).status == 200
    assert me.get("users/renamed-client?view=full").json()["digest"] is False
    assert as_user(daemon, "renamed-client", "once-more").get("nodes").status == 200
    assert digest_once(daemon, "renamed-client", "once-more") == 401
    me.delete("users/renamed-client")
    me.delete("users/new-client")


def test_case_18_clear_text_is_never_readable_afterwards(daemon):
    me = daemon.client()
    secret = "Zebra-cle4r-text"
    ha1 = hashlib.md5(f"discreet:Crowbar:{secret}".encode()).hexdigest()
    make(me, "discreet", secret, email="discreet@b.org", digest=True)
    for path in ("users", "users/discreet", "users/discreet?view=full", "users?view=full"):
        told = me.get(path).text
        assert secret not in told and ha1 not in told and "$argon2" not in told
    me.delete("users/discreet")


def test_names_are_unique_whatever_their_case(daemon):
    me = daemon.client()
    make(me, "twin", email="twin@b.org")
    assert me.post("users", {"username": "TWIN"}).json()["field"] == "username"
    assert me.post("users", {"username": "t2", "email": "Twin@B.org"}).json()["field"] == "email"
    assert me.post("users", {"username": "t:2"}).status == 409
    assert me.post("users", {}).json()["field"] == "username"
    me.delete("users/twin")


def test_users_cannot_change_their_own_admin_right(daemon):
    me = daemon.client()
    for answer in (
        me.delete("users/admin/admin"),
        me.post("users/admin/lock"),
        me.put("users/admin", {"is_admin": False}),
    ):
        assert answer.status == 409, answer
    assert me.put("users/admin", {"is_admin": True}).status == 200  # that changes nothing
    assert me.get("users/admin").json()["is_admin"] is True


def test_a_new_password_invalidates_the_old_one(daemon):
    me = daemon.client()
    make(me, "mover", "old-password")
    mover = as_user(daemon, "mover", "old-password")
    assert mover.get("nodes").status == 200  # and remembered for five minutes
    changed = mover.put("users/mover/reset_password", {"password": "new-password"})
    assert changed.status == 200, changed
    assert mover.get("nodes").status == 401
    assert as_user(daemon, "mover", "new-password").get("nodes").status == 200
    me.delete("users/mover")


def test_locked_users_are_refused(daemon):
    me = daemon.client()
    make(me, "inmate", digest=True)
    inmate = as_user(daemon, "inmate")
    token = inmate.post("tokens", {"name": "t"}).json()["token"]
    assert me.post("users/inmate/lock").status == 200
    assert inmate.get("nodes").status == 401
    assert Client(daemon.url, "Bearer " + token).get("nodes").status == 401
    assert digest_once(daemon, "inmate", "pass-word") == 401
    assert me.delete("users/inmate/lock").status == 200
    assert inmate.get("nodes").status == 200
    me.delete("users/inmate")


# ---- sealed passwords ----

sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))


def seal(token, text):
    """As a client of libsodium's crypto_box would."""
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
    sodium.crypto_box_keypair(public, secret)
    nonce = ctypes.create_string_buffer(24)
    sodium.randombytes_buf(nonce, ctypes.c_size_t(24))
    sealed = ctypes.create_string_buffer(len(text) + 16)
    done = sodium.crypto_box_easy(
        sealed, text, ctypes.c_ulonglong(len(text)), nonce, base64.b64decode(token), secret
    )
    assert done == 0
    parts = {"decoder": public.raw, "nonce": nonce.raw, "payload": sealed.raw}
    return {"token": token, **{k: base64.b64encode(v).decode() for k, v in parts.items()}}


def test_passwords_can_be_sent_in_sealed_boxes(daemon):
    me = daemon.client()
    make(me, "sealed")
    started = me.get("users/sealed/start_password_reset")
    assert started.status == 200 and set(started.json()) == {"token"}, started
    letter = seal(started.json()["token"], b"from-a-letter")
    path = "users/sealed/complete_password_reset"
    wrong = me.post(path, {**letter, "nonce": base64.b64encode(bytes(24)).decode()})
    assert wrong.status == 409 and wrong.json()["field"] == "token", wrong
    assert me.post("users/admin/complete_password_reset", letter).status == 409
    assert me.post(path, {}).status == 400
    short = me.post(path, seal(started.json()["token"], b"short"))
    assert short.status == 409 and short.json()["field"] == "password", short
    assert me.post(path, letter).status == 200
    assert as_user(daemon, "sealed", "from-a-letter").get("nodes").status == 200
    assert me.post(path, letter).status == 409  # it can be used once
    mine = as_user(daemon, "sealed", "from-a-letter")
    token = mine.get("users/sealed/start_password_reset").json()["token"]
    done = mine.post(path, {**seal(token, b"by-myself"), "digest": True})
    assert done.status == 200, done
    assert digest_once(daemon, "sealed", "by-myself") == 200
    me.delete("users/sealed")


# ---- digest ----


def digest_once(daemon, user, password):
    """One answer to one challenge. (urllib gives six before it believes that it is wrong.)"""
    return Digester(daemon, user, password).get("/api/v2/digest", 1).status


def digest_opener(daemon, user, password):
    known = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    known.add_password(None, daemon.url, user, password)
    return urllib.request.build_opener(urllib.request.HTTPDigestAuthHandler(known))


def digest_get(daemon, user, password, path, **more):
    request = urllib.request.Request(daemon.url.rstrip("/") + path, **more)
    try:
        with digest_opener(daemon, user, password).open(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except ValueError:  # urllib's way to say that it was refused again
        return 401, ""


def test_case_106_digest(daemon):
    me = daemon.client()
    make(me, "digester", "open-sesame", digest=True)
    for path in ("/api/status/nodes", "/api/v2/digest"):
        refused = daemon.stranger().get(path)
        assert refused.status == 401, refused
        challenge = refused.headers.get_all("WWW-Authenticate")[0]
        assert re.match(r'Digest realm="Crowbar".*nonce="[A-Za-z0-9+/=]{44}"', challenge)
        assert daemon.stranger().ask("HEAD", path).status == 401
    assert digest_once(daemon, "digester", "wrong") == 401
    assert digest_once(daemon, "nobody-at-all", "open-sesame") == 401
    status, text = digest_get(daemon, "digester", "open-sesame", "/api/v2/digest")
    assert status == 200 and "Digest success" in text and "digester" in text, text
    assert digest_get(daemon, "digester", "open-sesame", "/api/v2/digest", method="HEAD")[0] == 200
    plain = as_user(daemon, "digester", "open-sesame").get("digest")
    assert plain.status == 200 and "not by digest" in plain.text


def test_digest_works_for_every_method(daemon):
    get = lambda path, **more: digest_get(daemon, "digester", "open-sesame", path, **more)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    status, text = get(
        "/api/v2/nodes", data=b"name=digested.example.com&alive=false", headers=form, method="POST"
    )
    assert status == 200 and json.loads(text)["name"] == "digested.example.com", text
    assert get("/api/v2/nodes/digested.example.com?view=full")[0] == 200
    assert get("/api/v2/nodes?name=digested.example.com&limit=1")[0] == 200
    body = {"data": b'{"description": "by digest"}', "headers": {"Content-Type": "application/json"}}
    assert get("/api/v2/nodes/digested.example.com", method="PUT", **body)[0] == 200
    assert get("/api/v2/nodes/digested.example.com", method="DELETE")[0] == 200


def test_curl_speaks_digest(daemon):
    curl = shutil.which("curl")
    assert curl, "curl is needed"
    command = [curl, "-s", "-S", "--max-time", "30", "--digest", "-u", "digester:open-sesame"]
    url = daemon.url.rstrip("/") + "/api/v2/"
    several = [url + "digest", url + "nodes?limit=1&sort=-id", url + "digest"]
    got = subprocess.run(command + several, capture_output=True, text=True, timeout=60)
    assert got.returncode == 0 and got.stdout.count("Digest success") == 2, got
    made = ["-H", "Content-Type: application/json", "-d", '{"name": "curled.example.com"}']
    got = subprocess.run(command + made + [url + "nodes"], capture_output=True, text=True, timeout=60)
    assert json.loads(got.stdout)["name"] == "curled.example.com", got
    delete = ["-X", "DELETE", url + "nodes/curled.example.com"]
    assert subprocess.run(command + delete, capture_output=True, timeout=60).returncode == 0


class Digester:
    """A client that says exactly what a test wants it to."""

    def __init__(self, daemon, user, password):
        self.daemon = daemon
        self.user = user
        self.ha1 = hashlib.md5(f"{user}:Crowbar:{password}".encode()).hexdigest()
        self.nonce = self.fresh()

    def fresh(self):
        challenge = self.daemon.stranger().get("digest").headers.get_all("WWW-Authenticate")[0]
        return re.search('nonce="([^"]*)"', challenge).group(1)

    def header(self, method, uri, nc):
        def md5(*parts):
            return hashlib.md5(":".join(parts).encode()).hexdigest()

        count = f"{nc:08x}"
        response = md5(self.ha1, self.nonce, count, "cn", "auth", md5(method, uri))
        return (
            f'Digest username="{self.user}", realm="Crowbar", nonce="{self.nonce}", uri="{uri}", '
            f'algorithm=MD5, qop=auth, nc={count}, cnonce="cn", response="{response}"'
        )

    def get(self, path, nc, uri=None):
        header = self.header("GET", uri or path, nc)
        return Client(self.daemon.url, header).get(path)


def test_a_digest_response_can_be_used_once(daemon):
    me = Digester(daemon, "digester", "open-sesame")
    path = "/api/v2/digest"
    assert me.get(path, 1).status == 200
    again = me.get(path, 1)
    assert again.status == 401, again
    assert "stale=true" in again.headers.get_all("WWW-Authenticate")[0]
    assert me.get(path, 3).status == 200
    assert me.get(path, 2).status == 200
    assert me.get(path, 3).status == 401
    stranger = Digester(daemon, "digester", "wrong")
    refused = stranger.get(path, 1)
    assert refused.status == 401
    assert "stale" not in refused.headers.get_all("WWW-Authenticate")[0]


def test_a_digest_response_is_valid_for_its_own_path_only(daemon):
    me = Digester(daemon, "digester", "open-sesame")
    assert me.get("/api/v2/nodes", 1, uri="/api/v2/digest").status == 401
    assert me.get("/api/v2/nodes?limit=1", 2, uri="/api/v2/nodes").status == 401
    assert me.get("/api/v2/nodes?limit=1", 3).status == 200
    # what was wrong counts against the user: begin with a clean slate
    assert as_user(daemon, "digester", "open-sesame").get("nodes").status == 200


def test_an_unknown_nonce_is_stale(daemon):
    me = Digester(daemon, "digester", "open-sesame")
    me.nonce = base64.b64encode(bytes(32)).decode()
    refused = me.get("/api/v2/digest", 1)
    assert refused.status == 401
    assert "stale=true" in refused.headers.get_all("WWW-Authenticate")[0]


def test_keep_alive_and_digest(daemon):
    me = Digester(daemon, "digester", "open-sesame")
    connection = http.client.HTTPConnection(host_of(daemon), timeout=30)
    for nc in range(1, 30):
        header = {"Authorization": me.header("GET", "/api/v2/digest", nc)}
        connection.request("GET", "/api/v2/digest", headers=header)
        answer = connection.getresponse()
        assert answer.status == 200, (nc, answer.read())
        answer.read()
    connection.close()
    daemon.client().delete("users/digester")


# ---- levels, grants and restricted tokens ----


def bearer(daemon, me, **more):
    made = me.post("tokens", {"name": "t", **more})
    assert made.status == 200, made
    return Client(daemon.url, "Bearer " + made.json()["token"])


def forbidden(answer):
    assert answer.status == 403 and answer.json()["code"] == "forbidden", answer
    return answer.json()["message"]


def furnish(me):
    """Two deployments side by side, one below the first, a node in each."""
    ids = {}
    for name, parent in (("levels-lab", None), ("levels-bench", "levels-lab"), ("levels-yard", None)):
        body = {"name": name, **({"parent": parent} if parent else {})}
        ids[name] = me.post("deployments", body).json()["id"]
        node = {"name": name + ".example.com", "deployment": name}
        assert me.post("nodes", node).status == 200
    return ids


def clear(me):
    for name in ("levels-bench", "levels-lab", "levels-yard"):
        assert me.delete(f"nodes/{name}.example.com").status == 200
        assert me.delete("deployments/" + name).status == 200


def describe(client, node, text="changed"):
    return client.put(f"nodes/{node}.example.com", {"description": text})


def test_viewers_change_only_themselves(daemon):
    me = daemon.client()
    furnish(me)
    make(me, "looker", access="viewer")
    looker = as_user(daemon, "looker")
    assert me.get("users/looker?view=full").json()["access"] == "viewer"
    assert looker.get("nodes").status == 200 and looker.get("users").status == 200
    assert "levels-lab" in forbidden(describe(looker, "levels-lab"))
    assert "admin" in forbidden(looker.post("users", {"username": "x", "password": "123456"}))
    forbidden(looker.post("deployments", {"name": "mine"}))
    forbidden(looker.put("users/looker", {"username": "boss"}))
    forbidden(looker.put("users/looker", {"access": "operator"}))
    forbidden(looker.put("users/admin", {"email": "x@y.org"}))
    forbidden(looker.put("users/admin/reset_password", {"password": "mine-now"}))
    forbidden(looker.get("users/admin/start_password_reset"))
    forbidden(looker.delete("users/admin"))
    for answer in (looker.delete("users/looker/lock"), looker.post("users/looker/admin")):
        assert answer.status == 409, answer  # not of the caller itself
    forbidden(looker.post("users/admin/lock"))
    assert looker.put("users/looker", {"email": "looker@b.org"}).status == 200
    assert looker.put("users/looker/reset_password", {"password": "look-again"}).status == 200
    looker = as_user(daemon, "looker", "look-again")
    token = bearer(daemon, looker)
    assert token.get("nodes").status == 200
    forbidden(token.put("users/looker/reset_password", {"password": "by-a-token"}))
    assert me.delete("users/looker").status == 200
    clear(me)


def test_grants_raise_inside_a_deployment_and_below(daemon):
    me = daemon.client()
    ids = furnish(me)
    grants = {str(ids["levels-lab"]): "operator"}
    made = make(me, "grantee", access="viewer", grants=grants)
    assert set(made) == FIELDS
    assert me.get("users/grantee?view=full").json()["grants"] == grants
    grantee = as_user(daemon, "grantee")
    assert describe(grantee, "levels-lab").status == 200
    assert describe(grantee, "levels-bench").status == 200
    forbidden(describe(grantee, "levels-yard"))
    forbidden(grantee.post("nodes", {"name": "new.example.com"}))
    assert grantee.post("deployments", {"name": "levels-new", "parent": "levels-lab"}).status == 200
    assert grantee.delete("deployments/levels-new").status == 200
    move = grantee.put("nodes/levels-lab.example.com", {"deployment": "levels-yard"})
    assert "levels-yard" in forbidden(move)
    forbidden(grantee.put("nodes/levels-yard.example.com", {"deployment": "levels-lab"}))
    many = [{"name": f"m{i}.example.com", "deployment": d} for i, d in enumerate(ids)]
    forbidden(grantee.post("nodes", many))
    assert me.get("nodes/m0.example.com").status == 404
    for wrong in ({"99999": "operator"}, {str(ids["levels-lab"]): "admin"}, [1], {"x": "viewer"}):
        answer = me.put("users/grantee", {"grants": wrong})
        assert answer.status == 400 and answer.json()["field"] == "grants", answer
    assert me.put("users/grantee", {"grants": {}}).status == 200
    forbidden(describe(grantee, "levels-lab"))
    assert me.delete("users/grantee").status == 200
    clear(me)


def test_tokens_with_reduced_rights(daemon):
    me = daemon.client()
    ids = furnish(me)
    viewer = bearer(daemon, me, access="viewer")
    operator = bearer(daemon, me, access="operator")
    lab = bearer(daemon, me, deployment="levels-lab")
    forbidden(describe(viewer, "levels-lab"))
    assert describe(operator, "levels-yard").status == 200
    forbidden(operator.post("users", {"username": "x", "password": "123456"}))
    assert describe(lab, "levels-bench").status == 200
    forbidden(describe(lab, "levels-yard"))
    forbidden(lab.post("groups", {"name": "everywhere"}))
    for client in (viewer, operator, lab):  # they stay what they are
        forbidden(client.post("tokens", {"name": "more"}))
        forbidden(client.put("users/admin", {"email": "x@y.org"}))
        assert client.get("nodes").status == 200
    listed = {t["id"]: t for t in me.get("tokens").json()}
    assert {t["access"] for t in listed.values()} == {None, "viewer", "operator"}
    assert ids["levels-lab"] in {t["deployment_id"] for t in listed.values()}
    make(me, "small", access="viewer")
    answer = as_user(daemon, "small").post("tokens", {"name": "big", "access": "admin"})
    assert answer.status == 400 and answer.json()["field"] == "access", answer
    answer = me.post("tokens", {"name": "odd", "access": "root"})
    assert answer.status == 400 and answer.json()["field"] == "access", answer
    assert me.delete("users/small").status == 200
    clear(me)
    # a token for a deployment that is gone is gone, too
    assert lab.get("nodes").status == 401


# ---- sessions ----


class Browser:
    """Keeps its cookie, and shows the csrf_token where it has one."""

    def __init__(self, daemon, cookie=None):
        self.daemon = daemon
        self.cookie = cookie
        self.csrf = None

    def ask(self, method, path, body=None, csrf=True, **headers):
        if self.cookie:
            headers["Cookie"] = "theme=dark; halligan_session=" + self.cookie
        if self.csrf and csrf:
            headers["X-CSRF-Token"] = self.csrf
        answer = Client(self.daemon.url).ask(method, path, body, headers=headers)
        set_cookie = answer.headers.get("Set-Cookie")
        if set_cookie:
            self.set_cookie = set_cookie
            self.cookie = re.match("halligan_session=([^;]*)", set_cookie).group(1)
        return answer

    def login(self, username, password):
        answer = self.ask("POST", "session", {"username": username, "password": password})
        if answer.status == 200:
            self.csrf = answer.json()["csrf_token"]
        return answer


def test_browsers_log_in_and_out(daemon):
    browser = Browser(daemon)
    answer = browser.login("admin", daemon.password)
    assert answer.status == 200, answer
    told = answer.json()
    assert set(told) == {"username", "is_admin", "access", "csrf_token", "expires_at"}
    assert (told["username"], told["is_admin"], told["access"]) == ("admin", True, "admin")
    for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"):
        assert "; " + part in browser.set_cookie, browser.set_cookie
    assert "Secure" not in browser.set_cookie  # this is no TLS
    assert browser.ask("GET", "session").json() == told
    assert browser.ask("GET", "nodes").status == 200
    assert browser.ask("POST", "deployments", {"name": "by-browser"}).status == 200
    assert browser.ask("DELETE", "deployments/by-browser").status == 200
    # the cookie is no token, and a token is no cookie
    assert Client(daemon.url, "Bearer " + browser.cookie).get("nodes").status == 401
    assert Browser(daemon, daemon.token).ask("GET", "nodes").status == 401
    cookie = browser.cookie
    goodbye = browser.ask("DELETE", "session")
    assert goodbye.status == 200 and browser.cookie == "" and "Max-Age=0" in browser.set_cookie
    assert Browser(daemon, cookie).ask("GET", "nodes").status == 401
    assert daemon.client().delete("session").status == 404
    whoami = daemon.client().get("session").json()
    assert whoami["username"] == "admin" and whoami["csrf_token"] is None


def test_logins_are_refused_like_passwords(daemon):
    me = daemon.client()
    make(me, "logger")
    for username, password in (("logger", "wrong"), ("nobody-here", "pass-word"), ("logger", "")):
        answer = Browser(daemon).login(username, password)
        assert answer.status == 401 and "Set-Cookie" not in answer.headers, answer
    assert {p["field"] for p in Browser(daemon).ask("POST", "session", {}).json()["problems"]} == {
        "username",
        "password",
    }
    long = Client(daemon.url).post("session", {"username": "x" * 20000, "password": "y"})
    assert long.status == 413, long
    form = b"username=logger&password=pass-word"
    answer = Client(daemon.url).ask(
        "POST", "session", raw=form, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert answer.status == 200, answer
    me.delete("users/logger")


def test_a_header_has_priority_over_a_cookie(daemon):
    me = daemon.client()
    make(me, "second", access="viewer")
    browser = Browser(daemon)
    assert browser.login("second", "pass-word").status == 200
    both = {"Authorization": me.authorization}
    assert browser.ask("GET", "session", **both).json()["username"] == "admin"
    assert browser.ask("GET", "session", Authorization="Bearer nonsense").status == 401
    # and needs no second secret
    assert browser.ask("POST", "deployments", {"name": "both"}, csrf=False, **both).status == 200
    me.delete("deployments/both")
    me.delete("users/second")


def test_a_new_password_ends_all_sessions(daemon):
    me = daemon.client()
    make(me, "tabs")
    browsers = [Browser(daemon) for _ in range(3)]
    for browser in browsers:
        assert browser.login("tabs", "pass-word").status == 200
    assert len(me.get("tokens?user=tabs&kind=session").json()) == 3
    reset = {"password": "pass-again"}
    assert browsers[0].ask("PUT", "users/tabs/reset_password", reset).status == 200
    for browser in browsers:
        assert browser.ask("GET", "nodes").status == 401
    assert me.get("tokens?user=tabs").json() == []
    me.delete("users/tabs")


def test_a_user_has_twenty_sessions_at_most(daemon):
    me = daemon.client()
    make(me, "busy")
    first = Browser(daemon)
    assert first.login("busy", "pass-word").status == 200
    for _ in range(20):
        assert Browser(daemon).login("busy", "pass-word").status == 200
    assert len(me.get("tokens?user=busy").json()) == 20
    assert first.ask("GET", "nodes").status == 401
    me.delete("users/busy")


def test_logins_and_logouts_are_events(daemon):
    me = daemon.client()
    make(me, "witness")
    browser = Browser(daemon)
    browser.login("witness", "pass-word")
    cookie = browser.cookie
    assert browser.ask("DELETE", "session").status == 200
    seen = me.get("audit?actor=user%20witness")
    assert [e["verb"] for e in seen.json()] == ["token_create", "token_delete"], seen
    assert cookie not in seen.text
    forbidden(as_user(daemon, "witness").get("audit"))
    me.delete("users/witness")
