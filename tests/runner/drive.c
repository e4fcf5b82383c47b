/* The runner (src/run/runner) without a core, for tests/runner/run.py: a minimal turn that accepts
 * commands.
 *
 *   runner-drive DATA PROGRAM JIGS        JIGS: "jigs" (the real ones) or "shell"
 *
 * Reads one JSON object per line and executes it; writes one for each event:
 *
 *   {"do":"facts","noderole":1,"role":"r",...}    facts about a noderole ("gone": it is deleted)
 *   {"do":"start"|"cancel"|"query","run":1,"attempt":1,"node":1,"noderole":1,"epoch":1,
 *    "begun":true,"data":{}}
 *   {"do":"take","limit":3,"why":"ok"}            refuse the next 3 results with ERR_LIMIT; the
 *                                                 acknowledgement of accepted ones: ok, refused,
 *                                                 unavailable, or none ("hold")
 *   {"do":"count"}                                -> {"count":1}
 *   {"do":"trouble"}                              -> {"trouble":""}
 *   {"do":"keep","runs":3}                        number of logs kept per noderole from now on
 *   {"do":"log","noderole":1,"run":1,"attempt":1,"offset":0,"size":100} -> {"log":"..."}
 *   {"do":"hold"}, {"do":"go"}                    orders between them are executed together
 *   {"do":"close","bye":true}                     nothing is read after it
 *
 * The jig "shell" runs data.sh in a shell, with data.stdin, refuses with data.refuse, requests a
 * scratch directory with data.scratch, and cleans up the node with data.stop.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/json/json.h"
#include "run/runner/runner.h"
#include "sys/log.h"

enum { NODEROLES_MAX = 4096, LINE_MAX_BYTES = 8 << 20 };

enum word { WORD_OK, WORD_REFUSED, WORD_UNAVAILABLE, WORD_HOLD };

static const char *const words[] = {"ok", "refused", "unavailable", "hold"};
static const err errors[] = {OK, ERR_REFUSED, ERR_UNAVAILABLE};

struct debt {
    struct debt *next;
    int64_t request;
    enum word word;
};

static struct {
    uv_loop_t loop;
    uv_async_t wake;
    uv_idle_t idle; /* active while acknowledgements are pending */
    uv_pipe_t input;
    struct runner *runner;
    struct runner_port port;
    const char *facts[NODEROLES_MAX]; /* JSON; NULL: gone */
    bool is_held;
    int64_t limit;
    enum word word;
    struct debt *first, *last;
    char *line;
    size_t line_size;
} toy;

/* ---- JSON ---- */

static struct json *read_json(struct arena *a, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    const err e = json_read(a, text, &tree, &offset, &what);
    must(e == OK && tree->kind == JSON_OBJECT);
    return tree;
}

static struct str text_at(const struct json *object, const char *path)
{
    const struct json *found = json_at(object, str_from(path));
    return found && found->kind == JSON_STRING ? found->text : STR("");
}

static int64_t number_at(const struct json *object, const char *path)
{
    int64_t number = 0;
    const struct json *found = json_at(object, str_from(path));
    must(!found || json_as_i64(found, &number));
    return number;
}

static bool flag_at(const struct json *object, const char *path)
{
    const struct json *found = json_at(object, str_from(path));
    return found && json_is_true(found);
}

static void set_text(struct arena *a, struct json *object, const char *key, struct str text)
{
    json_set(object, str_from(key), json_make_string(a, text));
}

static void set_number(struct arena *a, struct json *object, const char *key, int64_t number)
{
    json_set(object, str_from(key), json_make_i64(a, number));
}

static void print(struct arena *a, const struct json *value)
{
    const struct str text = json_write(a, value);
    printf("%.*s\n", STR_FMT_ARGS(text));
    fflush(stdout);
}

/* ---- the jig "shell" ---- */

static err shell_prepare(void *self, const struct jig_work *w, struct arena *a,
                         struct launch_spec *out_recipe, struct reason *out_why)
{
    const struct json *data = read_json(a, w->data);
    struct launch_spec r = {.cwd = STR("/"), .out_max = 1 << 20, .log_max = 4096};
    (void)self;
    if (text_at(data, "refuse").len) {
        *out_why = (struct reason){.code = REASON_ROLE_FILES, .text = text_at(data, "refuse")};
        return ERR_REFUSED;
    }
    r.argv = arena_array(a, struct str, 4);
    r.argv_count = 4;
    r.argv[0] = STR("/bin/sh");
    r.argv[1] = STR("-c");
    r.argv[2] = text_at(data, "sh");
    r.argv[3] = STR("runner-test");
    r.env = arena_array(a, struct str, 2);
    r.env[r.env_count++] = STR("PATH=/usr/bin:/bin");
    if (w->scratch)
        r.env[r.env_count++] = STR_CONCAT(a, STR("TMPDIR="), str_from(w->scratch));
    r.stdin_bytes = text_at(data, "stdin");
    if (number_at(data, "long")) { /* more than a message may have */
        const uint32_t size = (uint32_t)number_at(data, "long");
        char *text = arena_alloc(a, size);
        memset(text, 'x', size);
        r.argv[3] = (struct str){text, size};
    }
    *out_recipe = r;
    return OK;
}

static void shell_conclude(void *self, const struct jig_work *w, const struct jig_end *end,
                           struct arena *a, struct run_done_command *out_done)
{
    (void)self;
    launch_spec_conclude(w, end, a, out_done);
    if (end->how != JIG_END_EXITED)
        return;
    out_done->result = end->code ? RESULT_FAILED : RESULT_OK;
    out_done->runlog = str_copy(a, end->log_tail);
    out_done->has_wall = end->out.len > 0;
    out_done->wall = end->out;
}

static bool shell_stop(void *self, const struct jig_work *w, struct arena *a,
                       struct launch_spec *out_recipe)
{
    const struct json *data = read_json(a, w->data);
    struct reason why;
    struct jig_work stop = *w;
    (void)self;
    if (!text_at(data, "stop").len)
        return false;
    struct json *script = json_make(a, JSON_OBJECT);
    set_text(a, script, "sh", text_at(data, "stop"));
    set_text(a, script, "stdin", STR("for the stop"));
    stop.data = json_write(a, script);
    return shell_prepare(self, &stop, a, out_recipe, &why) == OK;
}

static bool shell_wants_scratch(void *self, const struct jig_work *w)
{
    struct arena arena = {0};
    (void)self;
    const bool wants = flag_at(read_json(&arena, w->data), "scratch");
    arena_fini(&arena);
    return wants;
}

static const struct runner_jig_ops shell = {.prepare = shell_prepare,
                                            .conclude = shell_conclude,
                                            .stop = shell_stop,
                                            .wants_scratch = shell_wants_scratch};

/* ---- minimal turn ---- */

static bool facts(void *self, const struct run_order *order, struct arena *a,
                  struct runner_facts *out_facts)
{
    (void)self;
    must(order->noderole_id > 0 && order->noderole_id < NODEROLES_MAX);
    const char *text = toy.facts[order->noderole_id];
    if (!text)
        return false;
    const struct json *f = read_json(a, str_copy(a, str_from(text)));
    *out_facts = (struct runner_facts){
        .role = text_at(f, "role"),
        .node = text_at(f, "node"),
        .barclamp = text_at(f, "barclamp"),
        .source_path = text_at(f, "source_path"),
        .jig_class = text_at(f, "jig_class"),
        .transport = {.kind = text_at(f, "address").len ? TRANSPORT_SSH : TRANSPORT_LOCAL,
                      .address = text_at(f, "address"),
                      .user = text_at(f, "user"),
                      .port = (uint16_t)number_at(f, "port")},
        .deadline_ms = number_at(f, "deadline_ms"),
        .session = number_at(f, "session")};
    return true;
}

static void owe(int64_t request)
{
    struct debt *d = calloc(1, sizeof *d);
    must(d);
    d->request = request;
    d->word = toy.word;
    if (toy.last)
        toy.last->next = d;
    else
        toy.first = d;
    toy.last = d;
}

static void print_done(struct arena *a, struct json *said, const struct run_done_command *done)
{
    static const char *const results[] = {"ok", "failed", "async", "parked", "lost"};
    set_text(a, said, "said", STR("done"));
    set_text(a, said, "result", str_from(results[done->result]));
    must(str_is_clean(done->runlog));
    set_text(a, said, "runlog", done->runlog);
    if (done->has_wall)
        set_text(a, said, "wall", done->wall);
}

static void print_command(const struct command *c)
{
    struct arena arena = {0};
    struct json *said = json_make(&arena, JSON_OBJECT);
    const bool is_begun = c->kind == COMMAND_RUN_BEGUN, is_done = c->kind == COMMAND_RUN_DONE;
    set_number(&arena, said, "run",
               is_begun  ? c->run_begun.run_id
               : is_done ? c->run_done.run_id
                         : c->run_stopped.run_id);
    set_number(&arena, said, "attempt",
               is_begun  ? c->run_begun.attempt
               : is_done ? c->run_done.attempt
                         : c->run_stopped.attempt);
    set_number(&arena, said, "request", c->request);
    if (is_done)
        print_done(&arena, said, &c->run_done);
    else
        set_text(&arena, said, "said", is_begun ? STR("begun") : STR("stopped"));
    if (is_begun)
        set_text(&arena, said, "job", c->run_begun.job);
    print(&arena, said);
    arena_fini(&arena);
}

static err submit(void *self, const struct command *command)
{
    (void)self;
    if (toy.limit > 0) {
        toy.limit--;
        return ERR_LIMIT;
    }
    print_command(command);
    if (command->request && toy.word != WORD_HOLD)
        owe(command->request);
    return OK;
}

static void pay(uv_idle_t *idle)
{
    for (struct debt *d = toy.first, *next; d; d = next) {
        next = d->next;
        runner_on_result(toy.runner, d->request, errors[d->word]);
        free(d);
    }
    toy.first = toy.last = NULL;
    uv_idle_stop(idle);
}

static void idle_round(uv_idle_t *idle)
{
    if (toy.runner)
        pay(idle);
}

static void pump(void)
{
    if (toy.runner && !toy.is_held && runner_pump(toy.runner) && toy.first)
        uv_idle_start(&toy.idle, idle_round);
}

static void woken(uv_async_t *async)
{
    (void)async;
    pump();
}

static void go(void)
{
    toy.is_held = false;
    pump();
}

static void wake(void *self)
{
    (void)self;
    uv_async_send(&toy.wake);
}

/* ---- orders ---- */

static void set_facts(const struct json *o)
{
    struct arena arena = {0};
    const int64_t id = number_at(o, "noderole");
    must(id > 0 && id < NODEROLES_MAX);
    free((char *)toy.facts[id]);
    toy.facts[id] = flag_at(o, "gone") ? NULL : strdup(str_z(&arena, json_write(&arena, o)));
    arena_fini(&arena);
}

static void give_order(struct arena *a, const struct json *o, struct str what)
{
    const struct json *data = json_get(o, STR("data"));
    const struct run_order order = {.epoch = number_at(o, "epoch"),
                                    .run_id = number_at(o, "run"),
                                    .attempt = (uint32_t)number_at(o, "attempt"),
                                    .node_id = number_at(o, "node"),
                                    .noderole_id = number_at(o, "noderole"),
                                    .begun = flag_at(o, "begun"),
                                    .jig = STR("any"),
                                    .data = data ? json_write(a, data) : STR("{}")};
    if (str_eq(what, STR("start")))
        toy.port.start(toy.port.self, &order);
    else if (str_eq(what, STR("cancel")))
        toy.port.cancel(toy.port.self, &order);
    else
        toy.port.query(toy.port.self, &order);
}

static void set_taking(const struct json *o)
{
    toy.limit = number_at(o, "limit");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(text_at(o, "why"), str_from(words[i])))
            toy.word = (enum word)i;
}

static void print_log(struct arena *a, const struct json *o)
{
    struct json *answer = json_make(a, JSON_OBJECT);
    struct runner_log log = {.offset = number_at(o, "offset"),
                             .size = (uint32_t)number_at(o, "size")};
    log.at = arena_alloc(a, log.size + 1);
    const err e = runner_read_log(toy.runner, number_at(o, "noderole"), number_at(o, "run"),
                                  (uint32_t)number_at(o, "attempt"), &log);
    set_number(a, answer, "err", e);
    if (e == OK) {
        set_text(a, answer, "log", (struct str){log.at, log.size});
        set_number(a, answer, "offset", log.offset);
        set_number(a, answer, "total", log.total);
        json_set(answer, STR("over"), json_make_bool(a, log.is_over));
    }
    print(a, answer);
}

static void print_count(struct arena *a)
{
    struct json *answer = json_make(a, JSON_OBJECT);
    set_number(a, answer, "count", runner_count(toy.runner));
    print(a, answer);
}

static void print_trouble(struct arena *a)
{
    struct json *answer = json_make(a, JSON_OBJECT);
    set_text(a, answer, "trouble", str_from(runner_unavailable_text(toy.runner)));
    print(a, answer);
}

static void stop(bool bye)
{
    if (toy.runner)
        runner_close(toy.runner, bye);
    toy.runner = NULL;
    uv_close((uv_handle_t *)&toy.wake, NULL);
    uv_close((uv_handle_t *)&toy.idle, NULL);
    uv_close((uv_handle_t *)&toy.input, NULL);
}

static void obey(struct str line)
{
    struct arena arena = {0};
    const struct json *o = read_json(&arena, line);
    const struct str what = text_at(o, "do");
    if (str_eq(what, STR("facts")))
        set_facts(o);
    else if (str_eq(what, STR("take")))
        set_taking(o);
    else if (str_eq(what, STR("log")))
        print_log(&arena, o);
    else if (str_eq(what, STR("count")))
        print_count(&arena);
    else if (str_eq(what, STR("trouble")))
        print_trouble(&arena);
    else if (str_eq(what, STR("keep")))
        runner_set_keep(toy.runner, (uint32_t)number_at(o, "runs"));
    else if (str_eq(what, STR("hold")))
        toy.is_held = true;
    else if (str_eq(what, STR("go")))
        go();
    else if (str_eq(what, STR("close")))
        stop(flag_at(o, "bye"));
    else
        give_order(&arena, o, what);
    arena_fini(&arena);
}

/* ---- input ---- */

static void make_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out_room)
{
    (void)handle;
    *out_room = uv_buf_init(malloc(wanted), (unsigned)wanted);
    must(out_room->base);
}

static void take_lines(void)
{
    char *end;
    while (!uv_is_closing((uv_handle_t *)&toy.input) &&
           (end = memchr(toy.line, '\n', toy.line_size)) != NULL) {
        const size_t size = (size_t)(end - toy.line);
        obey((struct str){toy.line, (uint32_t)size});
        memmove(toy.line, end + 1, toy.line_size - size - 1);
        toy.line_size -= size + 1;
    }
}

static void input_came(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
    (void)stream;
    if (size > 0) {
        must(toy.line_size + (size_t)size <= LINE_MAX_BYTES);
        memcpy(toy.line + toy.line_size, bytes->base, (size_t)size);
        toy.line_size += (size_t)size;
        take_lines();
    } else if (size < 0 && !uv_is_closing((uv_handle_t *)&toy.input)) {
        stop(false);
    }
    free(bytes->base);
}

int main(int argc, char **argv)
{
    const char *keep = getenv("DRIVE_KEEP_MS"), *patience = getenv("DRIVE_PATIENCE_MS");
    const char *share = getenv("DRIVE_SHARE_MS"), *most = getenv("DRIVE_SHARE_MAX");
    const bool jigs = argc == 4 && strcmp(argv[3], "jigs") == 0;
    if (argc != 4)
        return 2;
    log_setup(LOG_WARNING, LOG_TEXT);
    toy.line = malloc(LINE_MAX_BYTES);
    must(toy.line && uv_loop_init(&toy.loop) == 0);
    must(uv_async_init(&toy.loop, &toy.wake, woken) == 0 &&
         uv_idle_init(&toy.loop, &toy.idle) == 0);
    must(uv_pipe_init(&toy.loop, &toy.input, 0) == 0 && uv_pipe_open(&toy.input, 0) == 0);
    const struct runner_setup setup = {.loop = &toy.loop,
                                       .data = argv[1],
                                       .exec_program = argv[2],
                                       .ssh_key = getenv("DRIVE_KEY"),
                                       .known_hosts = getenv("DRIVE_KNOWN_HOSTS"),
                                       .control_dir = getenv("DRIVE_CONTROL"),
                                       .share_idle_ms = share ? strtoll(share, NULL, 10) : 0,
                                       .share_max = most ? (uint32_t)strtoul(most, NULL, 10) : 0,
                                       .request_first = -1000,
                                       .keep_runs = 3,
                                       .keep_ms = keep ? strtoll(keep, NULL, 10) : 0,
                                       .exec_idle_ms = 15000,
                                       .patience_ms = patience ? strtoll(patience, NULL, 10) : 0};
    const struct runner_callbacks callbacks = {
        .facts = facts, .submit = submit, .wake = wake, .jig_ops = jigs ? NULL : &shell};
    must(runner_open(&setup, callbacks, &toy.runner) == OK);
    toy.port = runner_port(toy.runner);
    must(uv_read_start((uv_stream_t *)&toy.input, make_room, input_came) == 0);
    uv_run(&toy.loop, UV_RUN_DEFAULT);
    must(uv_loop_close(&toy.loop) == 0);
    for (int i = 0; i < NODEROLES_MAX; i++)
        free((char *)toy.facts[i]);
    while (toy.first) {
        struct debt *next = toy.first->next;
        free(toy.first);
        toy.first = next;
    }
    free(toy.line);
    return 0;
}
