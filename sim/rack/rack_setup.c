#include "sim/rack/rack_private.h"

#include "base/err.h"

/* The setup of a rack: the barclamps are imported, the automatic node of the daemon is replaced by
 * the admin node of the operators, and the deployments are created. A rack may get a second admin
 * node with a second database of each kind. A refused command is a failure of the rack. */

enum { SET_UP_H = 2 }; /* hours until the noderoles of an admin node must be ACTIVE */

static bool setup_import_all(struct rack *r)
{
    for (; r->imported < r->document_count; r->imported++) {
        struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
        command.import.barclamp = r->documents[r->imported];
        const struct rack_reply reply = rack_send(r, &command);
        if (!reply.is_done) {
            rack_fail(r, "the import of barclamp %u was refused: %s", r->imported, reply.problem);
            return false;
        }
    }
    return true;
}

static bool setup_node_is_active(struct rack *r, int64_t machine)
{
    uint32_t count;
    const struct core *core = rack_core(r);
    const int64_t *ids =
        core_noderoles_of(core, rack_node_id(r, (uint32_t)machine), &r->scratch, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record record;
        if (!core_record(core, TABLE_NODEROLE, ids[i], &record) ||
            record.noderole.state != NODEROLE_ACTIVE)
            return false;
    }
    return count > 0 && core_count(core, TABLE_OUTBOX) == 0 && core_count(core, TABLE_RUN) == 0;
}

/* As the first start of a daemon does (ADR 0070); the admin node of the operator replaces it. It
 * is created not alive: otherwise the core would probe it, and the node is deleted before the
 * probe has a result. */
static bool setup_create_automatic(struct rack *r)
{
    struct command make = {.kind = COMMAND_NODE_CREATE};
    make.node_create.name = STR(RACK_ADMIN_NAME);
    make.node_create.bootenv = STR("local");
    make.node_create.automatic = true;
    const struct rack_reply reply = rack_send(r, &make);
    if (!reply.is_done)
        rack_fail(r, "the automatic node was refused: %s", reply.problem);
    return reply.is_done;
}

/* Boot servers answer in networks of category admin. The hints of nodes become allocations. */
static bool setup_create_network(struct rack *r)
{
    struct command make = {.kind = COMMAND_NETWORK_CREATE};
    make.network_create.name = STR("admin");
    make.network_create.conduit = STR("1g0");
    make.network_create.category = STR("admin");
    make.network_create.given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY;
    make.network_create.ranges =
        STR("[{\"name\":\"admin\",\"first\":\"192.168.124.10/24\",\"last\":\"192.168.124.19/24\"},"
            "{\"name\":\"host\",\"first\":\"192.168.124.81/24\",\"last\":\"192.168.124.99/24\"},"
            "{\"name\":\"dhcp\",\"first\":\"192.168.124.100/24\","
            "\"last\":\"192.168.124.119/24\"}]");
    const struct rack_reply reply = rack_send(r, &make);
    if (!reply.is_done)
        rack_fail(r, "the network was refused: %s", reply.problem);
    return reply.is_done;
}

static bool setup_create_admin(struct rack *r, uint32_t admin)
{
    struct command make = {.kind = COMMAND_NODE_CREATE};
    make.node_create.name = str_from(admin == RACK_ADMIN ? RACK_ADMIN_NAME : RACK_SECOND_NAME);
    make.node_create.admin = true;
    make.node_create.bootenv = STR("local");
    make.node_create.hint = admin == RACK_ADMIN ? STR("{\"admin-v4addr\":\"192.168.124.10/24\"}")
                                                : STR("{\"admin-v4addr\":\"192.168.124.11/24\"}");
    struct rack_reply reply = rack_send(r, &make);
    const int64_t id = reply.id;
    if (reply.is_done)
        reply = rack_node_verb(r, admin, COMMAND_NODE_COMMIT);
    struct command alive = {.kind = COMMAND_NODE_UPDATE};
    alive.node_update.id = id;
    alive.node_update.given = GIVEN_NODE_ALIVE;
    alive.node_update.alive = true;
    if (reply.is_done)
        reply = rack_send(r, &alive);
    if (!reply.is_done)
        rack_fail(r, "the admin node was refused: %s", reply.problem);
    return reply.is_done;
}

bool rack_add_databases(struct rack *r)
{
    if (!setup_create_admin(r, RACK_SECOND_ADMIN))
        return false;
    r->scenario.two_databases = true;
    rack_server_install(r, 1);
    for (uint32_t i = 0; i < RACK_SERVICE_COUNT; i++) {
        const char *role = rack_service_role((enum rack_service)i);
        const struct rack_reply reply = rack_bind(r, RACK_SECOND_ADMIN, role, "system");
        if (!reply.is_done)
            rack_fail(r, "binding a second database was refused: %s", reply.problem);
    }
    const struct rack_reply reply = rack_node_verb(r, RACK_SECOND_ADMIN, COMMAND_NODE_COMMIT);
    if (!reply.is_done)
        rack_fail(r, "the commit of the second databases was refused: %s", reply.problem);
    return rack_until(r, setup_node_is_active, RACK_SECOND_ADMIN, SET_UP_H * RACK_HOUR);
}

bool rack_set_up(struct rack *r)
{
    if (!setup_import_all(r) || !setup_create_automatic(r) || !setup_create_admin(r, RACK_ADMIN) ||
        !setup_create_network(r))
        return false;
    rack_server_install(r, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct command command = {.kind = COMMAND_DEPLOYMENT_CREATE};
        command.deployment_create.name = str_from(rack_deployment_name(i));
        const struct rack_reply reply = rack_send(r, &command);
        if (!reply.is_done)
            rack_fail(r, "the creation of a deployment was refused: %s", reply.problem);
    }
    if (rack_until(r, setup_node_is_active, RACK_ADMIN, SET_UP_H * RACK_HOUR) &&
        (!r->scenario.two_databases || rack_add_databases(r)))
        return true;
    uint32_t count;
    const int64_t *ids =
        core_noderoles_of(rack_core(r), rack_node_id(r, RACK_MACHINES_MAX), &r->scratch, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct cause *cause = core_why(rack_core(r), TABLE_NODEROLE, ids[i], &r->scratch);
        if (cause && cause->code != CAUSE_NONE)
            rack_fail(r, "a noderole of the admin node is not ACTIVE after the setup: %.*s",
                      STR_FMT_ARGS(cause->text));
    }
    rack_fail(r, "the setup of the admin node does not end within %d h", SET_UP_H);
    return false;
}
