/* turn_world.h - a turn over the simulated store, with ports that append their calls to a log. For
 * the unit tests of the turn; each includes it once. */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "model/limits.h"
#include "sim/store/memory_store.h"
#include "tests/check.h"
#include "tests/unit/turn/scripted_core.h"
#include "turn/turn.h"

struct world {
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    struct turn_ports ports;
    int64_t now_ms, mono_ms;
    uint64_t random;
    uint64_t token; /* of the last veto request */
    uint64_t key;
    uint32_t veto_replies; /* veto replies of the last stepped command */
    uint32_t rows;         /* of the last durable batch, events not counted */
    uint32_t bytes_max;    /* of a batch; 0 = as usual */
    err *notice;           /* next result of store_port.notice(); NULL = none */
    bool logs_boot;        /* log the calls of the boot port as well */
    int64_t boot_turn;     /* of the last call of the boot port */
    uint32_t boot_loads;   /* calls of boot_port.loaded() by this process */
    bool boot_copy[4096];  /* by id: the nodes that a boot server knows */
    char call_log[2000];
    /* Crash when the crash point `crash_at` is passed for the `crash_hit`th time. */
    const char *crash_at;
    uint32_t crash_hit;
    uint32_t passed[TURN_POINT_COUNT];
    bool done[64]; /* requests that were acknowledged */
    int64_t done_id[64];
};

__attribute__((format(printf, 2, 3))) static void note(struct world *w, const char *format, ...)
{
    size_t len = strlen(w->call_log);
    va_list args;
    va_start(args, format);
    vsnprintf(w->call_log + len, sizeof w->call_log - len, format, args);
    va_end(args);
}

/* True if the log is exactly this text. The log is empty afterwards. */
static inline bool says(struct world *w, const char *text)
{
    bool same = strcmp(w->call_log, text) == 0;
    if (!same)
        printf("the log is: %s\n  expected: %s\n", w->call_log, text);
    w->call_log[0] = 0;
    return same;
}

static inline int64_t clock_now(void *self)
{
    return ((struct world *)self)->now_ms;
}

static inline int64_t clock_mono(void *self)
{
    return ((struct world *)self)->mono_ms;
}

static inline uint64_t clock_random(void *self)
{
    return ++((struct world *)self)->random;
}

static inline bool run_is_stored(const struct world *w, int64_t id);

static inline void runner_start(void *self, const struct run_order *o)
{
    struct world *w = self;
    CHECK(run_is_stored(w, o->run_id)); /* nothing leaves before its cause is durable */
    note(w, "start %d/%u e%d; ", (int)o->run_id, o->attempt, (int)o->epoch);
}

static inline void runner_cancel(void *self, const struct run_order *o)
{
    note(self, "cancel %d/%u; ", (int)o->run_id, o->attempt);
}

static inline void runner_query(void *self, const struct run_order *o)
{
    note(self, "query %d/%u%s; ", (int)o->run_id, o->attempt, o->begun ? " begun" : "");
    CHECK(str_eq(o->data, STR("{}")));
}

static inline void hooks_deliver(void *self, const struct outbox_record *row)
{
    note(self, "hook %d; ", (int)row->id);
}

static inline void hooks_veto(void *self, uint64_t token, const struct veto_request *q,
                              uint32_t count)
{
    struct world *w = self;
    CHECK(count == 1 && q->hook == HOOK_NODE_BIND && str_eq(q->argument, STR("{}")));
    w->token = token;
    w->key = q->key;
    note(w, "ask; ");
}

static inline void power_act(void *self, const struct outbox_record *row)
{
    note(self, "power %d; ", (int)row->id);
}

static inline void power_probe(void *self, const struct outbox_record *row)
{
    note(self, "probe %d; ", (int)row->id);
}

static inline void reply_outcome(void *self, int64_t request, const struct outcome *out,
                                 int64_t turn)
{
    struct world *w = self;
    CHECK(memory_store_mark(w->store).turn >= turn);
    if (out->verdict == VERDICT_DONE) {
        note(w, "%d done %d @%d; ", (int)request, (int)out->id, (int)turn);
        if (request < 64) {
            w->done[request] = true;
            w->done_id[request] = out->id;
        }
        return;
    }
    CHECK(out->verdict == VERDICT_REFUSED);
    struct str code = problem_code_name(out->problems->code);
    note(w, "%d %.*s @%d; ", (int)request, STR_FMT_ARGS(code), (int)turn);
}

static inline void reply_failed(void *self, int64_t request, err why)
{
    const char *name = why == ERR_UNAVAILABLE ? "unavailable"
                       : why == ERR_FENCED    ? "fenced"
                       : why == ERR_LIMIT     ? "limit"
                       : why == ERR_UNKNOWN   ? "unknown"
                                              : "?";
    note(self, "%d %s; ", (int)request, name);
}

/* A boot server that has its base image at once. */
static inline void boot_loaded(void *self, int64_t turn)
{
    struct world *w = self;
    CHECK(turn_core(w->turn));
    if (w->logs_boot)
        note(w, "loaded @%d; ", (int)turn);
    w->boot_loads++;
    w->boot_turn = turn;
    for (int64_t id = 1; id < 4096; id++)
        w->boot_copy[id] = row_find(turn_core(w->turn), TABLE_NODE, id) != NULL;
}

static inline void boot_changed(void *self, int64_t turn, const struct boot_change *changes,
                                uint32_t count)
{
    struct world *w = self;
    CHECK(memory_store_mark(w->store).turn == turn && turn > w->boot_turn && count);
    w->boot_turn = turn;
    if (w->logs_boot)
        note(w, "changed @%d:", (int)turn);
    for (uint32_t i = 0; i < count; i++) {
        const struct boot_entry *entry = changes[i].entry;
        const int64_t id = changes[i].key.id;
        CHECK(changes[i].key.kind == BOOT_MACHINE);
        CHECK(!entry || (entry->key.id == id && entry->machine.generation == id));
        if (w->logs_boot)
            note(w, " %s%d", entry ? "" : "-", (int)id);
        if (id < 4096)
            w->boot_copy[id] = entry != NULL;
    }
    if (w->logs_boot)
        note(w, "; ");
}

static inline void watch_stepped(void *self, const struct command *command,
                                 const struct outcome *outcome)
{
    (void)outcome;
    ((struct world *)self)->veto_replies = command->veto_reply_count;
}

static inline void watch_durable(void *self, const struct batch *batch)
{
    struct world *w = self;
    struct change change;
    w->rows = 0;
    for (uint32_t at = 0; at < batch->changes.len;) {
        CHECK(batch_next(batch->changes, &at, &change) == OK);
        w->rows += change.record.table != TABLE_EVENT;
    }
}

static inline bool crash(void *self, const char *point)
{
    struct world *w = self;
    uint32_t p = 0;
    while (strcmp(point, turn_point_name((enum turn_point)p)) != 0)
        p++;
    w->passed[p]++;
    return w->crash_at && strcmp(w->crash_at, point) == 0 && w->crash_hit-- == 0;
}

/* A new process on the old store. */
static inline err notices(void *self)
{
    struct world *w = (struct world *)(void *)((char *)self - offsetof(struct world, session));
    const err now = w->notice ? *w->notice : OK;
    if (w->notice)
        *w->notice = OK;
    return now;
}

static inline void process_start(struct world *w)
{
    memory_session_init(&w->session, w->store);
    w->ports = (struct turn_ports){
        .store = memory_session_port(&w->session),
        .clock = {w, clock_now, clock_mono, clock_random},
        .runner = {w, runner_start, runner_cancel, runner_query},
        .hooks = {w, hooks_deliver, hooks_veto},
        .power = {w, power_act, power_probe},
        .reply = {w, reply_outcome, reply_failed},
        .watch = {.self = w, .stepped = watch_stepped, .durable = watch_durable},
        .boot = {w, boot_loaded, boot_changed},
        .crash = {w, crash},
    };
    w->boot_loads = 0;
    w->ports.store.notice = notices;
    w->ports.batch_bytes_max = w->bytes_max;
    w->turn = turn_new(&w->ports);
}

static inline void process_end(struct world *w, bool keep_tail)
{
    turn_free(w->turn);
    w->turn = NULL;
    memory_session_crash(&w->session, keep_tail);
}

static enum turn_status run_until_quiet(struct world *w)
{
    enum turn_status status = TURN_AGAIN;
    bool is_planning = true;
    for (int i = 0; i < 1000 && (status == TURN_AGAIN || status == TURN_WAITING || is_planning);
         i++) {
        status = turn_advance(w->turn);
        is_planning = turn_slice(w->turn);
    }
    return status;
}

static inline void world_init(struct world *w)
{
    *w = (struct world){.store = memory_store_new(), .now_ms = 5000, .mono_ms = 100};
    script_load_error = NULL;
    process_start(w);
    CHECK(turn_start(w->turn) == TURN_AGAIN);
    CHECK(run_until_quiet(w) == TURN_QUIET);
    CHECK(says(w, ""));
}

static inline void world_fini(struct world *w)
{
    process_end(w, false);
    memory_store_free(w->store);
}

struct search {
    int64_t id;
    enum table table;
    bool found;
};

static inline err search_record(void *self, const struct record *record)
{
    struct search *s = self;
    s->found |= record->table == s->table && record->id == s->id;
    return OK;
}

static inline bool is_stored(const struct world *w, enum table table, int64_t id)
{
    struct search s = {.id = id, .table = table};
    CHECK(memory_store_load(w->store, (struct record_callback){&s, search_record}) == OK);
    return s.found;
}

static inline bool run_is_stored(const struct world *w, int64_t id)
{
    return is_stored(w, TABLE_RUN, id);
}

static inline err submit(struct world *w, struct command command)
{
    command.actor = STR("tester");
    return turn_submit(w->turn, &command);
}

static inline err submit_create(struct world *w, int64_t request, struct str description)
{
    return submit(w, (struct command){.kind = COMMAND_NODE_CREATE,
                                      .request = request,
                                      .node_create = {.description = description}});
}

static inline err submit_id(struct world *w, enum command_kind kind, int64_t request, int64_t id)
{
    struct command command = {.kind = kind, .request = request};
    memcpy(command_payload(&command), &id, sizeof id); /* `id` comes first in all that are used */
    return submit(w, command);
}

static inline err answer(struct world *w, bool veto)
{
    struct veto_reply answer = {.key = w->key, .veto = veto};
    return turn_submit_veto_replies(w->turn, w->token, &answer, 1);
}
