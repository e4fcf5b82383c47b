/* Goal: repeated failed logins are locked out, and other clients are not affected.
 * Method: the tables alone, with a simulated clock. */
#include "auth/lockout.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "auth/session_idle.h"
#include "tests/check.h"

static struct lockout *open_lockout(void)
{
    CHECK(sodium_init() >= 0);
    return lockout_new();
}

static struct login_source from(const char *user, uint32_t address)
{
    struct login_source v = {.user = str_from(user), .is_user = true};
    v.address[10] = v.address[11] = 0xff;
    for (int i = 0; i < 4; i++)
        v.address[12 + i] = (uint8_t)(address >> (24 - 8 * i));
    return v;
}

/* Fail so many times; returns the result of the last one. */
static enum lockout_result fail(struct lockout *l, struct login_source v, uint32_t times,
                                int64_t now)
{
    enum lockout_result news = LOCKOUT_NONE;
    for (uint32_t i = 0; i < times; i++) {
        CHECK(news == LOCKOUT_NONE);
        news = lockout_failed(l, &v, now);
    }
    return news;
}

static int64_t left(const struct lockout *l, struct login_source v, int64_t now)
{
    return lockout_left_ms(l, &v, now);
}

TEST(six_failures_lock_out_for_ten_minutes)
{
    struct lockout *l = open_lockout();
    const struct login_source v = from("ann", 1);
    CHECK(fail(l, v, LOCKOUT_TRIES - 1, 1000) == LOCKOUT_NONE);
    CHECK(left(l, v, 1000) == 0);
    CHECK(fail(l, v, 1, 2000) == LOCKOUT_ADDRESS);
    CHECK(left(l, v, 2000) == LOCKOUT_MS);
    CHECK(left(l, v, 2000 + LOCKOUT_MS - 1) == 1);
    CHECK(left(l, v, 2000 + LOCKOUT_MS) == 0);
    /* and the count starts at 0 again */
    CHECK(fail(l, v, LOCKOUT_TRIES - 1, 2000 + LOCKOUT_MS) == LOCKOUT_NONE);
    CHECK(fail(l, v, 1, 2000 + LOCKOUT_MS) == LOCKOUT_ADDRESS);
    lockout_free(l);
}

TEST(a_lock_out_affects_one_user_and_one_address)
{
    struct lockout *l = open_lockout();
    CHECK(fail(l, from("ann", 1), LOCKOUT_TRIES, 0) == LOCKOUT_ADDRESS);
    CHECK(left(l, from("ann", 2), 0) == 0);
    CHECK(left(l, from("bob", 1), 0) == 0);
    CHECK(left(l, from("ANN", 1), 0) > 0); /* case is ignored */
    CHECK(left(l, from("ann ", 1), 0) == 0);
    lockout_free(l);
}

TEST(a_success_clears_the_count)
{
    struct lockout *l = open_lockout();
    const struct login_source v = from("ann", 1);
    for (int round = 0; round < 5; round++) {
        CHECK(fail(l, v, LOCKOUT_TRIES - 1, round) == LOCKOUT_NONE);
        lockout_succeeded(l, &v, round);
    }
    CHECK(left(l, v, 5) == 0);
    lockout_free(l);
}

TEST(failures_more_than_ten_minutes_apart_are_not_added)
{
    struct lockout *l = open_lockout();
    const struct login_source v = from("ann", 1);
    for (int64_t i = 0; i < 3 * (int64_t)LOCKOUT_TRIES; i++)
        CHECK(fail(l, v, 1, i * (LOCKOUT_MS + 1)) == LOCKOUT_NONE);
    lockout_free(l);
}

TEST(a_hundred_failures_lock_the_user_out_except_from_addresses_of_earlier_logins)
{
    struct lockout *l = open_lockout();
    const struct login_source home = from("ann", 7);
    lockout_succeeded(l, &home, 0);
    for (uint32_t i = 1; i < LOCKOUT_TRIES_USER; i++)
        CHECK(fail(l, from("ann", 1000 + i), 1, 1) == LOCKOUT_NONE);
    CHECK(left(l, from("ann", 5000), 1) == 0);
    CHECK(fail(l, from("ann", 4000), 1, 1) == LOCKOUT_USER);
    CHECK(left(l, from("ann", 5000), 1) == LOCKOUT_MS);
    CHECK(left(l, from("bob", 5000), 1) == 0);
    CHECK(left(l, home, 1) == 0);
    /* the address of an earlier login is locked out by its own failures */
    CHECK(fail(l, home, LOCKOUT_TRIES, 1) == LOCKOUT_ADDRESS);
    CHECK(left(l, home, 1) == LOCKOUT_MS);
    CHECK(left(l, from("ann", 5000), 1 + LOCKOUT_MS) == 0);
    lockout_free(l);
}

TEST(a_clock_that_is_set_back_does_not_extend_lock_outs)
{
    struct lockout *l = open_lockout();
    const struct login_source v = from("ann", 1);
    const int64_t later = (int64_t)365 * 24 * 3600 * 1000;
    CHECK(fail(l, v, LOCKOUT_TRIES, later) == LOCKOUT_ADDRESS);
    CHECK(left(l, v, 0) == 0);
    CHECK(fail(l, v, LOCKOUT_TRIES, 0) == LOCKOUT_ADDRESS);
    CHECK(left(l, v, 0) == LOCKOUT_MS);
    lockout_free(l);
}

static struct login_source stranger(uint32_t number)
{
    static char name[32];
    snprintf(name, sizeof name, "junk%u", number);
    struct login_source v = from(name, 9);
    v.is_user = false;
    return v;
}

TEST(invented_names_are_locked_out_as_well)
{
    struct lockout *l = open_lockout();
    CHECK(fail(l, stranger(1), LOCKOUT_TRIES, 0) == LOCKOUT_ADDRESS);
    CHECK(left(l, stranger(1), 0) == LOCKOUT_MS && left(l, stranger(2), 0) == 0);
    lockout_free(l);
}

TEST(a_flood_of_invented_names_displaces_no_user)
{
    struct lockout *l = open_lockout();
    const struct login_source locked = from("ann", 1), guesser = from("eve", 3);
    CHECK(fail(l, locked, LOCKOUT_TRIES, 0) == LOCKOUT_ADDRESS);
    CHECK(fail(l, guesser, LOCKOUT_TRIES - 1, 0) == LOCKOUT_NONE);
    for (uint32_t i = 0; i < 3 * LOCKOUT_ENTRIES; i++) {
        struct login_source v = stranger(i);
        v.address[14] = (uint8_t)(i >> 5); /* no address fails often enough to be locked out */
        v.address[13] = (uint8_t)(1 + (i >> 13));
        CHECK(fail(l, v, 1, 1 + (int64_t)i) == LOCKOUT_NONE);
    }
    CHECK(left(l, locked, 1) > 0);
    CHECK(fail(l, guesser, 1, 1) == LOCKOUT_ADDRESS);
    lockout_free(l);
}

TEST(failures_under_changing_names_lock_out_their_address)
{
    struct lockout *l = open_lockout();
    const struct login_source resident = from("ann", 9), newcomer = from("bob", 9);
    lockout_succeeded(l, &resident, 0);
    for (uint32_t i = 1; i < LOCKOUT_TRIES_ADDRESS; i++)
        CHECK(fail(l, stranger(i), 1, 1) == LOCKOUT_NONE);
    CHECK(left(l, newcomer, 1) == 0);
    CHECK(fail(l, stranger(0), 1, 1) == LOCKOUT_NETWORK);
    CHECK(left(l, stranger(5000), 1) == LOCKOUT_MS); /* a name without failures */
    CHECK(left(l, newcomer, 1) == LOCKOUT_MS);
    CHECK(left(l, from("bob", 10), 1) == 0); /* from another address */
    CHECK(left(l, resident, 1) == 0);        /* has logged in from there before */
    CHECK(left(l, newcomer, 1 + LOCKOUT_MS) == 0);
    lockout_free(l);
}

TEST(success_under_one_name_does_not_clear_the_count_of_the_address)
{
    struct lockout *l = open_lockout();
    const struct login_source own = from("eve", 9);
    for (uint32_t i = 1; i < LOCKOUT_TRIES_ADDRESS; i++) {
        CHECK(fail(l, stranger(i), 1, 1) == LOCKOUT_NONE);
        lockout_succeeded(l, &own, 1);
    }
    CHECK(fail(l, stranger(0), 1, 1) == LOCKOUT_NETWORK);
    lockout_free(l);
}

/* More lock-outs than entries: the oldest ones end early. */
TEST(even_lock_outs_are_bounded)
{
    struct lockout *l = open_lockout();
    for (uint32_t i = 0; i < LOCKOUT_ENTRIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "user%u", i);
        CHECK(fail(l, from(name, i), LOCKOUT_TRIES, (int64_t)i) == LOCKOUT_ADDRESS);
    }
    CHECK(left(l, from("user0", 0), LOCKOUT_ENTRIES) == 0);
    CHECK(left(l, from("user4095", 4095), LOCKOUT_ENTRIES) > 0);
    lockout_free(l);
}

/* ---- idle sessions ---- */

TEST(a_session_expires_after_half_an_hour_without_use)
{
    struct session_idle *idle = session_idle_new();
    CHECK(session_record_use(idle, 7, 1000));
    CHECK(session_record_use(idle, 7, 1000 + IDLE_MS));
    CHECK(session_record_use(idle, 7, 1000 + 2 * IDLE_MS)); /* each use restarts the time */
    CHECK(!session_record_use(idle, 7, 1001 + 3 * IDLE_MS));
    CHECK(!session_record_use(idle, 7, 1001 + 3 * IDLE_MS)); /* and it stays expired */
    CHECK(session_record_use(idle, 8, 1001 + 3 * IDLE_MS));
    session_idle_free(idle);
}

TEST(sessions_dropped_from_the_table_start_again)
{
    struct session_idle *idle = session_idle_new();
    for (int64_t id = 1; id <= 3 * (int64_t)IDLE_MAX; id++)
        CHECK(session_record_use(idle, id, id));
    for (int64_t id = 1; id <= 3 * (int64_t)IDLE_MAX; id++)
        CHECK(session_record_use(idle, id, 20000));
    session_idle_free(idle);
}
