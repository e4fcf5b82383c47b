/* port_holder.h - the process that holds a port, for the message about it.
 *
 * It is found in /proc: the inode of the socket in the tables of the network namespace, then the
 * process with a descriptor of that inode. Processes of other users are found by root only, so this
 * is called before privileges are dropped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* "dnsmasq, pid 812"; "another process" if it is not found. */
struct str port_holder_find(struct arena *a, bool is_tcp, uint16_t port);
