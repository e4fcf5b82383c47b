#include "content/import_rounds.h"

#include "base/err.h"

/* The state is the caller's struct import_rounds. A round offers each wanted document once, in
 * order; `next` is the position in it. The next round begins only if no result is outstanding and
 * this round imported a document, so the rounds end. A refusal keeps the document wanted; any other
 * result excludes it. Nothing can fail; a wrong index or a result without an import is a defect of
 * the caller (must). */

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

/* True if a further round may import documents that were refused in this one. */
static bool rounds_has_another(const struct import_rounds *r)
{
    return r->waiting == 0 && r->taken > 0 && r->wanted_count > 0;
}

static bool rounds_next_in_round(struct import_rounds *r, uint32_t *out_i)
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
    if (rounds_next_in_round(r, out_i))
        return true;
    if (!rounds_has_another(r))
        return false;
    r->next = r->taken = 0;
    return rounds_next_in_round(r, out_i);
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
    return r->waiting == 0 && !rounds_has_another(r) &&
           (r->wanted_count == 0 || r->next == r->count);
}
