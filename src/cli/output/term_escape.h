/* term_escape.h - removes control characters from text that is written to a terminal.
 *
 * Text from runs, machines or other users is untrusted: escape sequences in it could change the
 * terminal of the operator. Every module that prints such text uses these functions. JSON and YAML
 * output escapes control characters itself.
 */
#pragma once

#include "base/text/buf.h"
#include "base/text/str.h"

/* Write text on one line: each control character becomes a space. */
void term_put_escaped(struct buf *b, struct str text);
/* The same, but newlines and tabs are kept. */
void term_put_escaped_lines(struct buf *b, struct str text);
/* The width in columns, counted as one per code point. Wide and combining characters are not
 * considered. */
uint32_t term_width_escaped(struct str text);
