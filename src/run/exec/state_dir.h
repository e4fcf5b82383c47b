/* state_dir.h - the state directory of a supervisor: DIR/exec below the data directory of the
 * daemon.
 *
 * It holds the socket, the lock, the journal and the spool. All of them are opened relative to a
 * descriptor of the directory, so that the path of the socket never exceeds sun_path and a moved
 * data directory keeps its supervisor. The module keeps no state. */
#pragma once

#include <sys/un.h>

#include "base/err.h"

#define STATE_LOCK    "lock"
#define STATE_SOCKET  "socket"
#define STATE_JOURNAL "journal"
#define STATE_SPOOL   "spool"

/* Create and open the directory with its subdirectories; the names are durable. ERR_REFUSED if it
 * belongs to another user or others have access; errno is set where a call failed. */
NODISCARD err state_dir_open(const char *dir, int *out_fd);
/* The address of the socket for bind(2) and connect(2). */
struct sockaddr_un state_dir_socket(int state_dirfd);
