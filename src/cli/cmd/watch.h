/* watch.h - hearing of changes, and waiting for one.
 *
 * Events come as a stream (server-sent events). A stream that breaks is taken up again where it
 * ended, with pauses that grow; only what the server refuses ends the watching.
 */
#pragma once

#include "cli/cmd/request.h"

/* The list of the noun, again whenever something has changed. */
enum cli_exit watch_list(struct cli_request *e);
/* One line for each event. */
enum cli_exit watch_events(struct cli_request *e);
/* Until a field of an object has a value: [NOUN] NAME FIELD VALUE. */
enum cli_exit watch_wait(struct cli_request *e);

/* So long, or until a signal comes. */
void watch_pause(int64_t ms);
