/* ipxe.h - the part of iPXE's script language that boot scripts use (boot/script/boot_texts.h).
 *
 * A script runs until it needs something from outside: another script, the kernel, the disk. Files
 * can always be loaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

enum ipxe_end {
    IPXE_BOOTS,  /* the kernel that is loaded */
    IPXE_CHAINS, /* `url` is the next script */
    IPXE_EXITS,  /* the firmware, or a loader, continues with the disk */
    IPXE_BROKEN  /* `url` is the line that is not understood, or the script does not end */
};

struct ipxe {
    bool is_bios;
    bool has_os;          /* a disk can be booted */
    struct str kernel;    /* path below /files of the kernel that is loaded; empty = none */
    struct str arguments; /* of it */
    struct str url;
};

enum ipxe_end ipxe_run(struct ipxe *ipxe, struct str script);
