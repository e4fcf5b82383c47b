#include "api/resource.h"

#include "api/params.h"

bool resource_find(struct call *call, const struct resource *resource, struct str key,
                   struct record *out_record)
{
    const struct shape *shape = resource->shape;
    int64_t id = 0;
    if (str_is_digits(key))
        id = str_parse_i64(key, &id) ? id : 0;
    else
        id = core_find(call->core, shape->table, key);
    if (id && core_record(call->core, shape->table, id, out_record))
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                SAY(call, STR("there is no "), str_from(shape->type),
                    str_is_digits(key) ? STR(" with id ") : STR(" called "), key));
    return false;
}

/* ---- nodes ---- */

static const struct param_ref node_deployment = {"deployment", "deployment_id", TABLE_DEPLOYMENT,
                                                 false};
static const struct param_ref node_target = {"target_role", "target_role_id", TABLE_ROLE, true};

static void node_create(struct call *call, struct command *out)
{
    struct node_create_command *p = &out->node_create;
    out->kind = COMMAND_NODE_CREATE;
    if (param_required(call, "name"))
        param_text(call, "name", &p->name);
    param_text(call, "description", &p->description);
    param_bool(call, "admin", &p->admin);
    param_bool(call, "system", &p->system);
    param_bool(call, "allocated", &p->allocated);
    param_bool(call, "alive", &p->alive);
    param_bool(call, "available", &p->available);
    param_text(call, "bootenv", &p->bootenv);
    param_ref_unless_null(call, &node_deployment, &p->deployment_id);
    param_doc(call, "hint", &p->hint);
    param_doc(call, "discovery", &p->discovery);
}

static void node_update(struct call *call, int64_t id, struct command *out)
{
    static const struct param_ref old = {"old_deployment", "old_deployment_id", TABLE_DEPLOYMENT,
                                         false};
    struct node_update_command *p = &out->node_update;
    out->kind = COMMAND_NODE_UPDATE;
    p->id = id;
    p->given = (param_text(call, "name", &p->name) ? GIVEN_NAME : 0u) |
               (param_text(call, "description", &p->description) ? GIVEN_DESCRIPTION : 0u) |
               (param_ref(call, &node_deployment, &p->deployment_id) ? GIVEN_NODE_DEPLOYMENT : 0u) |
               (param_ref(call, &old, &p->old_deployment_id) ? GIVEN_NODE_OLD_DEPLOYMENT : 0u) |
               (param_ref(call, &node_target, &p->target_role_id) ? GIVEN_NODE_TARGET : 0u) |
               (param_bool(call, "allocated", &p->allocated) ? GIVEN_NODE_ALLOCATED : 0u) |
               (param_bool(call, "alive", &p->alive) ? GIVEN_NODE_ALIVE : 0u) |
               (param_bool(call, "available", &p->available) ? GIVEN_NODE_AVAILABLE : 0u) |
               (param_text(call, "bootenv", &p->bootenv) ? GIVEN_NODE_BOOTENV : 0u);
}

static const char *const node_editable[] = {"name",           "description", "deployment_id",
                                            "target_role_id", "allocated",   "alive",
                                            "available",      "bootenv",     NULL};

const struct resource resource_nodes = {
    .shape = &shape_node,
    .order = ORDER_BY_ID,
    .create = node_create,
    .update = node_update,
    .editable = node_editable,
};

/* ---- deployments ---- */

/* These stand for something else where the name of a deployment would stand. */
static void refuse_reserved(struct call *call, struct str name)
{
    if (str_eq(name, STR("sample")) || str_eq(name, STR("match")))
        call_refuse(call, PROBLEM_NAME_INVALID, STR("name"),
                    SAY(call, STR("name: "), name, STR(" is a reserved word")));
}

static void deployment_create(struct call *call, struct command *out)
{
    static const struct param_ref parent = {"parent", "parent_id", TABLE_DEPLOYMENT, false};
    struct deployment_create_command *p = &out->deployment_create;
    out->kind = COMMAND_DEPLOYMENT_CREATE;
    if (param_required(call, "name"))
        param_text(call, "name", &p->name);
    refuse_reserved(call, p->name);
    param_text(call, "description", &p->description);
    param_ref_unless_null(call, &parent, &p->parent_id);
}

static void deployment_update(struct call *call, int64_t id, struct command *out)
{
    struct deployment_update_command *p = &out->deployment_update;
    out->kind = COMMAND_DEPLOYMENT_UPDATE;
    p->id = id;
    p->given = (param_text(call, "name", &p->name) ? GIVEN_NAME : 0u) |
               (param_text(call, "description", &p->description) ? GIVEN_DESCRIPTION : 0u);
    refuse_reserved(call, p->name);
}

static const char *const deployment_editable[] = {"name", "description", NULL};

const struct resource resource_deployments = {
    .shape = &shape_deployment,
    .order = ORDER_NEWEST_FIRST,
    .create = deployment_create,
    .update = deployment_update,
    .editable = deployment_editable,
};

/* ---- roles ---- */

static void role_update(struct call *call, int64_t id, struct command *out)
{
    struct role_update_command *p = &out->role_update;
    out->kind = COMMAND_ROLE_UPDATE;
    p->id = id;
    p->given = (param_text(call, "description", &p->description) ? GIVEN_ROLE_DESCRIPTION : 0u) |
               (param_doc(call, "template", &p->template) ? GIVEN_ROLE_TEMPLATE : 0u);
}

static struct str role_template(const struct record *record)
{
    return record->role.template;
}

static const char *const role_editable[] = {"description", "template", NULL};

const struct resource resource_roles = {
    .shape = &shape_role,
    .order = ORDER_BY_ID,
    .update = role_update,
    .editable = role_editable,
    .hidden_key = "template",
    .hidden_doc = role_template,
};

/* ---- noderoles ---- */

static void noderole_create(struct call *call, struct command *out)
{
    static const struct param_ref node = {"node", "node_id", TABLE_NODE, false};
    static const struct param_ref role = {"role", "role_id", TABLE_ROLE, false};
    struct noderole_bind_command *p = &out->noderole_bind;
    out->kind = COMMAND_NODEROLE_BIND;
    param_ref_required(call, &node, &p->node_id);
    param_ref_required(call, &role, &p->role_id);
    param_ref_unless_null(call, &node_deployment, &p->deployment_id);
    param_doc(call, "data", &p->data);
}

static void noderole_update(struct call *call, int64_t id, struct command *out)
{
    out->kind = COMMAND_NODEROLE_DATA;
    out->noderole_data.id = id;
    if (param_required(call, "data"))
        param_doc(call, "data", &out->noderole_data.data);
}

static struct str noderole_data(const struct record *record)
{
    return record->noderole.proposed_data;
}

static const char *const noderole_editable[] = {"data", NULL};

const struct resource resource_noderoles = {
    .shape = &shape_noderole,
    .order = ORDER_BY_COHORT,
    .create = noderole_create,
    .update = noderole_update,
    .editable = noderole_editable,
    .hidden_key = "data",
    .hidden_doc = noderole_data,
};

/* ---- jigs ---- */

static void jig_update(struct call *call, int64_t id, struct command *out)
{
    struct jig_update_command *p = &out->jig_update;
    out->kind = COMMAND_JIG_UPDATE;
    p->id = id;
    p->given = (param_text(call, "description", &p->description) ? GIVEN_JIG_DESCRIPTION : 0u) |
               (param_bool(call, "active", &p->active) ? GIVEN_JIG_ACTIVE : 0u) |
               (param_text(call, "server", &p->server) ? GIVEN_JIG_SERVER : 0u) |
               (param_text(call, "client_name", &p->client_name) ? GIVEN_JIG_CLIENT_NAME : 0u) |
               (param_text(call, "key", &p->key) ? GIVEN_JIG_KEY : 0u);
}

static const char *const jig_editable[] = {"description", "active", "server",
                                           "client_name", "key",    NULL};

const struct resource resource_jigs = {
    .shape = &shape_jig,
    .order = ORDER_BY_ID,
    .update = jig_update,
    .editable = jig_editable,
};

const struct resource resource_tokens = {.shape = &shape_token, .order = ORDER_BY_ID};
