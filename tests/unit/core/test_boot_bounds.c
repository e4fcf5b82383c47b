/* Goal: every value about boots that comes from outside is checked at its bounds: boot environments
 * of barclamps, the question of a machine for its grant, and the settings that bound waits. Method:
 * tables of values; a wrong one is refused with the name of its field and leaves the digest as it
 * was, one at the bound or one below it is accepted and stored. */
#include "tests/unit/core/boot_world.h"

#include <stdarg.h>

#include "model/limits.h"

/* ---- boot environments ---- */

/* A value of one key as JSON: `json`, or a string of `len` letters, or a list of `items` strings of
 * `len` letters. */
struct value {
    const char *key;
    const char *json;
    uint32_t items, len;
    enum problem_code code; /* PROBLEM_NONE: it is accepted */
    const char *field;      /* of the problem; NULL: that of the key */
};

/* Values of another type. A text may be written as a number. */
#define TYPES(key)                                                                                 \
    {key, "true", 0, 0, PROBLEM_BAD_VALUE, NULL}, {key, "false", 0, 0, PROBLEM_BAD_VALUE, NULL},   \
        {key, "{}", 0, 0, PROBLEM_BAD_VALUE, NULL},                                                \
        {key, "{\"a\":\"b\"}", 0, 0, PROBLEM_BAD_VALUE, NULL},                                     \
        {key, "[]", 0, 0, PROBLEM_BAD_VALUE, NULL},                                                \
    {                                                                                              \
        key, "[\"a\"]", 0, 0, PROBLEM_BAD_VALUE, NULL                                              \
    }
#define LENGTH(key, most, code)                                                                    \
    {key, NULL, 0, (most)-1, PROBLEM_NONE, NULL}, {key, NULL, 0, most, PROBLEM_NONE, NULL},        \
        {key, NULL, 0, (most) + 1, code, NULL}, {key, NULL, 0, TEXT_MAX, code, NULL},              \
    {                                                                                              \
        key, NULL, 0, TEXT_MAX + 1, PROBLEM_BAD_TEXT, NULL                                         \
    }

static const struct value values[] = {
    TYPES("name"),
    LENGTH("name", NAME_LEN_MAX, PROBLEM_NAME_INVALID),
    {"name", "7", 0, 0, PROBLEM_NAME_INVALID, NULL},
    {"name", "null", 0, 0, PROBLEM_MISSING, NULL},
    {"name", "\"\"", 0, 0, PROBLEM_MISSING, NULL},
    {"name", "\"LOCAL\"", 0, 0, PROBLEM_NAME_INVALID, NULL},
    {"name", "\"x:y\"", 0, 0, PROBLEM_NAME_INVALID, NULL},
    {"name", "\"x:y\"", 0, 0, PROBLEM_NAME_INVALID, NULL},
    {"name", "\"\\u00e9\"", 0, 0, PROBLEM_NAME_INVALID, NULL},
    TYPES("kernel"),
    LENGTH("kernel", NAME_LEN_MAX, PROBLEM_BAD_VALUE),
    {"kernel", "7", 0, 0, PROBLEM_NONE, NULL},
    {"kernel", "null", 0, 0, PROBLEM_MISSING, NULL},
    {"kernel", "\"\"", 0, 0, PROBLEM_MISSING, NULL},
    {"kernel", "\"./k\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"kernel", "\"..\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"kernel", "\"a\\\\b\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"kernel", "\"\\u00e9\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"kernel", "\"...\"", 0, 0, PROBLEM_NONE, NULL},
    {"initrd", "7", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"initrd", "true", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"initrd", "{}", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"initrd", "\"a\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"initrd", "null", 0, 0, PROBLEM_NONE, NULL},
    {"initrd", "[]", 0, 0, PROBLEM_NONE, NULL},
    {"initrd", NULL, BOOT_INITRDS_MAX - 1, 1, PROBLEM_NONE, NULL},
    {"initrd", NULL, BOOT_INITRDS_MAX, 1, PROBLEM_NONE, NULL},
    {"initrd", NULL, BOOT_INITRDS_MAX + 1, 1, PROBLEM_BAD_VALUE, NULL},
    {"initrd", NULL, 1, NAME_LEN_MAX - 1, PROBLEM_NONE, NULL},
    {"initrd", NULL, BOOT_INITRDS_MAX, NAME_LEN_MAX, PROBLEM_NONE, NULL},
    {"initrd", NULL, 1, NAME_LEN_MAX + 1, PROBLEM_BAD_VALUE, "bootenvs/0/initrd/0"},
    {"initrd", "[\"a\",null]", 0, 0, PROBLEM_BAD_VALUE, "bootenvs/0/initrd/1"},
    {"initrd", "[\"a\",\"\"]", 0, 0, PROBLEM_BAD_VALUE, "bootenvs/0/initrd/1"},
    {"initrd", "[[\"a\"]]", 0, 0, PROBLEM_BAD_VALUE, "bootenvs/0/initrd/0"},
    {"initrd", "[\"a\",\"/b\",\"c\"]", 0, 0, PROBLEM_BAD_VALUE, "bootenvs/0/initrd/1"},
    TYPES("args"),
    LENGTH("args", BOOT_ARGS_LEN_MAX, PROBLEM_BAD_VALUE),
    {"args", "1.5", 0, 0, PROBLEM_NONE, NULL},
    {"args", "null", 0, 0, PROBLEM_NONE, NULL},
    {"args", "\"\"", 0, 0, PROBLEM_NONE, NULL},
    {"args", "\"a\\u0007\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"args", "\"a\\u007f\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"args", "\"\\u00e9 {{x}}\"", 0, 0, PROBLEM_NONE, NULL},
    TYPES("method"),
    {"method", "7", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"method", "null", 0, 0, PROBLEM_MISSING, NULL},
    {"method", "\"\"", 0, 0, PROBLEM_MISSING, NULL},
    {"method", "\"Image\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"method", "\"imag\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"method", "\"images\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
    {"method", "\"discovery\"", 0, 0, PROBLEM_NONE, NULL},
    {"method", "\"installer\"", 0, 0, PROBLEM_NONE, NULL},
    {"method", NULL, 0, TEXT_MAX + 1, PROBLEM_BAD_TEXT, NULL},
    TYPES("os"),
    LENGTH("os", NAME_LEN_MAX, PROBLEM_BAD_VALUE),
    {"os", "12", 0, 0, PROBLEM_NONE, NULL},
    {"os", "null", 0, 0, PROBLEM_NONE, NULL},
    {"os", "\"a\\nb\"", 0, 0, PROBLEM_BAD_VALUE, NULL},
};

__attribute__((format(printf, 2, 3))) static const char *text_in(struct world *w,
                                                                 const char *format, ...)
{
    enum { SIZE = 256 };
    char *text = arena_alloc(&w->arena, SIZE);
    va_list values_of;
    va_start(values_of, format);
    vsnprintf(text, SIZE, format, values_of);
    va_end(values_of);
    return text;
}

static void put_letters(struct buf *b, uint32_t count)
{
    buf_put_c(b, '"');
    for (uint32_t i = 0; i < count; i++)
        buf_put_c(b, 'x');
    buf_put_c(b, '"');
}

static void put_value(struct buf *b, const struct value *v)
{
    if (v->json) {
        buf_put_z(b, v->json);
        return;
    }
    if (v->items)
        buf_put_c(b, '[');
    put_letters(b, v->len);
    for (uint32_t i = 1; i < v->items; i++) {
        buf_put_c(b, ',');
        put_letters(b, v->len);
    }
    if (v->items)
        buf_put_c(b, ']');
}

/* A barclamp with one environment, which has that value for the key and right ones for the other
 * keys. */
static struct command cmd_with(struct world *w, const struct value *v)
{
    static const char *const right[][2] = {
        {"name", "\"fine\""}, {"kernel", "\"k\""}, {"method", "\"image\""}};
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"/b\"},\"bootenvs\":[{");
    for (uint32_t i = 0; i < sizeof right / sizeof *right; i++)
        if (strcmp(right[i][0], v->key) != 0) {
            buf_put_c(&b, '"');
            buf_put_z(&b, right[i][0]);
            buf_put_z(&b, "\":");
            buf_put_z(&b, right[i][1]);
            buf_put_c(&b, ',');
        }
    buf_put_c(&b, '"');
    buf_put_z(&b, v->key);
    buf_put_z(&b, "\":");
    put_value(&b, v);
    buf_put_z(&b, "}]}");
    return CMD(IMPORT, import, .barclamp = buf_str(&b));
}

/* Every problem is of that field, one has that code, and nothing is changed. */
static void expect_refusal(struct world *w, struct command command, enum problem_code code,
                           const char *field, const char *what)
{
    const struct digest128 before = core_digest_now(w->core), view = core_boot_digest(w->core);
    world_step(w, command);
    if (w->out.verdict != VERDICT_REFUSED)
        world_fail(HERE, "%s is not refused", what);
    if (!digest_eq(core_digest_now(w->core), before) || !digest_eq(core_boot_digest(w->core), view))
        world_fail(HERE, "%s left a trace", what);
    bool has_code = false;
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        if (!str_eq(p->field, str_from(field)))
            world_fail(HERE, "%s: %s", what, world_trouble(w));
        has_code = has_code || p->code == code;
    }
    if (!has_code)
        world_fail(HERE, "%s: %s", what, world_trouble(w));
}

static const char *what_is(struct world *w, const struct value *v)
{
    return text_in(w, "%s %s, %u of %u", v->key, v->json ? v->json : "text", v->items, v->len);
}

TEST(every_key_of_an_environment_is_checked_at_its_bounds)
{
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct value *v = &values[i];
        struct world *w = world_open();
        const struct command import = cmd_with(w, v);
        if (v->code != PROBLEM_NONE) {
            const char *field = v->field ? v->field : text_in(w, "bootenvs/0/%s", v->key);
            expect_refusal(w, import, v->code, field, what_is(w, v));
            CHECK(core_count(w->core, TABLE_BOOTENV) == 0);
        } else {
            DONE(w, import);
            CHECK(core_count(w->core, TABLE_BOOTENV) == 1);
            world_reload(w); /* a record at the bound can be loaded */
            EXPECT_NAIVE_VIEW(w);
        }
        world_close(w);
    }
}

/* count environments of barclamp b. */
static struct command cmd_environments(struct world *w, uint32_t count)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"/b\"},\"bootenvs\":[");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(&b, i ? ",{\"name\":\"e" : "{\"name\":\"e");
        buf_put_i64(&b, i);
        buf_put_z(&b, "\",\"kernel\":\"k\",\"method\":\"image\"}");
    }
    buf_put_z(&b, "]}");
    return CMD(IMPORT, import, .barclamp = buf_str(&b));
}

TEST(there_are_as_many_environments_as_the_limit_says)
{
    struct world *w = world_open();
    DONE(w, cmd_environments(w, BOOTENVS_MAX - 1));
    world_collect(w);
    DONE(w, cmd_environments(w, BOOTENVS_MAX));
    CHECK(core_count(w->core, TABLE_BOOTENV) == BOOTENVS_MAX);
    world_collect(w);
    const struct digest128 before = core_digest_now(w->core);
    REFUSED(w, cmd_environments(w, BOOTENVS_MAX + 1), LIMIT_REACHED, NULL);
    CHECK(digest_eq(core_digest_now(w->core), before));
    world_close(w);
}

/* ---- the question of a machine ---- */

static struct str hex_of(struct world *w, uint32_t len, uint32_t at, char other)
{
    char *text = arena_alloc(&w->arena, len + (size_t)1);
    for (uint32_t i = 0; i < len; i++)
        text[i] = i == at ? other : "0123456789abcdef"[i % 16];
    return (struct str){text, len};
}

static struct command cmd_ask(struct world *w, int64_t generation, struct str ticket)
{
    return CMD(GRANT_USE, grant_use, .node_id = the_node(w, "n1"), .generation = generation,
               .ticket = ticket, .mac = STR("52:54:00:00:00:01"));
}

TEST(every_field_of_a_question_is_checked_at_its_bounds)
{
    static const uint32_t lengths[] = {0, 1, 32, 63, 65, 128, TEXT_MAX};
    static const char outside[] = {'/', ':', '`', 'g', '@', 'A', 'F', 'G', ' ', '\n'};
    static const int64_t generations[] = {0, 1, INT64_MAX - 1, INT64_MAX};
    struct world *w = world_open();
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"),
                .mac = STR("52:54:00:00:00:01")));
    const struct str good = hex_of(w, TOKEN_HASH_LEN, 0, '0');
    for (uint32_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        DONE(w, cmd_ask(w, generations[i], good));
        CHECK(str_eq(w->out.doc, grant_answer_doc(i ? GRANT_STALE : GRANT_LOCAL)));
    }
    expect_refusal(w, cmd_ask(w, -1, good), PROBLEM_BAD_VALUE, "generation", "-1");
    expect_refusal(w, cmd_ask(w, INT64_MIN, good), PROBLEM_BAD_VALUE, "generation", "INT64_MIN");
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        expect_refusal(w, cmd_ask(w, 0, hex_of(w, lengths[i], 0, '0')), PROBLEM_BAD_VALUE, "ticket",
                       text_in(w, "a ticket of %u", lengths[i]));
    for (uint32_t i = 0; i < sizeof outside; i++)
        for (uint32_t at = 0; at < TOKEN_HASH_LEN; at += TOKEN_HASH_LEN - 1)
            expect_refusal(w, cmd_ask(w, 0, hex_of(w, TOKEN_HASH_LEN, at, outside[i])),
                           PROBLEM_BAD_VALUE, "ticket", text_in(w, "a '%c'", outside[i]));
    expect_refusal(w, cmd_ask(w, 0, hex_of(w, TOKEN_HASH_LEN, 7, '\xff')), PROBLEM_BAD_TEXT,
                   "ticket", "no UTF-8");
    expect_refusal(w, cmd_ask(w, 0, hex_of(w, TEXT_MAX + 1, 0, '0')), PROBLEM_BAD_TEXT, "ticket",
                   "a long ticket");
    static const int64_t unknown[] = {0, -1, 4711, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct command command = cmd_ask(w, 0, good);
        command.grant_use.node_id = unknown[i];
        expect_refusal(w, command, PROBLEM_NOT_FOUND, "node_id", "an unknown node");
    }
    for (uint32_t len = 0; len <= 18; len++) { /* 17 characters are a MAC */
        struct command command = cmd_ask(w, 0, good);
        command.grant_use.mac = str_slice(STR("52:54:00:00:00:01:"), 0, len);
        if (len == 17)
            DONE(w, command);
        else
            expect_refusal(w, command, PROBLEM_BAD_VALUE, "mac",
                           text_in(w, "a MAC of %u characters", len));
    }
    world_close(w);
}

/* ---- settings ---- */

TEST(waits_are_seconds_of_at_most_a_week)
{
    static const uint32_t right[] = {0, 1, RUN_TIME_S_MAX - 1, RUN_TIME_S_MAX};
    static const uint32_t wrong[] = {RUN_TIME_S_MAX + 1, INT32_MAX, UINT32_MAX};
    struct world *w = world_open();
    struct record record;
    for (uint32_t i = 0; i < sizeof right / sizeof *right; i++) {
        DONE(w, CMD(SETTINGS_UPDATE, settings_update,
                    .given = GIVEN_SETTINGS_BARRIER | GIVEN_SETTINGS_INSTALL_WAIT,
                    .barrier_s = right[i], .install_wait_s = right[i]));
        CHECK(core_record(w->core, TABLE_SETTINGS, 1, &record));
        CHECK(record.settings.barrier_s == right[i] && record.settings.install_wait_s == right[i]);
    }
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_refusal(w,
                       CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BARRIER,
                           .barrier_s = wrong[i]),
                       PROBLEM_BAD_VALUE, "barrier_s", "a long wait");
        expect_refusal(w,
                       CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_INSTALL_WAIT,
                           .install_wait_s = wrong[i]),
                       PROBLEM_BAD_VALUE, "install_wait_s", "a long wait");
    }
    world_close(w);
}
