/* checks.h - the invariants that are watched while a core works (docs/invariants.md).
 *
 *   I1  a core loaded from the store is the core in memory; core_check is clean
 *   I2  readiness at the end of every turn
 *   I4  what was acknowledged is there after any crash, and nothing is there by halves
 *   I10 the naive model agrees: every state after every step, every root cause after every turn
 *   I14 no host key is pinned for two nodes, and those of a deleted node are gone
 * (host_key_oracle.h)
 *   I11 every start that ends has its row in the history (run_history_oracle.h)
 *   I13 at most one automatic admin node, and none beside another admin node
 *
 * Used by living worlds and by replays: whoever drives a core tells what it does, and gets NULL or
 * a sentence that begins with the number of the broken invariant. I3 and I5 are watched by the
 * runner and the hooks, who receive the effects.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "core/core.h"
#include "sim/model/model.h"
#include "sim/oracle/durability_oracle.h"
#include "sim/oracle/host_key_oracle.h"
#include "sim/oracle/run_history_oracle.h"
#include "sim/scenario/counts.h"
#include "sim/store/memory_store.h"

/* A moment to which the core may fall back. */
struct moment {
    int64_t turn;
    struct digest128 digest;
    struct model *model;
};

struct checks {
    struct model *model;   /* follows the core */
    struct moment durable; /* the last turn that is in */
    struct moment pending; /* collected, not known to be in */
    struct durability_oracle ledger;
    struct run_history_oracle book;
    struct host_key_oracle keys;
    struct arena scratch;
    int64_t acknowledged; /* the highest turn somebody was told about */
    uint32_t reload_every;
    uint32_t batches; /* since the last check of I1 */
    bool thorough;
    bool has_before;
    struct digest128 before; /* from scratch, after the last step */
    struct model *whole;     /* as it was before the parts of a batch were followed */
    bool in_parts;
    bool parts_lost; /* one asks: what its hooks will say is not known here */
    uint32_t noderoles_max;
    struct counts *counts;
    char trouble[640];
};

void checks_init(struct checks *c, const struct draw *draw, struct counts *counts);
void checks_fini(struct checks *c);

/* A core was founded or loaded, and shows turn `turn`. */
const char *checks_begun(struct checks *c, const struct core *core, int64_t turn);
/* A command was stepped. */
const char *checks_stepped(struct checks *c, const struct core *core, const struct command *command,
                           const struct outcome *outcome);
/* A part of the next command was. */
const char *checks_part(struct checks *c, const struct core *core, const struct command *part,
                        const struct outcome *outcome);
/* The changes were collected as turn `turn`: the end of the thinking. */
const char *checks_collected(struct checks *c, const struct core *core, int64_t turn);
/* The batch of turn `turn` is in. */
const char *checks_durable(struct checks *c, const struct core *core, int64_t turn,
                           const struct memory_store *store, int64_t mono_ms);
/* Somebody was told the outcome of a command that turn `turn` holds. */
const char *checks_acknowledged(struct checks *c, int64_t turn, const struct memory_store *store);
