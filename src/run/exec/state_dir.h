/* state_dir.h - where a supervisor lives: DIR/exec below the daemon's data directory.
 *
 * The socket, the lock, the journal and the spool lie there, and everybody names them relative to
 * a descriptor of the directory, so that no path is too long for a socket and a directory that is
 * moved takes its supervisor along. Nothing is kept here.
 */
#pragma once

#include <sys/un.h>

#include "base/err.h"

#define PLACE_LOCK    "lock"
#define PLACE_SOCKET  "socket"
#define PLACE_JOURNAL "journal"
#define PLACE_SPOOL   "spool"

/* The directory, made with all it needs and durable by name. ERR_REFUSED when it belongs to
 * somebody else or others may enter it; errno says why where a call failed. */
NODISCARD err state_dir_open(const char *dir, int *out_fd);
/* Bind or connect to this. */
struct sockaddr_un state_dir_socket(int state_dirfd);
