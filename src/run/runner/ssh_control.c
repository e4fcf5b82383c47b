/* ssh_control.c - connections to nodes that runs share.
 *
 * A connection that ssh keeps open is a run of the supervisor like any other, one for a node and
 * its session, begun when a run has begun on that node, so that nobody waits for it. Runs go
 * through it when they find its socket, and otherwise have a connection of their own: one that
 * cannot be had is nobody's error, because the run says it.
 *
 * It must not end under a run. So it is cancelled only when no run is open on its node, and its
 * socket goes before that, where no later run finds it. The number tells node, session and way:
 * whatever a daemon before us had is taken over, with the runs that go through it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/jig/jig_tools.h"
#include "run/jig/ssh_command.h"
#include "run/runner/runner_private.h"

enum {
    FAILED_MS = 60 * 1000, /* until it is tried again */
    CROWDED_MS = 1000,
    GRACE_MS = 1000,
    LEAVE_MS = 10 * 1000, /* to be told that it may go: then it is with the next daemon */
};

/* The numbers behind those of masters are for what has them leave. */
#define LEAVE_IDS (MASTER_IDS + ((int64_t)1 << 60))

/* ---- names ---- */

static bool is_number_of_ours(int64_t id)
{
    return id >= MASTER_IDS && id < SWEEP_IDS;
}

static uint32_t mix(uint32_t tag, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        tag = (tag ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return tag;
}

/* Of the session, the pins and the way: one that leads elsewhere is another connection. ssh checks
 * no host key when it goes through a socket, so pins that were forgotten and made anew must give
 * another socket. */
static uint32_t tag_of(const struct runner_facts *f)
{
    const struct transport *t = &f->transport;
    uint32_t tag = mix(2166136261u, &f->session, sizeof f->session);
    tag = mix(tag, &f->pin, sizeof f->pin);
    tag = mix(tag, &t->port, sizeof t->port);
    tag = mix(tag, &t->user.len, sizeof t->user.len);
    tag = mix(tag, t->user.at, t->user.len);
    return mix(tag, t->address.at, t->address.len);
}

/* Short, because the path of a socket is. */
static const char *path_of(const struct runner *r, int64_t node_id, uint32_t tag, struct arena *a)
{
    const size_t size = strlen(r->setup.control_dir) + 40;
    char *path = arena_alloc(a, size);
    snprintf(path, size, "%s/n%lld-%x", r->setup.control_dir, (long long)node_id, tag);
    return path;
}

const char *ssh_control_path(const struct runner *r, const struct run *run, struct arena *a)
{
    const struct runner_facts *f = run->facts;
    if (!r->setup.control_dir || !f || f->transport.kind != TRANSPORT_SSH || !f->session)
        return NULL;
    return path_of(r, run->node_id, tag_of(f), a);
}

static void remove_socket(const struct runner *r, int64_t node_id, uint32_t tag)
{
    struct arena arena = {0};
    if (r->setup.control_dir)
        ignore(unlink(path_of(r, node_id, tag, &arena)), "mostly ssh has done it");
    arena_fini(&arena);
}

/* ---- rows ---- */

static struct master *find(struct runner *r, int64_t node_id, uint32_t tag)
{
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage != MASTER_NONE && m->node_id == node_id && m->tag == tag)
            return m;
    return NULL;
}

static struct master *find_empty(struct runner *r)
{
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage == MASTER_NONE)
            return m;
    return NULL;
}

static void fill(struct runner *r, struct master *m, struct exec_run as)
{
    *m = (struct master){.node_id = as.run_id - MASTER_IDS,
                         .tag = as.attempt,
                         .stage = MASTER_STARTED,
                         .since_ms = uv_now(r->setup.loop)};
}

static uint32_t count_started(const struct runner *r)
{
    uint32_t count = 0;
    for (const struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        count += m->stage == MASTER_STARTED;
    return count;
}

static void use(struct runner *r, struct run *run)
{
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage == MASTER_STARTED && m->node_id == run->node_id)
            m->since_ms = uv_now(r->setup.loop);
}

/* By any run on its node: which session those have that a daemon before us ordered is not known. */
static bool is_in_use(const struct runner *r, const struct master *m)
{
    return m->since_ms == uv_now(r->setup.loop);
}

static void stop(struct runner *r, struct master *m)
{
    m->stage = MASTER_STOPPED;
    remove_socket(r, m->node_id, m->tag);
    exec_client_cancel(r->client, MASTER_IDS + m->node_id, m->tag);
}

/* ---- having one ---- */

/* The one that was in use longest ago goes. */
static bool has_room(struct runner *r)
{
    struct master *oldest = NULL;
    const uint64_t now = uv_now(r->setup.loop);
    if (count_started(r) < r->setup.share_max)
        return true;
    if (now < r->crowded_ms)
        return false;
    runs_each(r, use);
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage == MASTER_STARTED && !is_in_use(r, m) &&
            (!oldest || m->since_ms < oldest->since_ms))
            oldest = m;
    if (oldest)
        stop(r, oldest);
    else
        r->crowded_ms = now + CROWDED_MS;
    return oldest != NULL;
}

static bool order(struct runner *r, struct arena *a, const struct launch_spec *recipe,
                  struct exec_run as)
{
    const struct exec_spawn spec = {.run_id = as.run_id,
                                    .attempt = as.attempt,
                                    .epoch = r->epoch,
                                    .argv = jobs_list(a, recipe->argv, recipe->argv_count),
                                    .env = jobs_list(a, recipe->env, recipe->env_count),
                                    .cwd = recipe->cwd,
                                    .deadline_ms = as.run_id >= LEAVE_IDS ? LEAVE_MS : 0,
                                    .grace_ms = GRACE_MS};
    return exec_client_spawn(r->client, &spec) == OK;
}

static const char *find_ssh(const struct runner *r, struct arena *a)
{
    return jig_tools_find(a, r->setup.tool_path ? r->setup.tool_path : TOOLS_PATH, "ssh");
}

static void start(struct runner *r, struct arena *a, const struct jig_work *w, struct exec_run as)
{
    const char *ssh = find_ssh(r, a);
    struct master *m = find_empty(r);
    struct launch_spec recipe;
    if (!ssh || !m || !has_room(r))
        return;
    fill(r, m, as);
    /* One that lies there is of somebody who was killed, and would keep the new one from its
     * place. */
    remove_socket(r, m->node_id, m->tag);
    ssh_master(w, ssh, a, &recipe);
    if (!order(r, a, &recipe, as))
        m->stage = MASTER_NONE;
}

void ssh_control_want(struct runner *r, const struct run *run)
{
    struct arena arena = {0};
    if (!ssh_control_path(r, run, &arena) || r->is_fenced || run->is_cancelled) {
        arena_fini(&arena);
        return;
    }
    const struct jig_work w = jobs_work(r, run, &arena);
    const uint32_t tag = tag_of(run->facts);
    if (ssh_is_shared(&w.transport) && !find(r, run->node_id, tag))
        start(r, &arena, &w, (struct exec_run){MASTER_IDS + run->node_id, tag});
    arena_fini(&arena);
}

/* ---- what the supervisor says ---- */

bool ssh_control_begun(struct runner *r, const struct exec_begun *m)
{
    if (!is_number_of_ours(m->run_id))
        return false;
    if (m->run_id >= LEAVE_IDS)
        return true;
    struct master *found = find(r, m->run_id - MASTER_IDS, m->attempt);
    if (found && found->stage == MASTER_FAILED) {
        found->stage = MASTER_STARTED; /* the end that was told, perhaps twice, was of another */
        found->since_ms = uv_now(r->setup.loop);
    }
    if (found)
        return true;
    struct master *empty = find_empty(r);
    if (r->setup.control_dir && empty)
        fill(r, empty, (struct exec_run){m->run_id, m->attempt});
    else
        exec_client_cancel(r->client, m->run_id, m->attempt);
    return true;
}

/* One that failed is not had again at once; whatever we or its supervisor ended may be. */
static void end(struct runner *r, struct master *m, uint32_t how)
{
    if (m->stage == MASTER_STARTED && how != EXEC_DIED_WITH_SUPERVISOR) {
        m->stage = MASTER_FAILED;
        m->since_ms = uv_now(r->setup.loop);
    } else if (m->stage != MASTER_FAILED) {
        m->stage = MASTER_NONE;
    }
}

bool ssh_control_ended(struct runner *r, const struct exec_ended *m)
{
    if (!is_number_of_ours(m->run_id))
        return false;
    exec_client_forget(r->client, m->run_id, m->attempt);
    if (m->run_id >= LEAVE_IDS)
        return true;
    const int64_t node_id = m->run_id - MASTER_IDS;
    struct master *found = find(r, node_id, m->attempt);
    remove_socket(r, node_id, m->attempt);
    if (found)
        end(r, found, m->how);
    return true;
}

/* It was lost with its supervisor, or could not begin. */
bool ssh_control_not_known(struct runner *r, const struct exec_not_known *m)
{
    if (!is_number_of_ours(m->run_id))
        return false;
    struct master *found = find(r, m->run_id - MASTER_IDS, m->attempt);
    if (found && found->stage != MASTER_FAILED) {
        remove_socket(r, found->node_id, found->tag);
        found->stage = MASTER_NONE;
    }
    return true;
}

void ssh_control_ask_again(struct runner *r)
{
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage == MASTER_STARTED)
            exec_client_query(r->client, MASTER_IDS + m->node_id, m->tag);
        else if (m->stage == MASTER_STOPPED)
            exec_client_cancel(r->client, MASTER_IDS + m->node_id, m->tag);
}

/* ---- the end ---- */

void ssh_control_watch(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    const uint64_t now = uv_now(r->setup.loop);
    if (!r->is_connected)
        return;
    if (count_started(r))
        runs_each(r, use);
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage == MASTER_STARTED && now - m->since_ms >= (uint64_t)r->setup.share_idle_ms)
            stop(r, m);
        else if (m->stage == MASTER_FAILED && now - m->since_ms >= FAILED_MS)
            m->stage = MASTER_NONE;
}

/* Runs go on without us, and so does what they go through. Nobody would end that after them. */
static void leave(struct runner *r, struct master *m)
{
    struct arena arena = {0};
    struct jig_work w = {.path = r->setup.tool_path};
    const struct exec_run as = {LEAVE_IDS + m->node_id, m->tag};
    const char *ssh = find_ssh(r, &arena);
    struct launch_spec recipe;
    w.transport.control_path = path_of(r, m->node_id, m->tag, &arena);
    /* Without a socket nobody goes through it yet. */
    const bool is_there = access(w.transport.control_path, F_OK) == 0;
    if (is_there && ssh && is_in_use(r, m)) {
        ssh_master_leave(&w, ssh, &arena, &recipe);
        ignore(order(r, &arena, &recipe, as), "then the next daemon finds it");
    } else {
        stop(r, m);
    }
    arena_fini(&arena);
}

void ssh_control_leave(struct runner *r)
{
    if (!r->is_connected)
        return;
    runs_each(r, use);
    for (struct master *m = r->masters; m < r->masters + MASTER_ROWS; m++)
        if (m->stage == MASTER_STARTED)
            leave(r, m);
}
