"""Races during the installation of a system, with real scripts.

The x numbers of the tests are defects of OpenCrowbar that these rules avoid: docs/spec/runs.md and
docs/spec/machines.md."""
from yard import (
    ACTIVE, BLOCKED, OK, PARKED, RUN_PARKED, RUN_RUNNING, TODO, TRANSITION, eventually,
)

# Records whether its machine is alive at the time of the hook.
WITNESS = """\
return {
  on_active = function(noderole)
    local text = noderole.host.alive and 'alive' or 'dead'
    halligan.set_attrib('noderole', noderole, 'word-install', text, 'note')
  end,
}
"""


def installs(y, count, script, **keys):
    """Machines that are installed, with something above that wants the installed system."""
    y.role("install", script, flags=["destructive"], **keys)
    y.role("after", "say after", requires=["install"])
    y.start()
    nodes = [y.node(f"n{i}") for i in range(count)]
    bound = [(y.bind(node, "install"), y.bind(node, "after")) for node in nodes]
    return nodes, bound


def flags(y, node):
    return y.one("SELECT * FROM node WHERE name = ?", node)


def test_x02_what_reboots_its_machine_is_done_and_the_machine_is_dead_in_one_step(y):
    y.role("elsewhere", "say elsewhere")
    nodes, bound = installs(y, 1, "say install; exit 64")
    install, after = bound[0]
    y.commit(install, after)
    y.settles(install, TODO)
    run = y.history(install)[0]
    assert run["result"] == OK and y.look(install)["run_count"] == 1
    assert not flags(y, nodes[0])["alive"]
    assert flags(y, nodes[0])["alive_since"] == run["ended_at"]
    # Others come and go meanwhile; nothing runs where there is no system yet.
    y.kill()
    y.start()
    y.reaches(y.run(y.node("other"), "elsewhere"), ACTIVE)
    assert y.look(after)["state"] == BLOCKED and y.ledger("after", node=nodes[0]) == []
    y.set_node(nodes[0], alive=True)
    y.reaches(after, ACTIVE)
    assert len(y.ledger("install", node=nodes[0])) == 1, "it is not installed again"
    assert y.look(install)["run_count"] == 1
    assert len(y.ledger("after", node=nodes[0])) == 1


def test_x03_it_is_never_done_while_the_machine_seems_alive(y):
    count = 30 if y.full else 10
    nodes, bound = installs(y, count, "say install; gate one; exit 64", lua=WITNESS)
    y.shut("one")
    for install, after in bound:
        y.commit(install, after)
    y.wait_for("install", min(count, 10))
    y.open("one")
    for node, (install, after) in zip(nodes, bound):
        y.settles(install, TODO)
        assert flags(y, node)["alive_since"] == y.history(install)[0]["ended_at"]
        eventually(lambda: not y.rows("SELECT 1 FROM outbox WHERE object_id = ?", install),
                   "the hook was answered")
        notes = y.record(install)["notes"]
        assert '"dead"' in notes and '"alive"' not in notes, notes
        assert y.look(after)["state"] == BLOCKED
    assert y.ledger("after") == []
    for node, (_, after) in zip(nodes, bound):
        y.set_node(node, alive=True)
        y.reaches(after, ACTIVE)
    assert len(y.ledger("install")) == len(y.ledger("after")) == count


# The first time it asks, and waits; then it goes on once it was served.
ASKS = """\
if [ ! -e "$here/served.$node" ]; then say asks; exit 128; fi
say goes
exit 64
"""


def test_x06_an_install_waits_for_its_acknowledgement_before_the_machine_goes_down(y):
    nodes, bound = installs(y, 1, ASKS)
    install, after = bound[0]
    y.commit(install, after)
    for number in range(2):  # an acknowledgement too many, or too early, does no harm
        eventually(lambda: len(y.results(install)) == number + 1, "it has asked")
        assert [run["state"] for run in y.runs(install)] == [RUN_PARKED]
        assert flags(y, nodes[0])["alive"] and y.look(install)["state"] == TRANSITION
        assert y.look(after)["state"] == BLOCKED
        y.kill()
        y.start()
        assert flags(y, nodes[0])["alive"] and y.ledger("goes") == []
        if number:
            with open(y.path("served." + nodes[0]), "w"):
                pass
        y.pull(f"resume {y.runs(install)[0]['id']}")
    y.settles(install, TODO)
    assert y.results(install) == [PARKED, PARKED, OK]
    assert not flags(y, nodes[0])["alive"]
    assert flags(y, nodes[0])["alive_since"] == y.history(install)[2]["ended_at"]
    assert [line.word for line in y.ledger()] == ["asks", "asks", "goes"]
    y.set_node(nodes[0], alive=True)
    y.reaches(after, ACTIVE)
    assert len(y.ledger("goes")) == 1


def test_x07_runs_that_wait_hold_no_worker_and_the_database_they_wait_for_runs(y):
    count = 12
    y.role("database", """
        say database
        for name in $(read_attribute yard/word | tr , ' '); do : > "$here/served.$name"; done
    """)
    nodes, bound = installs(y, count, ASKS.replace("exit 64", "exit 0"))
    for install, after in bound:
        y.commit(install, after)
    eventually(lambda: [run["state"] for run in y.runs()] == [RUN_PARKED] * count, "all wait")
    assert len(y.ledger("asks")) == count
    # By the annealer, in the pool that they came from, and enqueued on a machine that waits.
    server = y.node("server")
    database = y.bind(server, "database", data={"yard": {"word": ",".join(nodes)}})
    y.commit(database)
    y.reaches(database, ACTIVE)
    assert y.rows("SELECT 1 FROM run WHERE state = ?", RUN_RUNNING) == []
    second = y.bind(nodes[0], "database", data={"yard": {"word": nodes[0]}})
    y.commit(second)
    assert y.look(second)["state"] == TODO  # its machine is not free for the annealer
    y.pull(f"enqueue {second}")
    y.reaches(second, ACTIVE)  # an enqueued one is
    y.pull(*[f"resume {run['id']}" for run in y.runs()])
    for install, after in bound:
        assert y.settles(install)["run_count"] == 1
        y.reaches(after, ACTIVE)
    assert len(y.ledger("goes")) == count and len(y.ledger("asks")) == count
