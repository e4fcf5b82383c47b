/* restore.c - `halligand restore` of a backup directory.
 *
 * Order: verify size and SHA-256 of every file, lock the data directory, check that it is empty,
 * create the marker file `restoring`, copy files, fill the store, remove the marker. Nothing on
 * this host is changed before the backup has been verified. If the process is killed in between,
 * the marker keeps a daemon from creating a new installation in the half-filled directory. The
 * store is filled after the files, so a restored store has all the files that it refers to.
 *
 * Failure: an error is logged, and all files that were created are removed again; files that
 * existed before are kept. If the marker cannot be removed, the restore has failed as well, and a
 * daemon does not start in the directory.
 *
 * Files outside of the data directory (configuration, certificate) may not be writable by the user
 * of the daemon: such a file is reported as missing and does not fail the restore.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/admin/backup_files.h"
#include "daemon/admin/backup_manifest.h"
#include "daemon/admin/backup_private.h"
#include "daemon/admin/store_admin.h"
#include "sys/files.h"
#include "sys/log.h"

struct restore_job {
    struct config *config; /* of this host, or the one in the backup */
    const struct backup_options *options;
    struct manifest manifest;
    struct manifest_text *made; /* files that this restore has created, for the undo */
};

static const char *restore_backup_path(struct restore_job *r, const char *path)
{
    return backup_join(&r->manifest.arena, r->options->path, path);
}

/* The path on this host for a file of the backup; NULL: this configuration has none for it. */
static const char *restore_target_path(struct restore_job *r, const char *path)
{
    const size_t data = strlen(BACKUP_DATA);
    if (strncmp(path, BACKUP_DATA, data) == 0)
        return config_path(r->config, path + data);
    if (strcmp(path, BACKUP_CONFIG) == 0)
        return r->options->config_file;
    if (strcmp(path, BACKUP_TLS_CERT) == 0)
        return r->config->tls_cert;
    return strcmp(path, BACKUP_TLS_KEY) == 0 ? r->config->tls_key : NULL;
}

static bool restore_is_data(const char *path)
{
    return strncmp(path, BACKUP_DATA, strlen(BACKUP_DATA)) == 0;
}

/* ---- checks before any change ---- */

/* Compare size and SHA-256 of every file with the manifest. */
static enum exit_status restore_verify(struct restore_job *r)
{
    bool has_store = false;
    for (const struct manifest_file *f = r->manifest.files; f; f = f->next) {
        struct backup_measure found;
        const char *path = restore_backup_path(r, f->path);
        if (backup_measure(path, &found) != OK)
            return backup_io_error("read", path);
        if (found.size != f->measure.size || strcmp(found.sha256, f->measure.sha256) != 0) {
            log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                     "\"%s\" is damaged: size or SHA-256 differ from the manifest", path);
            return DAEMON_EXIT_FAILURE;
        }
        has_store |= strcmp(f->path, BACKUP_STORE) == 0;
    }
    if (has_store)
        return DAEMON_EXIT_OK;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", r->options->path)),
             "the backup \"%s\" contains no store", r->options->path);
    return DAEMON_EXIT_FAILURE;
}

static bool restore_is_lock(const char *name)
{
    return strcmp(name, "lock") == 0 || str_ends(str_from(name), STR(".lock"));
}

/* Refuse a data directory with a database, or with any file unless existing files are kept. Lock
 * files do not count: this process has just created them. */
static enum exit_status restore_check_empty(struct restore_job *r)
{
    const char *data = r->config->data;
    char found[NAME_MAX + 1] = "";
    if (file_exists(config_path(r->config, "halligan.db"))) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", data)),
                 "the data directory \"%s\" contains a database already; move it away first", data);
        return DAEMON_EXIT_FAILURE;
    }
    if (r->options->keeps_existing)
        return DAEMON_EXIT_OK;
    DIR *folder = opendir(data);
    if (!folder)
        return backup_io_error("read", data);
    for (const struct dirent *entry; !found[0] && (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !restore_is_lock(entry->d_name))
            snprintf(found, sizeof found, "%s", entry->d_name);
    ignore(closedir(folder), "it was only read");
    if (!found[0])
        return DAEMON_EXIT_OK;
    log_with(
        LOG_ERROR, LOG_FIELDS(LOG_Z("path", data)),
        "the data directory \"%s\" is not empty (\"%s\"); move it away, or keep its files with "
        "--keep-existing",
        data, found);
    return DAEMON_EXIT_FAILURE;
}

/* ---- files ---- */

/* Copy one file unless its target exists. A failure outside of the data directory is not an error:
 * restore_print_missing() reports the file. */
static enum exit_status restore_put_file(struct restore_job *r, const struct manifest_file *f)
{
    struct backup_measure measure;
    const char *to = restore_target_path(r, f->path);
    const unsigned mode = backup_is_private(f->path) ? 0600 : f->mode & 0755u;
    if (!to || file_exists(to)) {
        if (to)
            printf("kept: %s\n", to);
        return DAEMON_EXIT_OK;
    }
    if (restore_is_data(f->path) && backup_make_parents(to) != OK)
        return backup_io_error("written", to);
    if (backup_copy(restore_backup_path(r, f->path), to, mode, &measure) == OK) {
        manifest_add_text(&r->manifest, &r->made, to);
        return DAEMON_EXIT_OK;
    }
    return restore_is_data(f->path) ? backup_io_error("written", to) : DAEMON_EXIT_OK;
}

/* Remove the directories above a removed file that are empty now, up to the data directory: they
 * were created for the file, or contain nothing. */
static void restore_remove_empty_parents(struct restore_job *r, const char *path)
{
    char parent[PATH_MAX];
    const size_t data = strlen(r->config->data);
    snprintf(parent, sizeof parent, "%s", path);
    for (char *slash = strrchr(parent, '/'); slash && (size_t)(slash - parent) > data;
         slash = strrchr(parent, '/')) {
        *slash = '\0';
        if (rmdir(parent) != 0)
            return;
    }
}

/* Remove all files that this restore has created. Files that existed before are not touched. */
static void restore_undo(struct restore_job *r)
{
    for (const struct manifest_text *t = r->made; t; t = t->next) {
        if (file_remove(t->text) != OK)
            ignore(backup_io_error("removed", t->text), "the other files are removed in any case");
        if (str_starts(str_from(t->text), str_from(r->config->data)))
            restore_remove_empty_parents(r, t->text);
    }
}

/* ---- report ---- */

static uint32_t restore_print_one_missing(const char *what, const char *why)
{
    printf("missing: %s: %s\n", what, why);
    return 1;
}

static uint32_t restore_print_missing(struct restore_job *r)
{
    uint32_t count = 0;
    const struct config *c = r->config;
    for (const struct manifest_text *t = r->manifest.left_out; t; t = t->next) {
        const char *place = restore_target_path(r, t->text);
        if (place && !file_exists(place))
            count += restore_print_one_missing(
                place, backup_is_private(t->text) || strcmp(t->text, BACKUP_CONFIG) == 0
                           ? "the backup was made without --with-keys"
                           : "a symbolic link is not backed up");
    }
    for (const struct manifest_file *f = r->manifest.files; f; f = f->next) {
        const char *place = restore_target_path(r, f->path);
        if (place && !file_exists(place))
            count += restore_print_one_missing(place,
                                               "it could not be written; copy it from the backup");
    }
    for (const struct manifest_text *t = r->manifest.directories; t; t = t->next)
        if (!backup_is_directory(t->text))
            count +=
                restore_print_one_missing(t->text, "a directory of barclamps; install it again");
    if (c->tls_cert && !file_exists(c->tls_cert))
        count += restore_print_one_missing(c->tls_cert, "tls-cert of the configuration");
    if (c->tls_key && !file_exists(c->tls_key))
        count += restore_print_one_missing(c->tls_key, "tls-key of the configuration");
    return count;
}

/* ---- command ---- */

/* The marker keeps a daemon from creating a new installation in a directory that was only partly
 * restored (data_dir_check_database). */
static enum exit_status restore_fill(struct restore_job *r)
{
    struct arena *a = &r->manifest.arena;
    const char *marker = config_path(r->config, DATA_DIR_RESTORING);
    const char *store = restore_backup_path(r, BACKUP_STORE);
    const char *url = str_z(a, STR_CONCAT(a, STR("sqlite:"), str_from(store)));
    if (file_write(marker, STR("a restore into this directory was started and has not finished\n"),
                   0600) != OK)
        return backup_io_error("written", marker);
    enum exit_status status = DAEMON_EXIT_OK;
    for (const struct manifest_file *f = r->manifest.files; f && status == DAEMON_EXIT_OK;
         f = f->next)
        if (strcmp(f->path, BACKUP_STORE) != 0)
            status = restore_put_file(r, f);
    if (status == DAEMON_EXIT_OK && backup_sync_tree(r->config->data) != OK)
        status = backup_io_error("synced", r->config->data);
    if (status == DAEMON_EXIT_OK)
        status = store_admin_fill_store(r->config, url, true);
    if (status != DAEMON_EXIT_OK)
        restore_undo(r);
    if (file_remove(marker) != OK)
        status = backup_io_error("removed", marker);
    return status;
}

static enum exit_status restore_with_lock(struct restore_job *r)
{
    enum exit_status status = restore_check_empty(r);
    if (status == DAEMON_EXIT_OK)
        status = restore_fill(r);
    if (status != DAEMON_EXIT_OK)
        return status;
    const uint32_t count = restore_print_missing(r);
    if (count)
        printf("restore: done; %u missing, as listed\n", count);
    else
        puts("restore: done; nothing is missing");
    return DAEMON_EXIT_OK;
}

enum exit_status backup_restore(struct config *c, const struct backup_options *o)
{
    struct restore_job r = {.config = c, .options = o};
    struct data_dir_locks locks;
    const char *why = "";
    const char *manifest =
        str_z(&c->arena, STR_CONCAT(&c->arena, str_from(o->path), STR("/"), STR(BACKUP_MANIFEST)));
    enum exit_status status = DAEMON_EXIT_FAILURE;
    if (!manifest_read(manifest, &r.manifest, &why))
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", o->path)), "\"%s\" is not a backup: %s: %s",
                 o->path, BACKUP_MANIFEST, why);
    else
        status = restore_verify(&r);
    if (status == DAEMON_EXIT_OK)
        status = data_dir_lock(c, &locks);
    if (status == DAEMON_EXIT_OK) {
        status = restore_with_lock(&r);
        data_dir_unlock(&locks);
    }
    manifest_fini(&r.manifest);
    return status;
}
