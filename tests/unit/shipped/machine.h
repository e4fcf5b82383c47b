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

struct machine {
    struct world *w;
    const char *stopped; /* a role whose runs do not end; NULL: none */
    const char *stale;   /* a database that publishes "sledgehammer" for every node; NULL: none */
    uint32_t wipes;
    bool waits; /* the disks are wiped and the run is parked */
};

static inline struct str text_at(struct world *w, struct str json, const char *path)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&w->arena, json, &tree, &offset, &what) == OK);
    const struct json *found = json_at(tree, str_from(path));
    return found && found->kind == JSON_STRING ? found->text : STR("");
}

static inline void put_number(struct buf *b, const struct json *client, const char *key)
{
    int64_t value = 0;
    const struct json *number = json_get(client, str_from(key));
    if (!number || !json_as_i64(number, &value))
        return;
    buf_put_z(b, ",\"");
    buf_put_z(b, key);
    buf_put_z(b, "\":");
    buf_put_i64(b, value);
}

/* {"crowbar_wall":{"dhcp":{"clients":{NAME:{"bootenv":...,"generation":...,"node_id":...}}}}} */
static inline struct str published(struct world *w, struct str data, const char *section,
                                   const char *instead)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    char path[100];
    struct buf b = buf_in(&w->arena);
    snprintf(path, sizeof path, "crowbar/%s/clients", section);
    CHECK(json_read(&w->arena, data, &tree, &offset, &what) == OK);
    const struct json *clients = json_at(tree, str_from(path));
    buf_put_z(&b, "{\"crowbar_wall\":{\"");
    buf_put_z(&b, section);
    buf_put_z(&b, "\":{\"clients\":{");
    bool first = true;
    for (const struct json *c = clients ? clients->first : NULL; c; c = c->next) {
        if (c->kind != JSON_OBJECT)
            continue;
        buf_put_z(&b, first ? "\"" : ",\"");
        buf_put_str(&b, c->key);
        buf_put_z(&b, "\":{\"bootenv\":\"");
        buf_put_str(&b, instead ? str_from(instead) : json_get(c, STR("bootenv"))->text);
        buf_put_c(&b, '"');
        if (!instead) {
            put_number(&b, c, "generation");
            put_number(&b, c, "node_id");
        }
        buf_put_c(&b, '}');
        first = false;
    }
    buf_put_z(&b, "}}}}");
    return buf_str(&b);
}

/* The result of scripts/provisioner-os-install: the first run wipes the disks and parks. The
 * resumed run reboots the machine if both databases serve the installer, and fails otherwise. */
static inline struct run_done_command install(struct machine *m, struct str data)
{
    struct world *w = m->w;
    const struct str wanted =
        STR_CONCAT(&w->arena, text_at(w, data, "provisioner/target_os"), STR("-install"));
    if (!m->waits) {
        char wall[100];
        snprintf(wall, sizeof wall, "{'crowbar_wall':{'provisioner':{'wiped':'%u'}}}", ++m->wipes);
        m->waits = true;
        return (struct run_done_command){
            .result = RESULT_PARKED, .has_wall = true, .wall = json(w, wall), .park_ms = 600000};
    }
    m->waits = false;
    if (str_eq(text_at(w, data, "hints/provisioner-active-bootstate"), wanted) &&
        str_eq(text_at(w, data, "hints/dhcp-active-bootstate"), wanted))
        return (struct run_done_command){
            .result = RESULT_OK, .node_dead = true, .power = STR("reboot")};
    return (struct run_done_command){.result = RESULT_FAILED, .runlog = STR("not rebooted")};
}

static inline struct run_done_command simulated_result(struct machine *m, struct str role,
                                                       struct str data)
{
    struct run_done_command done = {.result = RESULT_OK};
    if (str_eq(role, STR("provisioner-os-install")))
        return install(m, data);
    const bool is_dhcp = str_eq(role, STR("dhcp-database"));
    if (is_dhcp || str_eq(role, STR("provisioner-database"))) {
        const bool stale = m->stale && str_eq(role, str_from(m->stale));
        done.has_wall = true;
        done.wall =
            published(m->w, data, is_dhcp ? "dhcp" : "provisioner", stale ? "sledgehammer" : NULL);
    }
    return done;
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

static inline const char *entry(struct world *w, const char *section, const char *node)
{
    char noderole[100];
    snprintf(noderole, sizeof noderole, "%s-database@admin", section);
    struct json *tree;
    uint32_t offset;
    const char *what;
    const struct str data = read_noderole(w, noderole).sysdata;
    if (!data.len)
        return "absent";
    CHECK(json_read(&w->arena, data, &tree, &offset, &what) == OK);
    const struct json *at = json_at(tree, STR("crowbar"));
    at = at ? json_get(at, str_from(section)) : NULL;
    at = at ? json_get(at, STR("clients")) : NULL;
    const struct str name = STR_CONCAT(&w->arena, str_from(node), STR(".example.com"));
    at = at ? json_get(at, name) : NULL;
    return at ? shown(w, json_write(&w->arena, at)) : "absent";
}
