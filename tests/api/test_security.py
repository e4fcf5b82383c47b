"""What must not be possible: forged requests, borrowed sessions, tokens that reach further than they
should, password guessing, and strings with meta characters of other languages."""
import contextlib
import http.client
import json
import os
import re
import threading
import time
from urllib.parse import quote

from daemon import Client, Own, basic, eventually
from stream import stream
from test_people import Browser, as_user, bearer, forbidden, host_of, make

BAD_LOGINS = int(os.environ.get("HALLIGAN_BAD_LOGINS", "2000"))


# ---- cross-site requests ----


def test_forged_requests_change_nothing(daemon):
    browser = Browser(daemon)
    assert browser.login("admin", daemon.password).status == 200
    right = browser.csrf
    for csrf in (None, "", "0" * len(right), right[:-1], right + "0", right.upper() + "x"):
        browser.csrf = csrf
        for method, path, body in (
            ("POST", "deployments", {"name": "forged"}),
            ("PUT", "deployments/system", {"description": "forged"}),
            ("PATCH", "deployments/system", []),
            ("DELETE", "users/admin", None),
            ("DELETE", "session", None),
        ):
            forbidden(browser.ask(method, path, body))
        assert browser.ask("GET", "deployments").status == 200
    # the secret of another session is no good
    other = Browser(daemon)
    assert other.login("admin", daemon.password).status == 200
    browser.csrf = other.csrf
    assert other.csrf != right
    forbidden(browser.ask("POST", "deployments", {"name": "forged"}))
    browser.csrf = right
    forbidden(browser.ask("POST", "deployments", {"name": "forged"}, Origin="https://evil.example"))
    assert browser.ask("GET", "deployments/forged").status == 404
    own = "http://" + host_of(daemon)
    assert browser.ask("POST", "deployments", {"name": "genuine"}, Origin=own).status == 200
    assert browser.ask("DELETE", "deployments/genuine").status == 200


def test_a_page_of_another_site_cannot_log_in_a_user(daemon):
    browser = Browser(daemon)
    body = {"username": "admin", "password": daemon.password}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        forbidden(browser.ask("POST", "session", body, **headers))
    assert browser.cookie is None


def test_a_planted_session_is_ended_by_the_login(daemon):
    me = daemon.client()
    make(me, "attacker", access="viewer")
    make(me, "victim")
    planted = Browser(daemon)
    assert planted.login("attacker", "pass-word").status == 200
    for cookie in (planted.cookie, "hlg_" + "A" * 43, "x"):
        browser = Browser(daemon, cookie)
        assert browser.login("victim", "pass-word").status == 200
        assert browser.cookie != cookie
        assert browser.ask("GET", "session").json()["username"] == "victim"
        assert Browser(daemon, cookie).ask("GET", "session").status == 401
    # logging in twice in one browser leaves one session
    again = Browser(daemon, browser.cookie)
    assert again.login("victim", "pass-word").status == 200
    assert browser.ask("GET", "session").status == 401
    me.delete("users/attacker")
    me.delete("users/victim")


# ---- restricted tokens ----

KNOWN = {
    "nodes": "scoped.example.com",
    "deployments": "scoped",
    "roles": "base",
    "jigs": "noop",
    "available_hammers": "ssh",
    "bootenvs": "apitest-install",
    "barclamps": "apitest",
    "users": "scoped-user",
    "snapshots": "scoped",
    "groups": "scoped-group",
}


# Words that a command would be made of.
WORDS = {"method": "reboot", "poweraction": "reboot", "bucket": "user", "category": "ui"}


def operations(me):
    for path, methods in me.get("/api/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def filled(path, ids):
    words = path.split("/")
    for at, word in enumerate(words):
        if word.startswith("{"):
            words[at] = str(ids.get(words[at - 1], 1))
    return "/".join(words)


def plausible(operation):
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    values = {"string": "pass-word", "boolean": True, "integer": 1, "object": {}}
    return {
        key: WORDS.get(key) or KNOWN.get(key + "s", values.get(kind.get("type"), 1))
        for key, kind in schema.get("properties", {}).items()
    }


def everything(me):
    """All that can be listed, as text."""
    seen = {}
    for method, path, operation in operations(me):
        if method == "GET" and "{" not in path and "limit" in json.dumps(operation):
            parameters = "?view=full&all=true" if path.endswith("/tokens") else "?view=full"
            answer = me.get(path + parameters)
            if answer.status == 200 and answer.text.startswith("["):
                seen[path] = answer.text
    assert len(seen) >= 8, seen.keys()
    return {path: text for path, text in seen.items() if not path.endswith(("/events", "/audit"))}


def settle(me):
    me.post("deployments", {"name": "scoped"})
    me.post("nodes", {"name": "scoped.example.com", "deployment": "scoped"})
    me.post("groups", {"name": "scoped-group"})
    make(me, "scoped-user")
    ids = dict(KNOWN)
    ids["node_roles"] = me.post("node_roles", {"node": "scoped.example.com", "role": "base"}).json()["id"]
    ids["hammers"] = me.get("nodes/scoped.example.com/hammers").json()[0]["id"]
    ids["tokens"] = me.post("tokens", {"name": "bait"}).json()["id"]
    return ids


def unsettle(me, ids):
    me.delete(f"tokens/{ids['tokens']}")
    me.delete("users/scoped-user")
    me.delete("groups/scoped-group")
    assert me.delete("nodes/scoped.example.com").status == 200
    assert me.delete("deployments/scoped").status == 200


def check_powerless(me, weak, ids):
    """Every operation there is, about things that are there, in its name: nothing changes."""
    before = everything(me)
    patch = [{"op": "replace", "path": "/description", "value": "x"}]
    asked = 0
    for method, path, operation in operations(me):
        if method == "GET" or path.endswith("/session"):
            continue
        body = patch if method == "PATCH" else plausible(operation)
        answer = weak.ask(method, filled(path, ids), body)
        asked += 1
        if path.endswith("/match"):
            assert answer.status in (200, 400, 403), (method, path, answer)
        else:
            assert 400 <= answer.status < 500 or answer.status == 501, (method, path, answer)
    assert asked > 40
    after = everything(me)
    for path, text in before.items():
        assert after[path] == text, path


def test_a_viewers_token_changes_nothing(daemon):
    me = daemon.client()
    ids = settle(me)
    check_powerless(me, bearer(daemon, me, access="viewer"), ids)
    unsettle(me, ids)


def test_a_token_for_another_deployment_changes_nothing_here(daemon):
    me = daemon.client()
    ids = settle(me)
    me.post("deployments", {"name": "elsewhere"})
    check_powerless(me, bearer(daemon, me, deployment="elsewhere"), ids)
    me.delete("deployments/elsewhere")
    unsettle(me, ids)


# ---- tokens of nodes (ADR 0049) ----


def test_the_token_of_a_node_reaches_only_its_node(daemon):
    me = daemon.client()
    ids = settle(me)
    me.post("nodes", {"name": "own.example.com"})
    made = me.post("nodes/own.example.com/token", {})
    assert made.status == 200 and made.json()["node_id"] and made.json()["user_id"] is None, made
    node = Client(daemon.url, "Bearer " + made.json()["token"])
    own = node.get("nodes/own.example.com?view=full")
    assert own.status == 200, own
    generation = own.json()["boot_generation"]
    assert node.get("nodes/own.example.com/node_roles").status == 200
    for path in ("nodes", "nodes/scoped.example.com", "users", "deployments/scoped", "tokens"):
        forbidden(node.get(path))
    check_powerless(me, node, ids)
    put = lambda body, name="own": node.put(f"nodes/{name}.example.com", body)
    assert put({"alive": True}).json()["alive"] is True
    assert put({"alive": True, "bootenv": "sledgehammer"}).status == 200
    forbidden(put({"alive": True}, "scoped"))
    forbidden(put({"bootenv": "local", "boot_generation": generation}, "scoped"))
    forbidden(put({"bootenv": "local"}))
    forbidden(put({"bootenv": "debian-12-install", "boot_generation": generation}))
    forbidden(put({"name": "other.example.com"}))
    forbidden(put({"alive": True, "available": True}))
    forbidden(put({"deployment": "scoped"}))
    forbidden(put({"bootenv": "local", "boot_generation": generation}))  # no installation is in progress
    assert me.put("nodes/own.example.com", {"bootenv": "debian-12-install"}).status == 200
    generation = me.get("nodes/own.example.com?view=full").json()["boot_generation"]
    stale = put({"bootenv": "local", "boot_generation": generation + 1})
    assert stale.status == 409 and stale.json()["field"] == "boot_generation", stale
    assert me.get("nodes/own.example.com").json()["bootenv"] == "debian-12-install"
    done = put({"bootenv": "local", "boot_generation": generation})
    assert done.status == 200 and done.json()["bootenv"] == "local", done
    # a new token makes the old one void, unless it is to be kept
    second = me.post("nodes/own.example.com/token", {"name": "second"}).json()["token"]
    assert node.get("nodes/own.example.com").status == 401
    third = me.post("nodes/own.example.com/token", {"keep": True}).json()["token"]
    for token in (second, third):
        assert Client(daemon.url, "Bearer " + token).get("nodes/own.example.com").status == 200
    assert me.delete("nodes/own.example.com/token").status == 200
    assert me.delete("nodes/own.example.com/token").status == 404
    for token in (second, third):
        assert Client(daemon.url, "Bearer " + token).get("nodes/own.example.com").status == 401
    me.delete("nodes/own.example.com")
    unsettle(me, ids)


def test_operators_make_tokens_for_the_nodes_of_their_deployment(daemon):
    me = daemon.client()
    ids = settle(me)
    me.post("nodes", {"name": "far.example.com"})
    deployment = me.get("deployments/scoped").json()["id"]
    make(me, "keeper", access="viewer", grants={str(deployment): "operator"})
    keeper = as_user(daemon, "keeper")
    assert keeper.post("nodes/scoped.example.com/token", {}).status == 200
    forbidden(keeper.post("nodes/far.example.com/token", {}))
    me.post("nodes/far.example.com/token", {})
    forbidden(keeper.delete("nodes/far.example.com/token"))
    assert keeper.delete("nodes/scoped.example.com/token").status == 200
    me.delete("users/keeper")
    me.delete("nodes/far.example.com")
    unsettle(me, ids)


# ---- rights that end at a deployment ----


def two_deployments(me, name):
    """Two deployments, and who may do everything in the first and only look at the second."""
    near = me.post("deployments", {"name": "near"}).json()["id"]
    assert me.post("deployments", {"name": "far"}).status == 200
    make(me, name, access="viewer", grants={str(near): "operator"})


def no_deployments(me, name):
    for node in me.get("nodes?name.contains=.near-far.example.com").json():
        assert me.delete(f"nodes/{node['id']}").status == 200
    assert me.delete("deployments/near").status == me.delete("deployments/far").status == 200
    me.delete(f"users/{name}")


def test_a_revert_binds_nothing_on_nodes_that_moved_away(daemon):
    me, node = daemon.client(), "moved.near-far.example.com"
    two_deployments(me, "neighbour")
    neighbour = as_user(daemon, "neighbour")
    me.post("nodes", {"name": node, "deployment": "near", "alive": True, "available": True})
    for role in ("base", "goal"):
        assert neighbour.post("node_roles", {"node": node, "role": role}).status == 200
    assert neighbour.put("deployments/near/commit").status == 200
    active = lambda: all(n["state"] == 0 for n in me.get(f"nodes/{node}/node_roles").json())
    eventually(active, "what is bound is active")
    assert neighbour.put("deployments/near/propose").status == 200
    for noderole in me.get(f"nodes/{node}/node_roles").json():
        assert neighbour.delete(f"node_roles/{noderole['id']}").status == 200
    assert neighbour.put("deployments/near/commit").status == 200
    assert me.put(f"nodes/{node}", {"deployment": "far"}).status == 200
    forbidden(neighbour.post("node_roles", {"node": node, "role": "base", "deployment": "near"}))
    forbidden(neighbour.put("deployments/near/revert", {"seq": 1}))
    assert me.get(f"nodes/{node}/node_roles").json() == []
    # a user who may bind there may revert
    assert me.put("deployments/near/revert", {"seq": 1}).status == 200
    assert len(me.get(f"nodes/{node}/node_roles").json()) == 2
    no_deployments(me, "neighbour")


def test_values_stored_in_another_deployment_need_rights_there(daemon):
    me, node = daemon.client(), "kept.near-far.example.com"
    two_deployments(me, "keeper")
    keeper = as_user(daemon, "keeper")
    me.post("nodes", {"name": node, "deployment": "near"})
    noderole = me.post("node_roles", {"node": node, "role": "base", "deployment": "far"}).json()["id"]
    fields = {"name": "kept-far", "barclamp": "apitest", "role": "base", "map": "kept", "writable": True}
    assert me.post("attribs", fields).status == 200
    path = f"nodes/{node}/attribs/kept-far"
    forbidden(keeper.put(path, {"value": "mine"}))
    forbidden(keeper.put(f"node_roles/{noderole}/attribs/kept-far", {"value": "mine"}))
    assert me.get(path).json()["value"] is None
    assert me.put(path, {"value": "theirs"}).json()["value"] == "theirs"
    me.delete("attribs/kept-far")
    no_deployments(me, "keeper")


def test_admin_nodes_need_rights_in_system(daemon):
    me = daemon.client()
    two_deployments(me, "climber")
    climber = as_user(daemon, "climber")
    for flag in ("admin", "system"):
        body = {"name": flag + ".near-far.example.com", "deployment": "near", flag: True}
        forbidden(climber.post("nodes", body))
        forbidden(climber.post("nodes", [body]))
        forbidden(climber.post("nodes", {**body, flag: False}))
        assert me.post("nodes", {**body, flag: False}).status == 200
    no_deployments(me, "climber")


def test_a_token_cannot_create_one_that_outlives_it(daemon):
    me = daemon.client()
    end = int(time.time() * 1000) + 3600 * 1000
    made = me.post("tokens", {"name": "short", "expires_at": end})
    short = Client(daemon.url, "Bearer " + made.json()["token"])
    for more in ({}, {"expires_at": end + 1}, {"expires_at": None}):
        answer = short.post("tokens", {"name": "long", **more})
        assert answer.status == 400 and answer.json()["field"] == "expires_at", answer
    assert short.post("tokens", {"name": "shorter", "expires_at": end}).status == 200
    for token in me.get("tokens").json():
        if token["name"] in ("short", "shorter"):
            me.delete(f"tokens/{token['id']}")


def test_an_upload_without_rights_is_not_parsed(daemon):
    me = daemon.client()
    weak = bearer(daemon, me, access="operator")
    for value in ("a: [1, 2", "barclamp: {name: x}", {"barclamp": {"name": "x"}}):
        forbidden(weak.post("barclamps", {"value": value}))
        forbidden(weak.put("barclamps/apitest", {"value": value}))


# ---- expensive requests ----


def test_long_texts_can_be_filtered_and_listed(daemon):
    me, count = daemon.client(), 1001
    long = "Long" + "x" * 60000
    assert me.post("nodes", [{"name": f"brief{i}.example.com"} for i in range(count - 100)]).status == 200
    body = [{"name": f"long{i}.example.com", "description": long} for i in range(100)]
    for at in (0, 50):  # more would be too large for one request
        assert me.post("nodes", body[at : at + 50]).status == 200
    # 200 rows of these are more than a stream may hold; the daemon has nodes of other tests too
    for path in ("nodes", "nodes?limit=1000&name.contains=.EXAMPLE.com&sort=-id"):
        listed = me.get(path).json()
        assert sum(node["description"] == long for node in listed) == 100, path
    # what almost fits everywhere, and what does so in many ways
    assert me.get("nodes?description.contains=" + "x" * 4000 + "y").json() == []
    assert len(me.get("nodes?description.contains=" + "x" * 4000).json()) == 100
    wanted = "&".join(f"description.contains=y{i}" for i in range(16))
    assert me.get("nodes?" + wanted).json() == []
    refused = me.get("nodes?" + wanted + "&name.contains=z")
    assert refused.status == 400 and refused.json()["field"] == "name.contains", refused
    for node in me.get("nodes?system=false&sort=id").json():
        if node["name"].startswith(("long", "brief")):
            assert me.delete(f"nodes/{node['id']}").status == 200


def test_many_streams_from_the_beginning_are_complete(daemon):
    me, names = daemon.client(), [f"seen{i}.example.com" for i in range(130)]
    assert me.post("nodes", [{"name": name} for name in names]).status == 200
    with contextlib.ExitStack() as stack:
        watchers = [stack.enter_context(stream(me, "events?after=0.0")) for _ in range(40)]
        for watcher in watchers:
            for name in names:  # more than is looked up for one of them at once
                watcher.find("node_create", name)
    for name in names:
        assert me.delete(f"nodes/{name}").status == 200


# ---- failed logins ----


def guess(connection, authorization):
    connection.request("GET", "/api/v2/nodes", headers={"Authorization": authorization})
    answer = connection.getresponse()
    answer.read()
    return answer


def test_ten_thousand_failed_logins_do_not_block_others(daemon):
    """As many as BAD_LOGINS: those after the first six are cheap."""
    me = daemon.client()
    make(me, "target")
    make(me, "bystander")
    stop = threading.Event()
    served = []

    def good_client():
        client = as_user(daemon, "bystander")
        while not stop.is_set():
            served.append(me.get("deployments/system").status)
            served.append(client.get("deployments/system").status)

    thread = threading.Thread(target=good_client)
    thread.start()
    try:
        connection = http.client.HTTPConnection(host_of(daemon), timeout=60)
        seen = {}
        for number in range(BAD_LOGINS):
            answer = guess(connection, basic("target", f"guess{number}"))
            seen[answer.status] = seen.get(answer.status, 0) + 1
            if answer.status == 429:
                assert 0 < int(answer.headers["Retry-After"]) <= 600
        connection.close()
    finally:
        stop.set()
        thread.join()
    assert seen == {401: 6, 429: BAD_LOGINS - 6}, seen
    assert len(served) > 10 and set(served) == {200}, set(served)
    assert as_user(daemon, "target").get("nodes").status == 429  # correct, but locked out
    # a token of that user is not kept out, nor is the user by an admin's hand
    assert me.get("users/target").json()["is_locked"] is False
    me.delete("users/target")
    me.delete("users/bystander")


def test_unknown_user_names_are_refused_alike_and_cheaply(daemon):
    connection = http.client.HTTPConnection(host_of(daemon), timeout=60)
    for _ in range(6):
        assert guess(connection, basic("invented", "password")).status == 401
    assert guess(connection, basic("invented", "password")).status == 429
    connection.close()
    answer = Browser(daemon).login("invented", "password")
    assert answer.status == 429, answer  # whichever way they come
    assert daemon.client().get("nodes").status == 200


# ---- secrets ----


def files_below(path):
    for folder, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                yield os.path.join(folder, name), file.read()


def test_passwords_and_tokens_are_found_nowhere(daemon):
    words = {
        "password": "Pa55-tiger-lily",
        "new": "Pa55-orange-tree",
        "wrong": "Pa55-wrong-guess",
        "short": "P4ss5",
        "name": "Pa55-in-the-name",
    }
    with Own(daemon) as own:
        own.start("--log-level", "debug", "--barclamps", os.path.dirname(own.data + "/"))
        me = own.client
        url = own.read("listen").strip()
        body = {"username": "tiger", "password": words["password"], "digest": True}
        assert me.post("users", body).status == 200
        Client(url, basic("tiger", words["wrong"])).get("nodes")
        Client(url, basic(words["name"], "whatever")).get("nodes")
        tiger = Client(url, basic("tiger", words["password"]))
        words["token"] = tiger.post("tokens", {"name": "t"}).json()["token"]
        login = Client(url).post("session", {"username": "tiger", "password": words["password"]})
        words["session"] = re.match("halligan_session=([^;]*)", login.headers["Set-Cookie"]).group(1)
        words["csrf"] = login.json()["csrf_token"]
        assert tiger.put("users/tiger/reset_password", {"password": words["short"]}).status == 409
        assert tiger.put("users/tiger/reset_password", {"password": words["new"]}).status == 200
        for _ in range(8):
            Client(url, basic("tiger", words["wrong"])).get("nodes")
        assert own.stop() == 0
        log = own.read("stderr")
        assert "locked out" in log and "user=tiger" in log.replace('"', ""), log
        assert log.count("locked out from") == 1
        looked = 0
        for path, content in files_below(own.data):
            looked += 1
            for what, word in words.items():
                assert word.encode() not in content, (what, path)
        assert looked >= 3


# ---- strings with meta characters ----

NASTY = (
    "'; DROP TABLE node; --",
    '" OR 1=1 --',
    "$(touch /tmp/halligan-was-here)`id`;|&<>",
    "]]..os.execute('id')..[[",
    "%n%s%x{{7*7}}${7*7}",
    "\\\"\\u0000 \\x00 ../../etc/passwd",
    "line\r\nSet-Cookie: a=b\ttab",
    "<script>alert(1)</script>",
    "😀 ŝ ‮ ﷽",
)


def test_strings_with_meta_characters_are_stored_unchanged(daemon):
    """In every text of everything that can be made: refused, or read back as it was said."""
    me = daemon.client()
    tried = kept = 0
    for method, path, operation in operations(me):
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        if method != "POST" or "{" in path or path.endswith(("/match", "/session")):
            continue
        texts = [k for k, v in schema.get("properties", {}).items() if v.get("type") == "string"]
        for field in texts:
            for word in NASTY:
                body = {**{k: f"n{tried}.example.com" for k in schema.get("required", [])}, field: word}
                answer = me.post(path, body)
                tried += 1
                assert answer.status < 500, (path, field, word, answer)
                if answer.status != 200:
                    assert answer.json()["message"], answer
                    continue
                made = answer.json()
                key = made["id"] if "id" in made else quote(made["pattern"], safe="")
                if field in made and field not in ("password", "token"):
                    assert made[field] in (word, word.lower()), (path, field, made)
                    again = me.get(f"{path}/{key}")
                    assert again.json()[field] == made[field], (path, field, again)
                    kept += 1
                assert me.delete(f"{path}/{key}").status in (200, 405, 409), (path, made)
    assert tried > 60 and kept > 10, (tried, kept)
    assert not os.path.exists("/tmp/halligan-was-here")
    assert me.get("deployments/system").status == 200 and me.get("nodes").status == 200
