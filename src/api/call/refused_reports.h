/* refused_reports.h - what machines said of themselves and were refused, for people who ask why.
 *
 * A refusal changes nothing, so neither core nor store knows of it, and the only one who heard it
 * is a machine that nobody looks at. The last one of each is kept in memory, as far as there is
 * room: after a restart the machine says it again.
 */
#pragma once

#include "api/call/call.h"

struct cause;

enum { REFUSALS_MAX = 256, REFUSAL_TEXT_MAX = 200 };

struct refused_report {
    int64_t node_id; /* 0: none */
    int64_t at_ms;
    uint32_t len;
    char text[REFUSAL_TEXT_MAX];
};

/* A row for each remainder of an id: who comes later takes the place. */
struct refused_reports {
    struct refused_report rows[REFUSALS_MAX];
};

/* The command of the call was refused: reply so, and keep it if it was a machine's word that it is
 * alive. */
void refused_reports_reply(struct refused_reports *refusals, struct call *call,
                           const struct problem *problems);
/* The text of a cause; that a node is not alive with what it was refused since then. */
struct str refused_reports_explain(const struct refused_reports *refusals, struct call *call,
                                   const struct cause *cause);
