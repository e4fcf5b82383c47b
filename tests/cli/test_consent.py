"""Nothing is destroyed unasked: on a terminal the question, elsewhere --yes, and an exit status of its own."""
import json

from odd_server import OddServer
from test_nouns import NOT_AGREED, NOT_FOUND, OK, REFUSED, USAGE, node, rows

JSON = {"Content-Type": "application/json"}
WIPE = """
barclamp: {name: co_wipe, source_path: co_wipe}
roles:
  - {name: co-wipe, jig: test, flags: [destructive], announces: [wipe, boot]}
  - {name: co-plain, jig: test}
  - name: co-raid
    jig: test
    flags: [destructive]
    announces: [wipe, boot]
    attribs:
      - {name: co-targets, map: announced/co-raid/wipe, writable: true}
"""
NOTE = "not a secure erase"
PROPOSED = 4


def prepare(bench, deployment, *names, role="co-wipe", alive=True):
    bench.write("co.yml", WIPE)
    bench.says("barclamps", "upload", "co.yml")
    bench.says("deployments", "create", f"name={deployment}")
    state = ["alive=true", "available=true"] if alive else []
    for name in names:
        node(bench, name, f"deployment={deployment}", *state)
        bench.says("nodes", "bind", name, role)


def state_of(bench, name, role="co-wipe"):
    return bench.daemon.client().get(f"nodes/{name}/node_roles/{role}").json()["state"]


def at_terminal(bench, words, *typed):
    """Types one after the other, each behind a question of its own; status and what was shown."""
    screen = bench.at_terminal(*words, env=bench.credentials())
    try:
        for i, text in enumerate(typed):
            while screen.shown.count("Type yes") <= i:
                seen = len(screen.shown)
                assert screen._read() or len(screen.shown) > seen, screen.shown
            screen.type((text() if callable(text) else text) + "\n")
        return screen.end(), screen.shown
    finally:
        screen.kill()


def test_a_destructive_commit_needs_consent_wherever_it_is_made(bench):
    prepare(bench, "co-each", "co-d.example.com", "co-n.example.com", "co-r.example.com")
    for words in [["deployments", "commit", "co-each"], ["nodes", "commit", "co-n.example.com"],
                  ["noderoles", "commit", "co-r.example.com/co-wipe"],
                  ["deployments", "commit", "co-each", "--wait", "--timeout", "60"],
                  ["deployments", "commit", "co-each", "-o", "json"]]:
        answer = bench.online(*words)
        assert answer.status == NOT_AGREED and not answer.out, (words, answer)
        assert "co-wipe" in answer.err and "wipe, boot" in answer.err and ".example.com" in answer.err, answer
        for name in ["co-d.example.com", "co-n.example.com", "co-r.example.com"]:
            assert state_of(bench, name) == PROPOSED, (words, name)
    assert bench.online("noderoles", "commit", "co-r.example.com/co-wipe", "--yes").status == OK
    assert bench.online("nodes", "commit", "co-n.example.com", "-y").status == OK
    answer = bench.online("deployments", "commit", "co-each", "--yes", "--wait", "--timeout", "60")
    assert answer.status == OK, answer
    # What has run once destroys nothing when it is committed again.
    bench.says("noderoles", "propose", "co-d.example.com/co-wipe")
    assert bench.online("noderoles", "commit", "co-d.example.com/co-wipe").status == OK


def test_the_disks_that_are_wiped_are_shown_wherever_it_asks(bench):
    prepare(bench, "co-disks", *[f"co-disk{i}.example.com" for i in range(3)], role="co-raid")
    assert NOTE not in bench.online("deployments", "commit", "co-disks").err
    disks = [{"name": "disk/by-id/a", "size": 480103981056, "serial": "S-1", "path": "/dev/sda"},
             {"name": "b\u001b[31m", "size": 999, "wwn": "5000c5"}]
    bench.says("noderoles", "set", "co-disk0.example.com/co-raid", "co-targets", json.dumps(disks))
    many = [{"name": f"disk{i}", "serial": "x" * 200} for i in range(200)]
    bench.says("noderoles", "set", "co-disk1.example.com/co-raid", "co-targets", json.dumps(many))
    bench.says("noderoles", "set", "co-disk2.example.com/co-raid", "co-targets", '"no list"')
    shown = ("co-disk0.example.com: co-raid (wipe, boot): wipe disk/by-id/a, 480.1 GB, serial S-1; "
             "wipe b [31m, 999 bytes, WWN 5000c5")
    for words in [["deployments", "commit", "co-disks"],
                  ["nodes", "commit", "co-disk0.example.com"],
                  ["noderoles", "commit", "co-disk0.example.com/co-raid"]]:
        answer = bench.online(*words)
        assert answer.status == NOT_AGREED and shown in answer.err and NOTE in answer.err, answer
    # The plan of the totals and the one with all lists.
    for words in [[], ["--detail"]]:
        plan = bench.says("deployments", "plan", "co-disks", *words)
        assert "destroys     " + shown.replace(" (wipe, boot)", "") in plan and NOTE in plan, plan
        assert "disk79, serial xxx" not in plan and "; and more" in plan, plan
    plan = json.loads(bench.says("deployments", "plan", "co-disks", "-o", "json"))
    for name in ["destroys", "announced"]:
        first, second, third = plan[name]
        assert first["targets"] == {"wipe": disks} and first["steps"] == ["wipe", "boot"], plan
        assert second["targets_clipped"] and 10 < len(second["targets"]["wipe"]) < 100, plan
        assert "targets" not in third, plan
    # The hash of the plan and the consent cover the disks.
    bench.says("noderoles", "set", "co-disk0.example.com/co-raid", "co-targets", json.dumps(disks[1:]))
    changed = json.loads(bench.says("deployments", "plan", "co-disks", "-o", "json"))
    assert changed["hash"] != plan["hash"] and changed["consent"] != plan["consent"], changed
    answer = bench.online("deployments", "commit", "co-disks", "--plan", plan["hash"])
    assert answer.status == REFUSED and "plan_changed" in answer.err, answer


def test_a_plan_is_consent(bench):
    prepare(bench, "co-plan", "co-p.example.com")
    plan = bench.says("deployments", "plan", "co-plan", "-q").strip()
    answer = bench.online("deployments", "commit", "co-plan", "--plan", "0" * 64)
    assert answer.status == REFUSED and "plan_changed" in answer.err, answer
    assert state_of(bench, "co-p.example.com") == PROPOSED
    assert bench.online("deployments", "commit", "co-plan", "--plan", plan).status == OK
    assert state_of(bench, "co-p.example.com") != PROPOSED


def test_a_machine_that_is_off_needs_consent_too(bench):
    prepare(bench, "co-off", "co-off.example.com", alive=False)
    assert bench.online("deployments", "commit", "co-off").status == NOT_AGREED
    assert state_of(bench, "co-off.example.com") == PROPOSED


def test_a_commit_without_losses_needs_no_consent(bench):
    prepare(bench, "co-harmless", "co-h.example.com", role="co-plain")
    assert bench.online("deployments", "commit", "co-harmless").status == OK
    bench.says("noderoles", "wait", "co-h.example.com/co-plain", "state", "active", "--timeout", "60")


def test_of_several_none_is_committed_without_consent(bench):
    prepare(bench, "co-first", "co-f.example.com", role="co-plain")
    prepare(bench, "co-second", "co-s.example.com")
    answer = bench.online("deployments", "commit", "co-first", "co-second")
    assert answer.status == NOT_AGREED and not answer.out, answer
    assert state_of(bench, "co-f.example.com", "co-plain") == PROPOSED
    # An unknown one is reported and does not prevent the others.
    answer = bench.online("deployments", "commit", "co-nowhere", "co-first", "co-second", "--yes")
    assert answer.status == NOT_FOUND and [r["NAME"] for r in rows(answer.out)][0] == "co-first", answer
    assert state_of(bench, "co-s.example.com") != PROPOSED


def test_the_list_is_bounded_and_counted(bench):
    names = [f"co-many{i:02}.example.com" for i in range(25)]
    prepare(bench, "co-many", *names)
    for words in [["deployments", "commit", "co-many"], ["deployments", "destroy", "co-many"],
                  ["nodes", "destroy", *names]]:
        answer = bench.online(*words)
        assert answer.status == NOT_AGREED, (words, answer)
        assert sum(name in answer.err for name in names) == 20 and " 5 " in answer.err, (words, answer)


def test_a_commit_asks_on_a_terminal(bench):
    prepare(bench, "co-tty", "co-t.example.com")
    words = ["deployments", "commit", "co-tty", "-q"]
    for typed in ["no", "", "YES", "y"]:
        status, shown = at_terminal(bench, words, typed)
        assert status == NOT_AGREED and "co-t.example.com" in shown, shown
        assert state_of(bench, "co-t.example.com") == PROPOSED
    status, shown = at_terminal(bench, words, "yes")
    assert status == OK and state_of(bench, "co-t.example.com") != PROPOSED, shown


def test_a_change_during_the_question_repeats_it(bench):
    prepare(bench, "co-race", "co-race1.example.com")

    def meanwhile():
        node(bench, "co-race2.example.com", "deployment=co-race", "alive=true", "available=true")
        bench.says("nodes", "bind", "co-race2.example.com", "co-wipe")
        return "yes"

    status, shown = at_terminal(bench, ["deployments", "commit", "co-race"], meanwhile, "no")
    assert status == NOT_AGREED and "co-race2.example.com" in shown.split("Type yes")[1], shown
    assert state_of(bench, "co-race1.example.com") == state_of(bench, "co-race2.example.com") == PROPOSED
    status, shown = at_terminal(bench, ["deployments", "commit", "co-race"], "yes")
    assert status == OK and state_of(bench, "co-race2.example.com") != PROPOSED, shown


def test_what_became_destructive_meanwhile_is_not_committed(bench):
    def consent(count):
        entry = {"node": 1, "node_name": "n1.example.com", "role": 2, "role_name": "wipe", "steps": []}
        told = {"consent": str(count) * 64, "destroys": [entry] * count, "destroys_count": count}
        return (200, JSON, json.dumps(told).encode())

    changed = (409, JSON, b'{"status":409,"code":"plan_changed","field":"consent","message":"it changed"}')
    done = (200, JSON, b'{"id":7,"name":"lab","state":1}')
    env = {"HALLIGAN_TOKEN": "t"}
    with OddServer(consent(0), changed, consent(1)) as server:
        answer = bench.halligan("deployments", "commit", "lab", env=dict(env, HALLIGAN_URL=server.url))
        assert answer.status == NOT_AGREED and "n1.example.com" in answer.err, answer
        assert [m for m, _, _, _ in server.asked] == ["GET", "PUT", "GET"], server.asked
        assert "consent=" + "0" * 64 in server.asked[1][1], server.asked
    with OddServer(consent(0), changed, consent(0), done) as server:
        answer = bench.halligan("deployments", "commit", "lab", "-q", env=dict(env, HALLIGAN_URL=server.url))
        assert answer.status == OK and answer.out == "lab\n", answer
    # It does not go on for ever: finally the refusal is reported.
    with OddServer(*[consent(0), changed] * 12) as server:
        answer = bench.halligan("deployments", "commit", "lab", env=dict(env, HALLIGAN_URL=server.url))
        assert answer.status == REFUSED and "plan_changed" in answer.err, answer
    # A server that does not say what it destroys is not trusted.
    for told in [b"{}", b'{"consent":"","destroys":[],"destroys_count":0}', b'{"consent":"1","destroys":[{}]}',
                 b'{"consent":"1","destroys":7,"destroys_count":7}']:
        with OddServer((200, JSON, told)) as server:
            answer = bench.halligan("nodes", "commit", "n1", env=dict(env, HALLIGAN_URL=server.url))
            assert answer.status == 7 and [m for m, _, _, _ in server.asked] == ["GET"], (answer, server.asked)


def test_destroying_what_has_noderoles_needs_consent(bench):
    prepare(bench, "co-gone", "co-g.example.com", "co-g2.example.com", role="co-plain")
    client = bench.daemon.client()
    for words in [["nodes", "destroy", "co-g.example.com"], ["deployments", "destroy", "co-gone"],
                  ["nodes", "destroy", "co-nowhere.example.com", "co-g.example.com"]]:
        answer = bench.online(*words)
        assert answer.status == NOT_AGREED and "co-plain" in answer.err and not answer.out, (words, answer)
        assert client.get("nodes/co-g.example.com").status == client.get("deployments/co-gone").status == 200
    status, shown = at_terminal(bench, ["nodes", "destroy", "co-g.example.com"], "no")
    assert status == NOT_AGREED and client.get("nodes/co-g.example.com").status == 200, shown
    status, shown = at_terminal(bench, ["nodes", "destroy", "co-g.example.com"], "yes")
    assert status == OK and client.get("nodes/co-g.example.com").status == 404, shown
    assert bench.online("deployments", "destroy", "co-gone", "--yes").status == OK
    assert client.get("deployments/co-gone").status == 404
    # Without losses there is no question.
    bench.says("deployments", "create", "name=co-bare")
    assert bench.online("deployments", "destroy", "co-bare").status == OK
    assert bench.online("nodes", "destroy", "co-nowhere.example.com").status == NOT_FOUND


def test_the_answer_is_read_from_the_terminal_not_from_stdin(bench):
    prepare(bench, "co-pipe", "co-pipe.example.com")
    answer = bench.online("deployments", "commit", "co-pipe", input="yes\n")
    assert answer.status == NOT_AGREED and state_of(bench, "co-pipe.example.com") == PROPOSED, answer


def test_yes_is_no_option_of_what_never_asks(bench):
    for words in [["noderoles", "destroy", "1", "--yes"], ["deployments", "list", "--yes"]]:
        assert bench.online(*words).status == USAGE, words


DEFAULTS = """
barclamp: {{name: co_size, source_path: co_size}}
roles:
  - name: co-app
    jig: test
    attribs: [{{name: co-app-size, map: co/app/size, default: {0}}}]
  - name: co-disk
    jig: test
    flags: [destructive]
    attribs: [{{name: co-disk-size, map: co/disk/size, default: {0}}}]
"""


def upload_defaults(bench, size):
    bench.write("defaults.yml", DEFAULTS.format(size))
    bench.says("barclamps", "upload", "defaults.yml")


def runs_of(bench, role):
    return bench.daemon.client().get(f"nodes/co-re.example.com/node_roles/{role}").json()["run_count"]


def test_new_defaults_are_shown_and_rerun_only_when_asked(bench):
    upload_defaults(bench, 1)
    bench.says("deployments", "create", "name=co-re")
    node(bench, "co-re.example.com", "deployment=co-re", "alive=true", "available=true")
    bench.says("nodes", "bind", "co-re.example.com", "co-app", "co-disk")
    wait = ["--wait", "--timeout", "60"]
    assert bench.online("deployments", "commit", "co-re", "--yes", *wait).status == OK
    only = ["--filter", "name=co-re"]
    assert "CHANGED" not in bench.says("deployments", "list", *only)
    upload_defaults(bench, 2)
    (row,) = rows(bench.says("deployments", "list", *only))
    assert row["CHANGED"] == "1" and row["CHANGED DESTRUCTIVE"] == "1", row
    plan = json.loads(bench.says("deployments", "plan", "co-re", "-o", "json"))
    assert [x["role_name"] for x in plan["changed"]] == ["co-app"], plan
    assert [x["role_name"] for x in plan["changed_destructive"]] == ["co-disk"], plan
    assert "co-disk" in bench.says("deployments", "plan", "co-re", "--detail")
    assert bench.online("deployments", "commit", "co-re", *wait).status == OK
    assert runs_of(bench, "co-app") == runs_of(bench, "co-disk") == 1
    done = bench.online("deployments", "commit", "co-re", "--rerun-changed", *wait)
    assert done.status == OK and "co-re.example.com: co-disk" in done.err, done
    assert "co-app" not in done.err, done
    bench.says("deployments", "wait", "co-re", "changed", "0", "--timeout", "60")
    bench.says("noderoles", "wait", "co-re.example.com/co-app", "run_count", "2", "--timeout", "60")
    assert runs_of(bench, "co-disk") == 1
    # A deployment that leaves nothing out names nothing.
    bench.says("deployments", "create", "name=co-re-none")
    done = bench.online("deployments", "commit", "co-re-none", "--rerun-changed")
    assert done.status == OK and done.err == "", done
