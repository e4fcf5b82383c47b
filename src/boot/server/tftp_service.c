#define _GNU_SOURCE /* recvmmsg, struct in_pktinfo */
/* tftp_service.c - transfers in the libuv loop.
 *
 * A transfer is allocated for its request, with a poll handle and a timer, and freed when both are
 * closed. Its socket is connected to the client, so that the kernel drops packets of others and
 * reports a client that has closed its port. A request that is repeated while its transfer begins
 * is ignored, because the answer is on its way.
 *
 * Failure: a packet that cannot be sent counts as lost, and is sent again after a timeout. */
#include "boot/server/tftp_service.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "boot/server/boot_files.h"

enum {
    BATCH = 32,          /* packets of one recvmmsg(2) or sendmmsg(2) */
    BATCHES = 4,         /* of one callback */
    REQUEST_SIZE = 1500, /* bytes; a longer request is cut, and refused by the parser */
    CONTROL = 128,       /* bytes of control messages */
    PACKET_SIZE = 65536  /* bytes of a packet with data */
};

struct tftp_transfer {
    struct tftp_transfer *next;
    struct tftp_service *service;
    uv_poll_t poll;
    uv_timer_t timer;
    uint32_t open_handles;
    int fd;
    uint32_t slot;
    struct sockaddr_in peer;
    struct tftp_session session;
    struct arena arena; /* of a text */
    struct str text;
    struct boot_file file; /* fd -1: a text */
    uint64_t size;
    char name[TFTP_NAME_MAX];
    uint32_t name_len;
};

static struct {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct sockaddr_in sources[BATCH];
    _Alignas(struct cmsghdr) char controls[BATCH][CONTROL];
    char bytes[BATCH][REQUEST_SIZE];
} received; /* one thread, one callback at a time */

static uint8_t packets[BATCH][PACKET_SIZE];

/* ---- contents ---- */

static bool transfer_read(void *self, uint64_t offset, void *buffer, uint32_t size)
{
    const struct tftp_transfer *t = self;
    if (t->file.fd < 0) {
        memcpy(buffer, t->text.at + offset, size);
        return true;
    }
    for (uint32_t done = 0; done < size;) {
        const ssize_t n =
            pread(t->file.fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false; /* the file was cut, or the disk failed */
        done += (uint32_t)n;
    }
    return true;
}

/* ---- ends ---- */

static void transfer_on_closed(uv_handle_t *handle)
{
    struct tftp_transfer *t = handle->data;
    if (--t->open_handles > 0)
        return;
    ignore(close(t->fd), "every packet was sent or lost");
    boot_file_close(&t->file);
    arena_fini(&t->arena);
    free(t);
}

static void transfer_close(struct tftp_transfer *t)
{
    struct tftp_transfer **link = &t->service->transfers;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    t->service->count--;
    uv_close((uv_handle_t *)&t->poll, transfer_on_closed);
    uv_close((uv_handle_t *)&t->timer, transfer_on_closed);
}

static void transfer_end(struct tftp_transfer *t)
{
    const struct tftp_service_callbacks *callbacks = &t->service->callbacks;
    const bool is_sent = t->session.state == TFTP_DONE;
    callbacks->ended(callbacks->self, ntohl(t->peer.sin_addr.s_addr),
                     (struct str){t->name, t->name_len}, is_sent, t->size);
    transfer_close(t);
}

/* ---- sending ---- */

static void transfer_flush(struct tftp_transfer *t, struct mmsghdr *messages, uint32_t count)
{
    for (uint32_t sent = 0; sent < count;) {
        const int n = sendmmsg(t->fd, messages + sent, count - sent, MSG_DONTWAIT);
        if (n <= 0 && errno == ECONNREFUSED)
            t->session.state = TFTP_FAILED; /* the client has closed its port */
        if (n <= 0)
            t->service->send_errors++;
        sent += n > 0 ? (uint32_t)n : 1;
    }
}

/* Sends what is due, and ends the transfer when it is over. */
static void transfer_send(struct tftp_transfer *t)
{
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    uint32_t count = 0, size;
    while ((size = tftp_next_packet(&t->session, packets[count], PACKET_SIZE)) > 0) {
        parts[count] = (struct iovec){packets[count], size};
        messages[count] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[count], .msg_iovlen = 1}};
        if (++count < BATCH)
            continue;
        transfer_flush(t, messages, count);
        count = 0;
    }
    transfer_flush(t, messages, count);
    if (t->session.state != TFTP_SENDING)
        transfer_end(t);
}

static void transfer_on_timer(uv_timer_t *timer);

static void transfer_set_timer(struct tftp_transfer *t)
{
    must(uv_timer_start(&t->timer, transfer_on_timer, t->session.timeout_ms, 0) == 0);
}

static void transfer_on_timer(uv_timer_t *timer)
{
    struct tftp_transfer *t = timer->data;
    tftp_timeout(&t->session);
    transfer_set_timer(t);
    transfer_send(t);
}

static void transfer_on_poll(uv_poll_t *poll, int status, int events)
{
    struct tftp_transfer *t = poll->data;
    bool has_progress = false;
    (void)events;
    /* libuv stops the handle after an error, such as EHOSTUNREACH; recv() consumes the error. */
    if (status < 0)
        must(uv_poll_start(poll, UV_READABLE, transfer_on_poll) == 0);
    for (int i = 0; i < BATCH && t->session.state == TFTP_SENDING; i++) {
        char bytes[REQUEST_SIZE];
        const ssize_t n = recv(t->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && errno == ECONNREFUSED)
            t->session.state = TFTP_FAILED;
        if (n < 0)
            break;
        has_progress |= tftp_receive(&t->session, (struct str){bytes, (uint32_t)n});
    }
    if (has_progress)
        transfer_set_timer(t);
    transfer_send(t);
}

/* ---- requests ---- */

/* A request as it was received. */
struct incoming {
    struct tftp_listener *listener;
    const struct interface *interface;
    struct sockaddr_in peer;
    uint32_t local; /* address to which it was sent */
    struct tftp_request request;
};

static void listener_send_error(const struct incoming *in, enum tftp_error code, struct str message)
{
    uint8_t bytes[TFTP_ERROR_SIZE_MAX];
    const uint32_t size = tftp_put_error(bytes, code, message);
    if (sendto(in->listener->fd, bytes, size, MSG_DONTWAIT,
               (const struct sockaddr *)(const void *)&in->peer, sizeof in->peer) < 0)
        in->listener->service->send_errors++;
}

/* False: the request is to be dropped. */
static bool service_may_begin(struct tftp_service *s, const struct incoming *in)
{
    uint32_t of_client = 0;
    for (const struct tftp_transfer *t = s->transfers; t; t = t->next) {
        if (t->peer.sin_addr.s_addr != in->peer.sin_addr.s_addr)
            continue;
        if (t->peer.sin_port == in->peer.sin_port)
            return false;
        of_client++;
    }
    if (s->count < TFTP_TRANSFERS_MAX && of_client < TFTP_TRANSFERS_OF_CLIENT_MAX)
        return true;
    s->dropped++;
    return false;
}

static bool transfer_open_socket(struct tftp_transfer *t, const struct incoming *in)
{
    t->fd = boot_sockets_open_transfer(in->interface, in->local);
    if (t->fd < 0)
        return false;
    if (connect(t->fd, (const struct sockaddr *)(const void *)&in->peer, sizeof in->peer) == 0 &&
        uv_poll_init(t->service->loop, &t->poll, t->fd) == 0)
        return true;
    ignore(close(t->fd), "nothing was sent");
    return false;
}

/* Takes over `t`, whose content is open. */
static void transfer_begin(struct tftp_transfer *t, const struct incoming *in)
{
    struct tftp_service *s = t->service;
    if (!transfer_open_socket(t, in)) {
        boot_file_close(&t->file);
        arena_fini(&t->arena);
        free(t);
        s->dropped++;
        return;
    }
    must(uv_timer_init(s->loop, &t->timer) == 0);
    t->poll.data = t->timer.data = t;
    t->open_handles = 2;
    t->next = s->transfers;
    s->transfers = t;
    s->count++;
    const struct tftp_content content = {.self = t, .size = t->size, .read = transfer_read};
    tftp_open(&t->session, &in->request, content, in->interface->mtu);
    must(uv_poll_start(&t->poll, UV_READABLE, transfer_on_poll) == 0);
    transfer_set_timer(t);
    transfer_send(t);
}

/* Opens the content of the name. False: there is none. */
static bool transfer_find(struct tftp_transfer *t, const struct incoming *in)
{
    const struct tftp_service *s = t->service;
    const struct tftp_query query = {.interface = in->interface,
                                     .client = ntohl(in->peer.sin_addr.s_addr),
                                     .name = tftp_name(&in->request)};
    const enum tftp_found found = s->callbacks.find(s->callbacks.self, &query, &t->arena, &t->text);
    if (found == TFTP_FOUND_TEXT) {
        t->size = t->text.len;
        return true;
    }
    if (found == TFTP_FOUND_NOTHING || s->files_fd < 0 ||
        boot_files_open(s->files_fd, query.name, &t->file) != OK) {
        t->file.fd = -1;
        return false;
    }
    t->size = t->file.size;
    return true;
}

static void service_begin(struct tftp_service *s, const struct incoming *in)
{
    const struct str name = tftp_name(&in->request);
    if (!service_may_begin(s, in))
        return;
    struct tftp_transfer *t = calloc(1, sizeof *t);
    must(t);
    t->service = s;
    t->slot = in->listener->slot;
    t->peer = in->peer;
    t->file.fd = -1;
    t->name_len = name.len;
    memcpy(t->name, name.at, name.len);
    if (transfer_find(t, in)) {
        transfer_begin(t, in);
        return;
    }
    listener_send_error(in, TFTP_ERROR_NOT_FOUND, STR("there is no such file"));
    s->callbacks.ended(s->callbacks.self, ntohl(in->peer.sin_addr.s_addr), name, false, 0);
    arena_fini(&t->arena);
    free(t);
}

/* Sets the address to which a packet was sent; false if that is not one of ours, or unknown. */
static bool incoming_read_address(struct incoming *in, struct msghdr *header)
{
    struct in_pktinfo info;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_PKTINFO ||
            c->cmsg_len < CMSG_LEN(sizeof info))
            continue;
        memcpy(&info, CMSG_DATA(c), sizeof info);
        in->local = ntohl(info.ipi_addr.s_addr);
        /* A broadcast has another destination (RFC 1123, 4.2.3.4). */
        return info.ipi_addr.s_addr == info.ipi_spec_dst.s_addr &&
               (uint32_t)info.ipi_ifindex == in->interface->index;
    }
    return false;
}

static void listener_take(struct tftp_listener *l, uint32_t i)
{
    struct tftp_service *s = l->service;
    struct msghdr *header = &received.messages[i].msg_hdr;
    struct incoming in = {
        .listener = l, .interface = &s->interfaces->list[l->slot], .peer = received.sources[i]};
    struct tftp_refusal refusal;
    if ((header->msg_flags & MSG_TRUNC) || !incoming_read_address(&in, header) ||
        !s->callbacks.is_on(s->callbacks.self))
        return;
    const struct str bytes = {received.bytes[i], received.messages[i].msg_len};
    switch (tftp_parse_request(bytes, &in.request, &refusal)) {
    case TFTP_READ: service_begin(s, &in); break;
    case TFTP_REFUSED: listener_send_error(&in, refusal.code, refusal.message); break;
    case TFTP_IGNORED: break;
    }
}

static void listener_on_poll(uv_poll_t *poll, int status, int events)
{
    struct tftp_listener *l = poll->data;
    (void)events;
    if (status < 0)
        must(uv_poll_start(poll, UV_READABLE, listener_on_poll) == 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            received.parts[i] = (struct iovec){received.bytes[i], REQUEST_SIZE};
            received.messages[i].msg_hdr =
                (struct msghdr){.msg_name = &received.sources[i],
                                .msg_namelen = sizeof received.sources[i],
                                .msg_iov = &received.parts[i],
                                .msg_iovlen = 1,
                                .msg_control = received.controls[i],
                                .msg_controllen = CONTROL};
        }
        const int count = recvmmsg(l->fd, received.messages, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < count; i++)
            listener_take(l, (uint32_t)i);
        if (count < BATCH)
            return;
    }
}

/* ---- start and stop ---- */

void tftp_service_start(struct tftp_service *s, uv_loop_t *loop,
                        const struct interfaces *interfaces, const struct boot_sockets *sockets)
{
    s->loop = loop;
    s->interfaces = interfaces;
    for (uint32_t i = 0; i < interfaces->count; i++) {
        struct tftp_listener *l = &s->listeners[i];
        if (sockets[i].tftp < 0)
            continue;
        *l =
            (struct tftp_listener){.service = s, .slot = i, .fd = sockets[i].tftp, .is_open = true};
        must(uv_poll_init(loop, &l->poll, l->fd) == 0);
        l->poll.data = l;
        must(uv_poll_start(&l->poll, UV_READABLE, listener_on_poll) == 0);
    }
}

static void listener_close(struct tftp_listener *l)
{
    if (l->is_open)
        uv_close((uv_handle_t *)&l->poll, NULL);
    l->is_open = false;
}

void tftp_service_stop(struct tftp_service *s)
{
    while (s->transfers)
        transfer_close(s->transfers);
    for (uint32_t i = 0; i < BOOT_INTERFACES_MAX; i++)
        listener_close(&s->listeners[i]);
}

void tftp_service_update_interface(struct tftp_service *s, const struct interface *interface)
{
    const uint32_t slot = (uint32_t)(interface - s->interfaces->list);
    struct tftp_transfer *next;
    if (interface_is_served(interface))
        return;
    listener_close(&s->listeners[slot]);
    for (struct tftp_transfer *t = s->transfers; t; t = next) {
        next = t->next;
        if (t->slot == slot)
            transfer_close(t);
    }
}
