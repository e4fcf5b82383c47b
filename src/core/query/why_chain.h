/* why_chain.h - the chain of causes of core_why() while it is made, inside the core.
 *
 * Only the files of core/query include it. A chain lives for one call, its causes are in the arena
 * of the caller.
 */
#pragma once

#include "core/core_private.h"

struct why_chain {
    const struct core *c;
    struct arena *arena;
    struct cause *first, *last;
    bool but_hooks;      /* of a plan: ignore hooks that have not returned, and what is no row */
    bool has_server;     /* a noderole that serves boots was explained: once in a chain */
    struct cause *brief; /* only the last cause is stored here, without texts; NULL: all causes */
};

/* The text of a cause; empty if only codes and objects are requested. */
#define CAUSE_TEXT(ch, ...) ((ch)->brief ? (struct str){0} : STR_CONCAT((ch)->arena, __VA_ARGS__))

/* ---- why.c ---- */

void why_add(struct why_chain *ch, struct cause cause);
/* "`dns-server` on `n3`" and "node `n3`"; empty if only codes and objects are requested. */
struct str why_noderole_name(struct why_chain *ch, noderole_ix nr);
struct str why_node_name(struct why_chain *ch, node_ix n);
/* Add what the run does or waits for. */
void why_run(struct why_chain *ch, run_ix ix);
/* Add the unmet condition of the noderole, or of its node, under which it does not start; false if
 * there is none. */
bool why_own(struct why_chain *ch, noderole_ix ix);
bool why_node(struct why_chain *ch, node_ix n);
/* Add the first cause of one noderole; returns the noderole to explain next, or none. */
noderole_ix why_one(struct why_chain *ch, noderole_ix nr);

/* ---- why_served.c ---- */

/* Add that the machine waits for this noderole to serve what it boots, and what that waits for. */
void why_served_wait(struct why_chain *ch, node_ix n, noderole_ix server);
/* The same for a parked run whose machine is to boot an installer that is not served yet. */
void why_served_parked(struct why_chain *ch, run_ix ix);
