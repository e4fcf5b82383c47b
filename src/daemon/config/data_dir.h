/* data_dir.h - the directory of one daemon, held by one process at a time; and how programs end.
 *
 * What is held here is held from data_dir_take to data_dir_leave, or to the end of the process.
 */
#pragma once

#include "daemon/config/config.h"
#include "sys/files.h"

/* What halligand answers to whoever started it. */
enum ending {
    ENDING_FINE = 0,
    ENDING_TROUBLE = 1, /* store or other failure: one error line says which */
    ENDING_USAGE = 2,   /* flags or config */
    ENDING_OUSTED = 3,  /* another daemon leads the store now */
    ENDING_HELD = 4,    /* another daemon holds data directory or store */
};

#define WHO_SIZE 320u

/* "HOST PID": how we call ourselves in the store. */
void data_dir_who(char out_who[WHO_SIZE]);

/* The directory, and a database file that may lie outside of it, are ours. */
struct hold {
    struct file_lock directory;
    struct file_lock database; /* PATH.lock beside sqlite:PATH */
};

/* Make the directory if it is not there (0700) and take both locks. One that others may write into
 * is refused. What fails is logged, and nothing is held then. */
enum ending data_dir_take(struct config *c, struct hold *out_hold);
void data_dir_leave(struct hold *hold);
/* Of a restore that has not ended. */
#define DATA_DIR_RESTORING "restoring"

/* The URL in the file `listen`, on standard output, if a daemon holds the directory: the file of
 * one that crashed names a port that may be another program's by now. */
enum ending data_dir_print_url(struct config *c);
/* Before the store is opened, which would make a new one: where there was a first user there must
 * be a database, and no restore that did not end. */
enum ending data_dir_check_database(struct config *c);

/* For verbs that make no store: ENDING_TROUBLE, and a log line, where the store is a file that is
 * not there. */
enum ending data_dir_find_database(const struct config *c);
