/* Goal: documents are selected in order, and again as long as a further round can succeed.
 * Method: small scenarios; a simulated engine accepts a document after the one that it requires. */
#include "content/import_rounds.h"
#include "tests/check.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static char diary[1024];

/* Each needs the one named; itself: none; count: one that never comes. Outcomes come at once. */
static struct import_rounds import_all(const uint32_t *needs, uint32_t count)
{
    bool in[16] = {0};
    uint32_t i;
    struct import_rounds r = import_rounds_begin(&arena, count);
    diary[0] = 0;
    while (import_rounds_next(&r, &i)) {
        const bool fits = needs[i] == i || (needs[i] < count && in[needs[i]]);
        in[i] = fits;
        snprintf(diary + strlen(diary), sizeof diary - strlen(diary), "%u%s ", i, fits ? "" : "!");
        import_rounds_set_result(&r, i, fits ? ROUNDS_IMPORTED : ROUNDS_REFUSED);
    }
    CHECK(import_rounds_is_done(&r));
    return r;
}

static bool says(const char *wanted)
{
    if (strcmp(diary, wanted) == 0)
        return true;
    printf("  seen: %s\nwanted: %s\n", diary, wanted);
    return false;
}

TEST(what_gets_in_at_once_is_imported_once)
{
    import_all((const uint32_t[]){0, 0, 1}, 3);
    CHECK(says("0 1 2 "));
    import_all(NULL, 0);
    CHECK(says(""));
    arena_fini(&arena);
}

TEST(rounds_continue_while_a_document_is_imported)
{
    import_all((const uint32_t[]){1, 2, 3, 3}, 4);
    CHECK(says("0! 1! 2! 3 0! 1! 2 0! 1 0 "));
    arena_fini(&arena);
}

TEST(what_never_fits_is_tried_in_every_round_and_stays_wanted)
{
    const struct import_rounds r = import_all((const uint32_t[]){3, 2, 2}, 3);
    CHECK(says("0! 1! 2 0! 1 0! "));
    CHECK(import_rounds_is_pending(&r, 0) && !import_rounds_is_pending(&r, 1) &&
          !import_rounds_is_pending(&r, 2));
    CHECK(!import_rounds_is_pending(&r, 3));
    import_all((const uint32_t[]){1, 0}, 2);
    CHECK(says("0! 1! "));
    arena_fini(&arena);
}

TEST(a_round_waits_for_all_outcomes_of_the_one_before)
{
    uint32_t i;
    struct import_rounds r = import_rounds_begin(&arena, 3);
    for (uint32_t n = 0; n < 3; n++)
        CHECK(import_rounds_next(&r, &i) && i == n);
    CHECK(!import_rounds_next(&r, &i) && !import_rounds_is_done(&r));
    import_rounds_set_result(&r, 2, ROUNDS_IMPORTED);
    import_rounds_set_result(&r, 0, ROUNDS_REFUSED);
    CHECK(!import_rounds_next(&r, &i) && !import_rounds_is_done(&r));
    import_rounds_set_result(&r, 1, ROUNDS_REFUSED);
    CHECK(!import_rounds_is_done(&r) && import_rounds_next(&r, &i) && i == 0);
    CHECK(import_rounds_next(&r, &i) && i == 1);
    import_rounds_set_result(&r, 0, ROUNDS_REFUSED);
    import_rounds_set_result(&r, 1, ROUNDS_REFUSED);
    CHECK(!import_rounds_next(&r, &i) && import_rounds_is_done(&r));
    arena_fini(&arena);
}

TEST(a_lost_result_is_not_tried_again_and_starts_no_round)
{
    uint32_t i;
    struct import_rounds r = import_rounds_begin(&arena, 2);
    CHECK(import_rounds_next(&r, &i) && import_rounds_next(&r, &i));
    import_rounds_set_result(&r, 0, ROUNDS_REFUSED);
    import_rounds_set_result(&r, 1, ROUNDS_UNKNOWN);
    CHECK(!import_rounds_is_pending(&r, 1) && import_rounds_is_pending(&r, 0));
    CHECK(!import_rounds_next(&r, &i) && import_rounds_is_done(&r));
    arena_fini(&arena);
}

TEST(what_is_left_out_is_not_asked_for)
{
    uint32_t i;
    struct import_rounds r = import_rounds_begin(&arena, 3);
    import_rounds_exclude(&r, 0);
    import_rounds_exclude(&r, 2);
    CHECK(import_rounds_next(&r, &i) && i == 1);
    import_rounds_set_result(&r, 1, ROUNDS_IMPORTED);
    CHECK(import_rounds_is_done(&r) && !import_rounds_next(&r, &i));
    r = import_rounds_begin(&arena, 1);
    CHECK(!import_rounds_is_done(&r));
    import_rounds_exclude(&r, 0);
    CHECK(import_rounds_is_done(&r));
    arena_fini(&arena);
}
