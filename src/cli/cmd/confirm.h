/* confirm.h - consent before data is destroyed.
 *
 * A verb that destroys data collects what would be lost for all operands and asks once, before it
 * changes anything: on the terminal, or by the option --yes. Without consent the exit status is
 * CLI_NOT_AGREED and nothing has changed. The daemon reports which noderoles would destroy data
 * after a commit, with a hash of that list. The commit is sent with the hash, so that the daemon
 * refuses it if the list has changed since it was shown.
 */
#pragma once

#include "base/text/buf.h"
#include "cli/cmd/request.h"

/* What would be lost: the first LOSSES_SHOWN_MAX lines, and the count of all. */
struct losses {
    struct buf lines;
    uint32_t count;
    bool has_wipe; /* a disk is among them */
};

enum { LOSSES_SHOWN_MAX = 20 };

/* Count a loss, and add a line for it if it is one of the first LOSSES_SHOWN_MAX. */
void losses_add(struct losses *losses, struct str text);
/* Print `what` and the list, and ask. CLI_OK: --yes was given, or "yes" was typed on the terminal.
 */
enum cli_exit confirm_ask(struct cli_request *req, const char *what, const struct losses *losses);

/* The consent to the commit of one object. */
struct agreement {
    struct str path;
    struct str hash;      /* of the list that was agreed to; empty: --yes or --plan was given */
    enum cli_exit status; /* other than CLI_OK: cannot be committed, and the error is printed */
};

/* Ask once for all operands. False: commit nothing, *out_status is the exit status. */
bool confirm_commits(struct cli_request *req, struct agreement *agreements,
                     enum cli_exit *out_status);
/* True if the server refused one operand, so that the others can still be committed. */
bool confirm_is_refusal(enum cli_exit status);
/* The list has changed since the operator agreed to it: show the new one and ask again. */
enum cli_exit confirm_again(struct cli_request *req, struct agreement *agreement);

/* After a commit: list on stderr the values in noderoles that are not proposed, which the commit
 * did not publish. */
void confirm_warn_unproposed(struct cli_request *req, const struct agreement *agreement);

/* After a commit with --rerun-changed: print the noderoles that it does not rerun because their
 * roles destroy data. */
enum cli_exit confirm_show_left_out(struct cli_request *req, const struct agreement *agreement);

/* The verb destroy for nouns that may have noderoles. */
enum cli_exit confirm_destroy(struct cli_request *req);
