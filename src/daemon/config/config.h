/* config.h - how this daemon is to run: flags first, then the file, then what is usual.
 *
 * A file holds lines "key = value"; keys are the long flags without their dashes. Everything that
 * is wrong is told at once, with file and line, and a config with problems is used by nobody. All
 * texts live in the config's arena, from config_read to config_fini.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "model/command.h"
#include "sys/log.h"

#define CONFIG_FILE_DEFAULT "/etc/halligan/halligan.conf"
#define CONFIG_DATA_DEFAULT "/var/lib/halligan"

/* What can be said with a flag and in the file: name, key, what it takes. */
#define CONFIG_KEYS(X)                                                                             \
    X(DATA, "data", "DIR")                                                                         \
    X(LISTEN, "listen", "ADDR:PORT")                                                               \
    X(TRUSTED_PROXY, "trusted-proxy", "ADDRESS[,ADDRESS]")                                         \
    X(STORE, "store", "URL")                                                                       \
    X(BARCLAMPS, "barclamps", "DIR[:DIR]")                                                         \
    X(TEST_JIG, "test-jig", NULL)                                                                  \
    X(POOL_NORMAL, "pool-normal", "N|auto")                                                        \
    X(POOL_HIGH, "pool-high", "N|auto")                                                            \
    X(RUN_DEADLINE, "run-deadline", "SECONDS")                                                     \
    X(KEEP_RUNS, "keep-runs", "N")                                                                 \
    X(KEEP_EVENTS, "keep-events", "DAYS")                                                          \
    X(BOOT_WAIT, "boot-wait", "SECONDS")                                                           \
    X(PROBE_WAIT, "probe-wait", "SECONDS")                                                         \
    X(POWER_POLL, "power-poll", "SECONDS")                                                         \
    X(TOOL_PATH, "tool-path", "DIR[:DIR]")                                                         \
    X(TLS_CERT, "tls-cert", "FILE")                                                                \
    X(TLS_KEY, "tls-key", "FILE")                                                                  \
    X(TLS_AUTO, "tls-auto", NULL)                                                                  \
    X(CORE_DUMPS, "core-dumps", NULL)                                                              \
    X(LOG_FORMAT, "log-format", "text|json")                                                       \
    X(LOG_LEVEL, "log-level", "LEVEL")                                                             \
    X(ADMIN_NODE, "admin-node", "NAME|none")                                                       \
    X(ADMIN_ADDRESS, "admin-address", "ADDRESS[/PREFIX]")

enum config_key {
#define X(name, key, takes) CONFIG_##name,
    CONFIG_KEYS(X)
#undef X
        CONFIG_KEY_COUNT
};

struct config_flags {
    const char *file; /* NULL: the default, if it is there */
    bool is_restore;  /* files that it names may not be there yet */
    const char *values[CONFIG_KEY_COUNT];
};

struct config_problem {
    const char *text; /* begins with where it is */
    struct config_problem *next;
};

struct config {
    struct arena arena;
    const char *data;
    const char *address;
    uint16_t port;                  /* 0: any */
    const char *trusted_proxy;      /* as it is said; NULL: none */
    uint8_t (*trusted_proxies)[16]; /* the same, as http.h wants them */
    uint32_t trusted_proxy_count;
    const char *store;
    const char *barclamps; /* "DIR[:DIR]"; "": none. What is shipped, if that is installed */
    struct settings_update_command settings; /* what is said of them; test_jig always is */
    uint32_t probe_wait_s;     /* for how long a machine is asked that says it lives */
    uint32_t power_poll_s;     /* how often power states are read; 0: only on request */
    uint32_t keep_events_days; /* 0: for ever */
    const char *tool_path;     /* where programs are looked for that jigs need */
    const char *tls_cert;      /* both or none (NULL) */
    const char *tls_key;
    bool tls_auto;       /* without them: serve HTTPS with certificates of our own */
    bool core_dumps;     /* a crash may leave a core file, with every secret in memory in it */
    const char *version; /* of this program; not for anybody to set */
    enum log_format log_format;
    enum log_level log_level;
    const char *admin_node;    /* name of the admin node that the first start makes; NULL: found */
    const char *admin_address; /* its address, with or without "/PREFIX"; NULL: found */
    bool has_no_admin_node;    /* none is made */
    struct config_problem *problems;
};

/* False when there are problems. The config is to be given to config_fini either way. */
bool config_read(const struct config_flags *flags, struct config *out_config);
void config_fini(struct config *c);

/* "DATA/name", in the config's arena. */
const char *config_path(struct config *c, const char *name);
int64_t config_keep_events_ms(const struct config *c); /* 0: for ever */
