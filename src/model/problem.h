/* problem.h - reasons why a request is refused.
 *
 * A refusal is a list of all problems of the request, not only the first one. The code is stable
 * and documented in docs/runbook.md, the field names what to change, the text is a sentence. HTTP
 * and the command line show them unchanged.
 */
#pragma once

#include "base/text/str.h"

/* code, HTTP status */
#define PROBLEMS(X)                                                                                \
    X(BAD_TEXT, 400)            /* not UTF-8, U+0000, or longer than the field allows      */      \
    X(BAD_JSON, 400)            /* not a JSON document, or not of the required type        */      \
    X(MISSING, 400)             /* a required field is absent                              */      \
    X(BAD_VALUE, 400)           /* outside the values the field can take                   */      \
    X(FORBIDDEN, 403)           /* the caller lacks the level in a deployment              */      \
    X(NOT_FOUND, 404)           /* no such object                                          */      \
    X(NOT_SUPPORTED, 405)       /* that verb does not exist for this object                */      \
    X(NAME_INVALID, 409)        /* breaks the rule for names of this kind                  */      \
    X(NAME_TAKEN, 409)          /* another object has this name                            */      \
    X(LIMIT_REACHED, 409)       /* a bound of model/limits.h would be exceeded             */      \
    X(WRONG_STATE, 409)         /* the verb is not allowed in this state                   */      \
    X(PARENTS_NOT_ACTIVE, 409)  /* retry needs every parent active                         */      \
    X(NOT_PROPOSED, 409)        /* data can be edited only while proposed                  */      \
    X(DATA_PROPOSED, 409)       /* commit the deployment role's data first                 */      \
    X(HOOK_FAILED, 409)         /* on_proposed failed and has not succeeded since          */      \
    X(HOOK_VETO, 409)           /* a hook vetoed the command                               */      \
    X(HOOKS_UNSETTLED, 409)     /* the veto requests changed in each of three rounds       */      \
    X(ABSTRACT_ROLE, 409)       /* the role can only be provided by other roles            */      \
    X(ROLE_CONFLICT, 409)       /* the two roles may not share a node                      */      \
    X(PROVIDES_CLASH, 409)      /* provider and provided (or two providers) on one node    */      \
    X(PROVIDES_ANCESTRY, 409)   /* one of provider and provided is an ancestor of the other*/      \
    X(JIG_INACTIVE, 409)        /* the jig of the role is missing or inactive              */      \
    X(REQUIRE_UNRESOLVED, 409)  /* a required role has not been imported                   */      \
    X(ATTRIB_UNKNOWN, 409)      /* a wanted attrib does not exist                          */      \
    X(BOUND_ELSEWHERE, 409)     /* the role is on this node in another deployment          */      \
    X(GRAPH_CYCLE, 409)         /* the dependencies of noderoles would form a cycle        */      \
    X(ROLE_CYCLE, 409)          /* the requirements of roles would form a cycle            */      \
    X(CLASS_UNKNOWN, 409)       /* no such jig implementation                              */      \
    X(OWNER_DIFFERS, 409)       /* the attrib belongs to another barclamp or role          */      \
    X(SCHEMA_INVALID, 409)      /* the schema itself is malformed                          */      \
    X(SCHEMA_VIOLATED, 409)     /* the value violates the schema                           */      \
    X(READ_ONLY, 409)           /* the attrib is not writable                              */      \
    X(SYSTEM_DEPLOYMENT, 409)   /* not possible for the deployment `system`                */      \
    X(HAS_CHILDREN, 409)        /* the deployment has deployments below it                 */      \
    X(HAS_DEPENDANTS, 409)      /* noderoles elsewhere depend on it                        */      \
    X(IN_USE, 409)              /* noderoles of that role exist                            */      \
    X(LAST_ADMIN, 409)          /* the last admin node or user cannot be removed           */      \
    X(TOO_DEEP, 409)            /* the deployment tree would be too deep                   */      \
    X(TARGET_INVALID, 409)      /* a node cannot be held at this role                      */      \
    X(PLAN_CHANGED, 409)        /* the commit would do something else than the plan        */      \
    X(STALE, 409)               /* changed since the request read it                       */      \
    X(PRECONDITION_FAILED, 412) /* If-Match or If-None-Match does not hold                 */      \
    X(CHAIN_TOO_LONG, 409)      /* a chain of hooks that cause hooks exceeds CHAIN_MAX     */      \
    X(NO_POWER_ACTION, 501)     /* no hammer of the node offers it                         */      \
    X(HOST_KEY_TAKEN, 409)      /* the ssh host key is pinned for another node             */      \
    X(HOST_KEY_CHANGED, 409)    /* the ssh host key is not the one pinned for the node     */      \
    X(HOST_KEY_REFUSED, 409)    /* the ssh host key is one of the host of the daemon       */      \
    X(BUSY, 409)                /* the data changed in each attempt to compute the answer  */      \
    X(NETWORK_INVALID, 409)     /* a field of a network, range or router breaks a rule     */      \
    X(CONDUIT_OVERLAP, 409)     /* another network or range uses some of the interfaces    */      \
    X(RANGE_OVERLAP, 409)       /* another range contains some of the addresses            */      \
    X(ADDRESS_TAKEN, 409)       /* the address is in use or was freed lately               */      \
    X(RANGE_FULL, 409)          /* the range has no free address                           */      \
    X(MAC_TAKEN, 409)           /* another node has the MAC                                */      \
    X(BEING_DELETED, 409)       /* the network or name filter is deleted in slices         */

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
