"""Empty input to every operation: texts, bodies, path segments and parameters of no bytes."""
import urllib.parse

from daemon import Client, Own, basic

METHODS = ("get", "head", "post", "put", "patch", "delete")
BODIES = (b"", b" ", b"null", b'""', b"0", b"[]", b"{}", b"[[]]", b"[{}]", b'{"":""}')


def resolve(document, schema):
    while schema and "$ref" in schema:
        at = document
        for part in schema["$ref"].lstrip("#/").split("/"):
            at = at[part]
        schema = at
    return schema or {}


def properties(document, schema, found, depth=0):
    """Names of all fields that a body may have."""
    schema = resolve(document, schema)
    if depth > 4:
        return found
    found.update(schema.get("properties", {}))
    for key in ("oneOf", "anyOf", "allOf"):
        for part in schema.get(key, []):
            properties(document, part, found, depth + 1)
    if "items" in schema:
        properties(document, schema["items"], found, depth + 1)
    return found


def operations(client):
    document = client.get("/api/openapi.json").json()
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield document, path, method, methods[method]


def fill(path, value):
    out = path
    while "{" in out:
        before, _, rest = out.partition("{")
        out = before + value + rest.partition("}")[2]
    return out


def send_empty(me):
    """To every operation; how many requests that were."""
    count = 0
    for document, path, method, operation in operations(me):
        if ("events" in path and method == "get") or path.endswith("/log"):
            continue  # streams without an end
        for value in ("", "0", "%20"):
            where = fill(path, value)
            answer = me.ask(method.upper(), where)
            assert answer.status < 500, (method, where, answer)
            count += 1
        if method not in ("post", "put", "patch"):
            continue
        content = resolve(document, operation.get("requestBody", {})).get("content", {})
        names = {}
        for kind in content.values():
            properties(document, kind.get("schema", {}), names)
        where = fill(path, "0")
        for raw in BODIES:
            answer = me.ask(method.upper(), where, raw=raw,
                            headers={"Content-Type": "application/json"})
            assert answer.status < 500, (method, where, raw, answer)
            count += 1
        for empty in ("", None, [], {}):
            for names_now in [list(names)] + [[name] for name in names]:
                answer = me.ask(method.upper(), where, {name: empty for name in names_now})
                assert answer.status < 500, (method, where, names_now, empty, answer)
                count += 1
    return count


def test_empty_input_to_every_operation_is_answered(daemon):
    with Own(daemon) as own:
        own.start()
        assert send_empty(own.client) > 500
        assert own.client.get("/healthz").status == 200
        assert own.stop() == 0, own.read("stderr")


def test_empty_parameters_and_headers_are_answered(daemon):
    token = daemon.client().authorization
    names = ("limit", "sort", "after", "view", "name", "name.not", "q", "")
    for path in ("nodes", "roles", "deployments", "node_roles", "runs", "users", "audit"):
        for name in names:
            answer = daemon.client().get(path + "?" + urllib.parse.urlencode({name: ""}))
            assert answer.status < 500, (path, name, answer)
    for header in ("Cookie", "If-Match", "If-None-Match", "Last-Event-ID", "Accept", "Origin",
                   "Content-Type", "Forwarded", "X-Forwarded-For", "X-CSRF-Token",
                   "x-return-attributes"):
        answer = daemon.client().get("nodes", headers={header: ""})
        assert answer.status < 500, (header, answer)
    for authorization in ("", "Basic", "Basic ", "Bearer", "Bearer ", "Digest", "Digest ",
                          basic("", ""), token + " "):
        answer = Client(daemon.url, authorization or " ").get("nodes")
        assert answer.status < 500, (authorization, answer)
    assert daemon.stranger().get("/healthz").status == 200
