/* backup_private.h - what making a backup (backup.c) and restoring it (restore.c) share. */
#pragma once

#include "daemon/admin/backup.h"

/* Names in a backup. */
#define BACKUP_MANIFEST "manifest.json"
#define BACKUP_DATA     "data/"
#define BACKUP_TLS_CERT "tls-cert.pem" /* of the configuration, from outside the data directory */
#define BACKUP_TLS_KEY  "tls-key.pem"

/* Only with keys, and never readable for others. */
bool backup_is_private(const char *path);
const char *backup_join(struct arena *a, const char *folder, const char *name);
/* Logs the path with errno. ENDING_TROUBLE. */
enum ending backup_trouble(const char *verb, const char *path);
