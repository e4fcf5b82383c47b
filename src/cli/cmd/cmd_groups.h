/* cmd_groups.h - the verbs for the nodes of a group. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_groups_nodes(struct cli_request *req);
enum cli_exit cmd_groups_add(struct cli_request *req);    /* GROUP NODE... */
enum cli_exit cmd_groups_remove(struct cli_request *req); /* GROUP NODE... */
