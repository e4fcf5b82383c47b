#include "cli/args/option.h"

#include <stddef.h>
#include <string.h>

#define AT(member) (uint16_t) offsetof(struct options, member)

/* clang-format off */
const struct option option_table[] = {
    {OPTION_OUTPUT, "output", 'o', "FORMAT",
     "table, json or yaml", AT(output), false},
    {OPTION_QUIET, "quiet", 'q', NULL,
     "only names, or ids where there are no names", AT(quiet), false},
    {OPTION_FILTER, "filter", 0, "FIELD=VALUE",
     "only those; also != ~ >= <=; may be repeated", AT(filters), true},
    {OPTION_SORT, "sort", 0, "FIELD",
     "in this order; -FIELD: the other way round", AT(sort), false},
    {OPTION_LIMIT, "limit", 0, "N",
     "at most so many", AT(limit), false},
    {OPTION_AFTER, "after", 0, "ID",
     "only what comes behind this one", AT(after), false},
    {OPTION_WATCH, "watch", 0, NULL,
     "again whenever something changes, until interrupted", AT(watch), false},
    {OPTION_FILE, "file", 'f', "FILE",
     "a JSON file with the object, or a list of them", AT(file), false},
    {OPTION_WAIT, "wait", 0, NULL,
     "until all of the work is done, with progress", AT(wait), false},
    {OPTION_TIMEOUT, "timeout", 0, "SECONDS",
     "how long to wait (for ever)", AT(timeout), false},
    {OPTION_PLAN, "plan", 0, "HASH",
     "only if it would do what this plan says", AT(plan), false},
    {OPTION_BUCKET, "bucket", 0, "NAME",
     "which layer of the data is meant", AT(bucket), false},
    {OPTION_FOLLOW, "follow", 0, NULL,
     "until it ends", AT(follow), false},
    {OPTION_ATTEMPT, "attempt", 0, "N",
     "of this attempt (the newest)", AT(attempt), false},
    {OPTION_LIST, "list", 0, NULL,
     "everything, as Ansible asks for it", AT(list), false},
    {OPTION_HOST, "host", 0, "NAME",
     "the variables of one host", AT(host), false},
    {OPTION_RERUN, "rerun-changed", 0, NULL,
     "run again what ran with other defaults of its barclamp", AT(rerun_changed), false},
    {OPTION_PROPOSE, "propose", 0, NULL,
     "also propose the noderole that the value is stored on", AT(propose), false},
    {OPTION_DETAIL, "detail", 0, NULL,
     "each noderole, not the totals alone", AT(detail), false},
    {OPTION_YES, "yes", 'y', NULL,
     "do not ask whether this is meant", AT(yes), false},
    {OPTION_NODES, "all", 'a', NULL,
     "nodes of the system itself too", AT(all), false},
    {OPTION_NODES, "state", 0, "STATE",
     "only those in this state; may be repeated", AT(states), true},
    {OPTION_NODES, "group", 0, "GROUP",
     "only those in this group", AT(group), false},
    {OPTION_SERVER, "url", 0, "URL",
     "where the daemon is (HALLIGAN_URL)", AT(url), false},
    {OPTION_SERVER, "user", 0, "NAME",
     "who asks (HALLIGAN_USER)", AT(user), false},
    {OPTION_SERVER, "token-file", 0, "FILE",
     "a file with a token in it (HALLIGAN_TOKEN)", AT(token_file), false},
    {OPTION_SERVER, "ca", 0, "FILE",
     "who may vouch for the daemon, PEM (HALLIGAN_CA)", AT(ca), false},
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

bool options_take(struct args *words, uint32_t allowed, struct options *out_options)
{
    struct args_option wanted[sizeof option_table / sizeof option_table[0]];
    uint32_t count = 0;
    for (uint32_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        void *at = (char *)out_options + o->at;
        if (!(allowed & o->bit))
            continue;
        wanted[count++] = (struct args_option){.name = o->name,
                                               .letter = o->letter,
                                               .flag = o->value ? NULL : at,
                                               .value = o->value && !o->many ? at : NULL,
                                               .list = o->many ? at : NULL};
    }
    return args_take_options(words, wanted, count);
}

void options_tell(FILE *out, uint32_t allowed)
{
    char left[40];
    for (uint32_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        if (!(allowed & o->bit))
            continue;
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "",
                 o->letter ? o->letter : ' ', o->letter ? ", " : "   ", o->name,
                 o->value ? " " : "", o->value ? o->value : "");
        fprintf(out, "  %-26s %s\n", left, o->does);
    }
}
