/* ssh_command.h - command lines of OpenSSH, and the meaning of its failures.
 *
 * ssh never prompts: it uses our key and our file of known hosts, and fails otherwise. A machine is
 * identified by its node, not by its address, so that another machine with the same address is
 * detected, and a node with a new address is not refused. Nothing is started or written here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "run/jig/launch_spec.h"

#define SSH_FAILED 255 /* exit status of ssh for its own failures */

/* name, code, sentence */
#define SSH_FAILURES(X)                                                                            \
    X(KEY_CHANGED, HOST_KEY_CHANGED,                                                               \
      "its host key is not the one that was pinned at first contact: it is another machine, was "  \
      "installed anew, or the connection is intercepted; if it is right, remove the pin: halligan" \
      " nodes forget-key")                                                                         \
    X(KEY_UNKNOWN, HOST_KEY_UNKNOWN,                                                               \
      "its host key was never pinned: the node has to be discovered first")                        \
    X(AUTH, SSH_KEY_REFUSED, "it does not accept the key of this installation for that user")      \
    X(REFUSED, CONNECTION_REFUSED, "nothing listens there: it is up, but its ssh server is not")   \
    X(TIMEOUT, CONNECTION_TIMEOUT,                                                                 \
      "it does not answer: it is off, or something between drops what is sent")                    \
    X(NO_ROUTE, UNREACHABLE, "there is no way to that address from here")                          \
    X(NAME, NAME_UNRESOLVED, "its name has no address")                                            \
    X(LOST, CONNECTION_LOST, "the connection broke, and how far the work came is not known")       \
    X(OUR_KEY, SSH_KEY_UNUSABLE, "the private key of this installation cannot be used")            \
    X(OTHER, SSH_FAILED,                                                                           \
      "ssh failed without saying why; the connection may have broken, and how far the work came "  \
      "is not known")

enum ssh_failure {
#define X(name, code, text) SSH_##name,
    SSH_FAILURES(X)
#undef X
};

/* The failure that ssh reported on standard error when it exited with SSH_FAILED. */
enum ssh_failure ssh_failure_from_log(struct str log);
/* The failure in a message that contains output of ssh, as those of ansible do. */
enum ssh_failure ssh_failure_in_message(struct str message);
const char *ssh_failure_text(enum ssh_failure failure);
enum reason_code ssh_failure_code(enum ssh_failure failure);

/* Options of ssh for that node, each "-o" as a separate argument; valid for all programs of
 * OpenSSH. */
uint32_t ssh_options(const struct transport *t, struct str node, struct arena *a,
                     struct str **out_words);
/* True if the transport has a control socket with a path that is short enough. It is used if it
 * exists; no run waits for it. */
bool ssh_is_shared(const struct transport *t);
/* The command that holds a shared connection open (ControlMaster). It prints nothing. `program` is
 * the path of ssh. */
void ssh_master_command(const struct jig_work *w, const char *program, struct arena *a,
                        struct launch_spec *r);
/* The command that makes the shared connection close after its last user. */
void ssh_master_stop_command(const struct jig_work *w, const char *program, struct arena *a,
                             struct launch_spec *r);
/* The command line that executes `command` in the login shell of the node. `program` is the path of
 * ssh. */
void ssh_command(const struct jig_work *w, const char *program, struct str command, struct arena *a,
                 struct launch_spec *r);
/* `word` in single quotes for a shell. */
struct str ssh_quoted(struct arena *a, struct str word);

/* First contact: the command that reads the host keys of a machine. `program` is the path of
 * ssh-keyscan. */
void ssh_first_contact(const struct jig_work *w, const char *program, struct arena *a,
                       struct launch_spec *r);
/* The keys on its standard output, a line "TYPE BASE64" for each. ERR_NOT_FOUND: there is no key.
 * ERR_SYNTAX: not the output of ssh-keyscan. */
NODISCARD err ssh_scanned_keys(struct arena *a, struct str scanned, struct str *out_keys);
/* The last error message on its standard error, which contains the address. */
struct str ssh_scan_complaint(struct str said);
