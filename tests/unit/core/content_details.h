/* content_details.h - a small installation with content, and helpers that show the problems, the
 * written rows and the remains of a step. For test_content_details.c and test_import_details.c. */
#pragma once

#include "tests/unit/core/content_world.h"

#define CONTENT                                                                                    \
    "{" HEAD("b") "," JIGS ",\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\",\"priority\":2},"     \
                  "{\"name\":\"ipmi\",\"type\":\"ipmi\",\"priority\":9}],\"roles\":["              \
                  "{\"name\":\"owner\",\"jig\":\"script\",\"attribs\":[{\"name\":\"v\","           \
                  "\"map\":\"a/v\"},{\"name\":\"u\",\"map\":\"a/u\"}]},"                           \
                  "{\"name\":\"user\",\"jig\":\"script\","                                         \
                  "\"wants-attribs\":[\"v\",\"u\"]}]}"

__attribute__((unused)) static struct world world_with_content(void)
{
    struct world w = world_open();
    import(&w, CONTENT);
    store(&w);
    return w;
}

__attribute__((unused)) static struct record row(struct world *w, enum table table, int64_t id)
{
    struct record r;
    CHECK(core_record(w->c, table, id, &r));
    return r;
}

/* The last step has exactly one problem, with this text. */
__attribute__((unused)) static bool says(const struct world *w, const char *text)
{
    return w->out.problems && !w->out.problems->next && is(w->out.problems->text, text);
}

/* Changes since the last call, per table: rows that were added or changed, and rows that were
 * removed. */
struct tally {
    uint32_t kept[TABLE_COUNT], gone[TABLE_COUNT];
};

__attribute__((unused)) static void tally_change(void *context, const struct change *change)
{
    struct tally *tally = context;
    if (change->gone)
        tally->gone[change->record.table]++;
    else
        tally->kept[change->record.table]++;
}

__attribute__((unused)) static struct tally tally_of(struct world *w)
{
    struct tally tally = {0};
    core_collect(w->c, 1, tally_change, &tally);
    return tally;
}

__attribute__((unused)) static uint32_t texts(struct world *w)
{
    store(w);
    return w->c->blobs.rows.live;
}

/* Imports a document in which one position differs: the second import writes exactly that. */
__attribute__((unused)) static struct command with_piece(struct world *w, const char *before,
                                                         const char *piece, const char *after)
{
    const struct str text =
        STR_CONCAT(&w->arena, str_from(before), str_from(piece), str_from(after));
    return (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = text}};
}
