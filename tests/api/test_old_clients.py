"""Clients written for OpenCrowbar: what they send is accepted as it was then.

Ruby's digest library (old_client.rb), keys that are repeated, and the form of the old pages.
"""
import json
import os
import re
import shutil
import subprocess

from daemon import Own
from fixture import USERS
from opencrowbar import md5

HERE = os.path.dirname(os.path.abspath(__file__))


def ruby(daemon, user, password, verb, path, *form):
    """The (count, status) of each of its requests, and the last body."""
    program = shutil.which("ruby")
    assert program, "ruby is needed"
    command = [program, os.path.join(HERE, "old_client.rb"), daemon.url.rstrip("/"), user, password]
    ran = subprocess.run(command + [verb, path, *form], capture_output=True, text=True, timeout=120,
                         env={"PATH": os.environ["PATH"]})
    assert ran.returncode == 0, ran.stderr
    first = ran.stdout.splitlines()[:3]
    return [tuple(line.split()) for line in first], "\n".join(ran.stdout.splitlines()[3:])


# ---- digest ----


def test_ruby_counts_its_requests_from_zero(fixture):
    asked, body = ruby(fixture, "developer", USERS["developer"], "GET", "/api/v2/nodes/admin")
    assert asked == [("00000000", "200"), ("00000001", "200"), ("00000002", "200")], asked
    assert json.loads(body)["admin"] is True, body
    asked, body = ruby(fixture, "developer", USERS["developer"], "PUT", "/api/v2/nodes/admin",
                       "description=from+ruby")
    assert [status for _, status in asked] == ["200"] * 3, (asked, body)
    assert json.loads(body)["description"] == "from ruby"
    asked, _ = ruby(fixture, "developer", "wrong", "GET", "/api/v2/nodes/admin")
    assert asked[0] == ("00000000", "401"), asked


def digest_header(challenge, count, uri="/api/v2/digest"):
    """As "developer", with a count that is written as given."""
    nonce = re.search(r'nonce="([^"]+)"', challenge).group(1)
    secret = md5(f"developer:Crowbar:{USERS['developer']}")
    response = md5(f"{secret}:{nonce}:{count}:abc:auth:" + md5(f"GET:{uri}"))
    return (f'Digest username="developer", realm="Crowbar", nonce="{nonce}", uri="{uri}", '
            f'qop=auth, nc={count}, cnonce="abc", response="{response}"')


def test_a_count_is_used_once_however_it_is_written(fixture):
    me = fixture.stranger()
    challenge = me.get("digest").headers.get_all("WWW-Authenticate")[0]

    def status(count):
        return me.get("digest", headers={"Authorization": digest_header(challenge, count)}).status

    for count in ("00000000", "00000001", "0100000000", "ffffffffffffffff"):
        assert status(count) == 200, count
        assert status(count) == 401, count
    assert status("000000000001") == 401  # 1 was used
    for wrong in ("1", "0000000x", "00000000000000001"):
        assert status(wrong) == 401, wrong


# ---- repeated keys ----


def test_the_last_value_of_a_repeated_key_counts(daemon):
    with Own(daemon) as own:
        own.start("--log-level", "notice", "--barclamps", daemon.path("barclamps"))
        me = own.client
        kind = {"Content-Type": "application/json"}
        raw = b'{"name": "first.example.com", "name": "last.example.com", "alive": true}'
        made = me.post("nodes", raw=raw, headers=kind)
        assert made.status == 200 and made.json()["name"] == "last.example.com", made
        own.says("repeats a key")
        assert "key=name" in own.read("stderr") and "path=/api/v2/nodes" in own.read("stderr")
        strict = {**kind, "Prefer": "handling=strict"}
        refused = me.post("nodes", raw=raw.replace(b"last", b"other"), headers=strict)
        assert refused.status == 400 and refused.json()["code"] == "bad_json", refused
        assert me.get("nodes/other.example.com").status == 404
        assert me.get("nodes/first.example.com").status == 404
        # the many form, and a document inside of a form
        many = b'[{"name": "a.example.com", "name": "b.example.com"}]'
        assert me.post("nodes", raw=many, headers=kind).status == 200
        assert me.get("nodes/b.example.com").status == 200
        form = {"name": "c.example.com", "hint": '{"a": 1, "a": 2}'}
        assert me.post("nodes", form=form).status == 200
        assert own.stop() == 0


# ---- the form of the old pages ----


def sign_in(daemon, username, password, **more):
    form = {"utf8": "\u2713", "authenticity_token": "x", "user[username]": username,
            "user[password]": password, "commit": "Sign in", **more}
    return daemon.stranger().post("/my/users/sign_in", form=form)


def test_the_form_of_the_old_pages_opens_a_session(fixture):
    answer = sign_in(fixture, "developer", USERS["developer"])
    assert answer.status == 302 and answer.headers["Location"] == "/", (answer, answer.headers)
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    assert "HttpOnly" in answer.headers["Set-Cookie"]
    me = fixture.stranger()
    assert me.get("nodes/admin", headers={"Cookie": cookie}).status == 200
    session = me.get("session", headers={"Cookie": cookie}).json()
    assert session["username"] == "developer", session
    # A change by cookie needs the second secret, as for every session.
    refused = me.put("nodes/admin", {"description": "x"}, headers={"Cookie": cookie})
    assert refused.status == 403, refused
    headers = {"Cookie": cookie, "X-CSRF-Token": session["csrf_token"]}
    assert me.put("nodes/admin", {"description": "x"}, headers=headers).status == 200
    assert me.delete("session", headers=headers).status == 200
    assert me.get("nodes/admin", headers={"Cookie": cookie}).status == 401


def test_a_wrong_password_in_the_form_opens_none(fixture):
    answer = sign_in(fixture, "developer", "wrong")
    assert answer.status == 401 and "Set-Cookie" not in answer.headers, answer
    answer = fixture.stranger().post("/my/users/sign_in", form={"user[username]": "developer"})
    assert answer.status == 400 and answer.json()["field"] == "password", answer
    assert fixture.stranger().get("/my/users/sign_in").status in (401, 405)
