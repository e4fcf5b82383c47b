#include "cli/cmd/nouns_private.h"

#include "cli/cmd/cmd_auth.h"
#include "cli/cmd/cmd_log.h"
#include "cli/cmd/cmd_redeploy.h"

/* ---- nodes ---- */

static const struct cli_column node_columns[] = {
    {"id", NULL},          {"name", NULL},    {"deployment_id", "deployments"},
    {"state", NULL},       {"alive", NULL},   {"available", NULL},
    {"power_state", NULL}, {"bootenv", NULL}, {"created_at", NULL},
    {"status", NULL}};
/* The state of a node is that of its noderoles together. */
static const struct cli_state noderole_states[] = {{-1, "error", RED},      {0, "active", GREEN},
                                                   {1, "todo", YELLOW},     {2, "transition", BLUE},
                                                   {3, "blocked", MAGENTA}, {4, "proposed", GREY}};
static const char nodes_help[] =
    "Nodes of the system itself are shown with --all, or where a filter names `system`. --state\n"
    "and --group choose; of several states one is enough. A group is a name or an id.\n";

static const struct cli_verb node_verbs[] = {
    {.name = "list",
     .takes = "",
     .does = "Show all of them, or those that are wanted",
     .help = nodes_help,
     .ask = cmd_objects_list,
     .options = LISTED | OPTION_WATCH | OPTION_NODES},
    SHOW,
    CREATE,
    UPDATE,
    DESTROY_ASKING,
    WAIT,
    {.name = "watch",
     .takes = "",
     .does = "Show the list again whenever something changes",
     .help = nodes_help,
     .ask = watch_list,
     .options = LISTED | OPTION_NODES},
    {.name = "bind",
     .takes = "NODE ROLE... [FIELD=VALUE...]",
     .does = "Bind roles to it",
     .help = "",
     .ask = cmd_deploy_bind,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    COMMIT,
    ACT("propose", "PUT", "propose", "Take its noderoles back into the planning"),
    {.name = "retry",
     .takes = "NODE",
     .does = "Retry what is in error on it",
     .help = "",
     .ask = cmd_deploy_retry_all,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    WHY,
    {.name = "move",
     .takes = "NODE DEPLOYMENT",
     .does = "Put it into another deployment",
     .help = "",
     .ask = cmd_deploy_move,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = 2},
    {.name = "power",
     .takes = "NODE [ACTION]",
     .does = "Switch it or read its power; without an action, say which there are",
     .help = "status reads the power state and waits for the answer; the other actions are only\n"
             "ordered, unless --wait is given: then the answer of the machine is shown, and the\n"
             "exit status is 1 when it failed.\n",
     .ask = cmd_deploy_power,
     .options = OPTION_OUTPUT | OPTION_WAIT | OPTION_TIMEOUT,
     .operands_min = 1,
     .operands_max = 2},
    {.name = "redeploy",
     .takes = "NODE...",
     .does = "Begin anew with it: reset, discovery, and everything that is bound",
     .help = "Roles that destroy data run again, so it is asked first whether that is meant.\n",
     .ask = cmd_redeploy_confirm,
     .options = SHOWN | OPTION_YES,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY,
     .method = "PUT",
     .path = "redeploy"},
    ACT("debug", "PUT", "debug", "Hold it where one can look at it"),
    ACT("undebug", "PUT", "undebug", "Let it go on"),
    ACT("forget-key", "PUT", "forget_key",
        "Forget its ssh host keys; the next contact pins them anew"),
    GET,
    SET_PROPOSING,
    {.name = "token",
     .takes = "NODE [FIELD=VALUE...]",
     .does = "Make a token that can touch this node alone",
     .help = "The secret is shown this once; with -q it is all that is shown.\n",
     .ask = cmd_auth_create_node_token,
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
     .takes = "DEPLOYMENT ROLE... [FIELD=VALUE...]",
     .does = "Add roles to it",
     .help = "",
     .ask = cmd_deploy_bind_role,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    {.name = "plan",
     .takes = "DEPLOYMENT",
     .does = "Say what a commit would do; changes nothing",
     .help =
         "Totals by action, role and wave; --detail lists each noderole as well. The last line is\n"
         "the hash for commit --plan; -q shows it alone. -o json and yaml show all of it.\n",
     .ask = cmd_explain_plan,
     .options = SHOWN | OPTION_DETAIL,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "commit",
     .takes = "NAME...",
     .does = "Let what is proposed become work",
     .help = commit_help,
     .ask = cmd_deploy_commit,
     .options = SHOWN | OPTION_PLAN | OPTION_WAIT | OPTION_TIMEOUT | OPTION_YES | OPTION_RERUN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
    {.name = "propose",
     .takes = "DEPLOYMENT [name=TEXT]",
     .does = "Open it for changes",
     .help = "The name is that of the snapshot that begins.\n",
     .ask = cmd_deploy_propose,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
    ACT("recall", "PUT", "recall", "Take a commit back as far as nothing has begun"),
    {.name = "revert",
     .takes = "DEPLOYMENT SNAPSHOT",
     .does = "Propose what a snapshot was",
     .help = "A snapshot is an id, or DEPLOYMENT/NUMBER.\n",
     .ask = cmd_deploy_revert,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = 2},
    {.name = "diff",
     .takes = "DEPLOYMENT [SNAPSHOT [SNAPSHOT]]",
     .does = "Say what changed between two snapshots",
     .help = "Without any: between the newest two. A snapshot is an id, or DEPLOYMENT/NUMBER.\n",
     .ask = cmd_explain_deployment_diff,
     .options = OPTION_OUTPUT,
     .operands_min = 1,
     .operands_max = 3},
    {.name = "retry",
     .takes = "DEPLOYMENT",
     .does = "Retry what is in error in it",
     .help = "",
     .ask = cmd_deploy_retry_all,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    WHY,
    {.name = "graph",
     .takes = "DEPLOYMENT",
     .does = "Show who depends on whom",
     .help = "",
     .ask = cmd_objects_look,
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
    ACT("commit", "PUT", "commit", "Let its data count"),
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
     .takes = "NODE ROLE... [FIELD=VALUE...]",
     .does = "Bind roles to a node",
     .help = "",
     .ask = cmd_deploy_bind,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    COMMIT,
    ACT("propose", "PUT", "propose", "Take it back into the planning"),
    ACT("retry", "PUT", "retry", "Run it again after an error"),
    WHY,
    {.name = "log",
     .takes = "NAME",
     .does = "Show what its newest run says",
     .help = "",
     .ask = cmd_log_of_noderole,
     .options = OPTION_FOLLOW | OPTION_ATTEMPT,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "runs",
     .takes = "NAME",
     .does = "Show its runs that are over, newest first",
     .help = "",
     .ask = cmd_log_runs,
     .options = SHOWN,
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
     .takes = "RUN",
     .does = "Show what it says",
     .help = "",
     .ask = cmd_log_of_run,
     .options = OPTION_FOLLOW,
     .operands_min = 1,
     .operands_max = 1},
    ACT("cancel", "PUT", "cancel", "Stop it"),
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
     .takes = "SNAPSHOT SNAPSHOT",
     .does = "Say what changed from one to the other",
     .help = "A snapshot is an id, or DEPLOYMENT/NUMBER.\n",
     .ask = cmd_explain_diff,
     .options = OPTION_OUTPUT,
     .operands_min = 2,
     .operands_max = 2},
};

/* ---- the nouns ---- */

const struct cli_noun nodes_noun = {
    .name = "nodes",
    .singular = "node",
    .is = "machines",
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
    .is = "what can be done to a node",
    .collection = "roles",
    .key = "name",
    VERBS(role_verbs),
    COLUMNS(role_columns),
};

const struct cli_noun deployments_noun = {
    .name = "deployments",
    .singular = "deployment",
    .is = "nodes and roles that are planned and committed together",
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
    .is = "roles of a deployment, and their data there",
    .collection = "deployment_roles",
    .key = "id",
    VERBS(deployment_role_verbs),
    COLUMNS(deployment_role_columns),
    .find_pair = cmd_explain_find_deployment_role,
};

const struct cli_noun noderoles_noun = {
    .name = "noderoles",
    .singular = "noderole",
    .is = "roles bound to nodes: the work",
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
    .is = "work that is going on",
    .collection = "runs",
    .key = "id",
    VERBS(run_verbs),
    COLUMNS(run_columns),
};

const struct cli_noun snapshots_noun = {
    .name = "snapshots",
    .singular = "snapshot",
    .is = "what a deployment was, commit by commit",
    .collection = "snapshots",
    .key = "id",
    VERBS(snapshot_verbs),
    COLUMNS(snapshot_columns),
    STATES(snapshot_states),
    .find_pair = cmd_explain_find_snapshot,
};
