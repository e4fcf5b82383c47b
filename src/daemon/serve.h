/* serve.h - run the daemon: start, serve, reload on SIGHUP, stop on SIGTERM or SIGINT. */
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

/* Run in the foreground until a signal, or until the leadership of the store is lost. `config` and
 * `flags` must remain valid until it returns: a reload reads the configuration with them again. */
enum exit_status serve(struct config *config, const struct config_flags *flags);
