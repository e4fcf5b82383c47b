#include "cli/cmd/nouns.h"

#include <string.h>

#include "cli/cmd/nouns_private.h"

const char list_help[] =
    "A filter is FIELD=VALUE, FIELD!=VALUE, FIELD~TEXT (contains), FIELD>=VALUE or FIELD<=VALUE;\n"
    "of several all must hold, but of several values for one field one is enough. States may be\n"
    "named, and where the table shows a name for an id, so may objects (deployment=d1).\n";
const char create_help[] =
    "FIELD=TEXT, or FIELD:=JSON for what is no text. With - objects are read from stdin, a JSON\n"
    "list or one object a line, and with -f from a file; the server takes all of them or none.\n"
    "Pairs beside them are added to each.\n";
const char update_help[] = "FIELD=TEXT, or FIELD:=JSON for what is no text.\n";
const char wait_help[] =
    "Looks again and again until the field has the value. A state may be named; a field of a\n"
    "field is a/b. Exits with 8 when the time is over.\n";
const char get_help[] =
    "Of one attrib the value alone, a text without quotes; without a name, of all of them.\n";
const char set_help[] = "VALUE is JSON where it reads as such, and else a text.\n";
const char set_proposing_help[] =
    "VALUE is JSON where it reads as such, and else a text. A value of a noderole that is not\n"
    "proposed is stored, and no commit publishes it until the noderole is proposed: --propose\n"
    "does that, and without it a warning says so.\n";
const char commit_help[] =
    "With --wait, progress is shown on stderr until everything is active; exits with 1 when work\n"
    "ends in error, and with 8 when the time is over. Of several, one that is refused does not\n"
    "keep the others; work that fails does. If data would be destroyed, the noderoles that do so\n"
    "are listed and consent is asked for on the terminal; where there is none, --yes (or --plan)\n"
    "is needed. Without consent nothing is committed, and the exit status is 9. Values that are\n"
    "stored on noderoles that are not proposed are not committed; they are listed on stderr.\n";
const char destroy_help[] =
    "If it has noderoles, they are listed and consent is asked for on the terminal; where there\n"
    "is none, --yes is needed. Without consent nothing is destroyed, and the exit status is 9.\n";

const struct cli_noun *const online_nouns[] = {
    &nodes_noun,     &roles_noun, &deployments_noun, &deployment_roles_noun,
    &noderoles_noun, &runs_noun,  &snapshots_noun,   &attribs_noun,
    &barclamps_noun, &jigs_noun,  &hammers_noun,     &available_hammers_noun,
    &groups_noun,    &users_noun, &tokens_noun,      &events_noun,
    &audit_noun,
};

const uint32_t online_noun_count = sizeof online_nouns / sizeof online_nouns[0];

const struct cli_noun *nouns_find(const char *word)
{
    for (uint32_t i = 0; i < online_noun_count; i++)
        if (strcmp(word, online_nouns[i]->name) == 0 ||
            (online_nouns[i]->singular && strcmp(word, online_nouns[i]->singular) == 0))
            return online_nouns[i];
    return NULL;
}

const struct cli_noun *nouns_of(const char *collection)
{
    for (uint32_t i = 0; i < online_noun_count; i++)
        if (strcmp(collection, online_nouns[i]->collection) == 0)
            return online_nouns[i];
    return NULL;
}
