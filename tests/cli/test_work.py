"""Work: bind, commit, progress, waiting, logs, power; with a daemon whose test jig does the running."""
import json
import threading

from daemon import Daemon, eventually
from odd_server import OddServer
from test_nouns import FAILED, NOT_AGREED, NOT_FOUND, OK, REFUSED, TIMEOUT, USAGE, node, rows

JSON = {"Content-Type": "application/json"}
STATES = {-1: "error", 0: "active", 1: "todo", 2: "transition", 3: "blocked", 4: "proposed"}


def ready(bench, name, *fields):
    return node(bench, name, "alive=true", "available=true", *fields)


def deployment(bench, name, *nodes):
    bench.says("deployments", "create", f"name={name}")
    for each in nodes:
        ready(bench, each, f"deployment={name}")


def test_a_story_from_nothing_to_active(bench):
    deployment(bench, "wo-story", "wo1.example.com", "wo2.example.com")
    for name in ["wo1.example.com", "wo2.example.com"]:
        (row,) = rows(bench.says("nodes", "bind", name, "top"))
        assert row["ROLE"] == "top" and row["STATE"] == "proposed" and row["DEPLOYMENT"] == "wo-story", row
    answer = bench.online("deployments", "commit", "wo-story", "--wait", "--timeout", "60")
    assert answer.status == OK, answer
    assert answer.err.splitlines()[-1] == "6/6 active", answer
    (row,) = rows(answer.out)
    assert row["NAME"] == "wo-story" and row["STATE"] == "active", row
    states = [r["STATE"] for r in rows(bench.says("noderoles", "list", "--filter", "deployment=wo-story"))]
    assert states == ["active"] * 6, states
    (row,) = rows(bench.says("deployments", "propose", "wo-story"))
    assert row["STATE"] == "proposed", row
    (row,) = rows(bench.says("deployments", "recall", "wo-story"))
    assert row["STATE"] == "proposed", row


def test_several_roles_are_bound_at_once(bench):
    ready(bench, "wo3.example.com")
    table = rows(bench.says("noderoles", "bind", "wo3.example.com", "base", "goal"))
    assert [r["ROLE"] for r in table] == ["base", "goal"], table
    answer = bench.online("nodes", "bind", "wo3.example.com", "data={}")
    assert answer.status == USAGE and "ROLE" in answer.err, answer
    answer = bench.online("nodes", "bind", "wo3.example.com", "middle", "enemy", "top")
    assert answer.status == REFUSED and [r["ROLE"] for r in rows(answer.out)] == ["middle"], answer


def test_work_that_fails_is_a_failure(bench):
    deployment(bench, "wo-fails", "wo4.example.com")
    bench.says("nodes", "bind", "wo4.example.com", "base", 'data={"fail":true}')
    bench.says("nodes", "bind", "wo4.example.com", "middle")
    answer = bench.online("deployments", "commit", "wo-fails", "--wait", "--timeout", "60")
    assert answer.status == FAILED and "1 error" in answer.err and "test_failed" in answer.err and "base on wo4.example.com" in answer.err, answer
    (row,) = rows(answer.out)
    assert row["STATE"] == "error", row
    # A failure that is retried fails again, until what it goes by has changed.
    retried = rows(bench.says("nodes", "retry", "wo4.example.com"))
    assert [r["ROLE"] for r in retried] == ["base"], retried
    bench.says("noderoles", "wait", "wo4.example.com/base", "state", "error", "--timeout", "60")
    bench.says("noderoles", "propose", "wo4.example.com/base")
    bench.says("noderoles", "update", "wo4.example.com/base", 'data={"fail":false}')
    answer = bench.online("noderoles", "commit", "wo4.example.com/base", "--wait", "--timeout", "60")
    assert answer.status == OK and answer.err.splitlines()[-1] == "1/1 active", answer
    assert [r["RESULT"] for r in rows(bench.says("noderoles", "runs", "wo4.example.com/base"))][0] == "ok"
    assert rows(bench.says("deployments", "retry", "wo-fails")) == []
    bench.says("wait", "deployment", "wo-fails", "state", "active", "--timeout", "60")


def test_work_that_takes_too_long(bench):
    deployment(bench, "wo-slow", "wo5.example.com")
    bench.says("nodes", "bind", "wo5.example.com", "base", 'data={"delay":600000}')
    answer = bench.online("deployments", "commit", "wo-slow", "--wait", "--timeout", "1")
    assert answer.status == TIMEOUT and "0/1 active" in answer.err and "not all noderoles are active after 1 s" in answer.err, answer
    (row,) = [r for r in rows(bench.says("runs", "list")) if r["NODE"] == "wo5.example.com"]
    assert row["ROLE"] == "base" and row["STATE"] == "running", row
    said = bench.says("runs", "cancel", row["ID"])
    assert "being stopped" in said, said
    bench.says("wait", "noderole", "wo5.example.com/base", "state", "error", "--timeout", "60")


def test_options_that_do_not_go_together(bench):
    for words, complaint in [
        (["nodes", "commit", "x", "--timeout", "5"], "--timeout requires --wait"),
        (["deployments", "commit", "x", "y", "--plan", "0"], "--plan accepts one deployment only"),
        (["nodes", "create", "-", "-f", "x.json"], "--file and - cannot be combined"),
        (["inventory", "--list", "--host", "x"], "--list and --host cannot be combined"),
    ]:
        answer = bench.online(*words)
        assert answer.status == USAGE and complaint in answer.err, (words, answer)


def test_progress_is_drawn_on_a_terminal(bench):
    for env, colored in [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]:
        name = f"wo-bar{len(env)}{int('TERM' in env)}"
        deployment(bench, name, f"{name}.example.com")
        bench.says("nodes", "bind", f"{name}.example.com", "base", 'data={"fail":true}')
        credentials = dict(bench.credentials(), **env)
        screen = bench.at_terminal("deployments", "commit", name, "--wait", "-q", env=credentials)
        try:
            screen.shows("0/1 active")
            assert screen.end() == FAILED, screen.shown
        finally:
            screen.kill()
        assert "[" + "." * 30 + "] 0/1 active" in screen.shown, screen.shown
        assert ("\x1b[31m1 error" in screen.shown) is colored, screen.shown
        # However narrow the terminal is, it stays on one line.
        assert screen.shown.count("\x1b[?7l") == screen.shown.count("\x1b[?7h") > 0, screen.shown


def test_states_have_colors_on_a_terminal(bench):
    ready(bench, "wo-color.example.com")
    bench.says("nodes", "bind", "wo-color.example.com", "base")
    for env, wanted in [({}, "\x1b[90mproposed\x1b[0m"), ({"NO_COLOR": "1"}, " proposed ")]:
        screen = bench.at_terminal("noderoles", "list", "--filter", "node=wo-color.example.com",
                                   env=dict(bench.credentials(), **env))
        try:
            screen.shows(wanted)
            assert screen.end() == OK, screen.shown
        finally:
            screen.kill()


def test_waiting_until_it_is_so(bench):
    deployment(bench, "wo-waits")
    made = ready(bench, "wo6.example.com", "description=12")
    for words in [["node", "wo6.example.com", "alive", "true"], ["nodes", str(made["id"]), "alive", "true"],
                  ["node", "wo6.example.com", "description", "12"], ["node", "wo6.example.com", "target_role_id", "null"],
                  ["deployment", "wo-waits", "state", "proposed"], ["deployment", "wo-waits", "state", "0"]]:
        assert bench.online("wait", *words, "--timeout", "60").status == OK, words
    answer = bench.online("nodes", "wait", "wo6.example.com", "alive", "false", "--timeout", "0")
    assert answer.status == TIMEOUT, answer
    answer = bench.online("nodes", "wait", "wo6.example.com", "alive", "false", "--timeout", "1")
    assert answer.status == TIMEOUT and "alive is not false after 1 s" in answer.err, answer
    answer = bench.online("wait", "node", "wo6.example.com", "colour", "red")
    assert answer.status == USAGE and "unknown field: colour" in answer.err, answer
    assert bench.online("wait", "node", "nobody.example.com", "alive", "true").status == NOT_FOUND


def test_waiting_for_what_comes_later(bench):
    ready(bench, "wo7.example.com")
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(
        bench.online("wait", "node", "wo7.example.com", "description", "now", "--timeout", "60")))
    waiter.start()
    bench.says("nodes", "update", "wo7.example.com", "description=not yet")
    bench.says("nodes", "update", "wo7.example.com", "description=now")
    waiter.join()
    assert answers[0].status == OK, answers


def test_a_node_is_moved(bench):
    deployment(bench, "wo-there")
    ready(bench, "wo8.example.com")
    (row,) = rows(bench.says("nodes", "move", "wo8.example.com", "wo-there"))
    assert row["DEPLOYMENT"] == "wo-there", row
    assert bench.online("nodes", "move", "wo8.example.com", "nowhere").status == NOT_FOUND


def test_power_says_what_there_is(bench):
    ready(bench, "wo9.example.com")
    words = bench.says("nodes", "power", "wo9.example.com").split()
    assert words == bench.daemon.client().get("nodes/wo9.example.com/power").json()
    answer = bench.online("nodes", "power", "wo9.example.com", "explode")
    assert answer.status == REFUSED and "explode" in answer.err, answer


WIPE = """
barclamp: {name: wo_wipe, source_path: wo_wipe}
roles:
  - {name: wo-wipe, jig: test, flags: [destructive]}
"""


def test_a_redeploy_says_what_it_costs_and_asks(bench):
    bench.write("wipe.yml", WIPE)
    bench.says("barclamps", "upload", "wipe.yml")
    ready(bench, "wo-re1.example.com")
    ready(bench, "wo-re2.example.com")
    bench.says("nodes", "bind", "wo-re1.example.com", "wo-wipe")
    both = ["nodes", "redeploy", "wo-re1.example.com", "wo-re2.example.com"]
    for typed, end in [("no", "nothing was changed\r\n"), ("", "nothing was changed\r\n"), ("yes", "BOOTENV")]:
        screen = bench.at_terminal(*both, env=bench.credentials())
        try:
            screen.shows("Type yes to continue: ")
            assert "  wo-re1.example.com: wo-wipe\r\n" in screen.shown, screen.shown
            assert "  wo-re2.example.com: no role that destroys data" in screen.shown, screen.shown
            assert bench.daemon.client().get("nodes/wo-re1.example.com").json()["alive"] is True
            screen.type(typed + "\n")
            status = screen.end()
        finally:
            screen.kill()
        assert status == (OK if typed == "yes" else NOT_AGREED) and end in screen.shown, screen.shown
    assert bench.daemon.client().get("nodes/wo-re1.example.com").json()["alive"] is False


def test_a_redeploy_without_a_terminal_needs_yes(bench):
    ready(bench, "wo-re3.example.com")
    answer = bench.online("nodes", "redeploy", "wo-re3.example.com")
    assert answer.status == NOT_AGREED and "--yes" in answer.err and not answer.out, answer
    assert bench.daemon.client().get("nodes/wo-re3.example.com").json()["alive"] is True
    answer = bench.online("nodes", "redeploy", "wo-re3.example.com", "wo-nobody.example.com")
    assert answer.status == NOT_FOUND and "--yes" not in answer.err, answer
    (row,) = rows(bench.says("nodes", "redeploy", "wo-re3.example.com", "--yes"))
    assert row["ALIVE"] == "false", row


def test_a_commit_that_is_refused_does_not_keep_the_others(bench):
    deployment(bench, "wo-each", "wo-each1.example.com")
    bench.says("nodes", "bind", "wo-each1.example.com", "base")
    answer = bench.online("deployments", "commit", "wo-nowhere", "wo-each")
    assert answer.status == NOT_FOUND and "wo-nowhere" in answer.err, answer
    (row,) = rows(answer.out)
    assert row["NAME"] == "wo-each", answer


def test_many_at_once_from_stdin_and_file(bench):
    many = [{"name": f"wo-many{i}.example.com", "description": str(i)} for i in range(50)]
    said = bench.says("nodes", "create", "-", "-q", "alive=true", input=json.dumps(many[:20]))
    assert said.split() == [n["name"] for n in many[:20]], said
    lines = "\n".join(json.dumps(n) for n in many[20:40]) + "\n"
    assert bench.says("nodes", "create", "-", "-q", input=lines).split() == [n["name"] for n in many[20:40]]
    bench.write("many.json", json.dumps(many[40:], indent=2))
    table = rows(bench.says("nodes", "create", "-f", "many.json"))
    assert [r["NAME"] for r in table] == [n["name"] for n in many[40:]], table
    assert bench.daemon.client().get("nodes/wo-many7.example.com").json()["alive"] is True


def test_many_are_all_or_none(bench):
    names = ["wo-all1.example.com", "wo6", "wo-all2.example.com"]
    text = "\n".join(json.dumps({"name": n}) for n in names)
    answer = bench.online("nodes", "create", "-", input=text)
    assert answer.status == REFUSED and "1.name]" in answer.err and not answer.out, answer
    for name in names:
        assert bench.online("nodes", "show", name).status == NOT_FOUND
    for text, complaint in [("", "stdin:1: the input is empty"), ('{"name":"a"}\n{"name":}\n', "stdin:2: "),
                            ("[7]", "stdin:1: expected a JSON object")]:
        answer = bench.online("nodes", "create", "-", input=text)
        assert answer.status == 3 and complaint in answer.err, (text, answer)
    answer = bench.online("nodes", "create", "-f", "nowhere.json")
    assert answer.status == 3 and "cannot read nowhere.json: No such file" in answer.err, answer


def test_what_was_never_said_cannot_be_shown(bench):
    ready(bench, "wo10.example.com")
    bench.says("nodes", "bind", "wo10.example.com", "base", 'data={"fail":true}')
    answer = bench.online("noderoles", "log", "wo10.example.com/base")
    assert answer.status == NOT_FOUND and "no such run" in answer.err, answer
    bench.online("noderoles", "commit", "wo10.example.com/base", "--wait", "--timeout", "60")
    eventually(lambda: bench.says("noderoles", "runs", "wo10.example.com/base", "-q").strip(), "the run is remembered")
    answer = bench.online("noderoles", "log", "wo10.example.com/base", "--attempt", "7")
    assert answer.status == NOT_FOUND, answer


def test_the_log_of_a_hook_that_failed_is_its_traceback(bench):
    bench.write("shop/hurt/hurt.yml", "barclamp: {name: hurt}\nroles:\n  - {name: hurt, jig: noop}\n"
                "  - {name: torn, jig: noop}\n  - {name: late, jig: test}\n")
    bench.write("shop/hurt/roles/hurt.lua", "return { on_todo = function() error('no disk is free') end }\n")
    bench.write("shop/hurt/roles/torn.lua", "return { on_active = function() error('no name is free') end }\n")
    bench.write("shop/hurt/roles/late.lua", "return { on_todo = function(noderole)\n"
                "  if noderole.data.late then error('no time is left') end\n"
                "end }\n")
    daemon = Daemon(bench.build, barclamps=bench.path("shop"))
    try:
        daemon.start()
        token = daemon.client().authorization.split()[1]
        env = {"HALLIGAN_URL": daemon.url, "HALLIGAN_TOKEN": token}

        def halligan(*words):
            return bench.halligan(*words, env=env)

        for role, text in [("hurt", "no disk is free"), ("torn", "no name is free")]:
            name = f"{role}.example.com"
            assert halligan("nodes", "create", f"name={name}", "alive=true", "available=true").status == OK
            assert halligan("nodes", "bind", name, role).status == OK
            assert halligan("nodes", "commit", name).status == OK
            assert halligan("noderoles", "wait", f"{name}/{role}", "state", "error", "--timeout", "60").status == OK
            answer = halligan("noderoles", "log", f"{name}/{role}")
            assert answer.status == OK and text in answer.out and "traceback" in answer.out, answer
            assert halligan("noderoles", "log", f"{name}/{role}", "--attempt", "1").status == NOT_FOUND
        # A run failed before, and now a hook has failed: the log is that of the hook.
        assert halligan("nodes", "create", "name=late.example.com", "alive=true", "available=true").status == OK
        assert halligan("nodes", "bind", "late.example.com", "late", 'data={"fail":true}').status == OK
        assert halligan("nodes", "commit", "late.example.com").status == OK
        assert halligan("noderoles", "wait", "late.example.com/late", "state", "error", "--timeout", "60").status == OK
        answer = halligan("noderoles", "log", "late.example.com/late")
        assert answer.status == OK and "no time" not in answer.out, answer
        assert halligan("noderoles", "propose", "late.example.com/late").status == OK
        assert halligan("noderoles", "update", "late.example.com/late", 'data={"fail":true,"late":1}').status == OK
        assert halligan("noderoles", "commit", "late.example.com/late").status == OK
        assert halligan("noderoles", "wait", "late.example.com/late", "status", "on_todo failed",
                        "--timeout", "60").status == OK
        answer = halligan("noderoles", "log", "late.example.com/late")
        assert answer.status == OK and "no time is left" in answer.out, answer
    finally:
        daemon.stop()
        daemon.close()


def test_a_log_is_followed_to_its_end(bench):
    def piece(text, offset, total, ended):
        told = {"offset": offset, "next": offset + len(text), "total": total, "ended": ended, "text": text}
        return (200, {}, json.dumps(told).encode())

    run = (200, {}, b'{"id":5,"node_role_id":9,"attempt":3}')
    pieces = [piece("one\n", 0, 8, False), piece("two\n", 4, 8, False), piece("", 8, 8, False), piece("\x1b[2Jend\n", 8, 16, True)]
    with OddServer(run, *pieces) as server:
        answer = bench.halligan("runs", "log", "5", "--follow", env={"HALLIGAN_URL": server.url})
        assert answer.status == OK and answer.out == "one\ntwo\n [2Jend\n", answer
        paths = [path for _, path, _, _ in server.asked[1:]]
        assert all(p.startswith("/api/v2/runs/5/log?offset=") and "node_role=9&attempt=3" in p for p in paths), paths
        assert [p.split("offset=")[1].split("&")[0] for p in paths] == ["0", "4", "8", "8"], paths
    with OddServer(run, *pieces[:2]) as server:
        answer = bench.halligan("runs", "log", "5", env={"HALLIGAN_URL": server.url})
        assert answer.status == OK and answer.out == "one\ntwo\n" and len(server.asked) == 3, answer


def test_what_cannot_come_is_not_waited_for(bench):
    bench.says("nodes", "create", "name=wo-vain.example.com")
    answer = bench.online("wait", "node", "wo-vain.example.com", "alive", "yes")
    assert answer.status == USAGE and "true or false" in answer.err and "yes" in answer.err, answer
    answer = bench.online("wait", "deployment", "system", "state", "actve")
    assert answer.status == USAGE and "unknown state: actve" in answer.err, answer


def test_a_retry_that_is_refused_does_not_stop_the_others(bench):
    errors = b'[{"id":1,"state":-1},{"id":2,"state":0},{"id":3,"state":-1}]'
    refusal = b'{"status":404,"code":"not_found","message":"it is gone"}'
    with OddServer((200, JSON, errors), (404, JSON, refusal), (200, JSON, b'{"id":3,"state":1}')) as server:
        credentials = {"HALLIGAN_URL": server.url, "HALLIGAN_TOKEN": "t"}
        answer = bench.halligan("deployments", "retry", "7", "-q", env=credentials)
        assert [path.split("?")[0] for method, path, _, _ in server.asked if method == "PUT"] == [
            "/api/v2/node_roles/1/retry", "/api/v2/node_roles/3/retry"], server.asked
    assert answer.status == NOT_FOUND and answer.out == "3\n" and "it is gone" in answer.err, answer
