/* notify.h - telling the service manager how we are.
 *
 * The protocol of sd_notify(3), spoken by hand: one datagram of lines to the socket that
 * NOTIFY_SOCKET names. Where there is no such manager every call does nothing, and nothing depends
 * on an answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...": lines as sd_notify takes them. False when
 * nobody wants to know, or the datagram could not be sent. */
bool notify_send(const char *lines);
bool notify_ready(void);
/* RELOADING=1 with the time that the manager wants beside it. READY=1 ends it. */
bool notify_reloading(void);

/* How often WATCHDOG=1 is to be said, in ms: half of what the manager allows. 0: not at all. */
uint64_t notify_watchdog_ms(void);
