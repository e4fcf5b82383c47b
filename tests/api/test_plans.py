"""Plans are made in slices, used again while nothing changed, and refused when everything keeps changing."""
import re
import threading

from daemon import Client, basic
from test_objects import check_error, make


def counts(me):
    text = me.get("/metrics").text
    return {k: int(n) for k, n in re.findall(r'^halligan_plans_total\{result="(\w+)"\} (\d+)$', text, re.M)}


def grown(me, before):
    now = counts(me)
    return {key: now[key] - before[key] for key in now if now[key] != before[key]}


def fill(me, deployment, count):
    """So many nodes with one proposed noderole each."""
    make(me, "deployments", name=deployment)
    wanted = [{"name": f"{deployment}-{i}.example.com", "deployment": deployment, "alive": True, "available": True}
              for i in range(count)]
    rows = []
    for at in range(0, count, 1000):
        made = me.post("nodes", wanted[at:at + 1000])
        assert made.status == 200, made
        bound = me.post("node_roles", [{"node": row["id"], "role": "base"} for row in made.json()])
        assert bound.status == 200, bound
        rows += made.json()
    return rows


def test_a_plan_has_a_summary_and_can_be_the_summary_alone(daemon):
    me = daemon.client()
    fill(me, "pl-sum", 3)
    whole = me.get("deployments/pl-sum/plan").json()
    brief = me.get("deployments/pl-sum/plan?summary=true").json()
    assert brief["hash"] == whole["hash"] and brief["summary"] == whole["summary"], (whole, brief)
    assert sorted(brief) == ["consent", "destroys", "hash", "seq", "summary", "unproposed"], brief
    summary = brief["summary"]
    assert summary["actions"]["commit"] == 3 == len(whole["commits"]) and summary["machines"] == 3, summary
    assert [w["wave"] for w in summary["waves"]] == [1] and summary["waves"][0]["run"] == 3, summary
    [role] = summary["roles"]
    assert role["role_name"] == "base" and role["commit"] == 3 and role["run"] == 3, summary
    check_error(me.get("deployments/pl-sum/plan?summary=perhaps"), 400, "bad_value", "summary")
    assert me.put("deployments/pl-sum/commit", {"plan": brief["hash"]}).status == 200


def test_a_plan_is_used_again_while_nothing_it_read_changed(daemon):
    me = daemon.client()
    nodes = fill(me, "pl-use", 2)
    fill(me, "pl-other", 2)
    before = counts(me)
    first = me.get("deployments/pl-use/plan").json()
    assert me.get("deployments/pl-use/plan").json() == first
    assert me.get("deployments/pl-use/plan?summary=true").json()["hash"] == first["hash"]
    assert grown(me, before) == {"computed": 1, "reused": 2}
    # A commit elsewhere changes nothing that was read.
    assert me.put("deployments/pl-other/commit").status == 200
    assert me.get("deployments/pl-use/plan").json() == first
    assert grown(me, before) == {"computed": 1, "reused": 3}
    # Another caller gets it only with rights of its own.
    made = me.post("users", {"username": "pl-viewer", "password": "pass-word", "access": "viewer"})
    assert made.status == 200, made
    viewer = Client(daemon.url, basic("pl-viewer", "pass-word"))
    assert viewer.get("deployments/pl-use/plan").status == 403
    assert me.put(f"nodes/{nodes[0]['id']}", {"alive": False}).status == 200
    second = me.get("deployments/pl-use/plan").json()
    assert second["hash"] != first["hash"] and len(second["held"]) == 1, second
    assert grown(me, before)["computed"] == 2


def test_a_plan_of_what_keeps_changing_is_refused_as_busy(daemon):
    me = daemon.client()
    nodes = fill(me, "pl-busy", 3000)
    before = counts(me)
    stop = threading.Event()

    def change(which):
        mine, i = daemon.client(), 0
        while not stop.is_set():
            i += 1
            mine.put(f"nodes/{nodes[which]['id']}", {"description": f"number {i}"})

    threads = [threading.Thread(target=change, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        answers = [me.get("deployments/pl-busy/plan?summary=true") for _ in range(10)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    refused = [a for a in answers if a.status != 200]
    assert refused, [a.status for a in answers]
    for answer in refused:
        check_error(answer, 409, "busy", "id")
    assert grown(me, before)["restarted"] >= 3 and grown(me, before)["busy"] == len(refused), grown(me, before)
    quiet = me.get("deployments/pl-busy/plan?summary=true")
    assert quiet.status == 200 and quiet.json()["summary"]["actions"]["commit"] == 3000, quiet
