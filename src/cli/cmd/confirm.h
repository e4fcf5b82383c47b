/* confirm.h - nothing is destroyed unasked.
 *
 * A verb that destroys something gathers what that is, of all its operands, and asks once before it
 * does anything: on the terminal, or by the option --yes where there is none. Without consent the
 * exit status is CLI_NOT_AGREED and nothing has changed. Which noderoles a commit would let destroy
 * data the daemon says; the commit carries the hash of that answer, so that the daemon refuses what
 * was not shown.
 */
#pragma once

#include "base/text/buf.h"
#include "cli/cmd/request.h"

/* What would be lost: the first lines, and how many there are. */
struct losses {
    struct buf lines;
    uint32_t count;
};

enum { LOSSES_SHOWN_MAX = 20 };

/* A line of its own for `text`, if it is among the first. */
void losses_add(struct losses *losses, struct str text);
/* CLI_OK: --yes was given, or the answer on the terminal was yes. `what` is said before the
 * list. */
enum cli_exit confirm_ask(struct cli_request *e, const char *what, const struct losses *losses);

/* A commit of one object. */
struct agreement {
    struct str path;
    struct str hash; /* what was agreed to; empty: to whatever it does, as --yes and --plan say */
    enum cli_exit status; /* other than CLI_OK: it cannot be committed, reported already */
};

/* Ask for all of the operands. False: *out_status says why nothing is to be done. */
bool confirm_to_commits(struct cli_request *e, struct agreement *agreements,
                        enum cli_exit *out_status);
/* The server refused one operand; the others are still to be committed. */
bool confirm_is_refusal(enum cli_exit status);
/* What would be destroyed is not what was agreed to any more: ask again. */
enum cli_exit confirm_again(struct cli_request *e, struct agreement *agreement);

/* After a commit: list on stderr the values that are stored on noderoles that are not proposed,
 * which the commit did not publish. */
void confirm_warn_unproposed(struct cli_request *e, const struct agreement *agreement);

/* After a commit that reruns what ran with other defaults: print the noderoles that it leaves out
 * because their roles destroy data. */
enum cli_exit confirm_show_left_out(struct cli_request *e, const struct agreement *agreement);

/* The verb destroy, of nouns that may have noderoles. */
enum cli_exit confirm_destroy(struct cli_request *e);
