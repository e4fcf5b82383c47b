/* reload.c - SIGHUP: apply what can change while the daemon runs.
 *
 * Settings that the store keeps are changed by a SETTINGS_UPDATE with only the fields that differ,
 * one command at a time: its result triggers the next comparison, so that the last configuration
 * wins. Options that were used at the start are compared and reported as needing a restart. A
 * configuration with problems changes nothing. READY=1 is sent when the import is complete, because
 * `systemctl reload` waits for it; without an import it is sent at once.
 *
 * The state is in struct daemon (serve_private.h). Order: the log options are applied first, so
 * that the lines of the reload follow them; the certificate, the settings and the content are
 * independent of each other. Failure: each part logs its failure, keeps what was in effect and does
 * not affect the other parts. A failed command is not repeated before the next SIGHUP.
 */
#include <string.h>

#include "core/core.h"
#include "daemon/serve_private.h"
#include "import/jig_tool_check.h"
#include "sys/log.h"
#include "sys/notify.h"

static err reload_submit(void *self, const struct command *command)
{
    struct daemon *d = self;
    return loop_submit(&d->loop, command);
}

void daemon_check_tools(struct daemon *d)
{
    const struct core *core = turn_core(d->loop.turn);
    if (core)
        jig_tool_check_all(core, d->config->tool_path,
                           (struct jig_tool_check_callbacks){d, reload_submit});
}

/* `wanted` without the fields whose stored value is the same already. */
static struct settings_update_command reload_changed_settings(const struct settings_record *now,
                                                              struct settings_update_command wanted)
{
    const struct {
        uint32_t bit;
        bool is_same;
    } all[] = {
        {GIVEN_SETTINGS_POOL_NORMAL, now->pool_normal == wanted.pool_normal},
        {GIVEN_SETTINGS_POOL_HIGH, now->pool_high == wanted.pool_high},
        {GIVEN_SETTINGS_TEST_JIG, now->test_jig == wanted.test_jig},
        {GIVEN_SETTINGS_KEEP_RUNS, now->keep_runs == wanted.keep_runs},
        {GIVEN_SETTINGS_RUN_DEADLINE, now->run_deadline_s == wanted.run_deadline_s},
        {GIVEN_SETTINGS_BARRIER, now->barrier_s == wanted.barrier_s},
        {GIVEN_SETTINGS_INSTALL_WAIT, now->install_wait_s == wanted.install_wait_s},
        {GIVEN_SETTINGS_BOOT_SERVER, now->boot_server == wanted.boot_server},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_same)
            wanted.given &= ~all[i].bit;
    return wanted;
}

void daemon_apply_settings(struct daemon *d, const struct settings_update_command *wanted)
{
    const struct core *core = turn_core(d->loop.turn);
    struct record record;
    d->settings = *wanted;
    if (d->settings_pending || !core || !core_record(core, TABLE_SETTINGS, 1, &record))
        return;
    struct command command = {
        .kind = COMMAND_SETTINGS_UPDATE, .request = OWN_SETTINGS, .actor = STR("daemon")};
    command.settings_update = d->settings_sent = reload_changed_settings(&record.settings, *wanted);
    if (!command.settings_update.given)
        return;
    d->settings_pending = loop_submit(&d->loop, &command) == OK;
    if (!d->settings_pending)
        log_print(LOG_WARNING,
                  "settings not changed: the store is unavailable; send SIGHUP when it is back");
}

void daemon_on_settings_result(struct daemon *d, const struct outcome *outcome)
{
    const bool done = outcome && outcome->verdict == VERDICT_DONE;
    const bool test_jig = d->settings_sent.given & GIVEN_SETTINGS_TEST_JIG;
    d->settings_pending = false;
    if (done && test_jig)
        log_print(LOG_NOTICE, "test jig turned %s", d->settings_sent.test_jig ? "on" : "off");
    else if (!done)
        log_print(LOG_WARNING, "settings not changed: the store failed or the change was refused; "
                               "send SIGHUP to try again");
    if (!done || d->is_stopping)
        return;
    if (test_jig)
        daemon_check_tools(d);
    /* The configuration may have changed again while the command was pending. */
    daemon_apply_settings(d, &d->settings);
}

static bool reload_text_differs(const char *a, const char *b)
{
    return (a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0);
}

/* Log each option that is used only at the start and has another value now. */
static void reload_warn_restart_needed(const struct config *now, const struct config *wanted)
{
    const struct {
        const char *key;
        bool differs;
    } fixed[] = {
        {"data", reload_text_differs(now->data, wanted->data)},
        {"listen", reload_text_differs(now->address, wanted->address) || now->port != wanted->port},
        {"trusted-proxy", reload_text_differs(now->trusted_proxy, wanted->trusted_proxy)},
        {"store", reload_text_differs(now->store, wanted->store)},
        {"tls-cert", reload_text_differs(now->tls_cert, wanted->tls_cert)},
        {"tls-key", reload_text_differs(now->tls_key, wanted->tls_key)},
        {"tls-auto", now->tls_auto != wanted->tls_auto},
        {"probe-wait", now->probe_wait_s != wanted->probe_wait_s},
        {"power-poll", now->power_poll_s != wanted->power_poll_s},
        {"tool-path", reload_text_differs(now->tool_path, wanted->tool_path)},
        {"admin-node", reload_text_differs(now->admin_node, wanted->admin_node) ||
                           now->has_no_admin_node != wanted->has_no_admin_node},
        {"admin-address", reload_text_differs(now->admin_address, wanted->admin_address)},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (fixed[i].differs)
            log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("option", fixed[i].key)),
                     "option \"%s\" changed in the configuration; it takes effect after a restart",
                     fixed[i].key);
}

static void reload_notify_ready(struct daemon *d)
{
    d->is_reloading = false;
    ignore(notify_ready(), "there may be no service manager");
}

void daemon_reload(struct daemon *d)
{
    struct config wanted;
    d->is_reloading = true;
    ignore(notify_reloading(), "there may be no service manager");
    if (config_read(d->flags, &wanted)) {
        log_setup(wanted.log_level, wanted.log_format);
        log_print(LOG_NOTICE, "reloading");
        reload_warn_restart_needed(d->config, &wanted);
        daemon_reload_certificate(d);
        daemon_apply_settings(d, &wanted.settings);
        turn_keep_events(d->loop.turn, config_keep_events_ms(&wanted));
        content_import(&d->content, wanted.barclamps);
    }
    for (const struct config_problem *p = wanted.problems; p; p = p->next)
        log_print(LOG_ERROR, "%s; not reloaded, the previous configuration stays in effect",
                  p->text);
    config_fini(&wanted);
    if (content_is_idle(&d->content))
        reload_notify_ready(d);
}

void daemon_finish_reload(struct daemon *d)
{
    if (!d->is_reloading || d->is_stopping)
        return;
    log_print(LOG_NOTICE, "reloaded");
    reload_notify_ready(d);
}
