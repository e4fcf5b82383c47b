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

static void host_name(char out_host[HOST_NAME_MAX + 1])
{
    if (gethostname(out_host, HOST_NAME_MAX) != 0)
        snprintf(out_host, HOST_NAME_MAX, "localhost");
    out_host[HOST_NAME_MAX] = 0;
}

void data_dir_who(char out_who[WHO_SIZE])
{
    char host[HOST_NAME_MAX + 1];
    host_name(host);
    snprintf(out_who, WHO_SIZE, "%s %ld", host, (long)getpid());
}

/* Whoever can write into it can put another database, lock or password in our way. */
static enum ending check_trust(const char *path, const struct stat *facts)
{
    if (facts->st_uid != geteuid() && facts->st_uid != 0)
        log_print(
            LOG_ERROR,
            "the data directory \"%s\" belongs to user %ld, but this is user %ld: give it to us "
            "and chmod 700 it",
            path, (long)facts->st_uid, (long)geteuid());
    else if (facts->st_mode & 022)
        log_print(LOG_ERROR,
                  "others may write into the data directory \"%s\" (mode %03o): chmod 700 it", path,
                  (unsigned)facts->st_mode & 0777u);
    else
        return ENDING_FINE;
    return ENDING_TROUBLE;
}

static enum ending make_directory(const char *path)
{
    struct stat facts;
    if (mkdir(path, 0700) == 0)
        return ENDING_FINE;
    if (errno != EEXIST) {
        log_print(LOG_ERROR, "the data directory \"%s\" cannot be made: %s", path, strerror(errno));
        return ENDING_TROUBLE;
    }
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return check_trust(path, &facts);
    log_print(LOG_ERROR, "the data directory \"%s\" is no directory", path);
    return ENDING_TROUBLE;
}

static void describe_us(char out_who[WHO_SIZE + SYS_TIME_SIZE])
{
    char host[HOST_NAME_MAX + 1], now[SYS_TIME_SIZE];
    host_name(host);
    sys_time_format(sys_now_ms(), now);
    snprintf(out_who, WHO_SIZE + SYS_TIME_SIZE, "pid %ld host %s since %s\n", (long)getpid(), host,
             now);
}

/* `what` is what the lock at `path` stands for. */
static enum ending take_lock(const char *path, const char *what, struct file_lock *out_lock)
{
    char who[WHO_SIZE + SYS_TIME_SIZE];
    describe_us(who);
    const err e = file_lock(path, str_from(who), out_lock);
    if (e == OK)
        return ENDING_FINE;
    if (e == ERR_EXISTS) {
        log_print(LOG_ERROR, "\"%s\" is held by another daemon: %s", what,
                  out_lock->holder[0] ? out_lock->holder : "it does not say who it is");
        return ENDING_HELD;
    }
    log_print(LOG_ERROR, "the lock \"%s\" cannot be taken: %s", path, strerror(errno));
    return ENDING_TROUBLE;
}

/* The file of a store that has one; NULL otherwise. */
static const char *database_of(const struct config *c)
{
    const struct str prefix = STR("sqlite:");
    return str_starts(str_from(c->store), prefix) ? c->store + prefix.len : NULL;
}

static enum ending take_database(struct config *c, struct file_lock *out_lock)
{
    const char *path = database_of(c);
    if (!path)
        return ENDING_FINE; /* its server knows who is there */
    return take_lock(str_z(&c->arena, STR_CONCAT(&c->arena, str_from(path), STR(".lock"))), path,
                     out_lock);
}

enum ending data_dir_check_database(struct config *c)
{
    struct stat facts;
    const char *path = database_of(c);
    if (file_exists(config_path(c, DATA_DIR_RESTORING))) {
        log_print(LOG_ERROR,
                  "a restore into the data directory \"%s\" did not end; empty the directory and "
                  "restore the backup again",
                  c->data);
        return ENDING_TROUBLE;
    }
    if (!path || !file_exists(config_path(c, "admin.password")))
        return ENDING_FINE;
    if (stat(path, &facts) == 0 ? facts.st_size > 0 : errno != ENOENT)
        return ENDING_FINE; /* what else is wrong with it, the store says better */
    log_print(
        LOG_ERROR,
        "this data directory has been used, but its database \"%s\" is gone or empty; restore a "
        "backup, or remove admin.password to begin anew",
        path);
    return ENDING_TROUBLE;
}

enum ending data_dir_find_database(const struct config *c)
{
    const char *path = database_of(c);
    if (!path || file_exists(path))
        return ENDING_FINE;
    log_print(LOG_ERROR, "there is no store: \"%s\" cannot be found; see --data and --store", path);
    return ENDING_TROUBLE;
}

enum ending data_dir_take(struct config *c, struct hold *out_hold)
{
    *out_hold = (struct hold){.directory.fd = -1, .database.fd = -1};
    enum ending ending = make_directory(c->data);
    if (ending == ENDING_FINE)
        ending = take_lock(config_path(c, "lock"), c->data, &out_hold->directory);
    if (ending == ENDING_FINE)
        ending = take_database(c, &out_hold->database);
    if (ending == ENDING_FINE)
        FAILPOINT(DATA_LOCKED);
    else
        data_dir_leave(out_hold);
    return ending;
}

void data_dir_leave(struct hold *hold)
{
    file_unlock(&hold->database);
    file_unlock(&hold->directory);
}

enum ending data_dir_print_url(struct config *c)
{
    enum { URL_MAX = 1024 };
    struct str url = STR("");
    const bool is_held = file_is_locked(config_path(c, "lock"));
    if (is_held && file_read(&c->arena, config_path(c, "listen"), URL_MAX, &url) == OK && url.len) {
        printf("%.*s", STR_FMT_ARGS(url));
        return ENDING_FINE;
    }
    log_print(LOG_ERROR, "%s \"%s\"; start halligand, or wait until it listens",
              is_held ? "the daemon does not listen yet in" : "no daemon runs in", c->data);
    return ENDING_TROUBLE;
}
