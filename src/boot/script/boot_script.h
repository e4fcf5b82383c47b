/* boot_script.h - what a machine is to boot, as a script.
 *
 * A request (a MAC, where it came from, and a ticket if it has one) and the boot view give an
 * answer: a script, a refusal, or that the daemon must grant it first. The answer is a function of
 * these alone; the caller has the clocks, the random numbers and the sockets.
 *
 * Rules. A machine that is a node boots its environment. An environment that no barclamp defines,
 * and "local", mean its disk. What other machines boot is a setting of their network: the first
 * environment with the method discovery by name (hold, if there is none), a script that waits and
 * asks again (hold), or their disk.
 * A script is given only to the address of the machine: one of its reservations, or that of a live
 * lease of this MAC. In proxy mode, in which another server assigns addresses, a ticket of this
 * MAC is required instead. A ticket of another MAC is always refused.
 * An installer is started in two steps, so that only the last request destroys data: its script
 * loads kernel and initrds and then asks for BOOT_PATH_INSTALL with its ticket; that needs a grant
 * of the daemon (docs/spec/machines.md). Neither its script nor any text for GRUB or PXELINUX
 * starts an installer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "boot/script/ticket.h"
#include "boot/view/view.h"
#include "model/grant.h"

/* The boot server, as the machine reaches it. */
struct boot_site {
    const struct view *view;
    const struct ticket_key *key;
    uint32_t address; /* IPv4, a number in host order */
    uint16_t port;    /* of its HTTP server */
    bool is_proxy;
};

enum boot_form {
    BOOT_FORM_IPXE,
    BOOT_FORM_GRUB,    /* by TFTP */
    BOOT_FORM_PXELINUX /* by TFTP */
};

struct boot_request {
    uint64_t mac;
    struct str ticket; /* empty = none */
    uint32_t source;   /* the address it came from */
    bool is_install;   /* BOOT_PATH_INSTALL */
    enum boot_form form;
    int64_t now_s;   /* since 1970, for tickets */
    int64_t now_ms;  /* monotonic, for leases */
    uint32_t random; /* for a new ticket */
};

enum boot_answer_kind {
    BOOT_ANSWER_TEXT,     /* 200 */
    BOOT_ANSWER_GRANT,    /* ask the daemon (GRANT_USE), then boot_script_of_grant() */
    BOOT_ANSWER_FORBIDDEN /* 403; no file for TFTP */
};

struct boot_answer {
    enum boot_answer_kind kind;
    struct str text;    /* of BOOT_ANSWER_TEXT */
    int64_t node;       /* id; 0 = no node has the MAC */
    int64_t generation; /* boot generation of the node */
    struct str bootenv; /* the environment that is booted; "local", "hold" */
    struct str ticket;  /* the ticket in the script; of BOOT_ANSWER_GRANT the one to be used */
    struct str reason;  /* why another environment is booted, why it is refused, or which arguments
                         * were left out; else empty */
};

void boot_script_answer(const struct boot_site *site, const struct boot_request *request,
                        struct arena *a, struct boot_answer *out);
/* The script after the daemon's answer. If the daemon does not answer, the reply is 503: the
 * script of the installer asks again with the same ticket. */
struct str boot_script_of_grant(const struct boot_site *site, const struct boot_request *request,
                                enum grant_answer grant, struct arena *a);
/* The file autoexec.ipxe, which is the same for all machines: it chains the script of its MAC. */
struct str boot_script_autoexec(const struct boot_site *site, struct arena *a);
