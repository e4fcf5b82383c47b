#include "cli/host/barclamp_exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Executes halligan-barclamp in place of this program, with the verb and its unparsed arguments. On
 * success execv(2) does not return and the exit status is that of the other program; on failure the
 * error is printed, memory is freed and the status is CLI_IO_ERROR. Help is printed by cli.c from
 * the table below, without the other program. */

/* ---- executing halligan-barclamp ---- */

/* The path of the program: it is installed in the directory of halligan. False: the path of this
 * program is unknown or too long. */
static bool barclamp_exec_find(char *path, size_t size)
{
    static const char name[] = "halligan-barclamp";
    const ssize_t len = readlink("/proc/self/exe", path, size);
    if (len <= 0 || (size_t)len >= size)
        return false;
    path[len] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + sizeof name > size)
        return false;
    memcpy(slash + 1, name, sizeof name);
    return true;
}

/* Returns only if the program cannot be executed. */
static enum cli_exit barclamp_exec_run(const char *verb, const struct args *args)
{
    char path[PATH_MAX];
    char **arguments = calloc((size_t)args->count + 3, sizeof *arguments);
    char *verb_copy = strdup(verb);
    if (!arguments || !verb_copy || !barclamp_exec_find(path, sizeof path)) {
        fprintf(stderr, "%s: cannot find the directory of this program: %s\n", args->prog,
                strerror(errno));
        free(arguments);
        free(verb_copy);
        return CLI_IO_ERROR;
    }
    arguments[0] = path;
    arguments[1] = verb_copy;
    for (int i = 0; i < args->count; i++)
        arguments[2 + i] = args->words[i];
    execv(path, arguments);
    fprintf(stderr, "%s: cannot execute \"%s\": %s; install it in the directory of halligan\n",
            args->prog, path, strerror(errno));
    free(arguments);
    free(verb_copy);
    return CLI_IO_ERROR;
}

static enum cli_exit barclamp_exec_check(struct args *args)
{
    return barclamp_exec_run("check", args);
}

static enum cli_exit barclamp_exec_new(struct args *args)
{
    return barclamp_exec_run("new", args);
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
