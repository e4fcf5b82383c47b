/* halligan - the command line client of the API: halligan NOUN VERB. */
#include "cli/front/cli.h"

#ifndef HALLIGAN_VERSION
#define HALLIGAN_VERSION "unreleased"
#endif

int main(int argc, char **argv)
{
    return cli_main(HALLIGAN_VERSION, argc, argv);
}
