/* boot_counts.h - what a boot server counts, for the metrics of the daemon (BOOT_METRICS).
 *
 * Requests are counted by kind and boot environment. The number of environments is bounded: those
 * that come later are counted as "other".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "boot/dhcp/dhcp_engine.h"

#define BOOT_REQUEST_KINDS(X)                                                                      \
    X(SCRIPT, "script")                                                                            \
    X(INSTALL, "install")                                                                          \
    X(FORBIDDEN, "forbidden")                                                                      \
    X(FILE, "file")                                                                                \
    X(MISSING, "missing")                                                                          \
    X(DOCUMENT, "document")

enum boot_request_kind {
#define X(upper, text) BOOT_REQUEST_##upper,
    BOOT_REQUEST_KINDS(X)
#undef X
        BOOT_REQUEST_COUNT
};

enum { BOOT_COUNTED_ENVS = 64, BOOT_COUNTED_NAME_MAX = 64 };

struct boot_counted_env {
    char name[BOOT_COUNTED_NAME_MAX];
    uint32_t len;
    uint64_t counts[BOOT_REQUEST_COUNT];
};

struct boot_counts {
    struct boot_counted_env envs[BOOT_COUNTED_ENVS]; /* the first is "", the second "other" */
    uint32_t env_count;
    uint64_t tftp_sent, tftp_failed;
};

/* Counts a request; the environment may be empty. */
void boot_counts_add(struct boot_counts *c, enum boot_request_kind kind, struct str env);
/* Appends all counts that are not zero, as boot_count_put() writes them. `dhcp` may be NULL. */
void boot_counts_put(const struct boot_counts *c, const struct dhcp *dhcp, struct buf *out);
