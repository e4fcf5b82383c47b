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

/* ---- requests of our own ---- */

static void admin_told(struct daemon *d, const struct outcome *outcome)
{
    d->admin_waits = false;
    d->admin_made = outcome && outcome->verdict == VERDICT_DONE;
    if (outcome && outcome->problems)
        log_print(LOG_ERROR, "the first user is refused: %.*s",
                  STR_FMT_ARGS(outcome->problems->text));
}

static void admin_node_told(struct daemon *d, const struct outcome *outcome)
{
    d->admin_node_waits--;
    if (!outcome)
        log_print(LOG_WARNING,
                  "the admin node of this host is not made: the store failed meanwhile; "
                  "the next start tries again");
    else if (outcome->problems)
        log_print(LOG_WARNING, "the admin node of this host is refused: %.*s",
                  STR_FMT_ARGS(outcome->problems->text));
}

/* Content is in, and with it the roles that an admin node is given: ask for the admin node of this
 * host, or for what it lacks. */
static void make_admin_node(struct daemon *d)
{
    struct command commands[ADMIN_NODE_COMMANDS_MAX];
    struct arena arena = {0};
    const struct core *core = turn_core(d->loop.turn);
    const uint32_t count =
        core && !d->admin_node_waits ? admin_node_commands(&arena, core, d->config, commands) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_new = commands[i].kind == COMMAND_NODE_CREATE &&
                            core_count(core, TABLE_NODE) == core_count(core, TABLE_DEPLOYMENT);
        commands[i].request = OWN_ADMIN_NODE;
        if (loop_submit(&d->loop, &commands[i]) != OK)
            continue;
        d->admin_node_waits++;
        if (is_new)
            log_with(LOG_NOTICE, LOG_FIELDS(LOG_S("node", commands[i].node_create.name)),
                     "a new installation: an admin node is made for this host%s",
                     commands[i].node_create.hint.len
                         ? ""
                         : "; it has no address, set admin-address and restart");
    }
    arena_fini(&arena);
}

static void told(void *self, int64_t request, const struct outcome *outcome, err why)
{
    struct daemon *d = self;
    if (request == OWN_ADMIN)
        admin_told(d, outcome);
    else if (request == OWN_SETTINGS)
        daemon_settings_told(d, outcome);
    else if (request == OWN_ADMIN_NODE)
        admin_node_told(d, outcome);
    else
        content_on_result(&d->content, request, outcome, why);
}

static err content_submit(void *self, const struct command *command)
{
    struct daemon *d = self;
    return loop_submit(&d->loop, command);
}

static const struct core *content_core(void *self)
{
    const struct daemon *d = self;
    return turn_core(d->loop.turn);
}

static err content_rehearse(void *self, const struct str *barclamps, uint32_t count,
                            struct arena *arena, struct outcome *outcomes)
{
    struct daemon *d = self;
    return turn_import_dry_run(d->loop.turn, barclamps, count, arena, outcomes);
}

static bool content_load(void *self, struct str role, bool is_same)
{
    struct daemon *d = self;
    return role_code_registry_read_again(&d->wires.codes, role, is_same);
}

static void content_done(void *self)
{
    daemon_check_tools(self);
    make_admin_node(self);
    daemon_reloaded(self);
}

/* ---- stopping ---- */

static void out_of_patience(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    log_print(LOG_WARNING, "requests are still unanswered after %d s, stopping without them",
              DRAIN_MS_MAX / 1000);
    d->is_hurried = true;
}

static void begin_drain(struct daemon *d)
{
    if (d->is_stopping) {
        d->is_hurried = true;
        return;
    }
    FAILPOINT(DRAIN_BEFORE);
    log_print(LOG_NOTICE, "stopping");
    d->is_stopping = d->wires.is_draining = true;
    ignore(notify_send("STOPPING=1\nSTATUS=stopping\n"), "nobody may be listening");
    if (d->http)
        http_quiesce(d->http);
    must(uv_timer_start(&d->patience, out_of_patience, DRAIN_MS_MAX, 0) == 0);
}

/* Whoever asked, or was about to, has the whole answer, and nothing is on its way to the store. */
static bool is_drained(const struct daemon *d)
{
    const struct turn *t = d->loop.turn;
    if (d->http && http_pending(d->http) > 0)
        return false;
    return d->loop.status == TURN_DOWN || turn_seen(t) == turn_durable(t);
}

static void end_badly(struct daemon *d, enum ending ending, const char *text)
{
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("epoch", turn_epoch(d->loop.turn))), "%s; stopping",
             text);
    d->ending = ending;
    d->is_stopping = d->is_hurried = true;
}

static bool wants_stop(void *self)
{
    struct daemon *d = self;
    const char *text;
    if (d->ending == ENDING_FINE && d->loop.status == TURN_STOPPED) {
        ignore(turn_trouble(d->loop.turn, &text), "the sentence is enough");
        end_badly(d, ENDING_OUSTED, text);
    }
    /* Only a new process can trust the disk again. */
    if (d->ending == ENDING_FINE && d->loop.status == TURN_DOWN && store_is_lost(d->loop.store))
        end_badly(d, ENDING_TROUBLE, store_trouble(d->loop.store));
    return d->is_stopping && (d->is_hurried || is_drained(d));
}

static void beat(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    if (d->loop.api)
        api_beat(d->loop.api);
}

static bool work(void *self, uint64_t until_ns)
{
    struct daemon *d = self;
    if (d->loop.api && api_is_watched(d->loop.api) && !uv_is_active((uv_handle_t *)&d->beat))
        must(uv_timer_start(&d->beat, beat, API_BEAT_MS, 0) == 0);
    const bool more = d->loop.api && api_pump(d->loop.api);
    return content_pump(&d->content, until_ns) || more;
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *signal, int number)
{
    struct daemon *d = signal->data;
    if (number != SIGHUP)
        begin_drain(d);
    else if (!d->http)
        d->reload_waits = true; /* what we start with is still being taken in */
    else if (!d->is_stopping)
        daemon_reload(d);
}

static void watch_signal(struct daemon *d, uv_signal_t *signal, int number)
{
    const int failed = uv_signal_init(&d->loop.uv, signal); /* may need a descriptor */
    signal->data = d;
    if (failed || uv_signal_start(signal, on_signal, number) != 0)
        log_print(LOG_WARNING, "signal %d cannot be watched; it ends the daemon at once", number);
}

static void ping_watchdog(uv_timer_t *timer)
{
    (void)timer;
    ignore(notify_send("WATCHDOG=1\n"), "the next one comes soon");
}

static void read_clock(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    if (!d->loop.turn)
        return; /* it is being closed */
    turn_read_clock(d->loop.turn);
    const enum clock_state before = d->clock_state;
    d->clock_state = clock_watch(before, sys_now_ms(), turn_now_ms(d->loop.turn));
    /* A jump forward that was adopted may have made our certificate old. */
    if (before == CLOCK_AHEAD && d->clock_state == CLOCK_EVEN)
        daemon_look_at_certificate(d);
}

static enum ending open_loop(struct daemon *d)
{
    if (loop_open(&d->loop) != OK) {
        log_print(LOG_ERROR, "the event loop cannot be opened");
        return ENDING_TROUBLE;
    }
    d->loop.self = d;
    d->loop.wants_stop = wants_stop;
    d->loop.work = work;
    d->content.uv = &d->loop.uv;
    watch_signal(d, &d->on_term, SIGTERM);
    watch_signal(d, &d->on_int, SIGINT);
    watch_signal(d, &d->on_hup, SIGHUP);
    must(uv_timer_init(&d->loop.uv, &d->patience) == 0);
    must(uv_timer_init(&d->loop.uv, &d->watchdog) == 0);
    must(uv_timer_init(&d->loop.uv, &d->beat) == 0);
    must(uv_timer_init(&d->loop.uv, &d->clock) == 0);
    d->clock.data = d;
    d->patience.data = d->beat.data = d;
    const uint64_t watchdog_ms = notify_watchdog_ms();
    if (watchdog_ms)
        must(uv_timer_start(&d->watchdog, ping_watchdog, watchdog_ms, watchdog_ms) == 0);
    return ENDING_FINE;
}

/* ---- coming up ---- */

static enum ending start_turn(struct daemon *d)
{
    const char *text;
    /* The turn begins by delivering hooks that were left: where their code lies now must be known
     * by then, though it may have been elsewhere when their barclamp was imported. */
    content_read_ahead(&d->content, d->config->barclamps);
    const enum turn_status status = loop_start(&d->loop);
    if (status == TURN_AGAIN) {
        log_with(LOG_NOTICE,
                 LOG_FIELDS(LOG_I64("turn", turn_durable(d->loop.turn)),
                            LOG_I64("epoch", turn_epoch(d->loop.turn))),
                 "leading the store");
        must(uv_timer_start(&d->clock, read_clock, 0, CLOCK_MS) == 0);
        return ENDING_FINE;
    }
    const err why = turn_trouble(d->loop.turn, &text);
    const char *store = store_trouble(d->loop.store);
    const bool damaged = why == ERR_CORRUPT;
    log_print(LOG_ERROR, "%s: %s%s%s",
              damaged ? "the store is damaged" : "the store cannot be used", text,
              store[0] ? ": " : "", store);
    return status == TURN_STOPPED ? ENDING_OUSTED : ENDING_TROUBLE;
}

/* Go round until our own requests are answered and our key is made, or a signal comes. */
static void wait_for_own(struct daemon *d)
{
    while (!d->is_stopping && (d->admin_waits || d->settings_wait || d->admin_node_waits ||
                               ssh_keys_is_busy(&d->wires.ssh) || !content_is_idle(&d->content)))
        loop_once(&d->loop);
}

static enum ending make_first_user(struct daemon *d)
{
    struct command command;
    struct arena arena = {0};
    const struct core *core = turn_core(d->loop.turn);
    if (!core || core_count(core, TABLE_USER) > 0)
        return ENDING_FINE;
    const char *path = config_path(d->config, "admin.password");
    const err e = first_user_create(&arena, path, &command);
    command.request = OWN_ADMIN;
    if (e == OK)
        d->admin_waits = loop_submit(&d->loop, &command) == OK;
    arena_fini(&arena);
    if (e != OK)
        return ENDING_TROUBLE;
    wait_for_own(d);
    if (d->admin_made) {
        FAILPOINT(ADMIN_DONE);
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("password_file", path)),
                 "a new installation: user admin was made");
        return ENDING_FINE;
    }
    if (!d->is_stopping)
        log_print(LOG_ERROR, "the first user could not be made: %s", store_trouble(d->loop.store));
    return d->is_stopping ? ENDING_FINE : ENDING_TROUBLE;
}

static enum ending take_content(struct daemon *d)
{
    daemon_apply_settings(d, &d->config->settings);
    content_import(&d->content, d->config->barclamps);
    /* Nobody is kept waiting yet, and if nothing changed there is nothing to go round for. */
    ignore(content_pump(&d->content, UINT64_MAX), "what it waits for comes round");
    wait_for_own(d);
    return ENDING_FINE;
}

static enum ending write_url(struct daemon *d)
{
    char url[URL_SIZE];
    const struct config *c = d->config;
    const bool v6 = strchr(c->address, ':') != NULL;
    snprintf(url, sizeof url, "%s://%s%s%s:%u\n", d->tls_cert ? "https" : "http", v6 ? "[" : "",
             c->address, v6 ? "]" : "", http_port(d->http));
    const char *path = config_path(d->config, "listen");
    if (file_write(path, str_from(url), 0644) != OK) {
        log_print(LOG_ERROR, "\"%s\" cannot be written: %s", path, strerror(errno));
        return ENDING_TROUBLE;
    }
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_S("url", str_slice(str_from(url), 0, (uint32_t)strlen(url) - 1))),
             "listening");
    ignore(notify_ready(), "nobody may be listening");
    return ENDING_FINE;
}

static enum ending begin_listening(struct daemon *d)
{
    char why[WHY_SIZE] = "";
    d->passwords = passwords_new(&d->loop.uv);
    if (!d->passwords) {
        log_print(LOG_ERROR, "the library of ciphers does not start");
        return ENDING_TROUBLE;
    }
    d->loop.api = api_new(wiring_api_engine(&d->wires), d->passwords);
    must(d->loop.api);
    if (!daemon_choose_certificate(d))
        return ENDING_TROUBLE;
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
        return ENDING_TROUBLE;
    }
    d->wires.http = d->http;
    const uint32_t connections = http_stats(d->http).connections_max;
    if (connections < HTTP_CONNECTIONS_MAX)
        log_with(
            LOG_NOTICE, LOG_FIELDS(LOG_I64("connections_max", connections)),
            "fewer than %u connections are served at once, because of the limit of open files; "
            "raise it (LimitNOFILE, ulimit -n) to %u or more for all",
            HTTP_CONNECTIONS_MAX, HTTP_CONNECTIONS_MAX + HTTP_DESCRIPTORS_RESERVED);
    daemon_watch_certificate(d);
    FAILPOINT(LISTENING);
    return write_url(d);
}

/* Each step needs the ones before it; the first that fails ends the story, and so does a signal. */
static enum ending come_up(struct daemon *d)
{
    enum ending ending = open_loop(d);
    if (ending == ENDING_FINE)
        ending = wiring_open(&d->wires, d->config);
    if (ending == ENDING_FINE)
        ending = start_turn(d);
    if (ending == ENDING_FINE)
        ending = make_first_user(d);
    if (ending == ENDING_FINE && !d->is_stopping)
        ending = take_content(d);
    if (ending == ENDING_FINE && !d->is_stopping)
        ending = begin_listening(d);
    return ending;
}

/* ---- going down ---- */

static void go_down(struct daemon *d)
{
    struct api *api = d->loop.api;
    d->loop.api = NULL; /* what the turn still says is for nobody */
    content_stop(&d->content);
    if (api)
        api_free(api);
    if (d->http)
        http_close(d->http);
    d->wires.http = NULL;
    if (d->passwords)
        passwords_free(d->passwords);
    wiring_close(&d->wires, d->ending == ENDING_FINE);
    loop_close(&d->loop);
    content_fini(&d->content);
    if (file_remove(config_path(d->config, "listen")) != OK)
        log_print(LOG_WARNING, "\"%s/listen\" cannot be removed: %s", d->config->data,
                  strerror(errno));
}

enum ending serve(struct config *config, const struct config_flags *flags)
{
    struct daemon d = {.config = config, .flags = flags};
    const struct content_seams seams = {&d,           content_submit,   content_core,
                                        content_load, content_rehearse, content_done};
    d.content = (struct content){.seams = seams, .request_first = OWN_CONTENT};
    d.wires = (struct wiring){.loop = &d.loop, .own = {&d, told}, .content = &d.content};
    const enum ending held = data_dir_take(config, &d.hold);
    if (held != ENDING_FINE)
        return held;
    /* Of a daemon that crashed: from here on the lock says that there is one, and the file would
     * be believed. */
    if (file_remove(config_path(config, "listen")) != OK) {
        log_print(LOG_ERROR, "\"%s/listen\" cannot be removed: %s", config->data, strerror(errno));
        data_dir_leave(&d.hold);
        return ENDING_TROUBLE;
    }
    if (data_dir_check_database(config) != ENDING_FINE) {
        data_dir_leave(&d.hold);
        return ENDING_TROUBLE;
    }
    const enum ending ending = come_up(&d);
    if (ending == ENDING_FINE && d.reload_waits && !d.is_stopping)
        daemon_reload(&d);
    if (ending == ENDING_FINE && !d.is_stopping)
        loop_run(&d.loop);
    go_down(&d);
    const bool drained = ending == ENDING_FINE && d.ending == ENDING_FINE;
    if (drained) {
        FAILPOINT(DRAIN_AFTER);
        log_print(LOG_NOTICE, "stopped");
    }
    data_dir_leave(&d.hold);
    return ending != ENDING_FINE ? ending : d.ending;
}
