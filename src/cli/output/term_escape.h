/* term_escape.h - text of others on somebody's terminal.
 *
 * What a run, a machine or another user wrote may hold anything. A terminal obeys control
 * characters, so they are replaced wherever text is shown to people. Output for programs (json,
 * yaml) escapes them by itself.
 */
#pragma once

#include "base/text/buf.h"
#include "base/text/str.h"

/* On one line: whatever controls a terminal becomes a space. */
void term_put_escaped(struct buf *b, struct str text);
/* The same, but lines stay lines and tabs tabs. */
void term_put_escaped_lines(struct buf *b, struct str text);
/* How many columns it takes. One for each character, which is nearly true. */
uint32_t term_width_escaped(struct str text);
