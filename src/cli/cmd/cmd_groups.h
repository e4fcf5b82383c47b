/* cmd_groups.h - the nodes of a group. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit groups_nodes(struct errand *e);
enum cli_exit groups_add(struct errand *e);    /* GROUP NODE... */
enum cli_exit groups_remove(struct errand *e); /* GROUP NODE... */
