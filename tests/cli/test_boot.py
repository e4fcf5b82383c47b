"""halligan nodes boot, noderoles boot-due, why of a machine whose boot is not served, and what a plan shows of boots."""
import json
import os

from daemon import Own, eventually

YAML = """barclamp: {name: boots}
jigs:
  - {name: noop, class: noop}
  - {name: boots, class: native}
  - {name: script, class: script}
hammers:
  - {name: redfish, type: redfish, priority: 5}
bootenvs:
  - {name: sledgehammer, method: discovery, kernel: vmlinuz}
roles:
  - {name: found, jig: noop, flags: [discovery, implicit, milestone]}
  - {name: dhcp, jig: script, flags: [serves-boot]}
  - {name: pxe, jig: boots, flags: [serves-boot]}
  - name: os
    jig: script
    flags: [destructive]
    announces: [wipe, boot]
    attribs:
      - {name: os-boot, map: announced/os/boot, writable: true}
"""
MACHINES = 101  # one more than a page


def start(bench, own):
    """An admin node with a published role that has no scripts, and a native one without a boot server."""
    os.makedirs(own.path("shelf/boots"))
    own.write("shelf/boots/boots.yml", YAML)
    own.start("--barclamps", own.path("shelf"), "--boot-server", "true")
    where = {"HALLIGAN_URL": own.read("listen").strip(), "HALLIGAN_USER": "admin",
             "HALLIGAN_PASSWORD": own.read("admin.password").strip()}

    def halligan(*words):
        answer = bench.halligan(*words, env=where)
        assert answer.status == 0, (words, answer)
        return answer

    halligan("nodes", "create", "name=adm.example.com", "admin=true", "alive=true", "available=true")
    halligan("nodes", "bind", "adm.example.com", "dhcp", "pxe")
    halligan("nodes", "commit", "adm.example.com")
    eventually(lambda: "error" in halligan("noderoles", "list").out, "the publishing role failed")
    return halligan


def test_machines_that_are_due_are_listed_in_pages(bench):
    with Own(bench.daemon) as own:
        halligan = start(bench, own)
        me = own.client
        assert me.post("nodes", [{"name": f"m{i}.example.com"} for i in range(MACHINES)]).status == 200
        found = me.post("node_roles", [{"node": f"m{i}.example.com", "role": "found"} for i in range(MACHINES)])
        assert found.status == 200 and me.put("deployments/system/commit").status == 200
        [dhcp] = [row["id"] for row in me.get("node_roles?role_id=" + str(me.get("roles/dhcp").json()["id"])).json()]
        page = halligan("noderoles", "boot-due", str(dhcp))
        lines = page.out.splitlines()
        assert lines[0].split() == ["NODE", "ID", "NODE", "BOOTENV", "GENERATION", "SINCE", "ATTEMPT"], lines[0]
        assert len(lines) == 101 and "m0.example.com" in lines[1], lines
        last = lines[-1].split()[0]
        assert page.err == f"halligan noderoles boot-due: only the first 100 are listed; for more: --after {last}\n", page.err
        rest = halligan("noderoles", "boot-due", str(dhcp), "--after", last, "-o", "json")
        assert [one["node"] for one in json.loads(rest.out)] == ["m100.example.com"] and not rest.err, rest
        some = halligan("noderoles", "boot-due", str(dhcp), "--limit", "2", "-q")
        assert len(some.out.split()) == 2 and not some.err, some
        wrong = bench.halligan("noderoles", "boot-due", str(dhcp), "--limit", "0")
        assert wrong.status == 2 and "--limit must be a number above 0" in wrong.err, wrong


def test_what_has_served_a_machine_is_shown_and_why_names_the_boot_server(bench):
    with Own(bench.daemon) as own:
        halligan = start(bench, own)
        halligan("nodes", "create", "name=m1.example.com", "mac=52:54:00:00:01:01", "ip=10.1.2.1/24")
        halligan("nodes", "bind", "m1.example.com", "found")
        halligan("nodes", "commit", "m1.example.com")
        boot = json.loads(halligan("nodes", "boot", "m1.example.com", "-o", "json").out)
        assert boot["served"] is False, boot
        assert [(s["role"], s["kind"], s["served"]) for s in boot["servers"]] == [
            ("dhcp", "published", False), ("pxe", "native", False)], boot
        shown = halligan("nodes", "boot", "m1.example.com").out
        assert "served" in shown and "native" in shown, shown
        # The role that failed would end the wait at once, so it is proposed.
        me = own.client
        dhcp = boot["servers"][0]["node_role_id"]
        assert me.put(f"node_roles/{dhcp}/propose").status == 200
        halligan("hammers", "create", "node=m1.example.com", "available_hammer=redfish",
                 "endpoint=https://127.0.0.1:9", "username=root")
        halligan("nodes", "update", "m1.example.com", "bootenv=local")
        halligan("nodes", "power", "m1.example.com", "reset")
        why = halligan("nodes", "why", "m1.example.com").out.splitlines()
        assert why[0].startswith("boot_not_served: node `m1.example.com` is waiting for `pxe` on `adm.example.com`")
        assert why[1] == ("  boot_server_lost: the boot server of node `adm.example.com` has not connected "
                          "since the daemon started"), why


def test_a_plan_shows_what_is_switched_on_and_what_is_booted(bench):
    with Own(bench.daemon) as own:
        halligan = start(bench, own)
        halligan("deployments", "create", "name=lab")
        halligan("nodes", "create", "name=m1.example.com", "deployment=lab", "bootenv=rescue")
        halligan("hammers", "create", "node=m1.example.com", "available_hammer=redfish",
                 "endpoint=https://127.0.0.1:9", "username=root")
        halligan("nodes", "bind", "m1.example.com", "found", "os")
        halligan("noderoles", "set", "m1.example.com/os", "os-boot", '[{"bootenv": "debian-12-install"}]')
        brief = halligan("deployments", "plan", "lab").out.splitlines()
        assert "switch on    1" in brief and "destroys     m1.example.com: os: boot debian-12-install" in brief, brief
        lines = halligan("deployments", "plan", "lab", "--detail").out.splitlines()
        assert lines.count("power        m1.example.com: on, boots rescue") == 1, lines
        plan = json.loads(halligan("deployments", "plan", "lab", "-o", "json").out)
        [on] = plan["power"]
        assert (on["action"], on["bootenv"], on["node_name"]) == ("on", "rescue", "m1.example.com"), plan
        assert plan["summary"]["power"] == 1 and plan["destroys"][0]["targets"] == {
            "boot": [{"bootenv": "debian-12-install"}]}, plan
        halligan("nodes", "update", "m1.example.com", "alive=true")
        assert json.loads(halligan("deployments", "plan", "lab", "-o", "json").out)["power"] == []
