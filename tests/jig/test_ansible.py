"""The ansible jig with the real ansible-playbook."""
import json
import os

from bench import tool_path
from sshd import Server, make_key
from test_script import AWKWARD

NODE = "n1.example.com"


def plain_source(bench):
    """Ansible replaces "$HOME" in every path."""
    bench.source = os.path.join(bench.folder, "it's a \"source\"")
    os.mkdir(bench.source)


def play(tasks, hosts="all"):
    return json.dumps([{"hosts": hosts, "gather_facts": False, "tasks": tasks}])


def copies(out):
    return [{"name": "write", "ansible.builtin.copy": {
        "dest": out, "content": "{{ halligan | to_json }}", "mode": "0600"}}]


def test_a_playbook_gets_the_data_unchanged_and_its_counts_are_the_wall(bench):
    plain_source(bench)
    out = os.path.join(bench.folder, "out")
    bench.write("ansible/roles/web.yml", play(copies(out)))
    data = dict(AWKWARD, power=1e5, long={"k" * 2000: "v"}, braces="{{ lookup('pipe', 'id') }}")
    data["<<"] = {"merge": "no"}
    data["__ansible_unsafe"] = "a key as any other"
    wall = bench.wall("web", jig_class="ansible", data=data)
    assert wall["ansible"][NODE]["ok"] == 1 and wall["ansible"][NODE]["changed"] == 1, wall
    with open(out, encoding="utf-8") as file:
        assert json.load(file) == data
    wall = bench.wall("web", jig_class="AnsibleJig", data=data)
    assert wall["ansible"][NODE]["changed"] == 0, wall


def test_roles_beside_a_playbook_are_found(bench):
    plain_source(bench)
    bench.write("ansible/site/playbook.yml", json.dumps([{
        "hosts": "all", "gather_facts": False, "roles": ["greets"]}]))
    bench.write("ansible/roles/greets/tasks/main.yml",
                json.dumps([{"ansible.builtin.debug": {"msg": "greetings"}}]))
    done = bench.run("site", jig_class="ansible")
    assert done["result"] == "ok" and "greetings" in done["log"], done


def test_a_task_that_fails_is_named_with_what_it_said(bench):
    plain_source(bench)
    bench.write("ansible/roles/bad.yml", play([
        {"name": "let it be", "ansible.builtin.fail": {"msg": "ignored"}, "ignore_errors": True},
        {"name": "break \"it\"", "ansible.builtin.fail": {"msg": "it's \u20ac broken"}},
        {"name": "never", "ansible.builtin.debug": {"msg": "never"}},
    ]))
    done = bench.fails("task \"break \"it\"\" failed on n1.example.com: it's \u20ac broken", "bad",
                       jig_class="ansible")
    assert (done["reason"], done["reason_subject"]) == ("playbook_task", 'break "it"'), done
    counts = done["wall"]["ansible"][NODE]
    assert counts["failed"] == 1 and counts["message"] == "it's \u20ac broken", counts
    bench.write("ansible/roles/hidden.yml", play([
        {"ansible.builtin.command": "sh -c 'echo secret >&2; exit 3'", "no_log": True}]))
    done = bench.fails("hidden", "hidden", jig_class="ansible")
    assert "secret" not in json.dumps(done), done


def test_a_playbook_that_is_none_or_is_for_others_has_failed(bench):
    plain_source(bench)
    bench.write("ansible/roles/none.yml", "- hosts: [")
    done = bench.fails("ansible-playbook ended with status", "none", jig_class="ansible")
    assert "wall" not in done, done
    bench.write("ansible/roles/others.yml", play([], hosts="others"))
    bench.fails("the playbook of role others has nothing for node n1.example.com", "others",
                jig_class="ansible")
    why = bench.refusal(bench.job("absent", jig_class="ansible"))
    assert why.startswith("role absent has no playbook: there is neither "), why
    why = bench.refusal(bench.job("../up", jig_class="ansible"))
    assert why == '"../up" is not a valid name of a role', why
    programs = tool_path(bench.folder, {"sh": "/bin/sh", "tar": "/bin/tar"})
    why = bench.refusal(bench.job("none", jig_class="ansible", path=programs))
    assert why == "ansible-playbook is not installed here (package ansible-core)", why
    done = bench.prepare(bench.job("none", jig_class="ansible", path=programs))
    assert (done["reason"], done["reason_subject"]) == ("tool_missing", "ansible-playbook"), done


def test_ansible_reaches_the_node_by_ssh_or_says_that_it_cannot(bench):
    plain_source(bench)
    out = os.path.join(bench.folder, "out")
    server = Server(bench)
    bench.write("ansible/roles/far.yml", play([
        {"ansible.builtin.raw": f"echo $SSH_CONNECTION > {out}.raw"}] + copies(out)))
    done = bench.fails("ansible could not reach n1.example.com: ", "far", jig_class="ansible",
                       transport=server.transport(control_path=""))
    assert done["wall"]["ansible"][NODE]["unreachable"] == 1, done
    assert "Host key verification failed" in done["wall"]["ansible"][NODE]["message"], done
    server.pin(bench, NODE)
    wall = bench.wall("far", jig_class="ansible", data=AWKWARD, transport=server.transport())
    assert wall["ansible"][NODE]["ok"] == 2, wall
    with open(out + ".raw", encoding="ascii") as file:
        assert file.read().endswith(f" {server.port}\n")
    with open(out, encoding="utf-8") as file:
        assert json.load(file) == AWKWARD
    stranger = make_key(os.path.join(bench.folder, "stranger"))
    done = bench.fails("Permission denied", "far", jig_class="ansible",
                       transport=server.transport(key_path=stranger, control_path=""))
    assert done["wall"]["ansible"][NODE]["kind"] == "unreachable", done
