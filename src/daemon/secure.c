/* secure.c - the certificate that the daemon serves with, from its start to its end. */
#include "daemon/serve_private.h"

#include "base/err.h"
#include "daemon/tls_home.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"

enum { WHY_SIZE = 512, HOSTS_MAX = 1 << 20 };

#define LOOK_MS ((uint64_t)24 * 3600 * 1000)

static bool is_own(const struct config *c)
{
    return c->tls_auto && !c->tls_cert;
}

static bool keep_own(struct config *c, struct arena *a, struct tls_home *out_home)
{
    struct certificate_names names;
    struct str hosts = STR("");
    ignore(file_read(a, "/etc/hosts", HOSTS_MAX, &hosts), "then it says nothing of us");
    tls_home_names(a, c->address, hosts, &names);
    return tls_home_keep(a, config_path(c, "tls"), &names, sys_now_ms() / 1000, out_home);
}

bool daemon_choose_certificate(struct daemon *d)
{
    struct tls_home home = {d->config->tls_cert, d->config->tls_key};
    if (is_own(d->config) && !keep_own(d->config, &d->config->arena, &home))
        return false;
    d->tls_cert = home.cert;
    d->tls_key = home.key;
    return true;
}

void daemon_reload_certificate(struct daemon *d)
{
    char why[WHY_SIZE] = "";
    struct arena arena = {0};
    struct tls_home home;
    if (!d->http || !d->tls_cert || d->is_stopping)
        return;
    /* What went wrong is logged; what we have still stands. */
    const bool is_kept = !is_own(d->config) || keep_own(d->config, &arena, &home);
    if (is_kept && !http_reload_tls(d->http, why, sizeof why))
        log_say(LOG_ERROR, "%s; the certificate stays as it was", why);
    arena_fini(&arena);
}

static void look(uv_timer_t *timer)
{
    daemon_reload_certificate(timer->data);
}

/* Those of others are theirs to renew, and to tell us of. */
void daemon_watch_certificate(struct daemon *d)
{
    if (!is_own(d->config))
        return;
    must(uv_timer_init(&d->loop.uv, &d->tls_watch) == 0);
    d->tls_watch.data = d;
    uv_unref((uv_handle_t *)&d->tls_watch);
    must(uv_timer_start(&d->tls_watch, look, LOOK_MS, LOOK_MS) == 0);
}
