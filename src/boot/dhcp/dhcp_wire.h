/* dhcp_wire.h - the format of DHCPv4 messages (RFC 2131, 2132, 3046, 3396).
 *
 * Messages are parsed and built here and interpreted elsewhere. A message that is not well formed
 * is refused as a whole, so that later code relies on the lengths of options with a fixed length.
 * Parsed options point into the message or, if they were in several parts, into the arena.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* Message types, option 53. */
enum dhcp_message_type {
    DHCPDISCOVER = 1,
    DHCPOFFER,
    DHCPREQUEST,
    DHCPDECLINE,
    DHCPACK,
    DHCPNAK,
    DHCPRELEASE,
    DHCPINFORM
};

enum dhcp_option {
    DHCP_OPTION_PAD = 0,
    DHCP_OPTION_SUBNET_MASK = 1,
    DHCP_OPTION_ROUTERS = 3,
    DHCP_OPTION_NAMESERVERS = 6,
    DHCP_OPTION_HOST_NAME = 12,
    DHCP_OPTION_DOMAIN = 15,
    DHCP_OPTION_MTU = 26,
    DHCP_OPTION_BROADCAST = 28,
    DHCP_OPTION_TIMESERVERS = 42,
    DHCP_OPTION_VENDOR = 43,
    DHCP_OPTION_REQUESTED_ADDRESS = 50,
    DHCP_OPTION_LEASE_TIME = 51,
    DHCP_OPTION_OVERLOAD = 52,
    DHCP_OPTION_TYPE = 53,
    DHCP_OPTION_SERVER = 54,
    DHCP_OPTION_PARAMETERS = 55,
    DHCP_OPTION_MAX_SIZE = 57,
    DHCP_OPTION_T1 = 58,
    DHCP_OPTION_T2 = 59,
    DHCP_OPTION_CLASS = 60,
    DHCP_OPTION_CLIENT_ID = 61,
    DHCP_OPTION_BOOT_SERVER = 66,
    DHCP_OPTION_BOOT_FILE = 67,
    DHCP_OPTION_USER_CLASS = 77,
    DHCP_OPTION_RELAY = 82,
    DHCP_OPTION_ARCH = 93,
    DHCP_OPTION_MACHINE_ID = 97,
    DHCP_OPTION_SEARCH = 119,
    DHCP_OPTION_ROUTES = 121,
    DHCP_OPTION_IPXE = 175,
    DHCP_OPTION_END = 255
};

enum {
    DHCP_HEAD_SIZE = 240,     /* fixed fields and magic cookie */
    DHCP_SIZE_MIN = 300,      /* shorter messages are padded, as in BOOTP */
    DHCP_FILE_SIZE = 128,     /* field `file`, with the terminating zero */
    DHCP_RELAY_LEN_MAX = 255, /* longer relay options are refused: no room for an answer */
    DHCP_DATAGRAM_MIN = 576,  /* what every client accepts, with the headers of IP and UDP */
    DHCP_IP_UDP_SIZE = 28
};
#define DHCP_FLAG_BROADCAST 0x8000u
#define DHCP_BROADCAST      UINT32_MAX

struct dhcp_head {
    uint8_t op; /* 1 = of a client, 2 = of a server */
    uint16_t secs, flags;
    uint32_t xid, ciaddr, yiaddr, siaddr, giaddr;
    uint64_t mac;    /* chaddr; only Ethernet addresses are accepted */
    struct str file; /* shorter than DHCP_FILE_SIZE */
};

struct dhcp_message {
    struct dhcp_head head;
    enum dhcp_message_type type;
    struct str options[256]; /* `at` is NULL for an option that is absent */
};

/* ---- parsing ---- */

/* False, with *out undefined, if it is not a well-formed DHCP message of an Ethernet interface. */
bool dhcp_parse(struct str bytes, struct arena *a, struct dhcp_message *out);
bool dhcp_has(const struct dhcp_message *m, enum dhcp_option code);
/* The number in an option; 0 if the option is absent. dhcp_parse() has checked the length. */
uint32_t dhcp_get_number(const struct dhcp_message *m, enum dhcp_option code);
/* The first sub-option with the code in an encapsulated block; `at` is NULL if there is none. */
struct str dhcp_sub_option(struct str block, uint8_t code);
uint32_t dhcp_read_number(const char *at, uint32_t len); /* big-endian; at most 4 bytes */

/* ---- building ---- */

struct dhcp_writer {
    uint8_t *at;
    uint32_t len;
    uint32_t max;    /* for options before the end of the message */
    uint8_t has[32]; /* bits of the options that are there */
};

/* Begin a message of at most `max` bytes (at least DHCP_SIZE_MIN), of which `reserved` are kept for
 * dhcp_finish(). */
struct dhcp_writer dhcp_begin(struct arena *a, const struct dhcp_head *head, uint32_t max,
                              uint32_t reserved);
/* Append an option; more than 255 bytes are split (RFC 3396). False, and nothing is written, if
 * there is no room for it. An option that is already there is not written again. */
bool dhcp_put_option(struct dhcp_writer *w, enum dhcp_option code, struct str value);
/* Big-endian, in `size` bytes. */
bool dhcp_put_number(struct dhcp_writer *w, enum dhcp_option code, uint32_t value, uint32_t size);
/* The relay option, if it is not empty, the end, and padding. */
struct str dhcp_finish(struct dhcp_writer *w, struct str relay);
/* Bytes that dhcp_finish() needs. */
uint32_t dhcp_finish_size(struct str relay);

void dhcp_write_number(uint8_t *at, uint32_t value, uint32_t size);
/* A domain name as in RFC 3397, without compression; empty if it is no domain name. */
struct str dhcp_encode_domain(struct arena *a, struct str name);
