#define _GNU_SOURCE /* struct ucred, accept4 */
#include "daemon/boot/boot_links.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/boot/boot_links_private.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/log.h"

/* The socket for boot servers, its connections, and the events that the core gets of them.
 *
 * A connection begins with HELLO, which names the admin node. A node has one boot server at a time:
 * a second one is refused while the first is connected. Ends of connections are only marked in
 * callbacks and while messages are sent (boot_link_end); boot_links_pump() closes them, so that no
 * function finds a connection freed by one that it called.
 *
 * Events for the core are a list, because the queue of the turn may be full: they are submitted in
 * order, and each stays until it is accepted. After every load of the core the list begins anew
 * with CONNECTED of each server, because a load forgets connections. A batch that fails is followed
 * by a load, so no outcome is needed. */

enum { HELLO_WAIT_MS = 10 * 1000, WARN_MS = 60 * 1000, LISTEN_BACKLOG = 64 };

/* ---- events for the core ---- */

static void boot_notice_add(struct boot_links *all, const struct boot_notice *from)
{
    struct boot_notice *notice = malloc(sizeof *notice);
    must(notice);
    *notice = *from;
    notice->next = NULL;
    *all->notices_end = notice;
    all->notices_end = &notice->next;
}

void boot_links_notify(struct boot_links *all, int64_t node_id, enum boot_event event, int64_t turn,
                       struct str text)
{
    struct boot_notice notice = {.node_id = node_id, .event = event, .turn = turn};
    if (event == BOOT_EVENT_TAKEN)
        for (struct boot_notice *n = all->notices; n; n = n->next)
            if (n->node_id == node_id && n->event == BOOT_EVENT_TAKEN && !n->next) {
                n->turn = turn;
                return;
            }
    if (text.len > BOOT_STATUS_MAX)
        text = str_clip(text, BOOT_STATUS_MAX);
    if (text.len)
        memcpy(notice.text, text.at, text.len);
    boot_notice_add(all, &notice);
    all->setup.wake(all->setup.self);
}

static void boot_notices_drop(struct boot_links *all)
{
    for (struct boot_notice *next, *n = all->notices; n; n = next) {
        next = n->next;
        free(n);
    }
    all->notices = NULL;
    all->notices_end = &all->notices;
}

static bool boot_notices_submit(struct boot_links *all)
{
    bool worked = false;
    while (all->notices) {
        struct boot_notice *n = all->notices;
        struct command command = {.kind = COMMAND_BOOT_SERVER, .actor = STR("boot server")};
        command.boot_server = (struct boot_server_command){
            .node_id = n->node_id, .event = n->event, .turn = n->turn, .text = str_from(n->text)};
        if (n->event == BOOT_EVENT_TAKEN)
            FAILPOINT(BOOT_TAKEN_BEFORE);
        if (all->setup.submit(all->setup.self, &command) != OK)
            break;
        if (n->event == BOOT_EVENT_TAKEN)
            FAILPOINT(BOOT_TAKEN_AFTER);
        worked = true;
        all->notices = n->next;
        if (!all->notices)
            all->notices_end = &all->notices;
        free(n);
    }
    return worked;
}

/* ---- connections ---- */

struct boot_link *boot_links_find(struct boot_links *all, uint64_t id)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->links[i]->id == id && !all->links[i]->is_ending)
            return all->links[i];
    return NULL;
}

void boot_link_end(struct boot_link *l, const char *why)
{
    if (l->is_ending)
        return;
    l->is_ending = true;
    if (l->node_id) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("node", l->node_id)),
                 "boot server of node %lld disconnected: %s; its machines are served what it had",
                 (long long)l->node_id, why);
        if (l->all->has_core)
            boot_links_notify(l->all, l->node_id, BOOT_EVENT_LOST, 0, STR(""));
    }
    l->all->setup.wake(l->all->setup.self);
}

void boot_link_send(struct boot_link *l, const struct boot_message *message)
{
    struct arena *a = &l->all->scratch;
    const struct arena_mark mark = arena_mark(a);
    struct buf bytes = buf_in(a);
    if (l->is_ending)
        return;
    if (boot_message_encode(message, &bytes) != OK)
        boot_link_end(l, "a message for it is too long");
    else if (link_put(&l->link, buf_str(&bytes), BOOT_WAITING_MAX) != OK)
        boot_link_end(l, "it does not read what it is sent");
    arena_rewind(a, mark);
}

static void boot_link_on_closed(uv_handle_t *handle)
{
    struct boot_link *l = handle->data;
    link_fini(&l->link);
    arena_fini(&l->arena);
    free(l->counts);
    free(l);
}

static void boot_link_close(struct boot_link *l)
{
    l->is_ending = true;
    uv_close((uv_handle_t *)&l->poll, boot_link_on_closed);
}

static void boot_link_on_poll(uv_poll_t *poll, int status, int events);

void boot_link_flush(struct boot_link *l)
{
    if (l->is_ending)
        return;
    if (link_flush(&l->link) != OK) {
        boot_link_end(l, "the connection was closed");
        return;
    }
    const int events = link_waiting(&l->link) ? UV_READABLE | UV_WRITABLE : UV_READABLE;
    must(uv_poll_start(&l->poll, events, boot_link_on_poll) == 0);
}

/* ---- reading ---- */

/* A boot server that is refused connects again at once, so its warning is repeated seldom. */
bool boot_links_has_warned(struct boot_links *all)
{
    const int64_t now_ms = sys_mono_ms();
    const bool has_warned = all->warned_ms && now_ms - all->warned_ms < WARN_MS;
    if (!has_warned)
        all->warned_ms = now_ms;
    return has_warned;
}

static void boot_link_read(struct boot_link *l)
{
    struct boot_message m;
    struct str body;
    err e = link_fill(&l->link);
    if (e != OK) {
        boot_link_end(l, "the connection was closed");
        return;
    }
    while (!l->is_ending && (e = link_take(&l->link, BOOT_BODY_MAX, &body)) == OK) {
        if (boot_message_decode(body, &m) != OK)
            boot_link_end(l, "it sent bytes that are no message");
        else if (!boot_message_take(l, &m))
            boot_link_end(l, "it sent a message that is not legal at this point");
    }
    if (e == ERR_CORRUPT)
        boot_link_end(l, "it sent bytes that are no message");
}

static void boot_link_on_poll(uv_poll_t *poll, int status, int events)
{
    struct boot_link *l = poll->data;
    if (l->is_ending)
        return;
    if (status != 0)
        boot_link_end(l, "the connection failed");
    else if (events & UV_READABLE)
        boot_link_read(l);
    boot_link_flush(l);
}

/* ---- the socket ---- */

static bool boot_peer_is_allowed(const struct boot_links *all, int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == 0 || who.uid == geteuid() || (all->has_user && who.uid == all->user));
}

static bool boot_links_add(struct boot_links *all, int fd)
{
    struct boot_link *l = calloc(1, sizeof *l);
    must(l);
    if (uv_poll_init(all->setup.loop, &l->poll, fd) != 0) {
        free(l);
        return false;
    }
    l->all = all;
    l->id = ++all->link_ids;
    l->opened_ms = sys_mono_ms();
    l->poll.data = l;
    all->links[all->count++] = l;
    if (!link_init(&l->link, fd))
        boot_link_end(l, "its socket cannot be used");
    boot_link_flush(l);
    return true;
}

static void boot_links_on_accept(uv_poll_t *poll, int status, int events)
{
    struct boot_links *all = poll->data;
    (void)status;
    (void)events;
    const int fd = accept4(all->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (!boot_peer_is_allowed(all, fd) && !boot_links_has_warned(all))
        log_print(LOG_WARNING, "connection to the socket of boot servers refused: its user is "
                               "neither root nor boot-user");
    if (boot_peer_is_allowed(all, fd) && all->count < BOOT_LINKS_MAX && boot_links_add(all, fd))
        return;
    ignore(close(fd), "nothing was sent");
}

/* A socket of an earlier daemon is removed: the data directory is locked by this one. */
static int boot_links_listen(const struct boot_links *all)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(all->setup.path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, all->setup.path, strlen(all->setup.path) + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    ignore(unlink(all->setup.path), "it need not exist");
    /* Any user may connect; SO_PEERCRED decides. */
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        chmod(all->setup.path, 0666) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    const int error = errno;
    ignore(close(fd), "it is not used");
    errno = error;
    return -1;
}

/* ---- life ---- */

static void boot_links_find_user(struct boot_links *all)
{
    const struct passwd *user = getpwnam(all->setup.user);
    all->has_user = user != NULL;
    if (user)
        all->user = user->pw_uid;
}

static void boot_links_free(struct boot_links *all)
{
    boot_notices_drop(all);
    boot_requests_reset(all);
    boot_seen_free(all->seen);
    arena_fini(&all->scratch);
    arena_fini(&all->arena);
    free(all);
}

err boot_links_open(const struct boot_links_setup *setup, struct boot_links **out_links)
{
    struct boot_links *all = calloc(1, sizeof *all);
    must(all);
    all->setup = *setup;
    all->setup.path = str_z(&all->arena, str_from(setup->path));
    all->setup.user = str_z(&all->arena, str_from(setup->user));
    all->setup.key_path = str_z(&all->arena, str_from(setup->key_path));
    all->seen = boot_seen_new();
    all->notices_end = &all->notices;
    all->held_end = &all->held;
    all->config_turn = -1;
    boot_links_find_user(all);
    all->listener = boot_key_open(all) ? boot_links_listen(all) : -1;
    if (all->listener < 0 || uv_poll_init(setup->loop, &all->accept, all->listener) != 0) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", setup->path)),
                 "the socket of boot servers \"%s\" cannot be opened: %s; no boot server can "
                 "connect: set boot-socket",
                 setup->path, strerror(errno));
        if (all->listener >= 0)
            ignore(close(all->listener), "it is not used");
        boot_links_free(all);
        return ERR_IO;
    }
    all->accept.data = all;
    must(uv_poll_start(&all->accept, UV_READABLE, boot_links_on_accept) == 0);
    *out_links = all;
    return OK;
}

static void boot_links_on_closed(uv_handle_t *handle)
{
    struct boot_links *all = handle->data;
    ignore(close(all->listener), "it is closed in any case");
    boot_links_free(all);
}

void boot_links_close(struct boot_links *all)
{
    if (!all)
        return;
    for (uint32_t i = 0; i < all->count; i++)
        boot_link_close(all->links[i]);
    all->count = 0;
    ignore(unlink(all->setup.path), "the next start removes it");
    uv_close((uv_handle_t *)&all->accept, boot_links_on_closed);
}

static void boot_links_on_loaded(void *self, int64_t turn)
{
    struct boot_links *all = self;
    boot_notices_drop(all);
    boot_publish_loaded(self, turn);
}

static void boot_links_on_changed(void *self, int64_t turn, const struct boot_change *changes,
                                  uint32_t count)
{
    struct boot_links *all = self;
    boot_publish_changed(self, turn, changes, count);
    /* The bytes leave before any effect of the turn. */
    for (uint32_t i = 0; i < all->count; i++) {
        boot_link_flush(all->links[i]);
        if (all->links[i]->is_complete)
            FAILPOINT(BOOT_AT_AFTER);
    }
}

struct boot_port boot_links_port(struct boot_links *all)
{
    return (struct boot_port){
        .self = all, .loaded = boot_links_on_loaded, .changed = boot_links_on_changed};
}

void boot_links_set_turn(struct boot_links *all, struct turn *turn)
{
    all->turn = turn;
}

bool boot_links_pump(struct boot_links *all)
{
    const int64_t now_ms = sys_mono_ms();
    if (all->held)
        boot_requests_pump(all);
    for (uint32_t i = 0; i < all->count; i++) {
        struct boot_link *l = all->links[i];
        if (!l->node_id && now_ms - l->opened_ms > HELLO_WAIT_MS)
            boot_link_end(l, "it sent no HELLO");
        boot_publish_pump(l);
        boot_link_flush(l);
    }
    if (turn_seen(all->turn) == turn_durable(all->turn))
        all->config_turn = turn_durable(all->turn);
    for (uint32_t i = 0; i < all->count;) {
        struct boot_link *l = all->links[i];
        if (!l->is_ending) {
            i++;
            continue;
        }
        all->links[i] = all->links[--all->count];
        boot_link_close(l);
    }
    return turn_core(all->turn) && boot_notices_submit(all);
}

const struct boot_seen *boot_links_seen(const struct boot_links *all)
{
    return all->seen;
}

bool boot_links_next(const struct boot_links *all, int64_t after, struct arena *a,
                     struct boot_link_state *out)
{
    const struct boot_link *found = NULL;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct boot_link *l = all->links[i];
        if (l->node_id > after && !l->is_ending && (!found || l->node_id < found->node_id))
            found = l;
    }
    if (!found)
        return false;
    *out = (struct boot_link_state){.node_id = found->node_id,
                                    .interfaces = found->interfaces,
                                    .version = found->version,
                                    .status = str_copy(a, str_from(found->status)),
                                    .http_port = found->http_port,
                                    .sent_turn = found->sent_turn,
                                    .taken_turn = found->taken_turn,
                                    .connected_ms = found->connected_ms,
                                    .waiting = link_waiting(&found->link),
                                    .counts = {found->counts, found->counts_len},
                                    .seen_dropped = found->seen_dropped,
                                    .foreign = found->foreign,
                                    .foreign_interface = str_from(found->foreign_interface)};
    return true;
}
