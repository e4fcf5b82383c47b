/* network_proposal.h - ranges of a network, computed from the address of one host in it.
 *
 * Pure: the caller reads the interface and the default route. All results are values.
 */
#pragma once

#include <stdbool.h>

#include "base/net/ip.h"

enum { PROPOSAL_PREFIX_MAX = 28 };

struct network_proposal {
    struct ip subnet;
    struct ip_range admin; /* the host and one address beside it, if that is free */
    struct ip_range dhcp;  /* for machines that are not nodes yet */
    struct ip_range host;  /* for nodes */
    struct ip router;      /* IP_NONE: none */
};

/* Divide the subnet of `host`. The ranges dhcp and host are in the largest part of the subnet that
 * has neither the range admin nor the router; dhcp gets a quarter of it, at least 2 and at most
 * 1024 addresses. A router outside of the subnet is left out. Returns NULL, or why no ranges can
 * be proposed: a phrase that follows the address. */
const char *network_proposal_make(struct ip host, struct ip router, struct network_proposal *out);
