#include "tests/store/real.h"

#include <dirent.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_thread.h"

struct real {
    struct store *store;
    sem_t woken;
};

static void wake(void *context)
{
    CHECK(sem_post(&((struct real *)context)->woken) == 0);
}

void real_open(void *place, struct session *s)
{
    struct real *real = malloc(sizeof *real);
    CHECK(real != NULL && sem_init(&real->woken, 0, 0) == 0);
    const struct store_options options = {
        .url = place, .holder = "test", .wake = wake, .wake_context = real};
    struct store_why why = {""};
    if (store_open(&options, &real->store, &why) != OK)
        check_failed(place, 0, why.text);
    s->self = real;
    s->port = store_port(real->store);
}

void real_close(struct session *s)
{
    struct real *real = s->self;
    store_close(real->store);
    CHECK(sem_destroy(&real->woken) == 0);
    free(real);
}

void real_wait(struct session *s)
{
    struct real *real = s->self;
    while (sem_wait(&real->woken) != 0)
        ; /* a signal woke us */
}

const char *real_trouble(const struct session *s)
{
    return store_last_error(((const struct real *)s->self)->store);
}

/* The parent has no thread and no connection here, so a child may have its own. */
bool real_die(void *place, bool (*life)(struct session *s))
{
    fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct session s = {0};
        real_open(place, &s);
        _exit(life(&s) ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static struct store_reader *open_reader(const char *url)
{
    struct store_reader *reader;
    struct store_why why = {""};
    if (store_reader_open(url, &reader, &why) != OK)
        check_failed(url, 0, why.text);
    return reader;
}

err real_intervals(void *place, const struct interval_page *page, struct record_callback callback)
{
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    const err e = history.intervals(history.self, page, callback);
    store_reader_close(reader);
    return e;
}

err real_runs(void *place, int64_t noderole_id, uint32_t limit, struct record_callback callback)
{
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    const err e = history.runs(history.self, noderole_id, limit, callback);
    store_reader_close(reader);
    return e;
}

struct store_mark real_read(const char *url, struct model *out_all)
{
    struct store_reader *reader = open_reader(url);
    struct store_mark mark;
    CHECK(store_reader_begin(reader, &mark) == OK);
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        CHECK(store_reader_table(reader, (enum table)t, model_visitor(out_all)) == OK);
    store_reader_end(reader);
    store_reader_close(reader);
    return mark;
}

/* ---- files ---- */

static const char scheme[] = "sqlite:", file[] = "/store.db";

void *real_make_file(void)
{
    enum { SIZE = 4096 };
    const char *root = getenv("TMPDIR");
    char *url = malloc(SIZE);
    CHECK(url != NULL);
    const int len =
        snprintf(url, SIZE, "%s%s/halligan-store-XXXXXX", scheme, root && *root ? root : "/tmp");
    CHECK(len > 0 && (size_t)len + sizeof file <= SIZE);
    CHECK(mkdtemp(url + sizeof scheme - 1) != NULL);
    memcpy(url + len, file, sizeof file);
    return url;
}

static void empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        CHECK(unlinkat(dirfd(folder), entry->d_name, 0) == 0);
    }
    closedir(folder);
}

void real_destroy_file(void *place)
{
    char *folder = (char *)place + sizeof scheme - 1;
    folder[strlen(folder) - (sizeof file - 1)] = '\0';
    empty_folder(folder);
    CHECK(rmdir(folder) == 0);
    free(place);
}
