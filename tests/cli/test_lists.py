"""What lists and documents of the command line show: states, ages, names beside ids, all failures."""
import json
import re

import yaml

from test_nouns import FAILED, NOT_FOUND, OK, REFUSED, USAGE, node, rows
from test_work import deployment, ready


def listed(bench, *words):
    return bench.says("nodes", "list", "-q", *words).split()


def test_nodes_are_listed_with_state_and_age(bench):
    deployment(bench, "li-state", "li1.example.com", "li2.example.com")
    bench.says("nodes", "bind", "li1.example.com", "base", 'data={"fail":true}')
    bench.says("nodes", "bind", "li2.example.com", "base")
    bench.online("deployments", "commit", "li-state", "--wait", "--timeout", "60")
    table = {r["NAME"]: r for r in rows(bench.says("nodes", "list", "--filter", "deployment=li-state"))}
    assert table["li1.example.com"]["STATE"] == "error", table
    assert table["li2.example.com"]["STATE"] == "active", table
    for row in table.values():
        assert re.fullmatch(r"\d+s|\d+m", row["AGE"]), row
    titles = bench.says("nodes", "list").split("\n")[0].split()
    assert titles.index("STATE") < titles.index("AGE"), titles


def test_nodes_are_chosen_by_state_and_group(bench):
    deployment(bench, "li-choose", "li3.example.com", "li4.example.com")
    bench.says("nodes", "bind", "li3.example.com", "base", 'data={"fail":true}')
    bench.says("nodes", "bind", "li4.example.com", "base")
    bench.online("deployments", "commit", "li-choose", "--wait", "--timeout", "60")
    bench.says("groups", "create", "name=li_group", "category=rack")
    bench.says("groups", "add", "li_group", "li4.example.com")
    here = ["--filter", "deployment=li-choose"]
    assert listed(bench, *here, "--state", "error") == ["li3.example.com"]
    assert listed(bench, *here, "--state", "active") == ["li4.example.com"]
    assert listed(bench, *here, "--state", "error", "--state", "active") == ["li3.example.com", "li4.example.com"]
    assert listed(bench, "--group", "li_group") == ["li4.example.com"]
    assert listed(bench, "--group", "li_group", "--state", "error") == []
    (row,) = rows(bench.says("nodes", "list", "--group", "li_group"))
    assert row["NAME"] == "li4.example.com" and row["STATE"] == "active", row
    answer = bench.online("nodes", "list", "--state", "broken")
    assert answer.status == REFUSED and "state" in answer.err and "error" in answer.err, answer
    answer = bench.online("nodes", "list", "--group", "li_nowhere")
    assert answer.status == NOT_FOUND and "li_nowhere" in answer.err, answer
    answer = bench.online("roles", "list", "--group", "li_group")
    assert answer.status == USAGE, answer


def test_the_api_has_the_state_of_a_node(bench):
    ready(bench, "li5.example.com")
    client = bench.daemon.client()
    assert client.get("nodes/li5.example.com?view=full").json()["state"] == 0
    assert "state" not in client.get("nodes/li5.example.com").json()
    named = [n["name"] for n in client.get("nodes?state=active&name=li5.example.com").json()]
    assert named == ["li5.example.com"], named
    refused = client.get("nodes?state=broken")
    assert refused.status == 400 and "state" in refused.json()["message"], refused.json()
    # The tag of a node says when its record changed; a state that changed since must be seen.
    bench.says("nodes", "bind", "li5.example.com", "base")
    full = client.get("nodes/li5.example.com?view=full")
    tag = {"If-None-Match": full.headers["ETag"]}
    assert full.json()["state"] == 4
    assert client.get("nodes/li5.example.com?view=full", headers=tag).status == 200
    assert client.get("nodes/li5.example.com", headers=tag).status == 304


def test_system_nodes_are_hidden_unless_asked_for(bench):
    ready(bench, "li6.example.com")
    everything = [n["name"] for n in bench.daemon.client().get("nodes").json()]
    system = {n["name"] for n in bench.daemon.client().get("nodes?system=true").json()}
    assert system and "li6.example.com" in everything
    assert set(listed(bench)) == set(everything) - system
    assert set(listed(bench, "--all")) == set(everything)
    assert set(listed(bench, "--filter", "system=true")) == system
    assert {n["name"] for n in json.loads(bench.says("nodes", "list", "-o", "json"))} == set(everything) - system
    assert {n["name"] for n in json.loads(bench.says("nodes", "list", "--all", "-o", "json"))} == set(everything)
    name = sorted(system)[0]
    assert bench.says("nodes", "show", "-q", name) == name + "\n"


def test_documents_have_names_beside_ids_and_words_beside_numbers(bench):
    deployment(bench, "li-names", "li7.example.com")
    bench.says("nodes", "bind", "li7.example.com", "base")
    for form, read in [("json", json.loads), ("yaml", yaml.safe_load)]:
        (one,) = read(bench.says("noderoles", "list", "--filter", "node=li7.example.com", "--filter", "role=base", "-o", form))
        assert one["node"] == "li7.example.com" and one["role"] == "base" and one["deployment"] == "li-names", one
        assert one["state"] == 4 and one["state_name"] == "proposed", one
        shown = read(bench.says("noderoles", "show", "li7.example.com/base", "-o", form))
        assert shown == one, (shown, one)
        host = read(bench.says("nodes", "show", "li7.example.com", "-o", form))
        assert host["deployment"] == "li-names" and host["state_name"] == "proposed", host
        assert host["target_role_id"] is None and host["target_role"] is None, host
        home = read(bench.says("deployments", "show", "li-names", "-o", form))
        assert home["parent"] == "system" and home["state_name"] == "proposed", home
    # An event is about an object of any noun. What has no name, or is gone, has null.
    bench.says("groups", "create", "name=li_gone", "category=rack")
    bench.says("groups", "destroy", "li_gone")
    seen = {(e["verb"], e["object_name"]) for e in json.loads(bench.says("events", "list", "--limit", "12", "-o", "json"))}
    assert {("node_create", "li7.example.com"), ("deployment_create", "li-names"), ("group_create", None)} <= seen, seen
    last = json.loads(bench.says("events", "list", "--limit", "12", "-o", "json"))
    assert "li7.example.com/base" in {e["object_name"] for e in last if e["verb"] == "noderole_bind"}, last
    # What the server says is still there, unchanged.
    said = bench.daemon.client().get("nodes/li7.example.com?view=full").json()
    host = json.loads(bench.says("nodes", "show", "li7.example.com", "-o", "json"))
    assert {k: host[k] for k in said} == said


def test_the_version_of_a_barclamp_is_shown_as_it_is_written(bench):
    bench.daemon.client().post("barclamps", {"value": "barclamp: {name: li_version, version: 1.1}\n"})
    (row,) = [r for r in rows(bench.says("barclamps", "list")) if r["NAME"] == "li_version"]
    assert row["VERSION"] == "1.1", row
    shown = json.loads(bench.says("barclamps", "show", "li_version", "-o", "json"))
    assert shown["full_version"] == "1.1" and shown["version"] == 1, shown


def test_options_of_all_verbs_in_any_position(bench):
    ready(bench, "li8.example.com")
    env = bench.credentials()
    url = env.pop("HALLIGAN_URL")
    want = ["--filter", "name=li8.example.com"]
    for words in [
        ["--url", url, "nodes", "list", "-q", *want],
        [f"--url={url}", "-q", "nodes", "list", *want],
        ["nodes", "--url", url, "-q", "list", *want],
        ["nodes", "list", *want, "--quiet", "--url", url],
        ["-q", *want, "nodes", f"--url={url}", "list"],
    ]:
        answer = bench.halligan(*words, env=env)
        assert answer.status == OK and answer.out == "li8.example.com\n", (words, answer)
    answer = bench.halligan("-o", "json", "--url", url, "nodes", *want, "list", env=env)
    assert [n["name"] for n in json.loads(answer.out)] == ["li8.example.com"], answer
    for words, complaint in [
        (["--url"], "NOUN"),
        (["--colour", "nodes", "list"], "--colour"),
        (["nodes", "--url", url], "VERB"),
        (["--url", url], "NOUN"),
        (["--timeout", "5", "nodes", "list"], "--timeout"),
    ]:
        answer = bench.halligan(*words, env=env)
        assert answer.status == USAGE and complaint in answer.err and not answer.out, (words, answer)
    assert bench.halligan("--url", url, "--help").status == OK
    assert bench.halligan("-o", "json", "--version").out.startswith("halligan ")
    assert bench.halligan("--url", url, "nodes", "--help").out == bench.halligan("nodes", "--help").out
    assert bench.halligan("-o", "json", "barclamp", "check", bench.root + "/barclamps").status == OK


def test_a_failed_commit_names_every_failure(bench):
    names = [f"li-fail{i}.example.com" for i in range(14)]
    deployment(bench, "li-fails", *names)
    for name in names:
        bench.says("nodes", "bind", name, "base", 'data={"fail":true}')
    answer = bench.online("deployments", "commit", "li-fails", "--wait", "--timeout", "60")
    assert answer.status == FAILED, answer
    seen = set(re.findall(r"base on (\S+?): (\w+): \S", answer.err))
    assert seen == {(name, "test_failed") for name in names}, answer
    # Of one node, and of one noderole.
    ready(bench, "li9.example.com")
    bench.says("nodes", "bind", "li9.example.com", "base", 'data={"fail":true}')
    answer = bench.online("nodes", "commit", "li9.example.com", "--wait", "--timeout", "60")
    assert answer.status == FAILED and "base on li9.example.com: test_failed: " in answer.err, answer
    text = json.loads(bench.says("noderoles", "show", "li9.example.com/base", "-o", "json"))["reason_text"]
    assert text and f"base on li9.example.com: test_failed: {text}; log: " in answer.err, (text, answer)
    bench.says("noderoles", "propose", "li9.example.com/base")
    answer = bench.online("noderoles", "commit", "li9.example.com/base", "--wait", "--timeout", "60")
    assert answer.status == FAILED and "base on li9.example.com: test_failed: " in answer.err, answer
    # The text is that of the reason, which is more than the status.
    shown = json.loads(bench.says("noderoles", "show", "li9.example.com/base", "-o", "json"))
    assert shown["reason_text"] and shown["reason_text"] != shown["status"], shown
    assert f"test_failed: {shown['reason_text']}; log" in answer.err, (shown, answer)


def test_a_commit_waits_for_work_that_waits_for_a_worker(bench):
    """A failure from before does not end the wait while others may still run: all workers are busy elsewhere."""
    queues = bench.daemon.client().get("/api/status/queue").json()["workers"]
    (size,) = [queue["size"] for queue in queues if queue["queue"] == "normal"]
    busy = [f"li-busy{i}.example.com" for i in range(size)]
    deployment(bench, "li-busy", *busy)
    for name in busy:
        bench.says("nodes", "bind", name, "base", 'data={"delay":3000}')
    deployment(bench, "li-late", "li-late1.example.com", "li-late2.example.com")
    bench.says("nodes", "bind", "li-late1.example.com", "base", 'data={"fail":true}')
    answer = bench.online("deployments", "commit", "li-late", "--wait", "--timeout", "60")
    assert answer.status == FAILED and "base on li-late1.example.com: test_failed" in answer.err, answer
    bench.says("nodes", "bind", "li-late2.example.com", "base", 'data={"fail":true}')
    bench.says("deployments", "commit", "li-busy")
    answer = bench.online("deployments", "commit", "li-late", "--wait", "--timeout", "60")
    assert answer.status == FAILED, answer
    seen = set(re.findall(r"base on (\S+?): (\w+): \S", answer.err))
    assert seen == {("li-late1.example.com", "test_failed"), ("li-late2.example.com", "test_failed")}, answer


def test_a_wait_without_progress_says_why(bench):
    """A node is committed in a deployment that is only proposed: nothing runs, and no time is set."""
    deployment(bench, "li-draft", "li-draft.example.com")
    bench.says("nodes", "bind", "li-draft.example.com", "base")
    terminal = bench.at_terminal("nodes", "commit", "li-draft.example.com", "--wait", env=bench.credentials())
    terminal.shows("head_proposed: ")
    assert terminal.process.poll() is None, terminal.shown
    bench.says("deployments", "commit", "li-draft")
    assert terminal.end() == OK and terminal.shown.count("head_proposed") == 1, terminal.shown


def test_a_wait_for_a_node_that_is_not_available_names_the_cause(bench):
    bench.says("deployments", "create", "name=li-off")
    node(bench, "li-off.example.com", "alive=true", "available=false", "deployment=li-off")
    bench.says("nodes", "bind", "li-off.example.com", "base")
    terminal = bench.at_terminal("deployments", "commit", "li-off", "--wait", env=bench.credentials())
    terminal.shows("not_available: ")
    bench.says("nodes", "update", "li-off.example.com", "available=true")
    assert terminal.end() == OK and terminal.shown.count("not_available") == 1, terminal.shown
