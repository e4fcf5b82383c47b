/* role_code_slot.h - the code of one role: present, not required, or missing with a reason.
 *
 * It belongs to the worker thread: code is created, called and replaced there, so the loop never
 * waits for it. The loop frees it after the thread has ended. All zero: nothing is known about the
 * code of the role. */
#pragma once

#include <stdbool.h>

#include "hooks/role_code.h"

struct role_code_slot {
    bool is_known;
    struct role_code *code;
    char *missing_reason; /* why required code is missing; or NULL */
};

/* Takes ownership of the code; NULL: the role has none and needs none. */
void role_code_slot_put(struct role_code_slot *slot, struct role_code *code);
/* The role should have code and has none, for this reason. */
void role_code_slot_miss(struct role_code_slot *slot, struct str why);
void role_code_slot_fini(struct role_code_slot *slot);
