/* config.h - the configuration of the daemon: options of the command line, then the file, then
 * defaults.
 *
 * The file has lines "key = value"; keys are the long options without their dashes. All problems
 * are reported together, with file and line, and a configuration with problems must not be used.
 * All strings are in the arena of the config, from config_read to config_fini.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "model/command.h"
#include "sys/log.h"

#define CONFIG_FILE_DEFAULT "/etc/halligan/halligan.conf"
#define CONFIG_DATA_DEFAULT "/var/lib/halligan"
#define BOOT_SOCKET_DEFAULT "/run/halligan/boot.sock"

/* Options of the command line that are also keys of the file: name, key, value in --help. */
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
    X(INSTALL_WAIT, "install-wait", "SECONDS")                                                     \
    X(BOOT_SERVER, "boot-server", "auto|true|false")                                               \
    X(BOOT_SOCKET, "boot-socket", "PATH|none")                                                     \
    X(BOOT_USER, "boot-user", "NAME")                                                              \
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
    const char *file; /* NULL: the default path, if that file exists */
    bool is_restore;  /* files that it names need not exist yet */
    const char *values[CONFIG_KEY_COUNT];
};

struct config_problem {
    const char *text; /* begins with FILE:LINE or the option */
    struct config_problem *next;
};

struct config {
    struct arena arena;
    const char *data;
    const char *address;
    uint16_t port;                  /* 0: any free port */
    const char *trusted_proxy;      /* as written; NULL: none */
    uint8_t (*trusted_proxies)[16]; /* the same as addresses for struct http_options */
    uint32_t trusted_proxy_count;
    const char *store;
    const char *barclamps; /* "DIR[:DIR]"; "": none. Default: the installed ones, if any */
    struct settings_update_command settings; /* the configured ones; test_jig is always set */
    uint32_t probe_wait_s;                   /* timeout of probes */
    uint32_t power_poll_s;     /* interval of reading power states; 0: only on request */
    uint32_t keep_events_days; /* 0: without limit */
    const char *boot_socket;   /* of boot servers; NULL: none can connect */
    const char *boot_user;     /* that boot servers run as */
    const char *tool_path;     /* search path for the programs of jigs */
    const char *tls_cert;      /* both or none (NULL) */
    const char *tls_key;
    bool tls_auto;       /* without them: serve HTTPS with the built-in CA */
    bool core_dumps;     /* a crash may write a core file, which contains all secrets in memory */
    const char *version; /* of this program; set by main.c, not configurable */
    enum log_format log_format;
    enum log_level log_level;
    const char *admin_node;    /* name of the admin node of the first start; NULL: of this host */
    const char *admin_address; /* its address, with or without "/PREFIX"; NULL: of the route */
    bool has_no_admin_node;    /* none is created */
    struct config_problem *problems;
};

/* False if there are problems. config_fini() must be called in both cases. */
bool config_read(const struct config_flags *flags, struct config *out_config);
void config_fini(struct config *c);

/* "DATA/name", in the config's arena. */
const char *config_path(struct config *c, const char *name);
int64_t config_keep_events_ms(const struct config *c); /* 0: without limit */
