#include "hooks/role_code_slot.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void role_code_slot_fini(struct role_code_slot *shelf)
{
    role_code_free(shelf->code);
    free(shelf->trouble);
    *shelf = (struct role_code_slot){0};
}

void role_code_slot_put(struct role_code_slot *shelf, struct role_code *code)
{
    role_code_slot_fini(shelf);
    shelf->is_known = true;
    shelf->code = code;
}

void role_code_slot_miss(struct role_code_slot *shelf, struct str why)
{
    char *trouble = malloc(why.len + 1u);
    must(trouble);
    if (why.len)
        memcpy(trouble, why.at, why.len);
    trouble[why.len] = 0;
    role_code_slot_put(shelf, NULL);
    shelf->trouble = trouble;
}
