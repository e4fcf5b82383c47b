#include "cli/cmd/nouns_private.h"

#include "cli/cmd/cmd_auth.h"
#include "cli/cmd/cmd_log.h"
#include "cli/cmd/cmd_networks.h"
#include "cli/cmd/cmd_redeploy.h"

/* Constant tables: the nouns of the command line that are planned and run (nodes, deployments,
 * noderoles, runs) and roles and snapshots, with the verbs, states and table columns of each.
 * nouns_config.c has the other nouns and explains how to read an entry; nouns.c lists all of them.
 *
 * The order of verbs and columns is only the order of output. The last `rare_columns` columns of a
 * noun are omitted if they have only zeros. Nothing here runs or can fail; errors are printed by
 * the functions in .run_online, which return the exit status.
 *
 * A table of states has the number in the API, the name and the color of each. The numbers differ
 * between nouns. */

/* ---- nodes ---- */

static const struct cli_column node_columns[] = {
    {"id", NULL},          {"name", NULL},    {"deployment_id", "deployments"},
    {"state", NULL},       {"alive", NULL},   {"available", NULL},
    {"power_state", NULL}, {"bootenv", NULL}, {"created_at", NULL},
    {"status", NULL}};
/* Also of nodes: the state of a node is derived from its noderoles. */
static const struct cli_state noderole_states[] = {{-1, "error", RED},      {0, "active", GREEN},
                                                   {1, "todo", YELLOW},     {2, "transition", BLUE},
                                                   {3, "blocked", MAGENTA}, {4, "proposed", GREY}};
static const char nodes_help[] =
    "System nodes are listed with --all, or with a filter for `system`. A node must have one of\n"
    "the states given with --state. GROUP is a name or an id.\n";

static const struct cli_verb node_verbs[] = {
    {.name = "list",
     .operands = "",
     .summary = "List all objects, or those that match",
     .help = nodes_help,
     .run_online = cmd_objects_list,
     .options = LISTED | OPTION_WATCH | OPTION_NODES},
    SHOW,
    CREATE,
    UPDATE,
    DESTROY_ASKING,
    WAIT,
    {.name = "watch",
     .operands = "",
     .summary = "Print the list again after each change",
     .help = nodes_help,
     .run_online = watch_list,
     .options = LISTED | OPTION_NODES},
    {.name = "bind",
     .operands = "NODE ROLE... [FIELD=VALUE...]",
     .summary = "Bind roles to the node",
     .help = "",
     .run_online = cmd_deploy_bind,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    COMMIT,
    ACT("propose", "PUT", "propose", "Set the noderoles of the node back to proposed"),
    {.name = "retry",
     .operands = "NODE",
     .summary = "Retry the noderoles of the node that are in error",
     .help = "",
     .run_online = cmd_deploy_retry_all,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    WHY,
    {.name = "move",
     .operands = "NODE DEPLOYMENT",
     .summary = "Move the node to another deployment",
     .help = "",
     .run_online = cmd_deploy_move,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = 2},
    {.name = "addresses",
     .operands = "NODE",
     .summary = "List the addresses of the node by network",
     .help = "",
     .run_online = cmd_networks_addresses,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "boot",
     .operands = "NODE",
     .summary = "Show what the machine boots, and what keeps it from booting",
     .help =
         "Its entry in the boot view, the boot environment, the grant of its installation, and\n"
         "which noderoles have served it.\n",
     .run_online = cmd_objects_show_below,
     .options = OPTION_OUTPUT,
     .operands_min = 1,
     .operands_max = 1,
     .path = "boot"},
    {.name = "boots",
     .operands = "NODE",
     .summary = "List what boot servers answered the machine, oldest first",
     .help = "The last 64 events: addresses, boot files, scripts, installers.\n",
     .run_online = cmd_objects_boot_events,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "power",
     .operands = "NODE [ACTION]",
     .summary = "Execute a power action; without ACTION, list the available ones",
     .help = "status reads the power state and waits for the result. The other actions are only\n"
             "requested, unless --wait is given: then the result is shown, and the exit status is\n"
             "1 if the action failed.\n",
     .run_online = cmd_deploy_power,
     .options = OPTION_OUTPUT | OPTION_WAIT | OPTION_TIMEOUT,
     .operands_min = 1,
     .operands_max = 2},
    {.name = "redeploy",
     .operands = "NODE...",
     .summary = "Install the node again: reset, discovery and all bound roles",
     .help = "Roles that destroy data run again, so consent is asked for first.\n",
     .run_online = cmd_redeploy_confirm,
     .options = SHOWN | OPTION_YES,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY,
     .method = "PUT",
     .path = "redeploy"},
    ACT("debug", "PUT", "debug", "Restart into the discovery image and hold the node there"),
    ACT("undebug", "PUT", "undebug", "Restart from the local disk and release the node"),
    ACT("forget-key", "PUT", "forget_key",
        "Delete the pinned ssh host keys; the next connection pins new ones"),
    GET,
    SET_PROPOSING,
    {.name = "token",
     .operands = "NODE [FIELD=VALUE...]",
     .summary = "Create a token that is limited to this node",
     .help = "The secret is printed only once; with -q nothing else is printed.\n",
     .run_online = cmd_auth_create_node_token,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
};

/* ---- roles ---- */

static const struct cli_column role_columns[] = {{"id", NULL},       {"name", NULL},
                                                 {"jig_name", NULL}, {"barclamp_id", "barclamps"},
                                                 {"cohort", NULL},   {"description", NULL}};
static const struct cli_verb role_verbs[] = {LIST, SHOW, UPDATE, WAIT, WATCH, GET, SET};

/* ---- deployments ---- */

static const struct cli_state deployment_states[] = {
    {-1, "error", RED}, {0, "proposed", GREY}, {1, "committed", YELLOW}, {2, "active", GREEN}};
static const struct cli_column deployment_columns[] = {{"id", NULL},
                                                       {"name", NULL},
                                                       {"state", NULL},
                                                       {"parent_id", "deployments"},
                                                       {"description", NULL},
                                                       {"changed", NULL},
                                                       {"changed_destructive", NULL}};
static const struct cli_verb deployment_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    DESTROY_ASKING,
    WAIT,
    WATCH,
    {.name = "bind",
     .operands = "DEPLOYMENT ROLE... [FIELD=VALUE...]",
     .summary = "Add roles to the deployment",
     .help = "",
     .run_online = cmd_deploy_bind_role,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    {.name = "plan",
     .operands = "DEPLOYMENT",
     .summary = "Show what a commit would do, without changing anything",
     .help =
         "Totals by action, role and wave; --detail also lists each noderole. The last line is\n"
         "the hash for commit --plan; -q prints only the hash. -o json and yaml print the whole\n"
         "plan.\n",
     .run_online = cmd_explain_plan,
     .options = SHOWN | OPTION_DETAIL,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "commit",
     .operands = "NAME...",
     .summary = "Commit what is proposed and run it",
     .help = commit_help,
     .run_online = cmd_deploy_commit,
     .options = SHOWN | OPTION_PLAN | OPTION_WAIT | OPTION_TIMEOUT | OPTION_YES | OPTION_RERUN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
    {.name = "propose",
     .operands = "DEPLOYMENT [name=TEXT]",
     .summary = "Open the deployment for changes",
     .help = "name is the name of the new snapshot.\n",
     .run_online = cmd_deploy_propose,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
    ACT("recall", "PUT", "recall",
        "Set the deployment back to proposed; queued runs are cancelled"),
    {.name = "revert",
     .operands = "DEPLOYMENT SNAPSHOT",
     .summary = "Propose the content of an older snapshot",
     .help = "SNAPSHOT is an id or DEPLOYMENT/NUMBER.\n",
     .run_online = cmd_deploy_revert,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = 2},
    {.name = "diff",
     .operands = "DEPLOYMENT [SNAPSHOT [SNAPSHOT]]",
     .summary = "Show the differences between two snapshots",
     .help = "The default is the newest two. SNAPSHOT is an id or DEPLOYMENT/NUMBER.\n",
     .run_online = cmd_explain_deployment_diff,
     .options = OPTION_OUTPUT,
     .operands_min = 1,
     .operands_max = 3},
    {.name = "retry",
     .operands = "DEPLOYMENT",
     .summary = "Retry the noderoles of the deployment that are in error",
     .help = "",
     .run_online = cmd_deploy_retry_all,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    WHY,
    {.name = "graph",
     .operands = "DEPLOYMENT",
     .summary = "Show the dependency graph of the noderoles",
     .help = "",
     .run_online = cmd_objects_show_below,
     .options = OPTION_OUTPUT,
     .operands_min = 1,
     .operands_max = 1,
     .path = "graph"},
    GET,
    SET,
};

/* ---- deployment roles ---- */

static const struct cli_column deployment_role_columns[] = {
    {"id", NULL}, {"deployment_id", "deployments"}, {"role_id", "roles"}};
static const struct cli_verb deployment_role_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    DESTROY,
    WATCH,
    ACT("commit", "PUT", "commit", "Put its data into effect"),
    ACT("propose", "PUT", "propose", "Open its data for changes"),
    GET,
    SET,
};

/* ---- noderoles ---- */

static const struct cli_column noderole_columns[] = {
    {"id", NULL},         {"deployment_id", "deployments"},
    {"node_id", "nodes"}, {"role_id", "roles"},
    {"state", NULL},      {"run_count", NULL},
    {"status", NULL}};
static const struct cli_verb noderole_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    DESTROY,
    WAIT,
    WATCH,
    {.name = "bind",
     .operands = "NODE ROLE... [FIELD=VALUE...]",
     .summary = "Bind roles to a node",
     .help = "",
     .run_online = cmd_deploy_bind,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    COMMIT,
    ACT("propose", "PUT", "propose", "Set the noderole back to proposed"),
    ACT("retry", "PUT", "retry", "Run the noderole again"),
    WHY,
    {.name = "log",
     .operands = "NAME",
     .summary = "Print the log of its newest run",
     .help = "",
     .run_online = cmd_log_of_noderole,
     .options = OPTION_FOLLOW | OPTION_ATTEMPT,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "runs",
     .operands = "NAME",
     .summary = "List its ended runs, newest first",
     .help = "",
     .run_online = cmd_log_runs,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "boot-due",
     .operands = "NAME",
     .summary = "List the machines that it must still publish",
     .help = "For roles that serve boots. At most --limit machines (100), by node id; --after ID\n"
             "continues after that node.\n",
     .run_online = cmd_objects_boot_due,
     .options = SHOWN | OPTION_LIMIT | OPTION_AFTER,
     .operands_min = 1,
     .operands_max = 1},
    GET,
    SET_PROPOSING,
};

/* ---- runs, snapshots ---- */

static const struct cli_column run_columns[] = {
    {"id", NULL},    {"node_id", "nodes"}, {"role", NULL},      {"node_role_id", NULL},
    {"state", NULL}, {"attempt", NULL},    {"started_at", NULL}};
static const struct cli_verb run_verbs[] = {
    LIST,
    SHOW,
    WAIT,
    WATCH,
    {.name = "log",
     .operands = "RUN",
     .summary = "Print the log of the run",
     .help = "",
     .run_online = cmd_log_of_run,
     .options = OPTION_FOLLOW,
     .operands_min = 1,
     .operands_max = 1},
    ACT("cancel", "PUT", "cancel", "Cancel the run"),
};

static const struct cli_state snapshot_states[] = {{-1, "archived", GREY},
                                                   {0, "proposed", GREY},
                                                   {1, "committed", YELLOW},
                                                   {2, "active", GREEN},
                                                   {3, "error", RED}};
static const struct cli_column snapshot_columns[] = {
    {"id", NULL},   {"deployment_id", "deployments"},
    {"seq", NULL},  {"state", NULL},
    {"name", NULL}, {"created_at", NULL}};
static const struct cli_verb snapshot_verbs[] = {
    LIST,
    SHOW,
    UPDATE,
    WAIT,
    WATCH,
    {.name = "diff",
     .operands = "SNAPSHOT SNAPSHOT",
     .summary = "Show the differences between two snapshots",
     .help = "SNAPSHOT is an id or DEPLOYMENT/NUMBER.\n",
     .run_online = cmd_explain_diff,
     .options = OPTION_OUTPUT,
     .operands_min = 2,
     .operands_max = 2},
};

/* ---- the nouns ---- */

const struct cli_noun nodes_noun = {
    .name = "nodes",
    .singular = "node",
    .summary = "machines",
    .collection = "nodes",
    .key = "name",
    VERBS(node_verbs),
    COLUMNS(node_columns),
    .age_field = "created_at",
    .hides_system = true,
    STATES(noderole_states),
};

const struct cli_noun roles_noun = {
    .name = "roles",
    .singular = "role",
    .summary = "configurations that can be applied to nodes",
    .collection = "roles",
    .key = "name",
    VERBS(role_verbs),
    COLUMNS(role_columns),
};

const struct cli_noun deployments_noun = {
    .name = "deployments",
    .singular = "deployment",
    .summary = "nodes and roles that are planned and committed together",
    .collection = "deployments",
    .key = "name",
    VERBS(deployment_verbs),
    COLUMNS(deployment_columns),
    .rare_columns = 2,
    STATES(deployment_states),
};

const struct cli_noun deployment_roles_noun = {
    .name = "deployment-roles",
    .singular = "deployment-role",
    .summary = "roles of a deployment with their data",
    .collection = "deployment_roles",
    .key = "id",
    VERBS(deployment_role_verbs),
    COLUMNS(deployment_role_columns),
    .find_pair = cmd_explain_find_deployment_role,
};

const struct cli_noun noderoles_noun = {
    .name = "noderoles",
    .singular = "noderole",
    .summary = "roles bound to nodes: the units that are run",
    .collection = "node_roles",
    .key = "id",
    VERBS(noderole_verbs),
    COLUMNS(noderole_columns),
    STATES(noderole_states),
    .find_pair = cmd_explain_find_noderole,
};

const struct cli_noun runs_noun = {
    .name = "runs",
    .singular = "run",
    .summary = "open runs of noderoles",
    .collection = "runs",
    .key = "id",
    VERBS(run_verbs),
    COLUMNS(run_columns),
};

const struct cli_noun snapshots_noun = {
    .name = "snapshots",
    .singular = "snapshot",
    .summary = "states of a deployment, one for each commit",
    .collection = "snapshots",
    .key = "id",
    VERBS(snapshot_verbs),
    COLUMNS(snapshot_columns),
    STATES(snapshot_states),
    .find_pair = cmd_explain_find_snapshot,
};
