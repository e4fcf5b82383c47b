"""URL and credentials of the daemon: options, environment, the file, and servers that misbehave."""
import json
import os

from daemon import Own
from odd_server import OddServer
from test_nouns import NO_SERVER, NOT_ALLOWED, NOTHING, OK, USAGE

LIST = (200, {"Content-Type": "application/json"}, b"[]")


def sent(server, index=-1):
    return server.asked[index][2].get("Authorization")


def config(bench, text, mode=0o600):
    bench.write(".config/halligan/config", text, mode)


def test_credentials_by_environment_option_and_file(bench):
    token = bench.credentials()["HALLIGAN_TOKEN"]
    url, password = bench.daemon.url, bench.daemon.password
    bench.write("token", token + "\n", 0o600)
    for words, env, text in [
        ([], {"HALLIGAN_URL": url + "/", "HALLIGAN_TOKEN": token}, None),
        ([], {"HALLIGAN_URL": url, "HALLIGAN_USER": "admin", "HALLIGAN_PASSWORD": password}, None),
        (["--url", url, "--token-file", "token"], {"HALLIGAN_TOKEN": "wrong"}, None),
        (["--url", url, "--user", "admin"], {"HALLIGAN_PASSWORD": password, "HALLIGAN_TOKEN": "wrong"}, None),
        ([], {}, f"# mine\nurl = {url}\ntoken = {token}\n"),
        ([], {}, f"url = {url}\nuser = admin\npassword = {password}\n"),
        ([], {"HALLIGAN_URL": url}, f"url = {url}/\ntoken = {token}\n"),
        (["--user", "admin"], {"HALLIGAN_PASSWORD": password}, f"url = {url}\ntoken = wrong\n"),
        ([], {"HALLIGAN_TOKEN": token}, f"url = {url}\ntoken = wrong\n"),
        ([], {"HALLIGAN_USER": "admin", "HALLIGAN_PASSWORD": password}, f"url = {url}\ntoken = wrong\n"),
    ]:
        if text:
            config(bench, text)
        answer = bench.halligan("roles", "list", "-q", *words, env=env)
        assert answer.status == OK and "base" in answer.out.split(), (words, env, text, answer)
        if text:
            os.unlink(bench.path(".config/halligan/config"))


def test_xdg_config_home_counts(bench):
    bench.write("elsewhere/halligan/config", f"url = {bench.daemon.url}\ntoken = {bench.credentials()['HALLIGAN_TOKEN']}\n", 0o600)
    assert bench.halligan("roles", "list", env={"XDG_CONFIG_HOME": bench.path("elsewhere")}).status == OK


def test_wrong_credentials_and_none(bench):
    url = bench.daemon.url
    answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": url})
    assert answer.status == NOT_ALLOWED and "halligan login" in answer.err, answer
    answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": url, "HALLIGAN_TOKEN": "hlg_wrong"})
    assert answer.status == NOT_ALLOWED and "halligan login" not in answer.err, answer
    answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": url, "HALLIGAN_USER": "admin", "HALLIGAN_PASSWORD": "x"})
    assert answer.status == NOT_ALLOWED and not answer.out, answer


def test_a_secret_that_others_can_read_is_refused(bench):
    for mode in [0o640, 0o604, 0o644, 0o660]:
        config(bench, f"url = {bench.daemon.url}\ntoken = x\n", mode)
        answer = bench.halligan("nodes", "list")
        assert answer.status == NOTHING and "contains a secret and other users can read it" in answer.err, answer
        assert "chmod 600" in answer.err, answer
    config(bench, f"url = {bench.daemon.url}\n", 0o644)
    answer = bench.halligan("roles", "list", env={"HALLIGAN_TOKEN": bench.credentials()["HALLIGAN_TOKEN"]})
    assert answer.status == OK, answer
    bench.write("token", "x", 0o644)
    answer = bench.halligan("nodes", "list", "--url", bench.daemon.url, "--token-file", "token")
    assert answer.status == NOTHING and "a token file must be" in answer.err, answer


def test_an_error_in_the_file_is_reported_with_its_line(bench):
    config(bench, "url = http://127.0.0.1:1\n\ntokken = x\n")
    answer = bench.halligan("nodes", "list")
    assert answer.status == NOTHING and "/config:3: unknown key; the keys are" in answer.err, answer
    answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": "ftp://example.com"})
    assert answer.status == NOTHING, answer
    os.unlink(bench.path(".config/halligan/config"))
    answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": "ftp://example.com"})
    assert answer.status == USAGE and "http:// or https://" in answer.err, answer


def test_what_the_file_knows_is_for_its_daemon_alone(bench):
    config(bench, "url = http://127.0.0.1:1\ntoken = mine\nuser = ann\npassword = secret\n")
    with OddServer(LIST) as other:
        assert bench.halligan("nodes", "list", "-q", env={"HALLIGAN_URL": other.url}).status == OK
        assert sent(other) is None, other.asked
        assert bench.halligan("nodes", "list", "-q", "--url", other.url).status == OK
        assert sent(other) is None, other.asked
        config(bench, f"url = {other.url}\ntoken = mine\n")
        assert bench.halligan("nodes", "list", "-q").status == OK
        assert sent(other) == "Bearer mine", other.asked


def test_credentials_follow_no_redirect(bench):
    with OddServer(LIST) as other, OddServer((307, {"Location": other.url + "/api/v2/nodes"}, b"")) as first:
        answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": first.url, "HALLIGAN_TOKEN": "t"})
        assert answer.status == NO_SERVER and "307" in answer.err, answer
        assert other.asked == [], other.asked


def test_a_password_is_not_sent_in_the_clear(bench):
    env = {"HALLIGAN_URL": "http://192.0.2.1:3000", "HALLIGAN_USER": "ann", "HALLIGAN_PASSWORD": "secret"}
    for words in [["nodes", "list"], ["login"]]:
        answer = bench.halligan(*words, env=env)
        assert answer.status == USAGE and "not sent over plain HTTP" in answer.err, answer
    for url in ["http://ann:secret@127.0.0.1:1", "http://127.0.0.1:1/?x", "http://127.0.0.1:1#x"]:
        answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": url})
        assert answer.status == USAGE and "may have a host, a port and a path only" in answer.err, answer


def test_a_proxy_is_not_used_for_loopback(bench):
    with OddServer(LIST) as proxy:
        env = dict(bench.credentials(), http_proxy=proxy.url, HTTP_PROXY=proxy.url)
        assert bench.halligan("roles", "list", env=env).status == OK
        assert proxy.asked == [], proxy.asked


def test_only_reading_is_tried_again(bench):
    busy = (503, {"Retry-After": "0"}, b'{"message":"busy","status":503,"code":"unavailable"}')
    with OddServer(busy, busy, LIST) as server:
        answer = bench.halligan("nodes", "list", "-q", env={"HALLIGAN_URL": server.url})
        assert answer.status == OK and len(server.asked) == 3, (answer, server.asked)
    for words in [["nodes", "create", "name=a.example.com"], ["nodes", "destroy", "x", "--yes"],
                  ["nodes", "commit", "x", "--yes"]]:
        with OddServer(busy) as server:
            answer = bench.halligan(*words, env={"HALLIGAN_URL": server.url})
            assert answer.status == NO_SERVER and "busy [unavailable]" in answer.err, answer
            assert len(server.asked) == 1, server.asked
    with OddServer((503, {}, b"")) as server:
        assert bench.halligan("nodes", "list", env={"HALLIGAN_URL": server.url}).status == NO_SERVER
        assert len(server.asked) == 1, server.asked


def test_servers_that_make_no_sense(bench):
    for status, body, said in [
        (200, b"<html>", "is not JSON"),
        (200, b'{"id":', "is not JSON"),
        (500, b"oh \x1b[31mdear", "the server replied with status 500: oh  [31mdear"),
        (404, b"", "the server replied with status 404"),
    ]:
        with OddServer((status, {}, body)) as server:
            answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": server.url})
            assert answer.status == (4 if status == 404 else NO_SERVER) and said in answer.err, answer
            assert not answer.out and "\x1b" not in answer.err, answer
    answer = bench.halligan("nodes", "list", env={"HALLIGAN_URL": "http://127.0.0.1:1"})
    assert answer.status == NO_SERVER and "no reply from http://127.0.0.1:1" in answer.err, answer


def test_a_list_of_something_else_is_not_a_crash(bench):
    for body in [b'[1,"x",null]', b'{"a":1}', b"7", b"[[]]", b'[{"id":"x","state":"odd"}]', b"[{}]"]:
        with OddServer((200, {}, body)) as server:
            env = {"HALLIGAN_URL": server.url}
            for words in [["deployments", "list"], ["noderoles", "list"], ["nodes", "list", "-q"], ["nodes", "show", "x"],
                          ["nodes", "commit", "x"], ["deployments", "plan", "x"], ["nodes", "why", "x"],
                          ["nodes", "get", "x"], ["nodes", "power", "x"], ["noderoles", "log", "1"],
                          ["snapshots", "diff", "1", "2"], ["deployments", "retry", "x"], ["inventory", "--host", "x"],
                          ["tokens", "create", "name=x", "-q"]]:
                answer = bench.halligan(*words, env=env)
                assert answer.status in range(9) and "Sanitizer" not in answer.err, (words, body, answer)


def test_asking_for_less_than_all(bench):
    """A table asks for its columns only; nothing else is worth the way."""
    with OddServer(LIST) as server:
        env = {"HALLIGAN_URL": server.url}
        bench.halligan("nodes", "list", env=env)
        assert json.loads(server.asked[-1][2]["x-return-attributes"])[:3] == ["id", "id", "name"], server.asked
        bench.halligan("nodes", "list", "-o", "json", env=env)
        assert "x-return-attributes" not in server.asked[-1][2] and "view=full" in server.asked[-1][1], server.asked


# ---- login ----


def test_login_makes_a_token_and_logout_deletes_it(bench):
    screen = bench.at_terminal("login", "--url", bench.daemon.url)
    try:
        screen.shows("User at " + bench.daemon.url + ": ")
        screen.type("admin\n")
        screen.shows("Password of admin: ")
        screen.type(bench.daemon.password + "\n")
        screen.shows("logged in to ")
        assert screen.end() == OK, screen.shown
    finally:
        screen.kill()
    assert bench.daemon.password not in screen.shown, screen.shown
    place = bench.path(".config/halligan/config")
    assert os.stat(place).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(place)).st_mode & 0o077 == 0
    text = bench.read(".config/halligan/config")
    assert bench.daemon.password not in text and "token = hlg_" in text, text
    answer = bench.halligan("tokens", "list", "-o", "json")
    assert answer.status == OK, answer
    (mine,) = [t for t in json.loads(answer.out) if f"token_id = {t['id']}\n" in text]
    assert mine["name"].startswith("halligan login on "), mine
    assert bench.halligan("logout").status == OK
    assert "token" not in bench.read(".config/halligan/config")
    assert bench.halligan("tokens", "list").status == NOT_ALLOWED
    assert mine["id"] not in [t["id"] for t in bench.daemon.client().get("tokens").json()]
    assert bench.halligan("logout").status == NOTHING


def test_login_without_a_terminal(bench):
    answer = bench.halligan("login", "--url", bench.daemon.url, "--user", "admin")
    assert answer.status == USAGE and "HALLIGAN_PASSWORD" in answer.err, answer
    env = {"HALLIGAN_USER": "admin", "HALLIGAN_PASSWORD": bench.daemon.password}
    assert bench.halligan("login", "--url", bench.daemon.url, "name=robot", env=env).status == OK
    assert bench.halligan("nodes", "list").status == OK
    env["HALLIGAN_PASSWORD"] = "wrong"
    before = bench.read(".config/halligan/config")
    assert bench.halligan("login", "--url", bench.daemon.url, env=env).status == NOT_ALLOWED
    assert bench.read(".config/halligan/config") == before


def test_a_password_is_asked_for_where_one_is_missing(bench):
    screen = bench.at_terminal("roles", "list", "-q", "--user", "admin", env={"HALLIGAN_URL": bench.daemon.url})
    try:
        screen.shows("Password of admin: ")
        screen.type(bench.daemon.password + "\n")
        screen.shows("base")
        assert screen.end() == OK, screen.shown
    finally:
        screen.kill()
    screen = bench.at_terminal("roles", "list", "--user", "admin", env={"HALLIGAN_URL": bench.daemon.url})
    try:
        screen.shows("Password of admin: ")
        screen.type("\x03")
        assert screen.end() == -2, screen.shown
    finally:
        screen.kill()


def test_logout_removes_the_token_without_a_server(bench):
    config(bench, "url = http://127.0.0.1:1\ntoken = t\ntoken_id = 7\nuser = ann\n")
    answer = bench.halligan("logout")
    assert answer.status == NO_SERVER and "the daemon may still accept it" in answer.err, answer
    text = bench.read(".config/halligan/config")
    assert "token" not in text and "user = ann" in text and "url = http://127.0.0.1:1" in text, text


# ---- TLS ----


def test_a_daemon_with_its_own_ca(bench):
    with Own(bench.daemon) as own:
        own.start("--tls-auto", "--log-level", "warning")
        url, ca = own.read("listen").strip(), own.path("tls/ca.pem")
        assert url.startswith("https://"), url
        env = {"HALLIGAN_URL": url, "HALLIGAN_USER": "admin", "HALLIGAN_PASSWORD": own.read("admin.password").strip()}
        answer = bench.halligan("deployments", "list", "-q", env=env)
        assert answer.status == NO_SERVER and "certificate" in answer.err and not answer.out, answer
        answer = bench.halligan("deployments", "list", "-q", env=dict(env, HALLIGAN_CA=ca))
        assert answer.status == OK and answer.out == "system\n", answer
        answer = bench.halligan("deployments", "list", "-q", "--ca", "nowhere.pem", env=env)
        assert answer.status == NO_SERVER and not answer.out, answer
        os.symlink(ca, bench.path("ca.pem"))
        answer = bench.halligan("login", "--ca", "ca.pem", env=env)
        assert answer.status == OK, answer
        assert bench.halligan("deployments", "list", cwd=".config").status == OK
        assert bench.halligan("logout").status == OK
        assert own.stop() == 0
