/* conduit.h - conduits: which interfaces of a machine carry a network.
 *
 * A conduit is a list of abstract interfaces, separated by commas: "1g0" is the first interface
 * whose maximum speed is 1 Gbit/s, "+1g0,+1g1" two interfaces of that speed or a faster one, "bmc"
 * the service processor. A machine resolves them to its own interfaces; here they are only parsed
 * and compared. A sign permits other speeds: '+' the same or faster, '-' the same or slower, '?'
 * any other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum { CONDUIT_MEMBERS_MAX = 8 };

struct conduit_member {
    bool is_bmc;    /* the other fields are 0 then */
    char sign;      /* '+', '-', '?' or 0 */
    char unit;      /* 'm' or 'g' */
    uint16_t speed; /* 1 to 999, in `unit` bits per second */
    uint32_t index; /* among the interfaces of that speed, from 0 */
};

struct conduit {
    struct conduit_member members[CONDUIT_MEMBERS_MAX];
    uint32_t count;
};

/* Parse a conduit; spaces around members are ignored. NULL, or a static phrase that follows the
 * name of the field: "must be ...". The result is unchanged then. */
const char *conduit_parse(struct str text, struct conduit *out_conduit);
/* The members of the text that are no interfaces, separated by ", "; at most 8 of them, and of a
 * long one the first bytes. Empty if all are interfaces. */
struct str conduit_wrong_members(struct arena *a, struct str text);
/* "1g0,1g1": without spaces, in the order of the members. */
struct str conduit_format(struct arena *a, const struct conduit *conduit);
/* True if both have the same members, in any order. */
bool conduit_eq(const struct conduit *a, const struct conduit *b);
/* True if they have no member in common. */
bool conduit_is_disjoint(const struct conduit *a, const struct conduit *b);

/* The prefix of the IPv6 addresses of a network: four groups of 1 to 4 lower-case hexadecimal
 * digits, "fd12:3456:789a:1". NULL, or a static phrase as above. */
const char *v6prefix_check(struct str text);
