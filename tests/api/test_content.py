"""Barclamps in YAML with code in Lua: daemons that read them, and the results."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess

from daemon import STOP_S, Own, eventually

ERROR, ACTIVE, TODO, TRANSITION, BLOCKED, PROPOSED = -1, 0, 1, 2, 3, 4

HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = os.path.join(HERE, "..", "..", "barclamps")

# A node is made with a hammer of the kind called ssh. Here that is of class local: the machine of every
# node is this host, so that each answers when it is probed.
HEAD = """barclamp:
  name: shop
  version: 1.0
jigs:
  - {name: role-provided, class: role-provided}
  - {name: noop, class: noop}
  - {name: script, class: script}
hammers: [{name: ssh, type: local}]
attribs:
  - {name: shop-note, map: shop/note}
roles:
"""

# What the log says of a file that does not read.
GOING_ON = "barclamp not imported, its previous version stays in effect"
WITHOUT = "barclamp not imported"

# Returns its input: the API does not show staged data, so tests read it from the wall data.
TALKER = """
return {
  sysdata = function(noderole)
    return { shop = { computed = noderole.node .. '!' } }
  end,
  do_transition = function(noderole, data)
    local note = noderole.host.hint.shop and noderole.host.hint.shop.note
    return { wall = { given = data.shop.computed, node = noderole.node, note = note } }
  end,
}
"""


class Shop(Own):
    """A daemon with one barclamp, which tests write as they like."""

    def __init__(self, daemon, roles, codes):
        super().__init__(daemon)
        self.token = None
        self.folder = self.path("barclamps")
        os.makedirs(os.path.join(self.folder, "shop", "roles"))
        self.write_yaml(roles)
        for role, text in codes.items():
            self.write_code(role, text)

    def write_yaml(self, roles, head=HEAD):
        lines = "".join(f"  - {line}\n" for line in roles)
        self.write("barclamps/shop/shop.yml", head + lines)

    def write_code(self, role, text):
        self.write(f"barclamps/shop/roles/{role}.lua", text)

    def open(self, *words, **more):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path("listen"))  # of one that was killed
        self.launch("--barclamps", self.folder, *words, **more)
        eventually(lambda: self.read("listen") or self.process.poll() is not None, "it listens")
        assert self.process.poll() is None, self.read("stderr")
        return self.me

    def kill(self):
        self.process.kill()
        self.process.wait()

    def reload(self):
        """All of it is through when the log says "reloaded"."""
        self.process.send_signal(signal.SIGHUP)

    @property
    def me(self):
        me = self.client
        if not self.token:
            self.token = me.post("tokens", {"name": "t"}).json()["token"]
        me.authorization = "Bearer " + self.token
        return me

    def rows(self, query):
        with contextlib.closing(sqlite3.connect(self.path("halligan.db"))) as database:
            return database.execute(query).fetchall()


def add_node(me, name, **fields):
    body = {"name": name, "alive": True, "available": True, **fields}
    answer = me.post("nodes", body)
    assert answer.status == 200, answer
    return answer.json()


def bind(me, node, role):
    answer = me.post("node_roles", {"node": node, "role": role})
    assert answer.status == 200, answer
    return answer.json()["id"]


def reaches(me, noderole, state):
    def look():
        answer = me.get(f"node_roles/{noderole}")
        assert answer.status == 200, answer
        return answer.json() if answer.json()["state"] == state else None

    return eventually(look, f"noderole {noderole} in state {state}")


def boots(me, node, bootenv):
    eventually(lambda: me.get("nodes/" + node).json()["bootenv"] == bootenv, f"{node}: {bootenv}")


def unheard(shop, node, bootenv):
    """No hook is on its way, and none has been."""
    return (
        not shop.rows("SELECT id FROM outbox WHERE kind = 0")  # 0: hooks; a probe may be under way
        and shop.me.get("nodes/" + node).json()["bootenv"] == bootenv
    )


def setting_bootenv(bootenv, hook="on_node_create"):
    return f"""
return {{
  {hook} = function(node)
    if not node.system then halligan.set_bootenv(node, '{bootenv}') end
  end,
}}
"""


# ---- what hooks do ----


def test_hooks_are_called_and_their_commands_executed(daemon):
    greeter = """
return {
  on_node_create = function(node, context)
    if node.system then return end
    halligan.set_bootenv(node, 'seen')
    halligan.set_attrib('node', node, 'shop-note', 'a note', 'hint')
    halligan.bind(node, 'talker')
  end,
}
"""
    roles = ["{name: greeter, jig: noop}", "{name: talker, jig: role-provided}"]
    with Shop(daemon, roles, {"greeter": greeter, "talker": TALKER}) as shop:
        me = shop.open()
        add_node(me, "n1.example.com")
        boots(me, "n1.example.com", "seen")
        [talker] = me.get("nodes/n1.example.com/node_roles").json()
        assert me.put("nodes/n1.example.com/commit").status == 200
        done = reaches(me, talker["id"], ACTIVE)
        assert done["run_count"] == 1, done
        assert shop.stop() == 0
        [[wall]] = shop.rows("SELECT wall FROM noderole")
        wanted = {"given": "n1.example.com!", "node": "n1.example.com", "note": "a note"}
        assert json.loads(wall) == wanted, wall
        assert "level=warning" not in shop.read("stderr"), shop.read("stderr")


def test_role_code_runs_beside_the_test_jig_and_a_role_without_scripts_says_so(daemon):
    roles = ["{name: talker, jig: role-provided}", "{name: scripted, jig: script}"]
    with Shop(daemon, roles, {"talker": TALKER}) as shop:
        me = shop.open()
        for number, role in enumerate(("talker", "scripted")):
            add_node(me, f"n{number}.example.com")
            bind(me, f"n{number}.example.com", role)
            assert me.put(f"nodes/n{number}.example.com/commit").status == 200
        one, two = sorted(n["id"] for n in me.get("node_roles").json())
        reaches(me, one, ACTIVE)
        failed = reaches(me, two, ERROR)
        assert "role scripted has no scripts" in failed["runlog"], failed
        assert shop.stop() == 0
        me = shop.open("--test-jig")  # replaces scripts, not the Lua code of roles
        assert me.put(f"node_roles/{two}/retry").status == 200
        assert reaches(me, two, ACTIVE)["run_count"] == 1
        assert f" {two}\n" in shop.read("test-jig.journal") + "\n"
        assert me.put(f"node_roles/{one}/retry").status == 200
        eventually(lambda: me.get(f"node_roles/{one}").json()["run_count"] == 2, "it ran again")
        assert f" {one}\n" not in shop.read("test-jig.journal") + "\n"
        assert shop.stop() == 0


def test_a_refused_command_of_a_node_hook_is_logged(daemon):
    hopeful = "return { on_node_create = function(node) halligan.commit(999999) end }"
    with Shop(daemon, ["{name: hopeful, jig: noop}"], {"hopeful": hopeful}) as shop:
        me = shop.open()
        add_node(me, "n1.example.com")
        said = "there is no noderole with id 999999"
        eventually(lambda: said in shop.read("stderr"), "the refusal in the log")
        [line] = [l for l in shop.read("stderr").splitlines() if said in l and "id=1 " not in l][:1]
        assert "role=hopeful" in line and "hook=on_node_create" in line, line
        assert "object=node" in line, line


def test_a_run_that_fails_in_its_code_is_an_error_with_its_traceback(daemon):
    code = "return { do_transition = function(nr) local x = nr.nothing.at_all end }\n"
    with Shop(daemon, ["{name: worker, jig: role-provided}"], {"worker": code}) as shop:
        me = shop.open()
        add_node(me, "n1.example.com")
        noderole = bind(me, "n1.example.com", "worker")
        assert me.put("nodes/n1.example.com/commit").status == 200
        failed = reaches(me, noderole, ERROR)
        assert "worker.lua:1:" in failed["runlog"], failed
        assert "do_transition" in failed["runlog"], failed
        shop.write_code("worker", "return { do_transition = function() return 'ok' end }\n")
        shop.reload()

        def runs_again():
            me.put(f"node_roles/{noderole}/retry")
            return me.get(f"node_roles/{noderole}").json()["state"] == ACTIVE

        eventually(runs_again, "it runs with the new code")
        assert shop.stop() == 0


def test_a_veto_has_the_message_of_the_hook(daemon):
    code = """
return {
  on_node_bind = function(noderole)
    if noderole.node == 'no.example.com' then return 'never on ' .. noderole.node end
  end,
  on_commit = function(noderole)
    if noderole.node == 'veto.example.com' then halligan.veto('not today, ' .. noderole.node) end
  end,
}
"""
    with Shop(daemon, ["{name: guarded, jig: noop}"], {"guarded": code}) as shop:
        me = shop.open()
        for name in ("no", "veto", "fine"):
            add_node(me, name + ".example.com")
        refused = me.post("node_roles", {"node": "no.example.com", "role": "guarded"})
        assert refused.status == 409 and "never on no.example.com" in refused.text, refused
        vetoed = bind(me, "veto.example.com", "guarded")
        fine = bind(me, "fine.example.com", "guarded")
        refused = me.put("nodes/veto.example.com/commit")
        assert refused.status == 409, refused
        assert "not today, veto.example.com" in refused.json()["message"], refused
        assert me.get(f"node_roles/{vetoed}").json()["state"] == PROPOSED
        assert me.put("nodes/fine.example.com/commit").status == 200
        reaches(me, fine, ACTIVE)
        assert shop.stop() == 0


def test_a_hook_that_fails_is_an_error_of_its_noderole(daemon):
    code = """local function deeper(nr)
  error('no disk on ' .. nr.node)
end
return { on_todo = function(nr) deeper(nr) end }
"""
    with Shop(daemon, ["{name: careful, jig: noop}"], {"careful": code}) as shop:
        me = shop.open()
        add_node(me, "n1.example.com")
        noderole = bind(me, "n1.example.com", "careful")
        assert me.put("nodes/n1.example.com/commit").status == 200
        failed = reaches(me, noderole, ERROR)
        for text in ("on_todo: ", "careful.lua:2: no disk on n1.example.com", "stack traceback"):
            assert text in failed["runlog"], failed
        assert failed["status"] == "on_todo failed", failed
        shop.says("a hook failed; the commands that it requested are not executed")
        assert shop.stop() == 0


def test_hooks_that_misbehave_fail_alone(daemon):
    codes = {
        "endless": "return { on_todo = function() while true do end end }\n",
        "hoarder": "return { on_todo = function() local t = {} "
        "while true do t[#t + 1] = string.rep('x', 1000) end end }\n",
        "talkative": "return { on_todo = function() return 'a story' end }\n",
    }
    with Shop(daemon, [f"{{name: {role}, jig: noop}}" for role in codes], codes) as shop:
        me = shop.open()
        for role in codes:
            add_node(me, role + ".example.com")
            bind(me, role + ".example.com", role)
            assert me.put(f"nodes/{role}.example.com/commit").status == 200
        for noderole in me.get("node_roles").json():
            assert "on_todo" in reaches(me, noderole["id"], ERROR)["runlog"]
        assert me.get("/healthz").status == 200
        assert shop.stop() == 0


# ---- reloading ----


def test_a_reload_takes_in_edited_code_and_new_roles(daemon):
    with Shop(daemon, ["{name: one, jig: noop}"], {"one": setting_bootenv("first")}) as shop:
        me = shop.open("--log-level", "info")
        add_node(me, "n1.example.com")
        boots(me, "n1.example.com", "first")
        shop.says("barclamp imported")
        # The same hooks in other words: the document stays as it is, and the code does not.
        shop.write_code("one", setting_bootenv("second"))
        shop.reload()
        number = iter(range(2, 1000))

        def reads(bootenv):
            name = f"n{next(number)}.example.com"
            add_node(me, name)
            eventually(lambda: me.get("nodes/" + name).json()["bootenv"] != "sledgehammer", name)
            return me.get("nodes/" + name).json()["bootenv"] == bootenv

        eventually(lambda: reads("second"), "the edited file counts")
        assert shop.read("stderr").count("barclamp imported") == 1, shop.read("stderr")
        # Another role, and a hook more.
        shop.write_yaml(["{name: one, jig: noop}", "{name: two, jig: role-provided}"])
        shop.write_code("one", setting_bootenv("third", "on_node_change"))
        shop.write_code("two", TALKER)
        shop.reload()
        shop.says("barclamp imported", 2)
        add_node(me, "last.example.com")
        assert unheard(shop, "last.example.com", "sledgehammer")
        two = bind(me, "last.example.com", "two")
        assert me.put("nodes/last.example.com/commit").status == 200
        reaches(me, two, ACTIVE)
        boots(me, "last.example.com", "third")
        # Without its file a role has no code, and no hooks.
        os.unlink(os.path.join(shop.folder, "shop/roles/one.lua"))
        shop.reload()
        shop.says("barclamp imported", 3)
        assert me.put("nodes/last.example.com", {"bootenv": "mine"}).status == 200
        assert me.put("nodes/last.example.com", {"description": "x"}).status == 200
        assert unheard(shop, "last.example.com", "mine")
        assert shop.stop() == 0
        assert "level=warning" not in shop.read("stderr"), shop.read("stderr")


def test_a_changed_script_is_no_changed_default_and_is_used_by_the_next_run(daemon):
    """ADR 0074: scripts are read when a run starts, and do not mark what ran with the old ones."""
    yaml = "{{name: worker, jig: script, attribs: [{{name: shop-size, map: shop/size, default: {}}}]}}"
    with Shop(daemon, [yaml.format(1)], {}) as shop:
        os.makedirs(shop.path("barclamps/shop/scripts/worker"))

        def write_script(name):
            text = f"#!/bin/sh\necho {name} >>{shop.path('done')}\n"
            shop.write("barclamps/shop/scripts/worker/10-say.sh", text, 0o755)

        write_script("first")
        me = shop.open("--log-level", "notice")
        add_node(me, "n1.example.com")
        worker = bind(me, "n1.example.com", "worker")
        assert me.put("nodes/n1.example.com/commit").status == 200
        reaches(me, worker, ACTIVE)
        assert shop.read("done").split() == ["first"]

        def changed():
            return me.get("deployments/system?view=full").json()["changed"]

        write_script("second")
        shop.reload()
        shop.says("reloaded")
        assert changed() == 0
        assert me.put("deployments/system/commit?rerun_changed=true").status == 200
        assert me.get(f"node_roles/{worker}").json()["run_count"] == 1
        # A default that changed counts, and its rerun uses the script as it is then.
        shop.write_yaml([yaml.format(2)])
        shop.reload()
        shop.says("reloaded", 2)
        assert changed() == 1
        assert me.put("deployments/system/commit?rerun_changed=true").status == 200
        eventually(lambda: me.get(f"node_roles/{worker}").json()["run_count"] == 2, "it is rerun")
        assert shop.read("done").split() == ["first", "second"] and changed() == 0


def test_an_invalid_file_is_reported_with_its_line_and_changes_nothing(daemon):
    with Shop(daemon, ["{name: one, jig: noop}"], {"one": setting_bootenv("first")}) as shop:
        me = shop.open("--log-level", "notice")
        yaml = os.path.join(shop.folder, "shop/shop.yml")
        lua = os.path.join(shop.folder, "shop/roles/one.lua")
        shop.write_code("one", "return {\n  on_node_create = fonction() end\n}\n")
        shop.reload()
        shop.says(f"{GOING_ON}: {lua}:2: ")
        add_node(me, "n1.example.com")
        boots(me, "n1.example.com", "first")
        shop.write_code("one", setting_bootenv("second"))
        shop.write_yaml(["{name: one, jig: noop}", "{name: two, jig: [noop}"])
        shop.reload()
        shop.says(f"{GOING_ON}: {yaml}:13: ")
        os.makedirs(os.path.join(shop.folder, "new"))
        shop.write("barclamps/new/new.yml", "barclamp: [\n")
        shop.reload()
        shop.says(f"{WITHOUT}: {shop.folder}/new/new.yml:2: ")
        add_node(me, "n2.example.com")
        boots(me, "n2.example.com", "first")
        # Valid syntax that the engine refuses: its message has the line of the file.
        shop.write_yaml(["{name: one, jig: noop}", "{name: two, jig: noop, requires: [two]}"])
        shop.reload()
        shop.says(f"{yaml}:13: roles/1")
        assert "two" not in [role["name"] for role in me.get("roles").json()]
        shop.write_yaml(["{name: one, jig: noop}", "{name: two, jig: noop}"])
        shop.reload()
        eventually(lambda: me.get("roles/two").status == 200, "the corrected file is loaded")
        add_node(me, "n3.example.com")
        boots(me, "n3.example.com", "second")
        assert shop.stop() == 0


def test_a_restart_with_an_invalid_file_fails_its_hooks_with_a_reason(daemon):
    code = "return { on_todo = function() end }\n"
    with Shop(daemon, ["{name: one, jig: noop}"], {"one": code}) as shop:
        me = shop.open()
        add_node(me, "n1.example.com")
        noderole = bind(me, "n1.example.com", "one")
        assert shop.stop() == 0
        shop.write_code("one", "return { on_todo = \n")
        me = shop.open()
        assert me.put("nodes/n1.example.com/commit").status == 200
        assert "has no code here, so on_todo" in reaches(me, noderole, ERROR)["runlog"]
        shop.says(f"{GOING_ON}: {shop.folder}/shop/roles/one.lua:2: ")
        shop.write_code("one", code)
        shop.reload()

        def runs_again():
            me.put(f"node_roles/{noderole}/retry")
            return me.get(f"node_roles/{noderole}").json()["state"] == ACTIVE

        eventually(runs_again, "it runs with the corrected file")
        assert shop.stop() == 0


def test_a_restart_resets_nothing_that_was_edited(daemon):
    roles = ["{name: one, jig: noop, description: as written}"]
    with Shop(daemon, roles, {}) as shop:
        me = shop.open("--log-level", "info")
        assert me.get("roles/one").json()["description"] == "as written"
        edited = me.put("roles/one", {"description": "as edited"})
        assert edited.status == 200, edited
        shop.reload()
        assert shop.stop() == 0
        me = shop.open("--log-level", "info")
        assert me.get("roles/one").json()["description"] == "as edited"
        assert shop.read("stderr").count("barclamp imported") == 1, shop.read("stderr")
        # A changed file is another matter.
        shop.write_yaml(["{name: one, jig: noop, description: written anew}"])
        shop.reload()
        shop.says("barclamp imported", 2)
        assert me.get("roles/one").json()["description"] == "written anew"
        assert shop.stop() == 0


def test_reading_barclamps_does_not_block_requests(daemon):
    """Each of a thousand files runs until it is stopped, which takes seconds in all. What comes
    meanwhile is answered; and the daemon stops without having read the rest."""
    with Shop(daemon, ["{name: r0, jig: noop}"], {}) as shop:
        shop.open()
        for number in range(1000):
            shop.write_code(f"r{number}", "while true do end\n")
        shop.write_yaml([f"{{name: r{number}, jig: noop}}" for number in range(1000)])
        shop.reload()
        shop.says("msg=reloading")
        for _ in range(5):
            assert shop.client.get("/healthz").status == 200
        for text in (GOING_ON, WITHOUT, "msg=reloaded"):
            assert text not in shop.read("stderr"), "it was answered when all was read"
        shop.reload()
        assert shop.stop() == 0
        assert "msg=reloaded" not in shop.read("stderr"), "it was through before it stopped"


def words_of(notified):
    """The next notification to the service manager, except for its watchdog."""
    while True:
        words = notified.recv(4096).decode().split("\n")
        if words[0] != "WATCHDOG=1":
            return words[0]


def test_a_reload_ends_when_everything_is_imported(daemon):
    with Shop(daemon, ["{name: one, jig: noop}"], {}) as shop, socket.socket(
        socket.AF_UNIX, socket.SOCK_DGRAM
    ) as notified:
        notified.settimeout(STOP_S)
        notified.bind(shop.path("notified"))
        told = {**os.environ, "NOTIFY_SOCKET": shop.path("notified")}
        shop.write("conf", "log-level = notice\n")
        me = shop.open("--config", shop.path("conf"), env=told)
        assert words_of(notified) == "READY=1"
        for number in range(5):
            shop.write_yaml(["{name: one, jig: noop}", f"{{name: new{number}, jig: noop}}"])
            shop.reload()
            assert words_of(notified) == "RELOADING=1"
            assert words_of(notified) == "READY=1"
            assert me.get(f"roles/new{number}").status == 200
        # One whose config is wrong is over as well.
        shop.write("conf", "colour = red\n")
        shop.reload()
        assert (words_of(notified), words_of(notified)) == ("RELOADING=1", "READY=1")
        assert shop.stop() == 0
        assert words_of(notified) == "STOPPING=1"


def test_many_reload_signals_are_merged(daemon):
    with Shop(daemon, ["{name: one, jig: noop}"], {"one": setting_bootenv("first")}) as shop:
        me = shop.open("--log-level", "notice")
        for _ in range(50):
            shop.reload()
        shop.write_code("one", setting_bootenv("second"))
        shop.reload()  # whatever came before, what is there now is read

        def reads_second():
            name = f"n{len(me.get('nodes').json())}.example.com"
            add_node(me, name)
            eventually(lambda: me.get("nodes/" + name).json()["bootenv"] != "sledgehammer", name)
            return me.get("nodes/" + name).json()["bootenv"] == "second"

        eventually(reads_second, "the last edit counts")
        assert shop.stop() == 0
        assert "level=warning" not in shop.read("stderr"), shop.read("stderr")


# ---- dying ----


COUNTER = """
return {
  on_node_change = function(node, context)
    if node.name ~= 'poked.example.com' then return end
    for _, nr in ipairs(context.noderoles) do halligan.enqueue(nr) end
  end,
  do_transition = function() return 'ok' end,
}
"""


def poke(me, text):
    """The daemon may die of it."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        me.put("nodes/poked.example.com", {"description": text})


def survives(shop, counter, text, point):
    """One poke with a daemon that dies at the point, if it comes there. True if it did."""
    [[count]] = shop.rows("SELECT run_count FROM noderole")
    try:
        me = shop.open(env={**os.environ, "HALLIGAN_FAILPOINT": point})
        poke(me, text)
        eventually(
            lambda: shop.process.poll() is not None
            or shop.rows("SELECT run_count FROM noderole") == [(count + 1,)],
            "it dies, or the hook has run",
        )
    except AssertionError:
        # It may come there while it starts.
        assert shop.process.poll() == -signal.SIGABRT, shop.read("stderr")
    with contextlib.suppress(ProcessLookupError):
        shop.process.send_signal(signal.SIGTERM)
    died = shop.process.wait(timeout=STOP_S) == -signal.SIGABRT
    me = shop.open()
    if me.get("nodes/poked.example.com").json()["description"] != text:
        poke(me, text)  # it was not accepted, and not acknowledged
    what = f"the hook has run after {point}"
    eventually(lambda: me.get(f"node_roles/{counter}").json()["run_count"] == count + 1, what)
    eventually(lambda: not shop.rows("SELECT id FROM outbox"), "no hook is on its way")
    assert shop.stop() == 0
    assert shop.rows("SELECT run_count FROM noderole") == [(count + 1,)], point
    return died


def test_a_pending_hook_is_delivered_after_a_crash_and_counts_once(daemon):
    points = ("submit.before", "submit.after", "poll.ok", "effect.before", "reset.after")
    points = [f"{point}:{passing}" for point in points for passing in (1, 2, 3)]
    with Shop(daemon, ["{name: counter, jig: role-provided}"], {"counter": COUNTER}) as shop:
        me = shop.open()
        add_node(me, "home.example.com")
        add_node(me, "poked.example.com")
        counter = bind(me, "home.example.com", "counter")
        assert me.put("nodes/home.example.com/commit").status == 200
        reaches(me, counter, ACTIVE)
        eventually(lambda: not shop.rows("SELECT id FROM outbox"), "no hook is on its way")
        assert shop.stop() == 0
        died = [survives(shop, counter, f"by {point}", point) for point in points]
        assert died.count(True) > len(points) // 2, dict(zip(points, died))


BURN = """
return {
  on_node_create = function(node)
    if node.system then return end
    for i = 1, 400000 do local x = i end
    halligan.set_bootenv(node, 'burnt')
  end,
}
"""


def test_a_backlog_of_hooks_survives_a_kill_and_a_move_of_its_barclamp(daemon):
    names = [f"n{number}.example.com" for number in range(60)]
    with Shop(daemon, ["{name: burner, jig: noop}"], {"burner": BURN}) as shop:
        me = shop.open()
        assert me.post("nodes", [{"name": name} for name in names]).status == 200
        shop.kill()
        left = len(shop.rows("SELECT id FROM outbox"))
        assert left > 0, "the hooks were faster than the requests"
        shutil.move(shop.folder, shop.path("moved"))
        shop.folder = shop.path("moved")
        me = shop.open()
        for name in names:
            boots(me, name, "burnt")
        assert not shop.rows("SELECT id FROM outbox")
        assert shop.stop() == 0
        assert "level=warning" not in shop.read("stderr"), shop.read("stderr")


def test_a_stop_does_not_wait_for_hooks(daemon):
    with Shop(daemon, ["{name: burner, jig: noop}"], {"burner": BURN}) as shop:
        me = shop.open()
        names = [{"name": f"n{number}.example.com"} for number in range(60)]
        assert me.post("nodes", names).status == 200
        assert shop.stop() == 0
        assert shop.rows("SELECT id FROM outbox"), "there was nothing to wait for"
        assert "unanswered" not in shop.read("stderr"), shop.read("stderr")


# ---- what was said beforehand ----

NOOP = "[{name: noop, class: noop}]"

# Which files are imported: trees whose files need each other in every way. Each file is the
# barclamp, its parent, its roles, and its jigs if it has any.
TREES = {
    "attached to what comes later": {
        "core/crowbar.yml": ("core", "", "[{name: r0, jig: noop, attaches: [rx]}]", NOOP),
        "core/barclamps/x.yml": ("x", "core", "[{name: rx, jig: noop}]", ""),
    },
    "a circle that closes later": {
        "core/crowbar.yml": (
            "core",
            "",
            "[{name: r0, jig: noop, attaches: [rx], requires: [rx]}]",
            NOOP,
        ),
        "core/barclamps/x.yml": ("x", "core", "[{name: rx, jig: noop}]", ""),
    },
    "a circle across three": {
        "a/a.yml": ("a", "", "[{name: ra, jig: noop, requires: [rb]}]", NOOP),
        "b/b.yml": ("b", "", "[{name: rb, jig: noop, requires: [rc]}]", NOOP),
        "c/c.yml": ("c", "", "[{name: rc, jig: noop, requires: [ra]}]", NOOP),
    },
    "two of one role, and a parent in between": {
        "a/a.yml": ("a", "c", "[{name: r, jig: noop}]", ""),
        "b/b.yml": ("b", "", "[{name: r, jig: noop}]", NOOP),
        "c/c.yml": ("c", "", "[{name: rc, jig: noop, attaches: [r]}]", NOOP),
    },
    "parents that are not there": {
        "a/a.yml": ("a", "b", "[{name: ra, jig: noop}]", ""),
        "b/b.yml": ("b", "nobody", "[{name: rb, jig: noop}]", ""),
        "c/c.yml": ("c", "", "[{name: rc, jig: noop}]", NOOP),
    },
    # After the import of the jig, b, which was refused before, is imported in a second round.
    "in at the second try": {
        "a/a.yml": ("a", "", "[]", "[{name: j, class: noop, implementor: rb}]"),
        "b/b.yml": ("b", "", "[{name: rb, jig: noop}]", NOOP),
        "c/c.yml": ("c", "", "[]", "[{name: j, class: noop}]"),
    },
    # What was imported stays: if a were imported again, now that rb is there, it would close a circle.
    "in once and not again": {
        "a/a.yml": (
            "a",
            "",
            "[{name: ra, jig: noop, requires: [rb], flags: [implicit]}]",
            "[{name: j, class: noop, implementor: ra}, {name: noop, class: noop}]",
        ),
        "b/b.yml": ("b", "", "[{name: rb, jig: j}]", "[{name: j, class: noop}]"),
    },
    # Of a file with errors nothing is imported, though the engine checks it.
    "a parent that does not read": {
        "a/a.yml": ("a", "", "[{name: ra, jig: noop, flags: implicit}]", NOOP),
        "b/b.yml": ("b", "a", "[{name: rb, jig: noop}]", ""),
        "c/c.yml": ("c", "", "[{name: ra, jig: noop}]", NOOP),
    },
}
TAKEN = {
    "attached to what comes later": 2,
    "a circle that closes later": 1,
    "a circle across three": 2,
    "two of one role, and a parent in between": 2,
    "parents that are not there": 1,
    "in at the second try": 3,
    "in once and not again": 2,
    "a parent that does not read": 1,
}


def write_tree(own, files):
    for path, (barclamp, parent, roles, jigs) in files.items():
        os.makedirs(os.path.dirname(own.path("shelf/" + path)), exist_ok=True)
        head = f"barclamp: {{name: {barclamp}{', parent: ' + parent if parent else ''}}}\n"
        jigs = f"jigs: {jigs}\n" if jigs else ""
        own.write("shelf/" + path, head + jigs + f"roles: {roles}\n")


# How the log begins a line about an error of a file; a place and a sentence follow.
REFUSED = "barclamp refused"
REHEARSED = "barclamp not imported and would also be refused"
ERRORS = re.compile(f'msg="(?:{REFUSED}|{WITHOUT}|{REHEARSED}): ((?:[^"\\\\]|\\\\.)*)"')


def errors_of_check(program, folder):
    """How many are taken, and everything that is wrong as FILE:LINE: text."""
    command = [program, "barclamp", "check", "-o", "json", folder]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)
    errors = [e for e in said["entries"] if e["severity"] == "error"]
    return said["barclamps"], sorted(f"{e['file']}:{e['line']}: {e['text']}" for e in errors)


def errors_of_daemon(own):
    """Likewise."""
    own.start("--barclamps", own.path("shelf"))
    assert own.stop() == 0
    log = own.read("stderr")
    errors = [text.replace('\\"', '"') for text in ERRORS.findall(log)]
    return log.count("barclamp imported"), sorted(errors)


def test_check_and_the_daemon_agree(daemon):
    program = os.path.join(os.path.dirname(daemon.program), "halligan")
    for name, files in TREES.items():
        with Own(daemon) as own:
            write_tree(own, files)
            taken, errors = errors_of_daemon(own)
            assert taken == TAKEN[name], (name, own.read("stderr"))
            assert bool(errors) == (taken < len(files)), (name, own.read("stderr"))
            said = errors_of_check(program, own.path("shelf"))
            assert said == (taken, errors), (name, said, errors)


# Form, code and what only the engine knows, in files that see each other.
TROUBLES = {
    "base/base.yml": "barclamp: {name: base}\n"
    "jigs: [{name: noop, class: noop}]\n"
    "attribs: [{name: size}]\n"
    "roles: [{name: taken, jig: noop}]\n",
    "one/one.yml": "barclamp: {name: one, version: [1]}\n"
    "attribs: [{name: size}]\n"
    "roles:\n"
    "  - {name: taken, jig: noop}\n"
    "  - {name: first, jig: noop, requires: [second]}\n",
    "two/two.yml": "barclamp: {name: two, parent: missing}\n"
    "roles:\n"
    "  - {name: second, jig: noop, requires: [third]}\n"
    "  - {name: second, jig: noop, flags: *none}\n",
    "three/three.yml": "barclamp: {name: three, parent: two}\n"
    "roles:\n"
    "  - {name: third, jig: noop, requires: [third]}\n"
    "  - {name: coded, jig: noop}\n",
    "three/roles/coded.lua": "return {\n",
}


def test_all_problems_of_invalid_files_are_reported(daemon):
    program = os.path.join(os.path.dirname(daemon.program), "halligan")
    with Own(daemon) as own:
        for path, text in TROUBLES.items():
            os.makedirs(os.path.dirname(own.path("shelf/" + path)), exist_ok=True)
            own.write("shelf/" + path, text)
        wanted = [
            "one/one.yml:1: version must be a string, not a list",
            "one/one.yml:2: attribs/0/name: attrib size belongs to base",
            "one/one.yml:4: roles/0/name: role taken belongs to barclamp base",
            "three/roles/coded.lua:2: unexpected symbol near <eof>",
            "three/three.yml:3: roles/0: the role requires itself: third -> third; each role requires the next "
            "one, by its own `requires` or by the `attaches` of the next one: remove one of these entries",
            "two/two.yml:1: barclamp/parent: there is no barclamp called missing",
            "two/two.yml:4: roles/1/name: role second is defined twice",
            "two/two.yml:4: unknown anchor &none",
        ]
        wanted = [own.path("shelf/") + line for line in wanted]
        assert errors_of_check(program, own.path("shelf")) == (1, wanted)
        assert errors_of_daemon(own) == (1, wanted), own.read("stderr")
        assert REFUSED not in own.read("stderr")
        # And none of it is there.
        own.start("--barclamps", own.path("shelf/base"))
        assert [role["name"] for role in own.client.get("roles").json()] == ["taken"]
        assert own.stop() == 0


# ---- trees of files ----


def test_a_checkout_of_the_older_layout_loads(daemon):
    with Own(daemon) as own:
        for folder in ("core/barclamps", "core/roles", "core/script/roles/database"):
            os.makedirs(own.path(folder))
        own.write(
            "core/crowbar.yml",
            "barclamp:\n  name: core\n  display: Core\n  version: 2.0\n"
            "jigs:\n  - name: noop\n    class: NoopJig\n"
            "  - name: script\n    class: BarclampCrowbar::Jig\n"
            "  - name: chef\n    class: BarclampChef::Jig\n",
        )
        own.write(
            "core/barclamps/apps.yml",
            "barclamp:\n  name: apps\n  parent: core\n"
            "roles:\n"
            "  - name: managed\n    jig: noop\n    flags: [implicit]\n"
            "  - name: database\n    jig: script\n    requires: [managed]\n"
            "    flags: [implicit]\n    attribs:\n"
            "      - {name: port, map: db/port, default: 5432}\n",
        )
        own.write("core/roles/managed.lua", setting_bootenv("managed"))
        own.write("core/script/roles/database/01-install.sh", "exit 0\n")
        own.start("--barclamps", own.path("core"), "--test-jig")
        me = own.client
        add_node(me, "n1.example.com")
        boots(me, "n1.example.com", "managed")
        database = bind(me, "n1.example.com", "database")
        assert me.put("nodes/n1.example.com/commit").status == 200
        reaches(me, database, ACTIVE)
        assert own.stop() == 0
        assert "level=warning" not in own.read("stderr"), own.read("stderr")


def test_a_repository_root_with_a_repeated_key_loads_as_it_is_laid_out(daemon):
    """As published in 2015: the root lists packages, one key of which is there twice."""
    with Own(daemon) as own:
        os.makedirs(own.path("core/barclamps"))
        own.write(
            "core/crowbar.yml",
            "barclamp:\n  name: core\n  version: \"2.0\"\n"
            "jigs:\n  - name: noop\n    class: NoopJig\n"
            "rpms:\n  fedora-20:\n    raw_pkgs:\n      - first.rpm\n"
            "    pkgs:\n      - vim\n    raw_pkgs:\n      - second.rpm\n",
        )
        for child in ("dns", "ntp"):
            own.write(
                f"core/barclamps/{child}.yml",
                f"barclamp:\n  name: {child}\n  parent: core\n"
                f"roles:\n  - name: {child}-server\n    jig: noop\n",
            )
        own.start("--barclamps", own.path("core"), "--log-level", "warning")
        me = own.client
        assert {b["name"] for b in me.get("barclamps").json()} == {"core", "dns", "ntp"}
        assert {r["name"] for r in me.get("roles").json()} == {"dns-server", "ntp-server"}
        assert all(b["source_path"] == own.path("core") for b in me.get("barclamps").json())
        core = me.get("barclamps/core").json()
        assert core["cfg_data"]["rpms"]["fedora-20"]["raw_pkgs"] == ["second.rpm"], core
        assert own.stop() == 0
        said = [line for line in own.read("stderr").splitlines() if "level=warning" in line]
        assert len(said) == 1, said
        assert all(word in said[0] for word in ("crowbar.yml:13", "raw_pkgs", "line 13", "line 9"))


def test_shipped_barclamps_load_without_messages(daemon):
    assert os.path.isdir(SHIPPED), "barclamps/ is part of the tree"
    with Own(daemon) as own:
        for _ in range(2):
            own.start("--barclamps", SHIPPED)
            names = {role["name"] for role in own.client.get("roles").json()}
            wanted = {"crowbar-admin-node", "crowbar-managed-node", "provisioner-os-install"}
            assert wanted <= names, names
            assert own.stop() == 0
        for level in ("warning", "error"):
            assert f"level={level}" not in own.read("stderr"), own.read("stderr")
