/* boot_path.h - the requests for boot scripts: URLs of HTTP and names of TFTP.
 *
 * HTTP: /boot/MAC and /boot/MAC/install, with the ticket in the parameter "t" of the query string.
 * MAC has colons, hyphens, or colons as %3A. TFTP: autoexec.ipxe, pxelinux.cfg/01-MAC and
 * grub/grub.cfg-01-MAC, with hyphens. Stateless.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

enum boot_path_kind {
    BOOT_PATH_NONE, /* no boot script: a file, or nothing */
    BOOT_PATH_SCRIPT,
    BOOT_PATH_INSTALL,
    BOOT_PATH_AUTOEXEC,
    BOOT_PATH_PXELINUX,
    BOOT_PATH_GRUB
};

struct boot_path {
    enum boot_path_kind kind;
    uint64_t mac;      /* 0 for BOOT_PATH_AUTOEXEC */
    struct str ticket; /* as it is in the query string; empty = none */
};

/* `query` is what follows the question mark, or empty. */
struct boot_path boot_path_of_url(struct str path, struct str query);
/* `name` is normalized: no leading slash, no empty segment. */
struct boot_path boot_path_of_file(struct str name);
