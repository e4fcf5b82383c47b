"""Work: commit, run, fail, retry; and what is left of it after a restart."""
import concurrent.futures
import signal

from daemon import eventually

ERROR, ACTIVE, TODO, TRANSITION, BLOCKED, PROPOSED = -1, 0, 1, 2, 3, 4


def ready_node(me, name, **fields):
    answer = me.post("nodes", {"name": name, "alive": True, "available": True, **fields})
    assert answer.status == 200, answer
    return answer.json()


def bind(me, node, role, **fields):
    answer = me.post("node_roles", {"node": node, "role": role, **fields})
    assert answer.status == 200, answer
    return answer.json()["id"]


def reaches(me, noderole, state):
    def look():
        answer = me.get(f"node_roles/{noderole}")
        assert answer.status == 200, answer
        return answer.json() if answer.json()["state"] == state else None

    return eventually(look, f"noderole {noderole} in state {state}")


def test_a_committed_chain_becomes_active(daemon):
    me = daemon.client()
    ready_node(me, "run1.example.com")
    top = bind(me, "run1.example.com", "top")
    answer = me.put("nodes/run1.example.com/commit")
    assert answer.status == 200 and answer.json()["available"] is True, answer
    assert reaches(me, top, ACTIVE)["run_count"] == 1
    states = [n["state"] for n in me.get("nodes/run1.example.com/node_roles").json()]
    assert states == [ACTIVE] * 3


def test_a_failed_run_is_an_error_until_it_is_retried(daemon):
    me = daemon.client()
    ready_node(me, "run2.example.com")
    base = bind(me, "run2.example.com", "base", data={"fail": True})
    assert me.put(f"node_roles/{base}/commit").status == 200
    failed = reaches(me, base, ERROR)
    assert failed["node_error"] is True
    assert me.put(f"node_roles/{base}/propose").json()["state"] == PROPOSED
    retry = me.put(f"node_roles/{base}/retry")
    assert retry.status == 409 and retry.json()["code"] == "wrong_state", retry
    assert me.put(f"node_roles/{base}", {"data": {"fail": False}}).status == 200
    assert me.put(f"node_roles/{base}/commit").status == 200
    assert reaches(me, base, ACTIVE)["node_error"] is False
    late = me.put(f"node_roles/{base}", {"data": {}})
    assert late.status == 409 and late.json()["code"] == "not_proposed", late


def test_a_deployment_is_committed_proposed_and_recalled(daemon):
    me = daemon.client()
    assert me.post("deployments", {"name": "cycle"}).json()["state"] == 0
    ready_node(me, "run3.example.com", deployment="cycle")
    bind(me, "run3.example.com", "middle")
    assert me.put("deployments/cycle/commit").status == 200
    eventually(lambda: me.get("deployments/cycle").json()["state"] == 2, "cycle is active")
    assert me.put("deployments/cycle/propose").json()["state"] == 0
    assert me.put("deployments/cycle/recall").json()["state"] == 0
    plan = me.put("deployments/cycle/commit", {"plan": "0" * 64})
    assert plan.status == 409 and plan.json()["code"] == "plan_changed", plan
    assert me.put("deployments/cycle/commit").json()["state"] == 2
    refused = me.put("deployments/system/propose")
    assert refused.status == 409 and refused.json()["code"] == "system_deployment", refused


def test_a_target_holds_a_node(daemon):
    me = daemon.client()
    ready_node(me, "run4.example.com")
    bind(me, "run4.example.com", "goal")
    base = bind(me, "run4.example.com", "base")
    held = me.put("nodes/run4.example.com", {"target_role_id": "goal"})
    assert held.status == 200 and held.json()["target_role_id"], held
    assert me.get(f"node_roles/{base}").json()["available"] is False
    free = me.put("nodes/run4.example.com", {"target_role_id": None})
    assert free.json()["target_role_id"] is None, free
    assert me.get(f"node_roles/{base}").json()["available"] is True


def test_an_acknowledged_change_is_seen_by_the_next_read(daemon):
    me = daemon.client()

    def one(number):
        name = f"many{number}.example.com"
        assert me.post("nodes", {"name": name}).status == 200
        for text in "abc":
            assert me.put("nodes/" + name, {"description": text}).json()["description"] == text
            assert me.get("nodes/" + name).json()["description"] == text
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(40)))


def test_concurrent_creations_of_a_name_succeed_once(daemon):
    me = daemon.client()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: me.post("deployments", {"name": "race"}), range(8)))
    assert sorted(a.status for a in answers) == [200] + [409] * 7


def test_ended_runs_are_stored(daemon):
    me = daemon.client()
    ready_node(me, "run6.example.com")
    base = bind(me, "run6.example.com", "base", data={"fail": True})
    assert me.get(f"node_roles/{base}/runs").json() == []
    assert me.put(f"node_roles/{base}/commit").status == 200
    reaches(me, base, ERROR)
    assert me.put(f"node_roles/{base}/propose").status == 200
    assert me.put(f"node_roles/{base}", {"data": {"delay": 20000}}).status == 200
    assert me.put(f"node_roles/{base}/commit").status == 200
    reaches(me, base, TRANSITION)
    (run,) = [r for r in me.get("runs").json() if r["node_role_id"] == base]
    assert run["state"] == "running" and run["role"] == "base" and run["attempt"] == 2, run
    assert me.get(f"runs/{run['id']}").json()["id"] == run["id"]
    assert me.put(f"runs/{run['id']}/cancel").status == 200
    reaches(me, base, ERROR)
    eventually(lambda: me.get(f"runs/{run['id']}").status == 404, "the run has stopped")
    kept = me.get(f"node_roles/{base}/runs").json()
    assert [(r["attempt"], r["result"]) for r in kept] == [(2, "cancelled"), (1, "failed")], kept
    assert kept[1]["role"] == "base" and kept[1]["runlog"] and kept[0]["id"] == run["id"], kept
    assert me.get(f"node_roles/{base}/runs?limit=1").json() == kept[:1]
    assert me.get(f"runs/{run['id']}/log?node_role={base}&attempt=2").status == 404
    assert me.get("node_roles/987654321/runs").status == 404


def test_everything_is_there_after_a_restart(daemon):
    me = daemon.client()
    me.post("deployments", {"name": "lasting", "description": "d"})
    kinds = ("nodes", "roles", "deployments", "node_roles", "tokens")
    before = [me.get(kind).json() for kind in kinds]
    assert daemon.stop() == 0
    assert daemon.read("listen") == ""
    daemon.start()
    me = daemon.client()
    for kind, wanted in zip(kinds, before):
        for was, now in zip(wanted, me.get(kind).json(), strict=True):
            assert now == was, (kind, was, now)


def test_what_was_acknowledged_survives_a_kill(daemon):
    me = daemon.client()
    for number in range(20):
        assert me.post("nodes", {"name": f"kept{number}.example.com"}).status == 200
    daemon.stop(signal.SIGKILL)
    daemon.start()
    names = {n["name"] for n in daemon.client().get("nodes").json()}
    assert {f"kept{number}.example.com" for number in range(20)} <= names


def test_a_run_in_flight_is_adopted_after_a_kill(daemon):
    me = daemon.client()
    ready_node(me, "run5.example.com")
    base = bind(me, "run5.example.com", "base", data={"delay": 1500})
    assert me.put(f"node_roles/{base}/commit").status == 200
    reaches(me, base, TRANSITION)
    started = f" {base}\n"
    eventually(lambda: started in journal(daemon), "the start is in the journal")
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert reaches(daemon.client(), base, ACTIVE)["run_count"] == 1
    assert journal(daemon).count(started) == 1


def journal(daemon):
    return daemon.read("test-jig.journal") + "\n"
