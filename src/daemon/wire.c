#include "daemon/wire.h"

#include <errno.h>
#include <string.h>

#include "core/core.h"
#include "jig/test_jig.h"
#include "model/jig_class.h"
#include "port/batch.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/log.h"

/* ---- time and chance ---- */

static int64_t clock_now(void *self)
{
    (void)self;
    return sys_now_ms();
}

static int64_t clock_mono(void *self)
{
    (void)self;
    return sys_mono_ms();
}

static uint64_t clock_random(void *self)
{
    (void)self;
    return sys_random64();
}

/* ---- replies and lookers-on ---- */

static void reply_outcome(void *self, int64_t request, const struct outcome *outcome, int64_t turn)
{
    struct wires *w = self;
    if (request < 0)
        w->own.told(w->own.self, request, outcome, OK);
    else if (w->loop->api)
        api_outcome(w->loop->api, request, outcome, turn);
}

static void reply_failed(void *self, int64_t request, err why)
{
    struct wires *w = self;
    if (request < 0)
        w->own.told(w->own.self, request, NULL, why);
    else if (w->loop->api)
        api_failed(w->loop->api, request, why);
}

static void watch_stepped(void *self, const struct command *command, const struct outcome *outcome)
{
    (void)self;
    if (!log_wants(LOG_DEBUG))
        return;
    static const char *const verdicts[] = {
        [VERDICT_DONE] = "done", [VERDICT_REFUSED] = "refused", [VERDICT_ASKING] = "asking"};
    log_with(LOG_DEBUG,
             LOG_FIELDS(LOG_Z("command", command_name(command->kind)),
                        LOG_S("actor", command->actor),
                        LOG_Z("verdict", verdicts[outcome->verdict]), LOG_I64("id", outcome->id)),
             "stepped");
}

static void watch_durable(void *self, const struct batch *batch)
{
    struct wires *w = self;
    if (log_wants(LOG_DEBUG))
        log_with(LOG_DEBUG,
                 LOG_FIELDS(LOG_I64("turn", batch->turn), LOG_I64("epoch", batch->epoch),
                            LOG_I64("rows", batch->rows)),
                 "durable");
    if (w->loop->api)
        api_durable(w->loop->api, batch->turn);
}

static bool crash(void *self, const char *point)
{
    (void)self;
    if (failpoint_armed)
        failpoint_pass(point);
    return false;
}

/* ---- the test jig ---- */

static err jig_submit(void *self, const struct command *command)
{
    const struct wires *w = self;
    return turn_submit(w->loop->turn, command);
}

/* Jigs are ordered by name. Where the test jig stands in for all others, that name is "test",
 * whatever is stored under it. */
static bool jig_is_test(void *self, struct str jig)
{
    const struct wires *w = self;
    const struct core *core = turn_core(w->loop->turn);
    struct record record;
    if (!core)
        return false;
    const bool named_test = str_eq(jig, STR("test"));
    if (named_test && core_record(core, TABLE_SETTINGS, 1, &record) && record.settings.test_jig)
        return true;
    const int64_t id = core_find(core, TABLE_JIG, jig);
    if (!id || !core_record(core, TABLE_JIG, id, &record))
        return named_test;
    const struct jig_class *class = jig_class_find(record.jig.class_name);
    return class && class->is_test;
}

/* ---- opening ---- */

static enum ending open_jig(struct wires *w, struct config *c)
{
    const char *path = config_path(c, "test-jig.journal");
    const struct test_jig_seams seams = {.self = w, .submit = jig_submit, .is_test = jig_is_test};
    if (test_jig_open(path, seams, &w->loop->jig) == OK)
        return ENDING_FINE;
    log_say(LOG_ERROR, "the test jig's journal \"%s\" cannot be opened: %s", path, strerror(errno));
    return ENDING_TROUBLE;
}

static enum ending open_store(struct wires *w, const struct config *c)
{
    char who[WHO_SIZE];
    struct store_why why = {0};
    data_dir_who(who);
    const struct store_options options = {
        .url = c->store, .holder = who, .wake = loop_wake, .wake_context = w->loop};
    const err e = store_open(&options, &w->loop->store, &why);
    if (e == OK)
        return ENDING_FINE;
    log_say(LOG_ERROR, "the store does not open: %s", why.text);
    return e == ERR_EXISTS ? ENDING_HELD : ENDING_TROUBLE;
}

enum ending wire_open(struct wires *w, struct config *c)
{
    struct loop *l = w->loop;
    enum ending ending = open_jig(w, c);
    if (ending == ENDING_FINE)
        ending = open_store(w, c);
    if (ending != ENDING_FINE)
        return ending;
    const struct turn_ports ports = {
        .store = store_port(l->store),
        .clock = {w, clock_now, clock_mono, clock_random},
        .runner = test_jig_port(l->jig),
        .hooks = later_hooks(&l->later),
        .power = later_power(&l->later),
        .reply = {w, reply_outcome, reply_failed},
        .watch = {w, watch_stepped, watch_durable},
        .crash = {w, crash},
    };
    l->turn = turn_new(&ports);
    return ENDING_FINE;
}

void wire_close(struct wires *w)
{
    struct loop *l = w->loop;
    store_close(l->store);
    turn_free(l->turn);
    test_jig_close(l->jig);
    later_fini(&l->later);
    l->store = NULL;
    l->turn = NULL;
    l->jig = NULL;
}

/* ---- what the API sees ---- */

/* While the store is down, a core that shows a batch nobody knows the fate of is not for reading:
 * whoever reads it would wait for as long as the store stays away. */
static const struct core *api_core(void *self)
{
    const struct loop *l = ((struct wires *)self)->loop;
    const bool in_doubt = l->status == TURN_DOWN && turn_seen(l->turn) != turn_durable(l->turn);
    return in_doubt ? NULL : turn_core(l->turn);
}

static int64_t api_seen(void *self)
{
    return turn_seen(((struct wires *)self)->loop->turn);
}

static int64_t api_last_durable(void *self)
{
    return turn_durable(((struct wires *)self)->loop->turn);
}

static err api_submit(void *self, const struct command *command)
{
    return loop_submit(((struct wires *)self)->loop, command);
}

static bool api_is_ready(void *self, const char **out_why)
{
    const struct wires *w = self;
    const char *text = "";
    if (w->is_draining)
        text = "stopping";
    else if (w->loop->status == TURN_DOWN || w->loop->status == TURN_STOPPED)
        ignore(turn_trouble(w->loop->turn, &text), "the sentence is enough");
    *out_why = text;
    return text[0] == 0;
}

static const char *api_trouble(void *self)
{
    return store_trouble(((struct wires *)self)->loop->store);
}

struct api_engine wire_api_engine(struct wires *w)
{
    return (struct api_engine){.self = w,
                               .core = api_core,
                               .seen = api_seen,
                               .durable = api_last_durable,
                               .now_ms = clock_now,
                               .submit = api_submit,
                               .is_ready = api_is_ready,
                               .trouble = api_trouble};
}
