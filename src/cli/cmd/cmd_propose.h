/* cmd_propose.h - the first network, made from an interface of this host. */
#pragma once

#include "cli/cmd/request.h"

/* networks propose --interface IF [FIELD=VALUE...] */
enum cli_exit cmd_propose_network(struct cli_request *req);
