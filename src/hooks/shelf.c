#include "hooks/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void shelf_init(struct shelf *shelf)
{
    *shelf = (struct shelf){0};
    must(pthread_mutex_init(&shelf->mutex, NULL) == 0);
}

void shelf_fini(struct shelf *shelf)
{
    must(!shelf->borrowed);
    for (uint32_t i = 0; i < shelf->count; i++) {
        role_code_free(shelf->places[i].code);
        free(shelf->places[i].trouble);
    }
    free(shelf->places);
    must(pthread_mutex_destroy(&shelf->mutex) == 0);
}

/* The first place of that role or a later one. */
static uint32_t find(const struct shelf *shelf, int64_t role_id)
{
    uint32_t low = 0, high = shelf->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (shelf->places[mid].role_id < role_id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_place_of(const struct shelf *shelf, uint32_t at, int64_t role_id)
{
    return at < shelf->count && shelf->places[at].role_id == role_id;
}

static void insert(struct shelf *shelf, uint32_t at, int64_t role_id)
{
    if (shelf->count == shelf->cap) {
        shelf->cap = shelf->cap ? shelf->cap * 2 : 64;
        shelf->places = realloc(shelf->places, shelf->cap * sizeof *shelf->places);
        must(shelf->places);
    }
    struct shelf_place *place = &shelf->places[at];
    memmove(place + 1, place, (shelf->count - at) * sizeof *place);
    *place = (struct shelf_place){.role_id = role_id};
    shelf->count++;
}

static struct shelf_place *place_of(struct shelf *shelf, int64_t role_id)
{
    const uint32_t at = find(shelf, role_id);
    if (!is_place_of(shelf, at, role_id))
        insert(shelf, at, role_id);
    return &shelf->places[at];
}

/* What it held before, to be freed outside the lock; NULL when that is borrowed. */
static struct role_code *fill(struct shelf *shelf, struct shelf_place *place,
                              struct role_code *code, char *trouble)
{
    struct role_code *old = place->code;
    place->code = code;
    free(place->trouble);
    place->trouble = trouble;
    if (!old || old != shelf->borrowed)
        return old;
    shelf->is_orphan = true;
    return NULL;
}

void shelf_put(struct shelf *shelf, int64_t role_id, struct role_code *code)
{
    pthread_mutex_lock(&shelf->mutex);
    struct role_code *old = fill(shelf, place_of(shelf, role_id), code, NULL);
    pthread_mutex_unlock(&shelf->mutex);
    role_code_free(old);
}

static void miss(struct shelf *shelf, int64_t role_id, struct str why, bool only_new)
{
    struct role_code *old = NULL;
    pthread_mutex_lock(&shelf->mutex);
    struct shelf_place *place = place_of(shelf, role_id);
    if (!place->code || !only_new) {
        char *trouble = malloc(why.len + 1u);
        must(trouble);
        if (why.len)
            memcpy(trouble, why.at, why.len);
        trouble[why.len] = 0;
        old = fill(shelf, place, NULL, trouble);
    }
    pthread_mutex_unlock(&shelf->mutex);
    role_code_free(old);
}

void shelf_miss(struct shelf *shelf, int64_t role_id, struct str why)
{
    miss(shelf, role_id, why, false);
}

void shelf_miss_new(struct shelf *shelf, int64_t role_id, struct str why)
{
    miss(shelf, role_id, why, true);
}

static struct shelf_loan loan_of(const struct shelf_place *place, struct arena *arena)
{
    if (place->code)
        return (struct shelf_loan){.answer = SHELF_CODE, .code = place->code};
    if (!place->trouble)
        return (struct shelf_loan){.answer = SHELF_NONE};
    return (struct shelf_loan){.answer = SHELF_MISSING,
                               .why = str_copy(arena, str_from(place->trouble))};
}

struct shelf_loan shelf_borrow(struct shelf *shelf, int64_t role_id, struct arena *arena)
{
    struct shelf_loan loan = {.answer = SHELF_UNKNOWN};
    pthread_mutex_lock(&shelf->mutex);
    must(!shelf->borrowed);
    const uint32_t at = find(shelf, role_id);
    if (is_place_of(shelf, at, role_id))
        loan = loan_of(&shelf->places[at], arena);
    shelf->borrowed = loan.code;
    pthread_mutex_unlock(&shelf->mutex);
    return loan;
}

void shelf_give_back(struct shelf *shelf)
{
    pthread_mutex_lock(&shelf->mutex);
    struct role_code *orphan = shelf->is_orphan ? shelf->borrowed : NULL;
    shelf->borrowed = NULL;
    shelf->is_orphan = false;
    pthread_mutex_unlock(&shelf->mutex);
    role_code_free(orphan);
}
