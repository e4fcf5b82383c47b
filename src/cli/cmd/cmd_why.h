/* cmd_why.h - what keeps something from being done, as people read it. */
#pragma once

#include "cli/cmd/request.h"

/* NOUN why THING: the chain of causes, for a deployment all of them counted. */
enum cli_exit why_show(struct errand *e);
/* The same on standard error, for a command that waited for the object at `path` in vain. */
void why_tell(struct errand *e, struct str path);
