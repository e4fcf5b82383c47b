/* Goal: what is written is what tar reads, and what is read may be anything.
 * Method: archives are read back by ourselves and by the tar of the system; broken ones are made by
 * cutting and changing good ones at every place. */
#include "run/jig/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prng.h"
#include "run/jig/archive_private.h"
#include "tests/check.h"

static struct arena arena;

static struct str text_of(const char *letter, uint32_t count)
{
    struct buf out = buf_in(&arena);
    for (uint32_t i = 0; i < count; i++)
        buf_put_z(&out, letter);
    return buf_str(&out);
}

/* A member whose head is written by hand. */
static void put(struct buf *out, char type, const char *name, struct str content)
{
    struct archive_head head = {.type = type, .magic = "ustar ", .version = {' ', 0}};
    char number[16];
    memcpy(head.name, name, strlen(name));
    snprintf(head.size, sizeof head.size, "%011o", content.len);
    snprintf(number, sizeof number, "%06o", archive_sum(&head));
    memcpy(head.sum, number, 7);
    head.sum[7] = ' ';
    buf_put(out, &head, sizeof head);
    buf_put_str(out, content);
    while (out->len % ARCHIVE_BLOCK)
        buf_put_c(out, 0);
}

static struct archive_reader reader_of(struct str bytes)
{
    return (struct archive_reader){.arena = &arena, .bytes = bytes};
}

static bool is(struct str seen, const char *wanted)
{
    return str_eq(seen, str_from(wanted));
}

TEST(what_is_written_is_read)
{
    struct archive archive = archive_begin(&arena);
    struct archive_member m;
    const struct str block = text_of("b", ARCHIVE_BLOCK);
    CHECK(archive_add_folder(&archive, STR("a"), 0755) == OK);
    CHECK(archive_add_file(&archive, STR("a/empty"), 0644, STR("")) == OK);
    CHECK(archive_add_file(&archive, STR("a/one"), 0600, STR("1")) == OK);
    CHECK(archive_add_file(&archive, STR("block"), 0600, block) == OK);
    struct archive_reader r = reader_of(archive_end(&archive));
    CHECK(r.bytes.len % ARCHIVE_BLOCK == 0 && archive.count == 4);
    CHECK(archive_next(&r, &m) == OK && m.kind == ARCHIVE_OTHER && is(m.name, "a"));
    CHECK(archive_next(&r, &m) == OK && m.kind == ARCHIVE_FILE && is(m.name, "a/empty"));
    CHECK(m.content.len == 0);
    CHECK(archive_next(&r, &m) == OK && is(m.name, "a/one") && is(m.content, "1"));
    CHECK(archive_next(&r, &m) == OK && str_eq(m.content, block));
    CHECK(archive_next(&r, &m) == ERR_NOT_FOUND && archive_next(&r, &m) == ERR_NOT_FOUND);
    arena_fini(&arena);
}

TEST(names_are_parted_where_they_fit_and_refused_where_not)
{
    struct archive archive = archive_begin(&arena);
    struct archive_member m;
    const struct str hundred = text_of("n", 100), one_more = text_of("n", 101);
    const struct str prefix = text_of("p", 155), longer = text_of("p", 156);
    const struct str fits = STR_CONCAT(&arena, prefix, STR("/"), hundred);
    CHECK(archive_add_file(&archive, hundred, 0644, STR("1")) == OK);
    CHECK(archive_add_file(&archive, fits, 0644, STR("2")) == OK);
    CHECK(archive_add_file(&archive, one_more, 0644, STR("")) == ERR_LIMIT);
    CHECK(archive_add_file(&archive, STR(""), 0644, STR("")) == ERR_LIMIT);
    CHECK(archive_add_folder(&archive, STR_CONCAT(&arena, one_more, STR("/")), 0755) == ERR_LIMIT);
    CHECK(archive_add_file(&archive, STR_CONCAT(&arena, longer, STR("/"), hundred), 0644,
                           STR("")) == ERR_LIMIT);
    CHECK(archive_add_file(&archive, STR_CONCAT(&arena, prefix, STR("/"), one_more), 0644,
                           STR("")) == ERR_LIMIT);
    struct archive_reader r = reader_of(archive_end(&archive));
    CHECK(archive_next(&r, &m) == OK && str_eq(m.name, hundred) && is(m.content, "1"));
    CHECK(archive_next(&r, &m) == OK && str_eq(m.name, fits) && is(m.content, "2"));
    CHECK(archive_next(&r, &m) == ERR_NOT_FOUND);
    arena_fini(&arena);
}

TEST(there_is_an_end_to_what_an_archive_holds)
{
    struct archive archive = archive_begin(&arena);
    const struct str much = {arena_zalloc(&arena, ARCHIVE_SIZE_MAX), ARCHIVE_SIZE_MAX};
    CHECK(archive_add_file(&archive, STR("much"), 0644, much) == ERR_LIMIT);
    CHECK(archive_add_file(&archive, STR("half"), 0644, str_slice(much, 0, much.len / 2)) == OK);
    CHECK(archive_add_file(&archive, STR("more"), 0644, str_slice(much, 0, much.len / 2)) ==
          ERR_LIMIT);
    CHECK(archive_add_file(&archive, STR("little"), 0644, STR("x")) == OK);
    arena_fini(&arena);
}

TEST(the_tar_of_the_system_agrees)
{
    char folder[] = "/tmp/halligan-archive-XXXXXX", line[400];
    struct archive archive = archive_begin(&arena);
    CHECK(mkdtemp(folder));
    CHECK(archive_add_folder(&archive, STR("d"), 0700) == OK);
    CHECK(archive_add_file(&archive, STR("d/a 'b'\n"), 0640, STR("one\n")) == OK);
    const struct str bytes = archive_end(&archive);
    snprintf(line, sizeof line, "%s/archive", folder);
    FILE *file = fopen(line, "w");
    CHECK(file && fwrite(bytes.at, 1, bytes.len, file) == bytes.len && fclose(file) == 0);
    snprintf(line, sizeof line,
             "cd %s && umask 022 && said=$(tar -xf archive 2>&1) && [ -z \"$said\" ] && "
             "[ \"$(stat -c %%a d d/*)\" = \"700\n640\" ] && [ \"$(cat d/*)\" = one ]",
             folder);
    const int status = system(line);
    snprintf(line, sizeof line, "rm -r %s", folder);
    CHECK(system(line) == 0);
    CHECK(status == 0);
    arena_fini(&arena);
}

TEST(long_names_of_gnu_and_of_pax_are_read)
{
    struct archive_member m;
    struct buf out = buf_in(&arena);
    put(&out, 'L', "././@LongLink", STR("long/name\0"));
    put(&out, '0', "short", STR("gnu"));
    put(&out, 'g', "global", STR("11 key=val\n"));
    put(&out, 'x', "pax", STR("19 path=other/name\n13 mtime=1.5\n"));
    put(&out, 0, "short", STR("pax"));
    put(&out, 'x', "pax", STR("22 linkpath=long/name\n"));
    put(&out, '1', "again", STR(""));
    put(&out, '2', "symbolic", STR(""));
    struct archive_reader r = reader_of(buf_str(&out));
    CHECK(archive_next(&r, &m) == OK && is(m.name, "long/name") && is(m.content, "gnu"));
    CHECK(archive_next(&r, &m) == OK && is(m.name, "other/name") && is(m.content, "pax"));
    CHECK(archive_next(&r, &m) == OK && m.kind == ARCHIVE_LINK && is(m.target, "long/name"));
    CHECK(archive_next(&r, &m) == OK && m.kind == ARCHIVE_OTHER && is(m.name, "symbolic"));
    CHECK(archive_next(&r, &m) == ERR_NOT_FOUND);
    arena_fini(&arena);
}

TEST(a_long_name_without_its_member_is_corrupt)
{
    static const char *const records[] = {"path=x\n",    "99 path=x\n", "8 path=x\n", "9 path=xy",
                                          "0 path=x\n",  "-9 path=x\n", "2 \n",       " path=x\n",
                                          "9 size=77\n", "11 size=77\n"};
    struct archive_member m;
    struct buf out = buf_in(&arena);
    put(&out, 'L', "././@LongLink", STR("name"));
    struct archive_reader r = reader_of(buf_str(&out));
    CHECK(archive_next(&r, &m) == ERR_CORRUPT);
    for (uint32_t i = 0; i < sizeof records / sizeof *records; i++) {
        out = buf_in(&arena);
        put(&out, 'x', "pax", str_from(records[i]));
        put(&out, '0', "file", STR(""));
        r = reader_of(buf_str(&out));
        CHECK(archive_next(&r, &m) == ERR_CORRUPT);
    }
    arena_fini(&arena);
}

/* How many members can be read, and how it ends. */
static err read_all(struct str bytes, uint32_t *out_count)
{
    struct archive_reader r = reader_of(bytes);
    struct archive_member m;
    err e;
    *out_count = 0;
    while ((e = archive_next(&r, &m)) == OK) {
        CHECK(m.content.len == 0 ||
              (m.content.at >= bytes.at && m.content.at + m.content.len <= bytes.at + bytes.len));
        ++*out_count;
    }
    return e;
}

TEST(a_broken_archive_is_noticed_or_read_but_never_believed)
{
    struct archive archive = archive_begin(&arena);
    struct prng prng;
    uint32_t count;
    CHECK(archive_add_file(&archive, STR("a/wall"), 0644, STR("1")) == OK);
    CHECK(archive_add_file(&archive, STR("b/wall"), 0644, text_of("x", 700)) == OK);
    const struct str good = archive_end(&archive);
    CHECK(read_all(good, &count) == ERR_NOT_FOUND && count == 2);
    for (uint32_t cut = 1; cut < 512u * 5; cut++) {
        const err e = read_all(str_slice(good, 0, cut), &count);
        CHECK(e == (cut == 512 * 2 || cut == 512 * 5 ? ERR_NOT_FOUND : ERR_CORRUPT));
    }
    prng_init(&prng, 5);
    for (uint32_t i = 0; i < 20000; i++) {
        const struct arena_mark mark = arena_mark(&arena);
        char *bytes = arena_copy(&arena, good.at, good.len);
        const uint32_t changes = 1 + (uint32_t)prng_below(&prng, 4);
        for (uint32_t k = 0; k < changes; k++)
            bytes[prng_below(&prng, good.len)] = (char)prng_below(&prng, 256);
        ignore(read_all((struct str){bytes, good.len}, &count), "either end is right");
        arena_rewind(&arena, mark);
    }
    arena_fini(&arena);
}

TEST(numbers_out_of_all_bounds_are_broken)
{
    static const char *const sizes[] = {"77777777777", "00000002001", "-0000000001",
                                        "           ", "0000000008 ", "\x80\0\0\0\0\0\0\0\0\0\x01"};
    struct archive_member m;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf out = buf_in(&arena);
        put(&out, '0', "file", STR("content"));
        struct archive_head *head = (struct archive_head *)(void *)out.at;
        char number[16];
        memcpy(head->size, sizes[i], 11);
        snprintf(number, sizeof number, "%06o", archive_sum(head));
        memcpy(head->sum, number, 7);
        struct archive_reader r = reader_of(buf_str(&out));
        CHECK(archive_next(&r, &m) == ERR_CORRUPT);
    }
    arena_fini(&arena);
}
