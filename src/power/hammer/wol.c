/* wol.c - driver for Wake-on-LAN: switches a machine on with magic packets.
 *
 * The endpoint is the broadcast address of the machine's network, with a port if it is not 9.
 * extra.mac is the MAC address of its network card, or a list of them; the authenticator may be the
 * SecureOn password, written as a MAC address. There is no reply: success means that the packets
 * were sent. Each packet is sent three times, because UDP may lose it.
 *
 * Sends are asynchronous and may outlive the operation, so `struct wol` is allocated separately and
 * freed when libuv has closed the socket, which completes all sends.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "power/hammer/power_op.h"
#include "power/hammer/wol_packet.h"

enum { MACS_MAX = 8, TIMES = 3, PORT_DEFAULT = 9 };

struct wol {
    struct power_op *op; /* NULL: the operation has ended */
    uv_udp_t socket;
    uv_udp_send_t sends[MACS_MAX * TIMES];
    uint8_t packets[MACS_MAX][WOL_PACKET_MAX];
    uint32_t size; /* of each packet, in bytes */
    uint32_t mac_count;
    uint32_t left; /* sends in progress */
    int failed;    /* libuv error of a send; 0: none */
};

static void wol_on_socket_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void wol_on_sent(uv_udp_send_t *send, int status)
{
    struct wol *wol = send->data;
    struct power_op *op = wol->op;
    if (status < 0)
        wol->failed = status;
    if (--wol->left > 0 || !op)
        return;
    if (wol->failed)
        power_op_fail(op, HAMMER_END_UNREACHABLE,
                      "the Wake-on-LAN packet could not be sent to %.*s: %s",
                      STR_FMT_ARGS(op->hammer.endpoint), uv_strerror(wol->failed));
    else
        power_op_end(op, NULL, "sent %u Wake-on-LAN packets for node \"%.*s\" to %.*s",
                     wol->mac_count * TIMES, STR_FMT_ARGS(op->order.node_name),
                     STR_FMT_ARGS(op->hammer.endpoint));
}

/* ---- packets ---- */

static bool wol_add_mac(struct power_op *op, struct wol *wol, const struct json *item,
                        struct str password)
{
    struct wol_mac mac;
    struct wol_mac secret;
    const bool is_fine =
        item->kind == JSON_STRING && wol_mac_parse(item->text, &mac) && wol->mac_count < MACS_MAX;
    if (!is_fine) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "extra.mac must be a MAC address, or a list of at most %d", MACS_MAX);
        return false;
    }
    if (password.len && !wol_mac_parse(password, &secret)) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "the authenticator must be a SecureOn password, written as a MAC address");
        return false;
    }
    wol->size =
        wol_packet_write(wol->packets[wol->mac_count++], &mac, password.len ? &secret : NULL);
    return true;
}

static bool wol_read_macs(struct power_op *op, struct wol *wol)
{
    const struct json *mac = json_get(op->extra, STR("mac"));
    if (!mac || (mac->kind == JSON_ARRAY && mac->count == 0)) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "extra.mac is required: the MAC address of the network card");
        return false;
    }
    if (mac->kind != JSON_ARRAY)
        return wol_add_mac(op, wol, mac, op->hammer.authenticator);
    for (const struct json *item = mac->first; item; item = item->next)
        if (!wol_add_mac(op, wol, item, op->hammer.authenticator))
            return false;
    return true;
}

static bool wol_read_target(struct power_op *op, struct sockaddr_storage *out_target)
{
    struct power_op_address address;
    if (!power_op_address(op, &address))
        return false;
    const char *host = power_op_z(op, address.host);
    const int port = address.port ? (int)address.port : PORT_DEFAULT;
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)(void *)out_target) == 0 ||
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)(void *)out_target) == 0)
        return true;
    power_op_fail(op, HAMMER_END_SETTING, "the endpoint \"%.*s\" is not an IP address",
                  STR_FMT_ARGS(op->hammer.endpoint));
    return false;
}

/* ---- sending ---- */

static int wol_send_all(struct wol *wol, const struct sockaddr *target)
{
    for (uint32_t i = 0; i < wol->mac_count * TIMES; i++) {
        const uv_buf_t buf = uv_buf_init((char *)wol->packets[i % wol->mac_count], wol->size);
        wol->sends[i].data = wol;
        const int failed = uv_udp_send(&wol->sends[i], &wol->socket, &buf, 1, target, wol_on_sent);
        if (failed)
            return failed;
        wol->left++;
    }
    return 0;
}

static int wol_open_socket(struct wol *wol, const struct sockaddr *target)
{
    const struct sockaddr_in any = {.sin_family = AF_INET};
    if (target->sa_family != AF_INET)
        return 0;
    const int failed = uv_udp_bind(&wol->socket, (const struct sockaddr *)(const void *)&any, 0);
    return failed ? failed : uv_udp_set_broadcast(&wol->socket, 1);
}

static void wol_start(struct power_op *op)
{
    struct sockaddr_storage target = {0};
    const struct sockaddr *to = (const struct sockaddr *)(const void *)&target;
    struct wol *wol = calloc(1, sizeof *wol);
    must(wol);
    const int unmade = uv_udp_init(op->deadline.loop, &wol->socket);
    if (unmade) {
        free(wol);
        power_op_fail(op, HAMMER_END_UNREACHABLE, "no socket can be opened: %s",
                      uv_strerror(unmade));
        return;
    }
    wol->op = op;
    wol->socket.data = wol;
    op->job = wol;
    if (!wol_read_target(op, &target) || !wol_read_macs(op, wol))
        return;
    int failed = wol_open_socket(wol, to);
    if (!failed)
        failed = wol_send_all(wol, to);
    if (failed)
        power_op_fail(op, HAMMER_END_UNREACHABLE,
                      "the Wake-on-LAN packet could not be sent to %.*s: %s",
                      STR_FMT_ARGS(op->hammer.endpoint), uv_strerror(failed));
}

static void wol_stop(struct power_op *op)
{
    struct wol *wol = op->job;
    if (!wol)
        return;
    wol->op = NULL;
    uv_close((uv_handle_t *)&wol->socket, wol_on_socket_closed);
}

const struct power_op_class wol_class = {.name = "wol", .start = wol_start, .stop = wol_stop};
