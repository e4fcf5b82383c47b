"""Goal: what a user, token or node may do ends at the deployments it was given (ADR 0051).

Method: two deployments with a node each; the node of one carries a noderole of the other. Viewers, operators
here, elsewhere, in both and in system, restricted tokens and the token of a node send the same commands; the
answer must be 403 `forbidden` naming a deployment, or the change."""
from contextlib import contextmanager

from daemon import Client
from test_people import as_user, bearer, forbidden, make

NODE = "nodes/rights-lab.example.com"


class Site:
    def __init__(self, daemon):
        self.daemon = daemon
        self.me = daemon.client()
        for name, more in (("rights-size", {"role": "goal"}), ("rights-address", {})):
            made = self.me.post("attribs", {"name": name, "map": name, "writable": True, **more})
            assert made.status == 200, made
        self.ids = {}
        for name in ("lab", "prod"):
            made = self.me.post("deployments", {"name": "rights-" + name})
            assert made.status == 200, made
            self.ids[name] = str(made.json()["id"])
            made = self.me.post("nodes", {"name": f"rights-{name}.example.com", "deployment": "rights-" + name,
                                          "available": True})
            assert made.status == 200, made
            assert self.me.put(f"deployments/rights-{name}/commit").status == 200
        for name, role in (("lab", "base"), ("prod", "goal")):
            made = self.me.post("node_roles", {"node": "rights-lab.example.com", "role": role,
                                               "deployment": "rights-" + name})
            assert made.status == 200, made
            self.ids["noderole-" + name] = str(made.json()["id"])
        for user, places in (("viewer", ()), ("lab", ("lab",)), ("prod", ("prod",)), ("both", ("lab", "prod"))):
            make(self.me, "rights-" + user, access="viewer",
                 grants={self.ids[place]: "operator" for place in places})
        make(self.me, "rights-system", access="viewer", grants={"1": "operator"})

    def user(self, name):
        return as_user(self.daemon, "rights-" + name)

    def state(self, which):
        return self.me.get("node_roles/" + self.ids["noderole-" + which]).json()["state"]

    def close(self):
        for name in ("viewer", "lab", "prod", "both", "system"):
            assert self.me.delete("users/rights-" + name).status == 200
        for name in ("lab", "prod"):
            self.me.delete(f"nodes/rights-{name}.example.com")
        for name in ("lab", "prod"):
            assert self.me.delete("deployments/rights-" + name).status == 200
        for name in ("rights-size", "rights-address"):
            assert self.me.delete("attribs/" + name).status == 200


@contextmanager
def opened(daemon):
    site = Site(daemon)
    yield site
    site.close()


def refused(answer, place):
    forbidden(answer)
    body = answer.json()
    assert body["field"].endswith("deployment") and place in body["message"], body


def test_verbs_of_a_node_reach_only_deployments_of_the_caller(daemon):
    with opened(daemon) as site:
        lab, prod, both = site.user("lab"), site.user("prod"), site.user("both")
        refused(lab.put(NODE + "/commit"), "rights-prod")
        refused(prod.put(NODE + "/commit"), "rights-lab")
        before = site.state("prod")
        assert both.put(NODE + "/commit").status == 200
        assert site.state("prod") != before
        refused(lab.put(NODE + "/propose"), "rights-prod")
        refused(lab.delete(NODE), "rights-prod")
        assert site.me.get(NODE).status == 200
        for body in ({"alive": True}, {"available": False}, {"bootenv": "local"}):
            refused(lab.put(NODE, body), "rights-prod")
            refused(site.user("viewer").put(NODE, body), "rights-lab")
        refused(lab.put(NODE + "/redeploy"), "rights-prod")
        refused(lab.post(NODE + "/token", {}), "rights-prod")
        assert lab.put(NODE, {"description": "ours", "available": True}).status == 200  # as it is
        assert both.put(NODE + "/propose").status == 200


def test_noderoles_are_changed_by_operators_of_their_deployment(daemon):
    with opened(daemon) as site:
        lab, prod = site.user("lab"), site.user("prod")
        mine, theirs = ("node_roles/" + site.ids["noderole-" + name] for name in ("lab", "prod"))
        refused(lab.put(theirs + "/commit"), "rights-prod")
        refused(lab.delete(theirs), "rights-prod")
        refused(lab.put(NODE + "/attribs/rights-size", {"value": 3}), "rights-prod")
        assert prod.put(theirs + "/attribs/rights-size", {"value": 3}).status == 200
        assert prod.put(theirs + "/commit").status == 200
        assert lab.put(mine + "/commit").status == 200


def test_only_operators_of_system_change_name_and_address_of_a_node(daemon):
    with opened(daemon) as site:
        lab, system = site.user("lab"), site.user("system")
        refused(lab.post("nodes", {"name": "alias.example.com", "deployment": "rights-lab"}), "system")
        assert site.me.get("nodes/alias.example.com").status == 404
        for client, place in ((lab, "system"), (site.user("viewer"), "")):
            refused(client.put(NODE, {"name": "alias.example.com"}), place)
            refused(client.put(NODE + "/attribs/rights-address", {"value": "192.0.2.1"}), place)
        hammer = site.me.get(NODE + "/hammers").json()
        assert len(hammer) == 1, hammer
        refused(lab.put(f"hammers/{hammer[0]['id']}", {"endpoint": "192.0.2.1"}), "system")
        many = [{"name": "alias.example.com", "deployment": "rights-lab"}]
        refused(lab.post("nodes", many), "system")
        assert system.put(NODE + "/attribs/rights-address", {"value": "192.0.2.1"}).status == 200
        assert system.put(NODE, {"name": "rights-other.example.com"}).status == 200
        assert system.put("nodes/rights-other.example.com", {"name": "rights-lab.example.com"}).status == 200
        # moved into the deployment of another operator, by a user with that right
        assert system.post("nodes", {"name": "rights-given.example.com"}).status == 200
        refused(lab.put("nodes/rights-given.example.com", {"deployment": "rights-lab"}), "system")
        assert system.put("nodes/rights-given.example.com", {"deployment": "rights-lab"}).status == 200
        assert lab.put("nodes/rights-given.example.com", {"description": "ours"}).status == 200
        assert lab.delete("nodes/rights-given.example.com").status == 200


def test_restricted_tokens_and_bulk_requests_have_the_same_limits(daemon):
    with opened(daemon) as site:
        scoped = bearer(site.daemon, site.me, deployment="rights-lab")
        viewer = bearer(site.daemon, site.me, access="viewer")
        refused(scoped.put(NODE + "/commit"), "rights-prod")
        refused(viewer.put(NODE + "/commit"), "rights-lab")
        refused(scoped.put(NODE, {"name": "alias.example.com"}), "system")
        node = Client(daemon.url, "Bearer " + site.me.post(NODE + "/token", {}).json()["token"])
        forbidden(node.put(NODE + "/commit"))
        forbidden(node.put(NODE, {"name": "alias.example.com"}))
        forbidden(node.put("nodes/rights-prod.example.com", {"alive": True}))
        lab = site.user("lab")
        many = [{"node": "rights-lab.example.com", "role": "middle", "deployment": "rights-" + name}
                for name in ("lab", "prod")]
        refused(lab.post("node_roles", many), "rights-prod")
        assert len(site.me.get(NODE + "/node_roles").json()) == 2
