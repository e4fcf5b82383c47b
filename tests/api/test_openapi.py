"""The OpenAPI document: is it complete and correct?"""
import re

# The value for each key of a path, by the noun before it.
KNOWN = {
    "nodes": "walked.example.com",
    "deployments": "system",
    "roles": "base",
    "jigs": "noop",
    "available_hammers": "ssh",
    "bootenvs": "apitest-install",
    "barclamps": "apitest",
    "users": "admin",
    "snapshots": "system",
    "groups": "not_set",
}
NOWHERE = "999999999"
SHAPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def walk(me):
    described = me.get("/api/openapi.json")
    assert described.status == 200 and described.type == "application/json", described
    document = described.json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield document, path, method.upper(), operation


def filled(path, ids):
    """The path about objects that are there, or None when this walk has none."""
    nouns = path.strip("/").split("/")
    for at, word in enumerate(nouns):
        if word.startswith("{"):
            noun = nouns[at - 1]
            if noun not in ids:
                return None
            nouns[at] = str(ids[noun])
    return "/" + "/".join(nouns)


def furnish(me):
    made = me.post("nodes", {"name": KNOWN["nodes"]})
    assert made.status in (200, 409), made
    bound = me.post("node_roles", {"node": KNOWN["nodes"], "role": "base"})
    assert bound.status == 200, bound
    hammers = me.get(f"nodes/{KNOWN['nodes']}/hammers").json()
    told = me.get("roles/base/deployment_roles").json()
    return {
        **KNOWN,
        "node_roles": bound.json()["id"],
        "hammers": hammers[0]["id"],
        "deployment_roles": told[0]["id"],
    }


def test_the_description_is_well_formed(daemon):
    seen = set()
    for document, path, method, operation in walk(daemon.client()):
        assert document["openapi"].startswith("3.0")
        assert operation["operationId"] not in seen, operation
        seen.add(operation["operationId"])
        assert operation["summary"] and "200" in operation["responses"], (path, method)
        named = re.findall(r"\{(\w+)\}", path)
        described = [p["name"] for p in operation.get("parameters", []) if p["in"] == "path"]
        assert named == described, (path, described)
        for ref in re.findall(r"#/components/schemas/(\w+)", str(operation)):
            assert ref in document["components"]["schemas"], ref
    assert len(seen) > 60


def check_object(schema, value, where):
    for key, kind in schema["properties"].items():
        if key in value and value[key] is not None and "type" in kind:
            assert isinstance(value[key], SHAPES[kind["type"]]), (where, key, value[key])
        elif key in value and value[key] is None:
            assert kind.get("nullable") or "type" not in kind, (where, key)
    assert set(value) <= set(schema["properties"]), (where, value)


def schema_of(document, operation):
    for content in operation["responses"]["200"]["content"].values():
        found = re.search(r"#/components/schemas/(\w+)", str(content["schema"]))
        if found:
            return document["components"]["schemas"][found.group(1)]
    return None


def test_every_readable_path_matches_its_schema(daemon):
    me = daemon.client()
    ids = furnish(me)
    read = 0
    for document, path, method, operation in walk(me):
        target = filled(path, ids)
        if method != "GET" or not target:
            continue
        if "head" in path or "next" in path:
            continue
        answer = me.get(target)
        assert answer.status in (200, 202, 404, 409), (path, answer)
        assert answer.status in (200, 202) or "{id2}" in path or "{" not in path, (path, answer)
        schema = schema_of(document, operation)
        if answer.status != 200 or not schema or path.endswith("/sample"):
            continue
        read += 1
        body = answer.json()
        for item in body if isinstance(body, list) else [body]:
            check_object(schema, item, path)
    assert read > 15


def test_every_change_of_a_missing_object_is_refused(daemon):
    """Nothing is changed by it, and each refusal is an error in the form of all errors."""
    me = daemon.client()
    for _, path, method, operation in walk(me):
        if method == "GET" or "{id}" not in path or path.endswith("/match"):
            continue
        target = re.sub(r"\{\w+\}", NOWHERE, path)
        body = [] if method == "PATCH" else {}
        answer = me.ask(method, target, body)
        assert answer.status in (400, 404, 405, 409), (method, path, answer)
        error = answer.json()
        assert error["message"] and error["code"] and error["status"] == answer.status, path


def test_missing_parameters_are_named(daemon):
    me = daemon.client()
    missed = 0
    for _, path, method, operation in walk(me):
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        if "{" in path or not schema.get("required"):
            continue
        answer = me.ask(method, path, {})
        assert answer.status == 400, (path, answer)
        problems = answer.json().get("problems") or [answer.json()]
        told = {problem["field"] for problem in problems}
        assert set(schema["required"]) <= told, (path, answer)
        missed += 1
    assert missed >= 4


def test_the_owner_in_the_path_is_no_required_parameter(daemon):
    checked = 0
    for _, path, method, operation in walk(daemon.client()):
        content = operation.get("requestBody", {}).get("content", {})
        required = content.get("application/json", {}).get("schema", {}).get("required", [])
        nouns = path.split("/")
        if method == "POST" and "{id}" in nouns and nouns[-1] != "{id}":
            assert nouns[nouns.index("{id}") - 1].removesuffix("s") not in required, (path, required)
            checked += 1
    assert checked > 5


def test_it_needs_authentication(daemon):
    assert daemon.stranger().get("/api/openapi.json").status == 401
