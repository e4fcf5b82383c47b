/* halligan-barclamp - implements the verbs of `halligan barclamp`, which executes this program.
 *
 * The verbs need the engine, the content reader and Lua. They are a separate program so that the
 * client of the API does not link these.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "barclamp/barclamp_commands.h"

static const char usage[] = "usage: halligan barclamp check|new [...]\n"
                            "`halligan barclamp VERB --help` describes the options.\n";

static enum cli_exit barclamp_run(int argc, char **argv)
{
    struct args args = {.count = argc > 2 ? argc - 2 : 0, .words = argv + 2};
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "check") == 0) {
        args.prog = "halligan barclamp check";
        return barclamp_check(&args);
    }
    if (strcmp(verb, "new") == 0) {
        args.prog = "halligan barclamp new";
        return barclamp_new(&args);
    }
    const int is_help = strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0;
    fputs(usage, is_help ? stdout : stderr);
    return is_help ? CLI_OK : CLI_USAGE;
}

int main(int argc, char **argv)
{
    const enum cli_exit status = barclamp_run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return (int)status;
    fprintf(stderr, "halligan barclamp: cannot write the output: %s\n", strerror(errno));
    return CLI_IO_ERROR;
}
