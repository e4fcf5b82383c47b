#include "cli/cmd/barclamp_exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- executing halligan-barclamp ---- */

/* The path of the program: it is installed in the directory of halligan. False: the path of this
 * program is unknown or too long. */
static bool find_program(char *path, size_t size)
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

/* Returns only when the program cannot be executed. */
static enum cli_exit execute(const char *verb, const struct args *words)
{
    char path[PATH_MAX];
    char **arguments = calloc((size_t)words->count + 3, sizeof *arguments);
    char *verb_copy = strdup(verb);
    if (!arguments || !verb_copy || !find_program(path, sizeof path)) {
        fprintf(stderr, "%s: cannot find the directory of this program: %s\n", words->whose,
                strerror(errno));
        free(arguments);
        free(verb_copy);
        return CLI_IO_ERROR;
    }
    arguments[0] = path;
    arguments[1] = verb_copy;
    for (int i = 0; i < words->count; i++)
        arguments[2 + i] = words->texts[i];
    execv(path, arguments);
    fprintf(stderr, "%s: cannot execute \"%s\": %s; install it in the directory of halligan\n",
            words->whose, path, strerror(errno));
    free(arguments);
    free(verb_copy);
    return CLI_IO_ERROR;
}

static enum cli_exit execute_check(struct args *words)
{
    return execute("check", words);
}

static enum cli_exit execute_new(struct args *words)
{
    return execute("new", words);
}

/* ---- the noun ---- */

static const char check_help[] =
    "Reads directories as halligand --barclamps does and says everything that is wrong with them,\n"
    "one line each: FILE:LINE: error: ... or warning: ... Nothing is changed, no daemon is asked.\n"
    "\n"
    "  --strict               warnings count as well\n"
    "  --with DIR[:DIR]       barclamps that are there too, but are not looked at\n"
    "  -o, --output FORMAT    text or json\n"
    "\n"
    "Exits with 0 when there are no errors, 1 when there are, 2 when the words are wrong, 3 when\n"
    "there is no barclamp or a directory cannot be read.\n";

static const char new_help[] =
    "Makes the directory NAME with a small barclamp in it: a role with an attrib, a hook and a\n"
    "script. It is right as it is; change it from there.\n"
    "\n"
    "  -d, --dir DIR          where to make it (the directory one is in)\n"
    "\n"
    "Exits with 0, 1 when NAME is there already, 2 when it is no name, 3 when it cannot be\n"
    "written. Nothing is left behind unless all of it is there.\n";

static const struct cli_verb verbs[] = {
    {.name = "check",
     .takes = "DIR[:DIR] [...] [--strict] [--with DIR[:DIR]] [-o text|json]",
     .does = "Say what is wrong with barclamps",
     .help = check_help,
     .run = execute_check},
    {.name = "new",
     .takes = "NAME [--dir DIR]",
     .does = "Make a new barclamp",
     .help = new_help,
     .run = execute_new},
};

const struct cli_noun barclamp_noun = {
    .name = "barclamp",
    .is = "content on the disk: roles, attribs, hooks, scripts",
    .verbs = verbs,
    .verb_count = sizeof verbs / sizeof verbs[0],
};
