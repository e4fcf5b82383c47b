/* subject.c - tables from the kind of a command to the object that it changes. Stateless; every
 * command has a result. */
#include "model/subject.h"

#include <string.h>

/* Table of the object for each kind. 0 (TABLE_SETTINGS) for the settings, for kinds that
 * command_subject treats before it reads this table, and for COMMAND_OUTBOX_BEGUN, which is
 * internal and has the id 0. */
static const uint8_t subjects[COMMAND_COUNT] = {
    [COMMAND_IMPORT] = TABLE_BARCLAMP,
    [COMMAND_JIG_CREATE] = TABLE_JIG,
    [COMMAND_JIG_UPDATE] = TABLE_JIG,
    [COMMAND_ROLE_UPDATE] = TABLE_ROLE,
    [COMMAND_ATTRIB_CREATE] = TABLE_ATTRIB,
    [COMMAND_ATTRIB_DELETE] = TABLE_ATTRIB,
    [COMMAND_DEPLOYMENT_CREATE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_UPDATE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_DELETE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_COMMIT] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_PROPOSE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_RECALL] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_REVERT] = TABLE_DEPLOYMENT,
    [COMMAND_SNAPSHOT_UPDATE] = TABLE_SNAPSHOT,
    [COMMAND_DEPLOYMENT_ROLE_CREATE] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_DELETE] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_PROPOSE] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_COMMIT] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_DATA] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_NODE_CREATE] = TABLE_NODE,
    [COMMAND_NODE_UPDATE] = TABLE_NODE,
    [COMMAND_NODE_DELETE] = TABLE_NODE,
    [COMMAND_NODE_PROPOSE] = TABLE_NODE,
    [COMMAND_NODE_COMMIT] = TABLE_NODE,
    [COMMAND_NODE_REDEPLOY] = TABLE_NODE,
    [COMMAND_NODE_DEBUG] = TABLE_NODE,
    [COMMAND_NODE_UNDEBUG] = TABLE_NODE,
    [COMMAND_NODE_POWER] = TABLE_NODE,
    [COMMAND_NODEROLE_BIND] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_DELETE] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_PROPOSE] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_COMMIT] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_RETRY] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_DATA] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_COMPUTED] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_ENQUEUE] = TABLE_NODEROLE,
    [COMMAND_GROUP_CREATE] = TABLE_GROUP,
    [COMMAND_GROUP_UPDATE] = TABLE_GROUP,
    [COMMAND_GROUP_DELETE] = TABLE_GROUP,
    [COMMAND_GROUP_ADD] = TABLE_GROUP,
    [COMMAND_GROUP_REMOVE] = TABLE_GROUP,
    [COMMAND_HAMMER_CREATE] = TABLE_HAMMER,
    [COMMAND_HAMMER_UPDATE] = TABLE_HAMMER,
    [COMMAND_HAMMER_DELETE] = TABLE_HAMMER,
    [COMMAND_USER_CREATE] = TABLE_USER,
    [COMMAND_USER_UPDATE] = TABLE_USER,
    [COMMAND_USER_DELETE] = TABLE_USER,
    [COMMAND_TOKEN_CREATE] = TABLE_TOKEN,
    [COMMAND_TOKEN_DELETE] = TABLE_TOKEN,
    [COMMAND_RUN_RESUME] = TABLE_RUN,
    [COMMAND_RUN_CANCEL] = TABLE_RUN,
    [COMMAND_NODE_PIN_KEYS] = TABLE_NODE,
    [COMMAND_NODE_FORGET_KEY] = TABLE_NODE,
    [COMMAND_NODE_POWER_READ] = TABLE_NODE,
    [COMMAND_NETWORK_CREATE] = TABLE_NETWORK,
    [COMMAND_NETWORK_UPDATE] = TABLE_NETWORK,
    [COMMAND_NETWORK_DELETE] = TABLE_NETWORK,
    [COMMAND_NETWORK_RANGE_CREATE] = TABLE_NETWORK_RANGE,
    [COMMAND_NETWORK_RANGE_UPDATE] = TABLE_NETWORK_RANGE,
    [COMMAND_NETWORK_ROUTER_CREATE] = TABLE_NETWORK_ROUTER,
    [COMMAND_NETWORK_ROUTER_UPDATE] = TABLE_NETWORK_ROUTER,
    [COMMAND_NETWORK_ROUTER_DELETE] = TABLE_NETWORK_ROUTER,
    [COMMAND_NETWORK_ALLOCATE] = TABLE_NETWORK_ALLOCATION,
    [COMMAND_NETWORK_DEALLOCATE] = TABLE_NETWORK_ALLOCATION,
    [COMMAND_LEASE_TAKE] = TABLE_LEASE,
    [COMMAND_LEASE_RELEASE] = TABLE_LEASE,
    [COMMAND_LEASE_DECLINE] = TABLE_LEASE,
    [COMMAND_NIC_MOVE] = TABLE_NIC,
    [COMMAND_DNS_NAME_FILTER_CREATE] = TABLE_DNS_NAME_FILTER,
    [COMMAND_DNS_NAME_FILTER_UPDATE] = TABLE_DNS_NAME_FILTER,
    [COMMAND_DNS_NAME_FILTER_DELETE] = TABLE_DNS_NAME_FILTER,
};

/* Results of runs and outgoing requests, scheduler and timer commands, and batches. */
static bool command_has_no_subject(enum command_kind kind)
{
    return kind == COMMAND_RUN_BEGUN || kind == COMMAND_RUN_DONE || kind == COMMAND_RUN_STOPPED ||
           kind == COMMAND_OUTBOX_DONE || kind == COMMAND_ANNEAL || kind == COMMAND_TICK ||
           kind == COMMAND_BATCH;
}

/* The id is the field `id`, which is the first of a payload that has one. */
static int64_t command_subject_id(const struct command *command)
{
    switch ((int)command->kind) {
    case COMMAND_SETTINGS_UPDATE: return 1;
    case COMMAND_RUN_RESUME: return command->run_resume.run_id;
    case COMMAND_RUN_CANCEL: return command->run_cancel.run_id;
    default: break;
    }
    const struct layout *layout = command_layout(command->kind);
    int64_t id = 0;
    if (layout->count && str_eq(str_from(layout->fields[0].name), STR("id")))
        memcpy(&id, (const char *)command_payload_const(command) + layout->fields[0].offset,
               sizeof id);
    return id;
}

struct subject command_subject(const struct command *command)
{
    if (command_has_no_subject(command->kind))
        return (struct subject){TABLE_COUNT, 0};
    if (command->kind == COMMAND_ATTRIB_SET)
        return (struct subject){command->attrib_set.target < TABLE_COUNT
                                    ? (enum table)command->attrib_set.target
                                    : TABLE_COUNT,
                                command->attrib_set.id};
    return (struct subject){(enum table)subjects[command->kind], command_subject_id(command)};
}
