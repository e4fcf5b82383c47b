/* machine.h - an installation with the shipped barclamps and simulated runs of their scripts.
 *
 * The engine and the hooks are real (live.h). A run stays in progress until work() is called,
 * which gives it the result that the script of its role in barclamps/ would return. work() also
 * acknowledges the boot view, as the boot server of the admin node does. A test program is one
 * file, so all functions are static.
 *
 * begin_site() adds two databases of a site, with runs that publish (docs/barclamp-guide.md).
 */
#pragma once

#include "tests/world/live.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS "'admin-v4addr':'192.168.124.81/24'"
#define MAC     "'admin_macs':['52:54:00:ab:cd:0f']"
#define DISKS                                                                                      \
    "'reservations':{'disks':[{'unique_name':'disk/by-id/stick','removable':true,'serial':'S0',"   \
    "'size':1000},{'unique_name':'disk/by-id/a','serial':'S1','size':2000},"                       \
    "{'unique_name':'disk/by-id/b','path':'/dev/sdb','wwn':'0x5000C5','size':3000},"               \
    "{'unique_name':'disk/by-id/v','virtual':true,'serial':'S3','size':4000}]}"
#define DISK_A "{'name':'disk/by-id/a','path':'/dev/disk/by-id/a','serial':'S1','size':2000}"
#define DISK_B "{'name':'disk/by-id/b','path':'/dev/disk/by-id/b','size':3000,'wwn':'5000c5'}"
#define WIPE   "announced/provisioner-os-install/wipe"

/* Returns canonical JSON of a document with single quotes and keys in any order. */
static inline struct str json(struct world *w, const char *quoted)
{
    struct str text;
    uint32_t offset;
    const char *what;
    CHECK(json_canonical(&w->arena, world_json(w, quoted), &text, &offset, &what) == OK);
    return text;
}

/* ---- simulated results of scripts ---- */

/* What a database of the site has published: an object of entries by node id. */
enum { DATABASE_DHCP, DATABASE_PROVISIONER, DATABASES };

static const char BOOT_SERVER[] = "boot server";

struct machine {
    struct world *w;
    /* A role whose runs do not end, or BOOT_SERVER, which acknowledges nothing; NULL: none. */
    const char *stopped;
    bool has_site; /* the site publishes */
    int64_t taken; /* the turn that the boot server acknowledged */
    struct json *published[DATABASES];
    uint32_t wipes;
    bool waits; /* the disks are wiped and the run is parked */
    int64_t wiped_at;
};

static inline struct json *read_tree(struct world *w, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&w->arena, text, &tree, &offset, &what) == OK);
    return tree;
}

static inline struct str text_at(struct world *w, struct str data, const char *path)
{
    const struct json *found = json_at(read_tree(w, data), str_from(path));
    return found && found->kind == JSON_STRING ? found->text : STR("");
}

static inline int64_t number_at(struct world *w, struct str data, const char *path, int64_t missing)
{
    int64_t value = missing;
    const struct json *found = json_at(read_tree(w, data), str_from(path));
    return found && json_as_i64(found, &value) ? value : missing;
}

static inline bool is_true_at(struct world *w, struct str data, const char *path)
{
    const struct json *found = json_at(read_tree(w, data), str_from(path));
    CHECK(found);
    return str_eq(json_write(&w->arena, found), STR("true"));
}

/* What is staged is applied to what the database has (docs/spec/boot.md, "Published"). */
static inline void publish(struct machine *m, int database, struct str data)
{
    struct world *w = m->w;
    const struct json *due = json_at(read_tree(w, data), STR("boot/due"));
    struct json *before = m->published[database], *after = json_make(&w->arena, JSON_OBJECT);
    const bool has_part = number_at(w, data, "boot/part/after", -1) >= 0;
    const int64_t from = number_at(w, data, "boot/part/after", -1);
    const int64_t to = number_at(w, data, "boot/part/to", INT64_MAX);
    CHECK(due);
    for (const struct json *entry = before ? before->first : NULL; entry; entry = entry->next) {
        int64_t id;
        CHECK(str_parse_i64(entry->key, &id));
        if (!json_get(due, entry->key) && (!has_part || id <= from || id > to))
            json_set(after, entry->key, json_clone(&w->arena, entry));
    }
    for (const struct json *entry = due->first; entry; entry = entry->next)
        if (entry->kind != JSON_NULL)
            json_set(after, entry->key, json_clone(&w->arena, entry));
    m->published[database] = after;
}

/* As scripts/provisioner-os-install: the first execution wipes the disks and parks. A resumed one
 * reboots the machine if its installer is served, fails if it cannot be, and parks again otherwise.
 */
static inline struct run_done_command install(struct machine *m, struct str data)
{
    struct world *w = m->w;
    const struct str wanted =
        STR_CONCAT(&w->arena, text_at(w, data, "provisioner/target_os"), STR("-install"));
    const int64_t wait_ms = number_at(w, data, "boot/wait_s", -1) * 1000;
    CHECK(wait_ms > 0);
    if (!m->waits) {
        char wall[100];
        snprintf(wall, sizeof wall, "{'crowbar_wall':{'provisioner':{'wiped':'%u'}}}", ++m->wipes);
        m->waits = true;
        m->wiped_at = w->now_ms;
        return (struct run_done_command){
            .result = RESULT_PARKED, .has_wall = true, .wall = json(w, wall), .park_ms = wait_ms};
    }
    const bool is_set = str_eq(text_at(w, data, "boot/bootenv"), wanted);
    if (is_set && is_true_at(w, data, "boot/served")) {
        m->waits = false;
        return (struct run_done_command){
            .result = RESULT_OK, .node_dead = true, .power = STR("reboot")};
    }
    if (!is_true_at(w, data, "boot/failed") && w->now_ms < m->wiped_at + wait_ms)
        return (struct run_done_command){.result = RESULT_PARKED, .park_ms = 10000};
    m->waits = false;
    return (struct run_done_command){.result = RESULT_FAILED,
                                     .reason = REASON_BOOT_NOT_SERVED,
                                     .runlog = text_at(w, data, "boot/problem")};
}

static inline struct run_done_command simulated_result(struct machine *m, struct str role,
                                                       struct str data)
{
    if (str_eq(role, STR("provisioner-os-install")))
        return install(m, data);
    if (str_eq(role, STR("site-dhcp")))
        publish(m, DATABASE_DHCP, data);
    if (str_eq(role, STR("site-provisioner")))
        publish(m, DATABASE_PROVISIONER, data);
    return (struct run_done_command){.result = RESULT_OK};
}

static inline bool end_run(struct machine *m, int64_t id)
{
    struct world *w = m->w;
    struct record run, nr, role;
    CHECK(core_record(w->core, TABLE_RUN, id, &run));
    if (run.run.state != RUN_RUNNING)
        return false;
    CHECK(core_record(w->core, TABLE_NODEROLE, run.run.noderole_id, &nr));
    CHECK(core_record(w->core, TABLE_ROLE, nr.noderole.role_id, &role));
    if (m->stopped && str_eq(role.role.name, str_from(m->stopped)))
        return false;
    struct run_done_command done =
        simulated_result(m, str_copy(&w->arena, role.role.name), str_copy(&w->arena, run.run.data));
    done.run_id = id;
    done.attempt = run.run.attempt;
    DONE(w, ((struct command){.kind = COMMAND_RUN_DONE, .run_done = done}));
    return true;
}

/* ---- the boot server ---- */

static inline void report_server(struct machine *m, enum boot_event event, int64_t turn)
{
    const struct str text = event == BOOT_EVENT_FAILED ? STR("port 67 is taken") : STR("");
    DONE(m->w, CMD(BOOT_SERVER, boot_server, .node_id = the_node(m->w, "admin"), .event = event,
                   .turn = turn, .text = text));
}

/* True if there was a change to acknowledge. */
static inline bool acknowledge(struct machine *m)
{
    const struct core *core = m->w->core;
    int64_t turn = 0;
    if (!m->taken || (m->stopped && !strcmp(m->stopped, BOOT_SERVER)))
        return false;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        const int64_t changed = core_boot_turn(core, (struct boot_key){BOOT_MACHINE, id});
        turn = changed > turn ? changed : turn;
    }
    if (turn <= m->taken)
        return false;
    m->taken = turn;
    report_server(m, BOOT_EVENT_TAKEN, turn);
    return true;
}

static inline void connect_server(struct machine *m)
{
    m->taken = 1;
    report_server(m, BOOT_EVENT_CONNECTED, 0);
}

/* Ends runs until none is in progress, except those of m->stopped, and acknowledges all changes. */
static inline void work(struct machine *m)
{
    bool moved = true;
    for (int round = 0; moved; round++) {
        CHECK(round < 1000);
        moved = acknowledge(m);
        for (int64_t id = core_next_id(m->w->core, TABLE_RUN, 0); id && !moved;
             id = core_next_id(m->w->core, TABLE_RUN, id))
            moved = end_run(m, id);
    }
}

/* ---- the installation ---- */

static inline void create(struct world *w, const char *name, bool admin, const char *quoted_hint)
{
    struct command command = cmd_node(w, name);
    command.node_create.admin = admin;
    command.node_create.deployment_id = SYSTEM;
    command.node_create.hint = json(w, quoted_hint);
    command.node_create.bootenv = admin ? STR("local") : STR("sledgehammer");
    DONE(w, command);
}

static inline void commit_node(struct world *w, const char *name)
{
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, name)));
    world_alive(w, name, true);
}

static inline void set_bootenv(struct world *w, const char *name, const char *bootenv)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, name), .given = GIVEN_NODE_BOOTENV,
                .bootenv = str_from(bootenv)));
}

/* Opens an installation with an admin node whose noderoles are ACTIVE, and its boot server. */
static inline struct machine begin(void)
{
    struct machine m = {.w = live_open()};
    live_import(m.w, live_path(m.w, "barclamps"));
    create(m.w, "admin", true,
           "{'admin-v4addr':'192.168.124.10/24','admin_macs':['52:54:00:00:00:01']}");
    commit_node(m.w, "admin");
    connect_server(&m);
    work(&m);
    return m;
}

/* The same with site-dhcp and site-provisioner on a second admin node "boots". */
static inline struct machine begin_site(void)
{
    struct machine m = begin();
    m.has_site = true;
    DONE(m.w, cmd_import(m.w, "{'barclamp':{'name':'site','source_path':'/site'},'roles':["
                              "{'name':'site-dhcp','jig':'script','flags':['serves-boot'],"
                              "'provides':['dhcp-database']},"
                              "{'name':'site-provisioner','jig':'script','flags':['serves-boot'],"
                              "'provides':['provisioner-database'],"
                              "'wants-attribs':['operating-system-disk']}]}"));
    create(m.w, "boots", true, "{'admin-v4addr':'192.168.124.11/24'}");
    world_bind(m.w, "site-dhcp@boots");
    world_bind(m.w, "site-provisioner@boots");
    commit_node(m.w, "boots");
    work(&m);
    return m;
}

static inline void discover(struct machine *m, const char *name, const char *quoted_hint)
{
    create(m->w, name, false, quoted_hint);
    commit_node(m->w, name);
    work(m);
}

/* Binds and commits the noderole in a new deployment; the runs are not ended. */
static inline void order_install(struct machine *m, const char *noderole)
{
    world_deployment(m->w, "prod");
    world_bind_in(m->w, noderole, "prod");
    world_commit_deployment(m->w, "prod");
}

static inline const char *node_value(struct world *w, const char *node, const char *attrib)
{
    return world_value(w, TABLE_NODE, the_node(w, node), attrib, VIEW_ALL);
}

/* The entry of the node with this id in the boot view, without its ticket; "absent" if it has
 * none. */
static inline const char *view_of(struct machine *m, int64_t id)
{
    struct world *w = m->w;
    struct boot_entry e;
    struct buf b = buf_in(&w->arena);
    if (!core_boot_view(w->core, (struct boot_key){BOOT_MACHINE, id}, &w->arena, &e))
        return "absent";
    buf_put_z(&b, "{'addresses':[");
    for (uint32_t i = 0; i < e.machine.address_count; i++) {
        buf_put_z(&b, i ? ",'" : "'");
        buf_put_str(&b, e.machine.addresses[i].address);
        buf_put_z(&b, "'");
    }
    buf_put_z(&b, "],'bootenv':'");
    buf_put_str(&b, e.machine.bootenv);
    buf_put_z(&b, "','generation':");
    buf_put_i64(&b, e.machine.generation);
    buf_put_z(&b, ",'macs':[");
    for (uint32_t i = 0; i < e.machine.mac_count; i++) {
        buf_put_z(&b, i ? ",'" : "'");
        for (int byte = 5; byte >= 0; byte--) {
            char hex[4];
            snprintf(hex, sizeof hex, byte ? "%02x:" : "%02x",
                     (unsigned)(e.machine.macs[i] >> 8 * byte & 0xff));
            buf_put_z(&b, hex);
        }
        buf_put_z(&b, "'");
    }
    buf_put_z(&b, "],'name':'");
    buf_put_str(&b, e.machine.name);
    buf_put_z(&b, "'}");
    return str_z(&w->arena, buf_str(&b));
}

/* What a database of the site has published for the node, without the attribs of nodes. */
static inline const char *published_of(struct machine *m, uint32_t database, int64_t id)
{
    const struct json *all = m->published[database];
    const struct json *entry = all ? json_get(all, str_from_i64(&m->w->arena, id)) : NULL;
    if (!entry)
        return "absent";
    struct json *rest = json_clone(&m->w->arena, entry);
    CHECK(json_unset(rest, STR("attribs")));
    return shown(m->w, json_write(&m->w->arena, rest));
}

/* The entry of the node in the boot view; "different" if a database of the site has another one. */
static inline const char *entry_of(struct machine *m, int64_t id)
{
    const char *found = view_of(m, id);
    for (uint32_t i = 0; m->has_site && i < DATABASES; i++)
        if (strcmp(published_of(m, i, id), found) != 0)
            return "different";
    return found;
}

static inline const char *entry(struct machine *m, const char *node)
{
    return entry_of(m, the_node(m->w, node));
}
