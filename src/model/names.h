/* names.h - which words may name a thing.
 *
 * One verb per noun. Each looks at the text alone: whether the name is taken, and whether case
 * counts when that is asked, is the business of whoever holds the other names. A key made only of
 * digits is an id, so no name here may be all digits; only names of nodes may begin with one.
 *
 * Every verb returns NULL when the text will do, otherwise a static piece of a sentence that
 * follows the name of the field: "name" + " " + "must begin with a letter".
 */
#pragma once

#include "base/text/str.h"

/* Letter first, then letters, digits, underscores. A barclamp may not have the name of something
 * that already has a place in the URLs, in whatever case. */
const char *names_check_barclamp(struct str name);
const char *names_check_group(struct str name);

/* Letter first, then letters, digits, dashes, underscores. A deployment's name is at most 55
 * characters because its phantom node puts "-phantom" behind it in one label. */
const char *names_check_jig(struct str name);
const char *names_check_role(struct str name);
const char *names_check_hammer(struct str name);
const char *names_check_deployment(struct str name);

/* class, rack, tag or ui, exactly. A missing category is the caller's to fill in ("ui"). */
const char *names_check_category(struct str category);

/* A host name with at least three labels of letters, digits, dashes and underscores; the last one
 * at least two letters. The caller has made it lower case: capitals are refused here, so that
 * none can get into the store by a forgotten call. */
const char *names_check_node(struct str name);

/* Letters, digits, dash, underscore, dot; no digit in front; not "." or "..", which would vanish
 * from a URL. */
const char *names_check_attrib(struct str name);

/* What is shown of a snapshot, not a key: any line of text that is not blank nor all digits. */
const char *names_check_snapshot(struct str name);

/* A username is any text without spaces, control characters, ':' (it ends the name in Basic and
 * digest credentials) and '/' (it ends the name in a URL). An e-mail address, when there is one,
 * looks like local@domain.tld. The caller has made both lower case; capitals are refused. */
const char *names_check_username(struct str username);
const char *names_check_email(struct str email);

/* Descriptions and the like: empty is fine, lines are fine, up to TEXT_MAX bytes. */
const char *names_check_text(struct str text);
