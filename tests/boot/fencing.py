#!/usr/bin/env python3
"""What machines are answered, with what was committed and when power actions left, under kill -9.

    tests/boot/fencing.py --build DIR [--rounds N] [--nodes N] [--seed S] [--seconds S]

Each node has a thread that executes rounds, drawn from the seed: another boot environment and a power
action; or a redeployment whose run sets the environment of an installer and reboots the machine, with
the installer finished, recalled before or after it was granted, or replaced by another redeployment.
Meanwhile halligand and halligan-boot are killed, or stopped for a moment, at random instants, and machines send DHCP packets
and requests for scripts twice and late. Every answer is recorded with the times at which it was
requested and received. At the end:

  A request that was sent after a power action had left is not answered with an older generation than
  the one that the power action waited for; nothing that was requested after the acknowledgement of a
  recall starts an installer; in a boot generation one ticket starts the installer; every answer has
  the generation and the environment of a change that was committed.

Prints how often everything happened. What never happened, or a violation, makes the exit status 1.
"""
import argparse
import bisect
import collections
import http.client
import os
import random
import re
import signal
import sqlite3
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [p for p in (HERE, TESTS) if p not in sys.path]
sys.path += [os.path.join(TESTS, "redfish")]
sys.dont_write_bytecode = True

from installation import (  # noqa: E402
    BARCLAMP, Installation, eventually, free_port, give_addresses, silence_arp,
)
import installation  # noqa: E402
from machines import (  # noqa: E402
    ACK, Dhcp, DISCOVER, IPXE, OFFER, REQUEST, WANTED, Workers, fetch, option_address, packet,
    ticket_facts,
)
from segment import Segment  # noqa: E402
from service import Service  # noqa: E402

LOCAL, INSTALL = "local", "debian-install"
ENVIRONMENTS = ["sledgehammer", "second", "third", LOCAL]
WITHDRAW = ("finished", "recalled-unused", "recalled-used", "redeployed")
DELAYS = (0, 0, 0.02, 0.1, 0.4, 1.5)  # s
STEP_S = 90
DHCP_STARTS_S = 7  # an interface is served 4 s after the start of halligan-boot

# Resumed when the environment is served; its second execution ends it, and the test restarts the
# machine, because the Redfish service offers no reboot.
SCRIPT = """\
if [ "$(read_attribute boot/bootenv)" = debian-install ]; then exit 0; fi
exit 128
"""
HOOK = """\
return {
  on_node_change = function(node, context)
    local noderole = context.noderole
    if not noderole or not noderole.run or noderole.run.state ~= 'parked' then return end
    if node.bootenv ~= 'debian-install' or (node.grant ~= 'unused' and node.grant ~= 'used') then
      halligan.set_bootenv(halligan.maybe(node), 'debian-install', noderole)
    elseif node.boot_served then
      halligan.resume(noderole)
    end
  end,
}
"""
ROLE = {"name": "install", "jig": "script", "flags": ["destructive"], "announces": ["boot", "power"],
        "requires": ["found"],
        "attribs": [{"name": "install-wipe", "map": "announced/install/wipe"}]}
BOOTENVS = [{"name": name, "method": "discovery", "kernel": f"{name}/vmlinuz"}
            for name in ("second", "third")]
BOOTENVS.append({"name": INSTALL, "method": "installer", "os": "debian-12", "kernel": "debian/vmlinuz"})

FAULTS = ("halligand killed", "halligan-boot killed", "halligan-boot stopped")
# What must have happened.
KINDS = ("environment changed", "power action left", "on left", "reset left", "redeployed",
         "reset for the installer left", "recalled before the grant", "recalled after the grant", "installer finished",
         "redeployed after the grant", *FAULTS, "packet doubled", "packet late", "request doubled", "request late", "DHCPOFFER", "DHCPACK", "script", "disk",
         "installer started", "installer not started", "installer stale", "after power left",
         "after recall")

Answer = collections.namedtuple("Answer", "kind node sent at generation bootenv ticket")


def certificate(folder):
    import subprocess
    key, cert = os.path.join(folder, "bmc.key"), os.path.join(folder, "bmc.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-keyout", key, "-subj", "/CN=127.0.0.1", "-out", cert, "-days", "30",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return cert, key


class Machine:
    """What is known about a node, and the round that its thread executes."""

    def __init__(self, fence, number, has_redfish):
        self.fence, self.number, self.has_redfish = fence, number, has_redfish
        self.mac = f"52:54:00:01:00:{number:02x}"
        self.random = random.Random(f"{fence.options.seed}/{number}")
        self.committed = {}  # generation: environment
        self.floors = []  # (time at which a power action had left, generation), ascending
        self.recalls = {}  # generation: time of the acknowledgement
        self.arrivals = []  # (time, action) at the hammer
        self.rounds, self.touches = 0, 0
        self.problem = None

    # -- set up

    def create(self):
        site = self.fence.site
        self.name, self.address = site.node(f"n{self.number}", self.mac)
        self.id = site.get(f"nodes/{self.name}")["id"]
        site.hammer(self.name, "local")
        if self.has_redfish:
            cert, key = self.fence.certificate
            self.service = Service("generic", cert=cert, key=key)
            system = self.service.systems["1"]
            performs = system.reset

            def reset(kind):
                self.arrivals.append((time.monotonic(), kind))
                return performs(kind)

            system.reset, system.real_power = reset, "On"
            system.shown_power = "On"
            site.hammer(self.name, "redfish", endpoint=self.service.url, authenticator="calvin",
                        username="root", extra={"ca": cert})
            self.install = site.post("node_roles", {"node": self.name, "role": "install"})["id"]
        else:
            site.hammer(self.name, "wol", endpoint=f"127.0.0.1:{self.fence.wake_port}",
                        extra={"mac": self.mac})

    # -- what is known

    def look(self):
        """Records the environment and generation that are committed."""
        shown = self.fence.ask("GET", f"nodes/{self.name}/boot")
        generation, bootenv = shown["generation"], shown["bootenv"]
        before = self.committed.setdefault(generation, bootenv)
        assert before == bootenv, (self.name, generation, before, bootenv)
        return shown

    def left(self, since, generation):
        """A power action that was ordered at this generation has left; `since` is before the order."""
        last = max(t for t, _ in self.arrivals if t > since)
        self.floors.append((last, generation))
        self.fence.count("power action left")

    def has_orders(self):
        """Power actions that are not done; one that was, is not repeated after a restart."""
        return self.fence.rows("SELECT 1 FROM outbox WHERE object_id = ? AND detail IN "
                               "('on', 'reset', 'reboot')", self.id)

    def settle(self, since, action, generation):
        """The action has left. The daemon does not repeat one that its death interrupted: as its
        reason `power_interrupted` asks for, it is ordered again."""
        arrives = "ForceRestart" if action == "reset" else action

        def has_left():
            if self.has_orders():
                return False
            if any(t > since and what == arrives for t, what in self.arrivals):
                return True
            self.fence.count("power action interrupted")
            self.fence.ask("PUT", f"nodes/{self.name}/power?poweraction={action}")
            return False

        eventually(has_left, lambda: f"{self.name}: {action} left; {self.arrivals[-3:]} "
                   f"{self.fence.ask('GET', f'nodes/{self.name}?view=full')}", STEP_S)
        self.left(since, generation)

    # -- rounds

    def run(self):
        try:
            while self.fence.has_more(self):
                self.random_pause()
                if not self.has_redfish:
                    self.switch()
                else:
                    self.redeploy(WITHDRAW[self.rounds % len(WITHDRAW)] if self.rounds < len(WITHDRAW)
                                  else self.random.choice(WITHDRAW))
                self.rounds += 1
                self.fence.count("rounds")
        except Exception as problem:  # pylint: disable=broad-except
            import traceback
            self.problem = f"{self.name}: {problem!r}\n{traceback.format_exc()}"
            self.fence.stop()

    def random_pause(self):
        time.sleep(self.random.choice((0, 0.05, 0.3)))

    def switch(self):
        """Another environment, and the machine is switched on."""
        now = self.look()["bootenv"]
        wanted = self.random.choice([e for e in ENVIRONMENTS if e != now])
        self.boots(self.random.randrange(3))
        self.fence.ask("PUT", f"nodes/{self.name}", {"bootenv": wanted})
        generation = self.look()["generation"]
        self.fence.count("environment changed")
        since = time.monotonic()
        self.fence.ask("PUT", f"nodes/{self.name}/power?poweraction=on")
        self.boots(self.random.randrange(3))
        self.settle(since, "on", generation)
        self.fence.count("on left")
        self.boots(1 + self.random.randrange(3))
        self.boots_now()

    def redeploy(self, how):
        """From the discovery system to an installer, and its end."""
        since = time.monotonic()
        self.fence.ask("PUT", f"nodes/{self.name}/redeploy")
        generation = self.look()["generation"]
        self.boots(1 + self.random.randrange(2))
        self.settle(since, "reset", generation)
        self.fence.count("reset left", "redeployed")
        self.boots_now()
        self.becomes_installer()
        generation = self.look()["generation"]
        assert self.committed[generation] == INSTALL, self.committed
        if how == "recalled-unused":
            self.boots(self.random.randrange(2))
            self.recall(generation)
            self.fence.count("recalled before the grant")
        else:
            since = time.monotonic()
            self.fence.ask("PUT", f"nodes/{self.name}/power?poweraction=reset")
            self.settle(since, "reset", generation)
            self.fence.count("reset for the installer left")
            self.boots(1 + self.random.randrange(3))
            self.boots_now(wants_installer=True)
            if how == "recalled-used":
                self.recall(generation)
                self.fence.count("recalled after the grant")
            elif how == "finished":
                self.fence.ask("PUT", f"nodes/{self.name}", {"bootenv": LOCAL, "boot_generation": generation},
                               accepted=(409,))
                assert self.look()["bootenv"] == LOCAL
                self.fence.count("installer finished")
            else:
                self.fence.count("redeployed after the grant")
                return
        self.boots(1 + self.random.randrange(3))
        self.boots_now()

    def becomes_installer(self):
        """The machine reports; its run parks, and the hook of the role sets the environment."""
        self.fence.ask("PUT", f"nodes/{self.name}", {"alive": True})

        def is_installer():
            if self.look()["bootenv"] == INSTALL:
                return True
            self.touches += 1
            self.fence.ask("PUT", f"nodes/{self.name}", {"description": f"touch {self.touches}"})
            time.sleep(0.1)
            return False

        eventually(is_installer, lambda: f"{self.name} is to boot its installer: "
                   f"{self.fence.ask('GET', f'node_roles/{self.install}?view=full')} "
                   f"{self.fence.ask('GET', f'nodes/{self.name}?view=full')}", STEP_S)

    def recall(self, generation):
        self.fence.ask("PUT", f"node_roles/{self.install}/propose")
        self.recalls[generation] = time.monotonic()
        assert self.look()["generation"] == generation

    # -- what the machine sends

    def boots(self, times):
        """It starts, in parallel with everything else."""
        for _ in range(times):
            for kind in (DISCOVER, REQUEST):
                self.sends(kind)
            self.asks(f"/boot/{self.mac}")

    def boots_now(self, wants_installer=False):
        """It starts, and asks until it has an answer."""
        def is_answered():
            answer = self.fence.workers.now(self.ask, f"/boot/{self.mac}", False)
            if not answer or not wants_installer:
                return answer
            ticket = answer.ticket
            return self.fence.workers.now(self.ask, f"/boot/{self.mac}/install?t={ticket}", False)

        eventually(is_answered, f"{self.name} is answered", STEP_S)

    def sends(self, kind):
        data = packet(kind, self.mac, self.fence.new_xid(self),
                      options=IPXE + (option_address(WANTED, self.address) if kind == REQUEST else b""))
        self.later("packet", self.fence.send, self, data)

    def asks(self, path):
        self.later("request", self.ask, path)

    def later(self, what, function, *arguments):
        """Now or late, once or twice."""
        delay = self.random.choice(DELAYS)
        times = self.random.choice((1, 1, 2))
        if delay:
            self.fence.count(f"{what} late")
        if times == 2:
            self.fence.count(f"{what} doubled")
        for _ in range(times):
            self.fence.workers.after(delay, function, *arguments)
            delay += self.random.choice(DELAYS)

    def ask(self, path, goes_on=True):
        """Called by a worker. None without an answer."""
        sent = time.monotonic()
        found = fetch(self.address, path)
        if not found or found[0] == 503:
            self.fence.count("no answer" if not found else "503")
            return None
        status, text = found
        assert status == 200, (self.name, path, status, text)
        at = time.monotonic()
        answer = self.read_install(path, text, sent, at) if "/install?" in path else \
            self.read_script(text, sent, at)
        self.fence.record(answer)
        if goes_on and answer.kind == "script" and answer.bootenv == INSTALL:
            self.asks(f"/boot/{self.mac}/install?t={answer.ticket}")
        return answer

    def read_script(self, text, sent, at):
        if " boots its disk\n" in text:
            return Answer("disk", self, sent, at, None, LOCAL, None)
        ticket = re.search(r"halligan\.ticket=([0-9a-f]{100})", text) or \
            re.search(r"\?t=([0-9a-f]{100})", text)
        assert ticket, text
        mac, node, generation = ticket_facts(ticket.group(1))
        assert (mac, node) == (self.mac, self.id), (self.name, mac, node)
        kernel = re.search(r"/files/([a-z]+)/vmlinuz", text).group(1)
        return Answer("script", self, sent, at, generation, INSTALL if kernel == "debian" else kernel,
                      ticket.group(1))

    def read_install(self, path, text, sent, at):
        ticket = path[-100:]
        generation = ticket_facts(ticket)[2]
        for kind, words in (("installer started", " starts its installer\n"),
                            ("installer not started", " boots its disk\n"),
                            ("installer stale", " asks again what to boot\n")):
            if words in text:
                return Answer(kind, self, sent, at, generation, INSTALL, ticket)
        raise AssertionError(text)


class Fence:
    """The installation, the machines, the process that kills, and the record of all answers."""

    def __init__(self, segment, options):
        self.segment, self.options = segment, options
        self.lock = threading.Lock()
        self.counts, self.answers, self.xids = collections.Counter(), [], {}
        self.is_stopped, self.end = threading.Event(), time.monotonic() + options.seconds
        self.restarting = threading.Lock()
        self.certificate = certificate(segment.folder)
        self.site = Installation(segment, bootenvs=BOOTENVS, roles=[ROLE], hooks={"install": HOOK},
                                 scripts={"install": SCRIPT}, flags=("--boot-wait", "600"))
        silence_arp(segment)
        self.open_wake()
        self.site.start()
        self.site.open(first_pool=251)
        half = (options.nodes + 1) // 2
        self.machines = [Machine(self, i + 1, i < half) for i in range(options.nodes)]
        for machine in self.machines:
            machine.create()
        give_addresses(segment, [machine.address for machine in self.machines])
        self.site.start_boot()
        self.booted = time.monotonic()
        self.site.connects()
        self.dhcp = Dhcp(segment.machines, "m0", self.take_reply)
        self.workers = Workers(segment.machines, 2 * options.nodes)

    # -- counters

    def count(self, *names):
        with self.lock:
            self.counts.update(names)

    def record(self, answer):
        with self.lock:
            self.answers.append(answer)
            self.counts[answer.kind] += 1

    def stop(self):
        self.is_stopped.set()

    def has_more(self, machine):
        """At the time limit the threads end their rounds."""
        share = -(-self.options.rounds // self.options.nodes)
        is_missing = any(not self.counts[kind] for kind in FAULTS)
        return not self.is_stopped.is_set() and time.monotonic() < self.end and \
            (machine.rounds < share or is_missing)

    # -- the daemon

    def ask(self, method, path, body=None, accepted=()):
        """The answer of a daemon that may be killed at any time: repeated until there is one."""
        end = time.monotonic() + STEP_S
        while True:
            assert not self.is_stopped.is_set(), "another thread has failed"
            try:
                answer = self.site.client.ask(method, path, body)
                if answer.status == 200 or answer.status in accepted:
                    return answer.json()
                assert answer.status == 503, (method, path, body, answer)
            except (OSError, http.client.HTTPException):
                self.count("request to halligand repeated")
            assert time.monotonic() < end, (method, path)
            time.sleep(0.05)

    def rows(self, query, *values):
        while True:
            store = sqlite3.connect(f"file:{self.site.path('halligan.db')}?mode=ro", uri=True, timeout=60)
            try:
                return store.execute(query, values).fetchall()
            except sqlite3.OperationalError:
                time.sleep(0.05)  # it recovers its log
            finally:
                store.close()

    # -- hammers

    def open_wake(self):
        import socket
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 0))
        self.wake_port = s.getsockname()[1]

        def receive():
            while True:
                data = s.recv(300)
                mac = ":".join(f"{b:02x}" for b in data[6:12])
                for machine in self.machines:
                    if machine.mac == mac:
                        machine.arrivals.append((time.monotonic(), "on"))

        threading.Thread(target=receive, daemon=True).start()

    # -- DHCP

    def new_xid(self, machine):
        xid = next(self.dhcp.xids)
        self.xids[xid] = [machine, None]
        return xid

    def send(self, machine, data):
        """The first of two equal packets counts as the request: an answer to the second is not older."""
        xid = int.from_bytes(data[4:8], "big")
        if self.xids[xid][1] is None:
            self.xids[xid] = [machine, time.monotonic()]
        self.dhcp.send(data)

    def take_reply(self, reply, at):
        if reply.xid not in self.xids:
            return
        machine, sent = self.xids[reply.xid]
        kind = {OFFER: "DHCPOFFER", ACK: "DHCPACK"}.get(reply.kind)
        if not kind:
            return
        if not reply.file:
            self.record(Answer(kind, machine, sent, at, None, LOCAL, None))
            return
        ticket = reply.file.split("?t=")[1]
        mac, node, generation = ticket_facts(ticket)
        if (mac, node, reply.address) != (machine.mac, machine.id, machine.address):
            self.workers.problems.append(f"{machine.name}: reply for {mac} {node} {reply.address}")
        self.record(Answer(kind, machine, sent, at, generation, None, ticket))
        if machine.random.random() < 0.5:
            self.workers.after(0, machine.ask, f"/boot/{machine.mac}?t={ticket}")

    # -- kill -9

    def kill(self):
        """Until the rounds are over. Each program is left the time to serve between two kills."""
        chance = random.Random(f"{self.options.seed}/kill")
        try:
            while not self.is_stopped.wait(chance.uniform(0.1, self.options.pause)):
                has_served = time.monotonic() > self.booted + DHCP_STARTS_S
                self.fault(chance, chance.choice(FAULTS + ("both",) if has_served else (FAULTS[0], FAULTS[2])))
        except Exception as problem:  # pylint: disable=broad-except
            self.workers.problems.append(f"kill: {problem!r}")
            self.stop()

    def fault(self, chance, what):
        if what == "halligan-boot stopped":
            self.count(what)
            self.segment.process.send_signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.01, 0.5))
            self.segment.process.send_signal(signal.SIGCONT)
            return
        is_boot, is_daemon = what != "halligand killed", what != "halligan-boot killed"
        if is_daemon:
            self.site.kill()
            self.count("halligand killed")
        if is_boot:
            self.site.kill_boot()
            self.count("halligan-boot killed")
        time.sleep(chance.choice((0, 0, 0.2, 0.5)))
        if is_boot:
            self.site.start_boot()
            self.booted = time.monotonic()
        if is_daemon:
            self.site.start()

    # -- all of it

    def run(self):
        killer = threading.Thread(target=self.kill, daemon=True)
        threads = [threading.Thread(target=machine.run, daemon=True) for machine in self.machines]
        for thread in threads:
            thread.start()
        killer.start()
        for thread in threads:
            thread.join()
        self.stop()
        killer.join()
        if not self.workers.problems:
            self.workers.drain()
        problems = [machine.problem for machine in self.machines if machine.problem]
        assert not problems and not self.workers.problems, "\n".join(problems + self.workers.problems)
        return self.judge()

    def judge(self):
        """The violations, as lines."""
        wrong = []
        started = collections.defaultdict(set)
        for a in self.answers:
            machine = a.node
            wrong += [f"{text}: {a._replace(node=machine.name)} {machine.floors[-3:]} {machine.recalls}"
                      for text in self.judge_answer(a)]
            if a.kind == "installer started":
                started[machine.name, a.generation].add(a.ticket)
        wrong += [f"{len(tickets)} tickets started the installer of {key}"
                  for key, tickets in started.items() if len(tickets) > 1]
        return wrong

    def judge_answer(self, a):
        machine = a.node
        at = bisect.bisect_left(machine.floors, (a.sent,))
        floor = machine.floors[at - 1][1] if at else 0
        self.counts["after power left"] += at > 0
        if a.kind == "installer not started" or a.kind == "installer stale":
            recalled = machine.recalls.get(a.generation)
            self.counts["after recall"] += recalled is not None and a.sent > recalled
            return
        if a.generation is not None:
            if a.generation not in machine.committed:
                yield "its generation was never committed"
            elif a.bootenv and machine.committed[a.generation] != a.bootenv:
                yield f"the generation has the environment {machine.committed[a.generation]}"
            if a.generation < floor:
                yield f"older than the generation {floor} that a power action waited for"
        elif not any(g >= floor and e == a.bootenv for g, e in machine.committed.items()):
            yield f"no generation from {floor} on has this environment"
        elif a.bootenv != machine.committed[floor] and \
                not any(g > floor and e == a.bootenv for g, e in machine.committed.items()):
            yield "of no generation"
        if a.kind == "installer started":
            recalled = machine.recalls.get(a.generation)
            if recalled is not None and a.sent > recalled:
                yield "started after its recall was acknowledged"
            self.counts["started while it was recalled"] += recalled is not None and \
                a.sent <= recalled < a.at

    def print(self, wrong, began):
        print(f"{self.counts['rounds']} rounds of {len(self.machines)} nodes in "
              f"{time.monotonic() - began:.0f} s, {len(self.answers)} answers")
        for name in sorted(self.counts):
            if name != "rounds":
                print(f"    {self.counts[name]:8d}  {name}")
        for line in wrong[:20]:
            print(line)
        missing = [name for name in KINDS if not self.counts[name]]
        if missing:
            print("never happened: " + ", ".join(missing))
        print(f"{len(wrong)} violations", flush=True)
        return wrong, missing

    def close(self):
        self.dhcp.close()
        self.workers.close()
        for machine in self.machines:
            if machine.has_redfish:
                machine.service.close()


def fence(segment, options):
    """Returns (violations, kinds that never happened)."""
    began = time.monotonic()
    campaign = Fence(segment, options)
    try:
        return campaign.print(campaign.run(), began)
    finally:
        campaign.close()


def parser():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=40)
    p.add_argument("--nodes", type=int, default=6)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=3600, help="rounds that began by then are ended")
    p.add_argument("--pause", type=float, default=3, help="seconds between two kills at most")
    return p


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = parser().parse_args()
    segment = Segment(os.path.abspath(options.build))
    try:
        wrong, missing = fence(segment, options)
    except BaseException:
        print(segment.said())
        raise
    finally:
        segment.close()
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
