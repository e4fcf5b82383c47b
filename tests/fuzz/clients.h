/* clients.h - the clients of the site, and the rows that each of them may change.
 *
 * The API authorizes commands before it submits them. This check is independent of that: it
 * examines the rows that were changed, their owners and their deployments.
 */
#pragma once

#include "tests/fuzz/site.h"

#define BIT(table) (1u << TABLE_##table)
#define WORK                                                                                       \
    (BIT(DEPLOYMENT) | BIT(SNAPSHOT) | BIT(DEPLOYMENT_ROLE) | BIT(NODE) | BIT(NODEROLE) |          \
     BIT(RUN) | BIT(HAMMER))
#define EVERYTHING UINT32_MAX

struct api_client {
    char letter;
    const char *token;
    const char *user;       /* NULL: the token of a node                        */
    uint32_t tables;        /* bits of the tables in which it may change rows   */
    bool is_limited_to_lab; /* only in the deployment lab, and below            */
    bool may_change_itself; /* may change its own user and its own tokens       */
    bool makes_tokens;      /* may create tokens of nodes                       */
};

static const struct api_client api_clients[] = {
    {'a', "hlg_admin", "admin", .tables = EVERYTHING, .may_change_itself = true,
     .makes_tokens = true},
    {'c', "hlg_session", "admin", .tables = EVERYTHING, .may_change_itself = true,
     .makes_tokens = true},
    {'k', "hlg_session", "admin", .tables = 0}, /* forged: sent without the CSRF token */
    {'m', "hlg_capped", "admin", .tables = 0},
    {'o', "hlg_operator", "operator", .tables = WORK | BIT(GROUP), .may_change_itself = true,
     .makes_tokens = true},
    {'v', "hlg_viewer", "viewer", .tables = 0, .may_change_itself = true},
    {'p', "hlg_granted", "granted", .tables = WORK, .is_limited_to_lab = true,
     .may_change_itself = true, .makes_tokens = true},
    {'s', "hlg_scoped", "old", .tables = WORK, .is_limited_to_lab = true, .makes_tokens = true},
    {'n', "hlg_node", NULL, .tables = BIT(NODE) | BIT(NODEROLE) | BIT(RUN),
     .is_limited_to_lab = true},
    {'x', "hlg_late", "admin", .tables = 0},
};

/* ---- deployments of rows ---- */

static inline bool is_in_lab(const struct core *core, int64_t deployment_id)
{
    struct record record;
    while (deployment_id && deployment_id != LAB &&
           core_record(core, TABLE_DEPLOYMENT, deployment_id, &record))
        deployment_id = record.deployment.parent_id;
    return deployment_id == LAB;
}

static inline int64_t deployment_of_node(const struct core *core, int64_t node_id)
{
    struct record node;
    return core_record(core, TABLE_NODE, node_id, &node) ? node.node.deployment_id : 0;
}

static inline int64_t deployment_of(const struct core *core, const struct record *row)
{
    switch ((uint32_t)row->table) {
    case TABLE_DEPLOYMENT: return row->id;
    case TABLE_SNAPSHOT: return row->snapshot.deployment_id;
    case TABLE_DEPLOYMENT_ROLE: return row->deployment_role.deployment_id;
    case TABLE_NODE: return row->node.deployment_id;
    case TABLE_NODEROLE: return row->noderole.deployment_id;
    case TABLE_RUN: return deployment_of_node(core, row->run.node_id);
    case TABLE_HAMMER: return deployment_of_node(core, row->hammer.node_id);
    default: return 0;
    }
}

/* ---- checks of changed rows ---- */

static inline bool is_own(const struct core *core, const struct api_client *who,
                          const struct record *row)
{
    const int64_t user_id = who->user ? core_find(core, TABLE_USER, str_from(who->user)) : 0;
    if (row->table == TABLE_TOKEN && row->token.node_id)
        return who->makes_tokens && (!who->is_limited_to_lab ||
                                     is_in_lab(core, deployment_of_node(core, row->token.node_id)));
    return who->may_change_itself && user_id &&
           (row->table == TABLE_USER ? row->id == user_id : row->token.user_id == user_id);
}

static inline void check_row(const struct core *core, const struct api_client *who,
                             const struct record *row)
{
    const bool is_people = row->table == TABLE_USER || row->table == TABLE_TOKEN;
    if (is_people && who->tables != EVERYTHING) {
        if (!is_own(core, who, row))
            world_fail(HERE, "%c changed %s %lld", who->letter, table_name(row->table),
                       (long long)row->id);
        return;
    }
    if (!(who->tables >> row->table & 1) ||
        (who->is_limited_to_lab && !is_in_lab(core, deployment_of(core, row))))
        world_fail(HERE, "%c changed %s %lld", who->letter, table_name(row->table),
                   (long long)row->id);
}

/* State before a request: rows of a later turn were changed, and tables with fewer rows had
 * deletes. */
struct before {
    int64_t turn;
    uint32_t counts[TABLE_OUTBOX];
};

static inline struct before counts_before(const struct core *core, int64_t turn)
{
    struct before before = {.turn = turn};
    for (uint32_t table = TABLE_BARCLAMP; table < TABLE_OUTBOX; table++)
        before.counts[table] = core_count(core, (enum table)table);
    return before;
}

static inline void check_changes(const struct core *core, const struct api_client *who,
                                 const struct before *before)
{
    struct record row;
    for (uint32_t table = TABLE_BARCLAMP; table < TABLE_OUTBOX; table++) {
        const bool shrank = core_count(core, (enum table)table) < before->counts[table];
        if (shrank && table != TABLE_TOKEN && !(who->tables >> table & 1))
            world_fail(HERE, "%c deleted a %s", who->letter, table_name((enum table)table));
        for (int64_t id = core_next_id(core, (enum table)table, 0); id;
             id = core_next_id(core, (enum table)table, id)) {
            CHECK(core_record(core, (enum table)table, id, &row));
            if (row.settings.turn > before->turn) /* every object has it in the same place */
                check_row(core, who, &row);
        }
    }
}
