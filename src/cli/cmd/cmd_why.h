/* cmd_why.h - prints the explanation of a state: the chain of causes down to the root. */
#pragma once

#include "cli/cmd/request.h"

/* The verb why. For a deployment, causes are counted and grouped. */
enum cli_exit cmd_why_show(struct cli_request *req);
/* Print the root cause for the object at `path` to stderr, after waiting for it has ended. A failed
 * call prints nothing. */
void cmd_why_print(struct cli_request *req, struct str path);
