"""What explains: plan, why, snapshots, diff, revert; and the data that the work goes by."""
import json
import subprocess

from test_nouns import FAILED, NOT_FOUND, OK, REFUSED, TIMEOUT, node, rows
from test_work import deployment, ready


def test_a_plan_is_what_a_commit_does(bench):
    deployment(bench, "in-plan", "in1.example.com")
    node(bench, "in2.example.com", "deployment=in-plan", "available=true")
    for name in ["in1.example.com", "in2.example.com"]:
        bench.says("nodes", "bind", name, "middle")
    brief = bench.says("deployments", "plan", "in-plan").splitlines()
    assert brief[0].split() == ["machines", "1"] and "held         2: not_alive 2" in brief, brief
    assert "commit       4: base 2, middle 2" in brief and "run          2: base 1, middle 1" in brief, brief
    assert "wave 1       1 run" in brief and "wave 2       1 run" in brief, brief
    assert not any("in1.example.com" in line for line in brief), brief
    lines = bench.says("deployments", "plan", "in-plan", "--detail").splitlines()
    assert lines[: len(brief) - 1] == brief[:-1] and lines[-1] == brief[-1], (brief, lines)
    assert "commit       base on in1.example.com" in lines, lines
    assert "wave 1       run base on in1.example.com" in lines and "wave 2       run middle on in1.example.com" in lines, lines
    assert any(line.startswith("held         base on in2.example.com: ") and "not alive" in line for line in lines), lines
    digest = bench.says("deployments", "plan", "in-plan", "-q").strip()
    assert lines[-1].split() == ["plan", digest] and len(digest) == 64, lines
    plan = json.loads(bench.says("deployments", "plan", "in-plan", "-o", "json"))
    assert plan["hash"] == digest and len(plan["commits"]) == 4, plan
    assert plan["summary"]["actions"]["commit"] == 4 and plan["summary"]["machines"] == 1, plan
    assert plan["summary"]["held"] == [{"cause": "not_alive", "count": 2}], plan
    answer = bench.online("deployments", "commit", "in-plan", "--plan", "0" * 64)
    assert answer.status == REFUSED and "[plan_changed: plan]" in answer.err, answer
    assert bench.online("deployments", "commit", "in-plan", "--plan", digest).status == OK
    answer = bench.online("deployments", "commit", "in-plan", "--wait", "--timeout", "2")
    assert answer.status == TIMEOUT and "2/4 active" in answer.err and "in2.example.com` is not alive" in answer.err, answer


def test_a_log_ends_with_the_reason_of_the_failure(bench):
    deployment(bench, "in-log", "in19.example.com")
    bench.says("nodes", "bind", "in19.example.com", "base", 'data={"fail":true}')
    assert bench.online("deployments", "commit", "in-log", "--wait", "--timeout", "60").status != OK
    answer = bench.online("noderoles", "log", "in19.example.com/base")
    assert answer.status == OK and ": test_failed: " in answer.err.splitlines()[-1], answer


def test_why_goes_down_to_the_root(bench):
    deployment(bench, "in-why", "in3.example.com")
    bench.says("nodes", "bind", "in3.example.com", "base", 'data={"fail":true}')
    bench.says("nodes", "bind", "in3.example.com", "top")
    bench.online("deployments", "commit", "in-why", "--wait", "--timeout", "60")
    *lines, hint = bench.says("noderoles", "why", "in3.example.com/top").splitlines()
    assert hint.startswith("log: halligan noderoles log "), hint
    answer = bench.online(*hint.split("halligan ")[1].split())
    assert answer.status == OK, answer
    assert len(lines) >= 3 and "`middle` on `in3.example.com`" in lines[0], lines
    assert lines[-2].lstrip().startswith("error: ") and "(since 20" in lines[-2], lines
    assert lines[-1].lstrip().startswith("test_failed: "), lines
    depths = [len(line) - len(line.lstrip()) for line in lines]
    assert depths == [2 * i for i in range(len(lines))], lines
    for words in [["nodes", "why", "in3.example.com"], ["deployments", "why", "in-why"]]:
        assert "test_failed: " in bench.says(*words), words
    assert json.loads(bench.says("nodes", "why", "in3.example.com", "-o", "json"))["chain"]
    assert bench.online("noderoles", "why", "in3.example.com/goal").status == NOT_FOUND


def test_snapshots_are_compared_and_gone_back_to(bench):
    deployment(bench, "in-time", "in4.example.com")
    bench.says("nodes", "bind", "in4.example.com", "base")
    assert bench.online("deployments", "commit", "in-time", "--wait", "--timeout", "60").status == OK
    answer = bench.online("deployments", "diff", "in-time")
    assert answer.status == NOT_FOUND and "only one snapshot" in answer.err, answer
    bench.says("deployments", "propose", "in-time", "name=second")
    bench.says("nodes", "bind", "in4.example.com", "middle")
    assert bench.online("deployments", "commit", "in-time", "--wait", "--timeout", "60").status == OK
    table = rows(bench.says("snapshots", "list", "--filter", "deployment=in-time", "--sort", "id"))
    assert [(r["SEQ"], r["STATE"]) for r in table] == [("1", "archived"), ("2", "active")], table
    assert table[1]["NAME"] == "second", table
    first, second = [r["ID"] for r in table]
    for words in [["deployments", "diff", "in-time"], ["deployments", "diff", "in-time", first],
                  ["deployments", "diff", "in-time", "in-time/1", "in-time/second"], ["snapshots", "diff", first, second],
                  ["snapshots", "diff", "in-time/1", "in-time/2"]]:
        assert bench.says(*words) == "+ middle on in4.example.com\n", words
    assert bench.says("snapshots", "diff", second, first) == "- middle on in4.example.com\n"
    assert json.loads(bench.says("snapshots", "diff", first, second, "-o", "json"))["added"]
    answer = bench.online("snapshots", "diff", first, "in-time/7")
    assert answer.status == NOT_FOUND and "has no snapshot: 7" in answer.err, answer
    (row,) = rows(bench.says("deployments", "revert", "in-time", "in-time/1"))
    assert row["SEQ"] == "3" and row["STATE"] == "proposed", row
    assert bench.online("deployments", "commit", "in-time", "--wait", "--timeout", "60").status == OK
    assert bench.online("noderoles", "show", "in4.example.com/middle").status == NOT_FOUND
    assert bench.says("snapshots", "show", "in-time", "-q") == bench.says("snapshots", "show", "in-time/3", "-q")


def test_a_graph_is_a_document(bench):
    deployment(bench, "in-graph", "in5.example.com")
    bench.says("nodes", "bind", "in5.example.com", "middle")
    names = [n["name"] for n in json.loads(bench.says("deployments", "graph", "in-graph", "-o", "json"))]
    assert names == ["in5.example.com: base", "in5.example.com: middle"], names


def test_attribs_are_got_and_set(bench):
    deployment(bench, "in-data", "in6.example.com")
    bench.says("nodes", "bind", "in6.example.com", "base")
    made = bench.online("attribs", "create", "name=in-size", "barclamp=apitest", "role=base", "map=in/size",
                        "writable=true", 'schema={"type":"int"}')
    assert made.status == OK, made
    assert "in-size" in bench.says("attribs", "list", "-q").split()
    noderole = "in6.example.com/base"
    assert bench.says("noderoles", "set", noderole, "in-size", "12") == "12\n"
    assert bench.says("noderoles", "get", noderole, "in-size") == "12\n"
    assert json.loads(bench.says("noderoles", "get", noderole, "in-size", "-o", "json"))["value"] == 12
    (row,) = [r for r in rows(bench.says("noderoles", "get", noderole)) if r["NAME"] == "in-size"]
    assert row["VALUE"] == "12", row
    assert bench.says("deployments", "bind", "in-data", "base", "-q").strip().isdigit()
    assert bench.says("deployment-roles", "set", "in-data/base", "in-size", "7") == "7\n"
    assert bench.says("deployment-roles", "get", "in-data/base", "in-size") == "7\n"
    answer = bench.online("noderoles", "set", noderole, "in-size", "much")
    assert answer.status == REFUSED, answer
    assert bench.online("noderoles", "get", noderole, "nothing").status == NOT_FOUND
    assert bench.online("attribs", "destroy", "in-size").status == OK


def test_groups_hold_nodes(bench):
    for name in ["in7.example.com", "in8.example.com"]:
        node(bench, name)
    group = bench.says("groups", "create", "name=in_rack", "category=rack", "-q").strip()
    assert bench.says("groups", "add", "rack/in_rack", "in7.example.com", "in8.example.com") == ""
    assert bench.says("groups", "nodes", group, "-q").split() == ["in7.example.com", "in8.example.com"]
    assert bench.says("groups", "remove", group, "in7.example.com") == ""
    assert [r["NAME"] for r in rows(bench.says("groups", "nodes", "in_rack"))] == ["in8.example.com"]
    answer = bench.online("groups", "remove", group, "in7.example.com")
    assert answer.status == NOT_FOUND and "is not in group" in answer.err, answer
    assert bench.online("groups", "destroy", group).status == OK


def test_users_and_their_passwords(bench):
    (row,) = rows(bench.says("users", "create", "username=in-ann", "password=first-secret", "email=ann@example.com"))
    assert row["USERNAME"] == "in-ann" and row["EMAIL"] == "ann@example.com", row

    def lets_in(password):
        env = {"HALLIGAN_URL": bench.daemon.url, "HALLIGAN_USER": "in-ann", "HALLIGAN_PASSWORD": password}
        return bench.halligan("roles", "list", env=env).status == OK

    assert lets_in("first-secret")
    bench.says("users", "password", "in-ann", "-", input="second-secret\n")
    assert lets_in("second-secret") and not lets_in("first-secret")
    answer = bench.online("users", "password", "in-ann", "third-secret")
    assert answer.status == 2 and "a password cannot be an argument" in answer.err, answer
    (row,) = rows(bench.says("users", "lock", "in-ann"))
    assert row["IS LOCKED"] == "true" and not lets_in("second-secret"), row
    bench.says("users", "unlock", "in-ann")
    assert lets_in("second-secret")
    assert rows(bench.says("users", "promote", "in-ann"))[0]["IS ADMIN"] == "true"
    assert rows(bench.says("users", "demote", "in-ann"))[0]["IS ADMIN"] == "false"
    assert bench.online("users", "destroy", "in-ann").status == OK


def test_passwords_are_typed_twice(bench):
    screen = bench.at_terminal("users", "create", "username=in-bob", "-q", env=bench.credentials())
    try:
        screen.shows("New password of in-bob: ")
        screen.type("typed-secret\n")
        screen.shows("Repeat the password: ")
        screen.type("typed-secret\n")
        assert screen.end() == OK, screen.shown
    finally:
        screen.kill()
    assert "typed-secret" not in screen.shown, screen.shown
    screen = bench.at_terminal("users", "password", "in-bob", env=bench.credentials())
    try:
        screen.shows("New password of in-bob: ")
        screen.type("one-secret\n")
        screen.shows("Repeat the password: ")
        screen.type("two-secret\n")
        screen.shows("the passwords differ")
        assert screen.end() == 3, screen.shown
    finally:
        screen.kill()
    env = {"HALLIGAN_URL": bench.daemon.url, "HALLIGAN_USER": "in-bob", "HALLIGAN_PASSWORD": "typed-secret"}
    assert bench.halligan("roles", "list", env=env).status == OK


def test_barclamps_are_uploaded(bench):
    bench.write("talk.yml", """\
barclamp:
  name: in_talk
crowbar:
  layout: 2.0
roles:
  - name: in-talker
    jig: test
""")
    (row,) = rows(bench.says("barclamps", "upload", "talk.yml"))
    assert row["NAME"] == "in_talk", row
    assert bench.says("roles", "list", "-q", "--filter", "barclamp=in_talk") == "in-talker\n"
    assert "in_talk" in bench.says("barclamps", "list", "-q").split()
    answer = bench.online("barclamps", "upload", "-", input="barclamp: [\n")
    assert answer.status == REFUSED and "line 2" in answer.err, answer
    answer = bench.online("barclamps", "upload", "nowhere.yml")
    assert answer.status == 3 and "cannot read nowhere.yml" in answer.err, answer


def test_hammers_perform(bench):
    node(bench, "in9.example.com")
    (hammer,) = rows(bench.says("hammers", "list", "--filter", "node=in9.example.com"))
    assert hammer["NAME"] == "ssh", hammer
    done = json.loads(bench.says("hammers", "perform", hammer["ID"], "reboot", "-o", "json"))
    assert done["method"] == "reboot" and done["node"] == "in9.example.com", done
    answer = bench.online("hammers", "perform", hammer["ID"], "dance")
    assert answer.status == FAILED and "does not support the action dance" in answer.out, answer
    kind = json.loads(bench.says("available-hammers", "show", "ssh", "-o", "json"))
    assert kind["name"] == "ssh", kind


def test_the_inventory_for_ansible(bench):
    deployment(bench, "in-ansible", "in10.example.com")
    every = json.loads(bench.says("inventory", "--list"))
    assert "in10.example.com" in every["in_ansible"]["hosts"], every["in_ansible"]
    assert json.loads(bench.says("inventory")) == every
    one = json.loads(bench.says("inventory", "--host", "in10.example.com"))
    assert one == every["_meta"]["hostvars"]["in10.example.com"] and one["alive"] is True, one
    assert json.loads(bench.says("inventory", "--host", "nobody.example.com")) == {}
    bench.write("inventory.sh", f'#!/bin/sh\nexec "{bench.build}/halligan" inventory "$@"\n', 0o755)
    done = subprocess.run(["ansible-inventory", "-i", "inventory.sh", "--host", "in10.example.com"], cwd=bench.folder,
                          env=bench.environment(**bench.credentials(), LC_ALL="C.UTF-8"), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["alive"] is True, done


def test_why_offers_logs_of_what_has_run_alone(bench):
    deployment(bench, "in-logs", "in-ran.example.com")
    node(bench, "in-not.example.com", "alive=true", "available=false", "deployment=in-logs")
    bench.says("nodes", "bind", "in-ran.example.com", "base", 'data={"fail":true}')
    bench.says("nodes", "bind", "in-not.example.com", "base")
    bench.online("deployments", "commit", "in-logs", "--wait", "--timeout", "60")
    lines = [line.strip() for line in bench.says("deployments", "why", "in-logs").splitlines()]
    (ran,) = [line for line in lines if line.startswith("base on in-ran.example.com")]
    (never,) = [line for line in lines if line.startswith("base on in-not.example.com")]
    assert "halligan noderoles log " in ran and "halligan" not in never, lines
