/* ssh_probe.c - the state machine of probes. Owns every probe; each is in one of four queues:
 *
 *   waiting -> active -> ended -> result delivered
 *      ^         |
 *      +- paused-+    unreachable, and its patience has not ended
 *
 * Steps of an active probe: a TCP connection to each address in turn (only with pins), ssh-keyscan,
 * the command that pins or compares the keys. If ssh-keyscan gets no key, a TCP connection follows
 * to find out why, because the exit status of ssh-keyscan does not state it.
 *
 * Order of the end: the command is durable first, then the known_hosts file is written, then the
 * result is delivered. Otherwise a run could start and be refused by ssh for a missing host key.
 *
 * Failure: a name that is not resolved, a refused connection and a port without host keys are tried
 * again until the patience ends. An exceeded deadline of the resolution or of ssh-keyscan, and keys
 * that the core refuses, end the probe with a reason code. If the batch with the command that pins
 * the keys is lost, the command is submitted again.
 *
 * A libuv operation may outlive its probe, so a probe has a reference count: one for its queue and
 * one for each pending operation. Every callback checks `is_over` first.
 */
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
    PARALLEL_MAX = 64,          /* active probes */
    CONNECT_MS_MAX = 10 * 1000, /* name resolution, and connection to each address */
    SCAN_MS_MAX = 30 * 1000,    /* ssh-keyscan */
    PAUSE_MS = 500,             /* first pause; doubled each time */
    PAUSE_MS_MAX = 4000,
    PORT_SIZE = 8, /* decimal digits and the terminating zero, in bytes */
};

struct probe {
    struct ssh_probes *owner; /* NULL: the owner is closed */
    struct arena arena;
    uint64_t key;
    struct str node; /* name */
    bool is_pinned;  /* the node had pins in force when the probe was ordered */
    struct transport transport;
    uint32_t patience_ms;
    uint64_t until_ms;          /* the patience ends; uv_now(). 0: the probe has not started */
    uint32_t pause_ms;          /* before the next attempt */
    uv_timer_t timer;           /* deadline of the current step, or end of the pause */
    uv_tcp_t tcp;               /* .data is NULL while there is no connection */
    uv_connect_t connecting;    /* .data: the libuv error of the last connection, as an integer */
    uv_getaddrinfo_t resolving; /* .data is NULL while no request is pending */
    struct addrinfo *addresses; /* result of the resolution; owned */
    struct addrinfo *next_address;
    const char *program;    /* path of ssh-keyscan */
    struct spawn_run *scan; /* NULL: not running */
    const char *no_key;     /* why the scan returned no host key; NULL: no scan failed */
    uint32_t uses;          /* reference count: the queue, and pending libuv operations */
    bool is_over;           /* the result is known, or the owner is closed */
    bool answers;           /* the result */
    struct str keys;        /* of the machine, "TYPE BASE64" lines; empty: not read yet */
    bool wants_pin;         /* the command that pins `keys` must be submitted */
    uint64_t change;        /* change count of the pins that known_hosts must have written */
    struct reason reason;   /* the code is REASON_NONE if the machine answers */
    struct probe *next, *previous;
};

struct probe_queue {
    struct probe *first, *last;
    uint32_t count;
};

struct ssh_probes {
    uv_loop_t *loop;
    struct ssh_keys *ssh_keys;
    struct known_hosts *known_hosts; /* NULL: no file is written */
    struct ssh_probe_callbacks callbacks;
    struct spawn_ops spawn;
    struct probe_queue waiting, active, paused, ended;
    uint32_t sweep_count; /* length of `waiting` at which unneeded probes are removed */
};

/* ---- queues ---- */

static void probe_queue_append(struct probe_queue *q, struct probe *probe)
{
    probe->next = NULL;
    probe->previous = q->last;
    if (q->last)
        q->last->next = probe;
    else
        q->first = probe;
    q->last = probe;
    q->count++;
}

static void probe_queue_remove(struct probe_queue *q, struct probe *probe)
{
    if (probe->previous)
        probe->previous->next = probe->next;
    else
        q->first = probe->next;
    if (probe->next)
        probe->next->previous = probe->previous;
    else
        q->last = probe->previous;
    q->count--;
}

/* ---- end of a probe ---- */

static void probe_unref(struct probe *probe)
{
    if (--probe->uses > 0)
        return;
    if (probe->addresses)
        uv_freeaddrinfo(probe->addresses);
    arena_fini(&probe->arena);
    free(probe);
}

static void probe_on_handle_closed(uv_handle_t *handle)
{
    probe_unref(handle->data);
}

/* Marks the probe as over and stops its timer, its connection and its name resolution. */
static void probe_stop_io(struct probe *probe)
{
    probe->is_over = true;
    if (uv_is_active((uv_handle_t *)&probe->timer))
        ignore(uv_timer_stop(&probe->timer), "it never fails");
    if (!uv_is_closing((uv_handle_t *)&probe->timer))
        uv_close((uv_handle_t *)&probe->timer, probe_on_handle_closed);
    if (probe->tcp.data && !uv_is_closing((uv_handle_t *)&probe->tcp))
        uv_close((uv_handle_t *)&probe->tcp, probe_on_handle_closed);
    if (probe->resolving.data)
        ignore(uv_cancel((uv_req_t *)&probe->resolving),
               "a thread may be resolving; its callback drops the reference");
}

/* Sets the result of an active probe. REASON_NONE: the machine answers. */
__attribute__((format(printf, 3, 4))) static void probe_end(struct probe *probe,
                                                            enum reason_code code,
                                                            const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(len >= 0);
    const uint32_t kept = (uint32_t)len < sizeof text ? (uint32_t)len : (uint32_t)sizeof text - 1;
    probe->answers = code == REASON_NONE;
    probe->reason = (struct reason){.code = code,
                                    .subject = probe->transport.address,
                                    .text = str_copy(&probe->arena, (struct str){text, kept})};
    probe_stop_io(probe);
    probe_queue_remove(&probe->owner->active, probe);
    probe_queue_append(&probe->owner->ended, probe);
    probe->owner->callbacks.wake(probe->owner->callbacks.self);
}

static void probe_fail(struct probe *probe, enum reason_code code, const char *why)
{
    probe_end(probe, code, "%.*s port %u: %s", STR_FMT_ARGS(probe->transport.address),
              probe->transport.port, why);
}

/* ---- pauses ---- */

static void probe_on_pause_end(uv_timer_t *timer)
{
    struct probe *probe = timer->data;
    struct ssh_probes *p = probe->owner;
    probe_queue_remove(&p->paused, probe);
    probe_queue_append(&p->waiting, probe);
    p->callbacks.wake(p->callbacks.self);
}

/* The machine is unreachable, perhaps temporarily. While the probe pauses it does not count as
 * active, so that machines that are switched off do not delay the probes of others. */
static void probe_pause_or_fail(struct probe *probe, enum reason_code code, const char *why)
{
    struct ssh_probes *p = probe->owner;
    if (uv_now(p->loop) + probe->pause_ms >= probe->until_ms) {
        probe_fail(probe, code, why);
        return;
    }
    if (probe->pause_ms == PAUSE_MS)
        log_with(LOG_INFO, LOG_FIELDS(LOG_S("node", probe->node)),
                 "node \"%.*s\" not reachable yet: %.*s port %u: %s; probing again for %u s",
                 STR_FMT_ARGS(probe->node), STR_FMT_ARGS(probe->transport.address),
                 probe->transport.port, why, probe->patience_ms / 1000);
    if (probe->addresses)
        uv_freeaddrinfo(probe->addresses);
    probe->addresses = probe->next_address = NULL;
    must(uv_timer_start(&probe->timer, probe_on_pause_end, probe->pause_ms, 0) == 0);
    probe->pause_ms = probe->pause_ms * 2 < PAUSE_MS_MAX ? probe->pause_ms * 2 : PAUSE_MS_MAX;
    probe_queue_remove(&p->active, probe);
    probe_queue_append(&p->paused, probe);
    p->callbacks.wake(p->callbacks.self);
}

/* ---- connection ---- */

/* The error of libuv as a message for operators. */
static const char *probe_error_text(struct probe *probe, int why)
{
    char text[128];
    if (why == UV_ECONNREFUSED)
        return "nothing listens there (connection refused)";
    if (why == UV_EHOSTUNREACH || why == UV_ENETUNREACH)
        return "no route to that address (the machine is switched off, or in another network)";
    if (why == UV_ETIMEDOUT)
        return "no answer (connection timed out)";
    snprintf(text, sizeof text, "cannot be reached (%s)", uv_strerror(why));
    return str_z(&probe->arena, str_from(text));
}

static enum reason_code probe_error_code(int why)
{
    return why == UV_ECONNREFUSED ? REASON_CONNECTION_REFUSED
           : why == UV_ETIMEDOUT  ? REASON_CONNECTION_TIMEOUT
           : why == UV_EAI_NONAME || why == UV_EAI_NODATA || why == UV_EAI_AGAIN
               ? REASON_NAME_UNRESOLVED
               : REASON_UNREACHABLE;
}

static void probe_connect_next(struct probe *probe, int why);
static void probe_start_scan(struct probe *probe);

static void probe_on_address_failed(uv_handle_t *handle)
{
    struct probe *probe = handle->data;
    probe->tcp.data = NULL;
    if (!probe->is_over)
        probe_connect_next(probe, (int)(intptr_t)probe->connecting.data);
    probe_unref(probe);
}

/* The address did not accept the connection in time, or the name server did not answer. */
static void probe_on_deadline(uv_timer_t *timer)
{
    struct probe *probe = timer->data;
    if (!probe->tcp.data) {
        probe_fail(probe, REASON_NAME_UNRESOLVED, "the name was not resolved within 10 s");
    } else if (!uv_is_closing((uv_handle_t *)&probe->tcp)) {
        probe->connecting.data = (void *)(intptr_t)UV_ETIMEDOUT;
        uv_close((uv_handle_t *)&probe->tcp, probe_on_address_failed);
    }
}

static void probe_on_connection_closed(uv_handle_t *handle)
{
    struct probe *probe = handle->data;
    probe->tcp.data = NULL;
    if (!probe->is_over)
        probe_start_scan(probe);
    probe_unref(probe);
}

static void probe_on_connect(uv_connect_t *connecting, int status)
{
    struct probe *probe = connecting->handle->data;
    if (probe->is_over || uv_is_closing((uv_handle_t *)&probe->tcp))
        return;
    /* The port is open. The scan of the host keys shows whether it is still the pinned machine. */
    if (status == 0 && !probe->no_key) {
        must(uv_timer_stop(&probe->timer) == 0);
        uv_close((uv_handle_t *)&probe->tcp, probe_on_connection_closed);
        return;
    }
    if (status == 0) /* the port is open, but no ssh server: other addresses are the same machine */
        probe->next_address = NULL;
    connecting->data = (void *)(intptr_t)status;
    uv_close((uv_handle_t *)&probe->tcp, probe_on_address_failed);
}

/* Connects to the next address. `why` is the libuv error of the previous one; 0: it accepted the
 * connection after a scan without keys. */
static void probe_connect_next(struct probe *probe, int why)
{
    struct addrinfo *address = probe->next_address;
    if (!address && why == 0) {
        probe_pause_or_fail(probe, REASON_SSH_FAILED, probe->no_key);
        return;
    }
    if (!address) {
        probe_pause_or_fail(probe, probe_error_code(why), probe_error_text(probe, why));
        return;
    }
    probe->next_address = address->ai_next;
    must(uv_timer_start(&probe->timer, probe_on_deadline, CONNECT_MS_MAX, 0) == 0);
    must(uv_tcp_init(probe->owner->loop, &probe->tcp) == 0);
    probe->tcp.data = probe;
    probe->uses++;
    const int failed =
        uv_tcp_connect(&probe->connecting, &probe->tcp, address->ai_addr, probe_on_connect);
    if (!failed)
        return;
    probe->connecting.data = (void *)(intptr_t)failed;
    uv_close((uv_handle_t *)&probe->tcp, probe_on_address_failed);
}

static void probe_on_resolved(uv_getaddrinfo_t *resolving, int status, struct addrinfo *addresses)
{
    struct probe *probe = resolving->data;
    resolving->data = NULL;
    probe->addresses = probe->next_address = addresses;
    if (!probe->is_over && status != 0)
        probe_pause_or_fail(probe, probe_error_code(status), probe_error_text(probe, status));
    else if (!probe->is_over)
        probe_connect_next(probe, UV_EADDRNOTAVAIL);
    probe_unref(probe);
}

static void probe_start_connection(struct probe *probe)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char port[PORT_SIZE];
    const char *host = str_z(&probe->arena, probe->transport.address);
    snprintf(port, sizeof port, "%u", probe->transport.port);
    probe->resolving.data = probe;
    must(uv_timer_start(&probe->timer, probe_on_deadline, CONNECT_MS_MAX, 0) == 0);
    const int failed = uv_getaddrinfo(probe->owner->loop, &probe->resolving, probe_on_resolved,
                                      host, port, &hints);
    if (failed) {
        probe->resolving.data = NULL;
        probe_fail(probe, probe_error_code(failed), probe_error_text(probe, failed));
        return;
    }
    probe->uses++;
}

/* ---- host keys ---- */

static void probe_on_scanned(void *self, const struct spawn_result *result)
{
    struct probe *probe = self;
    struct str keys;
    probe->scan = NULL;
    if (result->why || result->is_late) {
        probe_fail(probe, result->why ? REASON_SSH_FAILED : REASON_CONNECTION_TIMEOUT,
                   result->why ? result->why : "ssh-keyscan got no answer within 30 s");
        return;
    }
    const err e = ssh_scanned_keys(&probe->arena, result->out, &keys);
    if (e == ERR_NOT_FOUND) {
        const struct str text = STR_CONCAT(&probe->arena, STR("no ssh host key received ("),
                                           ssh_scan_complaint(result->err), STR(")"));
        probe->no_key = str_z(&probe->arena, text);
        if (probe->addresses)
            uv_freeaddrinfo(probe->addresses);
        probe->addresses = probe->next_address = NULL;
        probe_start_connection(probe);
        return;
    }
    if (e != OK) {
        probe_fail(probe, REASON_SSH_FAILED,
                   "ssh-keyscan returned data that is not an ssh host key");
        return;
    }
    probe->keys = keys;
    probe->wants_pin = true;
    probe->owner->callbacks.wake(probe->owner->callbacks.self);
}

/* The core compares the keys with the pins of all nodes. Commands that the turn does not accept now
 * are submitted by a later pump; there are at most PARALLEL_MAX of them. */
static bool probes_submit_pins(struct ssh_probes *p)
{
    bool any = false;
    for (struct probe *probe = p->active.first; probe; probe = probe->next) {
        if (!probe->wants_pin)
            continue;
        if (p->callbacks.pin(p->callbacks.self, probe->key, probe->keys,
                             ssh_keys_is_own_key(p->ssh_keys, probe->keys)) != OK)
            break;
        probe->wants_pin = false;
        any = true;
    }
    return any;
}

static enum reason_code probe_problem_code(const struct problem *problem)
{
    switch (problem ? (int)problem->code : 0) {
    case PROBLEM_HOST_KEY_TAKEN: return REASON_HOST_KEY_TAKEN;
    case PROBLEM_HOST_KEY_CHANGED: return REASON_HOST_KEY_CHANGED;
    case PROBLEM_HOST_KEY_REFUSED: return REASON_HOST_KEY_REFUSED;
    default: return REASON_SSH_FAILED;
    }
}

/* The name of the other node for which one of the keys is pinned; empty: it no longer exists. */
static struct str probe_key_owner(const struct probe *probe, const struct core *core)
{
    for (uint32_t from = 0; core && from < probe->keys.len;) {
        const uint32_t to = str_find(probe->keys, '\n', from);
        const int64_t id = core_host_key_node(core, str_slice(probe->keys, from, to));
        struct record other;
        if (id && core_record(core, TABLE_NODE, id, &other) &&
            !str_eq(other.node.name, probe->node))
            return other.node.name;
        from = to + 1;
    }
    return STR("");
}

static void probe_end_refused(struct probe *probe, const struct core *core,
                              const struct problem *problem)
{
    const enum reason_code code = probe_problem_code(problem);
    const struct str text = problem ? problem->text : STR("its host keys were refused");
    struct str subject = probe->transport.address;
    if (code == REASON_HOST_KEY_CHANGED)
        subject = probe->node;
    else if (code == REASON_HOST_KEY_TAKEN)
        subject = probe_key_owner(probe, core);
    subject = str_copy(&probe->arena, subject);
    probe_end(probe, code, "%.*s port %u: %s: %.*s", STR_FMT_ARGS(probe->transport.address),
              probe->transport.port, reason_name(code), STR_FMT_ARGS(text));
    probe->reason.subject = subject;
}

void ssh_probe_on_result(struct ssh_probes *p, uint64_t key, const struct core *core,
                         const struct outcome *outcome, err why)
{
    struct probe *probe = p->active.first;
    while (probe && probe->key != key)
        probe = probe->next;
    must(probe && probe->keys.len);
    if (why == ERR_REFUSED && outcome) {
        probe_end_refused(probe, core, outcome->problems);
    } else if (why != OK) {
        probe->wants_pin = true; /* the batch was lost: submit the command again */
        p->callbacks.wake(p->callbacks.self);
    } else {
        probe->change = p->known_hosts ? known_hosts_changes(p->known_hosts) : 0;
        const struct str address = probe->transport.address;
        if (!probe->is_pinned)
            log_with(LOG_NOTICE, LOG_FIELDS(LOG_S("node", probe->node), LOG_S("address", address)),
                     "ssh host keys of node \"%.*s\" pinned at first contact with %.*s",
                     STR_FMT_ARGS(probe->node), STR_FMT_ARGS(address));
        probe_end(probe, REASON_NONE, "%s",
                  probe->is_pinned ? "its ssh host keys are the pinned ones"
                                   : "its ssh host keys were pinned");
    }
}

static void probe_start_scan(struct probe *probe)
{
    struct launch_spec spec;
    const struct jig_work work = {.node = probe->node, .transport = probe->transport};
    ssh_first_contact(&work, probe->program, &probe->arena, &spec);
    const char **argv = arena_array(&probe->arena, const char *, spec.argv_count + 1u);
    for (uint32_t i = 0; i < spec.argv_count; i++)
        argv[i] = str_z(&probe->arena, spec.argv[i]);
    const struct spawn_order order = {
        .argv = argv, .deadline_ms = SCAN_MS_MAX, .self = probe, .done = probe_on_scanned};
    probe->scan = probe->owner->spawn.start(probe->owner->spawn.self, &order);
    if (!probe->scan)
        probe_fail(probe, REASON_SSH_FAILED, "ssh-keyscan was not started: out of memory");
}

/* ---- scheduling ---- */

static void probe_start(struct probe *probe)
{
    probe->no_key = NULL;
    if (!probe->until_ms) {
        probe->until_ms = uv_now(probe->owner->loop) + probe->patience_ms;
        must(uv_timer_init(probe->owner->loop, &probe->timer) == 0);
        probe->timer.data = probe;
        probe->uses++;
    }
    const char *path = probe->owner->callbacks.tool_path;
    probe->program = jig_tools_find(&probe->arena, path ? path : TOOLS_PATH, "ssh-keyscan");
    if (!probe->program) { /* ssh accepts pinned keys only, so no run on the node could succeed */
        probe_end(probe, REASON_TOOL_MISSING,
                  "ssh-keyscan is not installed on the machine of the daemon (openssh-client)");
        probe->reason.subject = STR("ssh-keyscan");
    } else if (probe->is_pinned) {
        probe_start_connection(probe);
    } else {
        probe_start_scan(probe);
    }
}

static bool probe_drop_unwanted(struct ssh_probes *p, struct probe *probe)
{
    if (p->callbacks.is_wanted(p->callbacks.self, probe->key))
        return false;
    probe_queue_remove(&p->waiting, probe);
    if (probe->until_ms)
        probe_stop_io(probe);
    p->callbacks.done(p->callbacks.self, probe->key, false, &probe->reason);
    probe_unref(probe);
    return true;
}

/* Removes unneeded probes when the queue has doubled since the last sweep. A node has at most one
 * needed probe, so the queue is bounded by twice the number of nodes, at a constant cost each. */
static void probes_sweep_waiting(struct ssh_probes *p)
{
    if (p->waiting.count < p->sweep_count)
        return;
    for (struct probe *probe = p->waiting.first, *next; probe; probe = next) {
        next = probe->next;
        ignore(probe_drop_unwanted(p, probe), "the remaining ones are counted below");
    }
    p->sweep_count = 2 * p->waiting.count + PARALLEL_MAX;
}

void ssh_probe_ask(struct ssh_probes *p, const struct probe_order *order)
{
    const struct transport *t = &order->transport;
    struct probe *probe = calloc(1, sizeof *probe);
    must(probe && t->kind == TRANSPORT_SSH);
    probe->owner = p;
    probe->key = order->key;
    probe->uses = 1;
    probe->patience_ms = order->patience_ms ? order->patience_ms : PROBE_PATIENCE_MS;
    probe->pause_ms = PAUSE_MS;
    probe->node = str_copy(&probe->arena, order->node);
    probe->is_pinned = order->is_pinned;
    probe->transport = (struct transport){
        .kind = TRANSPORT_SSH, .address = str_copy(&probe->arena, t->address), .port = t->port};
    probe_queue_append(&p->waiting, probe);
}

bool ssh_probe_pump(struct ssh_probes *p)
{
    bool any = probes_submit_pins(p);
    for (struct probe *probe = p->ended.first, *next; probe; probe = next) {
        next = probe->next;
        if (p->known_hosts && !known_hosts_is_written(p->known_hosts, probe->change))
            continue;
        probe_queue_remove(&p->ended, probe);
        p->callbacks.done(p->callbacks.self, probe->key, probe->answers, &probe->reason);
        probe_unref(probe);
        any = true;
    }
    /* Start waiting probes, at most PARALLEL_MAX at the same time. */
    probes_sweep_waiting(p);
    while (p->waiting.first && p->active.count < PARALLEL_MAX) {
        struct probe *probe = p->waiting.first;
        if (probe_drop_unwanted(p, probe))
            continue;
        probe_queue_remove(&p->waiting, probe);
        probe_queue_append(&p->active, probe);
        probe_start(probe);
    }
    return any;
}

struct ssh_probes *ssh_probe_open(uv_loop_t *loop, struct ssh_keys *keys,
                                  struct known_hosts *known_hosts,
                                  struct ssh_probe_callbacks callbacks)
{
    struct ssh_probes *p = calloc(1, sizeof *p);
    must(p);
    *p = (struct ssh_probes){.loop = loop,
                             .ssh_keys = keys,
                             .known_hosts = known_hosts,
                             .callbacks = callbacks,
                             .spawn = spawn_ops_default(loop)};
    return p;
}

void ssh_probe_close(struct ssh_probes *p)
{
    if (!p)
        return;
    struct probe_queue *const queues[] = {&p->waiting, &p->active, &p->paused, &p->ended};
    for (uint32_t i = 0; i < sizeof queues / sizeof *queues; i++)
        while (queues[i]->first) {
            struct probe *probe = queues[i]->first;
            probe_queue_remove(queues[i], probe);
            if (probe->scan)
                p->spawn.cancel(p->spawn.self, probe->scan);
            if (probe->until_ms && !probe->is_over)
                probe_stop_io(probe);
            probe->owner = NULL;
            probe_unref(probe);
        }
    free(p);
}
