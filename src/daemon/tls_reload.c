/* tls_reload.c - the certificate of the daemon: chosen at the start, checked daily, read again on
 * SIGHUP.
 *
 * With tls-auto the files in DATA/tls are created and renewed by tls_files_keep(). Files of the
 * configuration belong to the administrator: the daemon only warns before they expire. The age of a
 * certificate is judged by clock_for_age(), so that a wall clock that is ahead for a moment does
 * not cause a renewal.
 *
 * The state is in struct daemon (tls_cert to tls_warned_ms). Files are renewed before the server
 * reads them, and their expiry is checked after that.
 *
 * Failure: files that cannot be created or read end the start of the daemon. Later the
 * failure is logged and the pair that the server has loaded stays in use.
 */
#include "daemon/serve_private.h"

#include "base/err.h"
#include "pki/tls_files.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"

enum { WHY_SIZE = 512, HOSTS_MAX = 1 << 20 };

#define CHECK_MS ((uint64_t)24 * 3600 * 1000)

enum { CERTS_MAX = 1 << 20, DAY_S = 24 * 3600, WARN_DAYS = 30 };

static bool tls_is_auto(const struct config *c)
{
    return c->tls_auto && !c->tls_cert;
}

/* The time for comparisons with the expiry of a certificate, in seconds since 1970. */
static int64_t tls_age_now_s(const struct daemon *d)
{
    return clock_for_age(sys_now_ms(), turn_now_ms(d->loop.turn)) / 1000;
}

static bool tls_renew_auto(const struct daemon *d, struct arena *a, struct tls_files *out_home)
{
    struct config *c = d->config;
    struct certificate_names names;
    struct str hosts = STR("");
    ignore(file_read(a, "/etc/hosts", HOSTS_MAX, &hosts),
           "without it the host has only its own name");
    tls_files_names(a, c->address, hosts, &names);
    return tls_files_keep(a, config_path(c, "tls"), &names, tls_age_now_s(d), out_home);
}

bool daemon_choose_certificate(struct daemon *d)
{
    struct tls_files home = {d->config->tls_cert, d->config->tls_key};
    if (tls_is_auto(d->config) && !tls_renew_auto(d, &d->config->arena, &home))
        return false;
    d->tls_cert = home.cert;
    d->tls_key = home.key;
    return true;
}

static void tls_warn_expiry(struct daemon *d, int64_t end_s)
{
    const int64_t left_s = end_s - tls_age_now_s(d), mono_ms = sys_mono_ms();
    /* Once a day for each certificate, also if SIGHUP causes more checks. A check up to a
     * minute early counts as the daily one. */
    const bool was_logged =
        d->tls_warned_s == end_s && mono_ms - d->tls_warned_ms < (int64_t)CHECK_MS - 60000;
    if (left_s >= (int64_t)WARN_DAYS * DAY_S || was_logged)
        return;
    d->tls_warned_s = end_s;
    d->tls_warned_ms = mono_ms;
    const struct log_field *fields =
        LOG_FIELDS(LOG_Z("cert", d->tls_cert), LOG_I64("days", left_s / DAY_S));
    if (left_s > 0)
        log_with(LOG_WARNING, fields,
                 "certificate expires in %lld days; replace certificate and key, then send SIGHUP",
                 (long long)(left_s / DAY_S));
    else
        log_with(LOG_WARNING, fields,
                 "certificate expired and clients reject it; replace certificate and key, then "
                 "send SIGHUP");
}

/* Read the expiry of the certificate file for the metrics, and warn if it is near. */
static void tls_check_expiry(struct daemon *d)
{
    struct arena arena = {0};
    struct str certs;
    int64_t end_s;
    if (file_read(&arena, d->tls_cert, CERTS_MAX, &certs) == OK && certificate_end(certs, &end_s)) {
        d->wiring.certificate_end_s = end_s;
        tls_warn_expiry(d, end_s);
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
    /* A failed renewal is logged by tls_files.c. The loaded pair stays in use. */
    const bool is_kept = !tls_is_auto(d->config) || tls_renew_auto(d, &arena, &home);
    if (is_kept && !http_reload_tls(d->http, why, sizeof why))
        log_print(LOG_ERROR, "%s; the previous certificate stays in use", why);
    else
        tls_check_expiry(d);
    arena_fini(&arena);
}

/* Only certificates of tls-auto are renewed here; others are replaced by the administrator. */
void daemon_check_certificate(struct daemon *d)
{
    if (!d->http || !d->tls_cert)
        return;
    if (tls_is_auto(d->config))
        daemon_reload_certificate(d);
    else
        tls_check_expiry(d);
}

static void tls_on_timer(uv_timer_t *timer)
{
    daemon_check_certificate(timer->data);
}

void daemon_watch_certificate(struct daemon *d)
{
    if (!d->tls_cert)
        return;
    tls_check_expiry(d);
    must(uv_timer_init(&d->loop.uv, &d->tls_watch) == 0);
    d->tls_watch.data = d;
    uv_unref((uv_handle_t *)&d->tls_watch); /* does not keep uv_run() from returning */
    must(uv_timer_start(&d->tls_watch, tls_on_timer, CHECK_MS, CHECK_MS) == 0);
}
