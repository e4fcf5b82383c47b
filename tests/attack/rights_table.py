"""Rights: one row for each operation of openapi.json and each sort of object.

Written from docs/adr/0051 and docs/api.md, not from the code. A row names the operation, the case,
the principals that may (all others are refused: 401 without credentials, else 403) and a function that
makes the request: (world, principal) to (path, body). `statuses` are the replies to principals that may;
a refusal for another reason than rights (409, 501) is listed where the request cannot be more valid.
`refusals` are the replies to principals that may not, where they are others than 403: 404 where the API does
not say whether the object exists.
"""
from rights_world import MACHINE, made

# -- sets of principals: who has the level ... ---------------------------------------------------
EVERYONE = frozenset("anonymous locked viewer here elsewhere system operator admin node "
                     "level_viewer level place".split())
READ = EVERYONE - {"anonymous", "locked", "node"}  # everyone who is authenticated but machines
READ_AND_NODE = READ | {"node"}                    # the node's token reads its own node
ADMIN = frozenset(["admin"])
EVERYWHERE = frozenset("operator admin level".split())  # by access or is_admin; grants do not count
SYSTEM = EVERYWHERE | {"system"}                        # operator in system
HERE = SYSTEM | {"here", "place"}                       # operator in `here`
ELSEWHERE = SYSTEM | {"elsewhere"}                      # operator in `elsewhere`
BOTH = HERE & ELSEWHERE                                 # in both
ACCOUNT = READ - {"level", "level_viewer", "place"}     # an account of one's own, unrestricted

NOWHERE = 999999999
V = "/api/v2/"
ROWS = []


def row(operation, case, may, make, statuses=(200, 202), refusals=(403,)):
    ROWS.append((operation, case, may, make, statuses, refusals))


def reads(operation, path, may=READ, case="any", statuses=(200,)):
    """A read; `path` is formatted with the objects that World.read keeps."""
    row("GET " + operation, case, may, lambda w, _: (path.format(**w.read), None), statuses)


def matches(noun):
    row(f"POST {V}{noun}/match", "any", READ, lambda w, _: (f"{noun}/match", {}))


def in_both(operation, make, statuses=(200, 202)):
    """The same request about an object of `here` and about one of `elsewhere`."""
    row(operation, "own", HERE, lambda w, p: make(w, "here"), statuses)
    row(operation, "foreign", ELSEWHERE, lambda w, p: make(w, "elsewhere"), statuses)


# -- what everyone may ask -----------------------------------------------------------------------
for path in ("/healthz", "/readyz"):
    reads(path, path, EVERYONE)

# -- reads -----------------------------------------------------------------------------------------
for noun in ("attribs", "barclamps", "deployment_roles", "deployments", "available_hammers",
             "hammers", "jigs", "node_roles", "nodes", "roles", "snapshots", "users", "networks",
             "network_ranges", "network_routers", "network_allocations", "leases", "nics",
             "dns_name_filters", "dns_name_entries", "bootenvs"):
    reads(f"{V}{noun}", noun)
    reads(f"{V}{noun}/sample", f"{noun}/sample")
    matches(noun)
for path in ("/version", "/metrics", "/api/openapi.json", "/api/status/nodes",
             "/api/status/deployments", "/api/status/snapshots", "/api/status/queue",
             "/api/status/heartbeat", "/api/status/inventory"):
    reads(path, path)
for noun in ("anneal", "changes", "events", "groups", "runs"):
    reads(V + noun, noun, statuses=(200, 202))
reads(V + "audit", "audit", ADMIN)
reads(V + "tokens", "tokens", READ)
reads(V + "tokens", "tokens?all=true", ADMIN, case="of all users")
reads(V + "session", "session", READ)
reads(V + "digest", "digest", READ)

for operation, path in (
    ("attribs/{id}", "attribs/attack-size"),
    ("barclamps/{id}", "barclamps/attack"),
    ("jigs/{id}", "jigs/test"),
    ("available_hammers/{id}", "available_hammers/ssh"),
    ("bootenvs/{id}", "bootenvs/attack-install"),
    ("users/{id}", "users/p-admin"),
    ("groups/{id}", "groups/{group}"),
    ("groups/{id}/nodes", "groups/{group}/nodes"),
    ("hammers/{id}", "hammers/{hammer}"),
    ("networks/{id}", "networks/{network}"),
    ("networks/{id}/network_ranges", "networks/{network}/network_ranges"),
    ("networks/{id}/network_ranges/{id2}", "networks/{network}/network_ranges/host"),
    ("networks/{id}/network_routers", "networks/{network}/network_routers"),
    ("networks/{id}/network_routers/{id2}", "networks/{network}/network_routers/any"),
    ("networks/{id}/network_allocations", "networks/{network}/network_allocations"),
    ("networks/{id}/allocations", "networks/{network}/allocations"),
    ("networks/{id}/ip", "networks/{network}/ip"),
    ("networks/{id}/auto_ranges/{id2}", "networks/{network}/auto_ranges/" + MACHINE),
    ("network_ranges/{id}", "network_ranges/{network}.host"),
    ("network_ranges/{id}/usage", "network_ranges/{network}.host/usage"),
    ("network_ranges/{id}/network_allocations", "network_ranges/{network}.host/network_allocations"),
    ("network_routers/{id}", "network_routers/{network}"),
    ("network_allocations/{id}", "network_allocations/{allocation}"),
    ("dns_name_filters/{id}", "dns_name_filters/{filter}"),
    ("roles/{id}", "roles/base"),
    ("roles/{id}/deployment_roles", "roles/base/deployment_roles"),
    ("roles/{id}/node_roles", "roles/base/node_roles"),
    ("roles/{id}/nodes", "roles/base/nodes"),
    ("roles/{id}/attribs", "roles/base/attribs"),
    ("roles/{id}/attribs/{id2}", "roles/base/attribs/attack-size"),
    ("runs/{id}", "runs/{run}"),
    ("node_roles/{id}", "node_roles/{noderole}"),
    ("node_roles/{id}/runs", "node_roles/{noderole}/runs"),
    ("node_roles/{id}/why", "node_roles/{noderole}/why"),
    ("node_roles/{id}/boot_due", "node_roles/{noderole}/boot_due"),
    ("node_roles/{id}/attribs", "node_roles/{noderole}/attribs"),
    ("deployment_roles/{id}", "deployment_roles/{deployment_role}"),
    ("deployment_roles/{id}/roles", "deployment_roles/{deployment_role}/roles"),
    ("deployment_roles/{id}/nodes", "deployment_roles/{deployment_role}/nodes"),
    ("deployment_roles/{id}/attribs", "deployment_roles/{deployment_role}/attribs"),
    ("deployment_roles/{id}/attribs/{id2}",
     "deployment_roles/{deployment_role}/attribs/attack-size"),
):
    reads(V + operation, path)
reads(V + "runs/{id}/log", "runs/{run}/log", statuses=(200, 404))  # the test jig says nothing
# There is none: the DHCP server makes leases, discovery makes interfaces, and names take a service.
for noun in ("leases", "nics", "dns_name_entries"):
    reads(f"{V}{noun}/{{id}}", f"{noun}/{NOWHERE}", statuses=(404,))
reads(V + "interfaces", "interfaces")
reads(V + "boot_servers", "boot_servers")
reads(V + "nodes/{id}/boots", f"nodes/{MACHINE}/boots")
reads(V + "dhcp", "dhcp")
reads(V + "dhcp/{id}", "dhcp/" + MACHINE, READ_AND_NODE, case="own node", statuses=(200, 404))
row(f"GET {V}dhcp/{{id}}", "foreign node", READ, lambda w, p: (f"dhcp/{w.node('elsewhere')}", None), statuses=(200, 404))
reads(V + "interfaces/{id}", "interfaces/read")
for below in ("", "/nodes", "/node_roles", "/roles", "/graph", "/head", "/next", "/snapshots",
              "/why", "/deployment_roles", "/attribs"):
    reads(f"{V}deployments/{{id}}{below}", f"deployments/elsewhere{below}", statuses=(200, 404))
for below in ("", "/next", "/graph", "/nodes", "/roles", "/deployment_roles", "/attribs",
              "/node_roles"):
    reads(f"{V}snapshots/{{id}}{below}", f"snapshots/elsewhere{below}", statuses=(200, 404))
reads(V + "snapshots/{id}/diff/{id2}", "snapshots/elsewhere/diff/elsewhere", statuses=(200, 409))
reads(V + "deployments/{id}/attribs/{id2}", "deployments/elsewhere/attribs/attack-size",
      statuses=(200, 404))
reads(V + "node_roles/{id}/attribs/{id2}", "node_roles/{noderole}/attribs/attack-size",
      statuses=(200, 404))
for noun, key in (("nodes", MACHINE), ("deployments", "elsewhere"), ("snapshots", "elsewhere"),
                  ("inventory", "elsewhere")):
    reads(f"/api/status/{noun}/{{id}}", f"/api/status/{noun}/{key}")
for below in ("", "/node_roles", "/roles", "/hammers", "/power", "/attribs", "/addresses",
              "/network_allocations", "/nics", "/boot", "/bootstate"):
    operation = f"{V}nodes/{{id}}{below}"
    reads(operation, f"nodes/{MACHINE}{below}", READ_AND_NODE, case="own node")
    row("GET " + operation, "foreign node", READ,
        lambda w, p, below=below: (f"nodes/{w.node('elsewhere')}{below}", None))
reads(V + "nodes/{id}/power/{id2}", f"nodes/{MACHINE}/power/1", READ_AND_NODE, case="own node",
      statuses=(200, 404))
row(f"GET {V}nodes/{{id}}/power/{{id2}}", "foreign node", READ,
    lambda w, p: (f"nodes/{w.node('elsewhere')}/power/1", None), statuses=(200, 404))
reads(V + "nodes/{id}/why", "nodes/" + MACHINE + "/why")  # names other machines
reads(V + "nodes/{id}/node_roles/{id2}", "nodes/" + MACHINE + "/node_roles/lone", READ_AND_NODE)
reads(V + "nodes/{id}/hammers/{id2}", "nodes/" + MACHINE + "/hammers/ssh", READ_AND_NODE)
reads(V + "deployments/{id}/nodes/{id2}", "deployments/here/nodes/" + MACHINE)
reads(V + "deployments/{id}/node_roles/{id2}", "deployments/elsewhere/node_roles/{noderole}")
# It is in a deployment below that one.
reads(V + "deployments/{id}/deployment_roles/{id2}",
      "deployments/elsewhere/deployment_roles/{deployment_role}", statuses=(404,))
reads(V + "nodes/{id}/attribs/{id2}", "nodes/" + MACHINE + "/attribs/attack-size", READ_AND_NODE,
      statuses=(200, 404))

# -- content: admins -----------------------------------------------------------------------------
CONTENT = "barclamp: {name: sent}\nroles:\n  - {name: sent-role, jig: test}\n"
row(f"POST {V}attribs", "any", ADMIN,
    lambda w, p: ("attribs", {"name": w.fresh("attrib-"), "map": "a/b", "role": "base"}))
row(f"DELETE {V}attribs/{{id}}", "any", ADMIN, lambda w, p: (f"attribs/{w.attrib()}", None))
row(f"POST {V}barclamps", "any", ADMIN, lambda w, p: ("barclamps", {"value": CONTENT}))
row(f"PUT {V}barclamps/{{id}}", "any", ADMIN, lambda w, p: ("barclamps/sent", {"value": CONTENT}))
for noun in ("jigs/noop", "roles/goal"):
    operation = f"{V}{noun.split('/')[0]}/{{id}}"
    row(f"PUT {operation}", "any", ADMIN,
        lambda w, p, noun=noun: (noun, {"description": w.fresh("words ")}))
    row(f"PATCH {operation}", "any", ADMIN,
        lambda w, p, noun=noun: (noun, [{"op": "replace", "path": "/description",
                                         "value": w.fresh("words ")}]))
row(f"PUT {V}roles/{{id}}/attribs/{{id2}}", "any", ADMIN,
    lambda w, p: ("roles/base/attribs/attack-size", {"value": 7 + w.count}))
row(f"PATCH {V}roles/{{id}}/attribs/{{id2}}", "any", ADMIN,
    lambda w, p: ("roles/base/attribs/attack-size",
                  [{"op": "replace", "path": "/value", "value": 9 + w.count}]))

# -- users and tokens ----------------------------------------------------------------------------
row(f"POST {V}users", "any", ADMIN, lambda w, p: ("users", {"username": w.fresh("u")}))
row(f"PUT {V}users/{{id}}", "another", ADMIN,
    lambda w, p: (f"users/{w.user()}", {"email": "other@example.com"}))
row(f"PUT {V}users/{{id}}", "another's rights", ADMIN,
    lambda w, p: (f"users/{w.user()}", {"access": "operator"}))
row(f"PATCH {V}users/{{id}}", "another", ADMIN,
    lambda w, p: (f"users/{w.user()}", [{"op": "add", "path": "/email", "value": "o@example.com"}]))
row(f"DELETE {V}users/{{id}}", "another", ADMIN, lambda w, p: (f"users/{w.user()}", None))
for verb in ("admin", "lock"):
    for method in ("POST", "DELETE"):
        row(f"{method} {V}users/{{id}}/{verb}", "another", ADMIN,
            lambda w, p, verb=verb: (f"users/{w.user()}/{verb}", None))
row(f"PUT {V}users/{{id}}/reset_password", "another", ADMIN,
    lambda w, p: (f"users/{w.user()}/reset_password", {"password": "another secret"}))
row(f"GET {V}users/{{id}}/start_password_reset", "another", ADMIN,
    lambda w, p: (f"users/{w.user()}/start_password_reset", None))
row(f"POST {V}users/{{id}}/complete_password_reset", "another", ADMIN,
    lambda w, p: (f"users/{w.user()}/complete_password_reset",
                  {"token": "0" * 64, "decoder": "AAAA", "nonce": "AAAA", "payload": "AAAA"}),
    statuses=(200, 400, 409))


def own_user(world, principal, name="users/{}"):
    return name.format(world.users.get(principal, "p-admin"))


row(f"PUT {V}users/{{id}}", "oneself", ACCOUNT,
    lambda w, p: (own_user(w, p), {"email": w.fresh("e") + "@example.com"}))
row(f"PUT {V}users/{{id}}", "oneself as admin", ADMIN,
    lambda w, p: (own_user(w, p), {"is_admin": True}), refusals=(403, 409))
row(f"PATCH {V}users/{{id}}", "oneself with grants", ADMIN,
    lambda w, p: (own_user(w, p), [{"op": "add", "path": "/grants", "value": {
        "1": "operator", str(w.ids["here"]): "operator"}}]), refusals=(403, 409))
row(f"POST {V}tokens", "own", ACCOUNT, lambda w, p: ("tokens", {"name": w.fresh("t")}))
row(f"GET {V}tokens/{{id}}", "own", READ, lambda w, p: (f"tokens/{w.token(p)}", None))
row(f"GET {V}tokens/{{id}}", "another's", ADMIN, lambda w, p: (f"tokens/{w.token('other')}", None),
    refusals=(403, 404))
row(f"DELETE {V}tokens/{{id}}", "own", ACCOUNT, lambda w, p: (f"tokens/{w.token(p)}", None))
row(f"DELETE {V}tokens/{{id}}", "another's", ADMIN,
    lambda w, p: (f"tokens/{w.token('other')}", None), refusals=(403, 404))
row(f"POST {V}session", "any", EVERYONE,
    lambda w, p: ("session", {"username": "p-viewer", "password": "a long secret"}))
row("POST /my/users/sign_in", "any", EVERYONE,
    lambda w, p: ("/my/users/sign_in", {"username": "p-viewer", "password": "a long secret"}),
    statuses=(302,))
row(f"DELETE {V}session", "without a session", READ, lambda w, p: ("session", None),
    statuses=(200, 400, 404, 409))

# -- deployments ---------------------------------------------------------------------------------
row(f"POST {V}deployments", "below system", SYSTEM,
    lambda w, p: ("deployments", {"name": w.fresh("d")}))
in_both(f"POST {V}deployments",
        lambda w, where: ("deployments", {"name": w.fresh("d"), "parent": where}))
in_both(f"PUT {V}deployments/{{id}}",
        lambda w, where: (f"deployments/{w.deployment(where)}", {"description": "words"}))
row(f"PUT {V}deployments/{{id}}", "system", SYSTEM,
    lambda w, p: ("deployments/system", {"description": w.fresh("words ")}))
in_both(f"PATCH {V}deployments/{{id}}",
        lambda w, where: (f"deployments/{w.deployment(where)}",
                          [{"op": "add", "path": "/description", "value": "words"}]))
in_both(f"DELETE {V}deployments/{{id}}",
        lambda w, where: (f"deployments/{w.deployment(where)}", None))
in_both(f"GET {V}deployments/{{id}}/plan",
        lambda w, where: (f"deployments/{w.deployment(where)}/plan", None))
in_both(f"PUT {V}deployments/{{id}}/commit",
        lambda w, where: (f"deployments/{w.deployment(where)}/commit", None))
# What a commit would destroy is judged like the commit.
in_both(f"GET {V}deployments/{{id}}/consent",
        lambda w, where: (f"deployments/{w.deployment(where)}/consent", None))
in_both(f"GET {V}nodes/{{id}}/consent",
        lambda w, where: (f"nodes/{w.mixed(where, where)}/consent", None))
row(f"GET {V}nodes/{{id}}/consent", "a proposed noderole elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}/consent", None))
in_both(f"GET {V}node_roles/{{id}}/consent",
        lambda w, where: (f"node_roles/{w.noderole(where)}/consent", None))


def committed_deployment(world, where):
    name = world.deployment(where)
    answer = world.me.put(f"deployments/{name}/commit")
    assert answer.status == 200, answer
    return name


in_both(f"PUT {V}deployments/{{id}}/propose",
        lambda w, where: (f"deployments/{committed_deployment(w, where)}/propose", None))


def proposed_again(world, where):
    name = committed_deployment(world, where)
    answer = world.me.put(f"deployments/{name}/propose")
    assert answer.status == 200, answer
    return name


in_both(f"PUT {V}deployments/{{id}}/recall",
        lambda w, where: (f"deployments/{proposed_again(w, where)}/recall", None))


def revert(world, where):
    name = proposed_again(world, where)
    seqs = world.me.get(f"deployments/{name}/snapshots").json()
    archived = [s for s in seqs if s["state"] == -1]
    return f"deployments/{name}/revert", {"snapshot": archived[0]["id"] if archived else seqs[-1]["id"]}


in_both(f"PUT {V}deployments/{{id}}/revert", revert, statuses=(200, 409))
in_both(f"POST {V}deployments/{{id}}/roles",
        lambda w, where: (f"deployments/{w.deployment(where)}/roles", {"role": "base"}))


def deployment_attrib(world, where):
    name = world.deployment(where)
    answer = world.me.post("deployment_roles", {"role": "base", "deployment": name})
    assert answer.status == 200, answer
    return f"deployments/{name}/attribs/attack-size"


in_both(f"PUT {V}deployments/{{id}}/attribs/{{id2}}",
        lambda w, where: (deployment_attrib(w, where), {"value": 5}))
in_both(f"PATCH {V}deployments/{{id}}/attribs/{{id2}}",
        lambda w, where: (deployment_attrib(w, where),
                          [{"op": "replace", "path": "/value", "value": 6}]))

# -- snapshots -----------------------------------------------------------------------------------
in_both(f"PUT {V}snapshots/{{id}}",
        lambda w, where: (f"snapshots/{w.head(where)}", {"description": "words"}))
in_both(f"PATCH {V}snapshots/{{id}}",
        lambda w, where: (f"snapshots/{w.head(where)}",
                          [{"op": "add", "path": "/description", "value": "words"}]))
in_both(f"PUT {V}snapshots/{{id}}/commit", lambda w, where: (f"snapshots/{w.head(where)}/commit", None))
in_both(f"PUT {V}snapshots/{{id}}/propose",
        lambda w, where: (f"snapshots/{committed_deployment(w, where)}/propose", None))
in_both(f"PUT {V}snapshots/{{id}}/recall",
        lambda w, where: (f"snapshots/{proposed_again(w, where)}/recall", None))

# -- deployment roles ----------------------------------------------------------------------------
in_both(f"POST {V}deployment_roles",
        lambda w, where: ("deployment_roles", {"role": "base", "deployment": w.deployment(where)}))
in_both(f"PUT {V}deployment_roles/{{id}}",
        lambda w, where: (f"deployment_roles/{w.deployment_role(where)}", {"data": {"a": 1}}))
in_both(f"DELETE {V}deployment_roles/{{id}}",
        lambda w, where: (f"deployment_roles/{w.deployment_role(where)}", None))
for verb in ("propose", "commit"):
    in_both(f"PUT {V}deployment_roles/{{id}}/{verb}",
            lambda w, where, verb=verb: (f"deployment_roles/{w.deployment_role(where)}/{verb}", None))
in_both(f"PUT {V}deployment_roles/{{id}}/attribs/{{id2}}",
        lambda w, where: (f"deployment_roles/{w.deployment_role(where)}/attribs/attack-size",
                          {"value": 5}))
in_both(f"PATCH {V}deployment_roles/{{id}}/attribs/{{id2}}",
        lambda w, where: (f"deployment_roles/{w.deployment_role(where)}/attribs/attack-size",
                          [{"op": "replace", "path": "/value", "value": 6}]))

# -- groups: everywhere ----------------------------------------------------------------------------
row(f"POST {V}groups", "any", EVERYWHERE,
    lambda w, p: ("groups", {"name": w.fresh("g"), "category": "tag"}))
row(f"PUT {V}groups/{{id}}", "any", EVERYWHERE, lambda w, p: (f"groups/{w.group()}", {"order": 3}))
row(f"PATCH {V}groups/{{id}}", "any", EVERYWHERE,
    lambda w, p: (f"groups/{w.group()}", [{"op": "add", "path": "/order", "value": 4}]))
row(f"DELETE {V}groups/{{id}}", "any", EVERYWHERE, lambda w, p: (f"groups/{w.group()}", None))
row(f"POST {V}groups/{{id}}/nodes", "own node", EVERYWHERE,
    lambda w, p: (f"groups/{w.group()}/nodes", {"node": w.node("here")}))


def grouped(world):
    group, node = world.group(), world.node("here")
    answer = world.me.post(f"groups/{group}/nodes", {"node": node})
    assert answer.status == 200, answer
    return f"groups/{group}/nodes/{node}"


row(f"DELETE {V}groups/{{id}}/nodes/{{id2}}", "own node", EVERYWHERE,
    lambda w, p: (grouped(w), None))

# -- hammers: operator in system -----------------------------------------------------------------
for where in ("here", "elsewhere"):
    row(f"POST {V}hammers", f"node in {where}", SYSTEM,
        lambda w, p, where=where: ("hammers", {"node": w.node(where), "username": "root",
                                               "available_hammer": "redfish",
                                               "authenticator": "secret",
                                               "endpoint": "https://127.0.0.1:1"}))
    row(f"PUT {V}hammers/{{id}}", f"node in {where}", SYSTEM,
        lambda w, p, where=where: (f"hammers/{w.hammer(where)}", {"priority": 3}))
    row(f"PATCH {V}hammers/{{id}}", f"node in {where}", SYSTEM,
        lambda w, p, where=where: (f"hammers/{w.hammer(where)}",
                                   [{"op": "replace", "path": "/priority", "value": 4}]))
    row(f"DELETE {V}hammers/{{id}}", f"node in {where}", SYSTEM,
        lambda w, p, where=where: (f"hammers/{w.hammer(where)}", None))
in_both(f"POST {V}hammers/{{id}}/perform",
        lambda w, where: (f"hammers/{w.hammer(where)}/perform", {"method": "reboot"}),
        statuses=(200, 202, 409, 501))
row(f"POST {V}hammers/{{id}}/perform", "a noderole elsewhere", BOTH,
    lambda w, p: (f"hammers/{w.hammer('here', node=w.mixed('here', 'elsewhere'))}/perform",
                  {"method": "reboot"}), statuses=(200, 202, 409, 501))

# -- networks, ranges, routers, filters: operator in system, whatever their deployment is ------------
DESCRIBED = [{"op": "replace", "path": "/description", "value": "words"}]
for where in ("here", "elsewhere"):
    row(f"POST {V}networks", f"of {where}", SYSTEM,
        lambda w, p, where=where: ("networks", {"name": w.fresh("net"), "conduit": "1g0",
                                                "deployment": where}))
    for method, body in (("PUT", {"description": "words"}), ("PATCH", DESCRIBED), ("DELETE", None)):
        row(f"{method} {V}networks/{{id}}", f"of {where}", SYSTEM,
            lambda w, p, where=where, body=body: (f"networks/{w.network(where)}", body))


def new_range(world, path, **more):
    low = world.subnet()
    return path, {"name": "more", "first": low + "1/24", "last": low + "9/24", **more}


row(f"POST {V}network_ranges", "of here", SYSTEM,
    lambda w, p: new_range(w, "network_ranges", network=w.network("here")))
row(f"POST {V}networks/{{id}}/network_ranges", "of here", SYSTEM,
    lambda w, p: new_range(w, f"networks/{w.network('here')}/network_ranges"))
RENAMED = {"PUT": {"name": "other"}, "PATCH": [{"op": "replace", "path": "/name", "value": "other"}]}
for method, body in RENAMED.items():
    row(f"{method} {V}network_ranges/{{id}}", "of here", SYSTEM,
        lambda w, p, body=body: (f"network_ranges/{w.network('here')}.host", body))
    row(f"{method} {V}networks/{{id}}/network_ranges/{{id2}}", "of here", SYSTEM,
        lambda w, p, body=body: (f"networks/{w.network('here')}/network_ranges/host", body))
row(f"POST {V}network_routers", "of here", SYSTEM,
    lambda w, p: ("network_routers", {"network": w.network("here", has_router=False)}))
row(f"POST {V}networks/{{id}}/network_routers", "of here", SYSTEM,
    lambda w, p: (f"networks/{w.network('here', has_router=False)}/network_routers", {}))
PREFERRED = {"PUT": {"pref": 3}, "PATCH": [{"op": "replace", "path": "/pref", "value": 3}],
             "DELETE": None}
for method, body in PREFERRED.items():
    row(f"{method} {V}network_routers/{{id}}", "of here", SYSTEM,
        lambda w, p, body=body: (f"network_routers/{w.network('here')}", body))
    row(f"{method} {V}networks/{{id}}/network_routers/{{id2}}", "of here", SYSTEM,
        lambda w, p, body=body: (f"networks/{w.network('here')}/network_routers/any", body))
row(f"POST {V}dns_name_filters", "any", SYSTEM, lambda w, p: ("dns_name_filters", w.filter_fields()))
FILTERED = {"PUT": {"service": "other"}, "PATCH": [{"op": "replace", "path": "/service", "value": "other"}],
            "DELETE": None}
for method, body in FILTERED.items():
    row(f"{method} {V}dns_name_filters/{{id}}", "any", SYSTEM,
        lambda w, p, body=body: (f"dns_name_filters/{w.filter()}", body))
# The interface maps are data of a role in system.
row(f"POST {V}interfaces", "any", SYSTEM,
    lambda w, p: ("interfaces", {"pattern": w.fresh("p"), "bus_order": "a"}))
row(f"PUT {V}interfaces/{{id}}", "any", SYSTEM, lambda w, p: (f"interfaces/{w.map()}", {"bus_order": "b"}))
row(f"DELETE {V}interfaces/{{id}}", "any", SYSTEM, lambda w, p: (f"interfaces/{w.map()}", None))

# -- addresses: the next free one needs the node, a chosen one the network too ------------------------
ALLOCATE = (f"POST {V}network_allocations", f"POST {V}networks/{{id}}/ip",
            f"POST {V}networks/{{id}}/allocate_ip")
FREE = (f"DELETE {V}networks/{{id}}/ip", f"DELETE {V}networks/{{id}}/deallocate_ip")


def allocate(operation, world, node, network, **more):
    """The request for an address by that operation."""
    name = world.network(network)
    if "allocations" in operation:
        return "network_allocations", {"node": world.node(node), "network": name, **more}
    return f"networks/{name}/{operation.split('/')[-1]}", {"node": world.node(node), **more}


def chosen(operation, world, node, network):
    path, body = allocate(operation, world, node, network)
    name = path.split("/")[1] if "/" in path else body["network"]
    first = made(world.me.get(f"networks/{name}/network_ranges/host"))["first"]
    return path, {**body, "address": first.split("/")[0]}


for operation in ALLOCATE:
    in_both(operation, lambda w, where, operation=operation: allocate(operation, w, where, "elsewhere"))
    row(operation, "a chosen address, all here", HERE,
        lambda w, p, operation=operation: chosen(operation, w, "here", "here"))
    row(operation, "a chosen address of elsewhere", BOTH,
        lambda w, p, operation=operation: chosen(operation, w, "here", "elsewhere"))
    row(operation, "a chosen address of system", SYSTEM,
        lambda w, p, operation=operation: chosen(operation, w, "here", "system"))
in_both(f"DELETE {V}network_allocations/{{id}}",
        lambda w, where: (f"network_allocations/{w.allocation(where)['id']}", None))
for operation in FREE:
    in_both(operation, lambda w, where, operation=operation: (
        "networks/{network_id}/{verb}?node={node_id}".format(verb=operation.split("/")[-1],
                                                            **w.allocation(where)), None))

# -- nodes -----------------------------------------------------------------------------------------
row(f"POST {V}nics/move", "a MAC of elsewhere", SYSTEM,
    lambda w, p: ("nics/move", {"node": w.node("here"), "mac": w.mac("elsewhere")}))
row(f"POST {V}nodes", "with address and MAC", SYSTEM,
    lambda w, p: ("nodes", {"name": w.fresh("n") + ".example.com", "mac": w.fresh_mac()}))
row(f"POST {V}nodes", "in system", SYSTEM,
    lambda w, p: ("nodes", {"name": w.fresh("n") + ".example.com"}))
row(f"POST {V}nodes", "in here", SYSTEM,
    lambda w, p: ("nodes", {"name": w.fresh("n") + ".example.com", "deployment": "here"}))
row(f"POST {V}nodes", "several", SYSTEM,
    lambda w, p: ("nodes", [{"name": w.fresh("n") + ".example.com", "deployment": "here"}]))
for where in ("here", "elsewhere"):
    row("PUT /api/test/nodes/{id}", f"in {where}", SYSTEM,
        lambda w, p, where=where: (f"/api/test/nodes/{w.node(where)}", {}))

NODE = f"{V}nodes/{{id}}"
in_both(f"PUT {NODE}", lambda w, where: (f"nodes/{w.node(where)}", {"description": "words"}))
row(f"PUT {NODE}", "description, a noderole elsewhere", HERE,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}", {"description": "words"}))
for where in ("here", "elsewhere"):
    row(f"PUT {NODE}", f"name, in {where}", SYSTEM,
        lambda w, p, where=where: (f"nodes/{w.node(where)}", {"name": w.fresh("m") + ".example.com"}))
    row(f"PATCH {NODE}", f"name, in {where}", SYSTEM,
        lambda w, p, where=where: (f"nodes/{w.node(where)}",
                                   [{"op": "replace", "path": "/name",
                                     "value": w.fresh("m") + ".example.com"}]))
row(f"PUT {NODE}", "moved from here to elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.node('here')}", {"deployment": "elsewhere"}))
row(f"PUT {NODE}", "moved from elsewhere to here", BOTH,
    lambda w, p: (f"nodes/{w.node('elsewhere')}", {"deployment": "here"}))
row(f"PUT {NODE}", "moved from system to here", SYSTEM,
    lambda w, p: (f"nodes/{w.node('system')}", {"deployment": "here"}))
row(f"PUT {NODE}", "moved from here to system", SYSTEM,
    lambda w, p: (f"nodes/{w.node('here')}", {"deployment": "system"}))
for fields in ({"alive": True}, {"available": True}, {"bootenv": "local"},
               {"target_role": "found"}, {"boot_id": "b-2"}):
    key = next(iter(fields))
    in_both(f"PUT {NODE}", lambda w, where, fields=fields: (f"nodes/{w.mixed(where, where)}", fields))
    row(f"PUT {NODE}", f"{key}, a noderole elsewhere", BOTH,
        lambda w, p, fields=fields: (f"nodes/{w.mixed('here', 'elsewhere')}", fields))
    row(f"PUT {NODE}", f"{key}, a noderole in system", HERE,
        lambda w, p, fields=fields: (f"nodes/{w.mixed('here', 'system')}", fields))
in_both(f"PATCH {NODE}", lambda w, where: (f"nodes/{w.node(where)}",
                                           [{"op": "add", "path": "/description", "value": "w"}]))
row(f"PATCH {NODE}", "alive, a noderole elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}",
                  [{"op": "replace", "path": "/alive", "value": True}]))
row(f"PUT {NODE}", "what a machine reports of itself", HERE | {"node"},
    lambda w, p: (f"nodes/{MACHINE}", {"boot_id": w.fresh("boot-"), "environment": "local"}))
row(f"PUT {NODE}", "what a machine does not report", HERE,
    lambda w, p: (f"nodes/{MACHINE}", {"description": w.fresh("words ")}))

in_both(f"DELETE {NODE}", lambda w, where: (f"nodes/{w.node(where)}", None))
row(f"DELETE {NODE}", "a noderole elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}", None))
row(f"DELETE {NODE}", "a noderole in system", SYSTEM,
    lambda w, p: (f"nodes/{w.mixed('here', 'system')}", None))

in_both(f"PUT {NODE}/commit", lambda w, where: (f"nodes/{w.mixed(where, where)}/commit", None))
row(f"PUT {NODE}/commit", "a proposed noderole elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}/commit", None))
in_both(f"PUT {NODE}/propose", lambda w, where: (f"nodes/{w.committed(where)}/propose", None))
row(f"PUT {NODE}/propose", "a committed noderole elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.committed('here', 'elsewhere')}/propose", None))
row(f"PUT {NODE}/propose", "a proposed noderole elsewhere", HERE,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}/propose", None))
for verb in ("redeploy", "debug", "undebug"):
    in_both(f"PUT {NODE}/{verb}",
            lambda w, where, verb=verb: (f"nodes/{w.committed(where)}/{verb}", None))
    row(f"PUT {NODE}/{verb}", "a noderole elsewhere", BOTH,
        lambda w, p, verb=verb: (f"nodes/{w.committed('here', 'elsewhere')}/{verb}", None))
    row(f"PUT {NODE}/{verb}", "a noderole in system", HERE,
        lambda w, p, verb=verb: (f"nodes/{w.committed('here', 'system')}/{verb}", None))
for where in ("here", "elsewhere"):
    row(f"PUT {NODE}/forget_key", f"node in {where}", SYSTEM,
        lambda w, p, where=where: (f"nodes/{w.node(where)}/forget_key", None))
POWER = (200, 202, 409, 501)
in_both(f"PUT {NODE}/power",
        lambda w, where: (f"nodes/{w.node(where)}/power", {"poweraction": "reboot"}), POWER)
row(f"PUT {NODE}/power", "a noderole elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.mixed('here', 'elsewhere')}/power", {"poweraction": "reboot"}), POWER)
row(f"PUT {NODE}/power", "a noderole in system", HERE,
    lambda w, p: (f"nodes/{w.mixed('here', 'system')}/power", {"poweraction": "reboot"}), POWER)


def with_token(world, deployment, other):
    """The path of the token of a node that has one."""
    path = f"nodes/{world.mixed(deployment, other)}/token"
    answer = world.me.post(path, {"name": "old"})
    assert answer.status == 200, answer
    return path


for method, body in (("POST", {"name": "own"}), ("DELETE", None)):
    in_both(f"{method} {NODE}/token",
            lambda w, where, body=body: (with_token(w, where, where), body))
    row(f"{method} {NODE}/token", "a noderole elsewhere", BOTH,
        lambda w, p, body=body: (with_token(w, "here", "elsewhere"), body))
    row(f"{method} {NODE}/token", "a noderole in system", HERE,
        lambda w, p, body=body: (with_token(w, "here", "system"), body))


def node_attrib(world, where, other=None):
    """The path of an attrib of a role that is bound to the node."""
    node = world.node(where)
    world.noderole(other or where, node=node, role="base")
    return f"nodes/{node}/attribs/attack-size"


for method, body in (("PUT", {"value": 5}), ("PATCH", [{"op": "replace", "path": "/value", "value": 6}])):
    operation = f"{method} {NODE}/attribs/{{id2}}"
    in_both(operation, lambda w, where, body=body: (node_attrib(w, where), body))
    # A PATCH is a change of the noderole that holds the value, and of nothing else.
    row(operation, "stored in a noderole elsewhere", BOTH if method == "PUT" else ELSEWHERE,
        lambda w, p, body=body: (node_attrib(w, "here", "elsewhere"), body))

# -- noderoles ------------------------------------------------------------------------------------
in_both(f"POST {V}node_roles", lambda w, where: ("node_roles", {"node": w.node(where), "role": "top",
                                                                "deployment": where}))
row(f"POST {V}node_roles", "own node, deployment elsewhere", BOTH,
    lambda w, p: ("node_roles", {"node": w.node("here"), "role": "lone", "deployment": "elsewhere"}))
row(f"POST {V}node_roles", "foreign node, deployment here", BOTH,
    lambda w, p: ("node_roles", {"node": w.node("elsewhere"), "role": "lone", "deployment": "here"}))


def on_phantom(world, where):
    """The phantom node of a deployment is the machine of the daemon."""
    name = world.deployment(where)
    return "node_roles", {"node": f"{name}-phantom.internal.local", "role": "lone", "deployment": name}


for where in ("here", "elsewhere"):
    row(f"POST {V}node_roles", f"phantom node below {where}, a role that is no service", SYSTEM,
        lambda w, p, where=where: on_phantom(w, where))
row(f"POST {V}node_roles", "several, one of them foreign", BOTH,
    lambda w, p: ("node_roles", [
        {"node": w.node("here"), "role": "lone", "deployment": "here"},
        {"node": w.node("elsewhere"), "role": "lone", "deployment": "elsewhere"}]))
NODEROLE = f"{V}node_roles/{{id}}"
in_both(f"PUT {NODEROLE}", lambda w, where: (f"node_roles/{w.noderole(where)}", {"data": {"a": 1}}))
row(f"PUT {NODEROLE}", "of here, on a node elsewhere", HERE,
    lambda w, p: (f"node_roles/{w.noderole('here', node=w.node('elsewhere'))}", {"data": {"a": 1}}))
row(f"PUT {NODEROLE}", "of elsewhere, on a node here", ELSEWHERE,
    lambda w, p: (f"node_roles/{w.noderole('elsewhere', node=w.node('here'))}", {"data": {"a": 1}}))
in_both(f"PATCH {NODEROLE}", lambda w, where: (f"node_roles/{w.noderole(where)}",
                                               [{"op": "add", "path": "/data", "value": {"a": 2}}]))
in_both(f"DELETE {NODEROLE}", lambda w, where: (f"node_roles/{w.noderole(where)}", None))
in_both(f"PUT {NODEROLE}/commit", lambda w, where: (f"node_roles/{w.noderole(where)}/commit", None))
in_both(f"PUT {NODEROLE}/propose", lambda w, where: (f"node_roles/{w.noderole(where)}/propose", None))
in_both(f"PUT {NODEROLE}/retry", lambda w, where: (f"node_roles/{w.noderole(where)}/retry", None),
        statuses=(200, 409))
in_both(f"PUT {NODEROLE}/attribs/{{id2}}",
        lambda w, where: (f"node_roles/{w.noderole(where, role='base')}/attribs/attack-size",
                          {"value": 5}))
in_both(f"PATCH {NODEROLE}/attribs/{{id2}}",
        lambda w, where: (f"node_roles/{w.noderole(where, role='base')}/attribs/attack-size",
                          [{"op": "replace", "path": "/value", "value": 6}]))

# -- below their owner: the rights are those of the object -----------------------------------------


def on_node(world, where):
    """The path of a noderole by node and role."""
    node = world.node(where)
    world.noderole(where, node=node, role="lone")
    return f"nodes/{node}/node_roles/lone"


def hammer_on_node(world, where):
    node = world.node(where)
    return f"nodes/{node}/hammers/{world.hammer(where, node=node)}"


in_both(f"PUT {NODE}/node_roles/{{id2}}", lambda w, where: (on_node(w, where), {"data": {"a": 1}}))
in_both(f"POST {NODE}/node_roles",
        lambda w, where: (f"nodes/{w.node(where)}/node_roles", {"role": "top", "deployment": where}))
row(f"POST {NODE}/node_roles", "own node, deployment elsewhere", BOTH,
    lambda w, p: (f"nodes/{w.node('here')}/node_roles", {"role": "lone", "deployment": "elsewhere"}))
for where in ("here", "elsewhere"):
    row(f"PUT {NODE}/hammers/{{id2}}", f"node in {where}", SYSTEM,
        lambda w, p, where=where: (hammer_on_node(w, where), {"priority": 3}))
    row(f"POST {NODE}/hammers", f"node in {where}", SYSTEM,
        lambda w, p, where=where: (f"nodes/{w.node(where)}/hammers",
                                   {"username": "root", "available_hammer": "redfish",
                                    "authenticator": "secret", "endpoint": "https://127.0.0.1:1"}))
    row(f"POST {V}deployments/{{id}}/nodes", f"in {where}", SYSTEM,
        lambda w, p, where=where: (f"deployments/{where}/nodes",
                                   {"name": w.fresh("n") + ".example.com"}))
in_both(f"PUT {V}deployments/{{id}}/nodes/{{id2}}",
        lambda w, where: (f"deployments/{where}/nodes/{w.node(where)}", {"description": "words"}))
in_both(f"PUT {V}deployments/{{id}}/node_roles/{{id2}}",
        lambda w, where: (f"deployments/{where}/node_roles/{w.noderole(where)}", {"data": {"a": 1}}))
in_both(f"POST {V}deployments/{{id}}/node_roles",
        lambda w, where: (f"deployments/{where}/node_roles", {"node": w.node(where), "role": "top"}))


def with_role(world, where):
    """The path of a deployment role in a new deployment."""
    name = world.deployment(where)
    made(world.me.post(f"deployments/{name}/deployment_roles", {"role": "base"}))
    return f"deployments/{name}/deployment_roles/base"


in_both(f"PUT {V}deployments/{{id}}/deployment_roles/{{id2}}",
        lambda w, where: (with_role(w, where), {"data": {"a": 1}}))
in_both(f"POST {V}deployments/{{id}}/deployment_roles",
        lambda w, where: (f"deployments/{w.deployment(where)}/deployment_roles", {"role": "base"}))

# -- runs ------------------------------------------------------------------------------------------
in_both(f"PUT {V}runs/{{id}}/cancel", lambda w, where: (f"runs/{w.run(where)}/cancel", None))

# -- what does not exist needs the level everywhere --------------------------------------------------
for operation, path in (
    (f"PUT {NODE}/commit", f"nodes/{NOWHERE}/commit"),
    (f"DELETE {NODE}", f"nodes/{NOWHERE}"),
    (f"DELETE {V}deployments/{{id}}", f"deployments/{NOWHERE}"),
    (f"DELETE {NODEROLE}", f"node_roles/{NOWHERE}"),
    (f"PUT {V}runs/{{id}}/cancel", f"runs/{NOWHERE}/cancel"),
    (f"DELETE {V}hammers/{{id}}", f"hammers/{NOWHERE}"),
):
    row(operation, "not there", READ - {"node"}, lambda w, p, path=path: (path, None), statuses=(403, 404))
