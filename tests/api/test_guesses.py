"""Failed logins by many names and addresses, and clients behind a proxy."""
import http.client
import json
import threading
import urllib.parse

from daemon import HASHING_S, From, Own, basic, eventually

FAR = "192.0.2.7"


def admin(own):
    return basic("admin", own.read("admin.password").strip())


def flood(own, address, count, threads=12):
    """Failed logins under ever new names, many at a time; returns the number of each status."""
    seen, lock = {}, threading.Lock()

    def guess(first):
        client = From(own, address)
        for number in range(first, count, threads):
            answer = client.get("nodes", Authorization=basic(f"name{number}", "wrong"))
            with lock:
                seen.setdefault(answer.status, []).append(answer.headers.get("Retry-After"))

    workers = [threading.Thread(target=guess, args=(first,)) for first in range(threads)]
    for worker in workers:
        worker.start()
    return workers, seen


def test_failed_logins_under_new_names_lock_out_only_their_address(daemon):
    with Own(daemon) as own:
        own.start()
        names = [f"user{number}" for number in range(4)]
        for name in names:
            made = own.client.post("users", {"username": name, "password": "Pa55-lemon-tree"})
            assert made.status == 200, made
        # more at a time than passwords can wait: a first login is never answered from memory
        workers, seen = flood(own, "127.0.0.2", 400, threads=40)
        answers = [From(own, "127.0.0.3").get("users", Authorization=basic(name, "Pa55-lemon-tree"))
                   for name in names]
        for worker in workers:
            worker.join()
        assert {answer.status for answer in answers} == {200}, [a.text for a in answers]
        assert set(seen) == {401, 429}, {status: len(all_) for status, all_ in seen.items()}
        # those that wait in the queue when the sixtieth is counted are answered 429
        assert len(seen[401]) == 60, len(seen[401])
        assert all(int(wait) > 0 for wait in seen[429]), seen[429]
        locked = From(own, "127.0.0.2").get("nodes", Authorization=admin(own))
        assert locked.status == 429 and int(locked.headers["Retry-After"]) > 60
        fresh = From(own, "127.0.0.4").get("nodes", Authorization=admin(own))
        assert fresh.status == 200, fresh.text
        assert own.stop() == 0


def test_users_who_logged_in_before_can_log_in_at_a_locked_address(daemon):
    with Own(daemon) as own:
        own.start()
        assert From(own, "127.0.0.2").get("nodes", Authorization=admin(own)).status == 200
        workers, seen = flood(own, "127.0.0.2", 100)
        for worker in workers:
            worker.join()
        assert 429 in seen
        assert From(own, "127.0.0.2").get("nodes", Authorization=admin(own)).status == 200
        other = From(own, "127.0.0.2").get("nodes", Authorization=basic("newcomer", "x"))
        assert other.status == 429


def test_behind_a_trusted_proxy_failed_logins_count_for_the_client(daemon):
    with Own(daemon) as own:
        own.start("--trusted-proxy", "127.0.0.9,127.0.0.2")
        proxy = From(own, "127.0.0.2")
        right = admin(own)
        # clear text from afar is refused, TLS up to the proxy is not
        plain = proxy.get("nodes", Authorization=right, X_Forwarded_For=FAR)
        assert plain.status == 403, plain.text
        assert proxy.get("nodes", Authorization=right, Forwarded=f"for={FAR}").status == 403
        assert proxy.get("nodes", Authorization=right, Forwarded="for=unknown").status == 403
        secure = {"X_Forwarded_Proto": "https"}
        assert proxy.get("nodes", Authorization=right, X_Forwarded_For=FAR, **secure).status == 200
        forwarded = 'for="[2001:db8::7]:1234";proto=https'
        assert proxy.get("nodes", Authorization=right, Forwarded=forwarded).status == 200
        # without a client address the proxy is the client
        assert proxy.get("nodes", Authorization=right).status == 200
        # one client fails to log in; of an IPv6 client the whole /64 counts
        for number in range(6):
            answer = proxy.get("nodes", Authorization=basic("admin", "wrong"),
                               Forwarded=f'for="[2001:db8:1::{number}]";proto=https')
            assert answer.status == 401, answer.text
        again = proxy.get("nodes", Authorization=right, **secure,
                          X_Forwarded_For="10.1.1.1, 2001:db8:1::99")
        assert again.status == 429 and int(again.headers["Retry-After"]) > 0
        other = proxy.get("nodes", Authorization=right, **secure,
                          X_Forwarded_For="2001:db8:1::99, 2001:db8:2::1")
        assert other.status == 200, other.text
        own.says("2001:db8:1::")
        # the headers of a peer that is not a trusted proxy are ignored
        liar = From(own, "127.0.0.3")
        assert liar.get("nodes", Authorization=right, X_Forwarded_For=FAR).status == 200
        answer = liar.get("nodes", Authorization=right, **secure, Forwarded="for=2001:db8:1::99")
        assert answer.status == 200, answer.text


def test_a_wrong_trusted_proxy_stops_the_start(daemon):
    for wrong in ("proxy.example.com", "10.0.0.0/8", "10.0.0.1,nonsense", ","):
        with Own(daemon) as own:
            ended = own.run("--trusted-proxy", wrong)
            assert ended.returncode != 0 and "trusted-proxy" in ended.stderr, ended


def test_event_streams_of_one_user_are_bounded(daemon):
    most = 64
    with Own(daemon) as own:
        own.start()
        me = own.client
        for name in ("many", "few"):
            made = me.post("users", {"username": name, "password": "Pa55-lemon-tree"})
            assert made.status == 200, made
        host = urllib.parse.urlsplit(own.read("listen").strip()).netloc

        def watch(token):
            connection = http.client.HTTPConnection(host, timeout=HASHING_S)
            connection.request("GET", "/api/v2/events", headers={
                "Accept": "text/event-stream", "Authorization": "Bearer " + token})
            return connection, connection.getresponse()

        def token_of(name):
            client = From(own)
            body = '{"name":"t"}'
            connection = http.client.HTTPConnection(client.host, timeout=HASHING_S)
            connection.request("POST", "/api/v2/tokens", body=body, headers={
                "Authorization": basic(name, "Pa55-lemon-tree"),
                "Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())["token"]

        many, few = token_of("many"), token_of("few")
        streams = [watch(many) for _ in range(most)]
        assert {answer.status for _, answer in streams} == {200}
        connection, answer = watch(many)
        assert answer.status == 429 and int(answer.headers["Retry-After"]) > 0
        assert b'"code":"limit"' in answer.read().replace(b" ", b"")
        connection.close()
        connection, answer = watch(few)
        assert answer.status == 200
        connection.close()
        # one that ends makes a place for another
        streams.pop()[0].close()

        def admitted():
            connection, answer = watch(many)
            streams.append((connection, answer))
            return answer.status == 200

        eventually(admitted, "there is a place again")
        for connection, _ in streams:
            connection.close()
