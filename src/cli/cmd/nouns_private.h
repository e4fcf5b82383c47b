/* nouns_private.h - what the tables of the nouns share: verbs that many have, and how to write a
 * noun down. nouns_deploy.c has what is planned and run, nouns_config.c the rest.
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
        .name = "list", .takes = "", .does = "Show all of them, or those that are wanted",         \
        .help = list_help, .ask = cmd_objects_list, .options = LISTED | OPTION_WATCH,              \
    }
#define WATCH                                                                                      \
    {                                                                                              \
        .name = "watch", .takes = "", .does = "Show the list again whenever something changes",    \
        .help = list_help, .ask = watch_list, .options = LISTED,                                   \
    }
#define SHOW                                                                                       \
    {                                                                                              \
        .name = "show", .takes = "NAME...", .does = "Show everything about it", .help = "",        \
        .ask = cmd_objects_show, .options = SHOWN, .operands_min = 1,                              \
        .operands_max = OPERANDS_ANY,                                                              \
    }
#define CREATE                                                                                     \
    {                                                                                              \
        .name = "create", .takes = "FIELD=VALUE... | -", .does = "Make a new one, or many",        \
        .help = create_help, .ask = cmd_objects_create, .options = SHOWN | OPTION_FILE,            \
        .operands_max = OPERANDS_ANY,                                                              \
    }
#define UPDATE                                                                                     \
    {                                                                                              \
        .name = "update", .takes = "NAME FIELD=VALUE...", .does = "Change fields of it",           \
        .help = update_help, .ask = cmd_objects_update, .options = SHOWN | OPTION_FILE,            \
        .operands_min = 1, .operands_max = OPERANDS_ANY,                                           \
    }
#define DESTROY                                                                                    \
    {                                                                                              \
        .name = "destroy", .takes = "NAME...", .does = "Delete it", .help = "",                    \
        .ask = cmd_objects_destroy, .options = SHOWN, .operands_min = 1,                           \
        .operands_max = OPERANDS_ANY,                                                              \
    }
/* Of what may have noderoles. */
#define DESTROY_ASKING                                                                             \
    {                                                                                              \
        .name = "destroy", .takes = "NAME...", .does = "Delete it, with its noderoles",            \
        .help = destroy_help, .ask = confirm_destroy, .options = SHOWN | OPTION_YES,               \
        .operands_min = 1, .operands_max = OPERANDS_ANY,                                           \
    }
#define WAIT                                                                                       \
    {                                                                                              \
        .name = "wait", .takes = "NAME FIELD VALUE", .does = "Wait until a field has a value",     \
        .help = wait_help, .ask = watch_wait, .options = OPTION_TIMEOUT, .operands_min = 3,        \
        .operands_max = 3,                                                                         \
    }
#define ACT(word, how, what, says)                                                                 \
    {                                                                                              \
        .name = word, .takes = "NAME...", .does = says, .help = "", .ask = cmd_objects_act,        \
        .options = SHOWN, .operands_min = 1, .operands_max = OPERANDS_ANY, .method = how,          \
        .path = what,                                                                              \
    }
#define COMMIT                                                                                     \
    {                                                                                              \
        .name = "commit", .takes = "NAME...", .does = "Let what is proposed become work",          \
        .help = commit_help, .ask = cmd_deploy_commit,                                             \
        .options = SHOWN | OPTION_WAIT | OPTION_TIMEOUT | OPTION_YES, .operands_min = 1,           \
        .operands_max = OPERANDS_ANY,                                                              \
    }
#define WHY                                                                                        \
    {                                                                                              \
        .name = "why", .takes = "NAME", .does = "Say what it is waiting for, down to the root",    \
        .help =                                                                                    \
            "Each cause begins with its code. The last is the reason of a failure, if one is\n"    \
            "known: exit status, deadline, refused key, full disk, missing attrib. Of a\n"         \
            "deployment all of them are counted. docs/runbook.md lists the codes.\n",              \
        .ask = cmd_why_show, .options = OPTION_OUTPUT, .operands_min = 1, .operands_max = 1,       \
    }
#define GET                                                                                        \
    {                                                                                              \
        .name = "get", .takes = "NAME [ATTRIB]", .does = "Show attribs of it", .help = get_help,   \
        .ask = cmd_deploy_get, .options = SHOWN | OPTION_BUCKET, .operands_min = 1,                \
        .operands_max = 2,                                                                         \
    }
#define SET                                                                                        \
    {                                                                                              \
        .name = "set", .takes = "NAME ATTRIB VALUE", .does = "Give an attrib of it a value",       \
        .help = set_help, .ask = cmd_deploy_set, .options = SHOWN | OPTION_BUCKET,                 \
        .operands_min = 3, .operands_max = 3,                                                      \
    }
/* The same where the value may be stored on a noderole. */
#define SET_PROPOSING                                                                              \
    {                                                                                              \
        .name = "set", .takes = "NAME ATTRIB VALUE", .does = "Give an attrib of it a value",       \
        .help = set_proposing_help, .ask = cmd_deploy_set,                                         \
        .options = SHOWN | OPTION_BUCKET | OPTION_PROPOSE, .operands_min = 3, .operands_max = 3,   \
    }
#define VERBS(table)   .verbs = table, .verb_count = sizeof table / sizeof table[0]
#define COLUMNS(table) .columns = table, .column_count = sizeof table / sizeof table[0]
#define STATES(table)  .states = table, .state_count = sizeof table / sizeof table[0]

/* Parameters of an escape sequence. */
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
extern const struct cli_noun groups_noun;
extern const struct cli_noun users_noun;
extern const struct cli_noun tokens_noun;
extern const struct cli_noun events_noun;
extern const struct cli_noun audit_noun;
