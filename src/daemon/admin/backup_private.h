/* backup_private.h - shared by backup.c, which creates a backup, and restore.c. */
#pragma once

#include "daemon/admin/backup.h"

/* Names in a backup. */
#define BACKUP_MANIFEST "manifest.json"
#define BACKUP_DATA     "data/"
#define BACKUP_TLS_CERT "tls-cert.pem" /* of the configuration, from outside the data directory */
#define BACKUP_TLS_KEY  "tls-key.pem"

/* The file is a secret: it is included only with --with-keys and restored with mode 0600. */
bool backup_is_private(const char *path);
const char *backup_join(struct arena *a, const char *folder, const char *name);
/* Log '"PATH" cannot be VERB: strerror(errno)'. Returns DAEMON_EXIT_FAILURE. */
enum exit_status backup_io_error(const char *verb, const char *path);
