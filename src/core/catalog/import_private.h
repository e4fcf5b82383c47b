/* import_private.h - one import in progress; shared by import.c and import_roles.c.
 *
 * A barclamp is a package of content. Its document defines jigs (ways to execute a role), hammer
 * kinds (drivers that reach or switch a machine), roles and attribs (named values).
 *
 * An import reads the document once and writes rows while it reads: if any problem was found, the
 * step is rolled back as a whole. To report all problems at once, it continues after the first one
 * and skips entries that are not usable; after PROBLEMS_MAX problems it stops reading. A warning
 * does not refuse the import. All memory is in the arena of the step. */
#pragma once

#include "base/json/json.h"
#include "base/text/suggest.h"
#include "core/catalog/roles_private.h"

struct import {
    struct core *c;
    const struct json *doc;
    network_ix network;    /* entries are imported for this network alone; 0 = the whole document */
    barclamp_ix barclamp;  /* 0 if the document does not name a valid one */
    struct json *warnings; /* array of {code, field, text} */
    uint32_t problems;     /* number of problems so far */
    role_ix *touched;      /* roles whose own definition changed, in the order of the change */
    uint32_t *positions;   /* of the touched roles in the document; or NO_POSITION */
    uint32_t touched_count;
    role_ix *requires_queue; /* roles whose requirements are written at the end */
    uint32_t *requires_positions;
    uint32_t requires_count;
    uint8_t *role_marks;        /* by role index: enum role_mark */
    struct json **own_requires; /* by role index: `requires` of this document; or NULL */
    uint8_t *attribs_seen;      /* by attrib index: defined in this document already */
    bool changed;               /* any row changed */
    bool attribs_moved;         /* an attrib has another owner, or was removed */
    bool jigs_moved;            /* a jig has another client role */
    bool withdrawn;             /* a role was removed, or withdrawn */
    bool has_variable;          /* the document contains "{name}" */
    bool is_copy;               /* the entry is the copy for a network: its warnings are known */
};

enum role_mark {
    MARK_SEEN = 1,    /* defined in this document */
    MARK_TOUCHED = 2, /* is in `touched` */
    MARK_QUEUED = 4,  /* is in `requires_queue` */
    MARK_PROPOSES = 8 /* its code has a new on_proposed */
};

/* True after PROBLEMS_MAX problems: the rest of the document is not read. */
bool import_is_given_up(const struct import *im);
void import_refuse(struct import *im, enum problem_code code, struct str field, struct str text);
/* The code is stable and listed in docs/runbook.md. */
void import_warn(struct import *im, const char *code, struct str field, struct str text);
/* "; did you mean x?", or "". */
struct str import_suggestion(struct import *im, const struct suggestion *nearest);

/* A field of a problem: "path/key", "path/3". */
struct str import_path_of(struct import *im, struct str path, const char *key);
struct str import_path_at(struct import *im, struct str path, uint32_t i);

/* The member, or NULL if it is absent or null. */
const struct json *import_get(const struct json *object, const char *key);
/* A string (or a number as written); `absent` if there is none or the value has another type. */
struct str import_text(struct import *im, const struct json *object, const char *key,
                       struct str path, struct str absent);
/* The first element of a list; NULL if there is none or the value is not a list. */
const struct json *import_list(struct import *im, const struct json *object, const char *key,
                               struct str path);
/* A list of strings that satisfy `check`; a string that is repeated is kept once. */
struct json *import_words(struct import *im, const struct json *entry, const char *key,
                          struct str path, const char *(*check)(struct str));
/* Checks a required name with `check`; refuses and returns false if it is invalid. */
bool import_name(struct import *im, struct str name, struct str field,
                 const char *(*check)(struct str));
/* "some-name" becomes "Some Name". */
struct str import_title(struct import *im, struct str name);
/* True if the entry is an object; refused otherwise. */
bool import_is_object(struct import *im, const struct json *entry, struct str path);
/* Names are compared without case, but the stored spelling must be repeated exactly. */
bool import_spelling_matches(struct import *im, struct str name, struct str stored,
                             struct str field);

/* import_attribs.c: the attribs of a role, and those of nodes. Without a role (0) they are only
 * checked. */
void import_role_attribs(struct import *im, const struct json *entry, struct str path, role_ix r);
void import_node_attribs(struct import *im);

/* import_bootenvs.c: the boot environments of the document. */
void import_bootenvs(struct import *im);

/* import_removed.c: the attribs of earlier versions that the document lists as removed. Called when
 * its attribs are written and the roles that it left out are removed. */
void import_removed_attribs(struct import *im);

/* The beginning and the end of an import; import_end() resolves names. With `network`, the document
 * is imported for that network alone. */
struct import import_begin(struct core *c, const struct json *doc, network_ix network);
void import_end(struct import *im);
/* Import the entries of the stored document that are made for each network, for this one. */
void import_for_network(struct core *c, barclamp_ix b, network_ix network);

/* import_per.c: entries that are made for each network. */

/* True if the entry has the key `per`; refuses values other than "network". */
bool import_is_per_network(struct import *im, const struct json *entry, struct str path);
/* Refuses "{name}" in an entry without `per`; true if there was one. */
bool import_has_stray_variable(struct import *im, const struct json *entry, struct str path);
/* Checks of an entry with `per`, besides those of its copies. */
void import_check_per_name(struct import *im, const struct json *entry, struct str path);
void import_check_per_role(struct import *im, const struct json *entry, uint32_t position);
/* True if a copy cannot define the attrib, which its barclamp owns, because another entry does. */
bool import_attrib_is_in_the_way(const struct import *im, attrib_ix ix,
                                 const struct attrib_def *def);
/* A copy with "{name}" replaced; and one with a name of the maximum length, to check the entry. */
struct json *import_per_copy(struct arena *a, const struct json *value, struct str name);
struct json *import_per_sample(struct import *im, const struct json *entry, struct str path);
/* The networks that entries are imported for, by id. */
network_ix import_next_network(const struct import *im, network_ix after);
uint32_t import_network_count(const struct core *c, network_ix only);

/* import_roles.c, called in this order. Attribs of nodes are imported before roles are removed, so
 * that an attrib which moved from a removed role to nodes is not removed with the role. */
void import_roles(struct import *im);
void import_remove_left_out(struct import *im);
void import_write_requires(struct import *im);
/* Removes one role that is in no deployment; withdraws it otherwise. */
void import_remove_role(struct import *im, role_ix r);
