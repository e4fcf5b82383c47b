#include "cli/host/barclamp_exec.h"

#include "cli/host/program_exec.h"

/* The verbs of halligan-barclamp. Help is printed by cli.c from the table below, without the other
 * program. */

static enum cli_exit barclamp_exec_check(struct args *args)
{
    return program_exec_run("halligan-barclamp", "check", args);
}

static enum cli_exit barclamp_exec_new(struct args *args)
{
    return program_exec_run("halligan-barclamp", "new", args);
}

/* ---- the noun ---- */

static const char check_help[] =
    "Reads directories like halligand --barclamps and prints all errors and warnings, one per\n"
    "line: FILE:LINE: error: ... or warning: ... Nothing is changed, and no daemon is needed.\n"
    "\n"
    "  --strict               treat warnings as errors\n"
    "  --with DIR[:DIR]       directories with further barclamps, which are not checked\n"
    "  -o, --output FORMAT    output format: text or json\n"
    "\n"
    "The exit status is 0 without errors, 1 with errors, 2 if the command line is wrong, and 3 if\n"
    "there is no barclamp or a directory cannot be read.\n";

static const char new_help[] =
    "Creates the directory NAME with a small valid barclamp as a starting point: a role with an\n"
    "attrib, a hook and a script.\n"
    "\n"
    "  -d, --dir DIR          create it in DIR (default: the current directory)\n"
    "\n"
    "The exit status is 0 on success, 1 if NAME exists already, 2 if NAME is not valid, and\n"
    "3 if it cannot be written. After a failure nothing is left behind.\n";

static const struct cli_verb verbs[] = {
    {.name = "check",
     .operands = "DIR[:DIR] [...] [--strict] [--with DIR[:DIR]] [-o text|json]",
     .summary = "Print errors and warnings of barclamps",
     .help = check_help,
     .run_local = barclamp_exec_check},
    {.name = "new",
     .operands = "NAME [--dir DIR]",
     .summary = "Create a new barclamp",
     .help = new_help,
     .run_local = barclamp_exec_new},
};

const struct cli_noun barclamp_noun = {
    .name = "barclamp",
    .summary = "packages of content in local directories",
    .verbs = verbs,
    .verb_count = sizeof verbs / sizeof verbs[0],
};
