/* Goal: messages arrive as they were sent or not at all, whatever the bytes are.
 * Method: each kind there and back; every cut and every changed byte; links over a real pair of
 * sockets, in pieces. */
#include "base/prng.h"
#include "run/exec/exec_link.h"
#include "run/exec/protocol.h"
#include "tests/check.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LENGTH_SIZE = 4 };

static struct arena arena;

static struct exec_spawn full_spawn(void)
{
    return (struct exec_spawn){.run_id = 77,
                               .attempt = 3,
                               .epoch = 5,
                               .argv = STR("/bin/echo\0hello\0"),
                               .env = STR("PATH=/bin\0"),
                               .cwd = STR("/tmp"),
                               .stdin_path = STR("/etc/hostname"),
                               .out_max = 100,
                               .log_max = 200,
                               .deadline_ms = 300,
                               .grace_ms = 400};
}

static struct exec_message samples[13];

static uint32_t make_samples(void)
{
    uint32_t n = 0;
    const struct exec_run run = {.run_id = INT64_MAX, .attempt = UINT32_MAX};
    samples[n++] = (struct exec_message){.kind = EXEC_HELLO, .hello = {.version = 1, .epoch = 9}};
    samples[n++] = (struct exec_message){.kind = EXEC_SPAWN, .spawn = full_spawn()};
    samples[n++] = (struct exec_message){.kind = EXEC_CANCEL, .run = run};
    samples[n++] = (struct exec_message){.kind = EXEC_QUERY, .run = {.run_id = 1}};
    samples[n++] = (struct exec_message){.kind = EXEC_FORGET, .run = run};
    samples[n++] = (struct exec_message){.kind = EXEC_RECONCILED};
    samples[n++] = (struct exec_message){.kind = EXEC_BYE};
    samples[n++] = (struct exec_message){
        .kind = EXEC_WELCOME,
        .welcome = {.version = 1, .pid = 12, .boot_id = STR("b"), .journal_is_of_this_boot = true}};
    samples[n++] = (struct exec_message){.kind = EXEC_BEGUN, .begun = {.run_id = 4, .pid = 5}};
    samples[n++] = (struct exec_message){.kind = EXEC_ENDED,
                                         .ended = {.run_id = 4,
                                                   .how = EXEC_DEADLINE,
                                                   .code = 15,
                                                   .reason = STR("its time"),
                                                   .log_dropped = 1}};
    samples[n++] =
        (struct exec_message){.kind = EXEC_NOT_KNOWN, .not_known = {.run_id = 4, .begun = true}};
    samples[n++] = (struct exec_message){.kind = EXEC_FENCED, .fenced = {.epoch = 4}};
    samples[n++] = (struct exec_message){.kind = EXEC_LIST};
    return n;
}

static struct str encoded(const struct exec_message *m)
{
    struct buf out = buf_in(&arena);
    CHECK(exec_encode(m, &out) == OK);
    return buf_str(&out);
}

static struct str body_of(struct str frame)
{
    const uint8_t *at = (const uint8_t *)frame.at;
    CHECK(frame.len >= LENGTH_SIZE);
    CHECK(frame.len - LENGTH_SIZE == (uint32_t)(at[0] | at[1] << 8 | at[2] << 16) && at[3] == 0);
    return str_slice(frame, LENGTH_SIZE, frame.len);
}

static bool refuses(const struct exec_message *m)
{
    struct exec_message got;
    return exec_decode(body_of(encoded(m)), &got) == ERR_CORRUPT;
}

TEST(every_message_goes_there_and_back)
{
    const uint32_t count = make_samples();
    for (uint32_t i = 0; i < count; i++) {
        struct exec_message got;
        const struct str frame = encoded(&samples[i]);
        CHECK(exec_decode(body_of(frame), &got) == OK && got.kind == samples[i].kind);
        CHECK(str_eq(encoded(&got), frame));
    }
    struct exec_message got;
    CHECK(exec_decode(body_of(encoded(&samples[1])), &got) == OK);
    CHECK(got.spawn.run_id == 77 && got.spawn.attempt == 3 && got.spawn.grace_ms == 400);
    CHECK(str_eq(got.spawn.argv, STR("/bin/echo\0hello\0")) && str_eq(got.spawn.cwd, STR("/tmp")));
}

TEST(a_message_cut_anywhere_is_none)
{
    const uint32_t count = make_samples();
    for (uint32_t i = 0; i < count; i++) {
        const struct str body = body_of(encoded(&samples[i]));
        for (uint32_t len = 0; len < body.len; len++) {
            struct exec_message got = {.kind = EXEC_NOTHING};
            CHECK(exec_decode(str_slice(body, 0, len), &got) == ERR_CORRUPT);
            CHECK(got.kind == EXEC_NOTHING);
        }
        struct buf longer = buf_in(&arena);
        struct exec_message got;
        buf_put_str(&longer, body);
        buf_put_c(&longer, 0);
        CHECK(exec_decode(buf_str(&longer), &got) == ERR_CORRUPT);
    }
}

TEST(a_changed_byte_makes_another_message_or_none)
{
    const uint32_t count = make_samples();
    for (uint32_t i = 0; i < count; i++) {
        const struct str body = body_of(encoded(&samples[i]));
        char *bytes = arena_copy(&arena, body.at, body.len);
        for (uint32_t at = 0; at < body.len; at++)
            for (int value = 0; value < 256; value++) {
                struct exec_message got;
                bytes[at] = (char)value;
                const struct str changed = {bytes, body.len};
                if (exec_decode(changed, &got) == OK)
                    CHECK(str_eq(body_of(encoded(&got)), changed));
                bytes[at] = body.at[at];
            }
    }
}

TEST(noise_is_refused_or_means_exactly_its_bytes)
{
    struct prng random;
    prng_init(&random, 5);
    for (int round = 0; round < 20000; round++) {
        char bytes[64];
        struct exec_message got;
        const uint32_t len = (uint32_t)(prng_next(&random) % sizeof bytes);
        for (uint32_t i = 0; i < len; i++)
            bytes[i] = (char)prng_next(&random);
        bytes[0] = (char)(prng_next(&random) % (EXEC_KIND_END + 1));
        const struct str body = {bytes, len};
        if (exec_decode(body, &got) == OK)
            CHECK(str_eq(body_of(encoded(&got)), body));
    }
    arena_reset(&arena);
}

TEST(invalid_orders_are_refused)
{
    struct exec_message m = {.kind = EXEC_SPAWN, .spawn = full_spawn()};
    CHECK(!refuses(&m));
#define BAD(field, value)                                                                          \
    do {                                                                                           \
        m.spawn = full_spawn();                                                                    \
        m.spawn.field = (value);                                                                   \
        CHECK(refuses(&m));                                                                        \
    } while (0)
    BAD(run_id, 0);
    BAD(run_id, -1);
    BAD(epoch, -1);
    BAD(argv, STR(""));
    BAD(argv, STR("\0"));
    BAD(argv, STR("\0x\0"));
    BAD(argv, STR("/bin/true"));
    BAD(env, STR("A=b\0C=d"));
    BAD(cwd, STR("relative"));
    BAD(cwd, STR("/with\0zero"));
    BAD(stdin_path, STR("relative"));
    BAD(out_max, -1);
    BAD(log_max, -1);
    BAD(deadline_ms, -1);
    BAD(grace_ms, INT64_MIN);
#undef BAD
    m = (struct exec_message){.kind = EXEC_HELLO, .hello = {.version = 1, .epoch = -1}};
    CHECK(refuses(&m));
    m = (struct exec_message){.kind = EXEC_QUERY, .run = {.attempt = 1}};
    CHECK(refuses(&m));
    m = (struct exec_message){.kind = EXEC_ENDED, .ended = {.run_id = 1}};
    CHECK(refuses(&m));
    m.ended.how = EXEC_HOW_END;
    CHECK(refuses(&m));
    m.ended.how = EXEC_EXITED;
    CHECK(!refuses(&m));
    m.ended.out_size = -1;
    CHECK(refuses(&m));
    m = (struct exec_message){.kind = EXEC_FENCED, .fenced = {.epoch = -3}};
    CHECK(refuses(&m));
}

TEST(a_message_that_is_too_large_is_not_written)
{
    struct exec_message m = {.kind = EXEC_SPAWN, .spawn = full_spawn()};
    struct buf out = buf_in(&arena);
    char *text = arena_zalloc(&arena, EXEC_BODY_MAX + 1);
    memset(text, 'x', EXEC_BODY_MAX);
    m.spawn.argv = (struct str){text, EXEC_BODY_MAX + 1};
    CHECK(exec_encode(&m, &out) == ERR_LIMIT && out.len == 0);
    m.spawn.argv.len = EXEC_BODY_MAX - 10;
    CHECK(exec_encode(&m, &out) == ERR_LIMIT && out.len == 0);
    m.spawn.argv.len = EXEC_BODY_MAX - 200;
    CHECK(exec_encode(&m, &out) == OK);
    arena_reset(&arena);
}

TEST(a_list_becomes_what_execve_wants)
{
    struct buf list = buf_in(&arena);
    CHECK(exec_list_z(&arena, STR(""))[0] == NULL);
    exec_list_add(&list, STR("one"));
    exec_list_add(&list, STR(""));
    exec_list_add(&list, STR("three"));
    char **texts = exec_list_z(&arena, buf_str(&list));
    CHECK(strcmp(texts[0], "one") == 0 && texts[1][0] == 0 && strcmp(texts[2], "three") == 0);
    CHECK(texts[3] == NULL);
    CHECK(strcmp(exec_how_name(EXEC_DIED_WITH_SUPERVISOR), "died with its supervisor") == 0);
}

/* ---- links ---- */

static struct link ours;
static int theirs;

static void open_link(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(link_init(&ours, ends[0]));
    theirs = ends[1];
}

static void close_link(void)
{
    link_fini(&ours);
    CHECK(close(theirs) == 0);
}

TEST(messages_come_whole_however_they_are_cut)
{
    const uint32_t count = make_samples();
    struct exec_message got;
    open_link();
    CHECK(link_fill(&ours) == OK && exec_link_take(&ours, &got) == ERR_NOT_FOUND);
    for (uint32_t i = 0; i < count; i++) {
        const struct str frame = encoded(&samples[i]);
        for (uint32_t at = 0; at < frame.len; at++) {
            CHECK(exec_link_take(&ours, &got) == ERR_NOT_FOUND);
            CHECK(write(theirs, frame.at + at, 1) == 1 && link_fill(&ours) == OK);
        }
        CHECK(exec_link_take(&ours, &got) == OK && str_eq(encoded(&got), frame));
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct str frame = encoded(&samples[i]);
        CHECK(write(theirs, frame.at, frame.len) == (ssize_t)frame.len);
    }
    CHECK(link_fill(&ours) == OK);
    for (uint32_t i = 0; i < count; i++)
        CHECK(exec_link_take(&ours, &got) == OK && got.kind == samples[i].kind);
    CHECK(exec_link_take(&ours, &got) == ERR_NOT_FOUND);
    close_link();
}

TEST(an_impossible_length_is_an_error)
{
    static const char bad[][4] = {{0, 0, 0, 0}, {1, 0, 0x40, 0}, {0, 0, 0, 1}, {-1, -1, -1, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct exec_message got;
        open_link();
        CHECK(write(theirs, bad[i], 4) == 4 && link_fill(&ours) == OK);
        CHECK(exec_link_take(&ours, &got) == ERR_CORRUPT);
        close_link();
    }
}

TEST(a_large_message_passes_and_its_memory_is_freed)
{
    struct exec_message m = {.kind = EXEC_SPAWN, .spawn = full_spawn()}, got;
    const uint32_t size = EXEC_BODY_MAX - 300;
    char *text = arena_zalloc(&arena, size);
    memset(text, 'y', size - 1);
    m.spawn.env = (struct str){text, size};
    open_link();
    struct link other;
    CHECK(link_init(&other, dup(theirs)));
    CHECK(exec_link_put(&ours, &m) == OK);
    err e;
    do {
        CHECK(link_flush(&ours) == OK && link_fill(&other) == OK);
    } while ((e = exec_link_take(&other, &got)) == ERR_NOT_FOUND);
    CHECK(e == OK && got.spawn.env.len == size && got.spawn.env.at[size - 2] == 'y');
    CHECK(!link_is_waiting(&ours) && ours.out.cap == 0);
    CHECK(link_fill(&other) == OK && other.in.cap < EXEC_BODY_MAX);
    link_fini(&other);
    close_link();
    arena_reset(&arena);
}

TEST(unsent_bytes_are_limited)
{
    struct exec_message m = {.kind = EXEC_SPAWN, .spawn = full_spawn()};
    uint32_t count = 0;
    char *text = arena_zalloc(&arena, 1 << 20);
    m.spawn.env = (struct str){text, 1 << 20};
    open_link();
    while (exec_link_put(&ours, &m) == OK)
        count++;
    CHECK(count == (EXEC_WAITING_MAX >> 20) - 1);
    CHECK(link_flush(&ours) == OK && link_is_waiting(&ours));
    close_link();
    arena_reset(&arena);
}

TEST(a_closed_peer_is_reported)
{
    const struct exec_message m = {.kind = EXEC_BYE};
    open_link();
    CHECK(close(theirs) == 0);
    CHECK(link_fill(&ours) == ERR_UNAVAILABLE);
    CHECK(exec_link_put(&ours, &m) == OK && link_flush(&ours) == ERR_UNAVAILABLE);
    link_fini(&ours);
    arena_fini(&arena);
}
