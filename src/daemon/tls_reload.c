/* tls_reload.c - the certificate that the daemon serves with, from its start to its end. */
#include "daemon/serve_private.h"

#include "base/err.h"
#include "pki/tls_files.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"

enum { WHY_SIZE = 512, HOSTS_MAX = 1 << 20 };

#define LOOK_MS ((uint64_t)24 * 3600 * 1000)

enum { CERTS_MAX = 1 << 20, DAY_S = 24 * 3600, WARN_DAYS = 30 };

static bool is_own(const struct config *c)
{
    return c->tls_auto && !c->tls_cert;
}

/* Certificates are renewed by the age they have according to wall clock and stamp. */
static int64_t age_now_s(const struct daemon *d)
{
    return clock_for_age(sys_now_ms(), turn_now_ms(d->loop.turn)) / 1000;
}

static bool keep_own(const struct daemon *d, struct arena *a, struct tls_files *out_home)
{
    struct config *c = d->config;
    struct certificate_names names;
    struct str hosts = STR("");
    ignore(file_read(a, "/etc/hosts", HOSTS_MAX, &hosts), "then it says nothing of us");
    tls_files_names(a, c->address, hosts, &names);
    return tls_files_keep(a, config_path(c, "tls"), &names, age_now_s(d), out_home);
}

bool daemon_choose_certificate(struct daemon *d)
{
    struct tls_files home = {d->config->tls_cert, d->config->tls_key};
    if (is_own(d->config) && !keep_own(d, &d->config->arena, &home))
        return false;
    d->tls_cert = home.cert;
    d->tls_key = home.key;
    return true;
}

static void warn_of_end(struct daemon *d, int64_t end_s)
{
    const int64_t left_s = end_s - age_now_s(d), mono_ms = sys_mono_ms();
    const bool was_said =
        d->tls_warned_s == end_s && mono_ms - d->tls_warned_ms < (int64_t)LOOK_MS - 60000;
    if (left_s >= (int64_t)WARN_DAYS * DAY_S || was_said)
        return;
    d->tls_warned_s = end_s;
    d->tls_warned_ms = mono_ms;
    log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("cert", d->tls_cert), LOG_I64("days", left_s / DAY_S)),
             left_s > 0 ? "the certificate ends soon; replace it, then send SIGHUP"
                        : "the certificate has ended, and clients refuse it; replace it, then send "
                          "SIGHUP");
}

/* What is served now, which a file that does not read has not replaced. */
static void look_at_end(struct daemon *d)
{
    struct arena arena = {0};
    struct str certs;
    int64_t end_s;
    if (file_read(&arena, d->tls_cert, CERTS_MAX, &certs) == OK && certificate_end(certs, &end_s)) {
        d->wires.certificate_end_s = end_s;
        warn_of_end(d, end_s);
    }
    arena_fini(&arena);
}

void daemon_reload_certificate(struct daemon *d)
{
    char why[WHY_SIZE] = "";
    struct arena arena = {0};
    struct tls_files home;
    if (!d->http || !d->tls_cert || d->is_stopping)
        return;
    /* What went wrong is logged; what we have still stands. */
    const bool is_kept = !is_own(d->config) || keep_own(d, &arena, &home);
    if (is_kept && !http_reload_tls(d->http, why, sizeof why))
        log_print(LOG_ERROR, "%s; the certificate stays as it was", why);
    else
        look_at_end(d);
    arena_fini(&arena);
}

/* Those of others are theirs to renew, and to tell us of. */
void daemon_look_at_certificate(struct daemon *d)
{
    if (!d->http || !d->tls_cert)
        return;
    if (is_own(d->config))
        daemon_reload_certificate(d);
    else
        look_at_end(d);
}

static void look(uv_timer_t *timer)
{
    daemon_look_at_certificate(timer->data);
}

void daemon_watch_certificate(struct daemon *d)
{
    if (!d->tls_cert)
        return;
    look_at_end(d);
    must(uv_timer_init(&d->loop.uv, &d->tls_watch) == 0);
    d->tls_watch.data = d;
    uv_unref((uv_handle_t *)&d->tls_watch);
    must(uv_timer_start(&d->tls_watch, look, LOOK_MS, LOOK_MS) == 0);
}
