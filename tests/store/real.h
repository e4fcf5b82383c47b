/* real.h - sessions of the suite on stores that outlive the process: SQLite and PostgreSQL.
 *
 * A place of such a store is its URL. To die is to be a forked process that leaves without closing
 * anything.
 */
#pragma once

#include "tests/store/suite.h"

/* What a maker of such a store takes over as it is; place is a zero-terminated URL. */
void real_open(void *place, struct session *s);
void real_close(struct session *s);
void real_wait(struct session *s);
const char *real_trouble(const struct session *s);
bool real_die(void *place, bool (*life)(struct session *s));
err real_intervals(void *place, const struct interval_page *page, struct record_callback callback);
err real_runs(void *place, int64_t noderole_id, uint32_t limit, struct record_callback callback);

/* All records of the store at one turn, archive tables included; returns its position. */
struct store_mark real_read(const char *url, struct model *out_all);

/* An SQLite store that is not there yet, in a folder of its own; its URL. And its end. */
void *real_make_file(void);
void real_destroy_file(void *place);
