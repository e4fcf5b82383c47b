/* url_escape.h - percent-encoding for URLs (RFC 3986). */
#pragma once

#include "base/text/buf.h"

/* Writes everything except letters, digits and "-._~" as %XX. */
void url_escape(struct buf *b, struct str s);
