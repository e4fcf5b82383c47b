"""Values that are stored on a noderole and that no commit will publish: the command line says so."""
import json

from test_nouns import OK, USAGE
from test_work import deployment

SIZED = """
barclamp: {name: un_sized, source_path: un_sized}
roles:
  - name: un-sized
    jig: test
    attribs:
      - {name: un-size, map: un/size, writable: true, default: 1, schema: {type: int}}
"""


def prepare(bench, name, *nodes):
    bench.write("un.yml", SIZED)
    bench.says("barclamps", "upload", "un.yml")
    deployment(bench, name, *nodes)
    for node in nodes:
        bench.says("nodes", "bind", node, "un-sized")
    assert bench.online("deployments", "commit", name, "--wait", "--timeout", "60").status == OK


def row(bench, node):
    return bench.daemon.client().get(f"nodes/{node}/node_roles/un-sized?view=full").json()


def value(bench, node):
    """What a run would be given."""
    path = f"nodes/{node}/node_roles/un-sized"
    id = bench.daemon.client().get(path).json()["id"]
    return bench.daemon.client().get(f"node_roles/{id}/attribs/un-size?bucket=committed").json()["value"]


def plan(bench, name):
    return json.loads(bench.says("deployments", "plan", name, "-o", "json"))


def test_a_value_of_a_noderole_that_is_not_proposed_is_reported(bench):
    prepare(bench, "un-one", "un1.example.com")
    bench.says("deployments", "propose", "un-one")
    answer = bench.online("noderoles", "set", "un1.example.com/un-sized", "un-size", "7")
    assert answer.status == OK and answer.out == "7\n", answer
    assert "not proposed" in answer.err and "--propose" in answer.err, answer
    [entry] = plan(bench, "un-one")["unproposed"]
    assert (entry["node_name"], entry["role_name"]) == ("un1.example.com", "un-sized"), entry
    assert entry["paths"] == ["un"] and entry["values"] == [[None, {"size": 7}]], entry
    assert "un-sized on un1.example.com" in bench.says("deployments", "plan", "un-one")
    answer = bench.online("deployments", "commit", "un-one", "--wait", "--timeout", "60")
    assert answer.status == OK and "un-sized on un1.example.com" in answer.err and "7" in answer.err, answer
    assert value(bench, "un1.example.com") == 1
    # With --yes there is no question, and the report is the same; so it is for a commit of the node.
    bench.says("deployments", "propose", "un-one")
    answer = bench.online("deployments", "commit", "un-one", "--yes")
    assert answer.status == OK and "un-sized on un1.example.com" in answer.err, answer
    answer = bench.online("nodes", "commit", "un1.example.com", "--yes")
    assert answer.status == OK and "un-sized on un1.example.com" in answer.err, answer
    shown = json.loads(bench.says("deployments", "show", "un-one", "-o", "json"))
    assert shown["unproposed"] == 1, shown
    # Once the noderole is proposed the value is part of the proposal, and the commit publishes it.
    bench.says("noderoles", "propose", "un1.example.com/un-sized")
    assert plan(bench, "un-one")["unproposed"] == []
    answer = bench.online("deployments", "commit", "un-one", "--wait", "--timeout", "60")
    assert answer.status == OK and "not proposed" not in answer.err, answer
    assert value(bench, "un1.example.com") == 7
    assert json.loads(bench.says("deployments", "show", "un-one", "-o", "json"))["unproposed"] == 0


def test_propose_proposes_what_it_was_stored_on(bench):
    prepare(bench, "un-two", "un2.example.com", "un3.example.com")
    bench.says("deployments", "propose", "un-two")
    answer = bench.online("noderoles", "set", "un2.example.com/un-sized", "un-size", "8", "--propose")
    assert answer.status == OK and answer.out == "8\n" and not answer.err, answer
    assert row(bench, "un2.example.com")["state"] == 4
    # A value of a node can belong to one of its noderoles.
    answer = bench.online("nodes", "set", "un3.example.com", "un-size", "9")
    assert answer.status == OK and "not proposed" in answer.err, answer
    answer = bench.online("nodes", "set", "un3.example.com", "un-size", "9", "--propose")
    assert answer.status == OK and not answer.err, answer
    assert row(bench, "un3.example.com")["state"] == 4
    assert bench.online("deployments", "commit", "un-two", "--wait", "--timeout", "60").status == OK
    assert value(bench, "un2.example.com") == 8 and value(bench, "un3.example.com") == 9


def test_a_refused_value_proposes_nothing(bench):
    prepare(bench, "un-three", "un4.example.com")
    answer = bench.online("noderoles", "set", "un4.example.com/un-sized", "un-size", '"x"', "--propose")
    assert answer.status != OK and "schema_violated" in answer.err, answer
    assert row(bench, "un4.example.com")["state"] == 0


def test_other_values_need_no_proposal(bench):
    prepare(bench, "un-four", "un5.example.com")
    answer = bench.online("deployments", "set", "un-four", "un-size", "5")
    assert answer.status == OK and not answer.err, answer
    answer = bench.online("noderoles", "set", "un5.example.com/un-sized", "un-size", '"n"', "--bucket", "note")
    assert answer.status == OK and not answer.err, answer
    answer = bench.online("deployments", "set", "un-four", "un-size", "5", "--propose")
    assert answer.status == USAGE, answer
