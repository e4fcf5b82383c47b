/* wol.c - waking a machine that sleeps by the magic packet.
 *
 * The endpoint is where it is sent: the broadcast address of the machine's network, with a port if
 * it is not 9. extra.mac is the address of its card, or a list of them; the authenticator may be
 * the password some cards want, written as a MAC address. Nobody answers: what is done is that the
 * packets were sent.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "power/hammer/power_op.h"
#include "power/hammer/wol_packet.h"

enum { MACS_MAX = 8, TIMES = 3, PORT_DEFAULT = 9 };

/* Outlives the work: the loop may still be sending when that ends. */
struct wol {
    struct power_op *work; /* NULL: it is gone */
    uv_udp_t socket;
    uv_udp_send_t sends[MACS_MAX * TIMES];
    uint8_t packets[MACS_MAX][WOL_PACKET_MAX];
    uint32_t size;
    uint32_t mac_count;
    uint32_t left; /* of the sends */
    int failed;
};

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void sent(uv_udp_send_t *send, int status)
{
    struct wol *wol = send->data;
    struct power_op *w = wol->work;
    if (status < 0)
        wol->failed = status;
    if (--wol->left > 0 || !w)
        return;
    if (wol->failed)
        power_op_fail(w, HAMMER_END_UNREACHABLE, "the packet could not be sent to %.*s: %s",
                      STR_FMT_ARGS(w->hammer.endpoint), uv_strerror(wol->failed));
    else
        power_op_end(w, NULL, "node \"%.*s\" was called by %u packets to %.*s",
                     STR_FMT_ARGS(w->order.node_name), wol->mac_count * TIMES,
                     STR_FMT_ARGS(w->hammer.endpoint));
}

/* ---- what to send ---- */

static bool add_mac(struct power_op *w, struct wol *wol, const struct json *item,
                    struct str password)
{
    struct wol_mac mac;
    struct wol_mac secret;
    const bool is_fine =
        item->kind == JSON_STRING && wol_mac_parse(item->text, &mac) && wol->mac_count < MACS_MAX;
    if (!is_fine) {
        power_op_fail(w, HAMMER_END_SETTING,
                      "extra.mac must be a MAC address, or a list of at most %d", MACS_MAX);
        return false;
    }
    if (password.len && !wol_mac_parse(password, &secret)) {
        power_op_fail(w, HAMMER_END_SETTING,
                      "the password of Wake-on-LAN is written as a MAC address");
        return false;
    }
    wol->size =
        wol_packet_write(wol->packets[wol->mac_count++], &mac, password.len ? &secret : NULL);
    return true;
}

static bool read_macs(struct power_op *w, struct wol *wol)
{
    const struct json *mac = json_get(w->extra, STR("mac"));
    if (!mac || (mac->kind == JSON_ARRAY && mac->count == 0)) {
        power_op_fail(w, HAMMER_END_SETTING, "extra.mac is required: the card to be woken");
        return false;
    }
    if (mac->kind != JSON_ARRAY)
        return add_mac(w, wol, mac, w->hammer.authenticator);
    for (const struct json *item = mac->first; item; item = item->next)
        if (!add_mac(w, wol, item, w->hammer.authenticator))
            return false;
    return true;
}

static bool read_target(struct power_op *w, struct sockaddr_storage *out_target)
{
    struct power_op_address address;
    if (!power_op_address(w, &address))
        return false;
    const char *host = power_op_z(w, address.host);
    const int port = address.port ? (int)address.port : PORT_DEFAULT;
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)(void *)out_target) == 0 ||
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)(void *)out_target) == 0)
        return true;
    power_op_fail(w, HAMMER_END_SETTING, "the endpoint \"%.*s\" is no IP address",
                  STR_FMT_ARGS(w->hammer.endpoint));
    return false;
}

/* ---- sending ---- */

static int send_all(struct wol *wol, const struct sockaddr *target)
{
    for (uint32_t i = 0; i < wol->mac_count * TIMES; i++) {
        const uv_buf_t buf = uv_buf_init((char *)wol->packets[i % wol->mac_count], wol->size);
        wol->sends[i].data = wol;
        const int failed = uv_udp_send(&wol->sends[i], &wol->socket, &buf, 1, target, sent);
        if (failed)
            return failed;
        wol->left++;
    }
    return 0;
}

static int open_socket(struct wol *wol, const struct sockaddr *target)
{
    const struct sockaddr_in any = {.sin_family = AF_INET};
    if (target->sa_family != AF_INET)
        return 0;
    const int failed = uv_udp_bind(&wol->socket, (const struct sockaddr *)(const void *)&any, 0);
    return failed ? failed : uv_udp_set_broadcast(&wol->socket, 1);
}

static void start(struct power_op *w)
{
    struct sockaddr_storage target = {0};
    const struct sockaddr *to = (const struct sockaddr *)(const void *)&target;
    struct wol *wol = calloc(1, sizeof *wol);
    must(wol);
    const int unmade = uv_udp_init(w->deadline.loop, &wol->socket);
    if (unmade) {
        free(wol);
        power_op_fail(w, HAMMER_END_UNREACHABLE, "no socket can be opened: %s",
                      uv_strerror(unmade));
        return;
    }
    wol->work = w;
    wol->socket.data = wol;
    w->job = wol;
    if (!read_target(w, &target) || !read_macs(w, wol))
        return;
    int failed = open_socket(wol, to);
    if (!failed)
        failed = send_all(wol, to);
    if (failed)
        power_op_fail(w, HAMMER_END_UNREACHABLE, "the packet could not be sent to %.*s: %s",
                      STR_FMT_ARGS(w->hammer.endpoint), uv_strerror(failed));
}

static void stop(struct power_op *w)
{
    struct wol *wol = w->job;
    if (!wol)
        return;
    wol->work = NULL;
    uv_close((uv_handle_t *)&wol->socket, closed);
}

const struct power_op_class wol_class = {.name = "wol", .start = start, .stop = stop};
