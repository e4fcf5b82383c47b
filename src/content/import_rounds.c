#include "content/import_rounds.h"

#include "base/err.h"

struct import_rounds import_rounds_begin(struct arena *a, uint32_t count)
{
    struct import_rounds r = {.wanted = arena_array(a, bool, count), .count = count};
    for (uint32_t i = 0; i < count; i++)
        r.wanted[i] = true;
    r.wanted_count = count;
    return r;
}

bool import_rounds_is_pending(const struct import_rounds *r, uint32_t i)
{
    return i < r->count && r->wanted[i];
}

void import_rounds_exclude(struct import_rounds *r, uint32_t i)
{
    must(import_rounds_is_pending(r, i));
    r->wanted[i] = false;
    r->wanted_count--;
}

static bool has_another(const struct import_rounds *r)
{
    return r->waiting == 0 && r->taken > 0 && r->wanted_count > 0;
}

static bool next_of_round(struct import_rounds *r, uint32_t *out_i)
{
    while (r->next < r->count && !r->wanted[r->next])
        r->next++;
    if (r->next == r->count)
        return false;
    *out_i = r->next++;
    r->waiting++;
    return true;
}

bool import_rounds_next(struct import_rounds *r, uint32_t *out_i)
{
    if (next_of_round(r, out_i))
        return true;
    if (!has_another(r))
        return false;
    r->next = r->taken = 0;
    return next_of_round(r, out_i);
}

void import_rounds_set_result(struct import_rounds *r, uint32_t i, enum import_rounds_result end)
{
    must(import_rounds_is_pending(r, i) && r->waiting > 0);
    r->waiting--;
    r->taken += end == ROUNDS_IMPORTED;
    if (end != ROUNDS_REFUSED)
        import_rounds_exclude(r, i);
}

bool import_rounds_is_done(const struct import_rounds *r)
{
    return r->waiting == 0 && !has_another(r) && (r->wanted_count == 0 || r->next == r->count);
}
