/* checks.h - checks of the invariants of docs/invariants.md while a core executes commands.
 *
 * - I1: a core loaded from the store equals the core in memory; core_check reports nothing
 * - I2: readiness at the end of every turn
 * - I4: acknowledged changes survive every crash, and no batch is stored in part
 * - I10: the naive model agrees: every state after every step, every root cause after every turn
 * - I11: every start that ends has one row in the history (run_history_oracle.h)
 * - I13: at most one automatic admin node, and none besides another admin node
 * - I20: of each boot generation at most one ticket is granted an installer (grant_oracle.h)
 * - I14: no host key is pinned for two nodes, and none for a deleted node (host_key_oracle.h)
 * - I15, I16: every address and every MAC has one owner (address_oracle.h), and a freed or declined
 *   address has no new owner within an hour
 * - I17: DNS names equal a naive evaluation of all filters
 * - I19: a copy of the boot view that applies the changes of each batch equals the view of the core
 *   (boot_view_oracle.h)
 *
 * Used by simulated worlds and by replays: the driver of a core reports each event and receives
 * NULL, or a message that begins with the number of the violated invariant. I3 and I5 are checked
 * by the simulated runner and hooks, which receive the effects.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "core/core.h"
#include "sim/model/model.h"
#include "sim/oracle/address_oracle.h"
#include "sim/oracle/boot_view_oracle.h"
#include "sim/oracle/durability_oracle.h"
#include "sim/oracle/grant_oracle.h"
#include "sim/oracle/host_key_oracle.h"
#include "sim/oracle/run_history_oracle.h"
#include "sim/scenario/counts.h"
#include "sim/store/memory_store.h"

/* A state to which the core may return after a crash. */
struct moment {
    int64_t turn;
    struct digest128 digest;
    struct model *model;
};

struct checks {
    struct model *model;   /* the naive model, updated with every command */
    struct moment durable; /* the last turn that is known to be stored */
    struct moment pending; /* collected, not known to be stored; turn 0 = none */
    struct durability_oracle ledger;
    struct run_history_oracle book;
    struct host_key_oracle keys;
    struct grant_oracle grants;
    struct address_oracle addresses;
    struct boot_view_oracle boot_view;
    struct arena scratch;
    int64_t acknowledged;    /* the highest turn that was acknowledged to a client */
    uint32_t reload_every;   /* number of batches between two checks of I1 */
    uint32_t batches;        /* since the last check of I1 */
    bool thorough;           /* recompute the digest after every step */
    bool has_before;         /* `before` is valid */
    struct digest128 before; /* recomputed digest after the last step */
    struct model *whole;     /* the model before the first part of a batch */
    bool in_parts;           /* parts of a batch have been executed */
    bool parts_lost;         /* a part waits for replies of hooks, which are unknown here */
    uint32_t noderoles_max;
    struct counts *counts;
    char trouble[640];
};

void checks_init(struct checks *c, const struct scenario *scenario, struct counts *counts);
void checks_fini(struct checks *c);

/* A core was bootstrapped or loaded at turn `turn`; is_imported: for the first time after an import
 * of the store. */
const char *checks_begun(struct checks *c, const struct core *core, int64_t turn, bool is_imported);
/* A command was executed. */
const char *checks_stepped(struct checks *c, const struct core *core, const struct command *command,
                           const struct outcome *outcome);
/* A part of the batch that is being executed was executed. */
const char *checks_part(struct checks *c, const struct core *core, const struct command *part,
                        const struct outcome *outcome);
/* The changes were collected as turn `turn`. */
const char *checks_collected(struct checks *c, const struct core *core, int64_t turn);
/* The batch of turn `turn` is stored. */
const char *checks_durable(struct checks *c, const struct core *core, int64_t turn,
                           const struct memory_store *store, int64_t mono_ms);
/* The outcome of a command of turn `turn` was sent to its client. */
const char *checks_acknowledged(struct checks *c, int64_t turn, const struct memory_store *store);
