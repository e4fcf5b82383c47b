"""Objects of a daemon: list, show, create, update, destroy, in every form of output."""
import json

import yaml

OK, FAILED, USAGE, NOTHING, NOT_FOUND, REFUSED, NOT_ALLOWED, NO_SERVER, TIMEOUT, NOT_AGREED = range(10)


def rows(text):
    """The cells of a table, by its titles; no cell here has two spaces in it."""
    lines = text.rstrip("\n").split("\n")
    titles = lines[0].split("  ")
    starts = [lines[0].index(t.strip()) for t in titles if t.strip()]
    names = [t.strip() for t in titles if t.strip()]
    ends = starts[1:] + [None]
    return [{n: line[a:b].strip() for n, a, b in zip(names, starts, ends)} for line in lines[1:]]


def node(bench, name, *fields):
    return json.loads(bench.says("nodes", "create", f"name={name}", *fields, "-o", "json"))


def test_a_list_is_a_table_for_people(bench):
    bench.says("deployments", "create", "name=ob-home")
    node(bench, "ob1.example.com", "deployment=ob-home", "alive=true")
    table = rows(bench.says("nodes", "list"))
    (row,) = [r for r in table if r["NAME"] == "ob1.example.com"]
    assert row["DEPLOYMENT"] == "ob-home" and row["ALIVE"] == "true" and row["AVAILABLE"] == "false", row
    (row,) = [r for r in rows(bench.says("deployments", "list")) if r["NAME"] == "ob-home"]
    assert row["STATE"] == "proposed" and row["PARENT"] == "system", row


def test_json_and_yaml_are_what_the_server_says(bench):
    deployments = {d["id"]: d["name"] for d in bench.daemon.client().get("deployments").json()}

    def with_words(host):
        """Names beside ids, a word beside the state; test_lists.py has more of them."""
        states = {-1: "error", 0: "active", 1: "todo", 2: "transition", 3: "blocked", 4: "proposed"}
        return dict(host, deployment=deployments[host["deployment_id"]], target_role=None,
                    state_name=states[host["state"]])

    node(bench, "ob2.example.com", 'description=a "b": \n\u00e9 # no')
    said = bench.daemon.client().get("nodes?view=full").json()
    said = [with_words(n) for n in said]
    assert json.loads(bench.says("nodes", "list", "--all", "-o", "json")) == said
    assert yaml.safe_load(bench.says("nodes", "list", "-a", "--output=yaml")) == said
    one = bench.daemon.client().get("nodes/ob2.example.com?view=full").json()
    one = with_words(one)
    assert json.loads(bench.says("nodes", "show", "ob2.example.com", "-ojson")) == one
    assert yaml.safe_load(bench.says("nodes", "show", "ob2.example.com", "-oyaml")) == one
    both = json.loads(bench.says("nodes", "show", "ob2.example.com", str(one["id"]), "-ojson"))
    assert both == [one, one]


def test_quiet_is_names_or_ids(bench):
    node(bench, "ob3.example.com")
    made = bench.says("noderoles", "create", "node=ob3.example.com", "role=base", "-q").strip()
    assert made.isdigit() and made in bench.says("noderoles", "list", "-q").split()
    assert "ob3.example.com" in bench.says("nodes", "list", "-q").split()
    assert bench.says("nodes", "show", "-q", "ob3.example.com") == "ob3.example.com\n"


def test_one_object_shows_all_of_its_fields(bench):
    made = node(bench, "ob4.example.com", "description=first\nsecond")
    lines = bench.says("nodes", "show", "ob4.example.com").rstrip("\n").split("\n")
    fields = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert sorted(fields + ["deployment", "state_name", "target_role"]) == sorted(made) and fields[:2] == ["id", "name"], fields
    assert any(line.endswith("1 (system)") for line in lines), lines
    first = next(line for line in lines if line.startswith("description"))
    assert lines[lines.index(first) + 1] == " " * first.index("first") + "second", lines


def test_a_noderole_has_the_name_of_its_node_and_role(bench):
    node(bench, "ob5.example.com")
    made = bench.says("nodes", "bind", "ob5.example.com", "base", "-q").strip()
    assert bench.says("noderoles", "show", "ob5.example.com/base", "-q").strip() == made
    (row,) = rows(bench.says("noderoles", "update", "ob5.example.com/base", 'data={"a":1}'))
    assert row["NODE"] == "ob5.example.com" and row["ROLE"] == "base" and row["STATE"] == "proposed", row
    answer = bench.online("noderoles", "show", "ob5.example.com/top")
    assert answer.status == NOT_FOUND and "has no node_role top" in answer.err, answer
    for half in ["ob5.example.com/", "/base", "/"]:
        assert bench.online("noderoles", "show", half).status == USAGE
    assert bench.online("noderoles", "destroy", "ob5.example.com/base").status == OK
    assert bench.online("noderoles", "show", made).status == NOT_FOUND


def test_objects_are_changed_and_destroyed(bench):
    node(bench, "ob6.example.com")
    (row,) = rows(bench.says("nodes", "update", "ob6.example.com", "alive=true", "available:=true"))
    assert row["ALIVE"] == row["AVAILABLE"] == "true", row
    bench.write("change.json", '{"alive": false, "description": "from a file"}')
    bench.says("nodes", "update", "ob6.example.com", "-f", "change.json", "available=false")
    now = bench.daemon.client().get("nodes/ob6.example.com").json()
    assert not now["alive"] and not now["available"] and now["description"] == "from a file", now
    said = bench.says("nodes", "destroy", "ob6.example.com")
    assert said == f"node {now['id']} was deleted\n", said
    assert bench.online("nodes", "show", "ob6.example.com").status == NOT_FOUND


def test_what_goes_wrong_with_one_does_not_keep_the_others(bench):
    for name in ["ob7.example.com", "ob8.example.com"]:
        node(bench, name)
    answer = bench.online("nodes", "destroy", "ob7.example.com", "missing.example.com", "ob8.example.com")
    assert answer.status == NOT_FOUND and answer.out.count("was deleted") == 2, answer
    assert answer.err == "halligan nodes destroy: there is no node called missing.example.com [not_found: id]\n", answer


def test_all_problems_of_the_server_are_printed(bench):
    answer = bench.online("nodes", "create", "name:=7", "alive=perhaps", "deployment=nowhere")
    assert answer.status == REFUSED and not answer.out, answer
    lines = answer.err.splitlines()
    assert len(lines) == 3 and all(line.startswith("halligan nodes create: ") for line in lines), answer
    assert "[bad_value: name]" in lines[0] and "[not_found: deployment]" in lines[2], answer
    node(bench, "ob9.example.com")
    answer = bench.online("nodes", "create", "name=ob9.example.com")
    assert answer.status == REFUSED and "[name_taken: name]" in answer.err, answer
    answer = bench.online("roles", "show", "nothing-like-it")
    assert answer.status == NOT_FOUND and "there is no role called nothing-like-it" in answer.err, answer


def test_words_that_make_no_field(bench):
    for words, complaint in [
        (["nodes", "create", "name"], "expected FIELD=VALUE: name"),
        (["nodes", "create", "=x"], "expected FIELD=VALUE: =x"),
        (["nodes", "create", "hint={"], "the value is not valid JSON: hint={"),
        (["nodes", "create", "alive:=maybe"], "the value is not valid JSON: alive:=maybe"),
        (["nodes", "update", "x"], "missing operand: FIELD=VALUE"),
        (["nodes", "update"], "missing operand: NAME FIELD=VALUE..."),
        (["nodes", "show"], "missing operand: NAME..."),
        (["nodes", "list", "more"], "unexpected operand: more"),
        (["nodes", "list", "--filter", "name"], "expected FIELD=VALUE: name"),
        (["nodes", "list", "--limit", "many"], "--limit must be a number above 0: many"),
        (["nodes", "list", "-o", "xml"], "--output must be table, json or yaml, not: xml"),
        (["nodes", "show", ""], "not the name of an object"),
        (["nodes", "show", ".."], "not the name of an object: .."),
        (["nodes", "wait", "x", "alive", "true", "--timeout", "soon"], "--timeout must be a number of seconds: soon"),
        (["wait", "cheese", "x", "alive", "true"], "unknown noun, or one without fields: cheese"),
    ]:
        answer = bench.online(*words)
        assert answer.status == USAGE and complaint in answer.err and not answer.out, (words, answer)


def test_a_name_cannot_leave_its_place(bench):
    for name in ["../deployments/system", "system/../../nodes", "..%2f", "a b?c#d", "%2e%2e"]:
        answer = bench.online("deployments", "show", name)
        assert answer.status == NOT_FOUND and not answer.out, (name, answer)
        assert bench.online("deployments", "destroy", name).status == NOT_FOUND


def test_filters_order_and_number_are_the_servers(bench):
    bench.says("deployments", "create", "name=fi-home")
    for i in range(5):
        node(bench, f"fi{i}.example.com", "deployment=fi-home", f"alive={'true' if i % 2 else 'false'}")

    def listed(*words):
        return bench.says("nodes", "list", "-q", "--filter", "deployment=fi-home", "--filter", "system=false", *words).split()

    assert listed() == [f"fi{i}.example.com" for i in range(5)]
    assert listed("--filter", "alive=true") == ["fi1.example.com", "fi3.example.com"]
    assert listed("--filter", "alive!=true", "--limit", "2") == ["fi0.example.com", "fi2.example.com"]
    assert listed("--filter", "name~i3.") == ["fi3.example.com"]
    assert listed("--filter", "name=fi4.example.com", "--filter", "name=fi1.example.com",
                  "--sort", "-name") == ["fi4.example.com", "fi1.example.com"]
    first = bench.daemon.client().get("nodes/fi1.example.com").json()["id"]
    assert listed("--after", str(first), "--limit", "1") == ["fi2.example.com"]
    assert listed("--filter", f"id>={first}", "--filter", f"id<={first}") == ["fi1.example.com"]
    assert bench.says("deployments", "list", "-q", "--filter", "state=proposed", "--filter", "name=fi-home") == "fi-home\n"
    answer = bench.online("nodes", "list", "--filter", "deployment=nowhere")
    assert answer.status == NOT_FOUND and "nowhere" in answer.err, answer
    answer = bench.online("nodes", "list", "--filter", "colour=red")
    assert answer.status == REFUSED and "colour" in answer.err, answer


def test_text_of_others_gives_no_orders_to_a_terminal(bench):
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\nnext"
    node(bench, "ob10.example.com", f"description={evil}")
    bench.says("deployments", "create", "name=ob-evil", f"description={evil}")
    for words in [["nodes", "show", "ob10.example.com"], ["deployments", "list"], ["deployments", "list", "-q"]]:
        said = bench.says(*words)
        assert "\x1b" not in said and "\x07" not in said and "\x9b" not in said, repr(said)
    said = bench.says("nodes", "show", "ob10.example.com", "-o", "yaml")
    assert yaml.safe_load(said)["description"] == evil and "\x1b" not in said, repr(said)


def test_tokens_are_printed_once(bench):
    made = json.loads(bench.says("tokens", "create", "name=ob-token", "-o", "json"))
    other = bench.halligan("nodes", "list", "-q", env={"HALLIGAN_URL": bench.daemon.url, "HALLIGAN_TOKEN": made["token"]})
    assert other.status == OK, other
    alone = bench.says("tokens", "create", "name=ob-token-2", "-q").strip()
    assert alone.startswith("hlg_"), alone
    assert alone not in bench.says("tokens", "list", "-o", "json")
    assert bench.says("tokens", "create", "name=ob-token-3").count("hlg_") == 1
    assert bench.online("tokens", "destroy", str(made["id"])).status == OK
    other = bench.halligan("nodes", "list", env={"HALLIGAN_URL": bench.daemon.url, "HALLIGAN_TOKEN": made["token"]})
    assert other.status == NOT_ALLOWED, other


def test_an_answer_that_cannot_be_written_is_a_failure_online_too(bench):
    with open("/dev/full", "w", encoding="utf-8") as full:
        for form in ["table", "json", "yaml"]:
            answer = bench.online("roles", "list", "-o", form, stdout=full)
            assert answer.status == NOTHING and "cannot write the output" in answer.err, answer


def test_a_field_that_does_not_exist_is_not_passed_over(bench):
    node(bench, "no-typo.example.com")
    answer = bench.online("nodes", "update", "no-typo.example.com", "alvie=true", "description=x")
    assert answer.status == REFUSED and "alvie" in answer.err, answer
    assert json.loads(bench.says("nodes", "show", "no-typo.example.com", "-o", "json"))["description"] == ""
    bench.write("two.json", json.dumps([{"name": "no-two1.example.com"}, {"name": "no-two2.example.com", "alvie": True}]))
    answer = bench.online("nodes", "create", "-f", "two.json")
    assert answer.status == REFUSED and "1.alvie" in answer.err, answer
    # An object can be given back as it was shown.
    bench.says("groups", "create", "name=no_typo")
    bench.write("one.json", bench.says("groups", "show", "no_typo", "-o", "json"))
    bench.says("groups", "update", "no_typo", "-f", "one.json")
