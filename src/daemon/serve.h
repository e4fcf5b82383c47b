/* serve.h - the daemon's life: up, serving, reloading, down.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

/* Runs in the foreground until a signal, or until it may not lead any more. The flags are kept for
 * the reload. */
enum ending serve(struct config *config, const struct config_flags *flags);
