"""The installation in which rights are tried: principals, and objects in three deployments.

`here` and `elsewhere` lie side by side below `system`. Each principal is named in PRINCIPALS; the
table of rights_table.py says which of them may do what.
"""
from daemon import Client, basic, eventually
from installation import made

PASSWORD = "a long secret"
MACHINE = "machine.here.example.com"

# NAME: who that is.
PRINCIPALS = {
    "anonymous": "no credentials",
    "locked": "the token of a user who is locked",
    "viewer": "a user who may read",
    "here": "a viewer with a grant: operator in `here`",
    "elsewhere": "a viewer with a grant: operator in `elsewhere`",
    "system": "a viewer with a grant: operator in `system`",
    "operator": "operator everywhere",
    "admin": "admin",
    "node": "the token of the node MACHINE, which is in `here`",
    "level_viewer": "an admin's token of level viewer",
    "level": "an admin's token of level operator",
    "place": "an admin's token for the deployment `here`",
}
UNAUTHENTICATED = ("anonymous", "locked")

# Lists that together hold everything a request could change.
DUMPED = (
    "nodes?view=full", "deployments?view=full", "node_roles?view=full", "hammers?view=full",
    "deployment_roles?view=full", "groups?view=full", "users?view=full", "tokens?all=true",
    "snapshots?view=full", "roles?view=full", "jigs?view=full", "attribs?view=full",
    "barclamps?view=full", "runs", "networks", "network_ranges", "network_routers",
    "network_allocations", "leases", "nics", "dns_name_filters", "dns_name_entries",
)


class World:
    def __init__(self, daemon):
        self.daemon = daemon
        self.me = daemon.client()
        self.count = 0
        self.ids = {"system": 1}
        for name in ("here", "elsewhere"):
            self.ids[name] = made(self.me.post("deployments", {"name": name}))["id"]
        self.clients = {"anonymous": daemon.stranger()}
        self.users = {}
        for name, rights in (
            ("locked", {"access": "operator"}),
            ("viewer", {"access": "viewer"}),
            ("here", self._granted("here")),
            ("elsewhere", self._granted("elsewhere")),
            ("system", self._granted("system")),
            ("operator", {"access": "operator"}),
            ("admin", {"is_admin": True}),
            ("other", {"access": "viewer"}),
        ):
            self._user("p-" + name, rights)
            self.users[name] = "p-" + name
            self.clients[name] = self.bearer("p-" + name)
        for name, rights in (
            ("level_viewer", {"access": "viewer"}),
            ("level", {"access": "operator"}),
            ("place", {"deployment": "here"}),
        ):
            self.users[name] = "p-admin"
            self.clients[name] = self.bearer("p-admin", **rights)
        made(self.me.post("users/p-locked/lock"))
        self.node("here", name=MACHINE)
        token = made(self.me.post(f"nodes/{MACHINE}/token", {"name": "own"}))["token"]
        self.clients["node"] = Client(daemon.url, "Bearer " + token)
        made(self.me.post("deployments/system/roles", {"role": "maps"}))
        made(self.me.post("interfaces", {"pattern": "read", "bus_order": "a"}))
        # Reads need one of each, and they are not changed by anything.
        self.read = {
            "noderole": self.noderole("elsewhere"),
            "machine_noderole": self.noderole("here", node=MACHINE),
            "deployment_role": self.deployment_role("elsewhere"),
            "hammer": self.hammer("elsewhere"),
            "group": self.group(),
            "run": self.run("elsewhere"),
            "network": self.network("elsewhere"),
            "allocation": self.allocation("elsewhere")["id"],
            "filter": self.filter(),
        }

    def _granted(self, deployment):
        return {"access": "viewer", "grants": {str(self.ids[deployment]): "operator"}}

    def _user(self, name, rights):
        return made(self.me.post("users", {"username": name, "password": PASSWORD, **rights}))

    def bearer(self, user, **rights):
        client = Client(self.daemon.url, basic(user, PASSWORD))
        token = made(client.post("tokens", {"name": "rights", **rights}))["token"]
        return Client(self.daemon.url, "Bearer " + token)

    def fresh(self, prefix="x"):
        self.count += 1
        return f"{prefix}{self.count}"

    def dump(self):
        """Everything there is, to be compared with itself."""
        found = {}
        for path in DUMPED:
            answer = self.me.get(path)
            assert answer.status == 200, (path, answer)
            found[path] = answer.text
        return found

    # ---- objects; those that take a deployment are made for each request anew ----

    def node(self, deployment, name=None, **more):
        name = name or self.fresh("n") + ".example.com"
        made(self.me.post("nodes", {"name": name, **more}))
        if deployment != "system":
            made(self.me.put(f"nodes/{name}", {"deployment": deployment}))
        return name

    def noderole(self, deployment, node=None, role="lone", data=None):
        """Its id; it is proposed."""
        fields = {"node": node or self.node(deployment), "role": role, "deployment": deployment}
        if data:
            fields["data"] = data
        return made(self.me.post("node_roles", fields))["id"]

    def mixed(self, deployment, other):
        """A node of one deployment with proposed noderoles in it and in another; its name."""
        name = self.node(deployment)
        self.noderole(deployment, node=name, role="found")
        self.noderole(other, node=name, role="lone")
        return name

    def committed(self, deployment, other=None):
        """The same with noderoles that are committed; without `other` in one deployment only."""
        name = self.mixed(deployment, other or deployment)
        made(self.me.put(f"nodes/{name}/commit"))
        return name

    def deployment(self, parent):
        return made(self.me.post("deployments", {"name": self.fresh("d"), "parent": parent}))["name"]

    def deployment_role(self, deployment):
        """Of a new deployment below that one: each has a role once."""
        fields = {"role": "base", "deployment": self.deployment(deployment)}
        return made(self.me.post("deployment_roles", fields))["id"]

    def head(self, deployment):
        """The id of the head of a new deployment below that one."""
        return made(self.me.get(f"deployments/{self.deployment(deployment)}/head"))["id"]

    def group(self):
        return made(self.me.post("groups", {"name": self.fresh("g"), "category": "tag"}))["id"]

    def hammer(self, deployment, node=None):
        """The id of the hammer that a new node has."""
        return made(self.me.get(f"nodes/{node or self.node(deployment)}/hammers"))[0]["id"]

    def attrib(self):
        fields = {"name": self.fresh("attrib-"), "map": "attack/other", "role": "base"}
        return made(self.me.post("attribs", fields))["name"]

    def subnet(self):
        """The first three numbers of addresses that no range has."""
        self.count += 1
        return f"10.{self.count >> 8}.{self.count & 255}."

    def network(self, deployment, has_router=True):
        """The name of a network of that deployment, with a range host."""
        low = self.subnet()
        fields = {"name": self.fresh("net"), "conduit": "1g0", "deployment": deployment,
                  "ranges": [{"name": "host", "first": low + "1/24", "last": low + "99/24"}]}
        if has_router:
            fields["router"] = {"address": low + "100/24"}
        return made(self.me.post("networks", fields))["name"]

    def allocation(self, deployment):
        """An address of a new node there, in a network of its own."""
        fields = {"node": self.node(deployment), "network": self.network(deployment),
                  "network_range": "host"}
        return made(self.me.post("network_allocations", fields))

    def filter_fields(self):
        name = self.fresh("f")
        return {"name": name, "matcher": 'net.name == "none"', "priority": 1000 + self.count,
                "service": "system", "template": "{{node.name}}"}

    def filter(self):
        return made(self.me.post("dns_name_filters", self.filter_fields()))["name"]

    def map(self):
        """The pattern of an interface map."""
        pattern = self.fresh("p")
        made(self.me.post("interfaces", {"pattern": pattern, "bus_order": "a"}))
        return pattern

    def fresh_mac(self):
        self.count += 1
        return f"52:54:00:{self.count >> 16:02x}:{self.count >> 8 & 255:02x}:{self.count & 255:02x}"

    def mac(self, deployment):
        """The MAC of a new node there."""
        mac = self.fresh_mac()
        self.node(deployment, mac=mac)
        return mac

    def user(self):
        return self._user(self.fresh("u"), {"access": "viewer"})["username"]

    def token(self, principal):
        """The id of a further token of the user behind a principal; 999999999 for no user."""
        if principal not in self.users or principal == "locked":
            return 999999999
        client = Client(self.daemon.url, basic(self.users[principal], PASSWORD))
        return made(client.post("tokens", {"name": self.fresh("t")}))["id"]

    def run(self, deployment):
        """The id of a run that goes on for ten minutes, in a new deployment below that one."""
        below = self.deployment(deployment)
        name = self.node(below, alive=True, available=True)
        noderole = self.noderole(below, node=name, data={"delay": 600000})
        made(self.me.put(f"deployments/{below}/commit"))

        def running():
            return [r for r in self.me.get("runs").json() if r["node_role_id"] == noderole]

        return eventually(running, "a run is open")[0]["id"]
