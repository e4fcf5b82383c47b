/* serve_private.h - the state of one running daemon, shared by serve.c (start and stop), reload.c
 * (SIGHUP) and tls_reload.c (certificates).
 *
 * There is one struct daemon for each process. It belongs to the thread of the loop and lives from
 * serve() to its return. */
#pragma once

#include <uv.h>

#include "daemon/clock_watch.h"
#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"
#include "daemon/loop.h"
#include "daemon/wiring.h"
#include "http/http.h"
#include "import/content_import.h"

/* Request ids of internal commands are negative. Those of imports count down from OWN_CONTENT. */
enum { OWN_ADMIN = -1, OWN_SETTINGS = -2, OWN_ADMIN_NODE = -3, OWN_NICS = -4, OWN_CONTENT = -100 };

struct daemon {
    struct config *config;
    const struct config_flags *flags;
    struct data_dir_locks locks; /* held from serve() to its return */
    struct loop loop;
    struct wiring wiring;
    struct content content;
    struct passwords *passwords;
    struct http_server *http;
    const char *tls_cert; /* path, of the configuration or in DATA/tls; NULL: no TLS */
    const char *tls_key;
    uv_timer_t tls_watch;  /* checks daily whether the certificate expires */
    int64_t tls_warned_s;  /* expiry (s since 1970) in the last warning; 0: no warning yet */
    int64_t tls_warned_ms; /* monotonic time of that warning, ms */
    uv_signal_t on_term, on_int, on_hup;
    uv_timer_t watchdog;
    uv_timer_t stream_timer; /* polls event streams while there are any */
    uv_timer_t clock_timer;  /* samples wall clock and stamp every CLOCK_MS */
    enum clock_state clock_state;
    uv_timer_t drain_timeout; /* bounds the drain to DRAIN_MS_MAX */
    bool is_stopping;         /* after a stop signal, a lost leadership or a failed store */
    bool stops_at_once;       /* the drain is given up */
    bool reload_pending;      /* SIGHUP arrived during the start */
    bool is_reloading;        /* READY=1 has not been sent yet for this reload */
    bool first_user_pending;
    bool settings_pending;
    bool nics_pending;           /* NICS_MAKE has no outcome yet */
    uint32_t admin_node_pending; /* count of commands about the admin node without an outcome */
    struct settings_update_command settings;      /* as configured */
    struct settings_update_command settings_sent; /* in the pending command */
    bool first_user_created;
    enum exit_status exit_status; /* of the process */
};

/* Set tls_cert and tls_key, creating certificates for tls-auto. False after a logged failure. */
bool daemon_choose_certificate(struct daemon *d);
/* Start the daily check: certificates of tls-auto are renewed, and any certificate that is about to
 * expire is logged once a day. Called once, after the server listens. */
void daemon_watch_certificate(struct daemon *d);
/* The daily check itself. It does nothing before the server listens. */
void daemon_check_certificate(struct daemon *d);
/* Renew the certificate if it is one of tls-auto, then read the files again for new connections. */
void daemon_reload_certificate(struct daemon *d);
/* Deactivate jigs whose programs are missing on this host, and reactivate those that have them. */
void daemon_check_tools(struct daemon *d);
/* SIGHUP: apply the settings that can change while the daemon runs, and import content again. */
void daemon_reload(struct daemon *d);
/* The import is complete: log and notify the service manager if it was a reload. */
void daemon_finish_reload(struct daemon *d);
/* Change the stored settings that differ from the configuration. While an earlier change is
 * pending, `wanted` is stored and applied after it. */
void daemon_apply_settings(struct daemon *d, const struct settings_update_command *wanted);
/* The result of that change; `outcome` is NULL if the store failed. */
void daemon_on_settings_result(struct daemon *d, const struct outcome *outcome);
