/* cmd_groups.h - the nodes of a group. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_groups_nodes(struct cli_request *e);
enum cli_exit cmd_groups_add(struct cli_request *e);    /* GROUP NODE... */
enum cli_exit cmd_groups_remove(struct cli_request *e); /* GROUP NODE... */
