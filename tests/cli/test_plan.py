"""What the summary of a plan says of values, destruction, reruns and missing attribs, and forgetting host keys."""
import json

from test_nouns import NOT_FOUND, OK
from test_work import deployment, node

ROLES = """
barclamp: {name: pl, source_path: pl}
roles:
  - name: pl-wipe
    jig: test
    flags: [destructive]
  - name: pl-sized
    jig: test
    attribs:
      - {name: pl-size, map: pl/size, writable: true, default: 1, schema: {type: int}}
  - name: pl-needs
    jig: test
    attribs:
      - {name: pl-key, map: pl/key, writable: true, schema: {type: str, required: true}}
"""


def prepare(bench, name, machine, role):
    bench.write("pl.yml", ROLES)
    bench.says("barclamps", "upload", "pl.yml")
    deployment(bench, name, machine)
    bench.says("nodes", "bind", machine, role)


def both(bench, name):
    """The plan as a document and as lines."""
    return json.loads(bench.says("deployments", "plan", name, "-o", "json")), bench.says("deployments", "plan", name).splitlines()


def test_a_summary_names_what_is_destroyed(bench):
    prepare(bench, "pl-one", "pl1.example.com", "pl-wipe")
    plan, lines = both(bench, "pl-one")
    [entry] = plan["summary"]["destructive"]
    assert (entry["role_name"], entry["count"]) == ("pl-wipe", 1), plan
    assert any(line.startswith("DESTRUCTIVE  1 pl-wipe") for line in lines), lines


def test_a_summary_names_values_old_and_new_and_why_something_runs_again(bench):
    prepare(bench, "pl-two", "pl2.example.com", "pl-sized")
    assert bench.online("deployments", "commit", "pl-two", "--wait", "--timeout", "60").status == OK
    assert bench.online("noderoles", "set", "pl2.example.com/pl-sized", "pl-size", "7", "--propose").status == OK
    plan, lines = both(bench, "pl-two")
    [entry] = plan["summary"]["values"]
    assert (entry["role_name"], entry["scope"], entry["count"]) == ("pl-sized", "noderole", 1), plan
    assert entry["values"] == [[None, {"size": 7}]] and plan["summary"]["values_count"] == 1, plan
    assert "values       pl-sized, noderoles: 1" in lines, lines
    [again] = plan["summary"]["reruns"]
    assert (again["role_name"], again["reason"], again["count"]) == ("pl-sized", "committed", 1), plan
    assert any(line.startswith("run again    1 pl-sized: ") for line in lines), lines


def test_a_plan_names_the_required_attrib_that_has_no_value(bench):
    prepare(bench, "pl-three", "pl3.example.com", "pl-needs")
    plan, _ = both(bench, "pl-three")
    [entry] = plan["missing"]
    assert (entry["attrib"], entry["node_name"], entry["role_name"]) == ("pl-key", "pl3.example.com", "pl-needs"), plan
    assert plan["summary"]["missing"] == 1, plan
    bench.says("noderoles", "set", "pl3.example.com/pl-needs", "pl-key", '"abc"')
    plan, _ = both(bench, "pl-three")
    assert plan["missing"] == [] and plan["summary"]["missing"] == 0, plan


def test_host_keys_are_forgotten_by_name(bench):
    node(bench, "pl4.example.com")
    assert bench.online("nodes", "forget-key", "pl4.example.com").status == OK
    answer = bench.online("nodes", "forget-key", "pl5.example.com")
    assert answer.status == NOT_FOUND, answer


NAMED = """
barclamp: {name: pn, source_path: pn}
roles:
  - name: pn-dns
    jig: test
    lists-services: pn-services
    attribs:
      - {name: pn-services, map: pn/services, default: [pn], schema: {type: seq, sequence: [{type: str}]}}
  - name: pn-use
    jig: test
    attribs:
      - {name: pn-use, map: pn/use, writable: true, default: none, schema: {type: str}}
"""


def test_a_plan_lists_the_names_that_it_changes(bench):
    bench.write("pn.yml", NAMED)
    bench.says("barclamps", "upload", "pn.yml")
    deployment(bench, "pn", "pn1.example.com")
    for role in ("pn-dns", "pn-use"):
        bench.says("nodes", "bind", "pn1.example.com", role)
    bench.says("networks", "create", "name=pn", "conduit=9g0",
               'ranges:=[{"name": "host", "first": "10.77.0.10/24", "last": "10.77.0.19/24"}]')
    bench.says("allocations", "create", "network=pn", "node=pn1.example.com")
    bench.says("filters", "create", "name=pn", "priority=77", 'matcher=node.attr.pn-use == "web"', "service=pn",
               "template=www-{{node.name}}")
    assert bench.online("deployments", "commit", "pn", "--wait", "--timeout", "60").status == OK
    assert bench.online("noderoles", "set", "pn1.example.com/pn-use", "pn-use", "web", "--propose").status == OK
    plan, lines = both(bench, "pn")
    assert plan["summary"]["names_count"] == 1, plan
    assert lines[lines.index("names        1") + 1] == "    10.77.0.10/24 of pn1.example.com: - -> www-pn1", lines
