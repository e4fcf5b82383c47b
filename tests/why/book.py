"""The fault book: each fault, how it is made, and what `why` has to answer.

`how` is a maker (making.py), all of which run in one daemon at the same time, or the name of a scene
(scenes.py) that has a daemon of its own. `code` is that of the last cause of the chain, or of an entry
of `installation` or `names`; `about` is the object it has to name: node_role, node, role, attrib or
dns_name_filter, which are those of the maker, a run, which has no name, or a part of the
installation.
"""
import collections

from making import (Cancelled, Chain, Far, Gone, Ipmi, Large, Lua, Machine, Named, NoCode, OwnKey,
                    Probe, Redfish, Script, SmallDisk, Value)

Fault = collections.namedtuple("Fault", "group name how code about subject", defaults=(None,))

NODEROLE, NODE, ROLE, ATTRIB, RUN = "node_role", "node", "role", "attrib", "run"
FILTER = "dns_name_filter"
STORE, SUPERVISOR, CLOCK = "store", "supervisor", "clock"

KILL_FIRST = 'kill -{} "$(cat "$HALLIGAN_PLACE/pid")"; sleep LONG'
# Of a session of the OpenSSH server, the process above the shell that it started.
HANG_UP = """
at=$$
until [ "$(tr '\\0' ' ' < "/proc/$at/cmdline" | cut -c1-5)" = sshd: ]; do
    at=$(awk '{ print $4 }' "/proc/$at/stat")
done
kill -9 "$at"
sleep LONG
"""
LEAD = """
at=$$
until tr '\\0' ' ' < "/proc/$at/cmdline" | grep -q -- --shim; do
    at=$(awk '{ print $4 }' "/proc/$at/stat")
done
say begin
kill -9 "$at"
sleep LONG
"""
DEEP = '{"a":' * 60 + "1" + "}" * 60
LOOPS = "return { do_transition = function() while true do end end }"
EATS = """return { do_transition = function()
  local all = {}
  for i = 1, 1e9 do all[i] = string.rep('x', 1000) .. i end
end }"""
POST = {"method": "POST"}
LATER = {"do": "status", "status": 503, "headers": {"Retry-After": "86400"}, "count": 9}
# Each value is small enough, all of them are not.
MANY_VALUES = """for i in $(seq 1 20); do
    mkdir -p "attrs/why/v$i"
    head -c 1000000 /dev/zero | tr '\\0' x > "attrs/why/v$i/wall"
done"""

BOOK = [
    # -- ssh -------------------------------------------------------------------------------------
    Fault("ssh", "key refused", Machine("other_key"), "ssh_key_refused", NODE),
    Fault("ssh", "host key changed", Machine("other_host_key"), "host_key_changed", NODE),
    Fault("ssh", "connection refused", Machine("closed_port"), "connection_refused", NODE),
    Fault("ssh", "name without an address", Machine("no_address"), "name_unresolved", NODE),
    Fault("ssh", "connection lost", Machine("stays", HANG_UP), "connection_lost", NODE),
    Fault("ssh", "probe refused", Probe("127.0.0.1:CLOSED"), "connection_refused", NODE),
    Fault("ssh", "probe of a wrong name", Probe("no-such-machine.invalid:22"), "name_unresolved",
          NODE),
    Fault("ssh", "probe of a server without a banner", Probe("127.0.0.1:SILENT"), "ssh_failed", NODE),
    Fault("ssh", "probe of an address of many hosts", Probe("224.0.0.1:22"), "unreachable", NODE),
    Fault("ssh", "probe of the host of the daemon", OwnKey(), "host_key_refused", NODE),
    Fault("ssh", "key of the installation unreadable", "ssh_key", "ssh_key_unusable", NODE),
    # -- exit status and signal ------------------------------------------------------------------
    Fault("exit", "status 3", Script("exit 3"), "exit_status", NODEROLE, "3"),
    Fault("exit", "status 1 over ssh", Far("exit 1"), "exit_status", NODEROLE, "1"),
    Fault("exit", "status 255 over ssh", Far("exit 255"), "exit_status", NODEROLE, "254"),
    Fault("exit", "command not found", Script("no-such-command"), "exit_status", NODEROLE, "127"),
    Fault("exit", "second script fails", Script("true", "exit 7"), "exit_status", NODEROLE, "7"),
    Fault("exit", "a role that is tried twice", Script("exit 9", attempts=2, backoff=1),
          "exit_status", NODEROLE, "9"),
    Fault("exit", "a disk that differs from the committed one",
          Script("die_because disk_differs sda 'the disk sda differs from the committed one'"),
          "disk_differs", NODEROLE, "sda"),
    Fault("exit", "a machine whose boot was not served",
          Script("die_because boot_not_served reboot 'dhcp-database on admin is in error'"),
          "boot_not_served", NODE, "reboot"),
    Fault("exit", "a reason that scripts may not report",
          Script("die_because disk_full / 'the file system is full'"), "exit_status", NODEROLE, "1"),
    Fault("exit", "words of a full disk in the log",
          Script("echo 'No space left on device' >&2; exit 4"), "exit_status", NODEROLE, "4"),
    Fault("signal", "signal 9", Script(KILL_FIRST.format(9)), "signal", NODEROLE, "9"),
    Fault("signal", "signal 11", Script(KILL_FIRST.format(11)), "signal", NODEROLE, "11"),
    Fault("signal", "signal 6", Script(KILL_FIRST.format(6)), "signal", NODEROLE, "6"),
    Fault("signal", "a child ended by a signal", Script("sh -c 'kill -SEGV $$'"), "exit_status",
          NODEROLE, "139"),
    # -- deadline --------------------------------------------------------------------------------
    Fault("deadline", "deadline of the role", Script("sleep LONG", deadline=1), "deadline",
          NODEROLE, "1"),
    Fault("deadline", "deadline of the installation", Script("sleep LONG", deadline=None),
          "deadline", NODEROLE, "3"),
    Fault("deadline", "deadline over ssh", Far("sleep LONG", deadline=2), "deadline", NODEROLE, "2"),
    Fault("deadline", "signals ignored", Script("trap '' TERM INT HUP; sleep LONG", deadline=1),
          "deadline", NODEROLE, "1"),
    # -- memory ----------------------------------------------------------------------------------
    Fault("memory", "memory of the host", "memory", "memory_limit", NODEROLE, "oom_kill"),
    Fault("memory", "a child without memory, and another status", "memory", "memory_limit",
          NODEROLE, "oom_kill"),
    Fault("memory", "memory of a machine", "memory", "memory_limit", NODEROLE, "oom_kill"),
    Fault("memory", "no memory is missing", "memory", "exit_status", NODEROLE, "137"),
    # -- disk ------------------------------------------------------------------------------------
    Fault("disk", "disk filled by the run", SmallDisk("cat /dev/zero > DISK/file"), "disk_full",
          NODEROLE),
    Fault("disk", "disk of a machine filled", SmallDisk("cat /dev/zero > DISK/file", far=True),
          "disk_full", NODEROLE),
    Fault("disk", "no inode left", SmallDisk('for i in 1 2 3 4 5 6 7 8 9; do : > "DISK/$i" || exit 1; '
                                             "done", options="nr_inodes=6"),
          "disk_full", NODEROLE),
    Fault("disk", "no space to unpack", Machine("full_tmp", scene="disks"), "disk_full", NODEROLE),
    Fault("disk", "file system turned read-only",
          SmallDisk("mount -o remount,ro DISK; echo x > DISK/file"), "disk_error", NODEROLE),
    Fault("disk", "another disk was full before", SmallDisk("exit 5", fill=True), "exit_status",
          NODEROLE, "5"),
    Fault("disk", "disk of the daemon", "own_disk", "disk_full", NODEROLE),
    # -- supervisor ------------------------------------------------------------------------------
    Fault("supervisor", "supervisor killed", "supervisor", "supervisor_lost", NODEROLE),
    Fault("supervisor", "leader of the run killed", Script(LEAD), "supervisor_lost", NODEROLE),
    Fault("supervisor", "program missing", "no_supervisor", "supervisor_down", SUPERVISOR),
    Fault("supervisor", "directory open to others", "open_supervisor", "supervisor_down", SUPERVISOR),
    Fault("supervisor", "records of runs deleted", "supervisor", "run_lost", NODEROLE),
    Fault("supervisor", "shell that cannot be started", "no_shell", "not_started", NODEROLE),
    Fault("supervisor", "cancelled", Cancelled("say begin; sleep LONG"), "cancelled", NODEROLE),
    # -- Lua -------------------------------------------------------------------------------------
    Fault("lua", "error", Lua("return { do_transition = function() error('x') end }"), "hook_error",
          NODEROLE, "do_transition"),
    Fault("lua", "loop without end", Lua(LOOPS), "hook_limit", NODEROLE, "do_transition"),
    Fault("lua", "too much memory", Lua(EATS), "hook_limit", NODEROLE, "do_transition"),
    Fault("lua", "returns failed", Lua("return { do_transition = function() return 'failed' end }"),
          "role_failed", NODEROLE, "do_transition"),
    Fault("lua", "no such result", Lua("return { do_transition = function() return 'fine' end }"),
          "hook_error", NODEROLE, "do_transition"),
    Fault("lua", "asks for what there is not",
          Lua("return { on_todo = function() halligan.retry(999999) end }", jig="noop"),
          "hook_refused", NODEROLE, "on_todo"),
    Fault("lua", "error in sysdata", Lua("return { sysdata = function() error('x') end }",
                                         jig="noop"), "hook_error", NODEROLE, "sysdata"),
    Fault("lua", "no code", NoCode(), "hook_missing", ROLE),
    # -- wall, schema, files of the role ---------------------------------------------------------
    Fault("wall", "value that is no text", Script("write_attribute why/bad \"$(printf 'a\\377')\""),
          "wall_invalid", NODEROLE, "why/bad"),
    Fault("wall", "value below a value", Script("write_attribute why 1; write_attribute why/low 2"),
          "wall_invalid", NODEROLE, "why/low"),
    Fault("wall", "value too deep", Script(f"write_attribute why/deep '{DEEP}'"), "wall_invalid",
          NODEROLE),
    Fault("wall", "value too large",
          Script("mkdir -p attrs/why/large; head -c 1500000 /dev/zero | tr '\\0' x > attrs/why/large/wall"),
          "wall_invalid", NODEROLE),
    Fault("wall", "all values too large", Script(MANY_VALUES), "result_invalid", NODEROLE),
    Fault("schema", "required text", Value({"type": "str", "required": True}), "attrib_missing",
          ATTRIB),
    Fault("schema", "required number", Value({"type": "int", "required": True}), "attrib_missing",
          ATTRIB),
    Fault("role", "scripts deleted", Gone("say ran"), "role_files", ROLE),
    Fault("role", "files too large", Large(), "data_too_large", NODEROLE),
    # -- parents on other machines ---------------------------------------------------------------
    Fault("parents", "parent failed", Chain(Script("exit 6")), "exit_status", NODEROLE, "6"),
    Fault("parents", "three machines", Chain(Script("exit 8"), length=4), "exit_status", NODEROLE,
          "8"),
    Fault("parents", "key of the parent refused", Chain(Machine("other_key"), length=3),
          "ssh_key_refused", NODE),
    Fault("parents", "node of the parent not alive", Chain(Script("say ran"), alive=False),
          "not_alive", NODE),
    Fault("parents", "node of the parent not available", Chain(Script("say ran"), available=False),
          "not_available", NODE),
    Fault("parents", "attrib of the parent missing",
          Chain(Value({"type": "str", "required": True}), length=3), "attrib_missing", ATTRIB),
    # -- store -----------------------------------------------------------------------------------
    Fault("store", "disk of SQLite full", "sqlite_full", "store_full", STORE),
    Fault("store", "disk of PostgreSQL full", "postgres_full", "store_full", STORE),
    Fault("store", "PostgreSQL stopped", "postgres_down", "store_down", STORE),
    Fault("store", "PostgreSQL silent", "postgres_stalled", "store_stalled", STORE),
    Fault("store", "disk of SQLite silent", "sqlite_stalled", "store_stalled", STORE),
    # -- power -----------------------------------------------------------------------------------
    Fault("power", "wrong password", Redfish(password="wrong"), "power_auth", NODE, "on"),
    Fault("power", "BMC away", Redfish(closed=True), "power_refused", NODE, "on"),
    Fault("power", "action being retried", Redfish(action="reset", closed=True, retrying=True),
          "power_retrying", NODE, "reset"),
    Fault("power", "certificate of another CA", Redfish(trusted=False), "power_tls", NODE,
          "on"),
    Fault("power", "connection dropped", Redfish(action="cycle", fault={**POST, "do": "drop"}),
          "power_lost", NODE, "cycle"),
    Fault("power", "BMC answers 500",
          Redfish(action="cycle", fault={**POST, "do": "status", "status": 500, "count": 9}),
          "power_failed", NODE, "cycle"),
    Fault("power", "BMC without an address", Redfish(endpoint="https://no-such-machine.invalid"),
          "power_unreachable", NODE, "on"),
    Fault("power", "BMC busy", Redfish(action="cycle", fault={**POST, **LATER}), "power_busy", NODE,
          "cycle"),
    Fault("power", "no such system", Redfish(extra={"system": "77"}), "power_setting", NODE, "on"),
    Fault("power", "IPMI password wrong", Ipmi("wrong"), "power_auth", NODE, "on"),
    # -- boot ------------------------------------------------------------------------------------
    Fault("boot", "waits for a run that publishes", "boot", "running", RUN),
    Fault("boot", "noderole of a machine that waits", "boot", "running", RUN),
    Fault("boot", "database on a closed node", "boot", "not_available", NODE),
    Fault("boot", "never served", "boot", "boot_not_served", NODE, "reset"),
    Fault("boot", "database in error", "boot_error", "boot_not_served", NODE, "reset"),
    Fault("boot", "boot device not set", "boot_error", "power_refused", NODE, "boot disk"),
    Fault("boot", "boot server never connected", "boot_server", "boot_server_lost", NODE),
    Fault("boot", "boot server cannot serve", "boot_server", "boot_server", NODEROLE),
    Fault("boot", "grant void", "grant", "no_grant", NODE),
    Fault("boot", "installer silent", "installer", "installer_silent", NODE, "debian-install"),
    Fault("boot", "disk with a later stamp", "installer", "disk_stamped", NODE, "9"),
    Fault("boot", "not managed", "unbootable", "not_managed", NODE),
    Fault("boot", "no MAC known", "unbootable", "no_mac", NODE),
    Fault("boot", "no address", "unbootable", "no_boot_address", NODE),
    Fault("boot", "environment that no barclamp defines", "unbootable", "bootenv_unknown", NODE),
    Fault("boot", "MAC of another machine", "unbootable", "mac_taken", NODE),
    # -- names -----------------------------------------------------------------------------------
    Fault("names", "name with an underscore", Named(1, "{{node.name}}_x"), "name_invalid", FILTER,
          "10.77.1.10"),
    Fault("names", "token that does not exist", Named(2, "{{node.color}}"), "name_invalid", FILTER,
          "10.77.2.10"),
    Fault("names", "name of a MAC that is missing", Named(3, "{{node.mac}}"), "name_invalid", FILTER,
          "10.77.3.10"),
    Fault("names", "no DNS service", Named(4, "{{node.name}}", is_served=False), "name_not_served",
          FILTER, "no-dns-service"),
    # -- clock -----------------------------------------------------------------------------------
    Fault("clock", "set back an hour", "clock", "clock_behind", CLOCK),
    Fault("clock", "set ahead a day", "clock", "clock_ahead", CLOCK),
    Fault("clock", "set back before a start", "clock", "clock_behind", CLOCK),
    Fault("clock", "set ahead before a start", "clock", "clock_ahead", CLOCK),
]
