/* session_idle.h - which sessions were used lately.
 *
 * It remembers when each session was seen last, and says no to those that were not seen for half an
 * hour. What it does not know begins now: after a restart every session gets its half hour anew. A
 * bounded table: where there is no room the one seen longest ago is forgotten. It is told the
 * time by a monotonic clock: only durations count here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IDLE_MS  ((int64_t)30 * 60 * 1000)
#define IDLE_MAX 4096u

struct session_idle;

struct session_idle *session_idle_new(void);
void session_idle_free(struct session_idle *idle); /* NULL is fine */

/* The session is used. False: it is too late for that, now and later. */
bool session_touch(struct session_idle *idle, int64_t session_id, int64_t now_ms);
