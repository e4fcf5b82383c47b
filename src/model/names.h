/* names.h - syntax of the names of objects.
 *
 * One function per kind of object. Each checks the string alone; uniqueness, and whether it ignores
 * case, is checked by the module that owns the other names. A key that consists of digits is an id,
 * so no name may consist of digits only; only names of nodes may begin with one.
 *
 * Every function returns NULL if the string is valid, otherwise a static phrase that follows the
 * name of the field in a message: "name" + " " + "must begin with a letter".
 */
#pragma once

#include "base/text/str.h"

/* Letter first, then letters, digits, underscores. A barclamp (package of roles) may not have a
 * name that is a path segment of the API, in any case. */
const char *names_check_barclamp(struct str name);
const char *names_check_group(struct str name);

/* Letter first, then letters, digits, dashes, underscores. A deployment's name is at most 55
 * characters because its phantom node puts "-phantom" behind it in one label. */
const char *names_check_jig(struct str name);
const char *names_check_role(struct str name);
const char *names_check_hammer(struct str name);
const char *names_check_deployment(struct str name);

/* Networks and their ranges: as above, at most 48 characters, because names of roles and attribs
 * are made of them. */
const char *names_check_network(struct str name);

/* Names in a barclamp document, which may be made for each network: a name of a role or attrib in
 * which "{name}" is replaced by the name of the network. A role may contain it once. */
#define NAME_VARIABLE "{name}"
const char *names_check_role_pattern(struct str name);
const char *names_check_attrib_pattern(struct str name);

/* Boot environments (docs/spec/boot.md): a name as of an attrib, but not "local", which means the
 * disk; a path below the files of a boot server; kernel arguments; a method. */
const char *names_check_bootenv(struct str name);
const char *names_check_boot_path(struct str path);
const char *names_check_boot_args(struct str args);
const char *names_check_boot_method(struct str method);

/* The category and group of a network: a line of text. */
const char *names_check_label(struct str label);

/* class, rack, tag or ui, exactly. The caller replaces a missing category by "ui". */
const char *names_check_category(struct str category);

/* A host name with at least three labels of letters, digits, dashes and underscores; the last one
 * at least two letters. The caller converts it to lower case; capitals are refused here, so that a
 * forgotten conversion cannot store one. */
const char *names_check_node(struct str name);

/* Letters, digits, dash, underscore, dot; no leading digit; not "." or "..", which clients remove
 * from a URL as dot segments (RFC 3986, 5.2.4). */
const char *names_check_attrib(struct str name);

/* The title of a snapshot, not a key: any line of text that is neither blank nor all digits. */
const char *names_check_snapshot(struct str name);

/* A username is any text without spaces, control characters, ':' (it ends the name in Basic and
 * digest credentials) and '/' (it ends the name in a URL). An e-mail address, if there is one, has
 * the form local@domain.tld. The caller converts both to lower case; capitals are refused. */
const char *names_check_username(struct str username);
const char *names_check_email(struct str email);

/* Descriptions and other free text: may be empty, may have several lines, at most TEXT_MAX
 * bytes. */
const char *names_check_text(struct str text);
