"""Watching: lists that are shown again, events as they come, and streams that break."""
import itertools
import json
import os
import subprocess

from daemon import eventually
from odd_server import OddServer
from stream_server import StreamServer
from test_nouns import NO_SERVER, NOT_FOUND


class Watcher:
    """A halligan that does not end by itself; what it printed so far."""

    def __init__(self, bench, env, *words):
        self.place = bench.path("watched")
        with open(self.place, "wb") as out, open(bench.path("complaints"), "wb") as err:
            self.process = subprocess.Popen([os.path.join(bench.build, "halligan"), *words], cwd=bench.folder,
                                            env=bench.environment(**env), stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    @property
    def text(self):
        with open(self.place, encoding="utf-8") as file:
            return file.read()

    def shows(self, text):
        eventually(lambda: text in self.text, f"it shows {text}; it shows {self.text}")


def event(number, name, **more):
    body = {"id": f"1.{number}", "at": "2026-01-01T00:00:00.000Z", "actor": "user admin", "verb": "node_create",
            "object": "node", "object_id": number, "changes": {"name": name}, **more}
    return f"id: 1.{number}\ndata: {json.dumps(body)}\n\n"


def test_a_list_is_shown_again_when_something_happens(bench):
    with StreamServer(1) as server, Watcher(bench, {"HALLIGAN_URL": server.url}, "nodes", "list", "--watch", "-o", "json") as watcher:
        watcher.shows("[]\n")
        server.nodes = [{"id": 1, "name": "wa1.example.com"}]
        server.streams[0].put(event(1, "wa1"))
        watcher.shows('[{"id":1,"name":"wa1.example.com"}]\n')
        lists = server.lists
        server.streams[0].put(": nothing happened\n\n")
        server.streams[0].put(event(2, "x") + event(3, "x") + event(4, "x"))
        eventually(lambda: server.lists > lists, "the list is read again")
        server.nodes = []
        server.streams[0].put(event(5, "x"))
        eventually(lambda: watcher.text.endswith("\n[]\n"), "the list is empty again")
        assert server.lists == lists + 2, server.lists


def test_a_broken_stream_is_taken_up_where_it_ended(bench):
    with StreamServer(3) as server, Watcher(bench, {"HALLIGAN_URL": server.url}, "events", "watch") as watcher:
        server.streams[0].put(event(1, "a") + event(2, "b") + "id: 1.3\nda")
        watcher.shows("user admin  node_create  node 2\n")
        server.streams[0].put(None)
        eventually(lambda: len(server.listeners) == 2, "it listens again")
        server.streams[1].put(event(3, "c"))
        watcher.shows("node 3\n")
        server.streams[1].put(event(4, "d", address="192.0.2.7") + event(5, "e", address=None))
        watcher.shows("node 4  from 192.0.2.7\n")
        watcher.shows("node 5\n")
        server.streams[1].put(None)
        eventually(lambda: len(server.listeners) == 3, "and again")
        assert server.listeners == [None, "1.2", "1.5"], server.listeners
        assert watcher.text.count("\n") == 5, watcher.text


def test_a_list_of_the_daemon_is_shown_again(bench):
    with Watcher(bench, bench.credentials(), "nodes", "watch", "-q", "--filter", "name~wa-back") as watcher:
        bench.says("nodes", "create", "name=wa-back1.example.com")
        watcher.shows("wa-back1.example.com\n")
        bench.says("nodes", "create", "name=wa-back2.example.com")
        watcher.shows("wa-back2.example.com\n")


def test_what_happens_is_shown_as_it_happens(bench):
    with Watcher(bench, bench.credentials(), "events", "watch", "-o", "json") as watcher:
        bench.says("nodes", "create", "name=wa-event.example.com")
        rounds = itertools.count()  # what changes nothing is no event, and it may not listen yet

        def is_received():
            bench.says("nodes", "update", "wa-event.example.com", f"description={next(rounds)}")
            return "\n" in watcher.text

        eventually(is_received, "an event is received")
        events = [json.loads(line) for line in watcher.text.splitlines()]
        assert any(e["object"] == "node" and e["actor"] == "user admin" for e in events), events
    made = json.loads(bench.says("events", "list", "--limit", "1000", "-o", "json"))
    assert any(e["verb"] == "node_create" for e in made), made
    order = [tuple(map(int, e["id"].split("."))) for e in made]
    assert order == sorted(order, reverse=True), order
    (mine,) = json.loads(bench.says("audit", "list", "--filter", "address=127.0.0.1", "--limit", "1", "-o", "json"))
    assert mine["address"] == "127.0.0.1" and mine["actor"] == "user admin", mine
    head, row = bench.says("audit", "list", "--filter", "verb=node_create", "--limit", "1").splitlines()
    assert head.split()[:5] == ["ID", "AT", "ACTOR", "ADDRESS", "VERB"], head
    assert row[head.index("ADDRESS"):].split()[0] == "127.0.0.1", row
    oldest = json.loads(bench.says("events", "list", "--sort", "id", "--limit", "2", "-o", "json"))
    assert len(oldest) == 2 and [e["id"] for e in oldest] == sorted(e["id"] for e in oldest), oldest


def test_events_that_are_not_all_say_so(bench):
    bench.write("many.json", json.dumps([{"name": f"wa-many{i}.example.com"} for i in range(101)]))
    bench.says("nodes", "create", "-f", "many.json", "-q")
    answer = bench.online("events", "list", "-q")
    ids = answer.out.split()
    assert answer.status == 0 and len(ids) == 100 and f"--sort -id --after {ids[-1]}" in answer.err, answer
    following = bench.says("events", "list", "-q", "--sort", "-id", "--after", ids[-1], "--limit", "1").strip()
    assert following not in ids, following
    assert bench.says("events", "list", "-q", "--after", following, "--limit", "1").strip() == ids[-1]


def test_what_the_server_refuses_ends_the_watching(bench):
    refusal = (404, {}, b'{"message":"there is nothing here","status":404,"code":"not_found"}')
    with OddServer(refusal) as server:
        answer = bench.halligan("nodes", "watch", env={"HALLIGAN_URL": server.url})
        assert answer.status == NOT_FOUND and "there is nothing here [not_found]" in answer.err, answer
    answer = bench.halligan("events", "watch", env={"HALLIGAN_URL": "http://127.0.0.1:1"})
    assert answer.status == NO_SERVER and "no reply from" in answer.err, answer


def test_a_terminal_is_wiped_before_each_list(bench):
    with StreamServer(1) as server:
        server.nodes = [{"id": 1, "name": "wa-screen.example.com"}]
        screen = bench.at_terminal("nodes", "list", "--watch", env={"HALLIGAN_URL": server.url})
        try:
            screen.shows("wa-screen.example.com")
            server.streams[0].put(event(1, "x"))
            eventually(lambda: server.lists == 2, "the list is read again")
            screen.type("\x03")
            assert screen.end() == -2, screen.shown
        finally:
            screen.kill()
        assert screen.shown.count("\x1b[H\x1b[2J") == 2, screen.shown
