/* Goal: records and commands come back from their bytes as they were, and no bytes whatever break
 * the reader.
 * Method: every layout with seeded random values against the plain description of the format;
 * then truncated, flipped and invented bytes, in blocks that end where the bytes end. */
#include "base/prng.h"
#include "model/command.h"
#include "model/problem.h"
#include "model/record.h"
#include "tests/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- random objects ---- */

static uint64_t some_number(struct prng *r)
{
    switch (prng_below(r, 6)) {
    case 0: return 0;
    case 1: return prng_below(r, 3);
    case 2: return 1700000000000u + prng_below(r, 1u << 30);
    case 3: return UINT64_MAX - prng_below(r, 2);
    case 4: return (uint64_t)1 << prng_below(r, 64);
    default: return prng_next(r) >> prng_below(r, 64);
    }
}

static struct str some_text(struct prng *r, struct arena *a)
{
    static const uint32_t lengths[] = {0, 0, 0, 1, 7, 127, 128, 300};
    uint32_t len = lengths[prng_below(r, 8)];
    char *text = arena_alloc(a, len);
    for (uint32_t i = 0; i < len; i++)
        text[i] = (char)prng_between(r, ' ', '~');
    return (struct str){text, len};
}

static void fill(struct prng *r, struct arena *a, const struct layout *layout, void *object)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        void *value = (char *)object + layout->fields[i].offset;
        switch (layout->fields[i].kind) {
        case FIELD_I64: *(int64_t *)value = (int64_t)some_number(r); break;
        case FIELD_U32: *(uint32_t *)value = (uint32_t)some_number(r); break;
        case FIELD_BOOL: *(bool *)value = prng_chance(r, 500); break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW: *(struct str *)value = some_text(r, a); break;
        }
    }
}

static struct record some_record(struct prng *r, struct arena *a)
{
    struct record record = {.table = (enum table)prng_below(r, TABLE_COUNT)};
    fill(r, a, record_layout(record.table), &record.id);
    return record;
}

static struct command some_command(struct prng *r, struct arena *a)
{
    struct command c = {.kind = (enum command_kind)prng_below(r, COMMAND_COUNT),
                        .request = (int64_t)some_number(r),
                        .actor = some_text(r, a),
                        .address = some_text(r, a),
                        .now_ms = (int64_t)some_number(r),
                        .wall_ms = (int64_t)some_number(r),
                        .mono_ms = (int64_t)some_number(r),
                        .nonce = {some_number(r), some_number(r)},
                        .depth = (uint32_t)some_number(r),
                        .veto_reply_count = (uint32_t)prng_below(r, 4)};
    struct veto_reply *veto_replies = arena_array(a, struct veto_reply, c.veto_reply_count);
    for (uint32_t i = 0; i < c.veto_reply_count; i++)
        veto_replies[i] = (struct veto_reply){some_number(r), prng_chance(r, 500), some_text(r, a)};
    c.veto_replies = veto_replies;
    fill(r, a, command_layout(c.kind), command_payload(&c));
    return c;
}

/* ---- the format, written down a second time and slowly ---- */

static void plain_encode(const struct layout *layout, const void *object, struct buf *out)
{
    struct arena scratch = {0};
    struct buf body = buf_in(&scratch);
    uint64_t mask = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const void *value = (const char *)object + layout->fields[i].offset;
        enum field_kind kind = layout->fields[i].kind;
        uint32_t before = body.len;
        if (kind == FIELD_I64 && *(const int64_t *)value) {
            int64_t v = *(const int64_t *)value;
            buf_put_varint(&body, v >= 0 ? 2 * (uint64_t)v : 2 * (uint64_t)(-(v + 1)) + 1);
        } else if (kind == FIELD_U32 && *(const uint32_t *)value) {
            buf_put_varint(&body, *(const uint32_t *)value);
        } else if (kind == FIELD_BOOL && *(const bool *)value) {
            mask |= (uint64_t)1 << i;
        } else if (kind >= FIELD_TEXT && ((const struct str *)value)->len) {
            buf_put_varint(&body, ((const struct str *)value)->len);
            buf_put_str(&body, *(const struct str *)value);
        }
        if (body.len != before)
            mask |= (uint64_t)1 << i;
    }
    buf_put_varint(out, mask);
    buf_put_str(out, buf_str(&body));
    arena_fini(&scratch);
}

/* ---- bytes in a block of their own, so that a sanitizer sees a step too far ---- */

static struct str own_block(struct str bytes, uint32_t len)
{
    char *block = malloc(len ? len : 1);
    CHECK(block != NULL);
    if (len)
        memcpy(block, bytes.at, len);
    return (struct str){block, len};
}

static void free_block(struct str block)
{
    free((void *)(uintptr_t)block.at);
}

/* Decodes whatever it is; when it reads, writing it again gives the same bytes. */
static bool reads_as_record(struct arena *a, struct str bytes)
{
    uint32_t at = 0;
    struct record record;
    memset(&record, 0xa5, sizeof record);
    err e = record_decode(bytes, &at, &record);
    CHECK(e == OK || (e == ERR_CORRUPT && at == 0));
    if (e != OK)
        return false;
    struct buf again = buf_in(a);
    record_encode(&record, &again);
    CHECK(at <= bytes.len && str_eq(buf_str(&again), str_slice(bytes, 0, at)));
    return true;
}

static bool reads_as_command(struct arena *a, struct str bytes)
{
    uint32_t at = 0;
    struct command command;
    err e = command_decode(a, bytes, &at, &command);
    CHECK(e == OK || (e == ERR_CORRUPT && at == 0));
    if (e != OK)
        return false;
    struct buf again = buf_in(a);
    command_encode(&command, &again);
    CHECK(at <= bytes.len && str_eq(buf_str(&again), str_slice(bytes, 0, at)));
    return true;
}

/* Every prefix refuses; every single flipped bit is survived. */
static void torment(struct arena *a, struct str bytes, bool (*reads)(struct arena *, struct str))
{
    for (uint32_t len = 0; len < bytes.len; len++) {
        struct str block = own_block(bytes, len);
        CHECK(!reads(a, block));
        free_block(block);
    }
    for (uint32_t bit = 0; bit < bytes.len * 8; bit++) {
        struct str block = own_block(bytes, bytes.len);
        ((char *)(uintptr_t)block.at)[bit / 8] ^= (char)(1u << bit % 8);
        reads(a, block);
        free_block(block);
    }
}

static bool commands_eq(const struct command *a, const struct command *b)
{
    bool same = a->kind == b->kind && a->request == b->request && str_eq(a->actor, b->actor) &&
                str_eq(a->address, b->address) && a->now_ms == b->now_ms &&
                a->mono_ms == b->mono_ms && a->wall_ms == b->wall_ms &&
                a->nonce[0] == b->nonce[0] && a->nonce[1] == b->nonce[1] && a->depth == b->depth &&
                a->veto_reply_count == b->veto_reply_count;
    for (uint32_t i = 0; same && i < a->veto_reply_count; i++)
        same = a->veto_replies[i].key == b->veto_replies[i].key &&
               a->veto_replies[i].veto == b->veto_replies[i].veto &&
               str_eq(a->veto_replies[i].text, b->veto_replies[i].text);
    return same &&
           fields_eq(command_layout(a->kind), command_payload_const(a), command_payload_const(b));
}

/* ---- records ---- */

TEST(a_noderole_has_the_bytes_the_format_says)
{
    struct arena a = {0};
    struct record record = {
        .table = TABLE_NODEROLE,
        .noderole = {.id = 3, .turn = -1, .state = 200, .rerun = true, .status = STR("on")}};
    struct buf out = buf_in(&a);
    record_encode(&record, &out);
    /* Table; bits 0, 3, 7, 14, 19 of the mask; 3 and -1 in zigzag; 200; the text. */
    static const unsigned char bytes[] = {TABLE_NODEROLE, 0x89, 0x81, 0x21, 6,  1,
                                          0xc8,           0x01, 2,    'o',  'n'};
    CHECK(out.len == sizeof bytes && memcmp(out.at, bytes, sizeof bytes) == 0);
    arena_fini(&a);
}

TEST(a_record_of_zeros_is_two_bytes)
{
    struct arena a = {0};
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        struct record record = {.table = (enum table)t};
        struct buf out = buf_in(&a);
        record_encode(&record, &out);
        CHECK(out.len == 2 && out.at[0] == (char)t && out.at[1] == 0);
    }
    arena_fini(&a);
}

TEST(every_record_comes_back_and_both_encoders_agree)
{
    struct prng r;
    prng_init(&r, 1);
    struct arena a = {0};
    for (int i = 0; i < 20000; i++) {
        arena_reset(&a);
        struct record record = some_record(&r, &a);
        const struct layout *layout = record_layout(record.table);
        struct buf out = buf_in(&a);
        struct buf generic = buf_in(&a);
        struct buf plain = buf_in(&a);
        record_encode(&record, &out);
        fields_encode(layout, &record.id, &generic);
        plain_encode(layout, &record.id, &plain);
        CHECK(out.at[0] == (char)record.table);
        CHECK(str_eq(str_slice(buf_str(&out), 1, out.len), buf_str(&plain)));
        CHECK(str_eq(buf_str(&generic), buf_str(&plain)));

        struct record back;
        memset(&back, 0x5a, sizeof back);
        uint32_t at = 0;
        CHECK(record_decode(buf_str(&out), &at, &back) == OK);
        CHECK(at == out.len && back.table == record.table);
        CHECK(fields_eq(layout, &record.id, &back.id));
    }
    arena_fini(&a);
}

TEST(records_follow_one_another)
{
    struct prng r;
    prng_init(&r, 2);
    struct arena a = {0};
    struct record records[200];
    struct buf out = buf_in(&a);
    for (int i = 0; i < 200; i++) {
        records[i] = some_record(&r, &a);
        record_encode(&records[i], &out);
    }
    uint32_t at = 0;
    for (int i = 0; i < 200; i++) {
        struct record back;
        CHECK(record_decode(buf_str(&out), &at, &back) == OK);
        CHECK(back.table == records[i].table);
        CHECK(fields_eq(record_layout(back.table), &records[i].id, &back.id));
    }
    CHECK(at == out.len);
    struct record none;
    CHECK(record_decode(buf_str(&out), &at, &none) == ERR_CORRUPT && at == out.len);
    arena_fini(&a);
}

TEST(fields_eq_notices_every_field)
{
    struct prng r;
    prng_init(&r, 3);
    struct arena a = {0};
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct layout *layout = record_layout((enum table)t);
        struct record one = {.table = (enum table)t};
        fill(&r, &a, layout, &one.id);
        for (uint32_t i = 0; i < layout->count; i++) {
            struct record two = one;
            void *value = (char *)&two.id + layout->fields[i].offset;
            switch (layout->fields[i].kind) {
            case FIELD_I64: *(int64_t *)value ^= 1; break;
            case FIELD_U32: *(uint32_t *)value ^= 1; break;
            case FIELD_BOOL: *(bool *)value ^= true; break;
            case FIELD_TEXT:
            case FIELD_DOC:
            case FIELD_RAW: *(struct str *)value = STR("\x01something else"); break;
            }
            CHECK(fields_eq(layout, &one.id, &one.id));
            CHECK(!fields_eq(layout, &one.id, &two.id));
        }
    }
    arena_fini(&a);
}

TEST(a_copy_owns_its_texts)
{
    struct prng r;
    prng_init(&r, 4);
    struct arena source = {0};
    struct arena a = {0};
    for (int i = 0; i < 500; i++) {
        struct record record = some_record(&r, &source);
        const struct layout *layout = record_layout(record.table);
        struct record copy = {.table = record.table};
        fields_copy(&a, layout, &record.id, &copy.id);
        CHECK(fields_eq(layout, &record.id, &copy.id));
        for (uint32_t f = 0; f < layout->count; f++) {
            if (layout->fields[f].kind < FIELD_TEXT)
                continue;
            const struct str *from = (const void *)((char *)&record.id + layout->fields[f].offset);
            const struct str *to = (const void *)((char *)&copy.id + layout->fields[f].offset);
            CHECK(from->len == 0 || from->at != to->at);
        }
    }
    arena_fini(&source);
    arena_fini(&a);
}

/* ---- bytes from nowhere ---- */

TEST(a_value_has_one_encoding_only)
{
    struct arena a = {0};
    static const struct {
        const char *bytes;
        uint32_t len;
        const char *why;
    } wrong[] = {
        {"\x01\x81\x00\x02", 4, "a mask with a needless byte"},
        {"\x01\x01\x82\x00", 4, "a number with a needless byte"},
        {"\x01\x01\x00", 3, "a zero that is said to be none"},
        {"\x01\x20\x02", 3, "a field that the table does not have"},
        {"\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 12, "more than 64 bits"},
        {"\x00\x10\xff\xff\xff\xff\x7f", 7, "more than 32 bits for a small number"},
        {"\x02\x10\x00", 3, "a text of length zero"},
        {"\x02\x10\x04"
         "abc",
         6, "a text that is longer than the bytes"},
        {"\x24\x00", 2, "a table that does not exist"},
        {"\xff\x00", 2, "another one"},
    };
    CHECK(TABLE_COUNT == 0x24);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!reads_as_record(&a, (struct str){wrong[i].bytes, wrong[i].len}));
    CHECK(reads_as_record(&a, STR("\x01\x10\x02")));
    CHECK(reads_as_record(&a, STR("\x02\x10\x03"
                                  "abc")));
    arena_fini(&a);
}

TEST(cut_or_flipped_records_never_break_the_reader)
{
    struct prng r;
    prng_init(&r, 5);
    struct arena a = {0};
    for (int i = 0; i < 300; i++) {
        arena_reset(&a);
        struct record record = some_record(&r, &a);
        struct buf out = buf_in(&a);
        record_encode(&record, &out);
        torment(&a, buf_str(&out), reads_as_record);
    }
    arena_fini(&a);
}

TEST(cut_or_flipped_commands_never_break_the_reader)
{
    struct prng r;
    prng_init(&r, 6);
    struct arena a = {0};
    for (int i = 0; i < 300; i++) {
        arena_reset(&a);
        struct command command = some_command(&r, &a);
        struct buf out = buf_in(&a);
        command_encode(&command, &out);
        torment(&a, buf_str(&out), reads_as_command);
    }
    arena_fini(&a);
}

TEST(invented_bytes_never_break_the_reader)
{
    struct prng r;
    prng_init(&r, 7);
    struct arena a = {0};
    int read = 0;
    for (int i = 0; i < 200000; i++) {
        arena_reset(&a);
        char bytes[40];
        uint32_t len = (uint32_t)prng_below(&r, sizeof bytes);
        for (uint32_t k = 0; k < len; k++)
            bytes[k] = (char)(prng_chance(&r, 300) ? prng_next(&r) : prng_below(&r, 8));
        struct str block = own_block((struct str){bytes, len}, len);
        read += reads_as_record(&a, block);
        read += reads_as_command(&a, block);
        free_block(block);
    }
    CHECK(read > 1000); /* the shapes are near enough to the format to mean something */
    arena_fini(&a);
}

/* ---- commands ---- */

TEST(every_command_comes_back)
{
    struct prng r;
    prng_init(&r, 8);
    struct arena a = {0};
    struct buf out;
    for (int i = 0; i < 20000; i++) {
        arena_reset(&a);
        out = buf_in(&a);
        struct command command = some_command(&r, &a);
        command_encode(&command, &out);
        struct command back;
        uint32_t at = 0;
        CHECK(command_decode(&a, buf_str(&out), &at, &back) == OK);
        CHECK(at == out.len && commands_eq(&command, &back));
    }
    arena_fini(&a);
}

TEST(a_command_outlives_the_memory_it_was_copied_from)
{
    struct prng r;
    prng_init(&r, 9);
    struct arena a = {0};
    struct arena kept = {0};
    for (int i = 0; i < 2000; i++) {
        struct command command = some_command(&r, &a);
        struct buf before = buf_in(&kept);
        command_encode(&command, &before);
        struct command copy = command_copy(&kept, &command);
        CHECK(commands_eq(&command, &copy));
        arena_fini(&a);
        struct buf after = buf_in(&kept);
        command_encode(&copy, &after);
        CHECK(str_eq(buf_str(&before), buf_str(&after)));
        arena_reset(&kept);
    }
    arena_fini(&kept);
}

TEST(the_payload_is_the_member_of_that_name)
{
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    CHECK(command_payload(&command) == (void *)&command.noderole_bind);
    CHECK(command_payload_const(&command) == (const void *)&command.tick);
}

/* ---- names ---- */

TEST(layouts_describe_their_structs)
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct layout *layout = record_layout((enum table)t);
        CHECK(layout->count > 0 && layout->count <= 64 && layout->size <= sizeof(struct record));
        for (uint32_t i = 0; i < layout->count; i++)
            CHECK(layout->fields[i].offset < layout->size);
        if (t < TABLE_OBJECTS)
            CHECK(strcmp(layout->fields[0].name, "id") == 0 && layout->fields[0].offset == 0);
    }
    CHECK(strcmp(table_name(TABLE_DEPLOYMENT_ROLE), "deployment_role") == 0);
    CHECK(strcmp(command_name(COMMAND_NODE_CREATE), "node_create") == 0);
    CHECK(strcmp(record_layout(TABLE_NODE)->fields[4].name, "name") == 0);
    CHECK(strcmp(noderole_state_name(NODEROLE_TRANSITION), "transition") == 0);
    CHECK(strcmp(hook_name(HOOK_NODE_DELETE), "on_node_delete") == 0);
}

TEST(the_first_hooks_are_the_states)
{
    for (uint32_t s = 0; s < NODEROLE_STATE_COUNT; s++) {
        const char *hook = hook_name((enum hook)s);
        CHECK(strncmp(hook, "on_", 3) == 0);
        CHECK(strcmp(hook + 3, noderole_state_name((enum noderole_state)s)) == 0);
    }
}

TEST(problem_codes_are_their_names_in_lower_case)
{
    static const struct {
        const char *upper;
        int status;
    } list[] = {
#define X(name, status) {#name, status},
        PROBLEMS(X)
#undef X
    };
    for (uint32_t code = 1; code < PROBLEM_COUNT; code++) {
        struct str name = problem_code_name((enum problem_code)code);
        CHECK(name.len == strlen(list[code - 1].upper));
        for (uint32_t i = 0; i < name.len; i++)
            CHECK(name.at[i] == (char)tolower(list[code - 1].upper[i]));
        CHECK(problem_status((enum problem_code)code) == list[code - 1].status);
    }
    CHECK(problem_status(PROBLEM_NOT_FOUND) == 404);
}
