"""Clients of 2015 do what they did then: one test for each flow that is documented."""
import os

from daemon import SHIPPED, Daemon, another_store, eventually
from fixture import ADMIN, USERS
from opencrowbar import Answer, Console, Daily, Machine

ERROR, ACTIVE, TODO, TRANSITION, BLOCKED, PROPOSED = -1, 0, 1, 2, 3, 4
INSTALL = ("machine-install", "a-machine-key")


def console(daemon, user="crowbar", password=None, **more):
    return Console(daemon.url, user, password or USERS[user], **more)


def daily(daemon, user="crowbar", password=None):
    return Daily(daemon.url, user, password or USERS[user])


def machine(daemon):
    """The key of all machines is that of a user; an admin makes him, over digest, once."""
    if daily(daemon).ask("GET", f"/api/v2/users/{INSTALL[0]}").status == 404:
        name, password = INSTALL
        made = daily(daemon).ask(
            "POST", "/api/v2/users", {"username": name, "password": password, "digest": True}
        )
        assert made.status == 200, made
    return Machine(daemon.url, *INSTALL)


def good(answer):
    assert isinstance(answer, Answer) and answer.status == 200, answer
    return answer.json()


def becomes(look, **fields):
    """Looks until these fields are so."""

    def seen():
        thing = look()
        return thing if all(thing[k] == v for k, v in fields.items()) else None

    return eventually(seen, f"it becomes {fields}")


# ---- a machine boots ----


def start_up(box, name, mac, ip):
    """What the discovery image does, in its order. True if the machine was not known."""
    created = False
    if box.status(f"nodes/{name}") == 404:
        node = good(box.ask("POST", "nodes/", name=name, mac=mac, ip=ip))
        assert node["name"] == name and not node["alive"] and not node["available"], node
        created = True
    if box.status(f"nodes/{name}/node_roles/crowbar-managed-node") == 404:
        bound = good(box.ask("POST", "node_roles/", node=name, role="crowbar-managed-node"))
        assert bound["state"] == PROPOSED, bound
        assert good(box.ask("PUT", f"nodes/{name}/commit"))["available"] is True
    node = good(box.ask("PUT", f"nodes/{name}", alive="false", bootenv="sledgehammer"))
    assert node["alive"] is False and node["bootenv"] == "sledgehammer", node
    return created


def control(box, name):
    assert good(box.ask("PUT", f"nodes/{name}", alive="true"))["alive"] is True


def managed(box, name):
    return good(box.ask("GET", f"nodes/{name}/node_roles/crowbar-managed-node"))


def test_a_machine_registers_itself_and_is_managed(fixture):
    box = machine(fixture)
    name, mac = "d52-54-00-12-34-56.bddtesting.com", "52:54:00:12:34:56"
    assert start_up(box, name, mac, "192.168.124.81/24") is True
    waits = managed(box, name)
    assert waits["state"] in (TODO, BLOCKED) and waits["run_count"] == 0, waits
    control(box, name)
    becomes(lambda: managed(box, name), state=ACTIVE)
    roles = good(box.ask("GET", f"nodes/{name}/roles"))
    assert "crowbar-managed-node" in [role["name"] for role in roles]


def test_a_machine_that_boots_again_is_recognized(fixture):
    box = machine(fixture)
    name, mac = "d52-54-00-12-34-57.bddtesting.com", "52:54:00:12:34:57"
    assert start_up(box, name, mac, "192.168.124.82/24") is True
    control(box, name)
    first = becomes(lambda: managed(box, name), state=ACTIVE)
    assert start_up(box, name, mac, "192.168.124.82/24") is False
    assert managed(box, name)["state"] in (TODO, BLOCKED)
    control(box, name)
    again = becomes(lambda: managed(box, name), state=ACTIVE)
    assert again["id"] == first["id"] and again["run_count"] == first["run_count"] + 1


def test_two_network_cards_of_a_machine_register_at_once(fixture):
    """Each has seen 404; the second one must not stop because the first one was faster."""
    box = machine(fixture)
    name, mac = "d52-54-00-12-34-58.bddtesting.com", "52:54:00:12:34:58"
    first = good(box.ask("POST", "nodes/", name=name, mac=mac, ip="192.168.124.83/24"))
    second = good(box.ask("POST", "nodes/", name=name, mac=mac, ip="192.168.124.83/24"))
    assert first["id"] == second["id"]
    bound = [good(box.ask("POST", "node_roles/", node=name, role="crowbar-managed-node"))
             for _ in range(2)]
    assert bound[0]["id"] == bound[1]["id"]
    for _ in range(2):
        good(box.ask("PUT", f"nodes/{name}/commit"))


def test_a_machine_without_an_address_registers_all_the_same(fixture):
    box = machine(fixture)
    name, mac = "d52-54-00-12-34-59.bddtesting.com", "52:54:00:12:34:59"
    good(box.ask("POST", "nodes/", name=name, mac=mac, ip=""))
    macs = good(box.ask("GET", f"nodes/{name}/attribs/hint-admin-macs"))
    assert macs["value"] == [mac], macs


def test_an_installed_machine_joins(fixture):
    """Not alive when its service stops, alive from its own disk when it starts again."""
    box = machine(fixture)
    name = "joins.bddtesting.com"
    good(box.ask("POST", "nodes/", name=name))
    good(box.ask("POST", "node_roles/", node=name, role="crowbar-joined-node"))
    good(box.ask("PUT", f"nodes/{name}/commit"))
    for _ in range(2):
        assert good(box.ask("PUT", f"nodes/{name}", alive="false"))["alive"] is False
        up = good(box.ask("PUT", f"nodes/{name}", alive="true", bootenv="local"))
        assert up["alive"] is True and up["bootenv"] == "local", up
        path = f"nodes/{name}/node_roles/crowbar-joined-node"
        becomes(lambda: good(box.ask("GET", path)), state=ACTIVE)


def test_a_wrong_key_is_refused(fixture):
    machine(fixture)
    wrong = Machine(fixture.url, INSTALL[0], "another-key")
    assert wrong.status("nodes") == 401
    assert wrong.ask("POST", "nodes/", name="stranger.bddtesting.com").status == 401
    assert machine(fixture).status("nodes/stranger.bddtesting.com") == 404


# ---- an operator at the command line ----


def test_bind_commit_alive_until_everything_is_active(fixture):
    me = console(fixture)
    home = me.create("deployments", name="ocb-home", description="by the command line")
    node = me.create("nodes", name="ocb1.bddtesting.com")
    assert node["deployment_id"] == 1 and not node["alive"]
    moved = me.update("nodes", node, deployment_id=home["id"])
    assert moved["deployment_id"] == home["id"], moved
    bound = me.bind(me.find("roles", "test-client"), node)
    assert bound["state"] == PROPOSED and bound["deployment_id"] == home["id"], bound
    delay = me.find("attribs", "test-delay")
    assert me.get_attrib("deployments", home, delay)["value"] == 0
    assert me.set_attrib("deployments", home, delay, 1)["value"] == 1
    assert me.tell("deployments", home, "commit")["state"] == 1
    assert me.tell("nodes", node, "commit")["available"] is True
    assert me.update("nodes", node, alive=True)["alive"] is True
    becomes(lambda: me.find("node_roles", bound["id"]), state=ACTIVE)
    assert becomes(lambda: me.find("deployments", "ocb-home"), state=2)["id"] == home["id"]
    assert me.get_attrib("nodes", node, delay)["value"] == 1
    names = [n["name"] for n in me.must("GET", f"deployments/{home['id']}/nodes")]
    assert "ocb1.bddtesting.com" in names
    noderoles = me.must("GET", f"nodes/{node['id']}/node_roles")
    assert {n["state"] for n in noderoles} == {ACTIVE}
    me.close()


def test_propose_and_recall(fixture):
    me = console(fixture)
    home = me.create("deployments", name="ocb-again")
    assert home["state"] == 0
    assert me.tell("deployments", home, "commit")["state"] == 2
    assert me.tell("deployments", home, "propose")["state"] == 0
    assert me.tell("deployments", home, "commit")["state"] == 2
    assert me.tell("deployments", home, "recall")["state"] == 0
    refused = me.ask("PUT", "api/v2/deployments/system/propose")
    assert refused.status == 409, refused
    assert me.destroy("deployments", home)["message"]
    assert me.ask("GET", f"api/v2/deployments/{home['id']}").status == 404
    me.close()


def test_a_failure_is_seen_and_retried(fixture):
    me = console(fixture)
    home = me.create("deployments", name="ocb-fails")
    node = me.create("nodes", name="ocb2.bddtesting.com", deployment="ocb-fails", alive=True)
    bound = me.bind(me.find("roles", "test-fails"), node)
    me.tell("deployments", home, "commit")
    me.tell("nodes", node, "commit")
    failed = becomes(lambda: me.find("node_roles", bound["id"]), state=ERROR)
    assert failed["node_error"] is True
    assert me.ask("GET", "api/v2/anneal").status == 409
    fail = me.find("attribs", "test-fail")
    assert me.set_attrib("deployments", home, fail, False)["value"] is False
    me.tell("deployments", home, "commit")
    me.tell("node_roles", bound, "retry")
    assert becomes(lambda: me.find("node_roles", bound["id"]), state=ACTIVE)["node_error"] is False
    assert me.ask("GET", "api/v2/anneal").status in (200, 202)  # the others may still be at work
    me.close()


def test_only_the_attributes_that_were_asked_for(fixture):
    me = console(fixture, attributes=["name", "alive"])
    assert me.find("nodes", "admin") == {"name": ADMIN, "alive": True}
    assert {"name": ADMIN, "alive": True} in me.list("nodes")
    me.close()


def test_old_snapshots_of_a_deployment(fixture):
    me = console(fixture)
    me.create("deployments", name="ocb-snap")
    first = me.find("snapshots", "ocb-snap")
    assert me.tell("snapshots", first, "commit")["state"] == 2
    second = me.tell("snapshots", first, "propose")
    assert second["snapshot_id"] == first["id"] and second["state"] == 0, second
    assert me.tell("snapshots", second, "commit")["state"] == 2
    assert me.tell("snapshots", second, "recall")["state"] == 0
    me.close()


# ---- power ----


def test_power(fixture):
    me = daily(fixture)
    good(me.ask("POST", "/api/v2/nodes", {"name": "ocb3.bddtesting.com", "alive": True}))
    path = "/api/v2/nodes/ocb3.bddtesting.com/power"
    assert good(me.ask("GET", path)) == ["reboot", "status"]
    funky = me.ask("PUT", path + "?poweraction=get_funky")
    assert funky.status == 501 and "reboot" in funky.json()["message"], funky
    assert good(me.ask("GET", "/api/v2/nodes/ocb3.bddtesting.com"))["alive"] is True
    done = good(me.ask("PUT", path, {"poweraction": "reboot"}, form=True))
    assert set(done) == {"id", "action", "result"} and done["action"] == "reboot", done
    assert good(me.ask("GET", "/api/v2/nodes/ocb3.bddtesting.com"))["alive"] is False
    nothing = me.ask("PUT", path)
    assert nothing.status == 400, nothing


# ---- attribs ----


def test_attribs_of_a_node(fixture):
    box = machine(fixture)
    good(box.ask("POST", "nodes/", name="ocb4.bddtesting.com"))
    path = "nodes/ocb4.bddtesting.com/attribs"
    listed = {a["name"]: a["value"] for a in good(box.ask("GET", path))}
    assert listed["stay_on"] is False and listed["os"] is None, listed
    address = good(box.ask("PUT", path + "/hint-admin-v4addr", value="192.168.124.90/24"))
    assert address["value"] == "192.168.124.90/24", address
    assert box.ask("PUT", path + "/hint-admin-v4addr", value="here").status == 409
    assert good(box.ask("GET", path + "/hint-admin-v4addr"))["value"] == "192.168.124.90/24"
    assert good(box.ask("PUT", path + "/stay_on", value="true"))["value"] is True
    assert box.ask("PUT", path + "/os", value="plan9").status == 409  # it is not writable
    noted = good(box.ask("PUT", path + "/stay_on", value="false", bucket="note"))
    assert noted["value"] is False, noted
    assert good(box.ask("GET", path + "/stay_on"))["value"] is True
    assert box.ask("PUT", path + "/stay_on", value="false", bucket="system").status == 405
    assert box.status(path + "/nothing-of-the-kind") == 404


def test_attribs_of_a_deployment_and_of_a_noderole(fixture):
    me = daily(fixture)
    base = "/api/v2/"
    good(me.ask("POST", base + "deployments", {"name": "ocb-attribs"}))
    good(me.ask("POST", base + "nodes", {"name": "ocb5.bddtesting.com",
                                         "deployment": "ocb-attribs"}))
    bound = good(me.ask("POST", base + "node_roles", {"node": "ocb5.bddtesting.com",
                                                      "role": "test-fails"}))
    on = [f"{base}deployments/ocb-attribs/attribs", f"{base}node_roles/{bound['id']}/attribs",
          f"{base}nodes/ocb5.bddtesting.com/attribs"]
    for path in on:
        listed = {a["name"]: a["value"] for a in good(me.ask("GET", path))}
        assert listed["test-fail"] is True, (path, listed)
        assert good(me.ask("GET", path + "/test-fail"))["value"] is True
    assert good(me.ask("PUT", on[0] + "/test-fail", {"value": False}))["value"] is False
    assert good(me.ask("GET", on[1] + "/test-fail"))["value"] is False
    assert good(me.ask("PUT", on[1] + "/test-fail", {"value": True}))["value"] is True
    assert good(me.ask("GET", on[2] + "/test-fail"))["value"] is True
    assert good(me.ask("GET", on[0] + "/test-fail"))["value"] is False
    patch = [{"op": "replace", "path": "/value", "value": False}]
    assert good(me.ask("PATCH", on[1] + "/test-fail", patch))["value"] is False
    # one that belongs to a role which is not there
    assert me.ask("GET", on[0] + "/test-marker").status == 404
    assert me.ask("GET", on[2] + "/test-marker").status == 404


# ---- groups ----


def test_groups(fixture):
    me = daily(fixture)
    base = "/api/v2/groups"
    good(me.ask("POST", "/api/v2/nodes", {"name": "ocb6.bddtesting.com"}))
    node = good(me.ask("GET", "/api/v2/nodes/ocb6.bddtesting.com"))
    one = good(me.ask("POST", base, {"name": "ocb_rack", "category": "rack"}, form=True))
    two = good(me.ask("POST", base, {"name": "ocb_tag", "category": "tag", "description": "d"}))
    assert one["category"] == "rack" and two["description"] == "d"
    names = [g["name"] for g in good(me.ask("GET", base))]
    assert {"ocb_rack", "ocb_tag"} <= set(names)

    def members(group):
        return [n["name"] for n in good(me.ask("GET", f"{base}/{group}/nodes"))]

    good(me.ask("POST", f"{base}/ocb_rack/nodes", {"node_id": node["id"]}, form=True))
    assert members("ocb_rack") == ["ocb6.bddtesting.com"] and members("ocb_tag") == []
    good(me.ask("DELETE", f"{base}/ocb_rack/nodes/{node['id']}"))
    good(me.ask("POST", f"{base}/{two['id']}/nodes", {"node_id": node["id"]}))
    assert members("ocb_rack") == [] and members(two["id"]) == ["ocb6.bddtesting.com"]
    assert good(me.ask("PUT", f"{base}/ocb_tag", {"description": "e"}))["description"] == "e"
    for name in ("ocb_rack", "ocb_tag"):
        gone = me.ask("DELETE", f"{base}/{name}")
        assert gone.type == "application/vnd.crowbar.group.empty+json" and good(gone)["message"]
        assert me.ask("GET", f"{base}/{name}").status == 404


# ---- users ----


def test_users_authenticate_by_digest(fixture):
    me = daily(fixture)
    base = "/api/v2/users"
    fields = {"username": "oscar", "email": "oscar@grouch.com", "password": "trash-can"}
    made = good(me.ask("POST", base, {**fields, "password_confirmation": "trash-can",
                                      "digest": "true"}, form=True))
    assert len(made) == 7 and not made["is_admin"] and not made["is_locked"], made
    told = daily(fixture, "oscar", "trash-can").ask("GET", "/api/v2/digest")
    assert told.status == 200 and "Digest success" in told.text, told
    oscar = console(fixture, "oscar", "trash-can")
    assert oscar.find("users", "oscar")["email"] == "oscar@grouch.com"
    oscar.close()
    changed = good(me.ask("PUT", f"{base}/oscar", {"email": "o@street.com"}))
    assert changed["email"] == "o@street.com", changed
    again = {"password": "new-trash", "password_confirmation": "new-trash", "digest": True}
    good(me.ask("PUT", f"{base}/oscar/reset_password", again))
    assert Machine(fixture.url, "oscar", "trash-can").status("digest") == 401
    assert Machine(fixture.url, "oscar", "new-trash").status("digest") == 200
    assert good(me.ask("POST", f"{base}/oscar/admin"))["is_admin"] is True
    assert good(me.ask("DELETE", f"{base}/oscar/admin"))["is_admin"] is False
    assert good(me.ask("POST", f"{base}/oscar/lock"))["is_locked"] is True
    assert Machine(fixture.url, "oscar", "new-trash").status("digest") == 401
    assert good(me.ask("DELETE", f"{base}/oscar/lock"))["is_locked"] is False
    assert Machine(fixture.url, "oscar", "new-trash").status("digest") == 200
    good(me.ask("DELETE", f"{base}/{made['id']}"))
    assert Machine(fixture.url, "oscar", "new-trash").status("digest") == 401


def test_a_password_of_2015_stays_one_for_digest(fixture):
    """A client of then knows no flag at a reset: who came in by digest comes in by digest."""
    me = daily(fixture)
    base = "/api/v2/users"
    good(me.ask("POST", base, {"username": "grover", "password": "blue-fur", "digest": True}))
    again = {"password": "bluer-fur", "password_confirmation": "bluer-fur"}
    good(me.ask("PUT", f"{base}/grover/reset_password", again))
    good(me.ask("PUT", f"{base}/grover", {"email": "grover@street.com"}))
    assert Machine(fixture.url, "grover", "bluer-fur").status("digest") == 200
    good(me.ask("DELETE", f"{base}/grover"))


def test_a_password_comes_with_an_update(fixture):
    me = daily(fixture)
    base = "/api/v2/users"
    good(me.ask("POST", base, {"username": "elmo", "password": "red-fur"}))
    assert Machine(fixture.url, "elmo", "red-fur").status("digest") == 401
    fields = {"password": "redder-fur", "password_confirmation": "redder-fur"}
    changed = good(me.ask("PUT", f"{base}/elmo", {**fields, "digest": True, "email": "e@s.com"}))
    assert changed["email"] == "e@s.com" and len(changed) == 7, changed
    assert Machine(fixture.url, "elmo", "redder-fur").status("digest") == 200
    differ = {"password": "blue-fur", "password_confirmation": "green-fur", "email": "f@s.com"}
    assert me.ask("PUT", f"{base}/elmo", differ).status == 409
    assert good(me.ask("GET", f"{base}/elmo"))["email"] == "e@s.com"
    elmo = Machine(fixture.url, "elmo", "redder-fur")
    own = elmo.ask("PUT", "users/elmo", password="reddest-fur")
    assert own.status == 200, own
    other = Machine(fixture.url, "elmo", "reddest-fur")
    assert other.ask("PUT", "users/developer", password="reddest-fur").status == 403
    renamed = good(me.ask("PUT", f"{base}/elmo", {"username": "elmo2", "password": "rose-fur"}))
    assert renamed["username"] == "elmo2"
    assert Machine(fixture.url, "elmo2", "rose-fur").status("digest") == 200
    good(me.ask("DELETE", f"{base}/elmo2"))


# ---- the challenge ----


def test_the_challenge_has_only_parameters_that_old_clients_know(fixture):
    """A client of then splits it at commas and gives up at an unknown name."""
    challenges = fixture.stranger().get("digest").headers.get_all("WWW-Authenticate")
    assert challenges[0].startswith("Digest "), challenges
    words = [word.split("=", 1) for word in challenges[0][len("Digest "):].split(", ")]
    known = {"realm", "domain", "nonce", "opaque", "stale", "algorithm", "qop"}
    assert {word[0] for word in words} <= known, challenges
    told = {name: value.strip('"') for name, value in words}
    assert told["realm"] == "Crowbar" and told["qop"] == "auth" and told["opaque"], told
    assert told.get("algorithm", "MD5") == "MD5"
    # whatever else is offered is for the same users
    assert all('realm="Crowbar"' in challenge for challenge in challenges), challenges


def test_a_client_that_sends_digest_before_the_challenge(fixture):
    """It sends Digest with empty parameters, takes the challenge, and continues the nonce count."""
    me = console(fixture, "developer")
    for asked in range(12):
        empty = 'Digest username="developer", realm="", nonce="", uri="/api/v2/nodes", response=""'
        refused, _ = me.once("GET", "/api/v2/nodes", None, {"Authorization": empty})
        assert refused.status == 401, refused
        challenges = refused.headers.get_all("WWW-Authenticate")
        answer = me.authorization(challenges, "GET", "/api/v2/nodes")
        quoted = answer.replace("algorithm=MD5", 'algorithm="MD5"')
        taken, _ = me.once("GET", "/api/v2/nodes", None, {"Authorization": quoted})
        assert taken.status == 200, (asked, quoted)
    me.close()


# ---- the admin node ----

SERVICES = ["dns-service", "ntp-service", "dhcp-service", "provisioner-service"]
SERVERS = ["dns-server", "ntp-server", "dhcp-server", "provisioner-server"]


def raise_admin(me):
    """What the installer of an admin node does; joining networks comes with the networks."""
    admin = me.create("nodes", name=ADMIN, admin=True, bootenv="local", ip="192.168.124.10/24")
    assert admin["admin"] is True and admin["bootenv"] == "local", admin
    me.must("POST", "node_roles", {"node": ADMIN, "role": "crowbar-joined-node"})
    assert me.must("PUT", f"nodes/{ADMIN}/commit")["available"] is True
    phantom = me.find("nodes", "system-phantom.internal.local")
    assert phantom["system"] is True and phantom["deployment_id"] == 1, phantom
    roles = {role["name"] for role in me.list("roles")}
    for role in SERVICES:
        if role in roles:
            me.must("POST", "node_roles", {"node": phantom["name"], "role": role})
    for role in SERVERS:
        if role in roles:
            me.must("POST", "node_roles", {"node": ADMIN, "role": role})
    me.must("PUT", f"nodes/{phantom['name']}/commit")
    me.must("POST", "node_roles", {"node": ADMIN, "role": "crowbar-admin-node"})
    me.must("PUT", f"nodes/{ADMIN}/commit")
    return me.must("PUT", f"nodes/{ADMIN}", {"alive": True})


def test_an_admin_node_is_installed(fixture):
    store = another_store(fixture.store, "admin_node")
    own = Daemon(os.path.dirname(fixture.program), store, SHIPPED)
    try:
        own.start()
        made = own.client().post(
            "users", {"username": "crowbar", "password": "crowbar", "is_admin": True,
                      "digest": True}
        )
        assert made.status == 200, made
        me = console(own)
        assert raise_admin(me)["alive"] is True
        assert me.find("nodes", "admin")["name"] == ADMIN
        path = f"nodes/{ADMIN}/node_roles/crowbar-admin-node"
        becomes(lambda: me.must("GET", path), state=ACTIVE)
        eventually(lambda: me.ask("GET", "api/v2/anneal").status == 200, "everything is done")
        refused = me.ask("DELETE", f"api/v2/nodes/{ADMIN}")
        assert refused.status == 409, refused
        me.close()
        assert own.stop() == 0
    finally:
        own.close()
