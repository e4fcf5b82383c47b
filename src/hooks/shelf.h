/* shelf.h - the code of all roles, by id, shared by the loop and the thread of the hooks.
 *
 * The loop puts code here and takes it away; the thread borrows one at a time. Code that is
 * replaced while it is borrowed lives until it is given back. Both may call at any time.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/role_code.h"

struct shelf_place {
    int64_t role_id;
    struct role_code *code;
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
/* Takes the code over; NULL leaves the role without any. */
void shelf_put(struct shelf *shelf, int64_t role_id, struct role_code *code);
/* NULL when there is none; otherwise give it back before borrowing again. */
struct role_code *shelf_borrow(struct shelf *shelf, int64_t role_id);
void shelf_give_back(struct shelf *shelf);
