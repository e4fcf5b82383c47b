#include "sim/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "port/batch.h"
#include "sim/oracle/checks.h"
#include "sim/store/memory_store.h"

/* Replay and shrinking of a transcript.
 *
 * A transcript is a list of marks: commands, collected batches, durable batches and reloads.
 * replay_run() executes them in order against one core and one store. A batch is collected at its
 * mark and submitted only at the following durable mark, or at a reload that finds it stored, so
 * that a crash between the two is reproduced.
 *
 * replay_shrink() removes ranges of marks, halving the size, and keeps a removal if the rest still
 * fails in the same way. Every trial runs in a child process, because a failed assertion aborts. */

enum { TRIALS_MAX = 1500 };

struct replay {
    struct core *core;
    struct memory_store *store;
    struct memory_session session;
    struct checks checks;
    struct counts counts;
    struct arena arena;      /* reset at every command */
    struct arena held_arena; /* reset at every collected batch */
    struct batch held;       /* collected, not submitted yet */
    struct buf held_bytes;
    int64_t held_turn; /* turn of `held` in the transcript; 0 = there is no such batch */
    int64_t mono_ms;
    int64_t now_ms;
    bool is_imported;         /* at the next reload the store was imported */
    const char *part_trouble; /* violation in a part of the bulk command that is executed */
};

/* ---- marks ---- */

struct loading {
    struct core *core;
    const char *what;
};

static err replay_load_record(void *self, const struct record *record)
{
    struct loading *loading = self;
    return core_load(loading->core, record, &loading->what);
}

static void replay_put_change(void *context, const struct change *change)
{
    struct replay *r = context;
    batch_put(&r->held_bytes, change);
    r->held.rows++;
}

static const char *replay_collect(struct replay *r, int64_t recorded_turn)
{
    arena_reset(&r->held_arena);
    r->held_bytes = buf_in(&r->held_arena);
    r->held = (struct batch){.epoch = memory_store_mark(r->store).epoch,
                             .turn = memory_store_mark(r->store).turn + 1,
                             .now_ms = r->now_ms};
    core_collect(r->core, r->held.turn, replay_put_change, r);
    r->held.changes = buf_str(&r->held_bytes);
    r->held_turn = recorded_turn;
    return checks_collected(&r->checks, r->core, r->held.turn);
}

static void replay_store_batch(struct replay *r)
{
    const struct store_port port = memory_session_port(&r->session);
    bool busy = false;
    if (port.submit(port.self, &r->held) != OK || port.poll(port.self, &busy) != OK || busy)
        impossible("a store without faults refused a batch");
    r->held_turn = 0;
}

static const char *replay_durable(struct replay *r)
{
    if (!r->held_turn)
        return NULL;
    replay_store_batch(r);
    return checks_durable(&r->checks, r->core, r->held.turn, r->store, r->mono_ms);
}

static const char *replay_reload(struct replay *r, const struct mark *mark)
{
    if (r->held_turn && r->held_turn == mark->turn)
        replay_store_batch(r);
    const bool is_imported = r->is_imported;
    r->is_imported = false;
    if (is_imported)
        memory_store_void_grants(r->store);
    r->held_turn = 0;
    core_free(r->core);
    r->core = core_new();
    core_set_deletion_rows(r->core, SIM_DELETION_ROWS);
    const uint32_t space = str_find(mark->bytes, ' ', 0);
    int64_t part = 0;
    if (space < mark->bytes.len &&
        str_parse_i64(str_slice(mark->bytes, space + 1, mark->bytes.len), &part) && part > 0)
        core_set_boot_part(r->core, (uint32_t)part);
    const int64_t turn = memory_store_mark(r->store).turn;
    if (turn == 0) {
        int64_t now_ms = 0;
        ignore(str_parse_i64(str_slice(mark->bytes, 0, space), &now_ms), "the time is arbitrary");
        core_bootstrap(r->core, now_ms);
    } else {
        struct loading loading = {.core = r->core, .what = "the store could not be read"};
        err e = memory_store_load(r->store, (struct record_callback){&loading, replay_load_record});
        if (e == OK)
            e = core_load_end(r->core, r->mono_ms, &loading.what);
        if (e != OK)
            return loading.what;
    }
    return checks_begun(&r->checks, r->core, turn, is_imported && turn > 0);
}

static void replay_part(void *self, const struct command *part, const struct outcome *outcome)
{
    struct replay *r = self;
    if (!r->part_trouble)
        r->part_trouble = checks_part(&r->checks, r->core, part, outcome);
}

static const char *replay_command(struct replay *r, const struct mark *mark)
{
    struct command command;
    uint32_t at = 0;
    arena_reset(&r->arena);
    if (command_decode(&r->arena, mark->bytes, &at, &command) != OK)
        return "a recorded command cannot be decoded";
    r->mono_ms = command.mono_ms;
    r->now_ms = command.now_ms;
    struct effects effects = {0};
    struct outcome outcome = {0};
    const struct part_watch watch = {.self = r, .after = replay_part};
    r->part_trouble = NULL;
    core_watch_parts(r->core, &watch);
    core_step(r->core, &command, &r->arena, &effects, &outcome);
    core_watch_parts(r->core, NULL);
    return r->part_trouble ? r->part_trouble
                           : checks_stepped(&r->checks, r->core, &command, &outcome);
}

static const char *replay_mark(struct replay *r, const struct mark *mark)
{
    if (mark->kind == MARK_IMPORT)
        r->is_imported = true;
    if (mark->kind == MARK_RELOAD)
        return replay_reload(r, mark);
    if (!r->core) {
        const struct mark found = {.kind = MARK_RELOAD, .turn = 0, .bytes = STR("1700000001000")};
        const char *trouble = replay_reload(r, &found);
        if (trouble)
            return trouble;
    }
    switch (mark->kind) {
    case MARK_COMMAND: return replay_command(r, mark);
    case MARK_BATCH: return r->held_turn ? NULL : replay_collect(r, mark->turn);
    case MARK_DURABLE: return replay_durable(r);
    case MARK_RELOAD:
    case MARK_IMPORT:
    case MARK_COUNT: break;
    }
    return NULL;
}

bool replay_run(const struct transcript *transcript, bool thorough, char *failure, uint32_t size)
{
    struct replay *r = calloc(1, sizeof *r);
    must(r);
    struct scenario scenario = transcript->scenario;
    scenario.reload_every = thorough ? 1 : 64;
    scenario.thorough = thorough;
    checks_init(&r->checks, &scenario, &r->counts);
    r->store = memory_store_new();
    memory_session_init(&r->session, r->store);
    const char *trouble = NULL;
    for (uint32_t i = 0; i < transcript->count && !trouble; i++)
        trouble = replay_mark(r, &transcript->marks[i]);
    if (trouble)
        snprintf(failure, size, "%s", trouble);
    const bool failed = trouble != NULL;
    core_free(r->core);
    memory_session_crash(&r->session, false);
    memory_store_free(r->store);
    checks_fini(&r->checks);
    arena_fini(&r->arena);
    arena_fini(&r->held_arena);
    free(r);
    return failed;
}

/* ---- trials in a child process ---- */

static void replay_child_main(const struct transcript *transcript, bool thorough, int out)
{
    char failure[640] = "";
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    const bool failed = replay_run(transcript, thorough, failure, sizeof failure);
    if (failed && write(out, failure, strlen(failure)) < 0)
        _exit(3);
    _exit(failed ? 1 : 0);
}

static bool replay_in_child(const struct transcript *transcript, bool thorough, char *failure,
                            uint32_t size)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        impossible("pipe() failed");
    const pid_t child = fork();
    if (child == 0)
        replay_child_main(transcript, thorough, ends[1]);
    close(ends[1]);
    uint32_t len = 0;
    for (ssize_t got = 1; got > 0 && len + 1 < size; len += got > 0 ? (uint32_t)got : 0)
        got = read(ends[0], failure + len, size - 1 - len);
    failure[len] = 0;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(failure, size, "stopped: signal %d", WTERMSIG(status));
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

/* ---- shrinking ---- */

/* True if two failures have the same kind: the code before the first colon ("I10", "stopped",
 * "boot barrier") or the reason after the last colon is the same, because one defect may violate
 * several invariants. */
static bool replay_same_kind(const char *a, const char *b)
{
    const size_t len = strcspn(a, ":");
    const char *a_end = strrchr(a, ':');
    const char *b_end = strrchr(b, ':');
    return (strcspn(b, ":") == len && strncmp(a, b, len) == 0) ||
           (a_end && b_end && strcmp(a_end, b_end) == 0);
}

struct wanted {
    const char *failure;
    bool thorough; /* the failure occurs only with all checks after every step */
};

static bool replay_fails_alike(const struct transcript *transcript, struct wanted wanted)
{
    char seen[640];
    return replay_in_child(transcript, wanted.thorough, seen, sizeof seen) &&
           replay_same_kind(seen, wanted.failure);
}

/* Remove the marks [from, to) if the transcript without them fails in the same way. */
static bool replay_try_cut(struct transcript *t, uint32_t from, uint32_t to, struct wanted wanted)
{
    struct transcript shorter = *t;
    const uint32_t tail = t->count - to;
    shorter.marks = malloc((from + tail + 1) * sizeof *shorter.marks);
    must(shorter.marks);
    memcpy(shorter.marks, t->marks, from * sizeof *t->marks);
    memcpy(shorter.marks + from, t->marks + to, tail * sizeof *t->marks);
    shorter.count = from + tail;
    const bool same = replay_fails_alike(&shorter, wanted);
    if (same) {
        memcpy(t->marks, shorter.marks, shorter.count * sizeof *t->marks);
        t->count = shorter.count;
    }
    free(shorter.marks);
    return same;
}

bool replay_shrink(struct transcript *transcript, const char *failure)
{
    struct wanted wanted = {.failure = failure};
    if (!replay_fails_alike(transcript, wanted)) {
        wanted.thorough = true;
        if (!replay_fails_alike(transcript, wanted))
            return false;
    }
    uint32_t trials = 0;
    for (uint32_t size = transcript->count / 2 + 1; size > 0; size /= 2) {
        bool shorter = false;
        for (uint32_t from = 0; from < transcript->count && trials < TRIALS_MAX; trials++) {
            const uint32_t to = from + size < transcript->count ? from + size : transcript->count;
            if (replay_try_cut(transcript, from, to, wanted))
                shorter = true;
            else
                from = to;
        }
        if (size == 1 && shorter && trials < TRIALS_MAX)
            size = 2; /* repeat with single marks */
    }
    return true;
}
