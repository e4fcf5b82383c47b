/* suite.h - the requirements on every store, whatever its engine.
 *
 * One suite (suite.c, suite_runs.c, suite_history.c) is run against the simulated store, SQLite and
 * PostgreSQL; each test program says in `suite_maker` how to come by a store of its kind. The suite
 * knows the ports and nothing of engines. What a store holds is followed by a naive model: encoded
 * records in a sorted list.
 *
 * A place is where one store lives, from make() to destroy(). Sessions are processes that use it;
 * they end before the place does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/prng.h"
#include "port/history_port.h"
#include "port/store_port.h"
#include "tests/check.h"

struct session {
    struct store_port port;
    struct store_mark mark; /* the store position that it expects */
    void *self;             /* of the maker */
};

struct store_maker {
    const char *name;
    void *(*make)(void); /* an empty store */
    void (*destroy)(void *place);
    void (*open)(void *place, struct session *s); /* does not lead yet */
    void (*close)(struct session *s);
    /* Wait until poll() has something new to say. NULL: it is enough to ask again. */
    void (*wait)(struct session *s);
    /* What went wrong last, as a sentence. NULL: there is none to be had. */
    const char *(*trouble)(const struct session *s);
    /* Cut every session off. NULL: another may open the store while they are still there. */
    void (*cut)(void *place);
    /* A process that opens the store, does what `life` says and dies without closing it. True when
     * `life` said so. */
    bool (*die)(void *place, bool (*life)(struct session *s));
    /* What is archived about a snapshot, as history_port.intervals. */
    err (*intervals)(void *place, const struct interval_page *page,
                     struct record_callback callback);
    /* As history_port.runs. */
    err (*runs)(void *place, int64_t noderole_id, uint32_t limit, struct record_callback callback);
};

/* Defined by each test program. */
extern const struct store_maker suite_maker;

/* ---- sessions ---- */

/* Open and lead. */
struct session session_open(void *place);
void session_close(struct session *s);
/* lead(), and again as long as the store is only not there just now. */
err session_lead(struct session *s, int64_t epoch, struct store_mark *out_mark);
/* Submit and wait for the answer; the mark moves on when the batch is in. */
err session_write(struct session *s, const struct batch *batch);

/* ---- what should be in ---- */

enum { KEY_PARTS = 6 };

struct model_row {
    enum table table;
    int64_t key[KEY_PARTS];
    struct record record; /* texts point into `bytes` */
    char *bytes;
    uint32_t size;
};

struct model {
    struct model_row *rows; /* by table and key */
    uint32_t count;
    uint32_t cap;
};

void model_fini(struct model *m);
void model_apply(struct model *m, const struct change *change);
const struct model_row *model_find(const struct model *m, const struct record *key);
/* Are they images of one row? */
bool is_same_row(const struct record *a, const struct record *b);
/* Callbacks that add every record to the model; they must arrive in order, none twice. */
struct record_callback model_visitor(struct model *m);
/* The same rows in the tables from `first` to before `end`? Says what differs. */
bool models_eq(const struct model *a, const struct model *b, enum table first, enum table end);
/* What load() gives is what the model holds. */
void check_load(struct session *s, const struct model *expected);

/* ---- batches ---- */

struct draft {
    struct arena arena; /* of the records and bytes; reset by draft_begin */
    struct change *changes;
    uint32_t count;
    uint32_t cap;
    struct batch batch;
};

void draft_fini(struct draft *d);
void draft_begin(struct draft *d);
void draft_put(struct draft *d, const struct record *record);
void draft_end(struct draft *d, const struct record *key);
/* The changes as a batch has them: rows that are gone come first. In the arena. */
struct str draft_bytes(struct draft *d);
void draft_apply(const struct draft *d, struct model *m);
/* The batch after the position of the session; its bytes live until the next begin. */
const struct batch *draft_batch(struct draft *d, const struct session *s);
/* Write it; it must be taken. The model follows. */
void draft_write(struct draft *d, struct session *s, struct model *m);

/* ---- records ---- */

/* A record that a core could have written: numbers and texts from one end of what is allowed to
 * the other. Key fields are drawn too. */
struct record some_record(struct prng *r, struct arena *a, enum table table);
/* Text of that many bytes (a few less where a character does not fit), valid UTF-8. */
struct str some_text(struct prng *r, struct arena *a, uint32_t len);
/* A hundred random changes at most, as a core could make them after what the model holds. */
void some_changes(struct prng *r, struct draft *d, const struct model *m);
struct record some_node(int64_t id);
