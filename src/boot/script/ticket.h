/* ticket.h - tickets: what a machine proves with, after it was answered by a boot server.
 *
 * A ticket is made with the DHCP answer or with a boot script, for one MAC, one node and one boot
 * generation, and carries the time when it was made. It is authenticated with HMAC-SHA256 (RFC
 * 2104) under a key of the boot server. A ticket ends 24 hours after it was made. Unknown machines
 * have node 0 and generation 0. The text has TICKET_LEN lower-case hexadecimal digits, so it needs
 * no quoting in a URL, a script or a file name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum {
    TICKET_KEY_SIZE = 32,
    TICKET_BYTES = 6 + 8 + 8 + 8 + 4 + 16, /* mac, node, generation, time, random, MAC of these */
    TICKET_LEN = 2 * TICKET_BYTES
};
#define TICKET_LIFE_S 86400

struct ticket_key {
    uint8_t bytes[TICKET_KEY_SIZE];
};

struct ticket {
    uint64_t mac;
    int64_t node;       /* id, 0 = unknown machine */
    int64_t generation; /* boot generation of the node */
    int64_t made_s;     /* seconds since 1970 */
    uint32_t random;    /* makes tickets of one second differ */
};

/* The text of the ticket, in `a`. */
struct str ticket_format(struct arena *a, const struct ticket_key *key,
                         const struct ticket *ticket);
/* False, with *out_ticket undefined, if the text is not a ticket under this key, ended before
 * now_s, or was made more than five minutes after it. The comparison takes constant time. */
bool ticket_parse(struct str text, const struct ticket_key *key, int64_t now_s,
                  struct ticket *out_ticket);
/* Lower-case hex SHA-256 of the text of a ticket: what the core stores and GRANT_USE carries. */
struct str ticket_hash(struct arena *a, struct str text);
