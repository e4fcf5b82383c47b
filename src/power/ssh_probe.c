#include "power/ssh_probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem/arena.h"
#include "core/core.h"
#include "power/hammer/spawn.h"
#include "power/known_hosts.h"
#include "power/ssh_keys.h"
#include "run/jig/jig_tools.h"
#include "run/jig/ssh_command.h"
#include "sys/log.h"

enum {
    PARALLEL_MAX = 64,
    CONNECT_MS_MAX = 10 * 1000, /* to each address */
    SCAN_MS_MAX = 30 * 1000,
    PAUSE_MS = 500, /* doubled each time, up to */
    PAUSE_MS_MAX = 4000,
    PORT_SIZE = 8,
};

/* One machine. It is in one of the lines of its owner until it is answered, and its memory stays
 * until nothing of libuv refers to it any more. */
struct probe {
    struct ssh_probes *owner; /* NULL: that is closed */
    struct arena arena;
    uint64_t key;
    struct str node;
    bool is_pinned; /* it has pins that hold, as far as was known when it was asked */
    struct transport transport;
    uint32_t patience_ms;
    uint64_t until_ms; /* it is asked again; by the loop's clock. 0: it was not asked yet */
    uint32_t pause_ms; /* before it is asked the next time */

    uv_timer_t timer;
    uv_tcp_t tcp;
    uv_connect_t connecting;
    uv_getaddrinfo_t resolving;
    struct addrinfo *addresses; /* all of them */
    struct addrinfo *next_address;
    const char *program;    /* ssh-keyscan */
    struct spawn_run *scan; /* NULL: none runs */
    const char *no_key;     /* why a scan found no host key; the connection tells more */
    uint32_t uses;          /* by libuv, and by its owner */
    bool is_over;           /* how it ended is known */
    bool answers;
    struct str keys;    /* that it showed; empty: none yet */
    bool wants_pin;     /* the command that pins them is to be submitted */
    uint64_t change;    /* of the rows of host keys, which has to be written first */
    struct reason said; /* without a code when it answers */
    struct probe *next, *before;
};

struct line {
    struct probe *first, *last;
    uint32_t count;
};

struct ssh_probes {
    uv_loop_t *loop;
    struct ssh_keys *home;
    struct known_hosts *known_hosts; /* NULL: no file is written */
    struct ssh_probe_seams seams;
    struct spawn_seam commands;
    struct line waiting, asked, resting, over;
    uint32_t sweep_count; /* with so many waiting those that are not wanted are dropped */
};

/* ---- lines ---- */

static void line_add(struct line *l, struct probe *one)
{
    one->next = NULL;
    one->before = l->last;
    if (l->last)
        l->last->next = one;
    else
        l->first = one;
    l->last = one;
    l->count++;
}

static void line_remove(struct line *l, struct probe *one)
{
    if (one->before)
        one->before->next = one->next;
    else
        l->first = one->next;
    if (one->next)
        one->next->before = one->before;
    else
        l->last = one->before;
    l->count--;
}

/* ---- an end ---- */

static void let_go(struct probe *one)
{
    if (--one->uses > 0)
        return;
    if (one->addresses)
        uv_freeaddrinfo(one->addresses);
    arena_fini(&one->arena);
    free(one);
}

static void handle_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

/* Nothing goes on for it any more. */
static void stop(struct probe *one)
{
    one->is_over = true;
    if (uv_is_active((uv_handle_t *)&one->timer))
        ignore(uv_timer_stop(&one->timer), "it never fails");
    if (!uv_is_closing((uv_handle_t *)&one->timer))
        uv_close((uv_handle_t *)&one->timer, handle_closed);
    if (one->tcp.data && !uv_is_closing((uv_handle_t *)&one->tcp))
        uv_close((uv_handle_t *)&one->tcp, handle_closed);
    if (one->resolving.data)
        ignore(uv_cancel((uv_req_t *)&one->resolving), "a thread may be at it: its end is awaited");
}

__attribute__((format(printf, 3, 4))) static void end(struct probe *one, enum reason_code code,
                                                      const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(len >= 0);
    const uint32_t kept = (uint32_t)len < sizeof text ? (uint32_t)len : (uint32_t)sizeof text - 1;
    one->answers = code == REASON_NONE;
    one->said = (struct reason){.code = code,
                                .subject = one->transport.address,
                                .text = str_copy(&one->arena, (struct str){text, kept})};
    stop(one);
    line_remove(&one->owner->asked, one);
    line_add(&one->owner->over, one);
    one->owner->seams.wake(one->owner->seams.self);
}

static void fail(struct probe *one, enum reason_code code, const char *why)
{
    end(one, code, "%.*s port %u: %s", STR_FMT_ARGS(one->transport.address), one->transport.port,
        why);
}

/* ---- once more ---- */

static void on_rested(uv_timer_t *timer)
{
    struct probe *one = timer->data;
    struct ssh_probes *p = one->owner;
    line_remove(&p->resting, one);
    line_add(&p->waiting, one);
    p->seams.wake(p->seams.self);
}

/* It could not be reached, which may pass. Nothing goes on for it, and others have its place. */
static void rest_or_fail(struct probe *one, enum reason_code code, const char *why)
{
    struct ssh_probes *p = one->owner;
    if (uv_now(p->loop) + one->pause_ms >= one->until_ms) {
        fail(one, code, why);
        return;
    }
    if (one->pause_ms == PAUSE_MS)
        log_with(LOG_INFO, LOG_FIELDS(LOG_S("node", one->node)),
                 "%.*s port %u: %s; it is asked again for %u s",
                 STR_FMT_ARGS(one->transport.address), one->transport.port, why,
                 one->patience_ms / 1000);
    if (one->addresses)
        uv_freeaddrinfo(one->addresses);
    one->addresses = one->next_address = NULL;
    must(uv_timer_start(&one->timer, on_rested, one->pause_ms, 0) == 0);
    one->pause_ms = one->pause_ms * 2 < PAUSE_MS_MAX ? one->pause_ms * 2 : PAUSE_MS_MAX;
    line_remove(&p->asked, one);
    line_add(&p->resting, one);
    p->seams.wake(p->seams.self);
}

/* ---- a connection ---- */

/* For whoever looks after the machine. */
static const char *sentence(struct probe *one, int why)
{
    char text[128];
    if (why == UV_ECONNREFUSED)
        return "nothing listens there (connection refused)";
    if (why == UV_EHOSTUNREACH || why == UV_ENETUNREACH)
        return "no way leads to that address (it is switched off, or in another network)";
    if (why == UV_ETIMEDOUT)
        return "nobody answered in time";
    snprintf(text, sizeof text, "it cannot be reached (%s)", uv_strerror(why));
    return str_z(&one->arena, str_from(text));
}

static enum reason_code code_of(int why)
{
    return why == UV_ECONNREFUSED ? REASON_CONNECTION_REFUSED
           : why == UV_ETIMEDOUT  ? REASON_CONNECTION_TIMEOUT
           : why == UV_EAI_NONAME || why == UV_EAI_NODATA || why == UV_EAI_AGAIN
               ? REASON_NAME_UNRESOLVED
               : REASON_UNREACHABLE;
}

static void connect_next(struct probe *one, int why);

static void address_failed(uv_handle_t *handle)
{
    struct probe *one = handle->data;
    one->tcp.data = NULL;
    if (!one->is_over)
        connect_next(one, (int)(intptr_t)one->connecting.data);
    let_go(one);
}

/* The address is silent, or whoever should know it. */
static void on_deadline(uv_timer_t *timer)
{
    struct probe *one = timer->data;
    if (!one->tcp.data) {
        fail(one, REASON_NAME_UNRESOLVED, "it takes too long to look its address up");
    } else if (!uv_is_closing((uv_handle_t *)&one->tcp)) {
        one->connecting.data = (void *)(intptr_t)UV_ETIMEDOUT;
        uv_close((uv_handle_t *)&one->tcp, address_failed);
    }
}

static void begin_scan(struct probe *one);

static void connection_closed(uv_handle_t *handle)
{
    struct probe *one = handle->data;
    one->tcp.data = NULL;
    if (!one->is_over)
        begin_scan(one);
    let_go(one);
}

/* It listens; whether it is still the machine whose keys are pinned, a scan of its keys shows. */
static void accepted(struct probe *one)
{
    must(uv_timer_stop(&one->timer) == 0);
    uv_close((uv_handle_t *)&one->tcp, connection_closed);
}

static void on_connect(uv_connect_t *connecting, int status)
{
    struct probe *one = connecting->handle->data;
    if (one->is_over || uv_is_closing((uv_handle_t *)&one->tcp))
        return;
    if (status == 0 && !one->no_key) {
        accepted(one);
        return;
    }
    if (status == 0) /* it listens and is no ssh server: the other addresses are the same machine */
        one->next_address = NULL;
    connecting->data = (void *)(intptr_t)status;
    uv_close((uv_handle_t *)&one->tcp, address_failed);
}

/* The next address that can be tried at all; `why` the one before could not. */
static void connect_next(struct probe *one, int why)
{
    struct addrinfo *address = one->next_address;
    if (!address && why == 0) {
        rest_or_fail(one, REASON_SSH_FAILED, one->no_key);
        return;
    }
    if (!address) {
        rest_or_fail(one, code_of(why), sentence(one, why));
        return;
    }
    one->next_address = address->ai_next;
    must(uv_timer_start(&one->timer, on_deadline, CONNECT_MS_MAX, 0) == 0);
    must(uv_tcp_init(one->owner->loop, &one->tcp) == 0);
    one->tcp.data = one;
    one->uses++;
    const int failed = uv_tcp_connect(&one->connecting, &one->tcp, address->ai_addr, on_connect);
    if (!failed)
        return;
    one->connecting.data = (void *)(intptr_t)failed;
    uv_close((uv_handle_t *)&one->tcp, address_failed);
}

static void on_resolved(uv_getaddrinfo_t *resolving, int status, struct addrinfo *addresses)
{
    struct probe *one = resolving->data;
    resolving->data = NULL;
    one->addresses = one->next_address = addresses;
    if (!one->is_over && status != 0)
        rest_or_fail(one, code_of(status), sentence(one, status));
    else if (!one->is_over)
        connect_next(one, UV_EADDRNOTAVAIL);
    let_go(one);
}

static void begin_connection(struct probe *one)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char port[PORT_SIZE];
    const char *host = str_z(&one->arena, one->transport.address);
    snprintf(port, sizeof port, "%u", one->transport.port);
    one->resolving.data = one;
    must(uv_timer_start(&one->timer, on_deadline, CONNECT_MS_MAX, 0) == 0);
    const int failed =
        uv_getaddrinfo(one->owner->loop, &one->resolving, on_resolved, host, port, &hints);
    if (failed) {
        one->resolving.data = NULL;
        fail(one, code_of(failed), sentence(one, failed));
        return;
    }
    one->uses++;
}

/* ---- host keys ---- */

static void on_scanned(void *self, const struct spawn_result *result)
{
    struct probe *one = self;
    struct str keys;
    one->scan = NULL;
    if (result->why || result->is_late) {
        fail(one, result->why ? REASON_SSH_FAILED : REASON_CONNECTION_TIMEOUT,
             result->why ? result->why : "nobody answered in time");
        return;
    }
    const err e = ssh_scanned_keys(&one->arena, result->out, &keys);
    if (e == ERR_NOT_FOUND) {
        const struct str said = STR_CONCAT(&one->arena, STR("it shows no ssh host key ("),
                                           ssh_scan_complaint(result->err), STR(")"));
        /* ssh-keyscan does not say by its exit status why it got no key; connect(2) does. */
        one->no_key = str_z(&one->arena, said);
        if (one->addresses)
            uv_freeaddrinfo(one->addresses);
        one->addresses = one->next_address = NULL;
        begin_connection(one);
        return;
    }
    if (e != OK) {
        fail(one, REASON_SSH_FAILED, "what it shows are no ssh host keys");
        return;
    }
    one->keys = keys;
    one->wants_pin = true;
    one->owner->seams.wake(one->owner->seams.self);
}

/* The core compares them with the pins of all nodes. What the turn does not take now is taken
 * later; there are at most PARALLEL_MAX of them. */
static bool submit_pins(struct ssh_probes *p)
{
    bool any = false;
    for (struct probe *one = p->asked.first; one; one = one->next) {
        if (!one->wants_pin)
            continue;
        if (p->seams.pin(p->seams.self, one->key, one->keys,
                         ssh_keys_is_own_key(p->home, one->keys)) != OK)
            break;
        one->wants_pin = false;
        any = true;
    }
    return any;
}

static struct probe *find_asked(struct ssh_probes *p, uint64_t key)
{
    struct probe *one = p->asked.first;
    while (one && one->key != key)
        one = one->next;
    must(one && one->keys.len);
    return one;
}

static enum reason_code code_of_problem(const struct problem *problem)
{
    switch (problem ? (int)problem->code : 0) {
    case PROBLEM_HOST_KEY_TAKEN: return REASON_HOST_KEY_TAKEN;
    case PROBLEM_HOST_KEY_CHANGED: return REASON_HOST_KEY_CHANGED;
    case PROBLEM_HOST_KEY_REFUSED: return REASON_HOST_KEY_REFUSED;
    default: return REASON_SSH_FAILED;
    }
}

/* The name of another node that one of the keys is pinned for. */
static struct str taken_by(const struct probe *one, const struct core *core)
{
    for (uint32_t from = 0; core && from < one->keys.len;) {
        const uint32_t to = str_find(one->keys, '\n', from);
        const int64_t id = core_host_key_node(core, str_slice(one->keys, from, to));
        struct record other;
        if (id && core_record(core, TABLE_NODE, id, &other) && !str_eq(other.node.name, one->node))
            return other.node.name;
        from = to + 1;
    }
    return STR("");
}

static void end_refused(struct probe *one, const struct core *core, const struct problem *problem)
{
    const enum reason_code code = code_of_problem(problem);
    const struct str text = problem ? problem->text : STR("its host keys were refused");
    struct str subject = one->transport.address;
    if (code == REASON_HOST_KEY_CHANGED)
        subject = one->node;
    else if (code == REASON_HOST_KEY_TAKEN)
        subject = taken_by(one, core);
    subject = str_copy(&one->arena, subject);
    end(one, code, "%.*s port %u: %s: %.*s", STR_FMT_ARGS(one->transport.address),
        one->transport.port, reason_name(code), STR_FMT_ARGS(text));
    one->said.subject = subject;
}

void ssh_probe_on_result(struct ssh_probes *p, uint64_t key, const struct core *core,
                         const struct outcome *outcome, err why)
{
    struct probe *one = find_asked(p, key);
    if (why == ERR_REFUSED && outcome) {
        end_refused(one, core, outcome->problems);
    } else if (why != OK) {
        one->wants_pin = true; /* the store lost it */
        p->seams.wake(p->seams.self);
    } else {
        one->change = p->known_hosts ? known_hosts_changes(p->known_hosts) : 0;
        if (!one->is_pinned)
            log_with(LOG_NOTICE,
                     LOG_FIELDS(LOG_S("node", one->node), LOG_S("address", one->transport.address)),
                     "the host keys of a node are pinned");
        end(one, REASON_NONE, "%s",
            one->is_pinned ? "it shows the host keys that are pinned for it"
                           : "its host keys are pinned");
    }
}

static const char **as_argv(struct arena *a, const struct launch_spec *r)
{
    const char **argv = arena_array(a, const char *, r->argv_count + 1u);
    for (uint32_t i = 0; i < r->argv_count; i++)
        argv[i] = str_z(a, r->argv[i]);
    return argv;
}

static void begin_scan(struct probe *one)
{
    struct launch_spec recipe;
    const struct jig_work work = {.node = one->node, .transport = one->transport};
    ssh_first_contact(&work, one->program, &one->arena, &recipe);
    const struct spawn_order order = {.argv = as_argv(&one->arena, &recipe),
                                      .deadline_ms = SCAN_MS_MAX,
                                      .self = one,
                                      .done = on_scanned};
    const struct spawn_seam *commands = &one->owner->commands;
    one->scan = commands->start(commands->self, &order);
    if (!one->scan)
        fail(one, REASON_SSH_FAILED, "no memory for another program");
}

/* ---- all of them ---- */

static void begin(struct probe *one)
{
    one->no_key = NULL;
    if (!one->until_ms) {
        one->until_ms = uv_now(one->owner->loop) + one->patience_ms;
        must(uv_timer_init(one->owner->loop, &one->timer) == 0);
        one->timer.data = one;
        one->uses++;
    }
    const char *path = one->owner->seams.tool_path;
    one->program = jig_tools_find(&one->arena, path ? path : TOOLS_PATH, "ssh-keyscan");
    if (!one->program) { /* ssh accepts pinned keys only, so no run could succeed there */
        end(one, REASON_TOOL_MISSING, "ssh-keyscan is not installed where the daemon runs");
        one->said.subject = STR("ssh-keyscan");
    } else if (one->is_pinned) {
        begin_connection(one);
    } else {
        begin_scan(one);
    }
}

static bool drop_unwanted(struct ssh_probes *p, struct probe *one)
{
    if (p->seams.is_wanted(p->seams.self, one->key))
        return false;
    line_remove(&p->waiting, one);
    if (one->until_ms)
        stop(one);
    p->seams.done(p->seams.self, one->key, false, &one->said);
    let_go(one);
    return true;
}

/* A node has one probe that is wanted. So the waiting ones are at most twice as many as there are
 * nodes, however often a node is set alive, at a constant cost for each. */
static void sweep_waiting(struct ssh_probes *p)
{
    if (p->waiting.count < p->sweep_count)
        return;
    for (struct probe *one = p->waiting.first, *next; one; one = next) {
        next = one->next;
        ignore(drop_unwanted(p, one), "the others are counted below");
    }
    p->sweep_count = 2 * p->waiting.count + PARALLEL_MAX;
}

static void begin_more(struct ssh_probes *p)
{
    sweep_waiting(p);
    while (p->waiting.first && p->asked.count < PARALLEL_MAX) {
        struct probe *one = p->waiting.first;
        if (drop_unwanted(p, one))
            continue;
        line_remove(&p->waiting, one);
        line_add(&p->asked, one);
        begin(one);
    }
}

void ssh_probe_ask(struct ssh_probes *p, const struct probe_order *order)
{
    const struct transport *t = &order->transport;
    struct probe *one = calloc(1, sizeof *one);
    must(one && t->kind == TRANSPORT_SSH);
    one->owner = p;
    one->key = order->key;
    one->uses = 1;
    one->patience_ms = order->patience_ms ? order->patience_ms : PROBE_PATIENCE_MS;
    one->pause_ms = PAUSE_MS;
    one->node = str_copy(&one->arena, order->node);
    one->is_pinned = order->is_pinned;
    one->transport = (struct transport){
        .kind = TRANSPORT_SSH, .address = str_copy(&one->arena, t->address), .port = t->port};
    line_add(&p->waiting, one);
}

bool ssh_probe_pump(struct ssh_probes *p)
{
    bool any = submit_pins(p);
    struct probe *next = p->over.first;
    for (struct probe *one = next; one; one = next) {
        next = one->next;
        if (p->known_hosts && !known_hosts_is_written(p->known_hosts, one->change))
            continue;
        line_remove(&p->over, one);
        p->seams.done(p->seams.self, one->key, one->answers, &one->said);
        let_go(one);
        any = true;
    }
    begin_more(p);
    return any;
}

struct ssh_probes *ssh_probe_open(uv_loop_t *loop, struct ssh_keys *home,
                                  struct known_hosts *known_hosts, struct ssh_probe_seams seams)
{
    struct ssh_probes *p = calloc(1, sizeof *p);
    must(p);
    p->loop = loop;
    p->home = home;
    p->known_hosts = known_hosts;
    p->seams = seams;
    p->commands = spawn_seam_own(loop);
    return p;
}

static void close_line(struct ssh_probes *p, struct line *line)
{
    while (line->first) {
        struct probe *one = line->first;
        line_remove(line, one);
        if (one->scan)
            p->commands.cancel(p->commands.self, one->scan);
        if (one->until_ms && !one->is_over)
            stop(one);
        one->owner = NULL;
        let_go(one);
    }
}

void ssh_probe_close(struct ssh_probes *p)
{
    if (!p)
        return;
    close_line(p, &p->waiting);
    close_line(p, &p->asked);
    close_line(p, &p->resting);
    close_line(p, &p->over);
    free(p);
}
