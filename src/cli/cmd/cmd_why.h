/* cmd_why.h - what keeps something from being done, as people read it. */
#pragma once

#include "cli/cmd/request.h"

/* NOUN why THING: the chain of causes, for a deployment all of them counted. */
enum cli_exit cmd_why_show(struct cli_request *e);
/* The same on standard error, for a command that waited for the object at `path` in vain. */
void cmd_why_print(struct cli_request *e, struct str path);
