/* nouns_private.h - shared by the tables of nouns: verbs that many nouns have, and macros to define
 * a noun. nouns_deploy.c has the nouns that are planned and run, nouns_network.c those of networks,
 * nouns_config.c the others.
 */
#pragma once

#include "cli/args/option.h"
#include "cli/cmd/cmd_deploy.h"
#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/cmd_why.h"
#include "cli/cmd/confirm.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/watch.h"

enum {
    SHOWN = OPTION_OUTPUT | OPTION_QUIET,
    LISTED = SHOWN | OPTION_FILTER | OPTION_SORT | OPTION_LIMIT | OPTION_AFTER,
};

extern const char list_help[];
extern const char create_help[];
extern const char update_help[];
extern const char wait_help[];
extern const char get_help[];
extern const char set_help[];
extern const char set_proposing_help[];
extern const char commit_help[];
extern const char destroy_help[];

#define LIST                                                                                       \
    {                                                                                              \
        .name = "list", .operands = "", .summary = "List all objects, or those that match",        \
        .help = list_help, .run_online = cmd_objects_list, .options = LISTED | OPTION_WATCH,       \
    }
#define WATCH                                                                                      \
    {                                                                                              \
        .name = "watch", .operands = "", .summary = "Print the list again after each change",      \
        .help = list_help, .run_online = watch_list, .options = LISTED,                            \
    }
#define SHOW                                                                                       \
    {                                                                                              \
        .name = "show", .operands = "NAME...", .summary = "Show all fields", .help = "",           \
        .run_online = cmd_objects_show, .options = SHOWN, .operands_min = 1,                       \
        .operands_max = OPERANDS_ANY,                                                              \
    }
#define CREATE                                                                                     \
    {                                                                                              \
        .name = "create", .operands = "FIELD=VALUE... | -", .summary = "Create one or more",       \
        .help = create_help, .run_online = cmd_objects_create, .options = SHOWN | OPTION_FILE,     \
        .operands_max = OPERANDS_ANY,                                                              \
    }
#define UPDATE                                                                                     \
    {                                                                                              \
        .name = "update", .operands = "NAME FIELD=VALUE...", .summary = "Change fields",           \
        .help = update_help, .run_online = cmd_objects_update, .options = SHOWN | OPTION_FILE,     \
        .operands_min = 1, .operands_max = OPERANDS_ANY,                                           \
    }
#define DESTROY                                                                                    \
    {                                                                                              \
        .name = "destroy", .operands = "NAME...", .summary = "Delete", .help = "",                 \
        .run_online = cmd_objects_destroy, .options = SHOWN, .operands_min = 1,                    \
        .operands_max = OPERANDS_ANY,                                                              \
    }
/* For objects that may have noderoles. */
#define DESTROY_ASKING                                                                             \
    {                                                                                              \
        .name = "destroy", .operands = "NAME...", .summary = "Delete, together with noderoles",    \
        .help = destroy_help, .run_online = confirm_destroy, .options = SHOWN | OPTION_YES,        \
        .operands_min = 1, .operands_max = OPERANDS_ANY,                                           \
    }
#define WAIT                                                                                       \
    {                                                                                              \
        .name = "wait", .operands = "NAME FIELD VALUE",                                            \
        .summary = "Wait until a field has a value", .help = wait_help, .run_online = watch_wait,  \
        .options = OPTION_TIMEOUT, .operands_min = 3, .operands_max = 3,                           \
    }
#define ACT(word, how, what, says)                                                                 \
    {                                                                                              \
        .name = word, .operands = "NAME...", .summary = says, .help = "",                          \
        .run_online = cmd_objects_act, .options = SHOWN, .operands_min = 1,                        \
        .operands_max = OPERANDS_ANY, .method = how, .path = what,                                 \
    }
#define COMMIT                                                                                     \
    {                                                                                              \
        .name = "commit", .operands = "NAME...", .summary = "Commit what is proposed and run it",  \
        .help = commit_help, .run_online = cmd_deploy_commit,                                      \
        .options = SHOWN | OPTION_WAIT | OPTION_TIMEOUT | OPTION_YES, .operands_min = 1,           \
        .operands_max = OPERANDS_ANY,                                                              \
    }
#define WHY                                                                                        \
    {                                                                                              \
        .name = "why", .operands = "NAME",                                                         \
        .summary = "Explain the state: the chain of causes down to the root",                      \
        .help =                                                                                    \
            "Each cause begins with its code. The last cause is the reason of a failure, if one\n" \
            "is known: exit status, deadline, refused key, full disk, missing attrib. For a\n"     \
            "deployment, causes are counted. docs/runbook.md lists the codes.\n",                  \
        .run_online = cmd_why_show, .options = OPTION_OUTPUT, .operands_min = 1,                   \
        .operands_max = 1,                                                                         \
    }
#define GET                                                                                        \
    {                                                                                              \
        .name = "get", .operands = "NAME [ATTRIB]", .summary = "Show values of attribs",           \
        .help = get_help, .run_online = cmd_deploy_get, .options = SHOWN | OPTION_BUCKET,          \
        .operands_min = 1, .operands_max = 2,                                                      \
    }
#define SET                                                                                        \
    {                                                                                              \
        .name = "set", .operands = "NAME ATTRIB VALUE", .summary = "Set the value of an attrib",   \
        .help = set_help, .run_online = cmd_deploy_set, .options = SHOWN | OPTION_BUCKET,          \
        .operands_min = 3, .operands_max = 3,                                                      \
    }
/* The same for nouns whose values may be stored in a noderole. */
#define SET_PROPOSING                                                                              \
    {                                                                                              \
        .name = "set", .operands = "NAME ATTRIB VALUE", .summary = "Set the value of an attrib",   \
        .help = set_proposing_help, .run_online = cmd_deploy_set,                                  \
        .options = SHOWN | OPTION_BUCKET | OPTION_PROPOSE, .operands_min = 3, .operands_max = 3,   \
    }
#define VERBS(table)   .verbs = table, .verb_count = sizeof table / sizeof table[0]
#define COLUMNS(table) .columns = table, .column_count = sizeof table / sizeof table[0]
#define STATES(table)  .states = table, .state_count = sizeof table / sizeof table[0]

/* SGR parameters of terminal escape sequences (ECMA-48). */
#define RED     "31"
#define GREEN   "32"
#define YELLOW  "33"
#define BLUE    "34"
#define MAGENTA "35"
#define GREY    "90"

extern const struct cli_noun nodes_noun;
extern const struct cli_noun roles_noun;
extern const struct cli_noun deployments_noun;
extern const struct cli_noun deployment_roles_noun;
extern const struct cli_noun noderoles_noun;
extern const struct cli_noun runs_noun;
extern const struct cli_noun snapshots_noun;
extern const struct cli_noun attribs_noun;
extern const struct cli_noun barclamps_noun;
extern const struct cli_noun jigs_noun;
extern const struct cli_noun hammers_noun;
extern const struct cli_noun available_hammers_noun;
extern const struct cli_noun boot_noun;
extern const struct cli_noun bootenvs_noun;
extern const struct cli_noun groups_noun;
extern const struct cli_noun users_noun;
extern const struct cli_noun tokens_noun;
extern const struct cli_noun events_noun;
extern const struct cli_noun audit_noun;
extern const struct cli_noun networks_noun;
extern const struct cli_noun ranges_noun;
extern const struct cli_noun routers_noun;
extern const struct cli_noun allocations_noun;
extern const struct cli_noun leases_noun;
extern const struct cli_noun dhcp_noun;
extern const struct cli_noun interfaces_noun;
extern const struct cli_noun filters_noun;
extern const struct cli_noun names_noun;
extern const struct cli_noun nics_noun;
