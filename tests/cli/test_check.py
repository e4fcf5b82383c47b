"""halligan barclamp check: every kind of trouble, with its line."""
import json
import os

GOOD = "barclamp: {name: NAME}\nroles:\n  - {name: NAME-server, jig: noop}\n"


def good(bench, name, text=GOOD):
    bench.write(f"{name}/{name}.yml", text.replace("NAME", name))


def check(bench, *words):
    return bench.halligan("barclamp", "check", *words)


def lines(answer):
    return answer.out.splitlines()


def test_what_is_right_is_only_counted(bench):
    for name in ["a", "b", "c"]:
        good(bench, name)
    for words in [["."], ["a", "b", "c"], ["a:b", "c"], ["a:b:c"], ["--strict", "a:b::c:"]]:
        answer = check(bench, *words)
        assert answer.status == 0 and not answer.err, answer
        assert answer.out == "3 barclamps, 3 roles, 0 errors, 0 warnings\n", answer


def test_bad_yaml_has_its_line(bench):
    good(bench, "bad", "barclamp:\n  name: NAME\nroles:\n  - name: a\n   jig: noop\n")
    answer = check(bench, "bad")
    assert answer.status == 1, answer
    assert lines(answer)[0].startswith("bad/bad.yml:5: error: "), answer
    assert lines(answer)[1] == "0 barclamps, 0 roles, 1 error, 0 warnings", answer


def test_a_tab_and_bad_utf_8(bench):
    good(bench, "tab", "barclamp:\n\tname: tab\n")
    bench.write("latin/latin.yml", "")
    with open(bench.path("latin/latin.yml"), "wb") as file:
        file.write(b"barclamp:\n  name: latin\n  description: caf\xe9\n")
    answer = check(bench, ".")
    assert answer.status == 1 and lines(answer)[-1].startswith("0 barclamps, 0 roles, 2 errors"), answer
    for name, line in [("tab", 2), ("latin", 3)]:
        assert f"\n{name}/{name}.yml:{line}: error: " in "\n" + answer.out, (name, answer)


def test_a_repeated_key_is_a_warning_that_names_both_lines(bench):
    good(bench, "again", "barclamp:\n  name: first\n  name: NAME\n")
    answer = check(bench, "again")
    assert answer.status == 0, answer
    assert lines(answer)[-1] == "1 barclamp, 0 roles, 0 errors, 1 warning", answer
    said = lines(answer)[0]
    assert said.startswith("again/again.yml:3: warning: ") and "line 2" in said, answer


def test_a_cycle_across_files_is_reported(bench):
    good(bench, "a", "barclamp: {name: NAME}\nroles:\n  - {name: r1, jig: noop, requires: [r2]}\n")
    good(bench, "b", "barclamp: {name: NAME}\nroles:\n  - {name: r2, jig: noop, requires: [r3]}\n")
    good(bench, "c", "barclamp: {name: NAME}\nroles:\n\n  - {name: r3, jig: noop, requires: [r1]}\n")
    answer = check(bench, ".")
    assert answer.status == 1, answer
    circle = [line for line in lines(answer) if ": error: " in line]
    assert len(circle) == 1, answer
    assert all(name in circle[0] for name in ["r1 ->", "r2 ->", "r3 ->"]), answer
    # Every two of them are right: only the third closes the circle.
    assert check(bench, "a:b").status == 0 and check(bench, "b:c").status == 0


def test_a_cycle_by_attaching_is_reported(bench):
    good(bench, "a", "barclamp: {name: NAME}\nroles:\n  - {name: r1, jig: noop, requires: [r2]}\n")
    good(bench, "b", "barclamp: {name: NAME}\nroles:\n  - {name: r2, jig: noop}\n"
         "  - {name: r3, jig: noop, attaches: [r2], requires: [r1]}\n")
    answer = check(bench, ".")
    assert answer.status == 1 and "r1 -> r2 -> r3 -> r1" in answer.out, answer


def test_an_unknown_key_is_warned_about(bench):
    good(bench, "a", "barclamp:\n  name: NAME\n  mood: fine\ncolour: red\n")
    answer = check(bench, "a")
    assert answer.status == 0, answer
    assert lines(answer)[0].startswith("a/a.yml:3: warning: unknown key mood"), answer
    assert lines(answer)[1].startswith("a/a.yml:4: warning: unknown key colour"), answer
    assert lines(answer)[2] == "1 barclamp, 0 roles, 0 errors, 2 warnings", answer
    assert check(bench, "a", "--strict").status == 1


def test_who_owns_a_role_and_an_attrib(bench):
    good(bench, "a", GOOD + "attribs:\n  - {name: port}\n")
    good(bench, "b", "barclamp: {name: b}\nroles:\n  - name: a-server\n    jig: noop\nattribs:\n  - {name: port}\n")
    answer = check(bench, "a:b")
    assert answer.status == 1, answer
    assert "b/b.yml:3: error: roles/0/name: role a-server belongs to barclamp a" in lines(answer), answer
    assert "b/b.yml:6: error: attribs/0/name: attrib port belongs to a" in lines(answer), answer
    assert lines(answer)[-1] == "1 barclamp, 1 role, 2 errors, 0 warnings", answer


def test_an_attrib_twice_in_one_file_is_a_warning(bench):
    good(bench, "a", "barclamp: {name: a}\nattribs:\n  - {name: port}\n  - {name: port}\n")
    answer = check(bench, "a")
    assert answer.status == 0 and "a/a.yml:4: warning: attribs/1/name: attrib port is defined twice" in answer.out, answer


def test_a_bad_schema_has_the_line_of_its_fault(bench):
    good(bench, "a", "barclamp: {name: a}\nattribs:\n  - name: port\n    schema:\n      type: map\n      mapping:\n"
         "        x:\n          type: integer\n")
    answer = check(bench, "a")
    assert answer.status == 1 and lines(answer)[0].startswith("a/a.yml:8: error: in the schema"), answer


def test_a_default_that_does_not_fit(bench):
    good(bench, "a", "barclamp: {name: a}\nattribs:\n  - name: port\n    default: high\n    schema: {type: int}\n")
    answer = check(bench, "a")
    assert answer.status == 0 and lines(answer)[0].startswith("a/a.yml:4: warning: "), answer


def test_names_that_lead_nowhere(bench):
    good(bench, "a", "barclamp:\n  name: a\njigs:\n  - name: own\n    class: script\n    implementor: gone\n"
         "  - {name: odd, class: magic}\nroles:\n  - name: r\n    jig: sorcery\n    requires:\n      - missing\n"
         "    wants-attribs:\n      - this\n      - name: that\n    attaches: [another]\n    flags: [shiny]\n")
    answer = check(bench, "a")
    assert answer.status == 0, answer
    for line, word in [(6, "gone"), (7, "magic"), (10, "sorcery"), (12, "missing"), (14, "this"), (15, "that"),
                       (16, "another"), (17, "shiny")]:
        found = [text for text in lines(answer) if text.startswith(f"a/a.yml:{line}: warning: ")]
        assert len(found) == 1 and word in found[0], (line, word, answer)
    assert lines(answer)[-1] == "1 barclamp, 1 role, 0 errors, 8 warnings", answer


def test_what_comes_later_is_there_all_the_same(bench):
    """Two files that need each other: whichever goes first, nothing is missing at the end."""
    good(bench, "a", "barclamp: {name: a}\njigs:\n  - {name: ja, class: noop}\nroles:\n  - {name: ra, jig: jb}\n"
         "  - {name: r2, jig: ja, requires: [rb], wants-attribs: [xb]}\n")
    good(bench, "b", "barclamp: {name: b}\njigs:\n  - {name: jb, class: noop}\nroles:\n  - {name: rb, jig: ja}\n"
         "attribs:\n  - {name: xb}\n")
    for words in [["a", "b"], ["b", "a"]]:
        answer = check(bench, "--strict", *words)
        assert answer.status == 0, answer


def test_a_missing_parent_is_an_error_until_it_is_there(bench):
    good(bench, "child", "barclamp:\n  name: child\n  parent: mother\n")
    answer = check(bench, "child")
    assert answer.status == 1 and lines(answer)[0].startswith("child/child.yml:3: error: "), answer
    good(bench, "mother")
    assert check(bench, "child:mother").status == 0
    answer = check(bench, "child", "--with", "mother")
    assert answer.status == 0 and answer.out == "1 barclamp, 0 roles, 0 errors, 0 warnings\n", answer


def test_with_says_nothing_of_its_own(bench):
    good(bench, "noisy", "barclamp: {name: noisy}\ncolour: red\nroles:\n  - {name: r, jig: sorcery}\n")
    good(bench, "quiet", "barclamp: {name: quiet}\nroles:\n  - {name: q, jig: noop, requires: [r]}\n")
    assert check(bench, "quiet", "--strict").status == 1
    answer = check(bench, "quiet", "--strict", "--with", "noisy")
    assert answer.status == 0 and answer.out == "1 barclamp, 1 role, 0 errors, 0 warnings\n", answer
    answer = check(bench, "quiet", "--with=nowhere")
    assert answer.status == 3 and "nowhere" in answer.err, answer


def test_the_same_barclamp_twice(bench):
    bench.write("one/a/a.yml", "barclamp: {name: a}\n")
    bench.write("two/a/a.yml", "barclamp: {name: a}\n")
    answer = check(bench, "one:two")
    assert answer.status == 0 and "two/a/a.yml:1: warning: not read" in answer.out, answer
    assert lines(answer)[-1] == "1 barclamp, 0 roles, 0 errors, 1 warning", answer


def test_a_lua_file_that_is_wrong_has_its_line(bench):
    good(bench, "a")
    lua = "a/roles/a-server.lua"
    for text, line, word in [
        ("return {\n  on_active = function(\n}\n", 3, "expected"),
        ("local x = nil\n\nreturn { on_active = x.y }\n", 3, "nil"),
        ("error('no')\n", 1, "no"),
        ("return 7\n", 0, "table"),
        ("", 0, "table"),
        ("return { on_active = 7 }\n", 0, "on_active"),
        ("while true do end\n", None, ""),
        ("os.exit(0)\n", 1, "os"),
    ]:
        bench.write(lua, text)
        answer = check(bench, "a")
        assert answer.status == 1, (text, answer)
        where = f"{lua}:{line}: error: " if line else f"{lua}:" if line is None else f"{lua}: error: "
        assert lines(answer)[0].startswith(where) and word in lines(answer)[0], (text, answer)
        assert lines(answer)[-1] == "0 barclamps, 0 roles, 1 error, 0 warnings", (text, answer)


def test_every_hook_there_is_passes(bench):
    good(bench, "a")
    hooks = ("on_proposed on_blocked on_todo on_transition on_active on_error on_commit on_node_bind "
             "on_deployment_create on_deployment_delete on_node_create on_node_change on_node_delete "
             "sysdata template do_transition").split()
    bench.write("a/roles/a-server.lua",
                "return {" + ",".join(f"{hook} = function() end" for hook in hooks) + "}")
    answer = check(bench, "--strict", "a")
    assert answer.status == 0, answer


def test_functions_that_are_never_called(bench):
    good(bench, "a")
    bench.write("a/roles/a-server.lua", "return { on_lunch = function() end }")
    answer = check(bench, "a")
    assert answer.status == 0 and "a/roles/a-server.lua: warning: it defines on_lunch" in answer.out, answer


def test_a_lua_file_that_leads_out_is_refused(bench):
    good(bench, "a")
    bench.write("secret.lua", "return {}")
    os.mkdir(bench.path("a/roles"))
    os.symlink("../../secret.lua", bench.path("a/roles/a-server.lua"))
    answer = check(bench, "a")
    assert answer.status == 1 and "a/a.yml:3: error: the Lua file of role a-server" in answer.out, answer


def test_files_of_roles_that_are_not_there(bench):
    good(bench, "a")
    bench.write("a/roles/a-sever.lua", "return {}")
    bench.write("a/roles/notes.txt", "not ours to judge")
    bench.write("a/scripts/old/10.sh", "exit 0")
    bench.write("a/script/roles/older/10.sh", "exit 0")
    bench.write("a/scripts/a-server/10.sh", "exit 0")
    answer = check(bench, "a")
    assert answer.status == 0, answer
    assert [line.split(": warning")[0] for line in lines(answer)[:-1]] == [
        "a/roles/a-sever.lua", "a/script/roles/older", "a/scripts/old"], answer


def test_a_file_that_does_not_read_makes_no_orphans(bench):
    """Its roles are unknown, so no file is reported."""
    bench.write("co/crowbar.yml", "barclamp: {name: co}\n")
    bench.write("co/barclamps/fine.yml", "barclamp: {name: fine, parent: co}\n")
    bench.write("co/barclamps/bad.yml", "barclamp: {name: bad, parent: co}\nroles: [\n")
    bench.write("co/roles/bad-server.lua", "return {}")
    answer = check(bench, "co")
    assert answer.status == 1 and "bad-server" not in answer.out, answer
    bench.write("co/barclamps/bad.yml", "barclamp: {name: bad, parent: co}\n")
    answer = check(bench, "co")
    assert answer.status == 0 and "co/roles/bad-server.lua: warning: " in answer.out, answer


SCRIPTED = "barclamp: {name: a}\nroles:\n  - name: a-server\n    jig: script\n"


def test_a_role_of_scripts_without_any(bench):
    good(bench, "a", SCRIPTED)
    answer = check(bench, "a")
    assert answer.status == 0 and lines(answer)[0].startswith("a/a.yml:4: warning: role a-server runs scripts"), answer
    os.makedirs(bench.path("a/scripts/a-server/data"))
    answer = check(bench, "a")
    assert "a/a.yml:4: warning: role a-server runs scripts, but there is none in " in answer.out, answer
    bench.write("a/scripts/a-server/10-go.sh", "exit 0")
    answer = check(bench, "--strict", "a")
    assert answer.status == 0, answer


def test_scripts_of_a_checkout(bench):
    bench.write("co/crowbar.yml", "barclamp: {name: co}\nroles:\n  - {name: r, jig: script}\n")
    bench.write("co/script/roles/r/01.sh", "exit 0")
    answer = check(bench, "--strict", "co")
    assert answer.status == 0, answer


def test_scripts_that_are_never_run(bench):
    good(bench, "a", SCRIPTED)
    bench.write("a/scripts/a-server/10-go", "exit 0", 0o644)
    answer = check(bench, "a")
    assert answer.status == 0 and "a/scripts/a-server/10-go: warning: never run" in answer.out, answer
    os.chmod(bench.path("a/scripts/a-server/10-go"), 0o755)
    answer = check(bench, "--strict", "a")
    assert answer.status == 0, answer


def test_scripts_that_cannot_be_read(bench):
    good(bench, "a", SCRIPTED)
    bench.write("a/scripts/a-server/10-go.sh", "exit 0", 0o000)
    os.symlink("nowhere", bench.path("a/scripts/a-server/20-link.sh"))
    answer = bench.halligan_as_nobody("barclamp", "check", "a")
    assert answer.status == 1, answer
    assert "a/scripts/a-server/10-go.sh: error: the script cannot be read: Permission denied" in answer.out, answer
    assert "a/scripts/a-server/20-link.sh: error: the script cannot be read: No such file" in answer.out, answer


def test_a_role_that_brings_its_own_work(bench):
    good(bench, "a", "barclamp: {name: a}\nroles:\n  - name: a-server\n    jig: role-provided\n")
    answer = check(bench, "a")
    assert answer.status == 0 and lines(answer)[0].startswith("a/a.yml:4: warning: role a-server has a jig of class role-provided"), answer
    bench.write("a/roles/a-server.lua", "return { do_transition = function() end }")
    assert check(bench, "--strict", "a").status == 0


def test_a_jig_of_ones_own_is_judged_by_its_class(bench):
    good(bench, "a", "barclamp: {name: a}\njigs:\n  - {name: mine, class: BarclampCrowbar::Jig}\n"
         "roles:\n  - {name: r, jig: mine}\n")
    answer = check(bench, "a")
    assert answer.status == 0 and "role r runs scripts" in answer.out, answer


def test_json_documents_are_read_too(bench):
    bench.write("shelf/x.json", json.dumps({"barclamp": {"name": "x"}, "roles": [
        {"name": "x-server", "jig": "noop", "requires": ["missing"]}]}))
    answer = check(bench, "shelf")
    assert answer.status == 0, answer
    assert lines(answer)[0].startswith("shelf/x.json: warning: role x-server requires role missing"), answer
    bench.write("shelf/y.json", '{"barclamp": {"name": "y"},\n "roles": [}')
    answer = check(bench, "shelf")
    assert answer.status == 1 and "shelf/y.json:2: error: not valid JSON" in answer.out, answer


def test_an_empty_directory(bench):
    os.mkdir(bench.path("empty"))
    answer = check(bench, "empty")
    assert answer.status == 3 and "empty: warning: there is no barclamp in this directory" in answer.out, answer
    answer = check(bench, "nowhere")
    assert answer.status == 3 and "nowhere: error: the directory cannot be read: No such file" in answer.out, answer
    bench.write("file", "")
    answer = check(bench, "file")
    assert answer.status == 3 and "Not a directory" in answer.out, answer
    good(bench, "a")
    assert check(bench, "a:nowhere").status == 3
    assert check(bench, "a:empty").status == 0


def test_a_directory_that_may_not_be_read(bench):
    bench.write("shelf/a/a.yml", "barclamp: {name: a}\n")
    os.chmod(bench.path("shelf"), 0o000)
    answer = bench.halligan_as_nobody("barclamp", "check", "shelf")
    os.chmod(bench.path("shelf"), 0o755)
    assert answer.status == 3 and "Permission denied" in answer.out, answer


def test_a_file_that_may_not_be_read(bench):
    good(bench, "a")
    os.chmod(bench.path("a/a.yml"), 0o000)
    answer = bench.halligan_as_nobody("barclamp", "check", "a")
    assert answer.status == 1, answer
    assert "a/a.yml: error: the file cannot be read: Permission denied" in answer.out, answer


def test_json_output(bench):
    good(bench, "a", "barclamp:\n  name: a\ncolour: \"red\\n\"\nroles:\n  - name: r\n    jig: \"x y\"\n")
    good(bench, "b")
    for words in [["-o", "json"], ["-ojson"], ["--output=json"]]:
        answer = check(bench, ".", *words)
        assert answer.status == 1, answer
        said = json.loads(answer.out)
        assert sorted(said) == ["barclamps", "entries", "errors", "roles", "warnings"], said
        assert (said["barclamps"], said["roles"], said["errors"], said["warnings"]) == (1, 1, 1, 1), said
        warning, error = said["entries"]
        assert warning["severity"] == "warning" and warning["line"] == 3 and warning["column"] == 1, said
        assert error["severity"] == "error" and error["line"] == 6 and error["column"] == 5, said
        assert error["file"] == bench.path("a/a.yml") and "jig" in error["text"], said
    clean = json.loads(check(bench, "b", "-o", "json").out)
    assert clean == {"barclamps": 1, "entries": [], "errors": 0, "roles": 1, "warnings": 0}, clean


def test_text_cannot_play_with_the_terminal(bench):
    good(bench, "a", 'barclamp: {name: a}\n"\\e[31mred": 1\n')
    answer = check(bench, "a")
    assert "\x1b" not in answer.out and "?[31mred" in answer.out, answer


def test_paths_are_shown_from_where_one_is(bench):
    bench.write("shelf/a/a.yml", "barclamp: {name: a}\ncolour: red\n")
    assert lines(check(bench, "shelf"))[0].startswith("shelf/a/a.yml:2: "), "below"
    answer = bench.halligan("barclamp", "check", ".", cwd="shelf/a")
    assert lines(answer)[0].startswith("a.yml:2: "), answer
    os.mkdir(bench.path("other"))
    answer = bench.halligan("barclamp", "check", "../shelf", cwd="other")
    assert lines(answer)[0].startswith(bench.path("shelf/a/a.yml") + ":2: "), answer


def test_everything_is_said_in_the_order_of_files_and_lines(bench):
    for name in ["b", "a"]:
        good(bench, name, "barclamp:\n  name: NAME\n  mood: fine\nroles:\n  - {name: NAME-r, jig: odd}\n"
             "colour: red\n")
    places = [line.split(": ")[0] for line in lines(check(bench, "b:a"))[:-1]]
    assert places == ["a/a.yml:3", "a/a.yml:5", "a/a.yml:6", "b/b.yml:3", "b/b.yml:5", "b/b.yml:6"], places


def test_nothing_is_changed(bench):
    good(bench, "a", SCRIPTED)
    before = bench.everything()
    check(bench, "a")
    assert bench.everything() == before


def test_the_shipped_barclamps_have_no_errors(bench):
    answer = check(bench, bench.root + "/barclamps")
    assert answer.status == 0, answer


def test_an_error_names_the_field_that_is_wrong(bench):
    good(bench, "a", "barclamp: {name: NAME}\nroles:\n"
         "  - {name: r1, jig: noop, deadline: 30s}\n"
         "  - {name: r2, jig: noop, attempts: few}\n"
         "attribs:\n"
         "  - {name: a-size, schema: {type: blue}}\n"
         "  - {name: a-kind, schema: {type: green}}\n")
    answer = check(bench, "a")
    for line, word in [(3, "deadline"), (4, "attempts"), (6, "a-size"), (7, "a-kind")]:
        (said,) = [x for x in lines(answer) if x.startswith(f"a/a.yml:{line}: error: ")]
        assert word in said and "priority" not in said, said


def test_what_was_meant_is_named(bench):
    good(bench, "a", "barclamp: {name: NAME}\nroles:\n"
         "  - {name: a-server, jig: scrpt, requries: [x]}\n"
         "  - {name: a-client, jig: puppet, requires: [a-servr], wants-attribs: [a-sise], flags: [implict]}\n"
         "attribs:\n  - {name: a-size}\n")
    bench.write("a/roles/a-client.lua", "return { on_activ = function() end }\n")
    answer = check(bench, "a")
    for meant in ["script", "requires", "a-server", "a-size", "implicit", "on_active", "puppet-sa"]:
        assert f"did you mean {meant}?" in answer.out, (meant, answer)


def test_a_cycle_says_who_waits_for_whom_and_what_to_do(bench):
    good(bench, "a", "barclamp: {name: NAME}\nroles:\n  - {name: r1, jig: noop, requires: [r2]}\n"
         "  - {name: r2, jig: noop, requires: [r1]}\n")
    answer = check(bench, "a")
    assert answer.status == 1 and "r1 -> r2 -> r1" in answer.out, answer
    assert "requires" in answer.out and "remove one" in answer.out, answer


def test_what_lua_does_not_have_in_hooks(bench):
    for name in ["os", "io"]:
        good(bench, name)
        bench.write(f"{name}/roles/{name}-server.lua", f"{name}.exit()\nreturn {{}}\n")
        answer = check(bench, name)
        assert answer.status == 1 and f"{name} is not available in hooks" in answer.out, answer


def test_a_barclamp_under_another_name_is_reported(bench):
    bench.write("shelf/motd/modt.yml", "barclamp: {name: motd}\n")
    bench.write("shelf/docs/notes.yml", "some: words\n")
    good(bench, "good")
    answer = check(bench, "shelf", "good", "-o", "json")
    entries = json.loads(answer.out)["entries"]
    assert [(e["code"], os.path.basename(e["file"])) for e in entries if e["code"] == "name_differs"] == \
        [("name_differs", "modt.yml")], entries


def test_uploads_say_what_is_missing(bench):
    good(bench, "up_a", "barclamp: {name: NAME}\nroles:\n  - {name: NAME-1, jig: script}\n  - {name: NAME-2, jig: noop}\n")
    answer = bench.online("barclamps", "upload", bench.path("up_a"))
    assert answer.status == 2 and "up_a/up_a.yml" in answer.err and "--barclamps" in answer.err, answer
    bench.daemon.client().post("barclamps", {"value": "barclamp: {name: up_jigs}\njigs: [{name: script, class: script}]\n"})
    answer = bench.online("barclamps", "upload", bench.path("up_a/up_a.yml"))
    assert answer.status == 0 and "[script_missing]" in answer.err and "up_a-1" in answer.err, answer
    assert "up_a-2" not in answer.err, answer
    # Lua and scripts next to the file are not sent, which is said even where the daemon misses nothing.
    assert "not sent: " not in answer.err, answer
    bench.write("up_d/up_d.yml", "barclamp: {name: up_d}\nroles: [{name: up_d-server, jig: noop}]\n")
    bench.write("up_d/roles/up_d-server.lua", "return {}\n")
    bench.write("up_d/puppet/modules/m/init.pp", "")
    answer = bench.online("barclamps", "upload", bench.path("up_d/up_d.yml"))
    assert answer.status == 0 and "not sent: puppet roles" in answer.err, answer
    # The file that is named is one that is there: a checkout of OpenCrowbar has crowbar.yml.
    bench.write("up_e/crowbar.yml", "barclamp: {name: up_e}\n")
    answer = bench.online("barclamps", "upload", bench.path("up_e") + "/")
    assert answer.status == 2 and "up_e/crowbar.yml" in answer.err and "up_e/up_e.yml" not in answer.err, answer
    answer = bench.online("barclamps", "upload", bench.path("up_e/.."))
    assert answer.status == 2 and ".yml" not in answer.err, answer
    answer = bench.daemon.client().post("barclamps", {"value": "barclamp: {name: up_b}\nroles: [{name: up_b-1, jig: noop, colour: red}]\n"})
    assert [w["code"] for w in answer.json()["warnings"]] == ["unknown_key"], answer
    answer = bench.daemon.client().post("barclamps", {"value": "barclamp: {name: up_c}\n"})
    assert answer.status == 200 and "warnings" not in answer.json(), answer
