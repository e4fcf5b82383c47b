/* cmd_networks.h - verbs of networks, ranges, interfaces and addresses. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_networks_addresses(struct cli_request *req); /* nodes addresses */
enum cli_exit cmd_networks_destroy(struct cli_request *req);   /* asks if addresses are freed */
enum cli_exit cmd_networks_usage(struct cli_request *req);     /* ranges usage */
enum cli_exit cmd_networks_move_nic(struct cli_request *req);  /* nics move */
enum cli_exit cmd_networks_maps(struct cli_request *req);      /* interfaces list */
/* networks propose --interface IF [FIELD=VALUE...]: the first network, from an interface of this
 * host. */
enum cli_exit cmd_propose_network(struct cli_request *req);
