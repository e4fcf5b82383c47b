#include "cli/cmd/nouns_private.h"

#include "cli/cmd/cmd_auth.h"
#include "cli/cmd/cmd_groups.h"
#include "cli/cmd/cmd_upload.h"

/* Constant tables: the nouns of the command line for content of barclamps, hammers, groups,
 * accounts and events, with the verbs and the table columns of each. nouns_deploy.c has the nouns
 * that are planned and run, nouns_network.c those of networks; nouns.c lists all of them.
 *
 * The order of entries is only the order of output: verbs in the help, columns from left to right.
 * Nothing here runs or can fail; errors are printed by the functions in .run_online, which return
 * the exit status.
 *
 * How to read an entry: LIST, SHOW, CREATE and the other words in capitals are verbs that many
 * nouns share (nouns_private.h); ACT() is a verb that sends one request with the given method to
 * the given path below the object. SHOWN and LISTED are the options of verbs that print objects and
 * of verbs that print lists. The second member of a column is the collection that the field is an
 * id of: the table shows the name instead; NULL: the value is shown as it is. `collection` is the
 * path of the noun in the API, and `key` the field that -q prints. */

/* ---- content of barclamps (packages of roles, attribs and jigs) ---- */

static const struct cli_column attrib_columns[] = {
    {"id", NULL},  {"name", NULL},     {"barclamp_id", "barclamps"}, {"role_id", "roles"},
    {"map", NULL}, {"writable", NULL}, {"description", NULL}};
static const struct cli_verb attrib_verbs[] = {LIST, SHOW, CREATE, DESTROY, WATCH};

static const struct cli_column barclamp_columns[] = {
    {"id", NULL}, {"name", NULL}, {"full_version", NULL}, {"description", NULL}};
static const struct cli_verb barclamp_verbs[] = {
    LIST,
    SHOW,
    WATCH,
    {.name = "upload",
     .operands = "FILE...",
     .summary = "Import a barclamp into the daemon, or a newer version of it",
     .help = "FILE is YAML or JSON; - is stdin. `halligan barclamp check` checks it beforehand.\n",
     .run_online = cmd_upload_barclamps,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
};

static const struct cli_column jig_columns[] = {{"id", NULL},
                                                {"name", NULL},
                                                {"active", NULL},
                                                {"inactive_reason", NULL},
                                                {"description", NULL}};
static const struct cli_verb jig_verbs[] = {LIST, SHOW, UPDATE, WAIT, WATCH};

/* ---- hammers (power and ssh drivers of nodes) ---- */

static const struct cli_column hammer_columns[] = {{"id", NULL},       {"node_id", "nodes"},
                                                   {"name", NULL},     {"priority", NULL},
                                                   {"endpoint", NULL}, {"username", NULL}};
static const struct cli_verb hammer_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    DESTROY,
    WATCH,
    {.name = "perform",
     .operands = "HAMMER METHOD [ARG...]",
     .summary = "Execute an action of the hammer on its node",
     .help = "",
     .run_online = cmd_deploy_perform,
     .options = OPTION_OUTPUT,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
};
static const struct cli_column hammer_kind_columns[] = {
    {"id", NULL}, {"name", NULL}, {"klass", NULL}, {"priority", NULL}};
static const struct cli_verb hammer_kind_verbs[] = {LIST, SHOW};

/* ---- boot environments ---- */

static const struct cli_column bootenv_columns[] = {{"id", NULL},     {"name", NULL},
                                                    {"method", NULL}, {"available", NULL},
                                                    {"kernel", NULL}, {"barclamp_id", "barclamps"}};
static const struct cli_verb bootenv_verbs[] = {LIST, SHOW};

/* ---- groups ---- */

static const struct cli_column group_columns[] = {
    {"id", NULL}, {"name", NULL}, {"category", NULL}, {"order", NULL}, {"description", NULL}};
static const struct cli_verb group_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    DESTROY,
    WATCH,
    {.name = "nodes",
     .operands = "GROUP",
     .summary = "List the nodes of the group",
     .help = "",
     .run_online = cmd_groups_nodes,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "add",
     .operands = "GROUP NODE...",
     .summary = "Add nodes to the group",
     .help = "",
     .run_online = cmd_groups_add,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    {.name = "remove",
     .operands = "GROUP NODE...",
     .summary = "Remove nodes from the group",
     .help = "",
     .run_online = cmd_groups_remove,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
};

/* ---- users and tokens ---- */

static const struct cli_column user_columns[] = {{"id", NULL},        {"username", NULL},
                                                 {"is_admin", NULL},  {"access", NULL},
                                                 {"is_locked", NULL}, {"email", NULL}};
static const struct cli_verb user_verbs[] = {
    LIST,
    SHOW,
    {.name = "create",
     .operands = "username=NAME [FIELD=VALUE...] | -",
     .summary = "Create one or more",
     .help = "The password is asked for on the terminal.\n",
     .run_online = cmd_auth_create_user,
     .options = SHOWN | OPTION_FILE,
     .operands_max = OPERANDS_ANY},
    UPDATE,
    DESTROY,
    WATCH,
    {.name = "password",
     .operands = "USER [-]",
     .summary = "Set a new password",
     .help = "The password is asked for on the terminal; with - it is the first line of stdin.\n",
     .run_online = cmd_auth_set_password,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 2},
    ACT("lock", "POST", "lock", "Refuse logins of the user"),
    ACT("unlock", "DELETE", "lock", "Allow logins of the user again"),
    ACT("promote", "POST", "admin", "Make the user an administrator"),
    ACT("demote", "DELETE", "admin", "Remove the administrator rights of the user"),
};

static const struct cli_column token_columns[] = {{"id", NULL},
                                                  {"name", NULL},
                                                  {"user_id", "users"},
                                                  {"access", NULL},
                                                  {"deployment_id", "deployments"},
                                                  {"expires_at", NULL},
                                                  {"created_at", NULL}};
static const struct cli_verb token_verbs[] = {
    LIST,
    {.name = "create",
     .operands = "name=TEXT [FIELD=VALUE...]",
     .summary = "Create a token",
     .help = "The secret is printed only once; with -q nothing else is printed.\n",
     .run_online = cmd_auth_create_token,
     .options = SHOWN | OPTION_FILE,
     .operands_max = OPERANDS_ANY},
    DESTROY,
};

/* ---- events and audit log ---- */

static const struct cli_column event_columns[] = {
    {"id", NULL},   {"at", NULL},     {"actor", NULL},     {"address", NULL},
    {"verb", NULL}, {"object", NULL}, {"object_id", NULL}, {"changes", NULL}};
static const char events_help[] =
    "The newest events are first (--sort id: the oldest). 100 are listed, or --limit (at most\n"
    "1000). --after ID lists newer events than ID, and older ones with --sort -id. Filters are\n"
    "actor=, address=, verb=, object=, object_id= and since=.\n";
static const struct cli_verb event_verbs[] = {
    {.name = "list",
     .operands = "",
     .summary = "List events",
     .help = events_help,
     .run_online = cmd_objects_list,
     .options = LISTED},
    {.name = "watch",
     .operands = "",
     .summary = "Print events as they occur, until interrupted",
     .help = "",
     .run_online = watch_events,
     .options = SHOWN},
};
static const struct cli_verb audit_verbs[] = {
    {.name = "list",
     .operands = "",
     .summary = "List events with user and address; for administrators",
     .help = events_help,
     .run_online = cmd_objects_list,
     .options = LISTED},
};

/* ---- noun definitions ---- */

const struct cli_noun attribs_noun = {
    .name = "attribs",
    .singular = "attrib",
    .summary = "named values that roles read and write",
    .collection = "attribs",
    .key = "name",
    VERBS(attrib_verbs),
    COLUMNS(attrib_columns),
};

/* It has no singular: `barclamp` is the noun for local directories (barclamp_exec.c). */
const struct cli_noun barclamps_noun = {
    .name = "barclamps",
    .summary = "packages of content in the daemon (barclamp: local directories)",
    .collection = "barclamps",
    .key = "name",
    VERBS(barclamp_verbs),
    COLUMNS(barclamp_columns),
};

const struct cli_noun jigs_noun = {
    .name = "jigs",
    .singular = "jig",
    .summary = "ways to execute roles",
    .collection = "jigs",
    .key = "name",
    VERBS(jig_verbs),
    COLUMNS(jig_columns),
};

const struct cli_noun hammers_noun = {
    .name = "hammers",
    .singular = "hammer",
    .summary = "endpoints to control the power of nodes and to reach them",
    .collection = "hammers",
    .key = "id",
    VERBS(hammer_verbs),
    COLUMNS(hammer_columns),
};

const struct cli_noun available_hammers_noun = {
    .name = "available-hammers",
    .singular = "available-hammer",
    .summary = "kinds of hammers (drivers)",
    .collection = "available_hammers",
    .key = "name",
    VERBS(hammer_kind_verbs),
    COLUMNS(hammer_kind_columns),
};

const struct cli_noun bootenvs_noun = {
    .name = "bootenvs",
    .singular = "bootenv",
    .summary = "systems that machines boot over the network",
    .collection = "bootenvs",
    .key = "name",
    VERBS(bootenv_verbs),
    COLUMNS(bootenv_columns),
};

const struct cli_noun groups_noun = {
    .name = "groups",
    .singular = "group",
    .summary = "sets of nodes",
    .collection = "groups",
    .key = "id",
    VERBS(group_verbs),
    COLUMNS(group_columns),
};

const struct cli_noun users_noun = {
    .name = "users",
    .singular = "user",
    .summary = "accounts and their rights",
    .collection = "users",
    .key = "username",
    VERBS(user_verbs),
    COLUMNS(user_columns),
};

const struct cli_noun tokens_noun = {
    .name = "tokens",
    .singular = "token",
    .summary = "credentials for programs",
    .collection = "tokens",
    .key = "id",
    VERBS(token_verbs),
    COLUMNS(token_columns),
};

/* The server lists the newest 100 events unless the request has a limit; events_help states this
 * number. The same applies to audit_noun. */
const struct cli_noun events_noun = {
    .name = "events",
    .singular = "event",
    .summary = "changes and actions of the engine",
    .collection = "events",
    .key = "id",
    VERBS(event_verbs),
    COLUMNS(event_columns),
    .sort = "-id",
    .page_size = 100,
};

const struct cli_noun audit_noun = {
    .name = "audit",
    .summary = "events with user and address",
    .collection = "audit",
    .key = "id",
    VERBS(audit_verbs),
    COLUMNS(event_columns),
    .sort = "-id",
    .page_size = 100,
};
