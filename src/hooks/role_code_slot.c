#include "hooks/role_code_slot.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The slot owns the code and the reason. Setting new content frees the old one first. All functions
 * must be called in the worker thread, or after it has ended. */

void role_code_slot_fini(struct role_code_slot *slot)
{
    role_code_free(slot->code);
    free(slot->missing_reason);
    *slot = (struct role_code_slot){0};
}

void role_code_slot_put(struct role_code_slot *slot, struct role_code *code)
{
    role_code_slot_fini(slot);
    slot->is_known = true;
    slot->code = code;
}

void role_code_slot_miss(struct role_code_slot *slot, struct str why)
{
    char *missing_reason = malloc(why.len + 1u);
    must(missing_reason);
    if (why.len)
        memcpy(missing_reason, why.at, why.len);
    missing_reason[why.len] = 0;
    role_code_slot_put(slot, NULL);
    slot->missing_reason = missing_reason;
}
