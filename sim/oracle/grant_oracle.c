#include "sim/oracle/grant_oracle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "model/grant.h"

void grant_oracle_fini(struct grant_oracle *oracle)
{
    free(oracle->asked);
    *oracle = (struct grant_oracle){0};
}

void grant_oracle_ask(struct grant_oracle *oracle, int64_t request,
                      const struct grant_use_command *use)
{
    if (oracle->count == oracle->cap) {
        oracle->cap = oracle->cap ? 2 * oracle->cap : 64;
        oracle->asked = realloc(oracle->asked, oracle->cap * sizeof *oracle->asked);
        must(oracle->asked);
    }
    oracle->asked[oracle->count++] =
        (struct granted){request, use->node_id, use->generation, hash64(use->ticket, 1)};
}

static void grant_oracle_remove(struct grant_oracle *oracle, uint32_t i)
{
    oracle->asked[i] = oracle->asked[--oracle->count];
}

void grant_oracle_drop(struct grant_oracle *oracle, int64_t request)
{
    for (uint32_t i = oracle->count; i-- > 0;)
        if (oracle->asked[i].request && (!request || oracle->asked[i].request == request))
            grant_oracle_remove(oracle, i);
}

const char *grant_oracle_reply(struct grant_oracle *oracle, int64_t request, struct str doc)
{
    uint32_t at = 0;
    while (at < oracle->count && oracle->asked[at].request != request)
        at++;
    if (!request || at == oracle->count)
        return NULL;
    if (!str_eq(doc, grant_answer_doc(GRANT_GRANTED))) {
        grant_oracle_remove(oracle, at);
        return NULL;
    }
    const struct granted now = oracle->asked[at];
    for (uint32_t i = 0; i < oracle->count; i++) {
        const struct granted *one = &oracle->asked[i];
        if (one->request || one->node_id != now.node_id || one->generation != now.generation)
            continue;
        const bool is_same = one->ticket == now.ticket; /* `one` may be moved by the removal */
        grant_oracle_remove(oracle, at);
        if (is_same)
            return NULL;
        snprintf(oracle->trouble, sizeof oracle->trouble,
                 "I20: two tickets are granted an installer of node %lld in generation %lld",
                 (long long)now.node_id, (long long)now.generation);
        return oracle->trouble;
    }
    oracle->asked[at].request = 0;
    return NULL;
}
