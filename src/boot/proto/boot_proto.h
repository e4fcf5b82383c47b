/* boot_proto.h - the messages between the daemon and its boot servers.
 *
 * A message is its length (four bytes, little-endian), a byte with its kind, and its fields in the
 * encoding of model/fields.h. Nothing in them depends on the transport. This module does no I/O and
 * keeps no state: the strings of a decoded message point into the bytes that were given to
 * boot_message_decode.
 *
 * Order. The boot server sends HELLO first, and the daemon answers with WELCOME, or with REFUSED
 * and the end of the connection. Then the daemon sends CONFIG, and a base image: BASE, ENTRIES,
 * SEALED. What follows is sent for each durable turn that changed the boot view: ENTRIES and
 * REMOVED as often as needed, then AT. A CONFIG replaces the one before it at once. A boot server
 * applies everything up to an AT or SEALED at once and acknowledges it with TAKEN. Changes that
 * arrive between BASE and SEALED belong to the base image. A new BASE replaces one that is not
 * sealed.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/boot_view.h"
#include "model/fields.h"

#define BOOT_PROTO_VERSION 1u
#define BOOT_BODY_MAX      (2u << 20)  /* bytes of a message without its length */
#define BOOT_PART_MAX      (64u << 10) /* an ENTRIES or REMOVED message is ended above this size */
#define BOOT_KEY_SIZE      32u         /* bytes of the key of tickets */
#define BOOT_STATUS_MAX    512u        /* bytes of a text for operators */
#define BOOT_DOCUMENT_MAX  (1u << 20)

/* A list is a sequence of items, each with its length as a varint first. */

/* -- from the boot server -- */
#define BOOT_MSG_HELLO_FIELDS(F)                                                                   \
    F(U32, version)                                                                                \
    F(TEXT, installation) /* of the base image that it holds; empty: it has none */                \
    F(I64, epoch)         /* the highest one that it has seen */                                   \
    F(TEXT, admin_node)   /* name of its node; empty: that of the host of the daemon */            \
    F(RAW, interfaces)    /* list: names of the interfaces that it serves */                       \
    F(U32, http_port)                                                                              \
    F(TEXT, program) /* version of the program, for operators */
#define BOOT_MSG_TAKEN_FIELDS(F) F(I64, turn)
/* Each request is answered once, with its number. */
#define BOOT_MSG_LEASE_FIELDS(F)                                                                   \
    F(I64, request)                                                                                \
    F(I64, range)                                                                                  \
    F(I64, address) /* IPv4 as a number in host order */                                           \
    F(I64, mac)                                                                                    \
    F(U32, lease_s) /* LEASE_TAKE only */
#define BOOT_MSG_GRANT_FIELDS(F)                                                                   \
    F(I64, request)                                                                                \
    F(I64, node)                                                                                   \
    F(I64, generation)                                                                             \
    F(I64, mac)                                                                                    \
    F(TEXT, ticket) /* hash, lower-case hex */
#define BOOT_MSG_DOCUMENT_FIELDS(F)                                                                \
    F(I64, request)                                                                                \
    F(TEXT, path) /* as requested: "seed/TICKET/preseed", "nodes/NAME/bootstate" */                \
    F(I64, node)  /* of the ticket; 0: an unknown machine, or a path without a ticket */           \
    F(I64, generation)                                                                             \
    F(I64, mac)                                                                                    \
    F(TEXT, ticket) /* hash */                                                                     \
    F(I64, address) /* of the client */
/* What cannot be served and why; an empty text: everything that is configured is served. */
#define BOOT_MSG_STATUS_FIELDS(F) F(TEXT, text)
#define BOOT_MSG_FILES_FIELDS(F)                                                                   \
    F(TEXT, bootenv)                                                                               \
    F(BOOL, available)
/* Something that happened, for `why` and the history of a machine; may be dropped. */
#define BOOT_MSG_SEEN_FIELDS(F)                                                                    \
    F(U32, kind) /* enum boot_seen_kind */                                                         \
    F(I64, mac)                                                                                    \
    F(I64, node) /* 0: no node has the MAC */                                                      \
    F(I64, generation)                                                                             \
    F(I64, address) /* IPv4 as a number; 0: none */                                                \
    F(I64, other)   /* MAC of a conflicting host; address of a foreign server; bytes sent */       \
    F(I64, wall_ms)                                                                                \
    F(TEXT, detail) /* environment, file or interface */
#define BOOT_MSG_COUNTS_FIELDS(F)                                                                  \
    F(I64, seen_dropped) /* SEEN messages that were not sent since the start */                    \
    F(RAW, counts)       /* boot_count_put(), one after the other */
#define BOOT_MSG_DIGEST_FIELDS(F)                                                                  \
    F(I64, turn)                                                                                   \
    F(RAW, digest) /* 16 bytes, low half first, little-endian */

/* -- from the daemon -- */
#define BOOT_MSG_WELCOME_FIELDS(F)                                                                 \
    F(U32, version)                                                                                \
    F(TEXT, installation)                                                                          \
    F(I64, epoch)                                                                                  \
    F(I64, node) /* id of the admin node */                                                        \
    F(TEXT, node_name)                                                                             \
    F(RAW, ticket_key) /* BOOT_KEY_SIZE bytes */                                                   \
    F(RAW, old_key)    /* the same or empty: tickets under it are accepted as well */
#define BOOT_MSG_REFUSED_FIELDS(F) F(TEXT, text)
#define BOOT_MSG_ENTRIES_FIELDS(F) F(RAW, entries) /* list: boot_entry_encode */
#define BOOT_MSG_REMOVED_FIELDS(F) F(RAW, keys)    /* boot_key_encode, one after the other */
#define BOOT_MSG_AT_FIELDS(F)      F(I64, turn)
#define BOOT_MSG_CONFIG_FIELDS(F)  F(RAW, documents) /* list of JSON documents */
#define BOOT_MSG_LEASED_FIELDS(F)                                                                  \
    F(I64, request)                                                                                \
    F(BOOL, granted)
#define BOOT_MSG_GRANTED_FIELDS(F)                                                                 \
    F(I64, request)                                                                                \
    F(U32, answer) /* enum grant_answer + 1; 0: not answered now, ask again */
#define BOOT_MSG_CONTENT_FIELDS(F)                                                                 \
    F(I64, request)                                                                                \
    F(U32, status) /* of HTTP */                                                                   \
    F(TEXT, type)                                                                                  \
    F(RAW, body)

/* clang-format off */
#define BOOT_MESSAGES(M)                                                                           \
    /* from the boot server */                                                                     \
    M(HELLO, hello, HELLO, hello)                                                                  \
    M(TAKEN, taken, TAKEN, taken)                                                                  \
    M(LEASE_TAKE, lease_take, LEASE, lease)                                                        \
    M(LEASE_RELEASE, lease_release, LEASE, lease)                                                  \
    M(LEASE_DECLINE, lease_decline, LEASE, lease)                                                  \
    M(GRANT, grant, GRANT, grant)                                                                  \
    M(DOCUMENT, document, DOCUMENT, document)                                                      \
    M(STATUS, status, STATUS, status)                                                              \
    M(FILES, files, FILES, files)                                                                  \
    M(SEEN, seen, SEEN, seen)                                                                      \
    M(COUNTS, counts, COUNTS, counts)                                                              \
    M(DIGEST, digest, DIGEST, digest)                                                              \
    /* from the daemon */                                                                          \
    M(WELCOME, welcome, WELCOME, welcome)                                                          \
    M(REFUSED, refused, REFUSED, refused)                                                          \
    M(BASE, base, AT, at)             /* a base image begins; turn: when it began */               \
    M(ENTRIES, entries, ENTRIES, entries)                                                          \
    M(REMOVED, removed, REMOVED, removed)                                                          \
    M(AT, at, AT, at)                 /* the view is that of the turn */                           \
    M(SEALED, sealed, DIGEST, digest) /* the base image is complete: that of the turn */           \
    M(CONFIG, config, CONFIG, config)                                                              \
    M(LEASED, leased, LEASED, leased)                                                              \
    M(GRANTED, granted, GRANTED, granted)                                                          \
    M(CONTENT, content, CONTENT, content)

/* The structures that the messages have. */
#define BOOT_STRUCTS(S)                                                                            \
    S(HELLO, hello) S(TAKEN, taken) S(LEASE, lease) S(GRANT, grant) S(DOCUMENT, document)          \
    S(STATUS, status) S(FILES, files) S(SEEN, seen) S(COUNTS, counts) S(DIGEST, digest)            \
    S(WELCOME, welcome) S(REFUSED, refused) S(AT, at) S(ENTRIES, entries) S(REMOVED, removed)      \
    S(CONFIG, config) S(LEASED, leased) S(GRANTED, granted) S(CONTENT, content)
/* clang-format on */

enum boot_message_kind {
    BOOT_MESSAGE_NONE,
#define M(upper, lower, Type, type) BOOT_MESSAGE_##upper,
    BOOT_MESSAGES(M)
#undef M
        BOOT_MESSAGE_END
};

#define S(UPPER, lower)                                                                            \
    struct boot_msg_##lower {                                                                      \
        BOOT_MSG_##UPPER##_FIELDS(FIELD_MEMBER)                                                    \
    };
BOOT_STRUCTS(S)
#undef S

struct boot_message {
    enum boot_message_kind kind;
    union {
#define S(UPPER, lower) struct boot_msg_##lower lower;
        BOOT_STRUCTS(S)
#undef S
    };
};

/* What a boot server reports as seen. */
#define BOOT_SEEN_KINDS(X)                                                                         \
    X(DHCP_OFFERED, "dhcp-offered")     /* address offered; detail: boot file */                   \
    X(DHCP_ACKED, "dhcp-acknowledged")  /* address acknowledged; detail: boot file */              \
    X(DHCP_REFUSED, "dhcp-refused")     /* DHCPNAK */                                              \
    X(NO_ADDRESS, "no-address")         /* a known machine without an address on this segment */   \
    X(POOL_ADDRESS, "pool-address")     /* a known machine got an address of the pool */           \
    X(ADDRESS_IN_USE, "address-in-use") /* other: MAC of the host that uses the address */         \
    X(NO_LOADER, "no-loader")           /* detail: the architecture, which has no boot file */     \
    X(FOREIGN_SERVER, "foreign-server") /* other: its address; detail: the interface */            \
    X(FOREIGN_GONE, "foreign-gone")                                                                \
    X(TFTP_SENT, "tftp-sent") /* detail: file; other: bytes */                                     \
    X(TFTP_FAILED, "tftp-failed")                                                                  \
    X(SCRIPT, "script") /* detail: environment */                                                  \
    X(SCRIPT_LOCAL, "script-local")                                                                \
    X(SCRIPT_HOLD, "script-hold")                                                                  \
    X(SCRIPT_FORBIDDEN, "script-forbidden") /* asked from the address of another machine */        \
    X(FILE_SENT, "file-sent")               /* detail: path; other: bytes */                       \
    X(FILE_MISSING, "file-missing")                                                                \
    X(INSTALLER_GRANTED, "installer-granted")                                                      \
    X(INSTALLER_LOCAL, "installer-local")                                                          \
    X(INSTALLER_STALE, "installer-stale")                                                          \
    X(INSTALLER_WAITS, "installer-waits") /* the daemon was not reachable */                       \
    X(POOL_FULL, "pool-full")                                                                      \
    X(UNKNOWN_IGNORED, "unknown-ignored") /* an unknown machine that is not answered */

enum boot_seen_kind {
#define X(upper, text) BOOT_SEEN_##upper,
    BOOT_SEEN_KINDS(X)
#undef X
        BOOT_SEEN_COUNT
};
const char *boot_seen_name(enum boot_seen_kind kind);

/* The metrics of a boot server: name, the names of two labels (empty: none), help. */
#define BOOT_METRICS(X)                                                                            \
    X(DHCP, "halligan_dhcp_packets_total", "type", "result", "DHCP packets received, by result")   \
    X(REQUESTS, "halligan_boot_requests_total", "kind", "env", "boot files and scripts answered")  \
    X(TFTP, "halligan_boot_tftp_transfers_total", "result", "", "TFTP transfers that ended")       \
    X(RA, "halligan_boot_router_advertisements_total", "result", "", "router solicitations")       \
    X(DROPPED, "halligan_boot_reports_dropped_total", "", "", "reports about boots not sent")

enum boot_metric {
#define X(upper, name, first, second, help) BOOT_METRIC_##upper,
    BOOT_METRICS(X)
#undef X
        BOOT_METRIC_COUNT
};

#define BOOT_COUNT_FIELDS(F)                                                                       \
    F(U32, metric) /* enum boot_metric */                                                          \
    F(TEXT, first) /* values of its labels */                                                      \
    F(TEXT, second)                                                                                \
    F(I64, value)
struct boot_count {
    BOOT_COUNT_FIELDS(FIELD_MEMBER)
};
enum { BOOT_COUNTS_MAX = 1024, BOOT_LABEL_MAX = 64 };

void boot_count_put(const struct boot_count *count, struct buf *out);
/* The next one; false at the end. Bytes that are none end it early, with *out_is_bad. */
bool boot_count_next(struct str counts, uint32_t *at, struct boot_count *out, bool *out_is_bad);

/* True if the boot server sends messages of this kind; else the daemon does. */
bool boot_message_is_from_server(enum boot_message_kind kind);

/* Append the message with its length. ERR_LIMIT, with nothing appended, if it is too large. */
NODISCARD err boot_message_encode(const struct boot_message *message, struct buf *out);
/* Decode a message without its length. ERR_CORRUPT unless the bytes are exactly one message with
 * legal values. Entries, keys and documents in lists are checked by those that read them. */
NODISCARD err boot_message_decode(struct str body, struct boot_message *out_message);

/* Append an item to a list. */
void boot_list_add(struct buf *list, struct str item);
/* The next item; false at the end. A list that is not well formed ends early, with *out_is_bad. */
bool boot_list_next(struct str list, uint32_t *at, struct str *out_item, bool *out_is_bad);
/* The sixteen bytes of a digest, and back; false if there are not sixteen. */
void boot_digest_write(struct digest128 digest, struct buf *out);
bool boot_digest_read(struct str bytes, struct digest128 *out_digest);
