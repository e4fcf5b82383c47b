/* refused_reports.h - refused reports of nodes that they are alive, for `why`.
 *
 * A refused command changes nothing, so neither the core nor the store has a trace of it, and its
 * sender is a machine without an operator. The last refusal of each node is kept in memory, so that
 * `why` can show the reason why the node is not alive. It is lost at a restart; the machine repeats
 * its report.
 */
#pragma once

#include "api/call/call.h"

struct cause;

enum { REFUSALS_MAX = 256, REFUSAL_TEXT_MAX = 200 };

struct refused_report {
    int64_t node_id; /* 0: none */
    int64_t at_ms;   /* time stamp of the core (call_stamp_ms), as cause->since is */
    uint32_t len;    /* bytes of `text` */
    char text[REFUSAL_TEXT_MAX];
};

/* A hash table without chains: a node shares the row id % REFUSALS_MAX with others, and a later
 * refusal replaces an earlier one. */
struct refused_reports {
    struct refused_report rows[REFUSALS_MAX];
};

/* Replies with the problems, and records them if the refused command was a report of a node that it
 * is alive. */
void refused_reports_reply(struct refused_reports *refusals, struct call *call,
                           const struct problem *problems);
/* The text of a cause; for a node that is not alive, with the refusal since then. */
struct str refused_reports_explain(const struct refused_reports *refusals, struct call *call,
                                   const struct cause *cause);
