"""Every operation of openapi.json, asked in the name of every principal, about own and foreign
objects, against the table of rights_table.py. A refusal is 401 or 403 and changes nothing."""
from rights_table import ROWS
from rights_world import PRINCIPALS, UNAUTHENTICATED, World

SHOWN_MAX = 200


def operations(client):
    described = client.get("/api/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in methods:
            yield f"{method.upper()} {path}"


def ask(world, principal, method, path, body):
    return world.clients[principal].ask(method, path, body)


def refuse_all(world):
    """Every request of the table by everyone who may not, then a comparison of everything: the differences,
    as sentences. The objects are made before, so that nothing changes meanwhile but by a mistake."""
    wrong, requests = [], []
    for operation, case, may, make, _, refusals in ROWS:
        shared = None
        for principal in PRINCIPALS:
            if principal in may:
                continue
            # Requests about the principal itself differ; all others share an object, which a
            # refusal leaves as it was.
            if shared is None or "own" in case.split() or "oneself" in case:
                shared = make(world, principal)
            requests.append((operation, case, refusals, principal, *shared))
    before = world.dump()
    for operation, case, refusals, principal, path, body in requests:
        method = operation.split()[0]
        answer = ask(world, principal, method, path, body)
        wanted = (401,) if principal in UNAUTHENTICATED else refusals
        if answer.status not in wanted:
            wrong.append(f"{operation} ({case}): {principal} gets {answer.status}, not {wanted}: "
                         f"{method} {path} {body} {answer.text[:150]}")
    after = world.dump()
    changed = [path for path in before if before[path] != after[path]]
    if changed:
        wrong.append(f"refused requests changed {changed}")
    return wrong, len(requests)


def allow_all(world):
    """Every request of the table by everyone who may, each about an object of its own."""
    wrong, count = [], 0
    for operation, case, may, make, statuses, _ in ROWS:
        method = operation.split()[0]
        for principal in PRINCIPALS:
            if principal not in may:
                continue
            path, body = make(world, principal)
            answer = ask(world, principal, method, path, body)
            count += 1
            if answer.status not in statuses:
                wrong.append(f"{operation} ({case}): {principal} gets {answer.status}, not one of "
                             f"{statuses}: {method} {path} {body} {answer.text[:150]}")
    return wrong, count


def test_every_operation_has_a_row(attack):
    daemon = attack.installation()
    daemon.start()
    described = set(operations(daemon.client()))
    rows = {operation for operation, *_ in ROWS}
    assert described == rows, {"without a row": described - rows, "without operation": rows - described}
    assert len(described) > 150, len(described)
    daemon.end()


def test_rights(attack):
    daemon = attack.installation()
    daemon.start()
    world = World(daemon)
    wrong, refused = refuse_all(world)
    more, allowed = allow_all(world)
    wrong += more
    daemon.expect_well()
    assert not wrong, "\n".join([f"{len(wrong)} wrong"] + wrong[:SHOWN_MAX])
    daemon.end()
    print(f"rights: {len(ROWS)} rows, {refused} requests refused, {allowed} allowed")
