#include "tests/crash/vfs_disk.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct disk {
    struct disk_file *first;
};

static void *grown(void *block, size_t size)
{
    void *larger = realloc(block, size ? size : 1);
    must(larger != NULL);
    return larger;
}

/* ---- images ---- */

static void image_resize(struct disk_image *image, uint64_t size)
{
    if (size > image->cap) {
        image->cap = size > 2 * image->cap ? size : 2 * image->cap;
        image->bytes = grown(image->bytes, image->cap);
    }
    if (size > image->size)
        memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void image_put(struct disk_image *image, uint64_t at, uint32_t size, const char *bytes)
{
    if (size == 0)
        return;
    if (at + size > image->size)
        image_resize(image, at + size);
    memcpy(image->bytes + at, bytes, size);
}

static struct disk_image image_copy(const struct disk_image *from)
{
    struct disk_image copy = {0};
    if (from->size)
        image_put(&copy, 0, (uint32_t)from->size, from->bytes);
    return copy;
}

/* ---- files ---- */

static void forget_writes(struct disk_file *f)
{
    for (uint32_t i = 0; i < f->write_count; i++)
        free(f->writes[i].bytes);
    f->write_count = 0;
}

static void file_free(struct disk_file *f)
{
    forget_writes(f);
    free(f->writes);
    free(f->now.bytes);
    free(f->durable.bytes);
    free(f->name);
    free(f);
}

struct disk *disk_new(void)
{
    struct disk *d = grown(NULL, sizeof *d);
    *d = (struct disk){0};
    return d;
}

void disk_free(struct disk *d)
{
    if (!d)
        return;
    for (struct disk_file *f = d->first, *next; f; f = next) {
        next = f->next;
        file_free(f);
    }
    free(d);
}

static void note_write(struct disk_file *f, struct disk_write write, const char *bytes)
{
    if (f->write_count == f->write_cap) {
        f->write_cap = f->write_cap ? 2 * f->write_cap : 16;
        f->writes = grown(f->writes, f->write_cap * sizeof *f->writes);
    }
    if (!write.truncates) {
        write.bytes = grown(NULL, write.size);
        memcpy(write.bytes, bytes, write.size);
    }
    f->writes[f->write_count++] = write;
}

static struct disk_file *add_file(struct disk *d, const char *name)
{
    struct disk_file *f = grown(NULL, sizeof *f);
    *f = (struct disk_file){0};
    if (name) {
        f->name = strdup(name);
        must(f->name != NULL);
    }
    f->next = d->first;
    d->first = f;
    return f;
}

struct disk *disk_copy(const struct disk *d)
{
    struct disk *copy = disk_new();
    for (const struct disk_file *f = d->first; f; f = f->next) {
        if (!f->name || (!f->linked && !f->linked_durably))
            continue;
        struct disk_file *twin = add_file(copy, f->name);
        twin->linked = f->linked;
        twin->linked_durably = f->linked_durably;
        twin->durable = image_copy(&f->durable);
        for (uint32_t i = 0; i < f->write_count; i++)
            note_write(twin, f->writes[i], f->writes[i].bytes);
    }
    return copy;
}

struct disk_file *disk_find(const struct disk *d, const char *name)
{
    for (struct disk_file *f = d->first; f; f = f->next)
        if (f->linked && strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

struct disk_file *disk_create(struct disk *d, const char *name)
{
    struct disk_file *f = add_file(d, name);
    f->linked = name != NULL;
    return f;
}

void disk_remove(struct disk_file *f)
{
    f->linked = false;
}

void disk_sync_folder(struct disk *d)
{
    for (struct disk_file *f = d->first; f; f = f->next)
        f->linked_durably = f->linked;
}

void disk_sweep(struct disk *d)
{
    for (struct disk_file **at = &d->first; *at;) {
        struct disk_file *f = *at;
        if (f->users || f->linked || f->linked_durably) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        file_free(f);
    }
}

/* ---- reading and writing ---- */

uint32_t disk_read(const struct disk_file *f, uint64_t at, uint32_t size, char *out)
{
    uint32_t there = 0;
    if (at < f->now.size)
        there = f->now.size - at < size ? (uint32_t)(f->now.size - at) : size;
    if (there)
        memcpy(out, f->now.bytes + at, there);
    memset(out + there, 0, size - there);
    return there;
}

void disk_write(struct disk_file *f, uint64_t at, uint32_t size, const char *bytes)
{
    if (size == 0)
        return;
    image_put(&f->now, at, size, bytes);
    note_write(f, (struct disk_write){.at = at, .size = size}, bytes);
}

void disk_truncate(struct disk_file *f, uint64_t size)
{
    image_resize(&f->now, size);
    note_write(f, (struct disk_write){.truncates = true, .at = size}, NULL);
}

void disk_sync(struct disk_file *f)
{
    for (uint32_t i = 0; i < f->write_count; i++) {
        const struct disk_write *w = &f->writes[i];
        if (w->truncates)
            image_resize(&f->durable, w->at);
        else
            image_put(&f->durable, w->at, w->size, w->bytes);
    }
    forget_writes(f);
    f->linked_durably |= f->linked;
}

/* ---- losing ---- */

/* What kind of disk it is, drawn anew for each crash. */
struct mood {
    uint32_t keeps;   /* per mille of whole writes that reach the disk */
    uint32_t tears;   /* of the others: per mille that reach it in part */
    uint32_t garbles; /* per mille of torn sectors that hold something else */
    uint32_t sector;
};

static struct mood some_mood(struct prng *r)
{
    static const uint32_t keeps[] = {0, 1000, 500, 500, 900, 100};
    return (struct mood){
        .keeps = keeps[prng_below(r, 6)],
        .tears = prng_chance(r, 700) ? 600 : 0,
        .garbles = prng_chance(r, 500) ? 200 : 0,
        .sector = prng_chance(r, 500) ? 512 : 4096,
    };
}

static void put_sector(struct disk_image *image, uint64_t at, uint32_t size, const char *bytes,
                       struct prng *r)
{
    if (bytes) {
        image_put(image, at, size, bytes);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        const char garbage = (char)prng_next(r);
        image_put(image, at + i, 1, &garbage);
    }
}

static void put_torn(struct disk_image *image, const struct disk_write *w, const struct mood *mood,
                     struct prng *r)
{
    for (uint64_t at = w->at; at < w->at + w->size;) {
        uint64_t end = (at / mood->sector + 1) * mood->sector;
        if (end > w->at + w->size)
            end = w->at + w->size;
        const char *bytes = prng_chance(r, mood->garbles) ? NULL : w->bytes + (at - w->at);
        if (prng_chance(r, 500))
            put_sector(image, at, (uint32_t)(end - at), bytes, r);
        at = end;
    }
}

/* Some of what was not synced reaches the durable image. */
static void lose_writes(struct disk_file *f, const struct mood *mood, struct prng *r)
{
    for (uint32_t i = 0; i < f->write_count; i++) {
        const struct disk_write *w = &f->writes[i];
        const bool whole = prng_chance(r, mood->keeps);
        if (w->truncates && whole)
            image_resize(&f->durable, w->at);
        else if (whole)
            image_put(&f->durable, w->at, w->size, w->bytes);
        else if (!w->truncates && prng_chance(r, mood->tears))
            put_torn(&f->durable, w, mood, r);
    }
    forget_writes(f);
}

void disk_sync_fail(struct disk_file *f, struct prng *r)
{
    const struct mood mood = some_mood(r);
    lose_writes(f, &mood, r);
}

/* One name, perhaps two files: the one that was removed and the one that took its place. Either is
 * there after the crash, or neither; never both. */
static void settle_name(struct disk *d, struct disk_file *f, struct prng *r)
{
    struct disk_file *other = NULL;
    for (struct disk_file *g = d->first; g; g = g->next)
        if (g != f && g->name && strcmp(g->name, f->name) == 0 &&
            g->linked + g->linked_durably == 1)
            other = g;
    if (f->linked == f->linked_durably)
        return;
    const bool stays = prng_chance(r, 500);
    f->linked = f->linked_durably = stays;
    if (other && stays)
        other->linked = other->linked_durably = false;
}

void disk_crash(struct disk *d, struct prng *r)
{
    const struct mood mood = some_mood(r);
    for (struct disk_file *f = d->first; f; f = f->next) {
        must(f->users == 0);
        if (f->name)
            settle_name(d, f, r);
        lose_writes(f, &mood, r);
        free(f->now.bytes);
        f->now = image_copy(&f->durable);
    }
    disk_sweep(d);
}
