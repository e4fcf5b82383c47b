"""The script jig on this machine, with the shells that machines have."""
import json
import os
import stat

from bench import USUAL_PATH, busybox_path, tool_path

AWKWARD = {
    "plain": "text",
    "quotes": "it's a \"quoted\" `thing` $(id) \\ $HOME",
    "lines": "one\ntwo\n\tthree",
    "far": "\u00e4\u00f6\u00fc \u20ac \u65e5\u672c \U0001f600",
    "signs": "%{x} {{ y }} <%= z %> %s %d",
    "empty": "",
    "yes": True,
    "no": False,
    "number": 42,
    "small": -1.5e-3,
    "nothing": None,
    "list": ["a", {"b": "c"}, []],
    "deep": {"er": {"still": "there"}},
    "a/b": {"50%": "slash and percent"},
    "control": "\u0001\u001f\u007f\u0085\u2028",
}


def shells(bench):
    """(name, PATH) of each environment; busybox counts when it is installed."""
    found = {"dash": USUAL_PATH, "busybox": busybox_path(bench.folder)}
    return {name: path for name, path in found.items() if path}


def test_scripts_run_in_the_order_of_their_names_and_what_they_say_is_the_log(bench):
    role = bench.scripts("order", s20="echo twenty >&2", s10="echo ten", s05="echo five")
    for path in shells(bench).values():
        done = bench.run(role, path=path)
        assert done["result"] == "ok" and done["wall"] == {}, done
        words = [word for word in done["log"].split() if word in ("five", "ten", "twenty")]
        assert words == ["five", "ten", "twenty"], done["log"]
        assert done["runlog"] == done["log"], done


def test_the_first_failure_stops_all_and_every_command_counts(bench):
    mark = os.path.join(bench.folder, "mark")
    role = bench.scripts("fails", s10="false\ntrue", s20=f"touch '{mark}'")
    for path in shells(bench).values():
        done = bench.fails("a script of role fails ended with status 1", role, path=path)
        assert not os.path.exists(mark) and "wall" not in done, done


def test_bash_is_used_where_a_script_asks_for_it(bench):
    role = bench.scripts("bash", s10="#!/bin/bash\na=(1 2 3)\nwrite_attribute n ${#a[@]}")
    assert bench.wall(role) == {"n": 3}


def test_data_reach_scripts_unchanged(bench):
    """By command, by file and as the document; texts through the shell lose their last line ends."""
    copy = os.path.join(bench.folder, "copy")
    role = bench.scripts(
        "data",
        s10=f"""cp attrs.json '{copy}.json'
            rm -rf '{copy}'; cp -r values '{copy}'
            for name in plain quotes lines far signs control; do
                read_attribute $name > '{copy}/'$name.read
            done
            ! read_attribute nothing
            ! read_attribute absent
            [ "$(read_attribute empty)" = "" ]
            [ "$(read_attribute 'a%2Fb/50%25')" = "slash and percent" ]
            [ "$(get_keys list | tr '\\n' ,)" = 0,1,2, ]
            [ "$(read_attribute list/1/b)" = c ]
            flat_attributes deep > '{copy}/flat'""",
    )
    for name, path in shells(bench).items():
        done = bench.run(role, data=AWKWARD, path=path)
        assert done["result"] == "ok", (name, done)
        with open(copy + ".json", encoding="utf-8") as file:
            assert json.load(file) == AWKWARD, name
        for key, value in AWKWARD.items():
            file_name = os.path.join(copy, key.replace("%", "%25").replace("/", "%2F"))
            if value is None:
                assert not os.path.exists(file_name), key
            elif not isinstance(value, (dict, list)):
                with open(file_name, "rb") as file:
                    wanted = value if isinstance(value, str) else json.dumps(value)
                    assert file.read().decode() == wanted or key == "small", (name, key)
        for key in ("plain", "quotes", "lines", "far", "signs", "control"):
            with open(f"{copy}/{key}.read", "rb") as file:
                assert file.read().decode() == AWKWARD[key] + "\n", (name, key)
        with open(copy + "/list/1/b", encoding="utf-8") as file:
            assert file.read() == "c"
        with open(copy + "/a%2Fb/50%25", encoding="utf-8") as file:
            assert file.read() == "slash and percent"
        with open(copy + "/flat", encoding="utf-8") as file:
            assert file.read() == "er/still\tthere\n"


def test_large_data_arrive(bench):
    """More values than there are files for, and a text of a megabyte."""
    data = {"many": {f"key{i}": i for i in range(5000)}, "long": "x" * (1 << 20)}
    role = bench.scripts(
        "large",
        s10="""[ ! -e values ]
            [ $(read_attribute long | wc -c) -eq 1048577 ]
            [ $(get_keys many | wc -l) -eq 5000 ]
            write_attribute sum $(flat_attributes many | awk '{ s += $2 } END { print s }')""",
    )
    for path in shells(bench).values():
        assert bench.wall(role, data=data, path=path) == {"sum": 12497500}


def test_what_scripts_write_is_the_wall(bench):
    role = bench.scripts(
        "writes",
        s10="""write_attribute yes TRUE
            write_attribute no False
            write_attribute n 42
            write_attribute minus -7
            write_attribute octal 007
            write_attribute hex cafe
            write_attribute version 1.5
            write_attribute a/b/c text
            write_attribute 'a/x%2Fy%25z' slash
            write_attribute list '[1, "2", null]'
            write_attribute map '{"k": {"l": true}}'
            write_attribute broken '{not json'
            write_attribute empty ''
            write_attribute quote "it's \\"it\\""
            write_attribute lines 'one
two'
            write_attribute far '\u20ac\U0001f600'""",
        s20="write_attribute n 43\nmkdir -p attrs/direct\necho by hand > attrs/direct/wall",
    )
    wanted = {
        "yes": True, "no": False, "n": 43, "minus": -7, "octal": "007", "hex": "cafe",
        "version": "1.5", "a": {"b": {"c": "text"}, "x/y%z": "slash"}, "list": [1, "2", None],
        "map": {"k": {"l": True}}, "broken": "{not json", "empty": "", "quote": "it's \"it\"",
        "lines": "one\ntwo", "far": "\u20ac\U0001f600", "direct": "by hand",
    }
    for path in shells(bench).values():
        assert bench.wall(role, path=path) == wanted


def test_names_of_any_kind_and_very_many_of_them_come_back(bench):
    long = "/".join(f"{'n' * 90}{i}" for i in range(5))
    name = "n" * 80  # all of them are more than one command line takes
    role = bench.scripts(
        "names",
        s10=f"""write_attribute "a b 'c' \\"d\\" *" 1
            mkdir -p 'attrs/two
lines' && echo 2 > 'attrs/two
lines/wall'
            write_attribute '{long}' long
            write_attribute wall/wall both
            seq 0 2999 | sed 's|.*|attrs/many/{name}&|' | xargs mkdir -p
            i=0
            while [ $i -lt 3000 ]; do
                echo $i > attrs/many/{name}$i/wall; i=$((i + 1))
            done""",
    )
    for path in shells(bench).values():
        wall = bench.wall(role, path=path)
        assert wall["a b 'c' \"d\" *"] == 1 and wall["two\nlines"] == 2, wall.keys()
        assert wall["wall"] == {"wall": "both"}
        assert wall["many"] == {f"{name}{i}": i for i in range(3000)}
        for step in long.split("/"):
            wall = wall[step]
        assert wall == "long"


def test_links_and_other_things_on_the_wall_are_passed_over(bench):
    role = bench.scripts(
        "links",
        s10="""write_attribute a one
            mkdir -p attrs/b attrs/c attrs/d attrs/e/wall attrs/f
            ln attrs/a/wall attrs/b/wall
            ln -s /etc/passwd attrs/c/wall
            mkfifo attrs/d/wall
            ln -s / attrs/f/up
            echo lost > attrs/f/other""",
    )
    for path in shells(bench).values():
        assert bench.wall(role, path=path) == {"a": "one", "b": "one"}


def test_a_wall_that_is_none_fails_the_run_with_a_reason(bench):
    deep = "/".join(["d"] * 60)
    for text, part in (
        ("mkdir -p attrs/bin && printf 'a\\0b' > attrs/bin/wall", '"bin": its value is not UTF-8 text'),
        ("mkdir -p attrs/bin && printf '\\377' > attrs/bin/wall", '"bin": its value is not UTF-8 text'),
        ("n=$(printf '\\377'); write_attribute $n 1", "its name is not UTF-8 text"),
        ("write_attribute a 1; write_attribute a/b 2", '"a/b": another value has the same path or is part of it'),
        (f"write_attribute {deep} 1", "it is nested too deeply"),
        ("mkdir -p attrs/a; head -c 2000000 /dev/zero | tr '\\0' x > attrs/a/wall", "too much"),
        ("mkdir attrs; echo text > attrs/wall", "not as an object"),
        ("mkdir -p attrs/a; i=0; while [ $i -lt 60 ]; do printf '['; i=$((i + 1)); done"
         "> attrs/a/wall; while [ $i -gt 0 ]; do printf ']'; i=$((i - 1)); done >> attrs/a/wall",
         "more than 48 levels"),
    ):
        role = bench.scripts("hostile", s10=text)
        for path in shells(bench).values():
            done = bench.fails(part, role, path=path)
            assert "wall" not in done and done["power"] == "", done


def test_a_result_channel_that_overflowed_is_not_taken_in_part(bench):
    job = bench.job(bench.scripts("much", s10="write_attribute a 1"))
    started = bench.start(job)
    end = started.wait()
    end["out_dropped"] = True
    done = bench.conclude(job, started, end)
    assert done["result"] == "failed" and "too much" in done["runlog"], done


def test_a_script_asks_for_its_machine_by_how_it_ends(bench):
    for code, wanted in (
        (16, ("ok", True, False, "", 0)),
        (32, ("ok", False, True, "off", 0)),
        (64, ("ok", False, True, "reboot", 0)),
        (80, ("ok", True, True, "reboot", 0)),
        (128, ("parked", False, False, "", 3600000)),
        (192, ("parked", False, True, "reboot", 3600000)),
        (17, ("failed", False, False, "", 0)),
        (255, ("failed", False, False, "", 0)),
    ):
        role = bench.scripts("ends", s10=f"write_attribute a 1; exit {code}", s20="exit 3")
        for path in shells(bench).values():
            done = bench.run(role, path=path)
            fields = ("result", "stop", "node_dead", "power", "park_ms")
            assert tuple(done[field] for field in fields) == wanted, (code, done)
            assert done.get("wall") == (None if wanted[0] == "failed" else {"a": 1}), (code, done)


def test_a_script_says_how_long_its_run_parks(bench):
    for seconds, park_ms in ((1, 1000), (90, 90000), (604800, 604800000), (0, 3600000),
                             (604801, 3600000), (-1, 3600000)):
        role = bench.scripts("parks", s10=f"park_for {seconds}; exit 128")
        for path in shells(bench).values():
            done = bench.run(role, path=path)
            assert (done["result"], done["park_ms"]) == ("parked", park_ms), (seconds, done)
            assert done["wall"] == {}, done
    role = bench.scripts("values", s10="park_for 7; write_attribute a 1; exit 128")
    for path in shells(bench).values():
        done = bench.run(role, path=path)
        assert (done["park_ms"], done["wall"]) == (7000, {"a": 1}), done
    role = bench.scripts("ends", s10="park_for 7")
    for path in shells(bench).values():
        done = bench.run(role, path=path)
        assert (done["result"], done["park_ms"]) == ("ok", 0), done
    role = bench.scripts("odd", s10="park_for soon; exit 128")
    for path in shells(bench).values():
        bench.fails("a script of role odd ended with status 1", role, path=path)


def test_a_script_that_is_killed_has_failed(bench):
    for name, code in (("KILL", 137), ("TERM", 143), ("SEGV", 139)):
        role = bench.scripts("killed", s10=f"kill -{name} $$")
        for path in shells(bench).values():
            bench.fails(f"status {code}", role, path=path)


def test_the_end_of_a_process_becomes_a_sentence(bench):
    role = bench.scripts("sleeps", s10="echo at it; sleep 1000")
    for how, part in (("deadline", "took longer than it may"), ("cancelled", "was cancelled")):
        job = bench.job(role)
        started = bench.start(job)
        while "at it" not in started.log():
            assert started.process.poll() is None
        done = bench.conclude(job, started, started.stop(how))
        assert done["result"] == "failed" and part in done["runlog"], done
        assert done["runlog"].startswith("== 10.sh\nat it\n"), done
        left = os.listdir(job["scratch"])
        assert left == [], left


def test_scripts_find_their_own_files_as_they_were(bench):
    role = bench.scripts("files", s10="./tool 'a b' && [ ! -e .hidden ] && cat sub/text && ls -l")
    bench.write("scripts/files/tool", "#!/bin/sh\nwrite_attribute said \"$1\"\n", 0o750)
    bench.write("scripts/files/sub/text", "below")
    bench.write("scripts/files/.hidden", "")
    bench.write("shared/lib.sh", "from_library=yes\n")
    os.symlink("../../shared/lib.sh", os.path.join(bench.source, "scripts/files/lib"))
    bench.scripts("files", s20='. ./lib; write_attribute library $from_library')
    for path in shells(bench).values():
        done = bench.run(role, path=path)
        assert done["result"] == "ok", done
        assert done["wall"] == {"said": "a b", "library": "yes"}, done
        assert "below" in done["log"] and "rwxr-x---" in done["log"], done["log"]


def test_what_cannot_be_sent_is_refused_with_a_sentence(bench):
    role = bench.scripts("odd", s10="true")
    folder = os.path.join(bench.source, "scripts/odd")

    def check(part):
        why = bench.refusal(bench.job(role))
        assert part in why, why

    os.symlink("/etc/passwd", folder + "/out")
    check("is a link to something other than a file of its barclamp")
    os.unlink(folder + "/out")
    os.symlink("nowhere", folder + "/out")
    check("is a link to nothing")
    os.unlink(folder + "/out")
    os.symlink("..", folder + "/out")
    check("is a link to something other than a file")
    os.unlink(folder + "/out")
    os.mkfifo(folder + "/pipe")
    check("is neither a file nor a folder")
    os.unlink(folder + "/pipe")
    bench.write("scripts/odd/" + "n" * 150, "")
    check("its name is too long")
    os.unlink(folder + "/" + "n" * 150)
    bench.write("scripts/odd/attrs.json", "")
    check("the jig uses this name itself")
    os.unlink(folder + "/attrs.json")
    bench.wall(role)


def test_a_role_without_scripts_is_refused_with_a_sentence(bench):
    bench.scripts("empty", s10="true")
    os.rename(os.path.join(bench.source, "scripts/empty/10.sh"),
              os.path.join(bench.source, "scripts/empty/10.txt"))
    assert "role empty has no scripts: there is no *.sh" in bench.refusal(bench.job("empty"))
    assert "role absent has no scripts: there is no" in bench.refusal(bench.job("absent"))
    assert "role ../up has no scripts" in bench.refusal(bench.job("../up"))
    gone = bench.job("empty", source_path="/nowhere/at/all")
    assert bench.refusal(gone) == (
        "the files of barclamp test do not exist any more: there is no /nowhere/at/all")
    other = bench.job("empty", jig_class="chef")
    assert bench.refusal(other) == "this build has no runner for jigs of class chef"


def test_scripts_of_a_checkout_are_found(bench):
    bench.write("script/roles/old/01-old.sh", "write_attribute old true")
    assert bench.wall("old", jig_class="BarclampCrowbar::Jig") == {"old": True}


def test_the_log_is_shown_by_its_end_and_says_what_is_left_out(bench):
    role = bench.scripts("loud", s10="i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i + 1)); "
                                     "done; printf '\\033[31m\\377\\000\\n'; exit 5")
    done = bench.run(role)
    assert len(done["runlog"].encode()) <= 2048, len(done["runlog"])
    first, *lines = done["runlog"].split("\n")
    kept = "\n".join(lines[:-1]) + "\n"
    # what is no text is one byte in the log, and three where we read it
    left_out = len(done["log"].encode()) - 2 - len(kept)
    assert first == f"[{left_out} bytes before this are left out]", first
    assert lines[-2] == "?[31m??", lines[-3:]
    assert lines[-1] == "a script of role loud ended with status 5", lines[-1]
    assert "line 999" in lines


def test_a_missing_program_is_named(bench):
    role = bench.scripts("tools", s10="true")
    nothing = tool_path(bench.folder, {})
    assert bench.refusal(bench.job(role, path=nothing)) == "sh is not installed here"
    assert bench.drive("tools", "script", USUAL_PATH) == {}
    assert bench.drive("tools", "AnsibleJig", USUAL_PATH) == {}
    assert bench.drive("tools", "noop", nothing) == {}
    for klass, programs, missing, package in (
        ("script", {"sh": "/bin/sh"}, "tar", "tar"),
        ("puppet", {"sh": "/bin/sh", "tar": "/bin/tar"}, "ssh", "openssh-client"),
        ("ansible", {"sh": "/bin/sh", "tar": "/bin/tar"}, "ansible-playbook", "ansible-core"),
    ):
        path = "relative::" + tool_path(bench.folder, programs)
        wanted = {"refused": f"{missing} is not installed here (package {package})",
                  "reason": "tool_missing", "reason_subject": missing}
        assert bench.drive("tools", klass, path) == wanted, klass


def test_the_directory_of_a_run_is_ours_alone_and_goes_with_it(bench):
    role = bench.scripts("place", s10='stat -c %a "$HALLIGAN_PLACE" . > "$TMPDIR/modes"\nenv')
    job = bench.job(role)
    os.chmod(job["scratch"], stat.S_IRWXU)
    started = bench.start(job)
    assert started.wait() == {"how": "exited", "code": 0}, started.log()
    with open(os.path.join(job["scratch"], "modes"), encoding="ascii") as file:
        assert file.read() == "700\n755\n"
    assert os.listdir(job["scratch"]) == ["modes"]
