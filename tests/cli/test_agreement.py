"""`halligan barclamp check` and the import of a daemon give the same result for a barclamp.

Each case is a small barclamp, valid or not. All of them are in one directory, with names of their own.
The command line checks each case alone and all of them together; a daemon reads the directory
at its start. Both must accept the same barclamps and report the same codes for the same cases. Where a case
is one document without files, it is also sent to the daemon (POST barclamps): the verdict must be the
same.

NAME in a text is the name of the case.
"""
import json
import os
import re

from daemon import Daemon, eventually

GOOD, BAD = True, False
SHIPPED = "barclamps"


def roles(*texts):
    return "barclamp: {name: NAME}\nroles:\n" + "".join(f"  - {{name: NAME-{i}, {text}}}\n" for i, text in enumerate(texts))


def attribs(*texts):
    return "barclamp: {name: NAME}\nattribs:\n" + "".join(f"  - {{name: NAME_{i}, {text}}}\n" for i, text in enumerate(texts))


def head(text):
    return f"barclamp: {{name: NAME, {text}}}\n"


def top(text):
    return "barclamp: {name: NAME}\n" + text + "\n"


LUA = "return { on_active = function(noderole) end }\n"
WORK = "return { do_transition = function(noderole) end }\n"


def lua(text, jig="noop"):
    return {"yml": roles(f"jig: {jig}"), "roles/NAME-0.lua": text}


def script(text, name="01.sh", jig="script"):
    return {"yml": roles(f"jig: {jig}"), f"scripts/NAME-0/{name}": text}


ANSIBLE = top("jigs: [{name: NAME-jig, class: ansible}]\nroles: [{name: NAME-0, jig: NAME-jig}]")

# (verdict, codes of errors, codes of warnings, text or files)
CASES = [
    # ---- the file ----
    (GOOD, "", "", top("")),
    (GOOD, "", "", "---\nbarclamp:\n  name: NAME\n"),
    (BAD, "bad_yaml", "", "barclamp: {name: NAME\n"),
    (BAD, "bad_yaml", "", "barclamp:\n\tname: NAME\n"),
    (BAD, "bad_yaml", "", "barclamp: [name: NAME\n"),
    (BAD, "bad_yaml", "", "barclamp: {name: *NAME}\n"),
    (GOOD, "", "bad_yaml", "barclamp: {name: NAME}\n---\nbarclamp: {name: NAME}\n"),
    (BAD, "bad_yaml", "", "barclamp: {name: NAME}\nroles:\n  - name: a\n   jig: noop\n"),
    (BAD, "bad_value", "", "- barclamp\n"),
    (BAD, "bad_value", "", "just text\n"),
    (BAD, "bad_value", "", ""),
    (BAD, "missing", "", "roles: []\n"),
    (BAD, "missing", "", "barclamp: {}\n"),
    (BAD, "missing", "", "barclamp: {name: }\n"),
    (BAD, "bad_value", "", "barclamp: NAME\n"),
    (BAD, "bad_value", "", "barclamp: [NAME]\n"),
    (BAD, "name_invalid", "", "barclamp: {name: \"NAME and more\"}\n"),
    (BAD, "name_invalid", "", "barclamp: {name: NAME!}\n"),
    (BAD, "bad_value", "", "barclamp: {name: yes}\n"),
    (BAD, "bad_value", "", "barclamp: {name: [NAME]}\n"),
    (GOOD, "", "name_differs", "barclamp: {name: NAMEx}\n"),
    # ---- the section barclamp ----
    (GOOD, "", "", head("version: 1.1")),
    (GOOD, "", "", head("version: '2.0', description: some words, license: x, copyright: y, display: z")),
    (BAD, "bad_value", "", head("version: [1]")),
    (BAD, "bad_value", "", head("version: true")),
    (BAD, "bad_value", "", head("description: {a: b}")),
    (GOOD, "", "unknown_key", head("verison: 2")),
    (GOOD, "", "unknown_key", head("mood: fine")),
    (GOOD, "", "not_used", head("source_path: /tmp")),
    (BAD, "not_found", "", head("parent: nosuchbarclamp")),
    (GOOD, "", "", head("parent: crowbar")),
    (BAD, "bad_value", "", head("parent: [crowbar]")),
    (GOOD, "", "unknown_key", top("colour: red")),
    (GOOD, "", "unknown_key", top("role: []")),
    (GOOD, "", "", top("git: {commit: abc, date: today}")),
    (BAD, "bad_value", "", top("git: [abc]")),
    (GOOD, "", "", top("debs: {pkgs: [a, b]}\nos_support: [x]\nextra_files: [y]")),
    (GOOD, "", "odd", top("debs: some")),
    (GOOD, "", "odd", top("os_support: some")),
    (GOOD, "", "odd", top("debs: {pkgs: some}")),
    # ---- roles ----
    (GOOD, "", "", roles("jig: noop")),
    (GOOD, "", "", roles("jig: noop", "jig: noop, requires: [NAME-0]")),
    (BAD, "bad_value", "", top("roles: {name: NAME-0, jig: noop}")),
    (BAD, "bad_value", "", top("roles: [NAME-0]")),
    (BAD, "bad_value", "", top("roles: NAME-0")),
    (BAD, "missing", "", top("roles: [{jig: noop}]")),
    (BAD, "missing", "", top("roles: [{name: NAME-0}]")),
    (BAD, "missing missing", "", top("roles: [{}]")),
    (BAD, "name_invalid", "", top("roles: [{name: 'NAME 0', jig: noop}]")),
    (BAD, "name_invalid", "", top("roles: [{name: NAME/0, jig: noop}]")),
    (BAD, "name_taken", "", top("roles: [{name: NAME-0, jig: noop}, {name: NAME-0, jig: noop}]")),
    (BAD, "name_taken", "", top("roles: [{name: crowbar-access, jig: noop}]")),
    (BAD, "name_taken", "", top("roles: [{name: NAME-a, jig: noop}, {name: NAME-A, jig: noop}]")),
    (GOOD, "", "unknown_key", roles("jig: noop, require: [NAME-0]")),
    (GOOD, "", "unknown_key", roles("jig: noop, jigg: noop")),
    (BAD, "bad_value", "", roles("jig: noop, deadline: 30s")),
    (BAD, "bad_value", "", roles("jig: noop, deadline: -1")),
    (BAD, "bad_value", "", roles("jig: noop, deadline: 1.5")),
    (BAD, "bad_value", "", roles("jig: noop, deadline: 4294967295")),
    (GOOD, "", "", roles("jig: noop, deadline: 30")),
    (GOOD, "", "", roles("jig: noop, attempts: 3, backoff: 5")),
    (BAD, "bad_value", "", roles("jig: noop, attempts: many")),
    (BAD, "bad_value", "", roles("jig: noop, attempts: 100000")),
    (BAD, "bad_value", "", roles("jig: noop, backoff: [1]")),
    (BAD, "bad_value bad_value", "", roles("jig: noop, attempts: x, backoff: y")),
    (BAD, "bad_value", "", roles("jig: noop, description: {a: b}")),
    (BAD, "bad_value", "", roles("jig: noop, requires: NAME-0")),
    (BAD, "bad_value", "", roles("jig: noop, requires: [{name: NAME-0}]")),
    (BAD, "bad_value", "", roles("jig: noop, requires: [[NAME-0]]")),
    (BAD, "name_invalid", "", roles("jig: noop, requires: ['a b']")),
    (GOOD, "", "require_unresolved", roles("jig: noop, requires: [NAME-nosuch]")),
    (GOOD, "", "require_unresolved", roles("jig: noop", "jig: noop, requires: [NAME-O]")),
    (GOOD, "", "", roles("jig: noop, requires: [crowbar-access]")),
    (BAD, "role_cycle", "", roles("jig: noop, requires: [NAME-0]")),
    (BAD, "role_cycle", "", roles("jig: noop, requires: [NAME-1]", "jig: noop, requires: [NAME-0]")),
    (BAD, "role_cycle", "", roles("jig: noop, requires: [NAME-1]", "jig: noop, requires: [NAME-2]", "jig: noop, requires: [NAME-0]")),
    (BAD, "role_cycle", "", roles("jig: noop, requires: [NAME-1]", "jig: noop, attaches: [NAME-0], requires: [NAME-0]")),
    (GOOD, "", "", roles("jig: noop, attaches: [NAME-1]", "jig: noop")),
    (GOOD, "", "attach_unresolved", roles("jig: noop, attaches: [NAME-nosuch]")),
    (GOOD, "", "attach_unresolved", roles("jig: noop, preceeds: [NAME-nosuch]")),
    (GOOD, "", "", roles("jig: noop, provides: [NAME-thing], conflicts: [NAME-other]")),
    (BAD, "name_invalid", "", roles("jig: noop, provides: ['a b']")),
    (BAD, "bad_value", "", roles("jig: noop, conflicts: {a: b}")),
    (GOOD, "", "", roles("jig: noop, flags: [implicit, library]")),
    (GOOD, "", "flag_unknown", roles("jig: noop, flags: [implict]")),
    (GOOD, "", "flag_unknown", roles("jig: noop, flags: [shiny]")),
    (BAD, "bad_value", "", roles("jig: noop, flags: implicit")),
    (BAD, "bad_value", "", roles("jig: noop, flags: [1]")),
    (GOOD, "", "", roles("jig: noop, announces: [wipe, boot]")),
    (BAD, "bad_value", "", roles("jig: noop, announces: wipe")),
    (GOOD, "", "not_used", roles("jig: noop, hooks: [on_active]")),
    # ---- jigs ----
    (GOOD, "", "jig_unknown", roles("jig: puppet")),
    (GOOD, "", "code_missing", roles("jig: puppet-sa")),
    (GOOD, "", "", roles("jig: test")),
    (GOOD, "", "jig_unknown", roles("jig: scrip")),
    (GOOD, "", "jig_unknown", roles("jig: ansible")),
    (BAD, "name_invalid", "", roles("jig: 'a jig'")),
    (BAD, "bad_value", "", roles("jig: [noop]")),
    (BAD, "bad_value", "", roles("jig: no")),
    (GOOD, "", "code_missing", ANSIBLE),
    (GOOD, "", "class_unknown", top("jigs: [{name: NAME-jig, class: salt}]")),
    (BAD, "missing", "", top("jigs: [{name: NAME-jig}]")),
    (BAD, "missing", "", top("jigs: [{class: noop}]")),
    (BAD, "bad_value", "", top("jigs: {name: NAME-jig, class: noop}")),
    (BAD, "name_taken", "", top("jigs: [{name: NAME-jig, class: noop}, {name: NAME-jig, class: noop}]")),
    (GOOD, "", "require_unresolved", top("jigs: [{name: NAME-jig, class: noop, implementor: NAME-nosuch}]")),
    (BAD, "name_invalid", "", top("jigs: [{name: NAME-jig, class: noop, implementor: 'a b'}]")),
    (GOOD, "", "unknown_key", top("jigs: [{name: NAME-jig, class: noop, klass: x}]")),
    # ---- hammers ----
    (GOOD, "", "", top("hammers: [{name: NAME-hammer, type: ssh, priority: 3}]")),
    (BAD, "bad_value", "", top("hammers: [{name: NAME-hammer, type: ssh, priority: high}]")),
    (BAD, "missing", "", top("hammers: [{name: NAME-hammer}]")),
    (BAD, "missing", "", top("hammers: [{type: ssh}]")),
    (GOOD, "", "class_unknown", top("hammers: [{name: NAME-hammer, type: thor}]")),
    (BAD, "bad_value", "", top("hammers: ssh")),
    # ---- attribs ----
    (GOOD, "", "", attribs("map: a/b")),
    (GOOD, "", "", attribs("schema: {type: str}, default: x")),
    (GOOD, "", "", roles("jig: noop, attribs: [{name: NAME_x, map: x, schema: {type: int}}]")),
    (BAD, "schema_invalid", "", attribs("schema: {type: blue}")),
    (BAD, "schema_invalid", "", attribs("schema: {type: map}, mapping: 3")
     .replace("schema: {type: map}, mapping: 3", "schema: {type: map, mapping: 3}")),
    (BAD, "schema_invalid", "", attribs("schema: {type: seq, sequence: []}")),
    (BAD, "schema_invalid", "", attribs("schema: {type: str, enum: 3}")),
    (BAD, "schema_invalid", "", attribs("schema: 3")),
    (BAD, "schema_invalid", "", attribs("schema: {type: str, nonsense: 3}")),
    (BAD, "schema_invalid schema_invalid", "", attribs("schema: {type: blue}", "schema: {type: green}")),
    (GOOD, "", "default_misfit", attribs("schema: {type: int}, default: word")),
    (GOOD, "", "attrib_twice", top("attribs: [{name: NAME_0}, {name: NAME_0}]")),
    (BAD, "owner_differs", "", top("attribs: [{name: crowbar-access_keys}]")),
    (BAD, "missing", "", top("attribs: [{map: a}]")),
    (BAD, "bad_value", "", top("attribs: [NAME_0]")),
    (BAD, "bad_value", "", top("attribs: {name: NAME_0}")),
    (BAD, "name_invalid", "", top("attribs: [{name: 'a b'}]")),
    (BAD, "bad_value", "", attribs("writable: maybe")),
    (GOOD, "", "unknown_key", attribs("defualt: 3")),
    (GOOD, "", "", top("attribs: [{name: NAME_0}]\nroles: [{name: NAME-0, jig: noop, wants-attribs: [NAME_0]}]")),
    (GOOD, "", "", top("attribs: [{name: NAME_0}]\nroles: [{name: NAME-0, jig: noop, wants-attribs: [{name: NAME_0, at: x/y}]}]")),
    (GOOD, "", "attrib_unknown", roles("jig: noop, wants-attribs: [NAME_nosuch]")),
    (GOOD, "", "attrib_unknown", roles("jig: noop, wants-attribs: [{name: NAME_nosuch, at: a}]")),
    (BAD, "bad_value", "", roles("jig: noop, wants-attribs: NAME_0")),
    (BAD, "bad_value", "", roles("jig: noop, wants-attribs: [3]")),
    (BAD, "missing", "", roles("jig: noop, wants-attribs: [{at: a}]")),
    (BAD, "name_invalid", "", roles("jig: noop, wants-attribs: ['a b']")),
    # ---- Lua ----
    (GOOD, "", "", lua(LUA)),
    (GOOD, "", "lua_unused", lua("return { on_activ = function() end }\n")),
    (BAD, "lua_invalid", "", lua("return { on_active = function( end }\n")),
    (BAD, "lua_invalid", "", lua("os.exit(1)\nreturn {}\n")),
    (BAD, "lua_invalid", "", lua("io.open('/etc/passwd')\nreturn {}\n")),
    (BAD, "lua_invalid", "", lua("return 3\n")),
    (BAD, "lua_invalid", "", lua("return { on_active = 3 }\n")),
    (BAD, "lua_invalid", "", lua("error('no')\n")),
    (BAD, "lua_invalid", "", lua("while true do end\n")),
    (BAD, "lua_invalid", "", lua("return { on_active = function(nr) halligan.boot_served(1, nr, 1) end }\n")),
    (GOOD, "", "", lua("return { on_node_change = function(n) return n.boot_served end }\n")),
    (GOOD, "", "", lua(WORK, "role-provided")),
    (GOOD, "", "code_missing", lua(LUA, "role-provided")),
    (GOOD, "", "code_missing", {"yml": roles("jig: role-provided"), "README": "empty\n"}),
    (GOOD, "", "not_used", {"yml": roles("jig: noop"), "roles/NAME-other.lua": LUA}),
    # ---- scripts ----
    (GOOD, "", "", script("echo here\n")),
    (GOOD, "", "script_missing", {"yml": roles("jig: script"), "README": "empty\n"}),
    (GOOD, "", "script_missing not_used", script("words\n", "README")),
    (GOOD, "", "not_used", {"yml": roles("jig: noop"), "scripts/NAME-other/01.sh": "echo\n"}),
    (BAD, "script_invalid", "", script("if true; then\n  echo\n")),
    (BAD, "script_invalid", "", script("#!/bin/sh\necho 'open\n")),
    (BAD, "script_invalid", "", script("#!/bin/bash\nfor i in; done\n")),
    (GOOD, "", "", script("#!/bin/bash\na=(1 2)\necho \"${a[@]}\"\n")),
    (GOOD, "", "", script("#!/usr/bin/python3\nif then else\n")),
    (BAD, "script_invalid", "", script("#!/usr/bin/env sh\ncase x in\n")),
    (BAD, "script_invalid", "", script("fi\n", jig="noop")),
    # ---- manifests and playbooks ----
    (GOOD, "", "", {"yml": roles("jig: puppet-sa"), "puppet/roles/NAME-0/init.pp": "notice('here')\n"}),
    (GOOD, "", "code_missing", {"yml": roles("jig: puppet-sa"), "puppet/roles/NAME-0/README": "empty\n"}),
    (GOOD, "", "not_used", {"yml": roles("jig: noop"), "puppet/roles/NAME-other/init.pp": "notice('here')\n"}),
    (GOOD, "", "", {"yml": ANSIBLE, "ansible/roles/NAME-0.yml": "- hosts: all\n"}),
    (GOOD, "", "", {"yml": ANSIBLE, "ansible/NAME-0/playbook.yml": "- hosts: all\n"}),
    (GOOD, "", "code_missing", {"yml": ANSIBLE, "ansible/roles/NAME-0/tasks/main.yml": "[]\n"}),
    # ---- several things at once ----
    (BAD, "bad_value missing schema_invalid", "unknown_key",
     top("roles: [{name: NAME-0, jig: noop, deadline: soon, colour: red}, {name: NAME-1}]\n"
         "attribs: [{name: NAME_0, schema: {type: blue}}]")),
    (BAD, "bad_value role_cycle", "", roles("jig: noop, deadline: soon", "jig: noop, requires: [NAME-1]")),
    (BAD, "bad_value", "require_unresolved", roles("jig: noop, deadline: soon", "jig: noop, requires: [NAME-nosuch]")),
    (BAD, "lua_invalid script_invalid", "", {"yml": roles("jig: script"), "roles/NAME-0.lua": "return 3\n",
                                             "scripts/NAME-0/01.sh": "fi\n"}),
    (GOOD, "", "flag_unknown jig_unknown", roles("jig: nosuch, flags: [shiny]")),
]


def named(cases):
    return [(f"case{i:03}", *case) for i, case in enumerate(cases)]


def files_of(case):
    return case if isinstance(case, dict) else {"yml": case}


def lay_out(bench, name, case):
    for place, text in files_of(case).items():
        path = f"{name}.yml" if place == "yml" else place.replace("NAME", name)
        bench.write(f"shelf/{name}/{path}", text.replace("NAME", name))


def of_entries(entries, folder):
    """(errors, warnings): sorted codes of what is said about files below the folder."""
    mine = [e for e in entries if e["file"].startswith(folder + "/")]
    return tuple(sorted(e["code"] for e in mine if e["severity"] == kind) for kind in ["error", "warning"])


def checked(bench, *words):
    answer = bench.halligan("barclamp", "check", *words, "--with", os.path.join(bench.root, SHIPPED), "-o", "json")
    assert answer.status in (0, 1), answer
    return answer.status == 0, json.loads(answer.out)["entries"]


LINE = re.compile(r'severity="?(error|warning)"? code="?(\w+)"? path="?([^" \n]+)"?')


def logged(daemon):
    return [{"severity": s, "code": c, "file": p} for s, c, p in LINE.findall(daemon.read("stderr"))]


def test_check_and_daemon_agree(bench):
    cases = named(CASES)
    assert len(cases) >= 150, len(cases)
    for name, _, _, _, case in cases:
        lay_out(bench, name, case)
    shelf = bench.path("shelf")
    shipped = os.path.join(bench.root, SHIPPED)
    daemon = Daemon(bench.build, barclamps=shipped)
    try:
        # As with --with, the shipped ones are there already. Their first start says nothing about them.
        daemon.start()
        eventually(lambda: daemon.client().get("roles/test-server").status == 200, "the shipped ones are imported")
        daemon.stop()
        assert not logged(daemon), logged(daemon)
        daemon.barclamps = f"{shipped}:{shelf}"
        daemon.start()
        _, together = checked(bench, shelf)
        wanted_count = len([e for e in together if e["file"].startswith(shelf)])
        eventually(lambda: len(logged(daemon)) >= wanted_count, "the daemon says as much as the check")
        taken = {b["name"] for b in daemon.client().get("barclamps").json()}
        told = logged(daemon)
        wrong = []
        for name, verdict, errors, warnings, case in cases:
            folder = os.path.join(shelf, name)
            expected = (verdict, (sorted(errors.split()), sorted(warnings.split())))
            is_good, entries = checked(bench, folder)
            alone = (is_good, of_entries(entries, folder))
            among = (verdict, of_entries(together, folder))
            text = files_of(case)["yml"].replace("NAME", name)
            barclamp = re.search(r"name: *(\w+)", text)
            in_daemon = (bool(barclamp) and barclamp.group(1) in taken, of_entries(told, folder))
            if not (expected == alone == among == in_daemon):
                wrong.append(f"{name}:\n{text}expected {expected}\nalone    {alone}\ntogether {among}\ndaemon   {in_daemon}")
        assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong)
        assert [e for e in told if not e["file"].startswith(shelf)] == []
    finally:
        if daemon.process:
            daemon.stop()
        daemon.close()


def test_a_document_that_is_sent_has_the_same_verdict(bench):
    daemon = Daemon(bench.build, barclamps=os.path.join(bench.root, SHIPPED))
    try:
        daemon.start()
        client = daemon.client()
        wrong = []
        for name, verdict, errors, _, case in named(CASES):
            if isinstance(case, dict) or not case:
                continue
            answer = client.post("barclamps", {"value": case.replace("NAME", name)})
            codes = {p["code"] for p in answer.json().get("problems", [])} or {answer.json().get("code")}
            # Codes of the reader that no refusal of the API has are bad_value there.
            wanted = {"bad_value" if c == "bad_yaml" else c for c in errors.split()} or {None}
            if (answer.status == 200) != verdict or (not verdict and codes != wanted):
                wrong.append(f"{name}: {verdict} {wanted}, but {answer}\n{case}")
        assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)
    finally:
        if daemon.process:
            daemon.stop()
        daemon.close()
