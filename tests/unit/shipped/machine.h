/* machine.h - an installation with the shipped barclamps and simulated runs of their scripts.
 *
 * The engine and the hooks are real (live.h). A run stays in progress until work() is called,
 * which gives it the result that the script of its role in barclamps/ would return. A test program
 * is one file, so all functions are static.
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

/* What a database has published: an object of entries by node id. */
enum { DATABASE_DHCP, DATABASE_PROVISIONER, DATABASES };

struct machine {
    struct world *w;
    const char *stopped; /* a role whose runs do not end; NULL: none */
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

/* As scripts/dhcp-database and scripts/provisioner-database do it. */
static inline void publish(struct machine *m, int database, struct str data)
{
    struct world *w = m->w;
    const struct json *due = json_at(read_tree(w, data), STR("boot/due"));
    struct json *before = m->published[database], *after = json_make(&w->arena, JSON_OBJECT);
    const bool has_part = number_at(w, data, "boot/part/after", -1) >= 0;
    const int64_t from = number_at(w, data, "boot/part/after", -1);
    const int64_t to = number_at(w, data, "boot/part/to", INT64_MAX);
    if (!due) /* with the test jig no role serves boots */
        return;
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
    if (str_eq(role, STR("dhcp-database")))
        publish(m, DATABASE_DHCP, data);
    if (str_eq(role, STR("provisioner-database")))
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

/* Ends runs until none is in progress, except those of m->stopped. */
static inline void work(struct machine *m)
{
    bool moved = true;
    for (int round = 0; moved; round++) {
        CHECK(round < 1000);
        moved = false;
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

/* Opens an installation with an admin node whose noderoles are ACTIVE. */
static inline struct machine begin(void)
{
    struct machine m = {.w = live_open()};
    live_import(m.w, live_path(m.w, "barclamps"));
    create(m.w, "admin", true,
           "{'admin-v4addr':'192.168.124.10/24','admin_macs':['52:54:00:00:00:01']}");
    commit_node(m.w, "admin");
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

/* What both databases have published for the node with this id; "absent" if nothing, "different" if
 * they differ. */
static inline const char *entry_of(struct machine *m, int64_t id)
{
    const char *found[DATABASES];
    for (int i = 0; i < DATABASES; i++) {
        const struct json *all = m->published[i];
        const struct json *entry = all ? json_get(all, str_from_i64(&m->w->arena, id)) : NULL;
        found[i] = entry ? shown(m->w, json_write(&m->w->arena, entry)) : "absent";
    }
    /* The attribs of nodes are for the provisioner. */
    const char *attribs[DATABASES] = {strstr(found[0], "'attribs':"),
                                      strstr(found[1], "'attribs':")};
    const bool is_same = attribs[0] && attribs[1] ? strcmp(strstr(attribs[0], "'bootenv'"),
                                                           strstr(attribs[1], "'bootenv'")) == 0
                                                  : strcmp(found[0], found[1]) == 0;
    return is_same ? found[DATABASE_PROVISIONER] : "different";
}

static inline const char *entry(struct machine *m, const char *node)
{
    return entry_of(m, the_node(m->w, node));
}
