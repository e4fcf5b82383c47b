"""A daemon of our own whose roles run real scripts. Standard library only.

A yard is one data directory with a barclamp in it, a ledger that scripts write to, and gates that
they wait at. A ledger has one line for each thing a script says, in the order it was said:

    SECONDS WORD NODE ROLE RUN-ATTEMPT [MORE]

Seconds are those of /proc/uptime, one clock for all. A gate is a file that is locked: scripts wait
for it without polling, and pass when it is opened or when this process has exited.
"""
import collections
import fcntl
import json
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from daemon import Client, another_store, basic  # noqa: E402

WAIT_S = 120  # nothing takes that long; sanitized builds on a busy machine take long enough

ERROR, ACTIVE, TODO, TRANSITION, BLOCKED, PROPOSED = -1, 0, 1, 2, 3, 4
# As in src/model.
RUN_QUEUED, RUN_RUNNING, RUN_PARKED, RUN_STOPPING = range(4)
OK, FAILED, ASYNC, PARKED, LOST, CANCELLED = range(6)

LONG = "98764"  # seconds; only scripts of these tests sleep that long

# What every script begins with.
WORDS = """\
here={here}
role={role}
node=${{HALLIGAN_PLACE##*/halligan-}}
node=${{node%.*}}
say() {{ # WORD [MORE...]
    said=$1
    shift
    read -r up _ < /proc/uptime
    printf '%s %s %s %s %s %s\\n' "$up" "$said" "$node" "$role" "$HALLIGAN_RUN_ID" "$*" \\
        >> "$here/ledger"
}}
gate() {{ flock -s "$here/gate.$1" true; }} # NAME
"""

# The description of a node lever.* is a list of hook commands, "N; VERB ARGUMENTS; ...", executed once
# for each N. So tests can use hook commands for which there is no route.
LEVER = """\
local function pull(words)
  local verb, id, attrib, value = words[1], tonumber(words[2]), words[3], words[4]
  if verb == 'enqueue' then halligan.enqueue(id)
  elseif verb == 'resume' then halligan.resume(id) -- of a run
  elseif verb == 'retry' then halligan.retry(id)
  else halligan.set_attrib('noderole', id, attrib, value, verb) end
end

return {
  on_node_change = function(node)
    local orders = halligan.split(node.description, '; ')
    local number = tonumber(orders[1])
    local done = node.hint.lever and node.hint.lever.done
    if not halligan.find(node.name, 'lever.') or not number or done == number then return end
    for i = 2, #orders do pull(halligan.split(orders[i], ' ')) end
    halligan.set_attrib('node', node, 'lever-done', number, 'hint')
  end,
}
"""

Line = collections.namedtuple("Line", "at word node role run more")


def eventually(look, what):
    """Look until it is true; the deadline is only there for when it never is."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"never happened: {what() if callable(what) else what}"
        time.sleep(0.02)


# -- processes -----------------------------------------------------------------------------------


def processes():
    """{pid: (parent, state)} of everything that runs."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                words = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        found[int(name)] = int(words[1]), words[0]
    return found


def contents(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def rss_kb(pid):
    lines = contents(pid, "status").decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


# -- the yard ------------------------------------------------------------------------------------


class Yard:
    def __init__(self, build, options=None):
        self.program = os.path.join(build, "halligand")
        self.full = getattr(options, "full", False)
        self.kills = getattr(options, "kills", 0)
        self.mark = secrets.token_hex(4)  # in the name of each node, so that yards do not meet
        self.long = str(90000000 + secrets.randbelow(9999999))  # seconds that only ours sleep
        self.data = tempfile.mkdtemp(prefix="halligan-runs-")
        self.folder = os.path.join(self.data, "barclamps", "yard")
        self.roles = []
        self.hammers = []
        self.gates = {}
        self.things = []  # to be closed in the end
        self.process = None
        self.environment = None  # of the daemon; None: ours
        self.wrapper = []  # the command that starts the daemon's command
        self.token = None
        self.lever_node = None
        self.pulls = 0
        server = getattr(options, "store", None)  # a PostgreSQL server; a database for each yard
        self.store = another_store(server, "yard_" + self.mark) if server else None
        os.makedirs(os.path.join(self.folder, "roles"))

    # -- files ----------------------------------------------------------------------------------

    def path(self, *names):
        return os.path.join(self.data, *names)

    def read(self, *names):
        try:
            with open(self.path(*names), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def ledger(self, word=None, **only):
        lines = []
        for line in self.read("ledger").splitlines():
            at, name, node, role, run, more = line.split(" ", 5)
            line = Line(float(at), name, node, role, run, more)
            if word in (None, name) and all(getattr(line, k) == v for k, v in only.items()):
                lines.append(line)
        return lines

    def wait_for(self, word, count=1, **only):
        return eventually(lambda: self.has(word, count, only),
                          lambda: f"{count} times {word} {only}:\n{self.read('ledger')[-2000:]}")

    def has(self, word, count, only):
        lines = self.ledger(word, **only)
        return lines if len(lines) >= count else None

    def shut(self, name):
        file = open(self.path("gate." + name), "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        self.gates[name] = file

    def open(self, name):
        self.gates.pop(name).close()

    # -- content --------------------------------------------------------------------------------

    def role(self, name, *scripts, lua=None, **keys):
        """One that runs these scripts, in this order; none: a no-op. Also after a start, for the
        scripts are read at each run; keys only before."""
        if name not in [role["name"] for role in self.roles]:
            attrib = {"name": "word-" + name, "map": "yard/word", "writable": True}
            keys.setdefault("jig", "script" if scripts else "noop")
            self.roles.append({"name": name, "attribs": [attrib], **keys})
        place = os.path.join(self.folder, "scripts", name)
        if scripts:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, "words"), "w") as file:
                file.write(WORDS.format(here=self.data, role=name))
        for number, script in enumerate(scripts):
            path = os.path.join(place, f"{number}0.sh")
            with open(path + ".new", "w") as file:
                file.write(". ./words\n" + script + "\n")
            os.rename(path + ".new", path)
        if lua:
            with open(os.path.join(self.folder, "roles", name + ".lua"), "w") as file:
                file.write(lua)

    def write_barclamp(self):
        """YAML of which JSON is a part."""
        self.role("lever", lua=LEVER)
        barclamp = {
            "barclamp": {"name": "yard"},
            "jigs": [{"name": name, "class": name} for name in ("noop", "script")],
            "attribs": [{"name": "lever-done", "map": "lever/done"}],
            "hammers": [{"name": "ssh", "type": "ssh", "priority": 0}] + self.hammers,
            "roles": self.roles,
        }
        with open(os.path.join(self.folder, "yard.yml"), "w") as file:
            json.dump(barclamp, file)

    # -- the daemon -----------------------------------------------------------------------------

    def launch(self, *flags):
        command = [*self.wrapper, self.program, "--data", self.data, "--listen", "127.0.0.1:0"]
        command += ["--barclamps", self.path("barclamps"), "--log-level", "info", "--admin-node",
                    "none", *flags]
        if self.store:
            command += ["--store", self.store]
        if not os.path.exists(os.path.join(self.folder, "yard.yml")):
            self.write_barclamp()
        if os.path.exists(self.path("listen")):
            os.unlink(self.path("listen"))  # of one that was killed
        with open(self.path("stderr"), "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env=self.environment)

    def start(self, *flags):
        self.launch(*flags)
        eventually(lambda: self.read("listen").strip() or self.process.poll() is not None,
                   "halligand listens")
        assert self.process.poll() is None, "halligand did not start:\n" + self.read("stderr")
        url = self.read("listen").strip()
        if not self.token:
            first = Client(url, basic("admin", self.read("admin.password").strip()))
            answer = first.post("tokens", {"name": "tests/runs"})
            assert answer.status == 200, answer
            self.token = answer.json()["token"]
        self.me = Client(url, "Bearer " + self.token)
        return self.me

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=WAIT_S)
        self.process = None
        assert code == 0, f"halligand left with {code}:\n{self.read('stderr')[-3000:]}"

    # -- the supervisor -------------------------------------------------------------------------

    def supervisor(self):
        """Its pid, or None. Its leads have another command line."""
        wanted = b"\0--dir\0" + self.data.encode() + b"\0"
        for pid in processes():
            line = contents(pid, "cmdline")
            if wanted in line and os.path.basename(line.split(b"\0")[0]) == b"halligan-exec":
                return pid
        return None

    def lock_is_free(self):
        """Nothing of a supervisor is left, its leads included."""
        try:
            with open(self.path("exec", "lock"), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    def strays(self):
        """Live processes of scripts of this yard, found by environment and command line; not
        the supervisor, its shims and shared connections."""
        found = []
        needles = (self.mark.encode(), self.data.encode(), b"\0" + self.long.encode() + b"\0")
        for pid, (_, state) in processes().items():
            line = contents(pid, "cmdline")
            ours = os.path.basename(line.split(b"\0")[0]) in (b"halligan-exec", b"halligand")
            ours = ours or b"\0ControlMaster=yes\0" in line
            if pid == os.getpid() or ours or state in "ZX":
                continue
            both = line + contents(pid, "environ")
            if any(needle in both for needle in needles):
                found.append((pid, line.replace(b"\0", b" ")[:100]))
        return found

    def zombies(self):
        """Of the daemon, the supervisor and its leads."""
        now = processes()
        tops = {pid for pid in (self.process and self.process.pid, self.supervisor()) if pid}
        tops |= {pid for pid, (parent, _) in now.items() if parent in tops}
        return [pid for pid, (parent, state) in now.items() if state == "Z" and parent in tops]

    # -- what it knows --------------------------------------------------------------------------

    def rows(self, query, *values):
        """The tables may be read beside the daemon."""
        if self.store:
            return self.rows_of_postgres(query, values)
        store = sqlite3.connect(f"file:{self.path('halligan.db')}?mode=ro", uri=True, timeout=60)
        store.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in store.execute(query, values)]
        finally:
            store.close()

    def rows_of_postgres(self, query, values):
        for value in values:
            text = str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
            query = query.replace("?", text, 1)
        done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c",
                               f"SELECT row_to_json(t) FROM ({query}) AS t", self.store],
                              capture_output=True, text=True, check=True, timeout=WAIT_S)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def one(self, query, *values):
        rows = self.rows(query, *values)
        assert len(rows) == 1, (query, values, rows)
        return rows[0]

    def record(self, noderole):
        return self.one("SELECT * FROM noderole WHERE id = ?", noderole)

    def wall(self, noderole):
        return json.loads(self.record(noderole)["wall"] or "{}")

    def history(self, noderole):
        """Its runs that are over, oldest first."""
        return self.rows("SELECT * FROM old_run WHERE noderole_id = ? ORDER BY attempt", noderole)

    def results(self, noderole):
        return [run["result"] for run in self.history(noderole)]

    def api_runs(self, noderole):
        """The same from the API, newest first."""
        answer = self.me.get(f"node_roles/{noderole}/runs")
        assert answer.status == 200, answer
        return answer.json()

    def runs(self, noderole=None):
        if noderole:
            return self.rows("SELECT * FROM run WHERE noderole_id = ? ORDER BY id", noderole)
        return self.rows("SELECT * FROM run ORDER BY id")

    # -- what an operator does ------------------------------------------------------------------

    def node(self, name, **fields):
        """A machine whose work is done right here."""
        name = f"{name}.{self.mark}.example.com"
        fields = {"admin": True, "alive": True, "available": True, **fields}
        answer = self.me.post("nodes", {"name": name, **fields})
        assert answer.status == 200, answer
        return name

    def hammer(self, node, kind, **fields):
        """Give it one, or change the one it has."""
        for have in self.me.get(f"nodes/{node}/hammers").json():
            if have["name"] == kind:
                answer = self.me.put(f"hammers/{have['id']}", fields)
                break
        else:
            answer = self.me.post("hammers", {"node": node, "available_hammer": kind, **fields})
        assert answer.status == 200, answer

    def bind(self, node, role, **fields):
        answer = self.me.post("node_roles", {"node": node, "role": role, **fields})
        assert answer.status == 200, answer
        return answer.json()["id"]

    def verb(self, noderole, verb):
        answer = self.me.put(f"node_roles/{noderole}/{verb}")
        assert answer.status == 200, answer
        return answer.json()

    def commit(self, *noderoles):
        for noderole in noderoles:
            self.verb(noderole, "commit")

    def run(self, node, role, **fields):
        """Bind and commit."""
        noderole = self.bind(node, role, **fields)
        self.commit(noderole)
        return noderole

    def set_node(self, node, **fields):
        answer = self.me.put("nodes/" + node, fields)
        assert answer.status == 200, answer
        return answer.json()

    def look(self, noderole):
        answer = self.me.get(f"node_roles/{noderole}")
        assert answer.status == 200, answer
        return answer.json()

    def reaches(self, noderole, *states):
        last = {}

        def look():
            last.update(self.look(noderole))
            return last if last["state"] in states else None

        return dict(eventually(look, lambda: f"{states}: {last}\n{self.read('stderr')[-2000:]}"))

    def settles(self, noderole, state=ACTIVE):
        """In that state, with nothing under way."""
        eventually(lambda: not self.runs(noderole) and self.look(noderole)["state"] == state,
                   lambda: f"{state}: {self.look(noderole)} {self.runs(noderole)}")
        return self.look(noderole)

    def pull(self, *orders):
        """Have a hook request these commands, in one step."""
        if not self.lever_node:
            self.lever_node = self.node("lever")
        self.pulls += 1
        self.set_node(self.lever_node, description="; ".join([str(self.pulls), *orders]))
        eventually(self.was_pulled, lambda: f"{orders}:\n{self.read('stderr')[-1000:]}")

    def was_pulled(self):
        hint = self.one("SELECT hint FROM node WHERE name = ?", self.lever_node)["hint"]
        return json.loads(hint or "{}").get("lever", {}).get("done") == self.pulls

    # -- the end --------------------------------------------------------------------------------

    def finish(self):
        """Checks at the end of each test: daemon, supervisor and shims exit regularly."""
        if self.process:
            assert self.process.poll() is None, "halligand is gone:\n" + self.read("stderr")[-3000:]
            eventually(lambda: not self.rows("SELECT 1 FROM run WHERE state IN (?, ?)",
                                             RUN_RUNNING, RUN_STOPPING),
                       lambda: f"no more runs: {self.runs()}")
            self.stop()
        eventually(self.lock_is_free, "the supervisor has gone")
        assert self.strays() == [], self.strays()
        command = [self.program, "check", "--data", self.data]
        command += ["--store", self.store] if self.store else []
        check = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
        assert check.returncode == 0, check.stdout + check.stderr

    def close(self):
        for name in list(self.gates):
            self.open(name)
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        supervisor = self.supervisor()
        if supervisor:
            os.kill(supervisor, signal.SIGKILL)
        eventually(self.lock_is_free, "nothing of the supervisor is left")
        for thing in reversed(self.things):
            thing.close()
        shutil.rmtree(self.data, ignore_errors=True)


def overlapping(lines):
    """The most that were between begin and end at one time."""
    now = most = 0
    for line in lines:
        now += {"begin": 1, "end": -1}.get(line.word, 0)
        most = max(most, now)
    return most
