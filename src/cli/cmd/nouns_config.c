#include "cli/cmd/nouns_private.h"

#include "cli/cmd/cmd_auth.h"
#include "cli/cmd/cmd_groups.h"
#include "cli/cmd/cmd_upload.h"

/* ---- content ---- */

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
     .takes = "FILE...",
     .does = "Bring a barclamp into the daemon, or a newer version of it",
     .help = "A file is YAML or JSON; - is stdin. `halligan barclamp check` looks at it before.\n",
     .ask = cmd_upload_barclamps,
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

/* ---- hammers ---- */

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
     .takes = "HAMMER METHOD [ARG...]",
     .does = "Let it do something to its node",
     .help = "",
     .ask = cmd_deploy_perform,
     .options = OPTION_OUTPUT,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
};
static const struct cli_column hammer_kind_columns[] = {
    {"id", NULL}, {"name", NULL}, {"klass", NULL}, {"priority", NULL}};
static const struct cli_verb hammer_kind_verbs[] = {LIST, SHOW};

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
     .takes = "GROUP",
     .does = "Show the nodes in it",
     .help = "",
     .ask = cmd_groups_nodes,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 1},
    {.name = "add",
     .takes = "GROUP NODE...",
     .does = "Put nodes into it",
     .help = "",
     .ask = cmd_groups_add,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
    {.name = "remove",
     .takes = "GROUP NODE...",
     .does = "Take nodes out of it",
     .help = "",
     .ask = cmd_groups_remove,
     .operands_min = 2,
     .operands_max = OPERANDS_ANY},
};

/* ---- people ---- */

static const struct cli_column user_columns[] = {{"id", NULL},        {"username", NULL},
                                                 {"is_admin", NULL},  {"access", NULL},
                                                 {"is_locked", NULL}, {"email", NULL}};
static const struct cli_verb user_verbs[] = {
    LIST,
    SHOW,
    {.name = "create",
     .takes = "username=NAME [FIELD=VALUE...] | -",
     .does = "Make a new one, or many",
     .help = "The password is asked for on the terminal.\n",
     .ask = cmd_auth_create_user,
     .options = SHOWN | OPTION_FILE,
     .operands_max = OPERANDS_ANY},
    UPDATE,
    DESTROY,
    WATCH,
    {.name = "password",
     .takes = "USER [-]",
     .does = "Give a new password",
     .help = "It is asked for on the terminal; with - it is the first line of stdin.\n",
     .ask = cmd_auth_set_password,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = 2},
    ACT("lock", "POST", "lock", "Let nobody in by that name"),
    ACT("unlock", "DELETE", "lock", "Let the user in again"),
    ACT("promote", "POST", "admin", "Make the user an administrator"),
    ACT("demote", "DELETE", "admin", "Make the user one like others"),
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
     .takes = "name=TEXT [FIELD=VALUE...]",
     .does = "Make a new one",
     .help = "The secret is shown this once; with -q it is all that is shown.\n",
     .ask = cmd_auth_create_token,
     .options = SHOWN | OPTION_FILE,
     .operands_max = OPERANDS_ANY},
    DESTROY,
};

/* ---- what happened ---- */

static const struct cli_column event_columns[] = {
    {"id", NULL},   {"at", NULL},     {"actor", NULL},     {"address", NULL},
    {"verb", NULL}, {"object", NULL}, {"object_id", NULL}, {"changes", NULL}};
static const char events_help[] =
    "Newest first (--sort id: oldest first), a hundred unless --limit says how many (1000 at\n"
    "most). --after shows those that came after one, with --sort -id those before it.\n"
    "Filters are actor=, address=, verb=, object=, object_id= and since=.\n";
static const struct cli_verb event_verbs[] = {
    {.name = "list",
     .takes = "",
     .does = "Show what happened",
     .help = events_help,
     .ask = cmd_objects_list,
     .options = LISTED},
    {.name = "watch",
     .takes = "",
     .does = "Show what happens, until interrupted",
     .help = "",
     .ask = watch_events,
     .options = SHOWN},
};
static const struct cli_verb audit_verbs[] = {
    {.name = "list",
     .takes = "",
     .does = "Show who did what, to administrators",
     .help = events_help,
     .ask = cmd_objects_list,
     .options = LISTED},
};

/* ---- the nouns ---- */

const struct cli_noun attribs_noun = {
    .name = "attribs",
    .singular = "attrib",
    .is = "what roles want to know and can tell",
    .collection = "attribs",
    .key = "name",
    VERBS(attrib_verbs),
    COLUMNS(attrib_columns),
};

const struct cli_noun barclamps_noun = {
    .name = "barclamps",
    .is = "content that the daemon has (barclamp: on the disk)",
    .collection = "barclamps",
    .key = "name",
    VERBS(barclamp_verbs),
    COLUMNS(barclamp_columns),
};

const struct cli_noun jigs_noun = {
    .name = "jigs",
    .singular = "jig",
    .is = "how roles are run",
    .collection = "jigs",
    .key = "name",
    VERBS(jig_verbs),
    COLUMNS(jig_columns),
};

const struct cli_noun hammers_noun = {
    .name = "hammers",
    .singular = "hammer",
    .is = "how nodes are switched and reached",
    .collection = "hammers",
    .key = "id",
    VERBS(hammer_verbs),
    COLUMNS(hammer_columns),
};

const struct cli_noun available_hammers_noun = {
    .name = "available-hammers",
    .singular = "available-hammer",
    .is = "kinds of hammers there are",
    .collection = "available_hammers",
    .key = "name",
    VERBS(hammer_kind_verbs),
    COLUMNS(hammer_kind_columns),
};

const struct cli_noun groups_noun = {
    .name = "groups",
    .singular = "group",
    .is = "nodes that are looked at together",
    .collection = "groups",
    .key = "id",
    VERBS(group_verbs),
    COLUMNS(group_columns),
};

const struct cli_noun users_noun = {
    .name = "users",
    .singular = "user",
    .is = "who may do what",
    .collection = "users",
    .key = "username",
    VERBS(user_verbs),
    COLUMNS(user_columns),
};

const struct cli_noun tokens_noun = {
    .name = "tokens",
    .singular = "token",
    .is = "secrets that let programs in",
    .collection = "tokens",
    .key = "id",
    VERBS(token_verbs),
    COLUMNS(token_columns),
};

const struct cli_noun events_noun = {
    .name = "events",
    .singular = "event",
    .is = "what happened",
    .collection = "events",
    .key = "id",
    VERBS(event_verbs),
    COLUMNS(event_columns),
    .sort = "-id",
    .page = 100,
};

const struct cli_noun audit_noun = {
    .name = "audit",
    .is = "who did what",
    .collection = "audit",
    .key = "id",
    VERBS(audit_verbs),
    COLUMNS(event_columns),
    .sort = "-id",
    .page = 100,
};
