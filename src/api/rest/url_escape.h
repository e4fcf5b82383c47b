/* url_escape.h - writing what goes into an address. */
#pragma once

#include "base/text/buf.h"

/* Everything but letters, digits and "-._~" as %XX. */
void url_escape(struct buf *b, struct str s);
