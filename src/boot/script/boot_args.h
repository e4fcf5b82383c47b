/* boot_args.h - the kernel arguments of a boot, and how values get into scripts. Stateless.
 *
 * Arguments are words, with one space between them:
 *
 *     halligan.server=URL halligan.ticket=TICKET halligan.mac=MAC halligan.generation=N
 *     BOOTIF=01-MAC [initrd=NAME...] [console=CONSOLE]
 *     the template of the environment, the settings, the options of the machine
 *
 * In all but the first of these, {name} {mac} {node_id} {generation} {ticket} {server} {port} and
 * {url} are replaced; other texts in braces stay. Of repeated arguments kernels use the last.
 *
 * Neither iPXE nor PXELINUX can quote, so a word that could be more than a word is left out: one
 * with a byte that is not printable ASCII or is one of " ' $ ; < > \ ` |, one that contains "&&",
 * and one that begins with "#". In a value that replaces a token, and in names that scripts print,
 * each byte that is no letter, no digit and none of + , - . / : = @ _ becomes an underscore, so the
 * value of a token is always one word. What exceeds BOOT_ARGS_LEN_MAX is left out, from the last
 * space before it.
 */
#pragma once

#include <stdint.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "boot/view/boot_settings.h"

/* The machine and the boot server, in the form in which scripts have them. */
struct boot_subject {
    uint64_t mac;
    int64_t node;       /* 0 = no node */
    int64_t generation; /* of the node */
    struct str name;    /* of the node; empty = no node */
    struct str ticket;
    struct str server; /* address */
    uint16_t port;     /* of HTTP */
    struct str url;    /* "http://192.0.2.1:8091" */
    enum local_boot local_boot;
};

struct boot_args_input {
    const struct boot_subject *subject;
    const struct boot_settings *settings;
    const struct json *options; /* of the machine: members "console", "kernel_args"; NULL = none */
    struct str bootenv;
    struct str template;
    uint32_t initrd_count; /* names initrd0, initrd1, ... for EFI kernels; 0 = none */
};

/* The arguments. *out_problem says what was left out; it is empty if nothing was. */
struct str boot_args_make(const struct boot_args_input *input, struct arena *a,
                          struct str *out_problem);
/* The text with underscores instead of bytes that could end a command; spaces too. */
struct str boot_args_clean(struct str text, struct arena *a);
/* "52-54-00-12-34-56" */
struct str boot_args_hyphenated(uint64_t mac, struct arena *a);
/* "52:54:00:12:34:56" */
struct str boot_args_mac(uint64_t mac, struct arena *a);
