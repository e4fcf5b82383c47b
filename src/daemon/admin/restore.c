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

struct restoring {
    struct config *config;
    const struct backup_options *options;
    struct manifest manifest;
    struct manifest_text *made; /* files that were not there before */
};

static const char *place_in_backup(struct restoring *r, const char *path)
{
    return backup_join(&r->manifest.arena, r->options->path, path);
}

/* Where a file belongs on this machine; NULL: nowhere, by this configuration. */
static const char *place_of(struct restoring *r, const char *path)
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

static bool is_data(const char *path)
{
    return strncmp(path, BACKUP_DATA, strlen(BACKUP_DATA)) == 0;
}

/* ---- before anything is changed ---- */

static enum ending verify(struct restoring *r)
{
    bool has_store = false;
    for (const struct manifest_file *f = r->manifest.files; f; f = f->next) {
        struct backup_measure found;
        const char *path = place_in_backup(r, f->path);
        if (backup_measure(path, &found) != OK)
            return backup_trouble("read", path);
        if (found.size != f->measure.size || strcmp(found.sha256, f->measure.sha256) != 0) {
            log_print(LOG_ERROR, "\"%s\" is not what was backed up: size or SHA-256 differ", path);
            return ENDING_TROUBLE;
        }
        has_store |= strcmp(f->path, BACKUP_STORE) == 0;
    }
    if (has_store)
        return ENDING_FINE;
    log_print(LOG_ERROR, "\"%s\" has no store in it", r->options->path);
    return ENDING_TROUBLE;
}

static bool is_lock(const char *name)
{
    return strcmp(name, "lock") == 0 || str_ends(str_from(name), STR(".lock"));
}

static enum ending check_empty(struct restoring *r)
{
    const char *data = r->config->data;
    char found[NAME_MAX + 1] = "";
    if (file_exists(config_path(r->config, "halligan.db"))) {
        log_print(LOG_ERROR,
                  "the data directory \"%s\" holds a database already; it stays as it is", data);
        return ENDING_TROUBLE;
    }
    if (r->options->keeps_existing)
        return ENDING_FINE;
    DIR *folder = opendir(data);
    if (!folder)
        return backup_trouble("read", data);
    for (const struct dirent *entry; !found[0] && (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !is_lock(entry->d_name))
            snprintf(found, sizeof found, "%s", entry->d_name);
    ignore(closedir(folder), "it was only read");
    if (!found[0])
        return ENDING_FINE;
    log_print(
        LOG_ERROR,
        "the data directory \"%s\" is not empty (\"%s\"): move it away, or keep what is there "
        "with --keep-existing",
        data, found);
    return ENDING_TROUBLE;
}

/* ---- files ---- */

/* Outside of the data directory the daemon's user may not be allowed to write: what cannot be put
 * there is reported as missing, and the rest goes on. */
static enum ending put_file(struct restoring *r, const struct manifest_file *f)
{
    struct backup_measure measure;
    const char *to = place_of(r, f->path);
    const unsigned mode = backup_is_private(f->path) ? 0600 : f->mode & 0755u;
    if (!to || file_exists(to)) {
        if (to)
            printf("kept: %s\n", to);
        return ENDING_FINE;
    }
    if (is_data(f->path) && backup_make_parents(to) != OK)
        return backup_trouble("written", to);
    if (backup_copy(place_in_backup(r, f->path), to, mode, &measure) == OK) {
        manifest_add_text(&r->manifest, &r->made, to);
        return ENDING_FINE;
    }
    return is_data(f->path) ? backup_trouble("written", to) : ENDING_FINE;
}

static enum ending put_files(struct restoring *r)
{
    enum ending ending = ENDING_FINE;
    for (const struct manifest_file *f = r->manifest.files; f && ending == ENDING_FINE; f = f->next)
        if (strcmp(f->path, BACKUP_STORE) != 0)
            ending = put_file(r, f);
    if (ending == ENDING_FINE && backup_sync_tree(r->config->data) != OK)
        ending = backup_trouble("synced", r->config->data);
    return ending;
}

/* Directories that are empty then go too, up to the data directory: they were made for the file, or
 * hold nothing. */
static void remove_empty_parents(struct restoring *r, const char *path)
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

static void take_back(struct restoring *r)
{
    for (const struct manifest_text *t = r->made; t; t = t->next) {
        if (file_remove(t->text) != OK)
            ignore(backup_trouble("removed", t->text), "the others are removed all the same");
        if (str_starts(str_from(t->text), str_from(r->config->data)))
            remove_empty_parents(r, t->text);
    }
}

/* ---- what is missing ---- */

static uint32_t missing(const char *what, const char *why)
{
    printf("missing: %s: %s\n", what, why);
    return 1;
}

static uint32_t print_missing(struct restoring *r)
{
    uint32_t count = 0;
    const struct config *c = r->config;
    for (const struct manifest_text *t = r->manifest.left_out; t; t = t->next) {
        const char *place = place_of(r, t->text);
        if (place && !file_exists(place))
            count +=
                missing(place, backup_is_private(t->text) || strcmp(t->text, BACKUP_CONFIG) == 0
                                   ? "the backup was made without --with-keys"
                                   : "a symbolic link is not backed up");
    }
    for (const struct manifest_file *f = r->manifest.files; f; f = f->next) {
        const char *place = place_of(r, f->path);
        if (place && !file_exists(place))
            count += missing(place, "it could not be written; copy it from the backup");
    }
    for (const struct manifest_text *t = r->manifest.directories; t; t = t->next)
        if (!backup_is_directory(t->text))
            count += missing(t->text, "a directory of barclamps; install it again");
    if (c->tls_cert && !file_exists(c->tls_cert))
        count += missing(c->tls_cert, "tls-cert of the configuration");
    if (c->tls_key && !file_exists(c->tls_key))
        count += missing(c->tls_key, "tls-key of the configuration");
    return count;
}

/* ---- all of it ---- */

/* The marker keeps a daemon from founding a new installation in a directory that was restored by
 * half (data_dir_check_database). */
static enum ending put_back(struct restoring *r)
{
    struct arena *a = &r->manifest.arena;
    const char *marker = config_path(r->config, DATA_DIR_RESTORING);
    const char *store = place_in_backup(r, BACKUP_STORE);
    const char *url = str_z(a, STR_CONCAT(a, STR("sqlite:"), str_from(store)));
    if (file_write(marker, STR("a restore began here and did not end\n"), 0600) != OK)
        return backup_trouble("written", marker);
    enum ending ending = put_files(r);
    if (ending == ENDING_FINE)
        ending = store_admin_fill_store(r->config, url, true);
    if (ending != ENDING_FINE)
        take_back(r);
    if (file_remove(marker) != OK)
        ending = backup_trouble("removed", marker);
    return ending;
}

static enum ending restore_locked(struct restoring *r)
{
    enum ending ending = check_empty(r);
    if (ending == ENDING_FINE)
        ending = put_back(r);
    if (ending != ENDING_FINE)
        return ending;
    const uint32_t count = print_missing(r);
    if (count)
        printf("restore: done; %u missing, as listed\n", count);
    else
        puts("restore: done; nothing is missing");
    return ENDING_FINE;
}

enum ending backup_restore(struct config *c, const struct backup_options *o)
{
    struct restoring r = {.config = c, .options = o};
    struct hold hold;
    const char *why = "";
    const char *manifest =
        str_z(&c->arena, STR_CONCAT(&c->arena, str_from(o->path), STR("/"), STR(BACKUP_MANIFEST)));
    enum ending ending = ENDING_TROUBLE;
    if (!manifest_read(manifest, &r.manifest, &why))
        log_print(LOG_ERROR, "\"%s\" is not a backup: %s: %s", o->path, BACKUP_MANIFEST, why);
    else
        ending = verify(&r);
    if (ending == ENDING_FINE)
        ending = data_dir_take(c, &hold);
    if (ending == ENDING_FINE) {
        ending = restore_locked(&r);
        data_dir_leave(&hold);
    }
    manifest_fini(&r.manifest);
    return ending;
}
