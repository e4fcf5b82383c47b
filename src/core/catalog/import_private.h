/* import_private.h - one import in progress; shared by import.c and import_roles.c.
 *
 * An import walks the document once, writing rows as it goes: a refusal takes all of it back. So
 * that every problem is told at once it goes on after the first, leaving out what makes no sense.
 */
#pragma once

#include "base/json/json.h"
#include "base/text/suggest.h"
#include "core/catalog/roles_private.h"

struct import {
    struct core *c;
    const struct json *doc;
    barclamp_ix barclamp; /* 0 when the document does not say which */
    struct json *warnings;
    uint32_t problems;
    role_ix *touched; /* roles whose own facts changed, and where they stand in the document */
    uint32_t *places;
    uint32_t touched_count;
    role_ix *line; /* roles that may have to require others than before, and why */
    uint32_t *line_places;
    uint32_t line_count;
    uint8_t *role_marks;        /* by index: enum role_mark */
    struct json **own_requires; /* by index: what this document says, if it defines the role */
    uint8_t *attribs_seen;      /* by index: defined in this document already */
    bool changed;               /* anything */
    bool attribs_moved;         /* an attrib has another owner, or none */
    bool jigs_moved;            /* a jig has another client role */
    bool withdrawn;             /* a role went, or lost its hooks */
};

enum role_mark {
    MARK_SEEN = 1, /* defined in this document already */
    MARK_TOUCHED = 2,
    MARK_IN_LINE = 4,
};

/* Enough is enough: a document with so many mistakes is not read any further. */
bool import_is_hopeless(const struct import *im);
void import_refuse(struct import *im, enum problem_code code, struct str field, struct str text);
/* The code is stable, for programs; docs/runbook.md lists them. */
void import_warn(struct import *im, const char *code, struct str field, struct str text);
/* "; did you mean x?", or nothing. */
struct str import_meant(struct import *im, const struct suggestion *nearest);

/* "place/key", "place/3". */
struct str place_of(struct import *im, struct str place, const char *key);
struct str place_at(struct import *im, struct str place, uint32_t i);

/* The member, or NULL when it is absent or null. */
const struct json *import_get(const struct json *object, const char *key);
/* A text (or a number as it was written); `absent` when there is none or it is no such thing. */
struct str import_text(struct import *im, const struct json *object, const char *key,
                       struct str place, struct str absent);
/* The elements of a list; NULL when there is none or it is no list. */
const struct json *import_list(struct import *im, const struct json *object, const char *key,
                               struct str place);
/* A name that must be there and obey its rule. */
bool import_name(struct import *im, struct str name, struct str field,
                 const char *(*check)(struct str));
/* "some-name" as "Some Name". */
struct str import_title(struct import *im, struct str name);
/* One attrib, of `owner` or of nodes. With `write` false it is only looked at. */
void import_attrib(struct import *im, const struct json *entry, struct str place, role_ix owner,
                   bool write);

/* import_roles.c, in this order; attribs of nodes are imported in between, so that one which was a
 * role's does not go with it. */
void import_roles(struct import *im);
void import_left_out(struct import *im);
void import_requires(struct import *im);
