/* rack_story.h - helpers for tests that drive a rack step by step: copies of the shipped barclamps
 * with edits, conditions to wait for, and actions of operators.
 *
 * Helpers without a machine parameter refer to machine 0. A test program is one file, so all of
 * them are static inline; not every program uses all of them.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/rack/rack.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static const char INSTALL[] = "provisioner-os-install";
static const char DHCP[] = "dhcp-database";
static const char PROVISIONER[] = "provisioner-database";

/* ---- barclamps, and copies with edits ---- */

static inline const char *shipped(void)
{
    static char path[512];
    const char *root = getenv("HALLIGAN_SOURCE");
    snprintf(path, sizeof path, "%s/barclamps", root ? root : ".");
    return path;
}

struct edit {
    const char *file; /* below the barclamp: "roles/x.lua" */
    const char *from; /* the file must contain it */
    const char *to;
};

struct copy {
    struct arena arena;
    char folder[64];
    const char *path;     /* "COPY:SHIPPED" */
    const char *made[24]; /* files and folders in the order of their creation */
    uint32_t count;
};

static inline const char *join(struct copy *c, const char *folder, const char *barclamp,
                               const char *name)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s%s%s", folder, barclamp, name[0] ? "/" : "", name);
    return str_z(&c->arena, str_from(path));
}

static inline void note_created(struct copy *c, const char *path)
{
    CHECK(c->count < sizeof c->made / sizeof *c->made);
    c->made[c->count++] = path;
}

static inline struct str apply_edit(struct copy *c, struct str text, const struct edit *e)
{
    const char *all = str_z(&c->arena, text), *at = strstr(all, e->from);
    if (!at)
        fprintf(stderr, "%s does not contain \"%s\" any more: adapt the edit of this test\n",
                e->file, e->from);
    CHECK(at);
    return STR_CONCAT(&c->arena, (struct str){all, (uint32_t)(at - all)}, str_from(e->to),
                      str_from(at + strlen(e->from)));
}

static inline void copy_file(struct copy *c, const char *barclamp, const char *name,
                             const struct edit *edits)
{
    struct str text;
    const char *to = join(c, c->folder, barclamp, name);
    CHECK(file_read(&c->arena, join(c, shipped(), barclamp, name), 1 << 20, &text) == OK);
    for (const struct edit *e = edits; e->file; e++)
        if (!strcmp(e->file, name))
            text = apply_edit(c, text, e);
    note_created(c, to);
    CHECK(file_write(to, text, 0644) == OK);
}

static inline void make_folder(struct copy *c, const char *barclamp, const char *name)
{
    const char *path = join(c, c->folder, barclamp, name);
    CHECK(mkdir(path, 0755) == 0);
    note_created(c, path);
}

/* Copy one barclamp with these edits. The other barclamps are read from the tree. */
static inline void copy_barclamp(struct copy *c, const char *barclamp, const struct edit *edits)
{
    char name[300];
    if (!c->path) {
        snprintf(c->folder, sizeof c->folder, "/tmp/halligan-rack-XXXXXX");
        CHECK(mkdtemp(c->folder));
        c->path = str_z(&c->arena,
                        STR_CONCAT(&c->arena, str_from(c->folder), STR(":"), str_from(shipped())));
    }
    make_folder(c, barclamp, "");
    make_folder(c, barclamp, "roles");
    snprintf(name, sizeof name, "%s.yml", barclamp);
    copy_file(c, barclamp, name, edits);
    DIR *roles = opendir(join(c, shipped(), barclamp, "roles"));
    CHECK(roles);
    for (const struct dirent *entry; (entry = readdir(roles)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "roles/%s", entry->d_name);
        copy_file(c, barclamp, name, edits);
    }
    closedir(roles);
}

static inline void remove_copy(struct copy *c)
{
    while (c->count)
        CHECK(remove(c->made[--c->count]) == 0);
    CHECK(rmdir(c->folder) == 0);
    arena_fini(&c->arena);
}

/* ---- racks ---- */

static inline struct rack *rack_of(struct rack_scenario draw)
{
    char failure[640] = "";
    draw.seed = 7;
    log_setup(LOG_ERROR, LOG_TEXT);
    struct rack *r = rack_new(&draw, failure, sizeof failure);
    if (!r)
        fprintf(stderr, "%s\n", failure);
    CHECK(r);
    if (!rack_set_up(r))
        fprintf(stderr, "%s\n", r->failure);
    CHECK(!r->failure[0]);
    return r;
}

static inline struct rack *rack_with(const char *barclamps, uint32_t machines)
{
    return rack_of((struct rack_scenario){.barclamps = barclamps, .machines = machines});
}

static inline void check_goal_and_free(struct rack *r)
{
    const char *missing = rack_missing(r);
    if (missing || r->failure[0])
        fprintf(stderr, "%s%s\n", r->failure, missing ? missing : "");
    CHECK(!missing && !r->failure[0]);
    rack_free(r);
}

/* ---- conditions ---- */

static inline bool is_in_env(struct rack *r, int64_t env)
{
    return r->machines[0].env == (enum rack_env)env;
}

static inline struct noderole_record noderole(struct rack *r, uint32_t machine, const char *role)
{
    struct noderole_record record = {.state = NODEROLE_STATE_COUNT};
    rack_noderole(r, machine, role, &record);
    return record;
}

static inline struct node_record node(struct rack *r, uint32_t machine)
{
    struct node_record record = {0};
    CHECK(rack_node(r, machine, &record));
    return record;
}

/* State of provisioner-os-install on machine 0. */
static inline bool install_state_is(struct rack *r, int64_t state)
{
    return noderole(r, 0, INSTALL).state == (uint32_t)state;
}

static inline bool run_count_is(struct rack *r, int64_t times)
{
    return noderole(r, 0, INSTALL).run_count == (uint32_t)times;
}

static inline bool will_install(struct rack *r, int64_t unused)
{
    return str_ends(node(r, 0).bootenv, STR("-install")) && unused == 0;
}

/* Both services of an admin node answer machine 0 with that environment. */
static inline bool admin_serves(struct rack *r, uint32_t admin, const char *bootenv)
{
    return !strcmp(rack_served(r, admin, RACK_DHCP, 0), bootenv) &&
           !strcmp(rack_served(r, admin, RACK_PROVISIONER, 0), bootenv);
}

static inline bool serves(struct rack *r, const char *bootenv)
{
    return admin_serves(r, 0, bootenv);
}

static inline bool serves_installer(struct rack *r, int64_t unused)
{
    return serves(r, "debian-12-install") && unused == 0;
}

static inline bool is_discovered(struct rack *r, int64_t machines)
{
    for (uint32_t i = 0; i < machines; i++) {
        struct node_record record;
        if (!rack_node(r, i, &record) || !record.alive ||
            noderole(r, i, "crowbar-managed-node").state != NODEROLE_ACTIVE)
            return false;
    }
    return true;
}

static inline bool goal_is_reached(struct rack *r, int64_t unused)
{
    return rack_missing(r) == NULL && unused == 0;
}

static inline bool is_parked(struct rack *r, int64_t unused)
{
    const struct core *core = rack_core(r);
    for (int64_t id = unused; (id = core_next_id(core, TABLE_RUN, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_RUN, id, &record) && record.run.state == RUN_PARKED)
            return true;
    }
    return false;
}

/* ---- actions ---- */

static inline void discover(struct rack *r)
{
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        rack_power_on(r, i);
    CHECK(rack_until(r, is_discovered, r->scenario.machines, HOUR));
}

static inline void request_installation(struct rack *r)
{
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        CHECK(rack_bind(r, i, "crowbar-installed-node", "blue").is_done);
        CHECK(rack_bind(r, i, "rack-application", "blue").is_done);
    }
    /* Refused until the hooks of the role have chosen a disk of each machine. */
    bool is_committed = false;
    for (uint32_t i = 0; i < 30 && !is_committed && !r->failure[0]; i++) {
        rack_pass(r, 10 * SECOND);
        is_committed = rack_commit(r, "blue").is_done;
    }
    CHECK(is_committed || r->failure[0]);
}

/* Discover and install all machines, or stop at the first violation. */
static inline void install_all(struct rack *r)
{
    discover(r);
    request_installation(r);
    rack_until(r, goal_is_reached, 0, 4 * HOUR);
}

static inline void set_value(struct rack *r, enum table target, int64_t id, const char *attrib,
                             const char *value)
{
    struct command command = {.kind = COMMAND_ATTRIB_SET};
    command.attrib_set.target = target;
    command.attrib_set.id = id;
    command.attrib_set.attrib_id = core_find(rack_core(r), TABLE_ATTRIB, str_from(attrib));
    command.attrib_set.bucket = BUCKET_USER;
    command.attrib_set.value = str_from(value);
    CHECK(rack_send(r, &command).is_done);
}

static inline void set_admin(struct rack *r, uint32_t given, bool value)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    command.node_update.id = node(r, RACK_MACHINES_MAX).id;
    command.node_update.given = given;
    command.node_update.alive = command.node_update.available = value;
    CHECK(rack_send(r, &command).is_done);
}

/* Simulate an installation with these barclamps; the rack must report a violation that contains
 * `how`. */
static inline void expect_violation(const char *barclamps, struct rack_flaws flaws, const char *how)
{
    struct rack *r = rack_with(barclamps, 1);
    r->flaws = flaws;
    r->delay_ms[RACK_RUN_SLOW] = MINUTE;
    install_all(r);
    if (!strstr(r->failure, how))
        fprintf(stderr, "expected a violation with \"%s\", got \"%s\"\n", how, r->failure);
    CHECK(strstr(r->failure, how));
    rack_free(r);
}

/* Power actions do not wait for what serves boots. */
static inline void remove_barrier(struct rack *r)
{
    struct command command = {.kind = COMMAND_SETTINGS_UPDATE};
    command.settings_update.given = GIVEN_SETTINGS_BARRIER;
    CHECK(rack_send(r, &command).is_done);
}

static inline struct rack_reply ask_power(struct rack *r, const char *action)
{
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = node(r, 0).id;
    command.node_power.action = str_from(action);
    return rack_send(r, &command);
}

static inline bool is_waiting(struct rack *r, int64_t unused)
{
    const struct core *core = rack_core(r);
    for (int64_t id = unused; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_OUTBOX, id, &record) && record.outbox.generation)
            return true;
    }
    return false;
}

static inline bool is_stopped(struct rack *r, int64_t unused)
{
    return node(r, 0).stopped && unused == 0;
}

static inline const char *hint(struct rack *r, const char *path)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&r->scratch, node(r, 0).hint, &tree, &offset, &what) == OK);
    const struct json *value = json_at(tree, str_from(path));
    return value && value->kind == JSON_STRING ? str_z(&r->scratch, value->text) : "";
}
