/* data_dir.h - the data directory, which one process locks at a time; and the exit status.
 *
 * Locks are held from data_dir_lock to data_dir_unlock, or to the end of the process.
 */
#pragma once

#include "daemon/config/config.h"
#include "sys/files.h"

/* Exit status of halligand; halligand(8) and docs/runbook.md list the values. */
enum exit_status {
    DAEMON_EXIT_OK = 0,
    DAEMON_EXIT_FAILURE = 1, /* the store or anything else failed; one error line has the reason */
    DAEMON_EXIT_USAGE = 2,   /* problems of options or configuration */
    DAEMON_EXIT_FENCED = 3,  /* another daemon leads the store now */
    DAEMON_EXIT_LOCKED = 4,  /* another daemon has locked the data directory or the store */
};

#define HOLDER_SIZE 320u

/* "HOST PID": the name of this process as a holder of the store. */
void data_dir_holder(char out_holder[HOLDER_SIZE]);

/* The locks of the directory and of a SQLite file, which may be outside of it. */
struct data_dir_locks {
    struct file_lock directory;
    struct file_lock database; /* PATH.lock beside sqlite:PATH */
};

/* Create the directory (mode 0700) if it does not exist and take both locks. A directory that
 * others can write into is refused. After a failure, which is logged, nothing is locked. */
enum exit_status data_dir_lock(struct config *c, struct data_dir_locks *out_locks);
void data_dir_unlock(struct data_dir_locks *locks);
/* The file that marks a restore in progress. */
#define DATA_DIR_RESTORING "restoring"

/* Print the URL in the file `listen`, if a daemon has locked the directory: the port in the file of
 * a crashed daemon may belong to another program by now. */
enum exit_status data_dir_print_url(struct config *c);
/* Called before the store is opened, which would create an empty one: if there was a first user,
 * there must be a database, and no restore may have been interrupted. */
enum exit_status data_dir_check_database(struct config *c);

/* For commands that must not create a store: DAEMON_EXIT_FAILURE and a log line if the store is a
 * file that does not exist. */
enum exit_status data_dir_find_database(const struct config *c);
