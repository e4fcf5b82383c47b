/* session_idle.c - a set-associative table of the last use of each session, which it owns. A
 * session that has expired keeps its entry, so that it stays expired while the caller deletes it
 * from the store. An entry that another session displaces is forgotten: that session counts as used
 * now. */
#include "auth/session_idle.h"

#include <stdlib.h>

#include "base/err.h"

enum { WAYS = 4, SETS = IDLE_MAX / WAYS };

struct seen {
    int64_t session_id; /* 0: free */
    int64_t last_ms;
    bool is_over;
};

struct session_idle {
    struct seen sets[SETS][WAYS];
};

struct session_idle *session_idle_new(void)
{
    struct session_idle *idle = calloc(1, sizeof *idle);
    must(idle);
    return idle;
}

void session_idle_free(struct session_idle *idle)
{
    free(idle);
}

/* The entry of the session, a free one, or the one that was used longest ago. */
static struct seen *session_idle_find(struct session_idle *idle, int64_t session_id)
{
    struct seen *set = idle->sets[(uint64_t)session_id % SETS];
    struct seen *best = &set[0];
    for (int i = 0; i < WAYS; i++) {
        if (set[i].session_id == session_id)
            return &set[i];
        if (best->session_id && (!set[i].session_id || set[i].last_ms < best->last_ms))
            best = &set[i];
    }
    return best;
}

bool session_record_use(struct session_idle *idle, int64_t session_id, int64_t now_ms)
{
    struct seen *seen = session_idle_find(idle, session_id);
    if (seen->session_id != session_id)
        *seen = (struct seen){.session_id = session_id, .last_ms = now_ms};
    seen->is_over = seen->is_over || now_ms - seen->last_ms > IDLE_MS;
    if (!seen->is_over)
        seen->last_ms = now_ms;
    return !seen->is_over;
}
