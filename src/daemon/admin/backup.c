#include "daemon/admin/backup.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/admin/backup_files.h"
#include "daemon/admin/backup_manifest.h"
#include "daemon/admin/backup_private.h"
#include "daemon/admin/store_admin.h"
#include "store/store_thread.h"
#include "sys/files.h"
#include "sys/log.h"

struct making {
    struct config *config;
    const struct backup_options *options;
    const char *partial; /* the directory while it is filled */
    struct manifest manifest;
};

enum ending backup_trouble(const char *verb, const char *path)
{
    log_print(LOG_ERROR, "\"%s\" cannot be %s: %s", path, verb, strerror(errno));
    return ENDING_TROUBLE;
}

const char *backup_join(struct arena *a, const char *folder, const char *name)
{
    return str_z(a, STR_CONCAT(a, str_from(folder), STR("/"), str_from(name)));
}

bool backup_is_directory(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* ---- what is private ---- */

bool backup_is_private(const char *path)
{
    const struct str p = str_from(path);
    return str_eq(p, STR(BACKUP_DATA "admin.password")) || str_eq(p, STR(BACKUP_TLS_KEY)) ||
           (str_starts(p, STR(BACKUP_DATA "ssh/id_")) && !str_ends(p, STR(".pub"))) ||
           (str_starts(p, STR(BACKUP_DATA "tls/")) && str_ends(p, STR(".key")));
}

/* A password of the database server, anywhere in the text: "//user:password@" or "password=". */
static bool has_password(const char *text)
{
    for (const char *at = strstr(text, "://"); at; at = strstr(at, "://")) {
        at += strlen("://");
        const size_t user = strcspn(at, ":@/ \t\r\n");
        if (at[user] == ':' && at[user + strcspn(at + user, "@/ \t\r\n")] == '@')
            return true;
    }
    return strstr(text, "password=") != NULL;
}

/* A file that does not read as text is better taken for private. */
static bool config_is_private(struct making *m)
{
    enum { SIZE_MAX_BYTES = 1 << 20 };
    struct str text;
    const err e = file_read(&m->manifest.arena, m->options->config_file, SIZE_MAX_BYTES, &text);
    return e == OK ? has_password(str_z(&m->manifest.arena, text)) : e != ERR_NOT_FOUND;
}

/* ---- files ---- */

/* `name` is the path in the backup. A file that is gone by now was temporary. */
static enum ending put_file(struct making *m, const char *from, const char *name, bool is_private)
{
    struct manifest_file file = {.path = name};
    struct stat facts;
    if (stat(from, &facts) != 0)
        return errno == ENOENT ? ENDING_FINE : backup_trouble("read", from);
    if (is_private && !m->options->with_keys) {
        manifest_add_text(&m->manifest, &m->manifest.left_out, name);
        return ENDING_FINE;
    }
    const char *to = backup_join(&m->manifest.arena, m->partial, name);
    if (backup_make_parents(to) != OK)
        return backup_trouble("written", to);
    if (backup_copy(from, to, 0600, &file.measure) != OK)
        return errno == ENOENT ? ENDING_FINE : backup_trouble("copied", from);
    file.mode = facts.st_mode & 0777u;
    manifest_add_file(&m->manifest, &file);
    return ENDING_FINE;
}

/* One entry of the data directory. Links lead to what is not ours to copy; sockets and files that
 * are being written are not needed. */
static enum ending put_entry(struct making *m, const FTSENT *entry)
{
    const char *relative = entry->fts_path + strlen(m->config->data) + 1;
    const char *name = backup_join(&m->manifest.arena, "data", relative);
    switch (entry->fts_info) {
    case FTS_F:
        if (str_ends(str_from(name), STR(".tmp")))
            return ENDING_FINE;
        return put_file(m, entry->fts_path, name, backup_is_private(name));
    case FTS_SL:
    case FTS_SLNONE: manifest_add_text(&m->manifest, &m->manifest.left_out, name); break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: errno = entry->fts_errno; return backup_trouble("read", entry->fts_path);
    default: break;
    }
    return ENDING_FINE;
}

static enum ending put_data(struct making *m, const char *name)
{
    const char *path = config_path(m->config, name);
    if (!file_exists(path))
        return ENDING_FINE;
    char *const roots[] = {(char *)(uintptr_t)path, NULL}; /* fts_open changes nothing there */
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return backup_trouble("read", path);
    enum ending ending = ENDING_FINE;
    for (FTSENT *entry; ending == ENDING_FINE && (errno = 0, entry = fts_read(tree)) != NULL;)
        ending = put_entry(m, entry);
    if (ending == ENDING_FINE && errno)
        ending = backup_trouble("read", path);
    ignore(fts_close(tree), "it was only read");
    return ending;
}

static enum ending put_files(struct making *m)
{
    static const char *const names[] = {"admin.password", "ssh", "tls", "uploads"};
    const struct config *c = m->config;
    enum ending ending = ENDING_FINE;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && ending == ENDING_FINE; i++)
        ending = put_data(m, names[i]);
    if (ending == ENDING_FINE)
        ending = put_file(m, m->options->config_file, BACKUP_CONFIG, config_is_private(m));
    if (ending == ENDING_FINE && c->tls_cert)
        ending = put_file(m, c->tls_cert, BACKUP_TLS_CERT, false);
    if (ending == ENDING_FINE && c->tls_key)
        ending = put_file(m, c->tls_key, BACKUP_TLS_KEY, true);
    return ending;
}

/* ---- what lies elsewhere ---- */

static void put_directory(struct making *m, struct str path)
{
    const char *text = str_z(&m->manifest.arena, path);
    if (!path.len || !backup_is_directory(text))
        return;
    for (const struct manifest_text *t = m->manifest.directories; t; t = t->next)
        if (strcmp(t->text, text) == 0)
            return;
    manifest_add_text(&m->manifest, &m->manifest.directories, text);
}

static err put_source_path(void *self, const struct record *record)
{
    put_directory(self, record->barclamp.source_path);
    return OK;
}

/* Directories of barclamps are installed, not backed up: those that are there now must be there
 * when it is restored. */
static enum ending put_directories(struct making *m, const char *store_url)
{
    struct store_reader *reader;
    struct store_mark mark;
    struct store_why why = {0};
    const struct str all = str_from(m->config->barclamps);
    for (uint32_t from = 0; from < all.len;) {
        const uint32_t to = str_find(all, ':', from);
        put_directory(m, str_slice(all, from, to));
        from = to + 1;
    }
    err e = store_reader_open(store_url, &reader, &why);
    if (e == OK) {
        e = store_reader_begin(reader, &mark);
        if (e == OK) {
            e = store_reader_table(reader, TABLE_BARCLAMP,
                                   (struct store_visitor){m, put_source_path});
            store_reader_end(reader);
        }
        snprintf(why.text, sizeof why.text, "%s", store_reader_trouble(reader));
        store_reader_close(reader);
    }
    if (e == OK)
        return ENDING_FINE;
    log_print(LOG_ERROR, "the copy of the store cannot be read: %s", why.text);
    return ENDING_TROUBLE;
}

/* ---- all of it ---- */

static enum ending fill(struct making *m)
{
    struct manifest_file store = {.path = BACKUP_STORE, .mode = 0600};
    struct arena *a = &m->manifest.arena;
    const char *path = backup_join(a, m->partial, BACKUP_STORE);
    const char *url = str_z(a, STR_CONCAT(a, STR("sqlite:"), str_from(path)));
    enum ending ending = store_admin_copy_to_file(m->config->store, path);
    if (ending == ENDING_FINE)
        ending = put_directories(m, url);
    if (ending == ENDING_FINE)
        ending = store_admin_remove_beside(path);
    if (ending == ENDING_FINE && backup_measure(path, &store.measure) != OK)
        ending = backup_trouble("read", path);
    if (ending == ENDING_FINE) {
        manifest_add_file(&m->manifest, &store);
        ending = put_files(m);
    }
    const char *manifest = backup_join(a, m->partial, BACKUP_MANIFEST);
    if (ending == ENDING_FINE && manifest_write(&m->manifest, manifest) != OK)
        ending = backup_trouble("written", manifest);
    if (ending == ENDING_FINE && backup_sync_tree(m->partial) != OK)
        ending = backup_trouble("synced", m->partial);
    return ending;
}

static void print_result(const struct making *m)
{
    uint32_t count = 0;
    for (const struct manifest_file *f = m->manifest.files; f; f = f->next)
        count++;
    for (const struct manifest_text *t = m->manifest.left_out; t; t = t->next)
        printf("left out: %s\n", t->text);
    if (m->manifest.left_out && !m->options->with_keys)
        puts("private keys and passwords are backed up with --with-keys");
    printf("backup: %s, %u files\n", m->options->path, count);
}

enum ending backup_make(struct config *c, const struct backup_options *o)
{
    const struct str path = str_from(o->path);
    struct making m = {.config = c, .options = o};
    uint32_t len = path.len;
    while (len > 1 && path.at[len - 1] == '/')
        len--;
    const char *final = str_z(&c->arena, str_slice(path, 0, len));
    m.partial = str_z(&c->arena, STR_CONCAT(&c->arena, str_from(final), STR(".partial")));
    m.manifest.data = c->data;
    m.manifest.version = c->version;
    if (file_exists(final)) {
        log_print(LOG_ERROR, "\"%s\" exists already; it stays as it is", final);
        return ENDING_TROUBLE;
    }
    if (strlen(m.partial) >= PATH_MAX - 64) {
        errno = ENAMETOOLONG;
        return backup_trouble("written", final);
    }
    if (backup_remove_tree(m.partial) != OK || mkdir(m.partial, 0700) != 0)
        return backup_trouble("written", m.partial);
    enum ending ending = fill(&m);
    if (ending == ENDING_FINE && file_move_durably(m.partial, final) != OK)
        ending = backup_trouble("written", final);
    if (ending == ENDING_FINE)
        print_result(&m);
    else
        ignore(backup_remove_tree(m.partial), "what is left says .partial in its name");
    manifest_fini(&m.manifest);
    return ending;
}
