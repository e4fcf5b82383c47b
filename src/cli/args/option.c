#include "cli/args/option.h"

#include <stddef.h>
#include <string.h>

/* The table of options and functions that read it; all constant. The order of the table is that of
 * the help and of completion scripts. Several options may have the same bit. Errors in options are
 * printed by args_parse_options; cli_options_parse returns its result. */

#define AT(member) (uint16_t) offsetof(struct options, member)

/* clang-format off */
const struct option option_table[] = {
    {OPTION_OUTPUT, "output", 'o', "FORMAT",
     "output format: table, json or yaml", AT(output), false},
    {OPTION_QUIET, "quiet", 'q', NULL,
     "print names only, or ids where objects have no names", AT(quiet), false},
    {OPTION_FILTER, "filter", 0, "FIELD=VALUE",
     "list matching objects only; also != ~ >= <=; repeatable", AT(filters), true},
    {OPTION_SORT, "sort", 0, "FIELD",
     "sort by FIELD; -FIELD: in descending order", AT(sort), false},
    {OPTION_LIMIT, "limit", 0, "N",
     "list at most N objects", AT(limit), false},
    {OPTION_AFTER, "after", 0, "ID",
     "list the objects after the object ID", AT(after), false},
    {OPTION_WATCH, "watch", 0, NULL,
     "print the list again after each change, until interrupted", AT(watch), false},
    {OPTION_FILE, "file", 'f', "FILE",
     "read the object, or a list of objects, from a JSON file", AT(file), false},
    {OPTION_WAIT, "wait", 0, NULL,
     "show progress and return when everything has finished", AT(wait), false},
    {OPTION_TIMEOUT, "timeout", 0, "SECONDS",
     "stop waiting after SECONDS (default: no limit)", AT(timeout), false},
    {OPTION_PLAN, "plan", 0, "HASH",
     "commit only if the plan still has this hash", AT(plan), false},
    {OPTION_BUCKET, "bucket", 0, "NAME",
     "read or write this layer of the data", AT(bucket), false},
    {OPTION_FOLLOW, "follow", 0, NULL,
     "print output as it is written, until the run ends", AT(follow), false},
    {OPTION_ATTEMPT, "attempt", 0, "N",
     "print the log of attempt N (default: the newest)", AT(attempt), false},
    {OPTION_LIST, "list", 0, NULL,
     "print the whole inventory, as Ansible requests it", AT(list), false},
    {OPTION_HOST, "host", 0, "NAME",
     "print the variables of one host", AT(host), false},
    {OPTION_RERUN, "rerun-changed", 0, NULL,
     "rerun noderoles whose defaults changed since their run", AT(rerun_changed), false},
    {OPTION_PROPOSE, "propose", 0, NULL,
     "also propose the noderole that the value is stored in", AT(propose), false},
    {OPTION_DETAIL, "detail", 0, NULL,
     "list each noderole in addition to the totals", AT(detail), false},
    {OPTION_INTERFACE, "interface", 0, "IF",
     "network interface of this host, such as eth0", AT(interface), false},
    {OPTION_YES, "yes", 'y', NULL,
     "do not ask for confirmation", AT(yes), false},
    {OPTION_NODES, "all", 'a', NULL,
     "include system nodes", AT(all), false},
    {OPTION_NODES, "state", 0, "STATE",
     "list nodes in this state only; repeatable", AT(states), true},
    {OPTION_NODES, "group", 0, "GROUP",
     "list nodes of this group only", AT(group), false},
    {OPTION_SERVER, "url", 0, "URL",
     "URL of the daemon (HALLIGAN_URL)", AT(url), false},
    {OPTION_SERVER, "user", 0, "NAME",
     "log in as NAME (HALLIGAN_USER)", AT(user), false},
    {OPTION_SERVER, "token-file", 0, "FILE",
     "read the token from FILE (HALLIGAN_TOKEN: the token)", AT(token_file), false},
    {OPTION_SERVER, "ca", 0, "FILE",
     "CA certificates (PEM) to verify the daemon (HALLIGAN_CA)", AT(ca), false},
};
/* clang-format on */

const uint32_t option_count = sizeof option_table / sizeof option_table[0];

const struct option *option_find(const char *word, bool *out_has_value)
{
    const bool is_long = word[0] == '-' && word[1] == '-';
    const size_t len = is_long ? strcspn(word + 2, "=") : 0;
    for (uint32_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        const bool is_it = is_long ? strlen(o->name) == len && memcmp(o->name, word + 2, len) == 0
                                   : word[0] == '-' && o->letter && o->letter == word[1];
        if (!is_it)
            continue;
        *out_has_value = is_long ? word[2 + len] == '=' : word[2] != 0;
        return o;
    }
    return NULL;
}

bool cli_options_parse(struct args *args, uint32_t allowed, struct options *out_options)
{
    struct args_option wanted[sizeof option_table / sizeof option_table[0]];
    uint32_t count = 0;
    for (uint32_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        void *offset = (char *)out_options + o->offset;
        if (!(allowed & o->bit))
            continue;
        wanted[count++] =
            (struct args_option){.name = o->name,
                                 .letter = o->letter,
                                 .flag = o->value ? NULL : offset,
                                 .value = o->value && !o->is_repeatable ? offset : NULL,
                                 .list = o->is_repeatable ? offset : NULL};
    }
    return args_parse_options(args, wanted, count);
}

void options_print(FILE *out, uint32_t allowed)
{
    char left[40];
    for (uint32_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        if (!(allowed & o->bit))
            continue;
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "",
                 o->letter ? o->letter : ' ', o->letter ? ", " : "   ", o->name,
                 o->value ? " " : "", o->value ? o->value : "");
        fprintf(out, "  %-26s %s\n", left, o->summary);
    }
}
