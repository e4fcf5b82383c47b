/* serve.c - start, run and stop the daemon.
 *
 * It owns struct daemon, which contains all modules of the process. The engine is in the turn,
 * which executes commands on the records in memory (the core) and commits the changes to the store
 * as batches. To lead a store means to be the only process that may write to it.
 *
 * The order of the start matters. The locks of the data directory and of the database file come
 * first, because everything else writes there. The file `listen` of an earlier daemon is removed
 * next, because clients trust it while the lock is held. The store is led and
 * loaded before the first user is created, and the first user exists before content is imported, so
 * that an installation is never reachable without an account. The server listens last: a client
 * that can connect sees settings and content of this start, and systemd is notified only then.
 *
 * The stop is a drain: accepting ends, pending requests are answered and the last batch is
 * committed, for at most DRAIN_MS_MAX. A second signal, a lost leadership or a failed disk ends it
 * at once. serve_shut_down() then closes modules in the reverse order of their dependencies.
 *
 * A failed step of the start is logged where it fails and ends the process with its exit status.
 * Runs under halligan-exec continue in every case.
 */
#include "daemon/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "auth/passwords.h"
#include "core/core.h"
#include "daemon/admin_node.h"
#include "daemon/first_user.h"
#include "daemon/serve_private.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/log.h"
#include "sys/notify.h"

enum { DRAIN_MS_MAX = 10 * 1000, CLOCK_MS = 5 * 1000, WHY_SIZE = 512, URL_SIZE = 128 };

/* ---- results of internal requests ---- */

/* `outcome` is NULL if the store failed before the commit; so in the functions below. */
static void serve_on_first_user(struct daemon *d, const struct outcome *outcome)
{
    d->first_user_pending = false;
    d->first_user_created = outcome && outcome->verdict == VERDICT_DONE;
    if (outcome && outcome->problems)
        log_with(LOG_ERROR, LOG_FIELDS(LOG_S("user", STR("admin"))),
                 "first user admin refused: %.*s", STR_FMT_ARGS(outcome->problems->text));
}

static void serve_on_admin_node(struct daemon *d, const struct outcome *outcome)
{
    d->admin_node_pending--;
    if (!outcome)
        log_print(LOG_WARNING,
                  "admin node of this host not created: the store failed before it was committed; "
                  "the next start tries again");
    else if (outcome->problems)
        log_print(LOG_WARNING, "admin node of this host not created: %.*s",
                  STR_FMT_ARGS(outcome->problems->text));
}

/* Submit the commands that create the admin node of this host, or add what it lacks. It is called
 * after the import, because the node gets the bootstrap roles that barclamps define. */
static void serve_submit_admin_node(struct daemon *d)
{
    struct command commands[ADMIN_NODE_COMMANDS_MAX];
    struct arena arena = {0};
    const struct core *core = turn_core(d->loop.turn);
    const uint32_t count =
        core && !d->admin_node_pending ? admin_node_commands(&arena, core, d->config, commands) : 0;
    for (uint32_t i = 0; i < count; i++) {
        /* Each deployment has one phantom node: with equal counts there is no machine yet. */
        const bool is_new = commands[i].kind == COMMAND_NODE_CREATE &&
                            core_count(core, TABLE_NODE) == core_count(core, TABLE_DEPLOYMENT);
        commands[i].request = OWN_ADMIN_NODE;
        if (loop_submit(&d->loop, &commands[i]) != OK)
            continue;
        d->admin_node_pending++;
        if (is_new)
            log_with(LOG_NOTICE, LOG_FIELDS(LOG_S("node", commands[i].node_create.name)),
                     "new installation: creating admin node %.*s for this host%s",
                     STR_FMT_ARGS(commands[i].node_create.name),
                     commands[i].node_create.hint.len
                         ? ""
                         : "; no address found: set admin-address and restart");
    }
    arena_fini(&arena);
}

/* Stores of versions without nic rows get them once, at the first start. A failure is not repeated
 * before the next start: the rows of a node are also made when its interfaces change. */
static void serve_submit_nics(struct daemon *d)
{
    struct record settings;
    const struct core *core = turn_core(d->loop.turn);
    const struct command command = {
        .kind = COMMAND_NICS_MAKE, .actor = STR("daemon"), .request = OWN_NICS};
    if (core && core_record(core, TABLE_SETTINGS, 1, &settings) && !settings.settings.nics_made)
        d->nics_pending = loop_submit(&d->loop, &command) == OK;
}

static void serve_on_nics(struct daemon *d, const struct outcome *outcome)
{
    d->nics_pending = false;
    if (!outcome || outcome->problems)
        log_print(LOG_WARNING, "interfaces of nodes not listed: %.*s; the next start tries again",
                  STR_FMT_ARGS(outcome ? outcome->problems->text
                                       : STR("the store failed before they were committed")));
}

static void serve_on_result(void *self, int64_t request, const struct outcome *outcome, err why)
{
    struct daemon *d = self;
    if (request == OWN_ADMIN)
        serve_on_first_user(d, outcome);
    else if (request == OWN_SETTINGS)
        daemon_on_settings_result(d, outcome);
    else if (request == OWN_ADMIN_NODE)
        serve_on_admin_node(d, outcome);
    else if (request == OWN_NICS)
        serve_on_nics(d, outcome);
    else
        content_on_result(&d->content, request, outcome, why);
}

static err serve_content_submit(void *self, const struct command *command)
{
    struct daemon *d = self;
    return loop_submit(&d->loop, command);
}

static const struct core *serve_content_core(void *self)
{
    const struct daemon *d = self;
    return turn_core(d->loop.turn);
}

static err serve_content_dry_run(void *self, const struct str *barclamps, uint32_t count,
                                 struct arena *arena, struct outcome *outcomes)
{
    struct daemon *d = self;
    return turn_import_dry_run(d->loop.turn, barclamps, count, arena, outcomes);
}

static bool serve_content_load(void *self, struct str role, bool is_same)
{
    struct daemon *d = self;
    return role_code_registry_read_again(&d->wiring.codes, role, is_same);
}

/* The import is complete. Programs of jigs are checked after it, because it may have added jigs. */
static void serve_on_content_done(void *self)
{
    daemon_check_tools(self);
    serve_submit_admin_node(self);
    daemon_finish_reload(self);
}

/* ---- stopping ---- */

static void serve_on_drain_timeout(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("requests", d->http ? http_pending(d->http) : 0)),
             "drain timeout of %d s exceeded; unanswered requests get a 503", DRAIN_MS_MAX / 1000);
    d->stops_at_once = true;
}

/* A stop signal: begin the drain, or give it up if it has begun already. */
static void serve_begin_drain(struct daemon *d)
{
    if (d->is_stopping) {
        d->stops_at_once = true;
        return;
    }
    FAILPOINT(DRAIN_BEFORE);
    log_print(LOG_NOTICE, "stopping");
    d->is_stopping = d->wiring.is_draining = true;
    ignore(notify_send("STOPPING=1\nSTATUS=stopping\n"), "there may be no service manager");
    if (d->http)
        http_quiesce(d->http);
    must(uv_timer_start(&d->drain_timeout, serve_on_drain_timeout, DRAIN_MS_MAX, 0) == 0);
}

/* Every request has been answered completely, and no batch is being committed. A store that is down
 * cannot commit the last batch, so it is not waited for. */
static bool serve_is_drained(const struct daemon *d)
{
    const struct turn *t = d->loop.turn;
    if (d->http && http_pending(d->http) > 0)
        return false;
    return d->loop.status == TURN_DOWN || turn_seen(t) == turn_durable(t);
}

static void serve_stop_with_error(struct daemon *d, enum exit_status status, const char *text)
{
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("epoch", turn_epoch(d->loop.turn))), "%s; stopping",
             text);
    d->exit_status = status;
    d->is_stopping = d->stops_at_once = true;
}

/* Called after each advance of the turn. Besides a complete drain, two failures end the process: a
 * lost leadership, after which nothing may be written, and a failed sync. */
static bool serve_wants_stop(void *self)
{
    struct daemon *d = self;
    const char *text;
    if (d->exit_status == DAEMON_EXIT_OK && d->loop.status == TURN_STOPPED) {
        ignore(turn_trouble(d->loop.turn, &text), "only the text is needed");
        serve_stop_with_error(d, DAEMON_EXIT_FENCED, text);
    }
    /* After a failed sync the kernel may have dropped the pages. Only a new process that reads the
     * file again knows what is stored (ADR 0037). */
    if (d->exit_status == DAEMON_EXIT_OK && d->loop.status == TURN_DOWN &&
        store_has_failed(d->loop.store))
        serve_stop_with_error(d, DAEMON_EXIT_FAILURE, store_last_error(d->loop.store));
    return d->is_stopping && (d->stops_at_once || serve_is_drained(d));
}

static void serve_on_stream_timer(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    if (d->loop.api)
        api_poll_streams(d->loop.api);
}

/* Work that can wait: the next parts of streams of the API, and the next steps of the import. */
static bool serve_work(void *self, uint64_t until_ns)
{
    struct daemon *d = self;
    if (d->loop.api && api_has_infinite_streams(d->loop.api) &&
        !uv_is_active((uv_handle_t *)&d->stream_timer))
        must(uv_timer_start(&d->stream_timer, serve_on_stream_timer, API_POLL_MS, 0) == 0);
    const bool more = d->loop.api && api_pump(d->loop.api);
    return content_pump(&d->content, until_ns) || more;
}

/* ---- signals ---- */

static void serve_on_signal(uv_signal_t *signal, int number)
{
    struct daemon *d = signal->data;
    if (number != SIGHUP)
        serve_begin_drain(d);
    else if (!d->http)
        d->reload_pending = true; /* the import of the start is still running */
    else if (!d->is_stopping)
        daemon_reload(d);
}

static void serve_watch_signal(struct daemon *d, uv_signal_t *signal, int number)
{
    int failed = uv_signal_init(&d->loop.uv, signal); /* may need a descriptor */
    signal->data = d;
    if (!failed)
        failed = uv_signal_start(signal, serve_on_signal, number);
    if (failed)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("signal", number)),
                 "no handler for signal %d: %s; this signal ends the daemon without a drain",
                 number, uv_strerror(failed));
}

static void serve_on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    ignore(notify_send("WATCHDOG=1\n"), "the next ping follows before the timeout");
}

static void serve_on_clock_timer(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    if (!d->loop.turn)
        return; /* the wiring is closed and the loop is about to end */
    turn_read_clock(d->loop.turn);
    const enum clock_state before = d->clock_state;
    d->clock_state = clock_watch(before, sys_now_ms(), turn_now_ms(d->loop.turn));
    /* After the stamp has followed a jump of the clock, the certificate may be due for renewal. */
    if (before == CLOCK_AHEAD && d->clock_state == CLOCK_EVEN)
        daemon_check_certificate(d);
}

static enum exit_status serve_open_loop(struct daemon *d)
{
    if (loop_open(&d->loop) != OK) {
        log_print(LOG_ERROR, "cannot create the event loop: descriptors or memory exhausted");
        return DAEMON_EXIT_FAILURE;
    }
    d->loop.self = d;
    d->loop.wants_stop = serve_wants_stop;
    d->loop.work = serve_work;
    d->content.uv = &d->loop.uv;
    serve_watch_signal(d, &d->on_term, SIGTERM);
    serve_watch_signal(d, &d->on_int, SIGINT);
    serve_watch_signal(d, &d->on_hup, SIGHUP);
    must(uv_timer_init(&d->loop.uv, &d->drain_timeout) == 0);
    must(uv_timer_init(&d->loop.uv, &d->watchdog) == 0);
    must(uv_timer_init(&d->loop.uv, &d->stream_timer) == 0);
    must(uv_timer_init(&d->loop.uv, &d->clock_timer) == 0);
    d->clock_timer.data = d;
    d->drain_timeout.data = d->stream_timer.data = d;
    const uint64_t watchdog_ms = notify_watchdog_ms();
    if (watchdog_ms)
        must(uv_timer_start(&d->watchdog, serve_on_watchdog, watchdog_ms, watchdog_ms) == 0);
    return DAEMON_EXIT_OK;
}

/* ---- start ---- */

/* Lead the store, load the core, and start to sample the clock. */
static enum exit_status serve_start_turn(struct daemon *d)
{
    const char *text;
    /* The turn starts by delivering hooks that an earlier process left in the outbox. Read the
     * content before that, so that their Lua files are found even if a barclamp has been moved
     * since it was imported. */
    content_read_ahead(&d->content, d->config->barclamps);
    const enum turn_status status = loop_start(&d->loop);
    if (status == TURN_AGAIN) {
        log_with(LOG_NOTICE,
                 LOG_FIELDS(LOG_I64("turn", turn_durable(d->loop.turn)),
                            LOG_I64("epoch", turn_epoch(d->loop.turn))),
                 "leading the store");
        must(uv_timer_start(&d->clock_timer, serve_on_clock_timer, 0, CLOCK_MS) == 0);
        return DAEMON_EXIT_OK;
    }
    const err why = turn_trouble(d->loop.turn, &text);
    const char *store = store_last_error(d->loop.store);
    const bool damaged = why == ERR_CORRUPT;
    log_print(LOG_ERROR, "%s: %s%s%s",
              damaged ? "the store is damaged" : "the store cannot be used", text,
              store[0] ? ": " : "", store);
    return status == TURN_STOPPED ? DAEMON_EXIT_FENCED : DAEMON_EXIT_FAILURE;
}

/* Run the loop until all internal requests are answered, the ssh key is generated and the import is
 * complete, or until a signal requests the stop. */
static void serve_wait_for_startup(struct daemon *d)
{
    while (!d->is_stopping &&
           (d->first_user_pending || d->settings_pending || d->admin_node_pending ||
            d->nics_pending || ssh_keys_is_busy(&d->wiring.ssh) || !content_is_idle(&d->content)))
        loop_once(&d->loop);
}

/* In an installation without users: create the user admin and wait until it is committed. */
static enum exit_status serve_create_first_user(struct daemon *d)
{
    struct command command;
    struct arena arena = {0};
    const struct core *core = turn_core(d->loop.turn);
    if (!core || core_count(core, TABLE_USER) > 0)
        return DAEMON_EXIT_OK;
    const char *path = config_path(d->config, "admin.password");
    const err e = first_user_create(&arena, path, &command);
    command.request = OWN_ADMIN;
    if (e == OK)
        d->first_user_pending = loop_submit(&d->loop, &command) == OK;
    arena_fini(&arena);
    if (e != OK)
        return DAEMON_EXIT_FAILURE;
    serve_wait_for_startup(d);
    if (d->first_user_created) {
        FAILPOINT(ADMIN_DONE);
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("password_file", path)),
                 "new installation: user admin created; its password is in \"%s\"", path);
        return DAEMON_EXIT_OK;
    }
    if (!d->is_stopping)
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("store", store_last_error(d->loop.store))),
                 "first user admin not created; the daemon stops");
    return d->is_stopping ? DAEMON_EXIT_OK : DAEMON_EXIT_FAILURE;
}

/* Write the file `listen`, then notify the service manager: a client that was started after READY=1
 * finds the URL. */
static enum exit_status serve_publish_url(struct daemon *d)
{
    char url[URL_SIZE];
    const struct config *c = d->config;
    const bool v6 = strchr(c->address, ':') != NULL;
    snprintf(url, sizeof url, "%s://%s%s%s:%u\n", d->tls_cert ? "https" : "http", v6 ? "[" : "",
             c->address, v6 ? "]" : "", http_port(d->http));
    const char *path = config_path(d->config, "listen");
    if (file_write(path, str_from(url), 0644) != OK) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "\"%s\" cannot be written: %s", path,
                 strerror(errno));
        return DAEMON_EXIT_FAILURE;
    }
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_S("url", str_slice(str_from(url), 0, (uint32_t)strlen(url) - 1))),
             "listening");
    ignore(notify_ready(), "there may be no service manager");
    return DAEMON_EXIT_OK;
}

/* Start the password thread, the API and the HTTP server, and publish the URL. */
static enum exit_status serve_listen(struct daemon *d)
{
    char why[WHY_SIZE] = "";
    d->passwords = passwords_new(&d->loop.uv);
    if (!d->passwords) {
        log_print(LOG_ERROR,
                  "cannot start the password thread: libsodium failed, or descriptors, threads or "
                  "memory are exhausted");
        return DAEMON_EXIT_FAILURE;
    }
    d->loop.api = api_new(wiring_api_engine(&d->wiring), d->passwords);
    must(d->loop.api);
    if (!daemon_choose_certificate(d))
        return DAEMON_EXIT_FAILURE;
    const struct http_options options = {.address = d->config->address,
                                         .port = d->config->port,
                                         .tls_cert = d->tls_cert,
                                         .tls_key = d->tls_key,
                                         .proxies =
                                             (const uint8_t(*)[16])d->config->trusted_proxies,
                                         .proxy_count = d->config->trusted_proxy_count};
    d->http = http_open(&d->loop.uv, &options, api_handler(d->loop.api), why, sizeof why);
    if (!d->http) {
        log_print(LOG_ERROR, "%s", why);
        return DAEMON_EXIT_FAILURE;
    }
    d->wiring.http = d->http;
    const uint32_t connections = http_stats(d->http).connections_max;
    if (connections < HTTP_CONNECTIONS_MAX)
        log_with(
            LOG_NOTICE, LOG_FIELDS(LOG_I64("connections_max", connections)),
            "connection limit is %u instead of %u because the limit of open files is low; raise it "
            "to %u or more (LimitNOFILE=, ulimit -n)",
            connections, HTTP_CONNECTIONS_MAX, HTTP_CONNECTIONS_MAX + HTTP_DESCRIPTORS_RESERVED);
    daemon_watch_certificate(d);
    FAILPOINT(LISTENING);
    return serve_publish_url(d);
}

/* Each step requires the ones before it. The first failure ends the start, and so does a signal. */
static enum exit_status serve_start(struct daemon *d)
{
    enum exit_status status = serve_open_loop(d);
    if (status == DAEMON_EXIT_OK)
        status = wiring_open(&d->wiring, d->config);
    if (status == DAEMON_EXIT_OK)
        status = serve_start_turn(d);
    if (status == DAEMON_EXIT_OK)
        status = serve_create_first_user(d);
    if (status == DAEMON_EXIT_OK && !d->is_stopping) {
        daemon_apply_settings(d, &d->config->settings);
        serve_submit_nics(d);
        content_import(&d->content, d->config->barclamps);
        /* No client is connected yet, so the import need not be divided into slices. If nothing has
         * changed, it is complete after this call and the loop is not entered. */
        ignore(content_pump(&d->content, UINT64_MAX), "the loop below waits for the rest");
        serve_wait_for_startup(d);
    }
    if (status == DAEMON_EXIT_OK && !d->is_stopping)
        status = serve_listen(d);
    return status;
}

/* ---- shutdown ---- */

/* Close everything that is open, also after a start that failed half-way. First the import is
 * stopped, so that it submits nothing more. The API is freed before the server, because it answers
 * all pending requests; the password thread after both, but before the loop runs again, because its
 * callbacks belong to the API. The wiring, which stops the threads that wake the loop, is closed
 * before the loop, and the memory of the import last, because a reading in the thread pool ends
 * with the loop. */
static void serve_shut_down(struct daemon *d)
{
    struct api *api = d->loop.api;
    d->loop.api = NULL; /* replies of the turn are dropped from here on */
    content_stop(&d->content);
    if (api)
        api_free(api);
    if (d->http)
        http_close(d->http);
    d->wiring.http = NULL;
    if (d->passwords)
        passwords_free(d->passwords);
    wiring_close(&d->wiring, d->exit_status == DAEMON_EXIT_OK);
    loop_close(&d->loop);
    content_fini(&d->content);
    if (file_remove(config_path(d->config, "listen")) != OK)
        log_print(LOG_WARNING, "\"%s/listen\" cannot be removed: %s", d->config->data,
                  strerror(errno));
}

enum exit_status serve(struct config *config, const struct config_flags *flags)
{
    struct daemon d = {.config = config, .flags = flags};
    const struct content_callbacks callbacks = {&d,
                                                serve_content_submit,
                                                serve_content_core,
                                                serve_content_load,
                                                serve_content_dry_run,
                                                serve_on_content_done};
    d.content = (struct content){.callbacks = callbacks, .request_first = OWN_CONTENT};
    d.wiring =
        (struct wiring){.loop = &d.loop, .own = {&d, serve_on_result}, .content = &d.content};
    const enum exit_status locked = data_dir_lock(config, &d.locks);
    if (locked != DAEMON_EXIT_OK)
        return locked;
    /* Remove the file that a crashed daemon left. `halligand url` and clients trust it while the
     * lock is held, and its port may belong to another program by now. */
    if (file_remove(config_path(config, "listen")) != OK) {
        log_print(LOG_ERROR, "\"%s/listen\" cannot be removed: %s", config->data, strerror(errno));
        data_dir_unlock(&d.locks);
        return DAEMON_EXIT_FAILURE;
    }
    if (data_dir_check_database(config) != DAEMON_EXIT_OK) {
        data_dir_unlock(&d.locks);
        return DAEMON_EXIT_FAILURE;
    }
    const enum exit_status status = serve_start(&d);
    if (status == DAEMON_EXIT_OK && d.reload_pending && !d.is_stopping)
        daemon_reload(&d);
    if (status == DAEMON_EXIT_OK && !d.is_stopping)
        loop_run(&d.loop);
    serve_shut_down(&d);
    const bool drained = status == DAEMON_EXIT_OK && d.exit_status == DAEMON_EXIT_OK;
    if (drained) {
        FAILPOINT(DRAIN_AFTER);
        log_print(LOG_NOTICE, "stopped");
    }
    data_dir_unlock(&d.locks);
    return status != DAEMON_EXIT_OK ? status : d.exit_status;
}
