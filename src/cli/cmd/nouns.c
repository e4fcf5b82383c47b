#include "cli/cmd/nouns.h"

#include <string.h>

#include "cli/cmd/nouns_private.h"

/* The list of nouns whose objects are in the daemon ("nodes", "runs"), and help texts of verbs
 * that several nouns have. The nouns themselves are defined in nouns_deploy.c, nouns_network.c and
 * nouns_config.c.
 *
 * Everything here is constant. The usage message and shell completion list the nouns in the order
 * of the table; lookups do not depend on the order, because names are unique. A lookup that finds
 * nothing returns NULL; it is the caller that prints an error. */

/* ---- help texts ---- */

const char list_help[] =
    "A filter is FIELD=VALUE, FIELD!=VALUE, FIELD~TEXT (contains), FIELD>=VALUE or FIELD<=VALUE.\n"
    "Filters for different fields must all match; of several values for one field one must\n"
    "match. States may be given by name, and so may objects where the table shows a name for an\n"
    "id (deployment=d1).\n";
const char create_help[] =
    "FIELD=TEXT, or FIELD:=JSON for a value that is not a string. With - objects are read from\n"
    "stdin, as a JSON list or one object per line, and with -f from a file; either all of them\n"
    "are created or none. Pairs are added to each of these objects.\n";
const char update_help[] = "FIELD=TEXT, or FIELD:=JSON for a value that is not a string.\n";
const char wait_help[] =
    "Polls the object until the field has the value. A state may be given by name; a member of a\n"
    "field is written as a/b. The exit status is 8 if --timeout expires.\n";
const char get_help[] =
    "With ATTRIB, only the value is printed, a string without quotes; otherwise all attribs.\n";
const char set_help[] = "VALUE is parsed as JSON; if it is not valid JSON, it is a string.\n";
const char set_proposing_help[] =
    "VALUE is parsed as JSON; if it is not valid JSON, it is a string. If the value is stored in\n"
    "a noderole that is not proposed, no commit publishes it: use --propose to propose the\n"
    "noderole as well. Without --propose a warning is printed.\n";
const char commit_help[] =
    "With --wait, progress is shown on stderr until everything is active; the exit status is 1 if\n"
    "runs end in error and 8 if --timeout expires. With several operands, a commit that is\n"
    "refused does not prevent the others; a failed run does. If data would be destroyed, the\n"
    "noderoles that do so are listed and consent is asked for on the terminal; without a\n"
    "terminal, --yes (or --plan) is required. Without consent nothing is committed, and the exit\n"
    "status is 9. Values stored in noderoles that are not proposed are not committed; they are\n"
    "listed on stderr.\n";
const char destroy_help[] =
    "If there are noderoles, they are listed and consent is asked for on the terminal; without a\n"
    "terminal, --yes is required. Without consent nothing is deleted, and the exit status is 9.\n";

/* ---- nouns ---- */

/* "Online": their verbs send requests to a daemon. All of them have a collection. */
const struct cli_noun *const online_nouns[] = {
    &nodes_noun,      &roles_noun,       &deployments_noun, &deployment_roles_noun,
    &noderoles_noun,  &runs_noun,        &snapshots_noun,   &attribs_noun,
    &barclamps_noun,  &jigs_noun,        &hammers_noun,     &available_hammers_noun,
    &bootenvs_noun,   &groups_noun,      &users_noun,       &tokens_noun,
    &events_noun,     &audit_noun,       &networks_noun,    &ranges_noun,
    &routers_noun,    &allocations_noun, &leases_noun,      &dhcp_noun,
    &interfaces_noun, &filters_noun,     &names_noun,       &nics_noun,
    &boot_noun,
};

const uint32_t online_noun_count = sizeof online_nouns / sizeof online_nouns[0];

/* By the word that a user typed: the name or its singular. */
const struct cli_noun *nouns_find(const char *word)
{
    for (uint32_t i = 0; i < online_noun_count; i++)
        if (strcmp(word, online_nouns[i]->name) == 0 ||
            (online_nouns[i]->singular && strcmp(word, online_nouns[i]->singular) == 0))
            return online_nouns[i];
    return NULL;
}

/* By the name of the collection in the API ("node_roles"). */
const struct cli_noun *nouns_of(const char *collection)
{
    for (uint32_t i = 0; i < online_noun_count; i++)
        if (strcmp(collection, online_nouns[i]->collection) == 0)
            return online_nouns[i];
    return NULL;
}
