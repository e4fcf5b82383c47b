"""What the numbered cases of the specification start from: its users, and an admin node at work.

Those it names: user crowbar and user developer, both let in by digest; the node ADMIN, alive and
available, with everything that binds itself to the first admin node done, and the server that test
roles require; the network `admin` with its ranges and its router. Tests that break something do it
in a deployment of their own, so that the system deployment stays in order.
"""
from daemon import eventually

ADMIN = "admin.bddtesting.com"
USERS = {"crowbar": "crowbar", "developer": "Cr0wbar!"}
ACTIVE = 0
NETWORK = {
    "name": "admin", "category": "admin", "group": "internal", "conduit": "1g0", "v6prefix": "auto",
    "ranges": [{"name": "admin", "first": "192.168.124.10/24", "last": "192.168.124.11/24"},
               {"name": "dhcp", "first": "192.168.124.21/24", "last": "192.168.124.80/24"},
               {"name": "host", "first": "192.168.124.81/24", "last": "192.168.124.254/24"}],
    "router": {"address": "192.168.124.10/24", "pref": 10},
}


def made(answer):
    assert answer.status == 200, answer
    return answer.json()


def prepare(daemon):
    me = daemon.client()
    for username, password in USERS.items():
        fields = {"username": username, "password": password, "is_admin": True, "digest": True}
        made(me.post("users", fields))
    made(me.post("networks", NETWORK))
    fields = {"name": ADMIN, "admin": True, "bootenv": "local", "ip": "192.168.124.10/24"}
    made(me.post("nodes", fields))
    made(me.post("node_roles", {"node": ADMIN, "role": "test-server"}))
    made(me.put("nodes/admin/commit"))
    made(me.put("nodes/admin", {"alive": True}))

    def done():
        return all(n["state"] == ACTIVE for n in me.get("nodes/admin/node_roles").json())

    eventually(done, "the admin node is at work")
