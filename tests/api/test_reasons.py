"""Roles that cannot be bound and jigs that are not active: the lists show the reason."""
import os

from daemon import Own

YAML = """barclamp: {name: shelf}
jigs:
  - {name: noop, class: noop}
  - {name: odd, class: Unknown}
  - {name: tried, class: test}
roles:
  - {name: fine, jig: noop}
  - {name: lost, jig: nowhere}
  - {name: strange, jig: odd}
  - {name: trial, jig: tried}
  - {name: early, jig: noop, requires: [later], wants-attribs: [size]}
  - {name: idea, jig: noop, flags: [abstract]}
"""

REASONS = {
    "fine": None,
    "lost": "role lost cannot run: jig nowhere is not known here",
    "strange": "role strange cannot run: jig odd is not active: "
    "jig class Unknown is not known here",
    "trial": "role trial cannot run: jig tried is not active because the test jig is off",
    "early": "role early requires role later, which has not been imported; "
    "role early wants attrib size, which does not exist",
    "idea": None,
}


def told(me):
    return {role["name"]: role["unusable"] for role in me.get("roles?view=full").json()}


def open_shelf(own, *words):
    own.start("--barclamps", own.path("shelf.d"), *words)
    return own.client


def write_shelf(own, text):
    os.makedirs(own.path("shelf.d/shelf"), exist_ok=True)
    own.write("shelf.d/shelf/shelf.yml", text)


def test_lists_show_why_a_role_cannot_be_bound(daemon):
    with Own(daemon) as own:
        write_shelf(own, YAML)
        me = open_shelf(own)
        assert told(me) == REASONS
        node = {"name": "n1.example.com", "alive": True, "available": True}
        assert me.post("nodes", node).status == 200
        for role, why in REASONS.items():
            one = me.get(f"roles/{role}?view=full").json()
            assert one["unusable"] == why and one["withdrawn"] is False, one
            answer = me.post("node_roles", {"node": "n1.example.com", "role": role})
            assert (answer.status == 409) == (why is not None or role == "idea"), answer
            # It refuses with what the list says.
            assert why is None or answer.json()["message"] in why, answer
        usable = me.post("roles/match", {"unusable": None}).json()
        assert [role["name"] for role in usable] == ["fine", "idea"]
        assert own.stop() == 0


def test_with_the_test_jig_only_names_are_missing(daemon):
    with Own(daemon) as own:
        write_shelf(own, YAML)
        me = open_shelf(own, "--test-jig")
        assert told(me) == {**{role: None for role in REASONS}, "early": REASONS["early"]}
        assert own.stop() == 0


def test_a_role_removed_from_its_barclamp_is_marked(daemon):
    with Own(daemon) as own:
        write_shelf(own, YAML)
        me = open_shelf(own)
        assert me.post("nodes", {"name": "n1.example.com"}).status == 200
        assert me.post("node_roles", {"node": "n1.example.com", "role": "fine"}).status == 200
        assert own.stop() == 0
        write_shelf(own, YAML.replace("  - {name: fine, jig: noop}\n", ""))
        me = open_shelf(own)
        role = me.get("roles/fine?view=full").json()
        assert role["withdrawn"] is True
        assert role["unusable"] == "role fine is no longer in barclamp shelf and cannot be bound anew"
        assert own.stop() == 0


def test_jigs_show_why_they_are_not_active(daemon):
    with Own(daemon) as own:
        write_shelf(own, YAML)
        me = open_shelf(own)
        jigs = {jig["name"]: (jig["active"], jig["inactive_reason"]) for jig in me.get("jigs?view=full").json()}
        assert jigs == {
            "noop": (True, None),
            "odd": (False, "jig class Unknown is not known here"),
            "tried": (False, "the test jig is off"),
        }
        off = me.put("jigs/noop?view=full", {"active": False}).json()
        assert off["active"] is False and off["inactive_reason"] == "it is switched off", off
        assert me.get("jigs/noop?view=full").json() == off and len(off) == 12
        assert len(me.get("jigs/noop").json()) == 11
        assert told(me)["fine"] == "role fine cannot run: jig noop is not active"
        assert me.put("jigs/odd", {"active": True}).status == 409
        assert me.put("jigs/noop?view=full", {"active": True}).json()["inactive_reason"] is None
        assert told(me)["fine"] is None
        assert me.post("jigs", {"name": "x"}).status == 405
        assert me.delete("jigs/noop").status == 405
        assert own.stop() == 0
