/* data_dir.c - creates, checks and locks the data directory.
 *
 * It owns the two lock files; the caller owns struct data_dir_locks. The directory is locked before
 * the database file beside or outside of it, and both before the store is opened. Locks are taken
 * with the kernel, so they end with the process; the content of a lock file only names the holder
 * for messages. Checks that protect an installation from being replaced by an empty one (an
 * interrupted restore, a missing database) are made by callers that hold the lock. A failure is
 * logged; one of data_dir_lock() leaves nothing locked.
 */
#include "daemon/config/data_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/str.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/log.h"

static void data_dir_host_name(char out_host[HOST_NAME_MAX + 1])
{
    if (gethostname(out_host, HOST_NAME_MAX) != 0)
        snprintf(out_host, HOST_NAME_MAX, "localhost");
    out_host[HOST_NAME_MAX] = 0;
}

void data_dir_holder(char out_holder[HOLDER_SIZE])
{
    char host[HOST_NAME_MAX + 1];
    data_dir_host_name(host);
    snprintf(out_holder, HOLDER_SIZE, "%s %ld", host, (long)getpid());
}

/* A user who can write into the directory could replace the database, the lock or the password
 * file, so it must belong to the user of the daemon or to root and be writable by its owner
 * only. */
static enum exit_status data_dir_check_owner(const char *path, const struct stat *facts)
{
    if (facts->st_uid != geteuid() && facts->st_uid != 0)
        log_with(
            LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
            "the data directory \"%s\" belongs to user %ld, but the daemon runs as user %ld; chown "
            "and chmod 700 it",
            path, (long)facts->st_uid, (long)geteuid());
    else if (facts->st_mode & 022)
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                 "the data directory \"%s\" is writable by group or others (mode %03o); chmod 700 "
                 "it",
                 path, (unsigned)facts->st_mode & 0777u);
    else
        return DAEMON_EXIT_OK;
    return DAEMON_EXIT_FAILURE;
}

static enum exit_status data_dir_create(const char *path)
{
    struct stat facts;
    if (mkdir(path, 0700) == 0)
        return DAEMON_EXIT_OK;
    if (errno != EEXIST) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                 "the data directory \"%s\" cannot be created: %s", path, strerror(errno));
        return DAEMON_EXIT_FAILURE;
    }
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return data_dir_check_owner(path, &facts);
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
             "the data directory \"%s\" is not a directory", path);
    return DAEMON_EXIT_FAILURE;
}

/* `what` is the directory or file that the lock at `path` protects, for messages. */
static enum exit_status data_dir_lock_file(const char *path, const char *what,
                                           struct file_lock *out_lock)
{
    char host[HOST_NAME_MAX + 1], now[SYS_TIME_SIZE], holder[HOLDER_SIZE + SYS_TIME_SIZE];
    data_dir_host_name(host);
    sys_time_format(sys_now_ms(), now);
    snprintf(holder, sizeof holder, "pid %ld host %s since %s\n", (long)getpid(), host, now);
    const err e = file_lock(path, str_from(holder), out_lock);
    if (e == OK)
        return DAEMON_EXIT_OK;
    if (e == ERR_EXISTS) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", what)),
                 "\"%s\" is locked by another daemon: %s", what,
                 out_lock->holder[0] ? out_lock->holder : "unknown process");
        return DAEMON_EXIT_LOCKED;
    }
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "cannot lock \"%s\": %s", path,
             strerror(errno));
    return DAEMON_EXIT_FAILURE;
}

/* The path of a SQLite store; NULL for PostgreSQL. */
static const char *data_dir_database_path(const struct config *c)
{
    const struct str prefix = STR("sqlite:");
    return str_starts(str_from(c->store), prefix) ? c->store + prefix.len : NULL;
}

enum exit_status data_dir_check_database(struct config *c)
{
    struct stat facts;
    const char *path = data_dir_database_path(c);
    if (file_exists(config_path(c, DATA_DIR_RESTORING))) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", c->data)),
                 "an earlier restore into the data directory \"%s\" was interrupted; empty the "
                 "directory and restore the backup again",
                 c->data);
        return DAEMON_EXIT_FAILURE;
    }
    if (!path || !file_exists(config_path(c, "admin.password")))
        return DAEMON_EXIT_OK;
    if (stat(path, &facts) == 0 ? facts.st_size > 0 : errno != ENOENT)
        return DAEMON_EXIT_OK; /* other problems of the file are reported by the store */
    log_with(
        LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
        "the database \"%s\" of a used data directory is missing or empty; restore a backup, or "
        "remove admin.password to create a new installation",
        path);
    return DAEMON_EXIT_FAILURE;
}

enum exit_status data_dir_find_database(const struct config *c)
{
    const char *path = data_dir_database_path(c);
    if (!path || file_exists(path))
        return DAEMON_EXIT_OK;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
             "the database \"%s\" does not exist; check --data and --store", path);
    return DAEMON_EXIT_FAILURE;
}

enum exit_status data_dir_lock(struct config *c, struct data_dir_locks *out_locks)
{
    *out_locks = (struct data_dir_locks){.directory.fd = -1, .database.fd = -1};
    enum exit_status status = data_dir_create(c->data);
    if (status == DAEMON_EXIT_OK)
        status = data_dir_lock_file(config_path(c, "lock"), c->data, &out_locks->directory);
    /* Lock the file of SQLite; PostgreSQL has an advisory lock instead. */
    const char *path = status == DAEMON_EXIT_OK ? data_dir_database_path(c) : NULL;
    if (path)
        status = data_dir_lock_file(
            str_z(&c->arena, STR_CONCAT(&c->arena, str_from(path), STR(".lock"))), path,
            &out_locks->database);
    if (status == DAEMON_EXIT_OK)
        FAILPOINT(DATA_LOCKED);
    else
        data_dir_unlock(out_locks);
    return status;
}

void data_dir_unlock(struct data_dir_locks *locks)
{
    file_unlock(&locks->database);
    file_unlock(&locks->directory);
}

enum exit_status data_dir_print_url(struct config *c)
{
    enum { URL_MAX = 1024 };
    struct str url = STR("");
    const bool is_held = file_is_locked(config_path(c, "lock"));
    if (is_held && file_read(&c->arena, config_path(c, "listen"), URL_MAX, &url) == OK && url.len) {
        printf("%.*s", STR_FMT_ARGS(url));
        return DAEMON_EXIT_OK;
    }
    if (is_held)
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", c->data)),
                 "the daemon in \"%s\" does not listen yet; try again later", c->data);
    else
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", c->data)),
                 "no daemon runs in \"%s\"; start halligand", c->data);
    return DAEMON_EXIT_FAILURE;
}
