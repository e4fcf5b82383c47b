/* role_code_slot.h - the code of one role: there is some, or none, or some that cannot be had.
 *
 * It belongs to the thread of the hooks: code is made, called and freed there, so the loop never
 * waits for it. All zero: nobody ever said anything of the role.
 */
#pragma once

#include <stdbool.h>

#include "hooks/role_code.h"

struct role_code_slot {
    bool is_known;
    struct role_code *code;
    char *trouble; /* why there is none, when there should be; or NULL */
};

/* Takes the code over; NULL: the role has none, and needs none. */
void role_code_slot_put(struct role_code_slot *shelf, struct role_code *code);
/* The role should have code, and this is why it has none. */
void role_code_slot_miss(struct role_code_slot *shelf, struct str why);
void role_code_slot_fini(struct role_code_slot *shelf);
