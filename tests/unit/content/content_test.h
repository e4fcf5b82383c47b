/* content_test.h - helpers of the tests about files: a text in, a tree and a report out.
 *
 * Reports are compared as one text, an entry a line: "3:5 error text". A test program is one file,
 * so all of it is static.
 */
#pragma once

#include "base/json/json.h"
#include "content/diagnostics.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct arena arena;
    struct diagnostics report;
};

static inline void bench_open(struct bench *b)
{
    *b = (struct bench){0};
    b->report = diagnostics_begin(&b->arena);
}

static inline void bench_close(struct bench *b)
{
    arena_fini(&b->arena);
}

static inline bool same(struct str seen, const char *wanted)
{
    if (str_eq(seen, str_from(wanted)))
        return true;
    printf("  seen: %.*s\nwanted: %s\n", STR_FMT_ARGS(seen), wanted);
    return false;
}

/* Everything the report says. */
static inline struct str said(struct bench *b)
{
    struct buf out = buf_in(&b->arena);
    for (const struct diagnostics_entry *e = b->report.first; e; e = e->next) {
        char place[64];
        snprintf(place, sizeof place, "%u:%u %s ", e->at.line, e->at.column,
                 e->severity == DIAGNOSTICS_ERROR ? "error" : "warning");
        buf_put_z(&out, place);
        buf_put_str(&out, e->text);
        buf_put_c(&out, '\n');
    }
    return buf_str(&out);
}
