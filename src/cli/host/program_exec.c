#include "cli/host/program_exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* execv(2) of a program in the directory of this one. Stateless. On success it does not return; on
 * failure the error is printed, memory is freed and the status is CLI_IO_ERROR. */

/* False: the path of this program is unknown or too long. */
static bool program_exec_find(const char *name, char *path, size_t size)
{
    const ssize_t len = readlink("/proc/self/exe", path, size);
    if (len <= 0 || (size_t)len >= size)
        return false;
    path[len] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + strlen(name) + 1 > size)
        return false;
    memcpy(slash + 1, name, strlen(name) + 1);
    return true;
}

enum cli_exit program_exec_run(const char *program, const char *verb, const struct args *args)
{
    char path[PATH_MAX];
    char **arguments = calloc((size_t)args->count + 3, sizeof *arguments);
    char *verb_copy = strdup(verb);
    if (!arguments || !verb_copy || !program_exec_find(program, path, sizeof path)) {
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
