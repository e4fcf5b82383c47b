/* grant_oracle.h - invariant I20 from the point of view of a boot server: of each boot generation
 * of a node at most one ticket is granted an installer, whatever crashes, restarts and imports of
 * the store happen between the questions.
 *
 * The oracle reads questions and the replies that left the turn, and nothing of the core.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"
#include "model/command.h"

struct granted {
    int64_t request; /* of a question without a reply; 0 = it was granted */
    int64_t node_id;
    int64_t generation;
    uint64_t ticket; /* hash */
};

struct grant_oracle {
    struct granted *asked;
    uint32_t count, cap;
    char trouble[160];
};

void grant_oracle_fini(struct grant_oracle *oracle);
/* A question is sent. */
void grant_oracle_ask(struct grant_oracle *oracle, int64_t request,
                      const struct grant_use_command *use);
/* There will be no reply: the batch was not stored, or the daemon has crashed. 0: to no request. A
 * machine asks again with the same request, maybe for another node. */
void grant_oracle_drop(struct grant_oracle *oracle, int64_t request);
/* A request is answered. Returns NULL, or the violation that it causes. */
const char *grant_oracle_reply(struct grant_oracle *oracle, int64_t request, struct str doc);
