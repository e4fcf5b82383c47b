#include "tests/crash/vfs_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/store/suite.h"

/* ---- the script ---- */

static struct record small_record(struct prng *r, struct arena *a, enum table table)
{
    static const uint32_t lengths[] = {0, 10, 50, 200, 200, 6000};
    struct record record;
    memset(&record, 0, sizeof record);
    record.table = table;
    record.id = 1 + (int64_t)prng_below(r, 60);
    const struct str text = some_text(r, a, lengths[prng_below(r, 6)]);
    switch ((int)table) {
    case TABLE_NODE:
        record.node.name = text;
        record.node.alive = prng_chance(r, 500);
        break;
    case TABLE_NODEROLE:
        record.noderole.node_id = record.id;
        record.noderole.status = text;
        record.noderole.state = (uint32_t)prng_below(r, NODEROLE_STATE_COUNT);
        break;
    case TABLE_EDGE: record.edge.child_id = (int64_t)prng_below(r, 60); break;
    default: impossible("a table the script does not use");
    }
    return record;
}

static void put_some(struct prng *r, struct draft *d, const struct model *m)
{
    static const enum table tables[] = {TABLE_NODE, TABLE_NODEROLE, TABLE_EDGE};
    const struct record record = small_record(r, &d->arena, tables[prng_below(r, 3)]);
    const bool there = model_find(m, &record) != NULL;
    for (uint32_t i = 0; i < d->count; i++)
        if (is_same_row(&d->changes[i].record, &record))
            return;
    if (there && (record.table == TABLE_EDGE || prng_chance(r, 300)))
        draft_end(d, &record);
    else
        draft_put(d, &record);
}

static struct digest128 digest_of(const struct model *m)
{
    struct digest128 sum = {0, 0};
    for (uint32_t i = 0; i < m->count; i++)
        digest_add(&sum, hash128((struct str){m->rows[i].bytes, m->rows[i].size}, 1));
    return sum;
}

static void write_turn(struct script *s, int64_t turn, struct draft *d, struct model *m)
{
    const struct str bytes = draft_bytes(d);
    draft_apply(d, m);
    char *kept = malloc(bytes.len + 1);
    must(kept != NULL);
    memcpy(kept, bytes.at, bytes.len);
    s->digests[turn] = digest_of(m);
    s->batches[turn] = (struct batch){
        .turn = turn,
        .now_ms = 1700000000000 + turn,
        .rows = d->count,
        .changes = {kept, bytes.len},
        .digest = s->digests[turn],
    };
}

struct script *script_new(uint64_t seed, int64_t turns)
{
    struct script *s = calloc(1, sizeof *s);
    struct prng r;
    struct draft d = {0};
    struct model m = {0};
    must(s != NULL && turns <= TURNS_MAX);
    s->turns = turns;
    prng_init(&r, seed);
    for (int64_t turn = 1; turn <= turns; turn++) {
        draft_begin(&d);
        const struct record event = {.table = TABLE_EVENT,
                                     .event = {.turn = turn, .verb = STR("anneal"), .at = turn}};
        draft_put(&d, &event);
        const uint32_t changes = prng_chance(&r, 50) ? 60 : 1 + (uint32_t)prng_below(&r, 5);
        for (uint32_t i = 0; i < changes; i++)
            put_some(&r, &d, &m);
        write_turn(s, turn, &d, &m);
    }
    draft_fini(&d);
    model_fini(&m);
    return s;
}

void script_free(struct script *s)
{
    for (int64_t turn = 1; turn <= s->turns; turn++)
        free((void *)(uintptr_t)s->batches[turn].changes.at);
    free(s);
}

/* ---- a process ---- */

/* In the store's own thread: from here on its caller may know. */
static void wake(void *context)
{
    struct writer *w = context;
    must(sem_post(&w->woken) == 0);
}

err writer_open(struct writer *w, const struct script *script)
{
    *w = (struct writer){.script = script};
    const struct store_options options = {
        .url = WORK_URL, .holder = "writer", .wake = wake, .wake_context = w};
    struct store_why why = {""};
    must(sem_init(&w->woken, 0, 0) == 0);
    const err e = store_open(&options, &w->store, &why);
    if (e == OK) {
        w->port = store_port(w->store);
        return OK;
    }
    CHECK(why.text[0] != '\0');
    must(sem_destroy(&w->woken) == 0);
    w->store = NULL;
    return e;
}

void writer_close(struct writer *w)
{
    if (!w->store)
        return;
    store_close(w->store);
    must(sem_destroy(&w->woken) == 0);
    w->store = NULL;
}

err writer_lead(struct writer *w)
{
    struct store_mark mark;
    err e = ERR_UNAVAILABLE; /* it may only be slow */
    for (int i = 0; i < 100 && e == ERR_UNAVAILABLE; i++)
        e = w->port.lead(w->port.self, w->epoch, &mark);
    if (e != OK) {
        CHECK(store_last_error(w->store)[0] != '\0');
        return e;
    }
    /* What was tried and not answered may be in; nothing else may have moved. */
    CHECK(w->epoch == 0 || (mark.turn >= w->answered && mark.turn <= w->submitted));
    CHECK(mark.epoch >= w->epoch && mark.turn <= w->script->turns);
    CHECK(mark.has_digest == (mark.turn > 0));
    CHECK(mark.turn == 0 || digest_eq(mark.digest, w->script->digests[mark.turn]));
    w->epoch = mark.epoch;
    w->submitted = w->answered = mark.turn;
    return OK;
}

err writer_step(struct writer *w)
{
    struct batch batch = w->script->batches[w->answered + 1];
    batch.epoch = w->epoch;
    bool busy = true;
    w->submitted = batch.turn;
    err e = w->port.submit(w->port.self, &batch);
    while (e == OK && busy) {
        e = w->port.poll(w->port.self, &busy);
        if (busy) {
            e = OK;
            while (sem_wait(&w->woken) != 0)
                ; /* a signal woke us */
        }
    }
    if (e == OK)
        w->answered = batch.turn;
    else if (e != ERR_UNKNOWN)
        w->submitted = w->answered; /* it is not in, says the port */
    return e;
}

/* ---- looking ---- */

static err add_up(void *self, const struct record *record)
{
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    record_encode(record, &bytes);
    digest_add(self, hash128(buf_str(&bytes), 1));
    arena_fini(&arena);
    return OK;
}

/* Events are the only archive of the script, one each turn. */
static void add_events(struct digest128 *sum, int64_t turns)
{
    for (int64_t turn = 1; turn <= turns; turn++) {
        const struct record event = {.table = TABLE_EVENT,
                                     .event = {.turn = turn, .verb = STR("anneal"), .at = turn}};
        ignore(add_up(sum, &event), "it cannot fail");
    }
}

err writer_load(struct writer *w)
{
    struct digest128 sum = {0, 0};
    const err e = w->port.load(w->port.self, (struct record_callback){&sum, add_up});
    if (e != OK)
        return e;
    add_events(&sum, w->answered);
    CHECK(digest_eq(sum, w->script->digests[w->answered]));
    return OK;
}

/* Through a reader, with the archives as they really are. */
static void look_at_all(const struct script *script, int64_t turn)
{
    struct store_reader *reader;
    struct store_why why = {""};
    struct store_mark mark;
    struct digest128 sum = {0, 0};
    CHECK(store_reader_open(WORK_URL, &reader, &why) == OK);
    CHECK(store_reader_begin(reader, &mark) == OK && mark.turn == turn);
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        CHECK(store_reader_table(reader, (enum table)t, (struct record_callback){&sum, add_up}) ==
              OK);
    store_reader_end(reader);
    CHECK(digest_eq(sum, script->digests[turn]));
    if (store_reader_verify(reader, &why) != OK)
        check_failed(__FILE__, __LINE__, why.text);
    store_reader_close(reader);
}

int64_t writer_recover(struct writer *w, const struct script *script, int64_t at_least,
                       int64_t at_most)
{
    CHECK(writer_open(w, script) == OK);
    CHECK(writer_lead(w) == OK);
    if (w->answered < at_least || w->answered > at_most)
        printf("the store is at turn %d, not at %d to %d\n", (int)w->answered, (int)at_least,
               (int)at_most);
    CHECK(w->answered >= at_least && w->answered <= at_most);
    CHECK(writer_load(w) == OK);
    look_at_all(script, w->answered);
    return w->answered;
}
