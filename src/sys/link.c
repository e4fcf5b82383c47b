#define _GNU_SOURCE /* MSG_NOSIGNAL with send, O_NONBLOCK by fcntl */
#include "sys/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two byte buffers per socket. Consumed bytes are removed lazily: the buffer is compacted only when
 * space for more is needed. After an error the caller closes the link; nothing is retried here
 * except EINTR. */

enum {
    LINK_READ_SIZE = 64 << 10,  /* bytes of one recv(2) */
    LINK_KEPT_SIZE = 128 << 10, /* an empty buffer that is larger is freed */
};

/* ---- buffers ---- */

/* Space for `more` bytes behind those in use: compact first, then grow. */
static char *link_reserve(struct link_bytes *b, uint32_t more)
{
    if (b->from == b->len)
        b->from = b->len = 0;
    if (more <= b->cap - b->len)
        return b->at + b->len;
    if (b->from) {
        memmove(b->at, b->at + b->from, b->len - b->from);
        b->len -= b->from;
        b->from = 0;
    }
    if (more > b->cap - b->len) {
        uint32_t cap = b->cap ? b->cap : 4096;
        while (cap - b->len < more)
            cap *= 2;
        b->at = realloc(b->at, cap);
        must(b->at);
        b->cap = cap;
    }
    return b->at + b->len;
}

/* Free the buffer that one large frame has left behind. */
static void link_release_large(struct link_bytes *b)
{
    if (b->from < b->len || b->cap <= LINK_KEPT_SIZE)
        return;
    free(b->at);
    *b = (struct link_bytes){0};
}

bool link_init(struct link *l, int fd)
{
    *l = (struct link){.fd = fd};
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

void link_fini(struct link *l)
{
    if (l->fd >= 0)
        ignore(close(l->fd), "the descriptor is closed in any case");
    free(l->in.at);
    free(l->out.at);
    *l = (struct link){.fd = -1};
}

/* ---- reading ---- */

err link_fill(struct link *l)
{
    link_release_large(&l->in);
    char *at = link_reserve(&l->in, LINK_READ_SIZE);
    ssize_t n;
    do {
        n = recv(l->fd, at, LINK_READ_SIZE, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return OK;
    if (n <= 0)
        return ERR_UNAVAILABLE;
    l->in.len += (uint32_t)n;
    return OK;
}

err link_take(struct link *l, uint32_t body_max, struct str *out_body)
{
    const uint32_t have = l->in.len - l->in.from;
    const uint8_t *at = (const uint8_t *)l->in.at + l->in.from;
    if (have < LINK_LENGTH_SIZE)
        return ERR_NOT_FOUND;
    const uint32_t size =
        at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    if (size == 0 || size > body_max)
        return ERR_CORRUPT;
    if (have - LINK_LENGTH_SIZE < size)
        return ERR_NOT_FOUND;
    *out_body = (struct str){l->in.at + l->in.from + LINK_LENGTH_SIZE, size};
    l->in.from += LINK_LENGTH_SIZE + size;
    return OK;
}

/* ---- writing ---- */

err link_put(struct link *l, struct str frame, uint32_t waiting_max)
{
    if (frame.len > waiting_max || link_waiting(l) > waiting_max - frame.len)
        return ERR_LIMIT;
    memcpy(link_reserve(&l->out, frame.len), frame.at, frame.len);
    l->out.len += frame.len;
    return OK;
}

uint32_t link_waiting(const struct link *l)
{
    return l->out.len - l->out.from;
}

err link_flush(struct link *l)
{
    while (l->out.from < l->out.len) {
        const ssize_t n =
            send(l->fd, l->out.at + l->out.from, l->out.len - l->out.from, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return OK;
        if (n < 0)
            return ERR_UNAVAILABLE;
        l->out.from += (uint32_t)n;
    }
    link_release_large(&l->out);
    return OK;
}

bool link_is_waiting(const struct link *l)
{
    return l->out.from < l->out.len;
}
