/* session_idle.h - idle timeout of browser sessions.
 *
 * It stores when each session was used last and refuses those that were not used for IDLE_MS. An
 * unknown session starts now: after a restart every session gets its idle time again. The table is
 * bounded: when a set is full, the session that was used longest ago is dropped. Times are those of
 * a monotonic clock, in ms.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IDLE_MS  ((int64_t)30 * 60 * 1000)
#define IDLE_MAX 4096u

struct session_idle;

struct session_idle *session_idle_new(void);
void session_idle_free(struct session_idle *idle); /* NULL is allowed */

/* Record a use of the session. False: it was idle for too long and stays expired. */
bool session_record_use(struct session_idle *idle, int64_t session_id, int64_t now_ms);
