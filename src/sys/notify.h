/* notify.h - notifications to the service manager, as sd_notify(3).
 *
 * The protocol is implemented without libsystemd: one datagram of lines to the socket in
 * NOTIFY_SOCKET. Without a service manager every call has no effect. There are no replies.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...": lines of sd_notify(3). False: there is no
 * service manager, or the datagram could not be sent. */
bool notify_send(const char *lines);
bool notify_ready(void);
/* RELOADING=1 with MONOTONIC_USEC, which the service manager requires. READY=1 ends the reload. */
bool notify_reloading(void);

/* The interval of WATCHDOG=1 in ms: half of the time that the service manager allows. 0: never. */
uint64_t notify_watchdog_ms(void);
