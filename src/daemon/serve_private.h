/* serve_private.h - one running daemon, for the chapters of its life (serve.c, tls_reload.c,
 * reload.c). */
#pragma once

#include <uv.h>

#include "daemon/clock_watch.h"
#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"
#include "daemon/loop.h"
#include "daemon/wiring.h"
#include "http/http.h"
#include "import/content_import.h"

/* Requests of our own are below zero; barclamps count down from the last of these. */
enum { OWN_ADMIN = -1, OWN_SETTINGS = -2, OWN_ADMIN_NODE = -3, OWN_CONTENT = -100 };

struct daemon {
    struct config *config;
    const struct config_flags *flags;
    struct hold hold;
    struct loop loop;
    struct wiring wires;
    struct content content;
    struct passwords *passwords;
    struct http_server *http;
    const char *tls_cert; /* of the config, or of our own; NULL: no TLS */
    const char *tls_key;
    uv_timer_t tls_watch;  /* certificates end while we run */
    int64_t tls_warned_s;  /* the end of the one that was warned of; 0: none was */
    int64_t tls_warned_ms; /* monotonic time of that warning */
    uv_signal_t on_term, on_int, on_hup;
    uv_timer_t watchdog;
    uv_timer_t beat;  /* for those who watch */
    uv_timer_t clock; /* reads the clocks where nothing happens */
    enum clock_state clock_state;
    uv_timer_t patience; /* how long a drain may take */
    bool is_stopping;    /* a signal came, or we were ousted */
    bool is_hurried;     /* nobody waits for anything any more */
    bool reload_waits;   /* SIGHUP came while we were coming up */
    bool is_reloading;   /* and nobody was told yet that it is through */
    bool admin_waits;
    bool settings_wait;
    uint32_t admin_node_waits; /* commands about the admin node without an outcome yet */
    struct settings_update_command settings;      /* what the config says of them */
    struct settings_update_command settings_sent; /* what is under way */
    bool admin_made;
    enum ending ending;
};

/* Which certificate to serve with. False: none can be had, and that is logged. */
bool daemon_choose_certificate(struct daemon *d);
/* Certificates of our own are renewed in time; of one that ends soon, whoever made it, there is a
 * warning a day. Once we listen. */
void daemon_watch_certificate(struct daemon *d);
/* Renew it if it is ours and old; of one that ends soon there is a warning. Nothing before we
 * listen. */
void daemon_look_at_certificate(struct daemon *d);
/* Renew it if it is ours, and read it again. */
void daemon_reload_certificate(struct daemon *d);
/* What jigs need: is it here? */
void daemon_check_tools(struct daemon *d);
/* SIGHUP: what of the config can change while we run, and the content. */
void daemon_reload(struct daemon *d);
/* The content is through. */
void daemon_reloaded(struct daemon *d);
/* Bring the stored settings to what the config says, where they differ; when an earlier change is
 * still under way, after that. */
void daemon_apply_settings(struct daemon *d, const struct settings_update_command *wanted);
/* What became of it. */
void daemon_settings_told(struct daemon *d, const struct outcome *outcome);
