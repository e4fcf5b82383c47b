/* test_jig.h - a worker that only pretends.
 *
 * It stands behind port/runner_port.h for jigs of class "test": it notes each start in its journal
 * before anything else happens, waits as long as the staged data say ("delay", in ms), and
 * succeeds, or fails when they say "fail": true (or a number: so do the attempts up to it), or
 * leaves its work open when they say "async": true, until somebody retries it. Which jig an order
 * is for is not looked at. Orders are only noted when they come; everything is done in
 * test_jig_pump(), which the loop calls, so the turn is never entered from its own order. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"
#include "model/command.h"
#include "port/runner_port.h"

struct test_jig;

/* What it needs of whoever drives it. */
struct test_jig_seams {
    void *self;
    /* Takes an answer. ERR_LIMIT: later; any other error: never. */
    err (*submit)(void *self, const struct command *command);
};

/* errno says what failed. */
NODISCARD err test_jig_open(const char *journal_path, struct test_jig_seams seams,
                            struct test_jig **out_jig);
void test_jig_close(struct test_jig *t); /* NULL is fine */
struct runner_port test_jig_port(struct test_jig *t);
/* Was this ever ordered here, as far as anybody remembers? A cancel does not name its jig. */
bool test_jig_has(const struct test_jig *t, int64_t run_id, uint32_t attempt);

/* Do what was ordered and what is due at `mono_ms`, and hand answers over. True when any was. */
bool test_jig_pump(struct test_jig *t, int64_t mono_ms);
/* When test_jig_pump wants to be called, in mono_ms; 0 = at once, -1 = when an order came. */
int64_t test_jig_next_ms(const struct test_jig *t);
