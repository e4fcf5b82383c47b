/* backup.c - `halligand backup`.
 *
 * A backup is a directory with a copy of the store, the files of the data directory, the
 * configuration, and a manifest that lists every file with its size and hash.
 *
 * Orders that matter: the backup is written into DIR.partial and renamed to DIR when every file is
 * complete and synced, so a directory with the final name is always a whole backup. The store is
 * copied first, as of one turn; files are copied after it, so they may be newer but never older
 * than the store. The manifest is written after all other files, because it lists them.
 *
 * Failure: the first error ends the backup. It is logged, the partial directory is removed and the
 * exit status is DAEMON_EXIT_FAILURE. A partial directory that remains, for example after a crash,
 * is removed by the next backup of the same name. If only the sync after the rename fails, DIR
 * exists and is whole, but may be lost if the host fails.
 *
 * The daemon may run meanwhile and no lock is taken: a file that disappears before it is copied was
 * a temporary one and is skipped.
 */
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

struct backup_job {
    struct config *config;
    const struct backup_options *options;
    const char *partial; /* DIR.partial, which is filled and then renamed */
    struct manifest manifest;
};

enum exit_status backup_io_error(const char *verb, const char *path)
{
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "\"%s\" cannot be %s: %s", path, verb,
             strerror(errno));
    return DAEMON_EXIT_FAILURE;
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

/* ---- secrets ---- */

bool backup_is_private(const char *path)
{
    const struct str p = str_from(path);
    return str_eq(p, STR(BACKUP_DATA "admin.password")) || str_eq(p, STR(BACKUP_TLS_KEY)) ||
           str_eq(p, STR(BACKUP_DATA "boot.key")) ||
           (str_starts(p, STR(BACKUP_DATA "ssh/id_")) && !str_ends(p, STR(".pub"))) ||
           (str_starts(p, STR(BACKUP_DATA "tls/")) && str_ends(p, STR(".key")));
}

/* True if the text may contain a password of the database server: "://user:password@" or
 * "password=". */
static bool backup_has_password(const char *text)
{
    for (const char *at = strstr(text, "://"); at; at = strstr(at, "://")) {
        at += strlen("://");
        const size_t user = strcspn(at, ":@/ \t\r\n");
        if (at[user] == ':' && at[user + strcspn(at + user, "@/ \t\r\n")] == '@')
            return true;
    }
    return strstr(text, "password=") != NULL;
}

/* A configuration that exists and cannot be read counts as private. */
static bool backup_config_is_private(struct backup_job *job)
{
    enum { CONFIG_SIZE_MAX = 1 << 20 }; /* bytes */
    struct str text;
    const err e =
        file_read(&job->manifest.arena, job->options->config_file, CONFIG_SIZE_MAX, &text);
    return e == OK ? backup_has_password(str_z(&job->manifest.arena, text)) : e != ERR_NOT_FOUND;
}

/* ---- files ---- */

/* Copy one file; `name` is its path in the backup. A file that does not exist is skipped. Without
 * --with-keys a private file is not copied but listed in the manifest as left out. Copies have mode
 * 0600; the manifest has the mode of the original. */
static enum exit_status backup_put_file(struct backup_job *job, const char *from, const char *name,
                                        bool is_private)
{
    struct manifest_file file = {.path = name};
    struct stat facts;
    if (stat(from, &facts) != 0)
        return errno == ENOENT ? DAEMON_EXIT_OK : backup_io_error("read", from);
    if (is_private && !job->options->with_keys) {
        manifest_add_text(&job->manifest, &job->manifest.left_out, name);
        return DAEMON_EXIT_OK;
    }
    const char *to = backup_join(&job->manifest.arena, job->partial, name);
    if (backup_make_parents(to) != OK)
        return backup_io_error("written", to);
    if (backup_copy(from, to, 0600, &file.measure) != OK)
        return errno == ENOENT ? DAEMON_EXIT_OK : backup_io_error("copied", from);
    file.mode = facts.st_mode & 0777u;
    manifest_add_file(&job->manifest, &file);
    return DAEMON_EXIT_OK;
}

/* Copy one entry of the data directory. Symbolic links are listed as left out, because their
 * targets are outside of the installation; sockets and temporary files are skipped. */
static enum exit_status backup_put_entry(struct backup_job *job, const FTSENT *entry)
{
    const char *relative = entry->fts_path + strlen(job->config->data) + 1;
    const char *name = backup_join(&job->manifest.arena, "data", relative);
    switch (entry->fts_info) {
    case FTS_F:
        if (str_ends(str_from(name), STR(".tmp")))
            return DAEMON_EXIT_OK;
        return backup_put_file(job, entry->fts_path, name, backup_is_private(name));
    case FTS_SL:
    case FTS_SLNONE: manifest_add_text(&job->manifest, &job->manifest.left_out, name); break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: errno = entry->fts_errno; return backup_io_error("read", entry->fts_path);
    default: break;
    }
    return DAEMON_EXIT_OK;
}

/* Copy a file or directory tree of the data directory, if it exists. */
static enum exit_status backup_put_data(struct backup_job *job, const char *name)
{
    const char *path = config_path(job->config, name);
    if (!file_exists(path))
        return DAEMON_EXIT_OK;
    char *const roots[] = {(char *)(uintptr_t)path, NULL}; /* fts_open() does not modify it */
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return backup_io_error("read", path);
    enum exit_status status = DAEMON_EXIT_OK;
    for (FTSENT *entry; status == DAEMON_EXIT_OK && (errno = 0, entry = fts_read(tree)) != NULL;)
        status = backup_put_entry(job, entry);
    if (status == DAEMON_EXIT_OK && errno)
        status = backup_io_error("read", path);
    ignore(fts_close(tree), "it was only read");
    return status;
}

/* Copy the files of the data directory, the configuration, and the TLS files that it names. */
static enum exit_status backup_put_files(struct backup_job *job)
{
    static const char *const names[] = {"admin.password", "boot.key", "ssh", "tls", "uploads"};
    const struct config *c = job->config;
    enum exit_status status = DAEMON_EXIT_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == DAEMON_EXIT_OK; i++)
        status = backup_put_data(job, names[i]);
    if (status == DAEMON_EXIT_OK)
        status = backup_put_file(job, job->options->config_file, BACKUP_CONFIG,
                                 backup_config_is_private(job));
    if (status == DAEMON_EXIT_OK && c->tls_cert)
        status = backup_put_file(job, c->tls_cert, BACKUP_TLS_CERT, false);
    if (status == DAEMON_EXIT_OK && c->tls_key)
        status = backup_put_file(job, c->tls_key, BACKUP_TLS_KEY, true);
    return status;
}

/* ---- directories of barclamps ---- */

/* Add a directory to the manifest once, if it exists. */
static void backup_put_directory(struct backup_job *job, struct str path)
{
    const char *text = str_z(&job->manifest.arena, path);
    if (!path.len || !backup_is_directory(text))
        return;
    for (const struct manifest_text *t = job->manifest.directories; t; t = t->next)
        if (strcmp(t->text, text) == 0)
            return;
    manifest_add_text(&job->manifest, &job->manifest.directories, text);
}

static err backup_put_source_path(void *self, const struct record *record)
{
    backup_put_directory(self, record->barclamp.source_path);
    return OK;
}

/* Directories of barclamps (packages of content) are installed, not backed up. The manifest lists
 * those that exist now, so that a restore can report which ones are missing: the directories of the
 * configuration, and the source paths of barclamps in the copy of the store. */
static enum exit_status backup_put_directories(struct backup_job *job, const char *store_url)
{
    struct store_reader *reader;
    struct store_mark mark;
    struct store_why why = {0};
    const struct str all = str_from(job->config->barclamps);
    for (uint32_t from = 0; from < all.len;) {
        const uint32_t to = str_find(all, ':', from);
        backup_put_directory(job, str_slice(all, from, to));
        from = to + 1;
    }
    err e = store_reader_open(store_url, &reader, &why);
    if (e == OK) {
        e = store_reader_begin(reader, &mark);
        if (e == OK) {
            e = store_reader_table(reader, TABLE_BARCLAMP,
                                   (struct record_callback){job, backup_put_source_path});
            store_reader_end(reader);
        }
        snprintf(why.text, sizeof why.text, "%s", store_reader_last_error(reader));
        store_reader_close(reader);
    }
    if (e == OK)
        return DAEMON_EXIT_OK;
    log_print(LOG_ERROR, "the copy of the store cannot be read: %s", why.text);
    return DAEMON_EXIT_FAILURE;
}

/* ---- command ---- */

/* Fill the partial directory: store, files, manifest. Reading the copy of the store may create
 * files beside it (SQLite's -wal and -shm); they are removed before the copy is measured, so that
 * the manifest describes a store that is one complete file. Files are synced when they are written;
 * the directories are synced at the end. */
static enum exit_status backup_fill(struct backup_job *job)
{
    struct manifest_file store = {.path = BACKUP_STORE, .mode = 0600};
    struct arena *a = &job->manifest.arena;
    const char *path = backup_join(a, job->partial, BACKUP_STORE);
    const char *url = str_z(a, STR_CONCAT(a, STR("sqlite:"), str_from(path)));
    enum exit_status status = store_admin_copy_to_file(job->config->store, path);
    if (status == DAEMON_EXIT_OK)
        status = backup_put_directories(job, url);
    if (status == DAEMON_EXIT_OK)
        status = store_admin_remove_beside(path);
    if (status == DAEMON_EXIT_OK && backup_measure(path, &store.measure) != OK)
        status = backup_io_error("read", path);
    if (status == DAEMON_EXIT_OK) {
        manifest_add_file(&job->manifest, &store);
        status = backup_put_files(job);
    }
    const char *manifest = backup_join(a, job->partial, BACKUP_MANIFEST);
    if (status == DAEMON_EXIT_OK && manifest_write(&job->manifest, manifest) != OK)
        status = backup_io_error("written", manifest);
    if (status == DAEMON_EXIT_OK && backup_sync_tree(job->partial) != OK)
        status = backup_io_error("synced", job->partial);
    return status;
}

static void backup_print_result(const struct backup_job *job)
{
    uint32_t count = 0;
    for (const struct manifest_file *f = job->manifest.files; f; f = f->next)
        count++;
    for (const struct manifest_text *t = job->manifest.left_out; t; t = t->next)
        printf("left out: %s\n", t->text);
    if (job->manifest.left_out && !job->options->with_keys)
        puts("private keys and passwords are backed up with --with-keys");
    printf("backup: %s, %u files\n", job->options->path, count);
}

/* Phases: check the name, create an empty partial directory, fill it, rename it. */
enum exit_status backup_make(struct config *c, const struct backup_options *o)
{
    const struct str path = str_from(o->path);
    struct backup_job job = {.config = c, .options = o};
    uint32_t len = path.len;
    while (len > 1 && path.at[len - 1] == '/')
        len--;
    const char *final = str_z(&c->arena, str_slice(path, 0, len));
    job.partial = str_z(&c->arena, STR_CONCAT(&c->arena, str_from(final), STR(".partial")));
    job.manifest.data = c->data;
    job.manifest.version = c->version;
    if (file_exists(final)) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", final)),
                 "\"%s\" exists already; choose another name", final);
        return DAEMON_EXIT_FAILURE;
    }
    if (strlen(job.partial) >= PATH_MAX - 64) { /* leave room for the names of its files */
        errno = ENAMETOOLONG;
        return backup_io_error("written", final);
    }
    if (backup_remove_tree(job.partial) != OK || mkdir(job.partial, 0700) != 0)
        return backup_io_error("written", job.partial);
    enum exit_status status = backup_fill(&job);
    if (status == DAEMON_EXIT_OK && file_move_durably(job.partial, final) != OK)
        status = backup_io_error("written", final);
    if (status == DAEMON_EXIT_OK)
        backup_print_result(&job);
    else
        ignore(backup_remove_tree(job.partial), "what remains is named .partial");
    manifest_fini(&job.manifest);
    return status;
}
