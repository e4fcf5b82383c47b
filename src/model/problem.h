/* problem.h - what is wrong with a request, for the person who made it.
 *
 * A refusal is a list of problems, all of them, not the first one found. The code is stable and
 * documented, the field names what to change, the text is a sentence. They travel word for word
 * to HTTP and the command line.
 */
#pragma once

#include "base/text/str.h"

/* code, HTTP status */
#define PROBLEMS(X)                                                                                \
    X(BAD_TEXT, 400)            /* not UTF-8, U+0000, or longer than the field allows      */      \
    X(BAD_JSON, 400)            /* not a JSON document, or not of the kind wanted          */      \
    X(MISSING, 400)             /* a required field is absent                              */      \
    X(BAD_VALUE, 400)           /* outside the values the field can take                   */      \
    X(FORBIDDEN, 403)           /* the caller lacks the level in a deployment              */      \
    X(NOT_FOUND, 404)           /* no such object                                          */      \
    X(NOT_SUPPORTED, 405)       /* that verb does not exist for this object                */      \
    X(NAME_INVALID, 409)        /* breaks the rule for names of this kind                  */      \
    X(NAME_TAKEN, 409)          /* another object has it                                   */      \
    X(LIMIT_REACHED, 409)       /* a bound of the installation                             */      \
    X(WRONG_STATE, 409)         /* the verb is not allowed in this state                   */      \
    X(PARENTS_NOT_ACTIVE, 409)  /* retry needs every parent active                         */      \
    X(NOT_PROPOSED, 409)        /* data can be edited only while proposed                  */      \
    X(DATA_PROPOSED, 409)       /* commit the deployment role's data first                 */      \
    X(HOOK_FAILED, 409)         /* on_proposed failed and has not succeeded since          */      \
    X(HOOK_VETO, 409)           /* a hook said no                                          */      \
    X(HOOKS_UNSETTLED, 409)     /* the questions to hooks kept changing                    */      \
    X(ABSTRACT_ROLE, 409)       /* exists only to be provided                              */      \
    X(ROLE_CONFLICT, 409)       /* the two roles may not share a node                      */      \
    X(PROVIDES_CLASH, 409)      /* provider and provided (or two providers) on one node    */      \
    X(PROVIDES_ANCESTRY, 409)   /* provider and provided in one line of descent            */      \
    X(JIG_INACTIVE, 409)        /* nothing here can run this role                          */      \
    X(REQUIRE_UNRESOLVED, 409)  /* a required role has not been imported                   */      \
    X(ATTRIB_UNKNOWN, 409)      /* a wanted attrib does not exist                          */      \
    X(BOUND_ELSEWHERE, 409)     /* the role is on this node in another deployment          */      \
    X(GRAPH_CYCLE, 409)         /* the noderoles would wait for each other                 */      \
    X(ROLE_CYCLE, 409)          /* the roles would require each other                      */      \
    X(CLASS_UNKNOWN, 409)       /* no such jig implementation                              */      \
    X(OWNER_DIFFERS, 409)       /* the attrib belongs to somebody else                     */      \
    X(SCHEMA_INVALID, 409)      /* the schema itself is wrong                              */      \
    X(SCHEMA_VIOLATED, 409)     /* the value does not fit the schema                       */      \
    X(READ_ONLY, 409)           /* the attrib is not writable                              */      \
    X(SYSTEM_DEPLOYMENT, 409)   /* not with the system deployment                          */      \
    X(HAS_CHILDREN, 409)        /* other deployments hang below it                         */      \
    X(HAS_DEPENDANTS, 409)      /* noderoles elsewhere depend on it                        */      \
    X(IN_USE, 409)              /* noderoles of that role exist                            */      \
    X(LAST_ADMIN, 409)          /* the last admin node, or user, stays                     */      \
    X(TOO_DEEP, 409)            /* the deployment tree may not grow deeper                 */      \
    X(TARGET_INVALID, 409)      /* not a role a node can be held at                        */      \
    X(PLAN_CHANGED, 409)        /* committing would do something else than was planned     */      \
    X(STALE, 409)               /* somebody changed it first                               */      \
    X(PRECONDITION_FAILED, 412) /* it is not as the request says it must be               */       \
    X(CHAIN_TOO_LONG, 409)      /* hooks keep causing hooks                                */      \
    X(NO_POWER_ACTION, 501)     /* no hammer of the node offers it                         */      \
    X(HOST_KEY_TAKEN, 409)      /* the ssh host key is pinned for another node             */      \
    X(HOST_KEY_CHANGED, 409)    /* the ssh host key is not the one pinned for the node     */      \
    X(HOST_KEY_REFUSED, 409)    /* the ssh host key is one of the machine of the daemon    */      \
    X(BUSY, 409)                /* it changed each time before the answer was computed     */

enum problem_code {
    PROBLEM_NONE,
#define X(name, status) PROBLEM_##name,
    PROBLEMS(X)
#undef X
        PROBLEM_COUNT
};

struct problem {
    enum problem_code code;
    struct str field;
    struct str text;
    struct problem *next;
};

/* "bad_text", ... */
struct str problem_code_name(enum problem_code code);
int problem_status(enum problem_code code);
