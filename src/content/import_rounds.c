#include "content/import_rounds.h"

#include "base/err.h"

struct rounds rounds_begin(struct arena *a, uint32_t count)
{
    struct rounds r = {.wanted = arena_array(a, bool, count), .count = count};
    for (uint32_t i = 0; i < count; i++)
        r.wanted[i] = true;
    r.wanted_count = count;
    return r;
}

bool rounds_wants(const struct rounds *r, uint32_t i)
{
    return i < r->count && r->wanted[i];
}

void rounds_leave_out(struct rounds *r, uint32_t i)
{
    must(rounds_wants(r, i));
    r->wanted[i] = false;
    r->wanted_count--;
}

static bool has_another(const struct rounds *r)
{
    return r->waiting == 0 && r->taken > 0 && r->wanted_count > 0;
}

static bool next_of_round(struct rounds *r, uint32_t *out_i)
{
    while (r->next < r->count && !r->wanted[r->next])
        r->next++;
    if (r->next == r->count)
        return false;
    *out_i = r->next++;
    r->waiting++;
    return true;
}

bool rounds_next(struct rounds *r, uint32_t *out_i)
{
    if (next_of_round(r, out_i))
        return true;
    if (!has_another(r))
        return false;
    r->next = r->taken = 0;
    return next_of_round(r, out_i);
}

void rounds_tell(struct rounds *r, uint32_t i, enum rounds_end end)
{
    must(rounds_wants(r, i) && r->waiting > 0);
    r->waiting--;
    r->taken += end == ROUNDS_TAKEN;
    if (end != ROUNDS_REFUSED)
        rounds_leave_out(r, i);
}

bool rounds_is_over(const struct rounds *r)
{
    return r->waiting == 0 && !has_another(r) && (r->wanted_count == 0 || r->next == r->count);
}
