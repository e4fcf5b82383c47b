"""A store that an older version wrote comes up on this one, and nothing is lost."""
import glob
import json

from daemon import Client, basic
from installation import ADMIN_NODE
from stores import in_order
from upgrades import KNOWN_HOSTS, dumped, known_migrations
from yard import ACTIVE, ERROR, eventually

# What each migration adds: the value that rows of old stores get in a new column, the new tables,
# which are empty, and new rows of old tables; and the columns that it drops. A new counter has the
# times of the one of the outbox.
ADDED = {
    "0005_defaults": {
        "columns": {"role": {"defaults": 0}, "noderole": {"defaults": 0},
                    "deployment": {"rerunning": False}},
    },
    "0006_reasons": {
        "columns": {
            "node": {"reason": 0, "reason_subject": ""},
            "noderole": {"reason": 0, "reason_subject": "", "reason_text": ""},
            "old_run": {"reason": 0, "reason_subject": "", "reason_text": ""},
        },
    },
    "0007_automatic": {"columns": {"node": {"automatic": False}}},
    "0008_host_keys": {
        "columns": {"settings": {"host_keys_imported": False}},
        "tables": ["host_key"],
        "rows": {"counter": [{"id": "host_key", "last": 0}]},
    },
    "0009_power": {
        "columns": {
            "node": {"power_state": 0, "power_read_at": 0, "power_driver": "", "power_reason": 0,
                     "power_error": "", "power_order": 0, "power_results": ""},
        },
    },
    "0010_event_address": {"columns": {"event": {"address": ""}}},
    "0011_status_hook": {"columns": {"noderole": {"status_hook": 0}}},
    "0012_networks": {
        "columns": {"settings": {"nics_made": False},
                    "role": {"network_id": 0, "per_name": "", "lists_services": ""}},
        "tables": ["network", "network_range", "network_router", "network_allocation", "lease",
                   "nic", "dns_name_filter", "dns_name_entry"],
        "rows": {"counter": [{"id": table, "last": 0} for table in (
            "network", "network_range", "network_router", "network_allocation", "lease", "nic",
            "dns_name_filter", "dns_name_entry")]},
    },
    "0013_deleting": {"columns": {"network": {"deleting": False},
                                  "dns_name_filter": {"deleting": False}}},
    "0014_bootenv": {
        "tables": ["bootenv"],
        "rows": {"counter": [{"id": "bootenv", "last": 0}]},
    },
    "0015_grants": {
        "columns": {
            "settings": {"install_wait_s": 3600},
            "node": {"grant_noderole": 0, "grant_ticket": "", "grant_at": 0, "grant_void": 0,
                     "stamp_generation": 0},
            "noderole": {"grant_barred": 0},
        },
    },
    "0016_boot_due": {
        "columns": {"settings": {"boot_server": False},
                    "noderole": {"boot_cursor": 0, "boot_staged": 0}},
        "dropped": {"node": ["boot_seen"]},
        "tables": ["boot_due"],
        "rows": {"counter": [{"id": "boot_due", "last": 0}]},
    },
}


def expected(rows, newer):
    """The rows of an old store after the migrations `newer`. The migrations themselves are left out."""
    wanted = {table: [dict(row) for row in old] for table, old in rows.items()}
    for name in newer:
        assert name in ADDED, f"{name} needs an entry in ADDED"
        added = ADDED[name]
        for table, columns in added.get("columns", {}).items():
            for row in wanted[table]:
                assert not columns.keys() & row.keys(), (name, table, columns)
                row.update(columns)
        for table, columns in added.get("dropped", {}).items():
            for row in wanted[table]:
                for column in columns:
                    del row[column]
        for table in added.get("tables", []):
            assert table not in wanted, (name, table)
            wanted[table] = []
        for table, new in added.get("rows", {}).items():
            like = next(row for row in wanted[table] if row["id"] == "outbox")
            wanted[table] += [{**{c: like[c] for c in ("created_at", "updated_at", "turn")}, **row}
                              for row in new]
    wanted.pop("schema_migration")
    return {table: in_order(new) for table, new in wanted.items()}


def same(u, wanted, found):
    """Compares table by table: all columns of all rows."""
    assert sorted(wanted) == sorted(found), (u, wanted.keys() ^ found.keys())
    for table, rows in wanted.items():
        gone = [row for row in rows if row not in found[table]]
        new = [row for row in found[table] if row not in rows]
        assert rows == found[table], (u, table, gone[:3], new[:3])


def migrations_of(rows):
    return sorted(row["name"] for row in rows["schema_migration"])


def newer_than(name):
    return [each for each in known_migrations() if each > name]


def is_upgraded(u, before, after):
    """All migrations are recorded, those of before as they were, and the rows are as expected."""
    assert migrations_of(after) == known_migrations(), (u, migrations_of(after))
    assert all(row in after["schema_migration"] for row in before["schema_migration"]), u
    found = {table: rows for table, rows in after.items() if table != "schema_migration"}
    same(u, expected(before, newer_than(u.name)), found)


# -- migrations ------------------------------------------------------------------------------------


def test_each_schema_before_the_newest_has_a_dump(_):
    """The dump of the newest may be there already."""
    names = dumped()
    missing = [name for name in known_migrations()[:-1] if name > names[0] and name not in names]
    assert not missing, f"run tests/upgrade/make.py with a build of the version of {missing}"


def test_dumps_hold_rows_of_every_table_that_a_halligand_fills(upgrades):
    """Those that are empty are named: what they would hold is not there while nothing is under way."""
    for u in upgrades.each(on=[False]):
        empty = sorted(table for table, rows in u.tables.rows().items() if not rows)
        assert empty == ["outbox"], (u, empty)
        states = {row["state"] for row in u.tables.rows()["noderole"]}
        assert states == {0, 1, 2, 3, 4, 5}, (u, states)


def test_rows_of_old_stores_are_kept_and_new_columns_have_their_defaults(upgrades):
    stores = {}
    for u in upgrades.each():
        before = u.tables.rows()
        after = u.migrate()
        is_upgraded(u, before, after)
        u.check()
        stores[u.tables.kind] = {table: rows for table, rows in after.items()
                                 if table not in ("schema_migration", "leadership")}
        if u.store:
            same(u, stores["sqlite"], stores["postgres"])


def test_a_status_that_quotes_a_hook_names_it_after_the_upgrade(upgrades):
    """0011 reads the hook from the status: 1 + its number in model/record.h."""
    quotes = {"on_proposed: no": 1, "on_error: no": 6, "sysdata: no": 14, "template: no": 15,
              "on_proposed failed": 0, "no on_proposed: no": 0}
    for u in upgrades.each(["0010_event_address"]):
        ids = [row["id"] for row in u.tables.rows()["noderole"]][:len(quotes)]
        assert len(ids) == len(quotes), ids
        u.tables.run(*(f"UPDATE noderole SET status = '{status}' WHERE id = {id}"
                       for id, status in zip(ids, quotes)))
        found = {row["id"]: row["status_hook"] for row in u.migrate()["noderole"]}
        assert [found[id] for id in ids] == list(quotes.values()), (u, found)


def test_an_upgrade_that_is_killed_again_and_again_is_completed(upgrades):
    """At each point of each migration, from the oldest dump on. A failpoint counts from the start
    of the process, whose first migration is the first one that is not recorded."""
    name = dumped()[0]
    for u in upgrades.each([name]):
        before = u.tables.rows()
        for n in range(len(newer_than(name))):
            for point, done in (("before", n), ("inside", n), ("after", n + 1)):
                u.dies_at(f"store.migrate.{point}:1")
                there = known_migrations()[:len(before["schema_migration"]) + done]
                assert migrations_of(u.tables.rows()) == there, (u, point, n)
        is_upgraded(u, before, u.migrate())
        u.check()


# -- stores that are refused -------------------------------------------------------------------------


def test_a_store_of_a_newer_version_is_refused_and_not_changed(upgrades):
    """The error names the newest migration of the store and the newest of the program."""
    for u in upgrades.each(dumped()[-1:]):
        u.migrate()
        u.tables.run("ALTER TABLE node ADD COLUMN newer TEXT NOT NULL DEFAULT 'set'",
                     "INSERT INTO schema_migration VALUES ('9998_newer', '00', 1)",
                     "INSERT INTO schema_migration VALUES ('9999_newest', '00', 1)")
        before = u.tables.dump()
        for words in ((), ("check",), ("export", u.path("exported.db"))):
            said = u.is_refused(*words)
            assert "9999_newest" in said and known_migrations()[-1] in said, (u, words, said)
            assert u.tables.dump() == before, (u, words)


def test_verbs_refuse_an_older_store_and_do_not_change_it(upgrades):
    """The error says how many migrations there are and how many are known."""
    for u in upgrades.each([name for name in dumped() if newer_than(name)][-1:]):
        before = u.tables.dump()
        counts = f"{len(u.tables.rows()['schema_migration'])} of {len(known_migrations())}"
        for words in (("check",), ("export", u.path("exported.db"))):
            said = u.is_refused(*words)
            assert counts in said, (u, words, said)
            assert u.tables.dump() == before, (u, words)


# -- the daemon after an upgrade ---------------------------------------------------------------------

# Tables in which a start changes rows: the lead, content from another directory, the run that was
# under way, and what is counted. Rows of all others stay as they are.
CHANGED = ("leadership", "barclamp", "counter", "run", "settings")


def noderole(rows, role):
    roles = [row["id"] for row in rows["role"] if row["name"] == role]
    nodes = [row["id"] for row in rows["node"] if row["name"] == ADMIN_NODE]
    return next(row["id"] for row in rows["noderole"]
                if row["role_id"] in roles and row["node_id"] in nodes)


def pins(rows):
    names = {row["id"]: row["name"] for row in rows["node"]}
    return [(names[row["node_id"]], row["key"]) for row in rows["host_key"]]


def import_is_done(u):
    return [row["host_keys_imported"] for row in u.tables.rows()["settings"]] == [True]


def test_an_upgraded_daemon_serves_and_goes_on_with_its_work(upgrades):
    for u in upgrades.samples():
        migrated = u.migrate()
        slow, behind = noderole(migrated, "slow"), noderole(migrated, "next")
        boots = [row["id"] for row in migrated["role"] if row["name"] == "boots"]
        publishers = [row["id"] for row in migrated["noderole"] if row["role_id"] in boots]
        changed = {"noderole": [slow, behind, *publishers], "role": boots}  # its hook is gone
        me = u.start()
        u.reaches(slow, ERROR)
        u.verb(slow, "retry")
        u.reaches(slow, ACTIVE)
        u.reaches(behind, ACTIVE)
        assert me.get("session").json()["username"] == "admin", u
        url = u.read("listen").strip()
        for user, status in (("olga", 200), ("grantee", 200), ("locked", 401)):
            answer = Client(url, basic(user, "a test password")).get("session")
            assert answer.status == status, (u, user, answer)
        eventually(lambda: import_is_done(u), "host keys are taken over")
        u.end()
        u.check()
        rows = u.tables.rows()
        for table in migrated.keys() - CHANGED:
            own = [row for row in migrated[table] if row.get("id") not in changed.get(table, [])]
            gone = [row for row in own if row not in rows[table]]
            assert not gone, (u, table, gone[:3])


def test_pins_of_known_hosts_are_taken_over_once(upgrades):
    """Dumps before 0008 have them in the file only, later ones in the store."""
    for u in upgrades.samples():
        wanted = [(u.facts["node"], u.facts["host_key"])]
        slow = noderole(u.tables.rows(), "slow")
        u.start()
        u.reaches(slow, ERROR)
        eventually(lambda: import_is_done(u), "host keys are taken over")
        u.end()
        first = u.tables.rows()
        assert pins(first) == wanted, (u, pins(first))
        is_old = u.name < "0008"
        assert u.read("ssh", "known_hosts.old") == (u.facts["known_hosts"] if is_old else ""), u
        u.write(f"{ADMIN_NODE} {u.facts['host_key'][:-4]}AAAA\n", *KNOWN_HOSTS)
        u.start()
        eventually(lambda: u.read(*KNOWN_HOSTS).count("node-") == 1, "the file is written again")
        u.end()
        same(u, {"host_key": first["host_key"]}, {"host_key": u.tables.rows()["host_key"]})


# -- who serves boots --------------------------------------------------------------------------------

ALL = 2**63 - 1  # noderole.boot_cursor: all machines are published


def machines(rows):
    """What is published of each machine, made of the rows alone: {node id: entry}."""
    managed = next(row["id"] for row in rows["role"] if row["name"] == "managed")
    nodes = {row["node_id"] for row in rows["noderole"] if row["role_id"] == managed}
    found = {}
    for row in rows["node"]:
        if row["id"] not in nodes:
            continue
        macs = [f"{nic['mac']:012x}" for nic in rows["nic"] if nic["node_id"] == row["id"]]
        found[row["id"]] = {
            "addresses": [each["address"] for each in rows["network_allocation"]
                          if each["node_id"] == row["id"]],
            "attribs": {}, "bootenv": row["bootenv"], "generation": row["boot_generation"],
            "macs": [":".join(mac[i:i + 2] for i in range(0, 12, 2)) for mac in macs],
            "name": row["name"],
        }
    return found


def staged(u):
    """What the runs of the role `boots` were staged with, in order."""
    paths = glob.glob(u.path("staged.*"))
    found = []
    for path in sorted(paths, key=lambda path: int(path.rsplit("-", 1)[1])):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not text.endswith("}"):
            break  # the run is copying it
        found.append(json.loads(text)["boot"])
    return found


def removals(parts, known):
    """The machines that a database which knows them would remove."""
    gone = []
    for part in parts:
        gone += [name for name, entry in part["due"].items() if entry is None]
        if "part" in part:
            last = ALL if part["part"]["to"] is None else part["part"]["to"]
            gone += [node for node in known
                     if part["part"]["after"] < node <= last and str(node) not in part["due"]]
    return gone


def boots_are_published(u, noderole):
    rows = u.tables.rows()
    row = next(row for row in rows["noderole"] if row["id"] == noderole)
    return row["boot_cursor"] == ALL and not rows["boot_due"] and not row["rerun"]


def test_machines_are_published_after_the_upgrade_without_a_removal(upgrades):
    """The store is of a version that kept what is served in documents. The same after a change."""
    for u in upgrades.each(["0015_grants"]):
        wanted = machines(u.tables.rows())
        assert len(wanted) >= 50 and {each["generation"] for each in wanted.values()} == {0, 1, 2, 3}
        u.write_content(boots=f"cp attrs.json {u.path('staged')}.$HALLIGAN_RUN_ID")
        migrated = u.migrate()
        assert machines(migrated) == wanted and not migrated["boot_due"], u
        boots = noderole(migrated, "boots")
        u.start()
        eventually(lambda: boots_are_published(u, boots), "all machines are published")
        parts = staged(u)
        assert parts and removals(parts, wanted) == [], (u, removals(parts, wanted))
        entries = {int(name): entry for part in parts for name, entry in part["due"].items()}
        assert entries == wanted, (u, entries)
        assert machines(u.tables.rows()) == wanted, u
        changed = min(wanted)
        answer = u.me.put(f"nodes/{wanted[changed]['name']}", {"bootenv": "rescue"})
        assert answer.status == 200, (u, answer)
        eventually(lambda: len(staged(u)) > len(parts) and boots_are_published(u, boots), "it is, too")
        last = staged(u)[-1]
        assert "part" not in last and list(last["due"]) == [str(changed)], (u, last)
        assert last["due"][str(changed)]["bootenv"] == "rescue", (u, last)
        u.end()
        u.check()
