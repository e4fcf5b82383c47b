/* serve_world.h - machines of the boot view, and databases that publish them, for the tests of
 * what serves boots.
 *
 * A database is a noderole whose run publishes (dhcp@d1, dns@d2). A copy is what its content would
 * be: the staged data of its runs are applied to it by the rules of docs/spec/boot.md alone, and it
 * is compared with the boot view.
 */
#pragma once

#include "core/boot/boot_service.h"
#include "tests/unit/core/boot_world.h"

#include <inttypes.h>

enum { COPY_NODES = 8192 };

/* ---- fixture ---- */

#define SERVE_ROLES                                                                                \
    "{'name':'found','jig':'noop','flags':['discovery','milestone']},"                             \
    "{'name':'dns','jig':'script','flags':['serves-boot']}"

#define SERVE_IMPORT(dhcp)                                                                         \
    "{'barclamp':{'name':'b','source_path':'/b'},"                                                 \
    "'jigs':[{'name':'native','class':'native'}],'roles':[" SERVE_ROLES "," dhcp "]}"

#define DHCP_PUBLISHES "{'name':'dhcp','jig':'script','flags':['serves-boot']}"

/* Roles dhcp and dns publish; alive nodes d1 and d2; workers for all. Nothing is bound. */
static inline struct world *serve_open(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_PUBLISHES)));
    DONE(w, CMD(SETTINGS_UPDATE, settings_update,
                .given = GIVEN_SETTINGS_POOL_NORMAL | GIVEN_SETTINGS_POOL_HIGH, .pool_normal = 9,
                .pool_high = 9));
    world_node(w, "d1", NULL);
    world_node(w, "d2", NULL);
    return w;
}

static inline int64_t machine_id(struct world *w, const char *name)
{
    return the_node(w, name);
}

/* mac: NULL = none. */
static inline void make_machine_with(struct world *w, const char *name, const char *mac)
{
    char found[64];
    struct command command = cmd_node(w, name);
    snprintf(found, sizeof found, "found@%s", name);
    if (mac)
        command.node_create.mac = str_from(mac);
    DONE(w, command);
    world_bind(w, found);
    world_commit(w, found);
}

static inline void make_machine(struct world *w, const char *name)
{
    make_machine_with(w, name, NULL);
}

static inline struct command cmd_environment(struct world *w, const char *name, const char *bootenv)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, name), .given = GIVEN_NODE_BOOTENV,
               .bootenv = str_from(bootenv));
}

/* A step without core_check(), whose time grows with the fleet. */
static inline int64_t quick_step(struct world *w, struct command command)
{
    w->now_ms += 10;
    command.actor = STR("user tester");
    command.now_ms = command.wall_ms = w->now_ms;
    command.mono_ms = w->now_ms - 1600000000000;
    command.nonce[0] = (uint64_t)w->now_ms;
    w->fx = (struct effects){0};
    w->out = (struct outcome){0};
    core_step(w->core, &command, &w->arena, &w->fx, &w->out);
    if (w->out.verdict != VERDICT_DONE)
        world_fail(HERE, "%s: %s", command_name(command.kind), world_trouble(w));
    return w->out.id;
}

/* Machines m0, m1, ... that are in the boot view. */
static inline void make_fleet(struct world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%u", i);
        const int64_t id = quick_step(w, cmd_node(w, name));
        quick_step(w, CMD(NODEROLE_BIND, noderole_bind, .node_id = id,
                          .role_id = the_role(w, "found"), .deployment_id = SYSTEM));
    }
    quick_step(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = SYSTEM));
}

/* world_close() without the store, for large fleets. */
static inline void serve_close(struct world *w)
{
    const char *wrong = core_check(w->core, &w->arena);
    if (wrong)
        world_fail(HERE, "at the end: %s", wrong);
    core_free(w->core);
    arena_fini(&w->arena);
    free(w->kept);
    free(w);
}

/* ---- reads ---- */

static inline uint32_t due_rows(struct world *w)
{
    return core_count(w->core, TABLE_BOOT_DUE);
}

/* The nodes that the noderole has rows of: "n1 n2 gone". */
static inline const char *due_nodes(struct world *w, const char *database)
{
    struct buf b = buf_in(&w->arena);
    const int64_t nr = the_noderole(w, database);
    for (int64_t id = 0; (id = core_boot_next_due(w->core, nr, id)) != 0;) {
        struct record record;
        buf_put_z(&b, b.len ? " " : "");
        if (core_record(w->core, TABLE_NODE, id, &record))
            buf_put_str(&b, str_slice(record.node.name, 0, str_find(record.node.name, '.', 0)));
        else
            buf_put_z(&b, "gone");
    }
    return str_z(&w->arena, buf_str(&b));
}

/* True if core_boot_servings() says that the noderole has served the node. */
static inline bool has_served(struct world *w, const char *server, int64_t node)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(w->core, node, &w->arena, &all);
    for (uint32_t i = 0; i < count; i++)
        if (all[i].noderole_id == the_noderole(w, server))
            return all[i].is_served;
    world_fail(HERE, "%s does not serve boots", server);
    return false;
}

/* Member `boot` of the staged data of the newest start. */
static inline const struct json *staged_boot(struct world *w, const char *database)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    const struct start *start = world_start(w, database);
    CHECK(start != NULL);
    CHECK(json_read(&w->arena, start->data, &tree, &offset, &what) == OK);
    const struct json *boot = json_get(tree, STR("boot"));
    if (!boot)
        world_fail(HERE, "the run of %s is staged without boot", database);
    return boot;
}

/* The same as text with single quotes, without the entries: "4 5x after 0 to 5", x = null. */
static inline const char *staged_nodes(struct world *w, const char *database)
{
    struct buf b = buf_in(&w->arena);
    const struct json *boot = staged_boot(w, database), *part = json_get(boot, STR("part"));
    for (const struct json *e = json_get(boot, STR("due"))->first; e; e = e->next) {
        buf_put_z(&b, b.len ? " " : "");
        buf_put_str(&b, e->key);
        buf_put_z(&b, e->kind == JSON_NULL ? "x" : "");
    }
    if (part) {
        const struct json *to = json_get(part, STR("to"));
        buf_put_z(&b, b.len ? " after " : "after ");
        buf_put_str(&b, json_get(part, STR("after"))->text);
        buf_put_z(&b, " to ");
        buf_put_str(&b, to->kind == JSON_NULL ? STR("end") : to->text);
    }
    return str_z(&w->arena, buf_str(&b));
}

static inline int64_t json_number(struct world *w, const struct json *value)
{
    CHECK(value && value->kind == JSON_NUMBER);
    return strtoll(str_z(&w->arena, value->text), NULL, 10);
}

/* ---- copies ---- */

/* The hash of the entry of each node id; 0 = not in the database. */
struct copy {
    uint64_t known[COPY_NODES];
};

static inline uint64_t text_hash(struct str text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (uint32_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3;
    return hash | 1;
}

/* What a run is staged with for a node without attribs, made of the view; 0: it is not in it. */
static inline uint64_t hash_in_view(struct world *w, int64_t id)
{
    struct boot_entry e;
    struct buf b = buf_in(&w->arena);
    if (!core_boot_view(w->core, (struct boot_key){BOOT_MACHINE, id}, &w->arena, &e))
        return 0;
    const struct boot_machine *m = &e.machine;
    buf_put_z(&b, "{\"addresses\":[");
    for (uint32_t i = 0; i < m->address_count; i++) {
        buf_put_z(&b, i ? "," : "");
        json_write_string(&b, m->addresses[i].address);
    }
    buf_put_z(&b, "],\"attribs\":{},\"bootenv\":");
    json_write_string(&b, m->bootenv);
    put_number(&b, ",\"generation\":", m->generation);
    buf_put_z(&b, ",\"macs\":[");
    for (uint32_t i = 0; i < m->mac_count; i++) {
        buf_put_z(&b, i ? "," : "");
        json_write_string(&b, nic_format_mac(&w->arena, m->macs[i]));
    }
    buf_put_z(&b, "],\"name\":");
    json_write_string(&b, m->name);
    buf_put_z(&b, "}");
    return text_hash(buf_str(&b));
}

/* Apply what a run is staged with. share: of 16 entries, that many are applied, for runs that fail
 * in the middle. */
static inline void copy_apply(struct world *w, struct copy *copy, const struct json *boot,
                              uint32_t share)
{
    const struct json *due = json_get(boot, STR("due")), *part = json_get(boot, STR("part"));
    static bool in_due[COPY_NODES];
    memset(in_due, 0, sizeof in_due);
    CHECK(due && due->kind == JSON_OBJECT && due->count <= BOOT_DUE_STAGED_MAX);
    for (const struct json *e = due->first; e; e = e->next) {
        const int64_t id = strtoll(str_z(&w->arena, e->key), NULL, 10);
        CHECK(id > 0 && id < COPY_NODES);
        in_due[id] = true;
        if ((uint64_t)id % 16 < share)
            copy->known[id] = e->kind == JSON_NULL ? 0 : text_hash(json_write(&w->arena, e));
    }
    if (!part)
        return;
    const struct json *to = json_get(part, STR("to"));
    const int64_t after = json_number(w, json_get(part, STR("after")));
    const int64_t last = to->kind == JSON_NULL ? COPY_NODES - 1 : json_number(w, to);
    CHECK(after >= 0 && last >= after && last < COPY_NODES);
    for (int64_t id = after + 1; id <= last; id++)
        if (!in_due[id] && (uint64_t)id % 16 < share)
            copy->known[id] = 0;
}

/* Whatever the noderole need not publish any more is in the database as in the view. */
static inline void check_copy(struct world *w, const struct copy *copy, const char *database,
                              bool is_complete)
{
    const noderole_ix nr = noderole_by_id(w->core, the_noderole(w, database));
    for (int64_t id = 1; id < COPY_NODES; id++) {
        const bool is_due = boot_due_has(w->core, nr, id);
        if (is_complete && is_due)
            world_fail(HERE, "%s must still publish node %" PRId64, database, id);
        if (!is_due && copy->known[id] != hash_in_view(w, id))
            world_fail(HERE, "%s has another entry of node %" PRId64 " than the view", database,
                       id);
    }
}

/* One run of the noderole with success. */
static inline void publish(struct world *w, const char *database)
{
    if (!world_run(w, database, RUN_RUNNING))
        world_anneal(w);
    world_finish(w, database, RESULT_OK);
}

/* Bind and commit the database; its first run is in flight. */
static inline void open_database(struct world *w, const char *database)
{
    world_bind(w, database);
    world_commit(w, database);
    world_deliver(w);
    world_anneal(w);
    IS(w, database, "transition");
}
