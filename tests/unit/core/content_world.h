/* content_world.h - helpers of the tests about imports: documents in, rows and problems out. A test
 * program is one file, so all of it is static.
 */
#pragma once

#include "base/json/json.h"
#include "tests/unit/core/data_world.h"

#define JIGS                                                                                       \
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"NoopJig\"},"                                         \
    "{\"name\":\"script\",\"class\":\"BarclampCrowbar::Jig\"},"                                    \
    "{\"name\":\"test\",\"class\":\"BarclampTest::Jig\"}]"
#define HEAD(name) "\"barclamp\":{\"name\":\"" name "\",\"source_path\":\"/src\"}"

static inline struct command importing(const char *document)
{
    return (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = str_from(document)}};
}

static inline void forget_change(void *context, const struct change *change)
{
    (void)context, (void)change;
}

/* Marks everything so far as stored. */
static inline void store(struct world *w)
{
    core_collect(w->c, 1, forget_change, NULL);
    CHECK(core_changed(w->c) == 0);
}

static inline struct record get(struct world *w, enum table table, const char *name)
{
    struct record r;
    const int64_t id = core_find(w->c, table, str_from(name));
    CHECK(id);
    CHECK(core_record(w->c, table, id, &r));
    return r;
}

/* The i-th element of a list; 0 if it is shorter. */
static inline uint32_t item(const struct core *c, const struct vec *v, uint32_t i)
{
    return i < v->count ? vec_at(c, v, i) : 0;
}

static inline bool is(struct str s, const char *expected)
{
    return str_eq(s, str_from(expected));
}

static inline const struct role *role_row(struct world *w, const char *name)
{
    return role_at(w->c, role_by_id(w->c, role_id(w, name)));
}

/* The derived parents as "a,b" by id. */
static inline struct str parents_of(struct world *w, const char *name)
{
    const struct role *r = role_row(w, name);
    struct buf b = buf_in(&w->arena);
    for (uint32_t i = 0; i < r->parents.count; i++) {
        if (i)
            buf_put_c(&b, ',');
        buf_put_str(&b,
                    text_of(w->c, role_at(w->c, (role_ix){vec_at(w->c, &r->parents, i)})->name));
    }
    return buf_str(&b);
}

static inline bool has_problem(struct world *w, enum problem_code code, const char *field,
                               const char *words)
{
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        if (p->code != code || !is(p->field, field))
            continue;
        for (uint32_t i = 0; i + strlen(words) <= p->text.len; i++)
            if (memcmp(p->text.at + i, words, strlen(words)) == 0)
                return true;
    }
    return false;
}

static inline uint32_t count_problems(const struct world *w)
{
    uint32_t count = 0;
    for (const struct problem *p = w->out.problems; p; p = p->next)
        count++;
    return count;
}

static inline uint32_t count_warnings(struct world *w)
{
    return json_get(doc_tree(&w->arena, w->out.doc), STR("warnings"))->count;
}

/* A core that was loaded from the records of this one. */
static inline struct core *loaded_again(struct world *w)
{
    struct core *c = core_new();
    const char *what = NULL;
    for (uint32_t t = 0; t < TABLE_LOADED; t++)
        for (int64_t id = t < TABLE_OBJECTS ? core_next_id(w->c, (enum table)t, 0) : 0; id;
             id = core_next_id(w->c, (enum table)t, id)) {
            struct record record;
            CHECK(core_record(w->c, (enum table)t, id, &record));
            CHECK(core_load(c, &record, &what) == OK);
        }
    const err r = core_load_end(c, 0, &what);
    if (r != OK)
        check_failed("load", 0, what);
    return c;
}
