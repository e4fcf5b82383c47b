"""What snapshots held and what a commit would do, of more noderoles than fit into one text."""
import json
import os

from daemon import Own, eventually

NODES = 2200
ROLES = 10
BULK = 500
CONTENT = """barclamp: {name: many}
jigs:
  - {name: noop, class: noop}
roles:
  - {name: step-0, jig: noop, flags: [implicit]}
""" + "".join(f"  - {{name: step-{i}, jig: noop, flags: [implicit], requires: [step-{i - 1}]}}\n"
              for i in range(1, ROLES))


def bind_many(me):
    assert me.post("deployments", {"name": "many"}).status == 200
    for first in range(0, NODES, BULK):
        names = [{"name": f"n{i}.many.example.com", "deployment": "many"}
                 for i in range(first, min(NODES, first + BULK))]
        made = me.post("nodes", names)
        assert made.status == 200, made.text[:300]
        binds = [{"node": row["id"], "role": f"step-{ROLES - 1}"} for row in made.json()]
        bound = me.post("node_roles", binds)
        assert bound.status == 200, bound.text[:300]


def commit(me):
    done = me.put("deployments/many/commit")
    assert done.status == 200, done.text[:300]


def change_one(me, value):
    """One noderole gets other data and is committed, which archives the head before it."""
    noderole = me.get("nodes/n7.many.example.com/node_roles").json()[0]["id"]
    assert me.put(f"node_roles/{noderole}/propose").status == 200
    set_data = me.put(f"node_roles/{noderole}", {"data": {"v": value}})
    assert set_data.status == 200, set_data
    commit(me)
    return noderole


def test_large_replies_are_streamed_or_refused_before_they_are_built(daemon):
    with Own(daemon) as own:
        os.makedirs(own.path("content/many"))
        own.write("content/many/many.yml", CONTENT)
        own.start("--barclamps", own.path("content"), "--test-jig")
        me = own.client
        bind_many(me)
        # The lists of 22,000 noderoles take some MiB, and an answer has place for 32.
        plan = me.get("deployments/many/plan")
        assert plan.status == 200 and len(plan.json()["commits"]) == NODES * ROLES, plan.text[:300]
        commit(me)
        noderole = change_one(me, 1)
        change_one(me, 2)
        head = me.get("deployments/many/head").json()
        first = me.get(f"snapshots/{head['snapshot_id']}").json()
        assert first["state"] != head["state"] or first["id"] != head["id"], (first, head)

        held = me.get(f"snapshots/{first['id']}/node_roles")
        assert held.status == 200 and "Content-Length" not in held.headers, held.headers
        rows = held.json()
        assert len(rows) == NODES * ROLES
        pairs = [(row["node_id"], row["role_id"]) for row in rows]
        assert pairs == sorted(set(pairs))
        assert [row["data"] for row in rows if row["data"]] == [{"v": 1}]

        diff = me.get(f"snapshots/{first['id']}/diff/{head['id']}").json()
        assert diff["added"] == [] and diff["removed"] == [], json.dumps(diff)[:300]
        assert [c["values"] for c in diff["changed"]] == [[[1, 2]]], diff
        assert len(me.get(f"node_roles/{noderole}/runs").json()) <= 10
        eventually(lambda: me.get("/healthz").status == 200, "it is well")
        assert own.stop() == 0
