/* data_world.h - a small installation for the tests of data: steps in one call, and documents
 * written directly into rows. A test program is one file, so all of it is static. */
#pragma once

#include "core/core_private.h"
#include "tests/check.h"

struct world {
    struct core *c;
    struct arena arena;
    struct effects fx;
    struct outcome out;
    int64_t now;
};

static inline void step(struct world *w, struct command command)
{
    command.now_ms = ++w->now;
    command.mono_ms = w->now;
    command.actor = STR("test");
    w->fx = (struct effects){0};
    core_step(w->c, &command, &w->arena, &w->fx, &w->out);
}

static inline void must_step(struct world *w, struct command command)
{
    step(w, command);
    for (const struct problem *p = w->out.problems; p; p = p->next)
        check_failed(str_z(&w->arena, p->field), (int)p->code, str_z(&w->arena, p->text));
    CHECK(w->out.verdict == VERDICT_DONE);
}

/* The step is refused with this code alone and changes nothing. */
static inline void must_refuse(struct world *w, struct command command, enum problem_code code,
                               const char *field)
{
    const struct digest128 before = core_digest_now(w->c);
    const uint32_t changed = core_changed(w->c);
    step(w, command);
    CHECK(w->out.verdict == VERDICT_REFUSED);
    CHECK(w->out.problems && w->out.problems->code == code);
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        CHECK(p->code == code);
        CHECK(str_eq(p->field, str_from(field)));
        CHECK(p->text.len > 0);
    }
    const struct digest128 after = core_digest_now(w->c);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK(core_changed(w->c) == changed);
    CHECK(w->fx.count == 0);
}

/* All indices and counts are consistent; called at the end of each world. */
static inline void world_check(struct world *w)
{
    const char *wrong = core_check(w->c, &w->arena);
    if (wrong)
        check_failed("core_check", 0, wrong);
}

static inline struct world world_open(void)
{
    struct world w = {.c = core_new(), .now = 1000};
    core_bootstrap(w.c, w.now);
    return w;
}

static inline void world_close(struct world *w)
{
    world_check(w);
    core_free(w->c);
    arena_fini(&w->arena);
}

static inline void import(struct world *w, const char *barclamp)
{
    must_step(w,
              (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = str_from(barclamp)}});
}

static inline int64_t role_id(struct world *w, const char *name)
{
    const int64_t id = core_find(w->c, TABLE_ROLE, str_from(name));
    CHECK(id);
    return id;
}

static inline int64_t attrib_id(struct world *w, const char *name)
{
    const int64_t id = core_find(w->c, TABLE_ATTRIB, str_from(name));
    CHECK(id);
    return id;
}

static inline int64_t add_node(struct world *w, const char *name)
{
    must_step(w, (struct command){.kind = COMMAND_NODE_CREATE,
                                  .node_create = {.name = str_from(name),
                                                  .deployment_id = 1,
                                                  .alive = true,
                                                  .available = true}});
    const int64_t node_id = w->out.id;
    struct record row;
    for (int64_t id = core_next_id(w->c, TABLE_OUTBOX, 0); id;
         id = core_next_id(w->c, TABLE_OUTBOX, id))
        if (core_record(w->c, TABLE_OUTBOX, id, &row) && row.outbox.kind == OUTBOX_PROBE &&
            row.outbox.object_id == node_id) { /* the probe succeeds */
            must_step(
                w, (struct command){.kind = COMMAND_OUTBOX_DONE, .outbox_done = {.outbox_id = id}});
            break;
        }
    return node_id;
}

static inline int64_t bind(struct world *w, int64_t node_id, const char *role)
{
    must_step(w,
              (struct command){.kind = COMMAND_NODEROLE_BIND,
                               .noderole_bind = {.node_id = node_id, .role_id = role_id(w, role)}});
    return w->out.id;
}

static inline void commit(struct world *w, int64_t noderole_id)
{
    must_step(w, (struct command){.kind = COMMAND_NODEROLE_COMMIT,
                                  .noderole_commit = {.id = noderole_id}});
}

static inline enum noderole_state state_of(struct world *w, int64_t noderole_id)
{
    struct record record;
    CHECK(core_record(w->c, TABLE_NODEROLE, noderole_id, &record));
    return (enum noderole_state)record.noderole.state;
}

/* Anneals; every run that starts succeeds with `wall` (NULL = no result), until nothing is left to
 * start. */
static inline void settle(struct world *w, const char *wall)
{
    while (core_has_work(w->c)) {
        must_step(w, (struct command){.kind = COMMAND_ANNEAL});
        for (const struct effect *e = w->fx.first, *next; e; e = next) {
            next = e->next;
            if (e->kind != EFFECT_RUN_START)
                continue;
            const struct effects rest = w->fx;
            must_step(w, (struct command){.kind = COMMAND_RUN_DONE,
                                          .run_done = {.run_id = e->id,
                                                       .attempt = e->attempt,
                                                       .result = RESULT_OK,
                                                       .has_wall = wall != NULL,
                                                       .wall = str_from(wall)}});
            w->fx = rest;
        }
    }
}

static inline struct command set_command(enum table target, int64_t id, int64_t attrib,
                                         enum bucket bucket, const char *value)
{
    return (struct command){.kind = COMMAND_ATTRIB_SET,
                            .attrib_set = {.target = target,
                                           .id = id,
                                           .attrib_id = attrib,
                                           .bucket = bucket,
                                           .value = str_from(value)}};
}

/* As a hook: all buckets may be written. */
static inline void set_inside(struct world *w, enum table target, int64_t id, const char *attrib,
                              enum bucket bucket, const char *value)
{
    struct command command = set_command(target, id, attrib_id(w, attrib), bucket, value);
    command.depth = 1;
    must_step(w, command);
}

static inline void set_user(struct world *w, enum table target, int64_t id, const char *attrib,
                            const char *value)
{
    must_step(w, set_command(target, id, attrib_id(w, attrib), BUCKET_USER, value));
}

/* The value of the attrib; "?" if it has none there. */
static inline struct str value_of(struct world *w, enum table target, int64_t id,
                                  const char *attrib, enum data_view view)
{
    struct str value;
    return core_value(w->c, target, id, attrib_id(w, attrib), view, &w->arena, &value) ? value
                                                                                       : STR("?");
}

static inline bool reads(struct world *w, enum table target, int64_t id, const char *attrib,
                         enum data_view view, const char *expected)
{
    const struct str value = value_of(w, target, id, attrib, view);
    if (str_eq(value, str_from(expected)))
        return true;
    check_failed(attrib, (int)view, str_z(&w->arena, value));
    return false;
}

static inline bool staged_is(struct world *w, int64_t noderole_id, const char *expected)
{
    const struct str staged = core_staged(w->c, noderole_id, &w->arena);
    if (str_eq(staged, str_from(expected)))
        return true;
    check_failed("staged", (int)noderole_id, str_z(&w->arena, staged));
    return false;
}

/* ---- documents written directly into rows ---- */

static inline struct noderole *open_noderole(struct world *w, int64_t id)
{
    return noderole_edit(w->c, noderole_by_id(w->c, id));
}

static inline struct deployment_role *open_role_in(struct world *w, int64_t id)
{
    return deployment_role_edit(w->c, deployment_role_by_id(w->c, id));
}

static inline struct node *open_node(struct world *w, int64_t id)
{
    return node_edit(w->c, node_by_id(w->c, id));
}

static inline struct role *open_role(struct world *w, const char *name)
{
    return role_edit(w->c, role_by_id(w->c, role_id(w, name)));
}

static inline void doc(struct world *w, doc_h *slot, const char *canonical)
{
    put_doc(w->c, slot, str_from(canonical));
}

/* Proposed, with the counter of proposed roles. */
static inline void propose_doc(struct world *w, int64_t deployment_role_id, const char *canonical)
{
    struct deployment_role *dr = open_role_in(w, deployment_role_id);
    if (!dr->proposed)
        deployment_derive(w->c, dr->deployment)->proposed_roles++;
    dr->proposed = true;
    doc(w, &dr->proposed_data, canonical);
}
