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
    for (uint32_t i = 0; i < shelf->count; i++)
        role_code_free(shelf->places[i].code);
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
    *place = (struct shelf_place){.role_id = role_id, .code = NULL};
    shelf->count++;
}

void shelf_put(struct shelf *shelf, int64_t role_id, struct role_code *code)
{
    pthread_mutex_lock(&shelf->mutex);
    const uint32_t at = find(shelf, role_id);
    if (!is_place_of(shelf, at, role_id))
        insert(shelf, at, role_id);
    struct role_code *old = shelf->places[at].code;
    shelf->places[at].code = code;
    if (old && old == shelf->borrowed) {
        shelf->is_orphan = true;
        old = NULL;
    }
    pthread_mutex_unlock(&shelf->mutex);
    role_code_free(old);
}

struct role_code *shelf_borrow(struct shelf *shelf, int64_t role_id)
{
    pthread_mutex_lock(&shelf->mutex);
    must(!shelf->borrowed);
    const uint32_t at = find(shelf, role_id);
    shelf->borrowed = is_place_of(shelf, at, role_id) ? shelf->places[at].code : NULL;
    struct role_code *code = shelf->borrowed;
    pthread_mutex_unlock(&shelf->mutex);
    return code;
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
