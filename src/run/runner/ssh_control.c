/* ssh_control.c - ssh connections to nodes that runs share (ControlMaster of OpenSSH).
 *
 * The ssh process that holds a connection open is a run of the supervisor like any other, one per
 * node and session. It is started when a run has started on the node, so that no run waits for it.
 * A run uses it if its control socket exists, and opens its own connection otherwise: a failure to
 * share is never an error, because the run itself reports a failed connection.
 *
 * This file owns the rows of struct ssh_control, one for each connection, and the control sockets.
 *
 * A connection must not end while runs use it. So it is cancelled only when no run is open on its
 * node, and its socket is removed before that, so that no later run finds it. There are two
 * exceptions: a connection of an earlier daemon for which there is no row, and a daemon that ends
 * for good and finds no ssh program. Its run id in the supervisor is SSH_CONTROL_RUN_IDS plus the
 * node id, and its attempt is a hash of session, host key and endpoint: connections of an earlier
 * daemon are adopted together with the runs that use them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/jig/jig_tools.h"
#include "run/jig/ssh_command.h"
#include "run/runner/runner_private.h"

enum {
    FAILED_MS = 60 * 1000,  /* a failed connection is not started again for this time */
    SEARCH_PAUSE_MS = 1000, /* no search for an unused connection after an unsuccessful one */
    GRACE_MS = 1000,        /* ms between SIGTERM and SIGKILL */
    /* limit for the command `ssh -O stop`; after it the next daemon adopts the connection */
    STOP_COMMAND_MS = 10 * 1000,
};

/* Run ids of the commands that make a connection close after its last run. */
#define SSH_CONTROL_EXIT_IDS (SSH_CONTROL_RUN_IDS + ((int64_t)1 << 60))

/* ---- run ids and paths ---- */

static bool ssh_control_is_run_id(int64_t id)
{
    return id >= SSH_CONTROL_RUN_IDS && id < CLEANUP_RUN_IDS;
}

static uint32_t ssh_control_mix(uint32_t tag, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        tag = (tag ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return tag;
}

/* Hash of session, host key and endpoint: a connection that leads elsewhere is another one. ssh
 * checks no host key when it uses a control socket, so a changed key must give another socket. */
static uint32_t ssh_control_tag(const struct runner_facts *f)
{
    const struct transport *t = &f->transport;
    uint32_t tag = ssh_control_mix(2166136261u, &f->session, sizeof f->session);
    tag = ssh_control_mix(tag, &f->pin, sizeof f->pin);
    tag = ssh_control_mix(tag, &t->port, sizeof t->port);
    tag = ssh_control_mix(tag, &t->user.len, sizeof t->user.len);
    tag = ssh_control_mix(tag, t->user.at, t->user.len);
    return ssh_control_mix(tag, t->address.at, t->address.len);
}

/* Short, because the length of socket paths is limited. */
static const char *ssh_control_socket_path(const struct runner *r, int64_t node_id, uint32_t tag,
                                           struct arena *a)
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
    return ssh_control_socket_path(r, run->node_id, ssh_control_tag(f), a);
}

static void ssh_control_remove_socket(const struct runner *r, int64_t node_id, uint32_t tag)
{
    struct arena arena = {0};
    if (r->setup.control_dir)
        ignore(unlink(ssh_control_socket_path(r, node_id, tag, &arena)),
               "usually ssh has removed it");
    arena_fini(&arena);
}

/* ---- rows ---- */

static struct ssh_control *ssh_control_find(struct runner *r, int64_t node_id, uint32_t tag)
{
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage != SSH_CONTROL_NONE && m->node_id == node_id && m->tag == tag)
            return m;
    return NULL;
}

static struct ssh_control *ssh_control_find_empty(struct runner *r)
{
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage == SSH_CONTROL_NONE)
            return m;
    return NULL;
}

static void ssh_control_init_row(struct runner *r, struct ssh_control *m, struct exec_run as)
{
    *m = (struct ssh_control){.node_id = as.run_id - SSH_CONTROL_RUN_IDS,
                              .tag = as.attempt,
                              .stage = SSH_CONTROL_STARTED,
                              .since_ms = uv_now(r->setup.loop)};
}

static uint32_t ssh_control_count_started(const struct runner *r)
{
    uint32_t count = 0;
    for (const struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        count += m->stage == SSH_CONTROL_STARTED;
    return count;
}

/* The node of this run is in use now. A run of any session counts, because the session of runs of
 * an earlier daemon is unknown. */
static void ssh_control_mark_used(struct runner *r, struct run *run)
{
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage == SSH_CONTROL_STARTED && m->node_id == run->node_id)
            m->since_ms = uv_now(r->setup.loop);
}

/* Valid only after ssh_control_mark_used was called for all runs in the same round of the loop: it
 * sets `since_ms` to the time of the loop. */
static bool ssh_control_is_in_use(const struct runner *r, const struct ssh_control *m)
{
    return m->since_ms == uv_now(r->setup.loop);
}

static void ssh_control_stop(struct runner *r, struct ssh_control *m)
{
    m->stage = SSH_CONTROL_STOPPED;
    ssh_control_remove_socket(r, m->node_id, m->tag);
    exec_client_cancel(r->client, SSH_CONTROL_RUN_IDS + m->node_id, m->tag);
}

/* ---- start ---- */

/* True if another connection may be started. If there are share_max of them, the one that is unused
 * for the longest time is closed; false if all are in use. */
static bool ssh_control_reserve(struct runner *r)
{
    struct ssh_control *oldest = NULL;
    const uint64_t now = uv_now(r->setup.loop);
    if (ssh_control_count_started(r) < r->setup.share_max)
        return true;
    if (now < r->full_until_ms)
        return false;
    runs_each(r, ssh_control_mark_used);
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage == SSH_CONTROL_STARTED && !ssh_control_is_in_use(r, m) &&
            (!oldest || m->since_ms < oldest->since_ms))
            oldest = m;
    if (oldest)
        ssh_control_stop(r, oldest);
    else
        r->full_until_ms = now + SEARCH_PAUSE_MS;
    return oldest != NULL;
}

static bool ssh_control_order(struct runner *r, struct arena *a, const struct launch_spec *launch,
                              struct exec_run as)
{
    const struct exec_spawn spec = {.run_id = as.run_id,
                                    .attempt = as.attempt,
                                    .epoch = r->epoch,
                                    .argv = jobs_list(a, launch->argv, launch->argv_count),
                                    .env = jobs_list(a, launch->env, launch->env_count),
                                    .cwd = launch->cwd,
                                    .deadline_ms =
                                        as.run_id >= SSH_CONTROL_EXIT_IDS ? STOP_COMMAND_MS : 0,
                                    .grace_ms = GRACE_MS};
    return exec_client_spawn(r->client, &spec) == OK;
}

static const char *ssh_control_find_ssh(const struct runner *r, struct arena *a)
{
    return jig_tools_find(a, r->setup.tool_path ? r->setup.tool_path : TOOLS_PATH, "ssh");
}

static void ssh_control_start(struct runner *r, struct arena *a, const struct jig_work *w,
                              struct exec_run as)
{
    const char *ssh = ssh_control_find_ssh(r, a);
    struct ssh_control *m = ssh_control_find_empty(r);
    struct launch_spec launch;
    if (!ssh || !m || !ssh_control_reserve(r))
        return;
    ssh_control_init_row(r, m, as);
    /* Remove a leftover socket of a killed process: ssh would not replace it. */
    ssh_control_remove_socket(r, m->node_id, m->tag);
    ssh_master_command(w, ssh, a, &launch);
    if (!ssh_control_order(r, a, &launch, as))
        m->stage = SSH_CONTROL_NONE;
}

void ssh_control_ensure(struct runner *r, const struct run *run)
{
    struct arena arena = {0};
    if (!ssh_control_path(r, run, &arena) || r->is_fenced || run->is_cancelled) {
        arena_fini(&arena);
        return;
    }
    const struct jig_work w = jobs_work(r, run, &arena);
    const uint32_t tag = ssh_control_tag(run->facts);
    if (ssh_is_shared(&w.transport) && !ssh_control_find(r, run->node_id, tag))
        ssh_control_start(r, &arena, &w,
                          (struct exec_run){SSH_CONTROL_RUN_IDS + run->node_id, tag});
    arena_fini(&arena);
}

/* ---- reports of the supervisor ---- */

bool ssh_control_begun(struct runner *r, const struct exec_begun *m)
{
    if (!ssh_control_is_run_id(m->run_id))
        return false;
    if (m->run_id >= SSH_CONTROL_EXIT_IDS)
        return true;
    struct ssh_control *found = ssh_control_find(r, m->run_id - SSH_CONTROL_RUN_IDS, m->attempt);
    if (found && found->stage == SSH_CONTROL_FAILED) {
        found->stage = SSH_CONTROL_STARTED; /* the reported end was that of an earlier process */
        found->since_ms = uv_now(r->setup.loop);
    }
    if (found)
        return true;
    struct ssh_control *empty = ssh_control_find_empty(r);
    if (r->setup.control_dir && empty)
        ssh_control_init_row(r, empty, (struct exec_run){m->run_id, m->attempt});
    else
        exec_client_cancel(r->client, m->run_id, m->attempt);
    return true;
}

bool ssh_control_ended(struct runner *r, const struct exec_ended *m)
{
    if (!ssh_control_is_run_id(m->run_id))
        return false;
    exec_client_forget(r->client, m->run_id, m->attempt);
    if (m->run_id >= SSH_CONTROL_EXIT_IDS)
        return true;
    const int64_t node_id = m->run_id - SSH_CONTROL_RUN_IDS;
    struct ssh_control *found = ssh_control_find(r, node_id, m->attempt);
    ssh_control_remove_socket(r, node_id, m->attempt);
    if (!found)
        return true;
    /* A failed connection is not started again for FAILED_MS; one that we or the supervisor ended
     * may be. */
    if (found->stage == SSH_CONTROL_STARTED && m->how != EXEC_DIED_WITH_SUPERVISOR) {
        found->stage = SSH_CONTROL_FAILED;
        found->since_ms = uv_now(r->setup.loop);
    } else if (found->stage != SSH_CONTROL_FAILED) {
        found->stage = SSH_CONTROL_NONE;
    }
    return true;
}

/* It was lost with its supervisor, or was not started. */
bool ssh_control_not_known(struct runner *r, const struct exec_not_known *m)
{
    if (!ssh_control_is_run_id(m->run_id))
        return false;
    struct ssh_control *found = ssh_control_find(r, m->run_id - SSH_CONTROL_RUN_IDS, m->attempt);
    if (found && found->stage != SSH_CONTROL_FAILED) {
        ssh_control_remove_socket(r, found->node_id, found->tag);
        found->stage = SSH_CONTROL_NONE;
    }
    return true;
}

void ssh_control_requery(struct runner *r)
{
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage == SSH_CONTROL_STARTED)
            exec_client_query(r->client, SSH_CONTROL_RUN_IDS + m->node_id, m->tag);
        else if (m->stage == SSH_CONTROL_STOPPED)
            exec_client_cancel(r->client, SSH_CONTROL_RUN_IDS + m->node_id, m->tag);
}

/* ---- end ---- */

void ssh_control_on_timer(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    const uint64_t now = uv_now(r->setup.loop);
    if (!r->is_connected)
        return;
    if (ssh_control_count_started(r))
        runs_each(r, ssh_control_mark_used);
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage == SSH_CONTROL_STARTED &&
            now - m->since_ms >= (uint64_t)r->setup.share_idle_ms)
            ssh_control_stop(r, m);
        else if (m->stage == SSH_CONTROL_FAILED && now - m->since_ms >= FAILED_MS)
            m->stage = SSH_CONTROL_NONE;
}

/* The daemon ends, but runs continue and still use the connection. Make it close after its last
 * run, because no daemon will do that. */
static void ssh_control_close_after_use(struct runner *r, struct ssh_control *m)
{
    struct arena arena = {0};
    struct jig_work w = {.path = r->setup.tool_path};
    const struct exec_run as = {SSH_CONTROL_EXIT_IDS + m->node_id, m->tag};
    const char *ssh = ssh_control_find_ssh(r, &arena);
    struct launch_spec launch;
    w.transport.control_path = ssh_control_socket_path(r, m->node_id, m->tag, &arena);
    /* Without a socket no run uses it yet. */
    const bool is_there = access(w.transport.control_path, F_OK) == 0;
    if (is_there && ssh && ssh_control_is_in_use(r, m)) {
        ssh_master_stop_command(&w, ssh, &arena, &launch);
        ignore(ssh_control_order(r, &arena, &launch, as), "then the next daemon adopts it");
    } else {
        ssh_control_stop(r, m);
    }
    arena_fini(&arena);
}

void ssh_control_close_all(struct runner *r)
{
    if (!r->is_connected)
        return;
    runs_each(r, ssh_control_mark_used);
    for (struct ssh_control *m = r->ssh_controls; m < r->ssh_controls + SSH_CONTROL_ROWS; m++)
        if (m->stage == SSH_CONTROL_STARTED)
            ssh_control_close_after_use(r, m);
}
