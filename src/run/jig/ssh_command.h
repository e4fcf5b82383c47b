/* ssh_command.h - the command lines of OpenSSH, and what its failures mean.
 *
 * ssh never asks anybody anything: it has our key, our list of known hosts, and fails otherwise. A
 * machine is known by the name of its node, not by its address, so that a machine which takes over
 * an address is noticed, and a node that moves is not. Nothing is started or written here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "run/jig/launch_spec.h"

#define SSH_FAILED 255 /* the status with which ssh says that it failed itself */

/* name, code, sentence */
#define SSH_TROUBLES(X)                                                                            \
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

enum ssh_trouble {
#define X(name, code, text) SSH_##name,
    SSH_TROUBLES(X)
#undef X
};

/* What ssh said on standard error when it ended with SSH_FAILED. */
enum ssh_trouble ssh_trouble_of(struct str log);
/* What a message says that quotes ssh somewhere in it, as those of ansible do. */
enum ssh_trouble ssh_trouble_in(struct str message);
const char *ssh_trouble_text(enum ssh_trouble trouble);
enum reason_code ssh_trouble_code(enum ssh_trouble trouble);

/* Options of ssh for that node, each "-o" a word of its own; they go for every program of its
 * family. */
uint32_t ssh_options(const struct transport *t, struct str node, struct arena *a,
                     struct str **out_words);
/* Has the transport a shared connection, with a path that a socket can have? It is used when it is
 * there: nobody waits for it. */
bool ssh_is_shared(const struct transport *t);
/* The connection that others share, for as long as it runs. It says nothing, whatever happens.
 * `program` is the path of ssh. */
void ssh_master(const struct jig_work *w, const char *program, struct arena *a,
                struct launch_spec *r);
/* Has it end with the last one that goes through it. */
void ssh_master_leave(const struct jig_work *w, const char *program, struct arena *a,
                      struct launch_spec *r);
/* The command line that has `command` run by the login shell over there. `program` is the path of
 * ssh. */
void ssh_command(const struct jig_work *w, const char *program, struct str command, struct arena *a,
                 struct launch_spec *r);
/* 'so', whatever is in it. For shells. */
struct str ssh_quoted(struct arena *a, struct str word);

/* First contact: the program that asks a machine for its host keys. `program` is the path of
 * ssh-keyscan. */
void ssh_first_contact(const struct jig_work *w, const char *program, struct arena *a,
                       struct launch_spec *r);
/* The keys that it wrote on standard output, a line "TYPE BASE64" for each. ERR_NOT_FOUND: no key
 * in it. ERR_SYNTAX: it is not what ssh-keyscan writes. */
NODISCARD err ssh_scanned_keys(struct arena *a, struct str scanned, struct str *out_keys);
/* The last complaint that it wrote on standard error, which also says whom it asked. */
struct str ssh_scan_complaint(struct str said);
