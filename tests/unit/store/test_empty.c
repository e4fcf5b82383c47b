/* Goal: a NULL string is stored as an empty one, never as SQL NULL. Method: a record of every table
 * whose strings are NULL with length 0, written and read. */
#include <stdio.h>
#include <stdlib.h>

#include "store/engine.h"
#include "tests/check.h"

static struct record record_of(enum table table)
{
    struct record r = {.table = table};
    r.id = 1;
    return r;
}

static err compare(void *self, const struct record *seen)
{
    uint32_t *count = self;
    const struct record wanted = record_of(seen->table);
    CHECK(fields_eq(record_layout(seen->table), &wanted.id, &seen->id));
    ++*count;
    return OK;
}

TEST(a_record_with_empty_strings_of_every_table_survives_a_round_trip)
{
    char folder[] = "/tmp/halligan-empty-XXXXXX", path[64], command[64];
    struct engine *e;
    struct store_mark mark;
    struct store_why why;
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s.db", folder);
    CHECK(sqlite_open(path, ENGINE_WRITE, "test", &e, &why) == OK);
    CHECK(e->ops->lead(e, 0, &mark) == OK);
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        batch_put(&bytes, &(struct change){.record = record_of((enum table)t)});
    const struct batch batch = {.epoch = mark.epoch,
                                .turn = mark.turn + 1,
                                .rows = TABLE_COUNT,
                                .changes = buf_str(&bytes)};
    CHECK(e->ops->write(e, &batch) == OK);
    CHECK(e->ops->begin(e, &mark) == OK);
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        uint32_t count = 0;
        CHECK(e->ops->table(e, (enum table)t, (struct record_callback){&count, compare}) == OK);
        CHECK(count == 1);
    }
    e->ops->end(e);
    e->ops->close(e);
    arena_fini(&arena);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}
