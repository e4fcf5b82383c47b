/* Goal: whatever the disk does, what was acknowledged is there, what was not is wholly in or out,
 * and a disk that broke its word is not trusted again.
 * Method: SQLite on a disk in memory (vfs_shim.h). The power goes around every sync; every single
 * operation fails, once and for good; the disk is full from every write on. After each of these a
 * new process must find what the script says.
 *
 * CRASH_SEEDS says how many ways of losing power are tried at each place; CRASH_STRIDE how many
 * places are left out between two that are tried (1 = none). */
#include "tests/crash/vfs_shim.h"
#include "tests/crash/vfs_work.h"
#include "tests/store/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only its tools are used here. */
const struct store_maker suite_maker = {.name = "shim"};

__attribute__((constructor)) static void install(void)
{
    shim_install();
    shim_reset();
}

__attribute__((destructor)) static void uninstall(void)
{
    shim_uninstall();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    const uint64_t value = text ? strtoull(text, NULL, 10) : 0;
    return value ? value : otherwise;
}

/* ---- the power goes ---- */

enum { TURNS_POWER = 200, CAPTURES = 40 };

/* What a disk looked like when the power could have gone. */
struct capture {
    struct disk *disk;
    int64_t answered;
    int64_t submitted;
    int64_t epoch;
};

struct capturing {
    const struct writer *writer;
    uint64_t seen;
    uint64_t first; /* the ones before were captured in an earlier round */
    uint64_t stride;
    uint32_t count;
    struct capture captures[CAPTURES];
};

/* Inside a commit the writer waits for an answer; while the store keeps house it may go on, so what
 * was answered may be more than is known here, and what was submitted more than can be in. */
static void capture(void *context, const struct disk *disk)
{
    struct capturing *c = context;
    const uint64_t place = c->seen++;
    const int64_t answered = c->writer->answered; /* before what was submitted */
    if (place < c->first || place % c->stride || c->count == CAPTURES)
        return;
    c->captures[c->count++] = (struct capture){
        .disk = disk_copy(disk),
        .answered = answered,
        .submitted = c->writer->submitted,
        .epoch = c->writer->epoch,
    };
    c->first = place + 1;
}

/* The whole series without a fault; the disk is captured on the way. */
static void run_watched(const struct script *script, struct capturing *c)
{
    struct writer w;
    shim_reset();
    memset(&w, 0, sizeof w);
    c->writer = &w;
    c->seen = 0;
    c->count = 0;
    shim_watch(capture, c);
    CHECK(writer_open(&w, script) == OK);
    CHECK(writer_lead(&w) == OK);
    while (w.answered < script->turns)
        CHECK(writer_step(&w) == OK);
    writer_close(&w);
    shim_watch(NULL, NULL);
}

/* Once more, with a batch on top of what was saved. */
static void crash_again(const struct script *script, struct writer *w, uint64_t seed)
{
    if (w->answered < script->turns)
        CHECK(writer_step(w) == OK);
    const int64_t turn = w->answered;
    writer_close(w);
    shim_crash(seed);
    CHECK(writer_recover(w, script, turn, turn) == turn);
    writer_close(w);
}

static void survive(const struct script *script, const struct capture *c, uint64_t seed)
{
    struct writer w;
    shim_reset();
    shim_use(disk_copy(c->disk));
    shim_crash(seed);
    writer_recover(&w, script, c->answered, c->submitted);
    CHECK(w.epoch > c->epoch);
    if (seed % 4 == 0)
        crash_again(script, &w, seed + 1);
    else
        writer_close(&w);
}

TEST(what_was_acknowledged_survives_a_loss_of_power)
{
    const uint64_t seeds = setting("CRASH_SEEDS", 2);
    struct script *script = script_new(21, TURNS_POWER);
    struct capturing c = {.stride = setting("CRASH_STRIDE", 1)};
    uint64_t places = 0;
    do {
        run_watched(script, &c);
        for (uint32_t i = 0; i < c.count; i++) {
            for (uint64_t seed = 0; seed < seeds; seed++)
                survive(script, &c.captures[i], c.first * 1000 + i * seeds + seed);
            disk_free(c.captures[i].disk);
        }
        places += c.count;
    } while (c.count == CAPTURES);
    CHECK(places * c.stride > 2 * TURNS_POWER); /* before and after each sync */
    shim_reset();
    script_free(script);
}

/* ---- operations fail ---- */

enum { TURNS_FAULT = 12 };

static void check_typed(err e)
{
    CHECK(e == ERR_IO || e == ERR_UNAVAILABLE || e == ERR_UNKNOWN || e == ERR_NO_SPACE);
}

/* A process that does not give up at once: after a failure it leads again, a few times. */
static void live_with_faults(struct writer *w)
{
    int patience = 4;
    err e = writer_lead(w);
    while (patience > 0 && (e != OK || w->answered < w->script->turns)) {
        const bool broken_word = shim_sync_failed();
        if (e == OK && w->answered == w->script->turns / 2)
            e = writer_load(w);
        if (e == OK)
            e = writer_step(w);
        else
            e = writer_lead(w);
        CHECK(!broken_word || e != OK);
        CHECK(!broken_word || store_has_failed(w->store));
        if (e == OK)
            continue;
        check_typed(e);
        patience--;
    }
}

/* What the process knows when it ends; nothing when it could not begin. */
static void live_and_end(const struct script *script, int64_t *out_least, int64_t *out_most)
{
    struct writer w;
    const err e = writer_open(&w, script);
    *out_least = *out_most = 0;
    if (e != OK) {
        check_typed(e);
        return;
    }
    CHECK(!shim_sync_failed()); /* no store is opened on a broken word */
    live_with_faults(&w);
    *out_least = w.answered;
    *out_most = w.submitted;
    writer_close(&w);
}

/* False when the fault is after the end of the series. */
static bool survive_fault(const struct script *script, enum shim_op kind, uint64_t nth,
                          bool lasting, enum shim_op *out_op)
{
    int64_t least, most;
    struct writer w;
    shim_reset();
    shim_fail(kind, nth, lasting);
    live_and_end(script, &least, &most);
    const bool reached = shim_mend(out_op);
    writer_recover(&w, script, least, most);
    crash_again(script, &w, nth);
    return reached;
}

static void survive_all_faults(bool lasting)
{
    const uint64_t stride = setting("CRASH_STRIDE", 1);
    struct script *script = script_new(22, TURNS_FAULT);
    bool seen[SHIM_OP_COUNT] = {0};
    enum shim_op op;
    uint64_t nth = 1;
    for (; survive_fault(script, SHIM_OP_COUNT, nth, lasting, &op); nth += stride)
        seen[op] = true;
    for (uint32_t i = 0; i < SHIM_OP_COUNT; i++) {
        /* Kinds between strides fail at their first operation. */
        if (!seen[i])
            seen[i] = survive_fault(script, (enum shim_op)i, 1, lasting, &op);
        if (!seen[i])
            check_failed(__FILE__, __LINE__, shim_op_name((enum shim_op)i));
    }
    CHECK(nth > 200);
    shim_reset();
    script_free(script);
}

TEST(any_operation_may_fail_once)
{
    survive_all_faults(false);
}

TEST(any_operation_may_fail_for_good)
{
    survive_all_faults(true);
}

/* A longer series, so that the log is also written back on the way. */
TEST(a_sync_that_failed_is_never_forgiven)
{
    const uint64_t stride = setting("CRASH_STRIDE", 1);
    struct script *script = script_new(25, TURNS_POWER);
    enum shim_op op;
    uint64_t nth = 1;
    while (survive_fault(script, SHIM_SYNC, nth, false, &op))
        nth += stride;
    CHECK(nth > TURNS_POWER);
    shim_reset();
    script_free(script);
}

/* ---- the disk is full ---- */

enum { TURNS_FULL = 40 };

/* The batch that found no room is not in, and everything can still be read. */
static void live_without_room(struct writer *w)
{
    const int64_t turn = w->answered;
    for (int i = 0; i < 3; i++) {
        CHECK(writer_load(w) == OK);
        CHECK(writer_lead(w) == OK); /* otherwise the store could not be read */
        CHECK(writer_load(w) == OK);
        CHECK(writer_step(w) == ERR_NO_SPACE);
        CHECK(w->answered == turn && w->submitted == turn);
        CHECK(!store_has_failed(w->store));
    }
}

/* False when the disk was large enough. */
static bool survive_full(const struct script *script, uint64_t nth)
{
    struct writer w;
    enum shim_op op;
    bool was_full = false;
    shim_reset();
    CHECK(writer_open(&w, script) == OK);
    CHECK(writer_lead(&w) == OK);
    shim_fill(nth);
    while (w.answered < script->turns) {
        const err e = writer_step(&w);
        CHECK(e == OK || (e == ERR_NO_SPACE && !was_full));
        if (e == OK)
            continue;
        was_full = true;
        live_without_room(&w);
        CHECK(shim_mend(&op) && op == SHIM_WRITE);
        CHECK(writer_lead(&w) == OK);
        CHECK(writer_load(&w) == OK);
    }
    const bool reached = shim_mend(&op); /* the last write may have been a checkpoint's */
    writer_close(&w);
    writer_recover(&w, script, script->turns, script->turns);
    crash_again(script, &w, nth);
    return was_full || reached;
}

TEST(a_full_disk_refuses_batches_until_there_is_room)
{
    const uint64_t stride = setting("CRASH_STRIDE", 1);
    struct script *script = script_new(23, TURNS_FULL);
    uint64_t nth = 1;
    while (survive_full(script, nth))
        nth += stride;
    CHECK(nth > TURNS_FULL);
    shim_reset();
    script_free(script);
}

/* Nothing that was made halfway is in the way later. */
TEST(a_disk_that_is_full_at_the_start_is_no_store_yet)
{
    struct script *script = script_new(24, 3);
    err e = ERR_IO;
    for (uint64_t nth = 1; e != OK; nth++) {
        struct writer w;
        enum shim_op op;
        shim_reset();
        shim_fill(nth);
        e = writer_open(&w, script);
        if (e == OK) {
            e = writer_lead(&w);
            writer_close(&w);
        }
        const bool full = shim_mend(&op);
        CHECK(e == (full ? ERR_NO_SPACE : OK) || (full && e == OK));
        writer_recover(&w, script, 0, 0);
        crash_again(script, &w, nth);
        if (full)
            e = ERR_NO_SPACE; /* also when only the checkpoint at the end had no room */
    }
    shim_reset();
    script_free(script);
}
