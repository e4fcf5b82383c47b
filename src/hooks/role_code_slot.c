#include "hooks/role_code_slot.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void shelf_fini(struct shelf *shelf)
{
    role_code_free(shelf->code);
    free(shelf->trouble);
    *shelf = (struct shelf){0};
}

void shelf_put(struct shelf *shelf, struct role_code *code)
{
    shelf_fini(shelf);
    shelf->is_known = true;
    shelf->code = code;
}

void shelf_miss(struct shelf *shelf, struct str why)
{
    char *trouble = malloc(why.len + 1u);
    must(trouble);
    if (why.len)
        memcpy(trouble, why.at, why.len);
    trouble[why.len] = 0;
    shelf_put(shelf, NULL);
    shelf->trouble = trouble;
}
