#include <string.h>

#include "core/core.h"
#include "daemon/serve_private.h"
#include "sys/log.h"
#include "sys/notify.h"

void daemon_apply_settings(struct daemon *d, bool test_jig)
{
    const struct core *core = turn_core(d->loop.turn);
    struct record record;
    d->test_jig_wanted = test_jig;
    if (d->settings_wait || !core || !core_record(core, TABLE_SETTINGS, 1, &record) ||
        record.settings.test_jig == test_jig)
        return;
    struct command command = {
        .kind = COMMAND_SETTINGS_UPDATE, .request = OWN_SETTINGS, .actor = STR("daemon")};
    command.settings_update.given = GIVEN_SETTINGS_TEST_JIG;
    command.settings_update.test_jig = d->test_jig = test_jig;
    d->settings_wait = loop_submit(&d->loop, &command) == OK;
    if (!d->settings_wait)
        log_say(LOG_WARNING, "the test jig cannot be turned %s: the store is not there",
                test_jig ? "on" : "off");
}

static bool differs(const char *a, const char *b)
{
    return (a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0);
}

/* These were used when we started, and stay as they were. */
static void warn_of_fixed(const struct config *now, const struct config *wanted)
{
    const struct {
        const char *key;
        bool differs;
    } fixed[] = {
        {"data", differs(now->data, wanted->data)},
        {"listen", differs(now->address, wanted->address) || now->port != wanted->port},
        {"store", differs(now->store, wanted->store)},
        {"tls-cert", differs(now->tls_cert, wanted->tls_cert)},
        {"tls-key", differs(now->tls_key, wanted->tls_key)},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (fixed[i].differs)
            log_say(LOG_WARNING, "\"%s\" is different in the config now; a restart takes it in",
                    fixed[i].key);
}

static void tell_ready(struct daemon *d)
{
    d->is_reloading = false;
    ignore(notify_ready(), "nobody may be listening");
}

void daemon_reload(struct daemon *d)
{
    struct config wanted;
    d->is_reloading = true;
    ignore(notify_reloading(), "nobody may be listening");
    if (config_read(d->flags, &wanted)) {
        log_setup(wanted.log_level, wanted.log_format);
        log_say(LOG_NOTICE, "reloading");
        warn_of_fixed(d->config, &wanted);
        daemon_apply_settings(d, wanted.test_jig);
        content_import(&d->content, wanted.barclamps);
    }
    for (const struct config_problem *p = wanted.problems; p; p = p->next)
        log_say(LOG_ERROR, "%s; the config stays as it was", p->text);
    config_fini(&wanted);
    if (content_is_idle(&d->content))
        tell_ready(d);
}

void daemon_reloaded(struct daemon *d)
{
    if (!d->is_reloading || d->is_stopping)
        return;
    log_say(LOG_NOTICE, "reloaded");
    tell_ready(d);
}
