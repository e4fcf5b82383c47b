"""Boot environments are listed and shown, and only an import of their barclamp changes them."""
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
