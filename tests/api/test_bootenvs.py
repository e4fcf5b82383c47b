"""Boot environments are listed and shown, and only an import of their barclamp changes them."""
from test_network_bounds import JSON, LONG, Sender, abridged, problem_with
from test_networks import shown
from test_objects import check_error

FIELDS = ["id", "name", "kernel", "initrd", "args", "method", "os", "available", "barclamp_id", "created_at",
          "updated_at"]


def test_environments_of_the_shipped_barclamps(shipped):
    me = shipped.client()
    listed = shown(me.get("bootenvs"))
    assert [e["name"] for e in listed] == ["debian-12-install", "sledgehammer"], listed
    install = shown(me.get("bootenvs/debian-12-install"))
    assert list(install) == FIELDS, install
    assert install["initrd"] == ["debian-12/install/initrd.gz"] and install["method"] == "installer"
    assert install["available"] is False
    assert install["barclamp_id"] == shown(me.get("barclamps/provisioner"))["id"]
    assert shown(me.get(f"bootenvs/{install['id']}")) == shown(me.get("bootenvs/DEBIAN-12-install")) == install
    check_error(me.get("bootenvs/nothing"), 404, "not_found", "id")
    assert me.post("bootenvs", {"name": "x"}).status == 405
    assert me.put("bootenvs/sledgehammer", {"kernel": "x"}).status == 405


# ---- bounds ----

ENTRY = {"name": "x", "kernel": "k", "method": "image"}
ENTRIES_MAX = 4096
TYPES = [True, [], ["a"], {}, {"a": "b"}]
WRONG = {
    "name": TYPES + [None, "", "local", "1x", "x y", "x/y", "é", "x" * 256, LONG],
    "kernel": TYPES + [None, "", "/k", "k/", "a//k", "a/../k", ".", "a b", "é", "x" * 256, LONG],
    "initrd": [7, True, "i", {}, [""], ["/i"], [None], [["i"]], [{}], ["i"] * 17, ["x" * 256], [LONG], LONG],
    "args": TYPES + ["a\nb", "a\x07", "x" * 2001, "é" * 1000 + "x", LONG],
    "method": TYPES + [None, "", "Image", "images", 7, LONG],
    "os": TYPES + ["a\tb", "x" * 256, "é" * 128, LONG],
}
RIGHT = {
    "name": ["x" * 254, "x" * 255],
    "kernel": ["x" * 254, "x" * 255, "..."],
    "initrd": [None, [], ["i"] * 15, ["x" * 255] * 16],
    "args": [None, "", "x" * 1999, "x" * 2000, "é" * 1000],
    "method": ["discovery", "installer"],
    "os": [None, "", "x" * 254, "x" * 255, "é" * 127],
}


def barclamp_with(entries):
    return {"value": {"barclamp": {"name": "boot_bounds"}, "bootenvs": entries}}


def test_wrong_environments_are_refused_with_their_key_and_nothing_is_written(bounds):
    me = Sender(bounds)
    found = []
    me.made("barclamps", barclamp_with([ENTRY]))
    me.settle()
    before = me.written()
    for key, values in WRONG.items():
        for value in values:
            answer = me.ask("PUT", "barclamps/boot_bounds", barclamp_with([ENTRY, {**ENTRY, "name": "y", key: value}]))
            problem = problem_with(answer, [f"bootenvs/1/{key}", f"bootenvs.1.{key}"])
            if problem:
                found.append(f"{key}={abridged(value)}: {problem}")
    for value in ({}, 7, "x", [7], ["x"], [[]]):
        answer = me.ask("PUT", "barclamps/boot_bounds", barclamp_with(value))
        problem = problem_with(answer, ["bootenvs"])
        if problem:
            found.append(f"bootenvs={value}: {problem}")
    known = len(shown(bounds.client().get("bootenvs")))
    many = [{**ENTRY, "name": f"e{i}"} for i in range(ENTRIES_MAX - known + 1)]
    answer = me.ask("PUT", "barclamps/boot_bounds", barclamp_with([ENTRY, *many]))
    check_error(answer, 409, "limit_reached", "bootenv")
    for text in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80"):
        body = b'{"value":{"barclamp":{"name":"boot_bounds"},"bootenvs":[{"name":"' + text + b'"}]}}'
        answer = me.send("PUT", "barclamps/boot_bounds", body, JSON)
        assert answer.status == 400, answer
    assert me.written() == before
    assert not found, f"{len(found)} of them:\n" + "\n".join(found)


def test_environments_up_to_their_bounds_are_accepted(bounds):
    me = Sender(bounds)
    me.ask("POST", "barclamps", barclamp_with([ENTRY]))
    for key, values in RIGHT.items():
        for value in values:
            entry = {**ENTRY, key: value}
            answer = me.ask("PUT", "barclamps/boot_bounds", barclamp_with([entry]))
            assert answer.status == 200, (key, abridged(value), answer)
            stored = shown(bounds.client().get(f"bootenvs/{entry['name']}"))
            assert stored[key] == (value or ([] if key == "initrd" else "")), (key, abridged(value), stored)
    known = len(shown(bounds.client().get("bootenvs")))
    many = [ENTRY] + [{**ENTRY, "name": f"e{i}"} for i in range(ENTRIES_MAX - known)]
    for entries in (many[1:], many):
        answer = me.ask("PUT", "barclamps/boot_bounds", barclamp_with(entries))
        assert answer.status == 200, answer
    answer = me.ask("PUT", "barclamps/boot_bounds", barclamp_with([ENTRY]))
    assert answer.status == 200, answer
