/* spawn.c - children of this process, by libuv.
 *
 * A run ends when the child has exited and both output streams are closed, so that no output is
 * lost. When the child exits, the rest of its session is killed: a background process could keep
 * the streams open. A process that left the session can still do so; LINGER_MS after the exit the
 * run ends anyway.
 *
 * The id of the process group is the pid of the child. The exit callback signals the group directly
 * after libuv has reaped the child: later the kernel may have given the id to another process.
 *
 * Failure: a program that cannot be started is reported by a timer of 0 ms, because `start` must
 * not call done() itself. At the deadline the session is killed, and the exit callback ends the
 * run. Output that cannot be kept, for lack of memory or beyond the limit, is counted as dropped.
 *
 * The memory is freed when all five handles are closed. A cancelled run keeps the handle of its
 * process until the exit, because libuv reaps only children that have a handle.
 */
#include "power/hammer/spawn.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* Time after the exit in which a process outside the session may keep the streams open. */
enum { LINGER_MS = 500 };

/* An output stream of the child. */
struct stream {
    uv_pipe_t pipe;
    char *at; /* kept output */
    uint32_t len;
    uint32_t cap;
    bool is_open; /* the end of the stream was not read yet */
};

struct spawn_run {
    struct spawn_order order;
    uv_process_t process;
    uv_pipe_t input;
    uv_write_t write;
    uv_timer_t timer; /* the deadline; after the exit LINGER_MS */
    struct stream out;
    struct stream err;
    char *input_copy;
    char piece[16 << 10];  /* buffer of one read, for both streams */
    const char *why;       /* why it could not be started; NULL: it was started */
    uint64_t dropped;      /* bytes of output that were not kept */
    int64_t status;        /* exit status */
    int signal;            /* that ended the child; 0: none */
    bool is_late;          /* killed at its deadline */
    bool has_exited;       /* libuv has reaped the child */
    bool has_ended;        /* the result was reported, or the run was cancelled */
    uint32_t open_handles; /* not closed yet; at 0 the memory is freed */
};

static void spawn_on_handle_closed(uv_handle_t *handle)
{
    struct spawn_run *run = handle->data;
    if (--run->open_handles > 0)
        return;
    free(run->input_copy);
    free(run->out.at);
    free(run->err.at);
    free(run);
}

static void spawn_close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, spawn_on_handle_closed);
}

/* Kills the process group of the session, which includes the descendants of the child. */
static void spawn_kill_session(const struct spawn_run *run)
{
    if (!run->why)
        ignore(kill(-run->process.pid, SIGKILL), "the group may have ended already");
}

static void spawn_end(struct spawn_run *run)
{
    if (run->has_ended)
        return;
    run->has_ended = true;
    const struct spawn_result result = {
        .why = run->why,
        .is_late = run->is_late,
        .status = run->signal ? 128 + run->signal : (int)run->status,
        .out = {run->out.at, run->out.len},
        .err = {run->err.at, run->err.len},
        .dropped = run->dropped,
    };
    spawn_close_handle(&run->process);
    spawn_close_handle(&run->input);
    spawn_close_handle(&run->out.pipe);
    spawn_close_handle(&run->err.pipe);
    spawn_close_handle(&run->timer);
    run->order.done(run->order.self, &result);
}

static void spawn_end_when_drained(struct spawn_run *run)
{
    if (run->has_exited && !run->out.is_open && !run->err.is_open)
        spawn_end(run);
}

/* ---- output ---- */

static void spawn_keep_output(struct spawn_run *run, struct stream *s, const char *bytes,
                              uint32_t len)
{
    const uint32_t room = COMMAND_OUTPUT_MAX - s->len;
    const uint32_t kept = len < room ? len : room;
    run->dropped += len - kept;
    if (s->len + kept > s->cap) {
        const uint32_t cap = s->cap * 2 > s->len + kept ? s->cap * 2 : s->len + kept;
        char *grown = realloc(s->at, cap);
        if (!grown) {
            run->dropped += kept;
            return;
        }
        s->at = grown;
        s->cap = cap;
    }
    if (kept)
        memcpy(s->at + s->len, bytes, kept);
    s->len += kept;
}

static void spawn_alloc_piece(uv_handle_t *handle, size_t suggested, uv_buf_t *out_buf)
{
    struct spawn_run *run = handle->data;
    (void)suggested;
    *out_buf = uv_buf_init(run->piece, sizeof run->piece);
}

static void spawn_on_read(uv_stream_t *pipe, ssize_t len, const uv_buf_t *buf)
{
    struct spawn_run *run = pipe->data;
    struct stream *s = pipe == (uv_stream_t *)&run->out.pipe ? &run->out : &run->err;
    if (len > 0)
        spawn_keep_output(run, s, buf->base, (uint32_t)len);
    if (len >= 0)
        return;
    ignore(uv_read_stop(pipe), "it never fails");
    s->is_open = false;
    spawn_end_when_drained(run);
}

/* ---- process ---- */

static void spawn_on_linger(uv_timer_t *timer)
{
    spawn_end(timer->data);
}

static void spawn_on_exit(uv_process_t *process, int64_t status, int signal)
{
    struct spawn_run *run = process->data;
    run->has_exited = true;
    run->status = status;
    run->signal = signal;
    spawn_kill_session(run);
    must(uv_timer_start(&run->timer, spawn_on_linger, LINGER_MS, 0) == 0);
    spawn_end_when_drained(run);
}

static void spawn_on_deadline(uv_timer_t *timer)
{
    struct spawn_run *run = timer->data;
    run->is_late = true;
    spawn_kill_session(run);
}

static void spawn_on_not_started(uv_timer_t *timer)
{
    spawn_end(timer->data);
}

static void spawn_on_input_written(uv_write_t *write, int status)
{
    (void)status; /* a program may ignore its standard input */
    spawn_close_handle(write->handle);
}

static int spawn_start_process(struct spawn_run *run)
{
    static const char *const environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&run->input},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->out.pipe},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->err.pipe},
    };
    const uv_process_options_t options = {
        .exit_cb = spawn_on_exit,
        .file = run->order.argv[0],
        .args = (char **)(uintptr_t)run->order.argv,
        .env = (char **)(uintptr_t)environment,
        .cwd = "/",
        .flags = UV_PROCESS_DETACHED, /* setsid */
        .stdio_count = 3,
        .stdio = stdio,
    };
    return uv_spawn(run->timer.loop, &run->process, &options);
}

static struct spawn_run *spawn_run_new(uv_loop_t *loop, const struct spawn_order *order)
{
    struct spawn_run *run = calloc(1, sizeof *run);
    char *input = malloc((size_t)order->input.len + 1);
    if (!run || !input) {
        free(run);
        free(input);
        return NULL;
    }
    if (order->input.len)
        memcpy(input, order->input.at, order->input.len);
    run->order = *order;
    run->input_copy = input;
    /* These functions only set fields of the handle and cannot fail. */
    must(uv_timer_init(loop, &run->timer) == 0 && uv_pipe_init(loop, &run->input, 0) == 0 &&
         uv_pipe_init(loop, &run->out.pipe, 0) == 0 && uv_pipe_init(loop, &run->err.pipe, 0) == 0);
    run->open_handles = 5;
    run->process.data = run->timer.data = run->input.data = run;
    run->out.pipe.data = run->err.pipe.data = run;
    return run;
}

static struct spawn_run *spawn_start(void *self, const struct spawn_order *order)
{
    struct spawn_run *run = spawn_run_new(self, order);
    if (!run)
        return NULL;
    const int failed = spawn_start_process(run);
    if (failed) {
        run->why = uv_strerror(failed);
        must(uv_timer_start(&run->timer, spawn_on_not_started, 0, 0) == 0);
        return run;
    }
    /* Output that cannot be read is treated as closed: the end of the program is still waited for,
     * and its result has no output. */
    run->out.is_open =
        uv_read_start((uv_stream_t *)&run->out.pipe, spawn_alloc_piece, spawn_on_read) == 0;
    run->err.is_open =
        uv_read_start((uv_stream_t *)&run->err.pipe, spawn_alloc_piece, spawn_on_read) == 0;
    must(uv_timer_start(&run->timer, spawn_on_deadline, order->deadline_ms, 0) == 0);
    /* The standard input is closed after the input was written, or now if there is none. */
    const uv_buf_t buf = uv_buf_init(run->input_copy, order->input.len);
    uv_stream_t *input = (uv_stream_t *)&run->input;
    if (order->input.len == 0 || uv_write(&run->write, input, &buf, 1, spawn_on_input_written) != 0)
        spawn_close_handle(&run->input);
    return run;
}

/* The exit of a cancelled run: only the handle of the process is left to close. */
static void spawn_on_cancelled_exit(uv_process_t *process, int64_t status, int signal)
{
    (void)status;
    (void)signal;
    spawn_close_handle(process);
}

static void spawn_cancel(void *self, struct spawn_run *run)
{
    (void)self;
    must(!run->has_ended);
    run->has_ended = true;
    spawn_kill_session(run);
    const bool runs = uv_is_active((uv_handle_t *)&run->process);
    if (runs)
        run->process.exit_cb = spawn_on_cancelled_exit;
    spawn_close_handle(&run->input);
    spawn_close_handle(&run->out.pipe);
    spawn_close_handle(&run->err.pipe);
    spawn_close_handle(&run->timer);
    if (!runs)
        spawn_close_handle(&run->process);
}

struct spawn_ops spawn_ops_default(uv_loop_t *loop)
{
    return (struct spawn_ops){.self = loop, .start = spawn_start, .cancel = spawn_cancel};
}
