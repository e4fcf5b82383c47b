"""The puppet jig with the real puppet."""
import os

from bench import USUAL_PATH, tool_path
from sshd import Server

NODE = "n1.example.com"


def puppet_path(bench):
    """Puppet with a state of its own, so that nothing is written where the system's is."""
    path = tool_path(bench.folder, {})
    wrapper = os.path.join(path, "puppet")
    with open(wrapper, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nverb=$1\nshift\nexec /usr/bin/puppet $verb --vardir={path}/var "
                   f"--confdir={path}/conf \"$@\"\n")
    os.chmod(wrapper, 0o755)
    return f"{path}:{USUAL_PATH}"


AWKWARD = {
    "text": "it's \"so\" $x ${y} %{facts.os} {{ z }} \\ \u20ac\U0001f600\nnext",
    "deep": {"list": [1, True, None, "a"]},
    "empty": "",
}


def test_manifests_and_modules_are_applied_with_the_data_as_fact_and_as_hiera(bench):
    out = os.path.join(bench.folder, "out")
    bench.write("puppet/roles/web/init.pp", f"""
        file {{ '{out}.fact': content => $facts['halligan']['text'] }}
        file {{ '{out}.hiera': content => lookup('text') }}
        file {{ '{out}.list': content => String($facts['halligan']['deep']['list']) }}
        file {{ '{out}.dug': content => String(lookup('deep.list.1')) }}
        file {{ '{out}.node': content => $trusted['certname'] }}
        """)
    bench.write("puppet/roles/web/more.pp", f"class {{ 'ours': path => '{out}.module' }}")
    bench.write("puppet/modules/ours/manifests/init.pp", """
        class ours(String $path) { file { $path: content => epp('ours/text.epp') } }""")
    bench.write("puppet/modules/ours/templates/text.epp", "from <%= 1 + 1 %>")
    path = puppet_path(bench)
    wall = bench.wall("web", jig_class="puppet-sa", data=AWKWARD, path=path)["puppet"]

    def text(name):
        with open(f"{out}.{name}", encoding="utf-8") as file:
            return file.read()

    assert text("fact") == text("hiera") == AWKWARD["text"]
    assert text("list").startswith("[1, true, ") and text("list").endswith(", 'a']"), text("list")
    assert (text("dug"), text("node"), text("module")) == ("true", NODE, "from 2")
    assert wall["resources"]["changed"] == 6 and wall["resources"]["failed"] == 0, wall
    assert wall["version"]["puppet"] and wall["time"]["last_run"] > 0, wall
    again = bench.wall("web", jig_class="puppet", data=AWKWARD, path=path)["puppet"]
    assert again["resources"]["changed"] == 0, again


def test_what_fails_in_puppet_fails_the_run_and_the_wall_says_what(bench):
    path = puppet_path(bench)
    bench.write("puppet/roles/bad/init.pp", "exec { '/bin/false': }\nnotify { 'x': }")
    done = bench.fails("resources in the manifests of role bad failed", "bad", jig_class="puppet",
                       path=path)
    assert done["wall"]["puppet"]["resources"]["failed"] == 1, done
    assert (done["reason"], done["reason_subject"]) == ("puppet_resources", "bad"), done
    bench.write("puppet/roles/worse/init.pp", "this is no manifest {")
    done = bench.fails("puppet could not apply the manifests of role worse", "worse",
                       jig_class="puppet", path=path)
    assert "Syntax error" in done["log"], done


def test_what_is_missing_for_puppet_is_named(bench):
    job = bench.job("none", jig_class="puppet")
    why = bench.refusal(job)
    assert why.startswith("role none has no manifests: there is no *.pp in "), why
    bench.write("puppet/roles/web/init.pp", "notify { 'x': }")
    programs = {name: f"/bin/{name}" for name in ("sh", "tar", "mktemp", "rm", "cat", "tr", "grep")}
    done = bench.fails("puppet could not apply", "web", jig_class="puppet",
                       path=tool_path(bench.folder, programs))
    assert "puppet is not installed on this machine (package puppet-agent)" in done["log"], done
    gone = bench.job("web", jig_class="puppet", source_path="/nowhere")
    assert "the files of barclamp test do not exist any more" in bench.refusal(gone)


def test_puppet_runs_on_the_node_over_ssh(bench):
    out = os.path.join(bench.folder, "there")
    server = Server(bench, path=puppet_path(bench))
    server.pin(bench, NODE)
    bench.write("puppet/roles/far/init.pp",
                f"file {{ '{out}': content => $facts['halligan']['text'] }}")
    done = bench.run("far", jig_class="puppet", data=AWKWARD, transport=server.transport())
    assert done["result"] == "ok" and done["wall"]["puppet"]["resources"]["changed"] == 1, done
    with open(out, encoding="utf-8") as file:
        assert file.read() == AWKWARD["text"]
    assert os.listdir(server.tmp) == []
    bench.fails("nothing listens there", "far", jig_class="puppet",
                transport=server.transport(port=1, control_path=""))
