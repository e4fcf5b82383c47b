/* test_jig.h - a runner that executes nothing and reports configured results.
 *
 * It implements port/runner_port.h for jigs of the class "test": it records each start in its
 * journal before anything else, waits as long as the staged data request ("delay", in ms), and
 * succeeds, or fails if they contain "fail": true (or a number: attempts up to it fail), or leaves
 * the run asynchronous if they contain "async": true, until it is retried. The jig of an order is
 * not checked. Orders are only recorded when they arrive; the work is done in test_jig_pump(),
 * which the loop calls, so that the turn is never entered from its own order. Single-threaded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"
#include "model/command.h"
#include "port/runner_port.h"

struct test_jig;

/* Callbacks of the caller. */
struct test_jig_callbacks {
    void *self;
    /* Submits a result. ERR_LIMIT: try again later; any other error is final. */
    err (*submit)(void *self, const struct command *command);
};

/* On failure errno is set. */
NODISCARD err test_jig_open(const char *journal_path, struct test_jig_callbacks callbacks,
                            struct test_jig **out_jig);
void test_jig_close(struct test_jig *t); /* NULL is ignored */
struct runner_port test_jig_port(struct test_jig *t);
/* True if this attempt was ever ordered here, according to the journal. A cancel does not name its
 * jig. */
bool test_jig_has(const struct test_jig *t, int64_t run_id, uint32_t attempt);

/* Process orders and runs that are due at `mono_ms`, and submit results. True if one was submitted.
 */
bool test_jig_pump(struct test_jig *t, int64_t mono_ms);
/* When test_jig_pump must be called, in mono_ms; 0: at once, -1: after the next order. */
int64_t test_jig_next_ms(const struct test_jig *t);
