/* watch.h - the verbs watch and wait: follow the events of the daemon, and poll a field.
 *
 * Events are a stream of server-sent events. A stream that breaks is resumed after its last event,
 * with increasing pauses; a refusal by the server or an error of stdout ends the watch.
 */
#pragma once

#include "cli/cmd/request.h"

/* Print the list of the noun, and again after each change. */
enum cli_exit watch_list(struct cli_request *req);
/* Print each event. */
enum cli_exit watch_events(struct cli_request *req);
/* Poll until a field of an object has a value: [NOUN] NAME FIELD VALUE. */
enum cli_exit watch_wait(struct cli_request *req);

/* Sleep; a signal may end it early. */
void watch_pause(int64_t ms);
