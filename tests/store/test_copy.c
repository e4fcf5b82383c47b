/* Goal: a copy holds everything its original holds, outranks it, and never overwrites anything.
 * Method: each pair of engines; random contents, read whole on both sides and compared. */
#include "model/restored.h"
#include "store/store_thread.h"
#include "tests/store/cluster.h"
#include "tests/store/real.h"

#include <stdlib.h>
#include <string.h>

const struct store_maker suite_maker = {
    .name = "copy",
    .open = real_open,
    .close = real_close,
    .wait = real_wait,
    .trouble = real_trouble,
};

enum kind { FILE_STORE, SERVER_STORE };

static char *make(enum kind kind)
{
    return kind == FILE_STORE ? real_make_file() : cluster_new_database();
}

static void destroy(enum kind kind, char *url)
{
    if (kind == FILE_STORE)
        real_destroy_file(url);
    else
        free(url);
}

static void write_randomly(char *url, uint64_t seed, int batches)
{
    struct prng r;
    struct draft d = {0};
    struct model m = {0};
    prng_init(&r, seed);
    struct session s = session_open(url);
    for (int i = 0; i < batches; i++) {
        draft_begin(&d);
        some_changes(&r, &d, &m);
        draft_write(&d, &s, &m);
    }
    /* One of each size around the limits of a chunk of rows. */
    for (int64_t id = 1; id <= 3; id++) {
        struct record record = some_node(id);
        draft_begin(&d);
        record.node.notes = some_text(&r, &d.arena, 1u << 20);
        draft_put(&d, &record);
        draft_write(&d, &s, &m);
    }
    draft_fini(&d);
    model_fini(&m);
    session_close(&s);
}

static bool marks_eq(struct store_mark a, struct store_mark b)
{
    return a.turn == b.turn && a.now_ms == b.now_ms && a.has_digest == b.has_digest &&
           digest_eq(a.digest, b.digest);
}

/* `url` still holds what was read from it before. */
static void check_untouched(char *url, struct store_mark mark, const struct model *all)
{
    struct model now = {0};
    const struct store_mark found = real_read(url, &now);
    CHECK(marks_eq(found, mark) && found.epoch == mark.epoch);
    CHECK(models_eq(&now, all, 0, TABLE_COUNT));
    model_fini(&now);
}

/* A leader of the copy continues at the position of the original. */
static void check_goes_on(char *url, struct store_mark original, struct model *all)
{
    struct session s = session_open(url);
    struct draft d = {0};
    CHECK(s.mark.epoch > original.epoch + 1000 && s.mark.turn == original.turn);
    check_load(&s, all);
    draft_begin(&d);
    const struct record node = some_node(4711);
    draft_put(&d, &node);
    struct batch stale = *draft_batch(&d, &s);
    stale.epoch = original.epoch;
    CHECK(session_write(&s, &stale) == ERR_FENCED);
    draft_write(&d, &s, all);
    check_load(&s, all);
    session_close(&s);
    draft_fini(&d);
}

static void check_copy(enum kind from_kind, enum kind to_kind)
{
    char *from = make(from_kind), *to = make(to_kind);
    struct store_why why = {""};
    write_randomly(from, 11, 100);
    struct model before = {0}, copied = {0};
    const struct store_mark mark = real_read(from, &before);
    if (store_copy(from, to, GRANT_VOID_NONE, &why) != OK)
        check_failed(from, 0, why.text);
    const struct store_mark copy = real_read(to, &copied);
    CHECK(marks_eq(mark, copy) && copy.epoch > mark.epoch + 1000);
    CHECK(mark.turn == 103 && mark.has_digest);
    CHECK(models_eq(&before, &copied, 0, TABLE_COUNT));
    uint32_t archived = 0;
    for (uint32_t i = 0; i < copied.count; i++)
        archived += copied.rows[i].table >= TABLE_LOADED;
    CHECK(archived > 50 && copied.count > 500);
    check_untouched(from, mark, &before);
    check_goes_on(to, mark, &copied);
    model_fini(&before);
    model_fini(&copied);
    destroy(from_kind, from);
    destroy(to_kind, to);
}

static void check_refusal(enum kind from_kind, enum kind to_kind)
{
    char *from = make(from_kind), *to = make(to_kind);
    struct store_why why = {""};
    write_randomly(from, 12, 10);
    write_randomly(to, 13, 5);
    struct model there = {0}, source = {0};
    const struct store_mark mark = real_read(to, &there), source_mark = real_read(from, &source);
    CHECK(store_copy(from, to, GRANT_VOID_NONE, &why) == ERR_REFUSED);
    CHECK(strstr(why.text, "not empty"));
    check_untouched(to, mark, &there);
    check_untouched(from, source_mark, &source);
    model_fini(&there);
    model_fini(&source);
    destroy(from_kind, from);
    destroy(to_kind, to);
}

/* A store that was led but never written is as good as none. */
static void check_founded_target(enum kind from_kind, enum kind to_kind)
{
    char *from = make(from_kind), *to = make(to_kind);
    struct store_why why = {""};
    write_randomly(from, 14, 5);
    struct session s = session_open(to);
    session_close(&s);
    CHECK(store_copy(from, to, GRANT_VOID_NONE, &why) == OK);
    struct model before = {0}, copied = {0};
    const struct store_mark mark = real_read(from, &before);
    CHECK(marks_eq(mark, real_read(to, &copied)));
    CHECK(models_eq(&before, &copied, 0, TABLE_COUNT));
    model_fini(&before);
    model_fini(&copied);
    destroy(from_kind, from);
    destroy(to_kind, to);
}

TEST(a_file_is_copied_into_a_file)
{
    check_copy(FILE_STORE, FILE_STORE);
}

TEST(a_file_is_copied_into_a_server)
{
    check_copy(FILE_STORE, SERVER_STORE);
}

TEST(a_server_is_copied_into_a_file)
{
    check_copy(SERVER_STORE, FILE_STORE);
}

TEST(a_server_is_copied_into_a_server)
{
    check_copy(SERVER_STORE, SERVER_STORE);
}

TEST(a_file_that_holds_something_is_not_overwritten)
{
    check_refusal(FILE_STORE, FILE_STORE);
}

TEST(a_server_that_holds_something_is_not_overwritten)
{
    check_refusal(FILE_STORE, SERVER_STORE);
}

TEST(a_file_that_was_only_founded_takes_a_copy)
{
    check_founded_target(FILE_STORE, FILE_STORE);
}

TEST(a_server_that_was_only_founded_takes_a_copy)
{
    check_founded_target(FILE_STORE, SERVER_STORE);
}

TEST(a_file_that_was_only_founded_takes_a_copy_of_a_server)
{
    check_founded_target(SERVER_STORE, FILE_STORE);
}

static void check_onto_itself(enum kind kind)
{
    char *url = make(kind);
    struct store_why why = {""};
    write_randomly(url, 15, 5);
    struct model there = {0};
    const struct store_mark mark = real_read(url, &there);
    CHECK(store_copy(url, url, GRANT_VOID_NONE, &why) == ERR_REFUSED);
    check_untouched(url, mark, &there);
    model_fini(&there);
    destroy(kind, url);
}

TEST(a_file_is_not_copied_onto_itself)
{
    check_onto_itself(FILE_STORE);
}

TEST(a_server_is_not_copied_onto_itself)
{
    check_onto_itself(SERVER_STORE);
}

static void check_nothing_to_copy(enum kind from_kind, enum kind to_kind)
{
    char *from = make(from_kind), *to = make(to_kind);
    struct store_why why = {""};
    struct store_reader *reader;
    CHECK(store_copy(from, to, GRANT_VOID_NONE, &why) != OK && why.text[0]);
    CHECK(store_reader_open(to, &reader, &why) != OK); /* nothing was made */
    CHECK(store_reader_open(from, &reader, &why) != OK);
    destroy(from_kind, from);
    destroy(to_kind, to);
}

/* ---- grants ---- */

static void put_grants(char *url)
{
    struct session s = session_open(url);
    struct draft d = {0};
    struct model m = {0};
    struct record unused = some_node(901), used = some_node(902), lost = some_node(903);
    struct record none = some_node(904), done, proposed;
    unused.node.grant_noderole = used.node.grant_noderole = lost.node.grant_noderole = 7;
    used.node.grant_ticket = STR("ab");
    used.node.grant_at = 12;
    lost.node.grant_void = GRANT_VOID_ERROR;
    done = (struct record){.table = TABLE_NODEROLE, .noderole = {.id = 905}};
    proposed = (struct record){.table = TABLE_NODEROLE, .noderole = {.id = 906}};
    done.noderole.role_id = 1;
    done.noderole.state = NODEROLE_ACTIVE;
    proposed.noderole.role_id = 2;
    proposed.noderole.state = NODEROLE_PROPOSED;
    const struct record *const all[] = {&unused, &used, &lost, &none, &done, &proposed};
    draft_begin(&d);
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        draft_put(&d, all[i]);
    draft_write(&d, &s, &m);
    session_close(&s);
    draft_fini(&d);
    model_fini(&m);
}

/* The copy differs in the grants only, and its digest is that of its rows. */
static void check_grants(enum kind from_kind, enum kind to_kind, enum grant_void how)
{
    char *from = make(from_kind), *to = make(to_kind);
    struct store_why why = {""};
    put_grants(from);
    struct model before = {0}, copied = {0};
    struct store_mark mark = real_read(from, &before);
    CHECK(store_copy(from, to, how, &why) == OK);
    uint32_t changed = 0;
    struct arena arena = {0};
    for (uint32_t i = 0; i < before.count; i++) {
        struct record row = before.rows[i].record;
        if (!restored_record_forget(&row, how))
            continue;
        changed++;
        CHECK(row.table == TABLE_NODEROLE
                  ? row.id == 905 && row.noderole.grant_barred == how
                  : (row.id == 901 || row.id == 902) && row.node.grant_void == how &&
                        row.node.grant_ticket.len == 0);
        const struct str was = {before.rows[i].bytes, before.rows[i].size};
        struct buf b = buf_in(&arena);
        record_encode(&row, &b);
        digest_sub(&mark.digest, digest_of_row(was));
        digest_add(&mark.digest, digest_of_row(buf_str(&b)));
        model_apply(&before, &(struct change){.record = row});
    }
    arena_fini(&arena);
    CHECK(changed == 3);
    CHECK(marks_eq(mark, real_read(to, &copied)));
    CHECK(models_eq(&before, &copied, 0, TABLE_COUNT));
    model_fini(&before);
    model_fini(&copied);
    destroy(from_kind, from);
    destroy(to_kind, to);
}

TEST(grants_are_void_in_a_file_that_is_restored)
{
    check_grants(FILE_STORE, FILE_STORE, GRANT_VOID_RESTORED);
}

TEST(grants_are_void_in_a_server_that_is_imported)
{
    check_grants(FILE_STORE, SERVER_STORE, GRANT_VOID_IMPORTED);
}

TEST(a_file_that_is_not_there_is_not_copied)
{
    check_nothing_to_copy(FILE_STORE, FILE_STORE);
}

TEST(a_server_that_has_nothing_is_not_copied)
{
    check_nothing_to_copy(SERVER_STORE, FILE_STORE);
}

TEST(urls_that_are_none_are_refused)
{
    static const char *const urls[] = {"", "x", "sqlite:", "/tmp/x.db", "mysql://x", "sqlite"};
    struct store_why why;
    for (uint32_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        why.text[0] = '\0';
        CHECK(!store_url_check(urls[i], &why) && why.text[0]);
        CHECK(store_copy(urls[i], "sqlite:/nonexistent/x.db", GRANT_VOID_NONE, &why) == ERR_SYNTAX);
    }
    CHECK(store_url_check("sqlite:x", &why) && store_url_check("postgresql:///x", &why));
}

/* While its leader is at work: what was in when the copy began. */
TEST(a_store_can_be_copied_while_it_is_led)
{
    char *from = make(FILE_STORE), *to = make(FILE_STORE);
    struct store_why why = {""};
    struct session s = session_open(from);
    struct draft d = {0};
    struct model m = {0}, copied = {0};
    const struct record first = some_node(1), second = some_node(2);
    draft_begin(&d);
    draft_put(&d, &first);
    draft_write(&d, &s, &m);
    CHECK(store_copy(from, to, GRANT_VOID_NONE, &why) == OK);
    CHECK(real_read(to, &copied).turn == 1);
    CHECK(models_eq(&copied, &m, 0, TABLE_COUNT));
    draft_begin(&d);
    draft_put(&d, &second);
    draft_write(&d, &s, &m);
    check_load(&s, &m);
    session_close(&s);
    model_fini(&m);
    model_fini(&copied);
    draft_fini(&d);
    destroy(FILE_STORE, from);
    destroy(FILE_STORE, to);
}
