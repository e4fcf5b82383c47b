/* shelf.h - the code of all roles, by id, shared by the loop and the thread of the hooks.
 *
 * The loop puts code here and takes it away; the thread borrows one at a time. Code that is
 * replaced while it is borrowed lives until it is given back. A role may also be known to have no
 * code, or to have some that cannot be had. Both threads may call at any time.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/role_code.h"

struct shelf_place {
    int64_t role_id;
    struct role_code *code;
    char *trouble; /* why there is none, when there should be; or NULL */
};

struct shelf {
    pthread_mutex_t mutex;      /* guards all of it */
    struct shelf_place *places; /* by role_id */
    uint32_t count, cap;
    struct role_code *borrowed;
    bool is_orphan; /* the borrowed code has no place any more */
};

void shelf_init(struct shelf *shelf);
void shelf_fini(struct shelf *shelf);
/* Takes the code over; NULL: the role has none, and needs none. */
void shelf_put(struct shelf *shelf, int64_t role_id, struct role_code *code);
/* The role should have code, and this is why it has none. */
void shelf_miss(struct shelf *shelf, int64_t role_id, struct str why);
/* The same, but code that is there stays. */
void shelf_miss_new(struct shelf *shelf, int64_t role_id, struct str why);

enum shelf_answer {
    SHELF_CODE,
    SHELF_NONE,    /* the role needs none                      */
    SHELF_MISSING, /* it should have some: `why`, in the arena */
    SHELF_UNKNOWN, /* nobody ever said anything of the role    */
};

struct shelf_loan {
    enum shelf_answer answer;
    struct role_code *code;
    struct str why;
};

/* To be given back, whatever it is, before borrowing again. */
struct shelf_loan shelf_borrow(struct shelf *shelf, int64_t role_id, struct arena *arena);
void shelf_give_back(struct shelf *shelf);
