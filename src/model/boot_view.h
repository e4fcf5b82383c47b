/* boot_view.h - the facts that a boot server needs to answer machines.
 *
 * An entry is one fact: a machine, a network, a range, a router, a lease, a DNS name or a boot
 * environment. It is a value without a reference to rows; the core makes entries of committed rows
 * (core/boot), a boot server keeps copies of them. A key names an entry; ids are those of the rows,
 * so a key is never used for another object.
 *
 * Encoding: the key (one byte for the kind, a varint for the id), then the fields as
 * fields_encode() writes them, then each list with its length first. Every entry has exactly one
 * encoding, so equal entries have equal hashes.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/fields.h"

/* clang-format off */

/* The kinds, in the order of a base image: what an entry refers to comes first, except for the
 * nodes of names. */
#define BOOT_FACTS(B)                                                                              \
    B(BOOTENV, bootenv)                                                                            \
    B(NETWORK, network)                                                                            \
    B(RANGE, range)                                                                                \
    B(ROUTER, router)                                                                              \
    B(LEASE, lease)                                                                                \
    B(MACHINE, machine)                                                                            \
    B(NAME, name)

/* id: of the node. */
#define BOOT_MACHINE_FIELDS(F)                                                                     \
    F(TEXT, name)                                                                                  \
    F(TEXT, bootenv)                                                                               \
    F(I64, generation) /* boot generation: number of changes of the environment */                 \
    F(TEXT, ticket) /* hash of the ticket that used the grant of this generation; empty = none */  \
    F(TEXT, options) /* canonical JSON: member "boot" of the hint, an object; empty = none */

#define BOOT_ADDRESS_FIELDS(F)                                                                     \
    F(TEXT, address) /* IPv4 with prefix length */                                                 \
    F(I64, network)  /* id; 0 = the hint of the node names the address, and no network has it */   \
    F(I64, range)

#define BOOT_NETWORK_FIELDS(F)                                                                     \
    F(TEXT, name)                                                                                  \
    F(TEXT, category)                                                                              \
    F(TEXT, group)                                                                                 \
    F(BOOL, configure)                                                                             \
    F(I64, vlan) /* 0 = untagged */

#define BOOT_RANGE_FIELDS(F)                                                                       \
    F(I64, network)                                                                                \
    F(TEXT, name)                                                                                  \
    F(TEXT, first) /* address with prefix length */                                                \
    F(TEXT, last)                                                                                  \
    F(BOOL, overlap)

#define BOOT_ROUTER_FIELDS(F)                                                                      \
    F(I64, network)                                                                                \
    F(TEXT, address) /* with prefix length */                                                      \
    F(U32, pref)

#define BOOT_LEASE_FIELDS(F)                                                                       \
    F(I64, mac) /* as a number; 0 for a freed address */                                           \
    F(I64, network)                                                                                \
    F(I64, range)                                                                                  \
    F(TEXT, address) /* with prefix length */                                                      \
    F(U32, state)    /* LEASE_LIVE ... */                                                          \
    F(I64, left_ms)  /* as stored: time left when the lease was written */

/* id: of the entry of the filter. */
#define BOOT_NAME_FIELDS(F)                                                                        \
    F(TEXT, name)                                                                                  \
    F(U32, type)     /* BOOT_NAME_A ... */                                                         \
    F(TEXT, address) /* without prefix length */                                                   \
    F(I64, node)

#define BOOT_BOOTENV_FIELDS(F)                                                                     \
    F(TEXT, name)                                                                                  \
    F(TEXT, kernel) /* path below the files of the boot server */                                  \
    F(TEXT, args)   /* template of the kernel arguments */                                         \
    F(TEXT, method) /* "discovery", "image" or "installer" */                                      \
    F(TEXT, os)

/* clang-format on */

enum boot_fact {
#define B(upper, lower) BOOT_##upper,
    BOOT_FACTS(B)
#undef B
        BOOT_FACT_COUNT
};

/* Type of a DNS record (RFC 1035, RFC 3596). */
enum boot_name_type { BOOT_NAME_A = 1, BOOT_NAME_AAAA = 28 };

struct boot_key {
    enum boot_fact kind;
    int64_t id;
};

struct boot_address {
    BOOT_ADDRESS_FIELDS(FIELD_MEMBER)
};

struct boot_machine {
    BOOT_MACHINE_FIELDS(FIELD_MEMBER)
    uint32_t mac_count; /* BOOT_MACS_MAX at most */
    uint32_t address_count;
    const uint64_t *macs; /* as numbers, ascending, each once */
    const struct boot_address *addresses;
};

struct boot_network {
    BOOT_NETWORK_FIELDS(FIELD_MEMBER)
};

struct boot_range {
    BOOT_RANGE_FIELDS(FIELD_MEMBER)
};

struct boot_router {
    BOOT_ROUTER_FIELDS(FIELD_MEMBER)
};

struct boot_lease {
    BOOT_LEASE_FIELDS(FIELD_MEMBER)
};

struct boot_name {
    BOOT_NAME_FIELDS(FIELD_MEMBER)
};

struct boot_bootenv {
    BOOT_BOOTENV_FIELDS(FIELD_MEMBER)
    uint32_t initrd_count;
    const struct str *initrds; /* paths, in the order in which they are loaded */
};

struct boot_entry {
    struct boot_key key;
    union {
#define B(upper, lower) struct boot_##lower lower;
        BOOT_FACTS(B)
#undef B
    };
};

const char *boot_fact_name(enum boot_fact kind);
/* The order of a base image: by kind, then by id. <0, 0, >0. */
int boot_key_cmp(struct boot_key a, struct boot_key b);

void boot_key_encode(struct boot_key key, struct buf *out);
/* ERR_CORRUPT if there is no key at `*at`, which advances on success only. */
NODISCARD err boot_key_decode(struct str bytes, uint32_t *at, struct boot_key *out_key);

/* Append the bytes of the entry. Lists must be within their limits. */
void boot_entry_encode(const struct boot_entry *entry, struct buf *out);
/* Decode exactly one entry, which takes all bytes. Strings point into `bytes`, lists are in `a`.
 * ERR_CORRUPT for anything that boot_entry_encode() does not write: an unknown kind, a list that is
 * too long or out of order, a text that is not clean UTF-8, an address in another form, more bytes
 * or fewer; *out_entry is then undefined. */
NODISCARD err boot_entry_decode(struct str bytes, struct arena *a, struct boot_entry *out_entry);

/* The summand of the entry in the digest of a view; never 0. */
struct digest128 boot_entry_hash(const struct boot_entry *entry, struct arena *scratch);
