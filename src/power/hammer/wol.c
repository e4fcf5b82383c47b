/* wol.c - driver for Wake-on-LAN: switches a machine on with magic packets.
 *
 * The endpoint is the broadcast address of the machine's network. The port is that of the endpoint,
 * or extra.port, or 9. extra.mac is the MAC address of the network card, or a list of them; the
 * authenticator may be the SecureOn password, written as a MAC address. There is no reply: success
 * means that the packets were sent. Each packet is sent three times, because UDP may lose it.
 *
 * Lifetime: the operation (struct power_op) ends with power_op_end() or power_op_fail(), at its
 * deadline, or when it is cancelled. In each case wol_stop() is called before the end is reported;
 * for power_op_end() and power_op_fail() that is during the call. Sends are asynchronous and may
 * outlive the operation, so `struct wol` is allocated separately: wol_stop() detaches it from the
 * operation and closes the socket; libuv then cancels the remaining sends, calls wol_on_sent() for
 * each, and after that wol_on_socket_closed(), which frees it.
 *
 * Order in wol_start(): op->job is set as soon as the socket exists and before anything else can
 * fail, because wol_stop() finds the socket through it. After a failure neither the operation nor
 * op->job may be used.
 *
 * Failure: a wrong setting ends the operation before any packet is sent. A socket error ends it as
 * unreachable; packets that were sent before it are not taken back. Nothing is retried here.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "power/hammer/power_op.h"
#include "power/hammer/wol_packet.h"

enum { MACS_MAX = 8, SENDS_PER_MAC = 3, PORT_DEFAULT = 9 };

struct wol {
    struct power_op *op; /* NULL: the operation has ended */
    uv_udp_t socket;
    uv_udp_send_t sends[MACS_MAX * SENDS_PER_MAC];
    uint8_t packets[MACS_MAX][WOL_PACKET_MAX]; /* one for each MAC address */
    uint32_t packet_size;                      /* bytes; the same for all packets */
    uint32_t mac_count;
    uint32_t sends_pending; /* sends that wol_on_sent() has not been called for */
    int send_error;         /* libuv error of the last failed send; 0: none */
};

static void wol_on_socket_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* The last send of all ends the operation, unless it has ended already. */
static void wol_on_sent(uv_udp_send_t *send, int status)
{
    struct wol *wol = send->data;
    struct power_op *op = wol->op;
    if (status < 0)
        wol->send_error = status;
    if (--wol->sends_pending > 0 || !op)
        return;
    if (wol->send_error)
        power_op_fail(op, HAMMER_END_UNREACHABLE,
                      "the Wake-on-LAN packet could not be sent to %.*s: %s",
                      STR_FMT_ARGS(op->hammer.endpoint), uv_strerror(wol->send_error));
    else
        power_op_end(op, NULL, "sent %u Wake-on-LAN packets for node \"%.*s\" to %.*s",
                     wol->mac_count * SENDS_PER_MAC, STR_FMT_ARGS(op->order.node_name),
                     STR_FMT_ARGS(op->hammer.endpoint));
}

/* ---- settings and packets ---- */

/* Writes the packet for one MAC address. False: a setting is wrong, and the operation has ended;
 * the same applies to the next two functions. */
static bool wol_add_mac(struct power_op *op, struct wol *wol, const struct json *item,
                        struct str password)
{
    struct wol_mac mac;
    struct wol_mac secret;
    const bool is_valid =
        item->kind == JSON_STRING && wol_mac_parse(item->text, &mac) && wol->mac_count < MACS_MAX;
    if (!is_valid) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "extra.mac must be a MAC address, or a list of at most %d", MACS_MAX);
        return false;
    }
    if (password.len && !wol_mac_parse(password, &secret)) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "the authenticator must be a SecureOn password, written as a MAC address");
        return false;
    }
    wol->packet_size =
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

/* Starts all sends, in rounds over the MAC addresses. Returns a libuv error; sends that were
 * started before it continue until the socket is closed. libuv calls wol_on_sent() from the loop
 * and never from uv_udp_send(), so the count cannot reach 0 before all sends are started. */
static int wol_send_all(struct wol *wol, const struct sockaddr *target)
{
    for (uint32_t i = 0; i < wol->mac_count * SENDS_PER_MAC; i++) {
        const uv_buf_t buf =
            uv_buf_init((char *)wol->packets[i % wol->mac_count], wol->packet_size);
        wol->sends[i].data = wol;
        const int error = uv_udp_send(&wol->sends[i], &wol->socket, &buf, 1, target, wol_on_sent);
        if (error)
            return error;
        wol->sends_pending++;
    }
    return 0;
}

/* Allows broadcasts, for which the socket must be bound first: only then it has a descriptor. IPv6
 * has no broadcast, and libuv binds the socket at the first send. Returns a libuv error. */
static int wol_allow_broadcast(struct wol *wol, const struct sockaddr *target)
{
    const struct sockaddr_in any = {.sin_family = AF_INET};
    if (target->sa_family != AF_INET)
        return 0;
    const int error = uv_udp_bind(&wol->socket, (const struct sockaddr *)(const void *)&any, 0);
    return error ? error : uv_udp_set_broadcast(&wol->socket, 1);
}

static void wol_start(struct power_op *op)
{
    struct sockaddr_storage target = {0};
    const struct sockaddr *to = (const struct sockaddr *)(const void *)&target;
    struct wol *wol = calloc(1, sizeof *wol);
    must(wol);
    const int init_error = uv_udp_init(op->deadline.loop, &wol->socket);
    if (init_error) {
        free(wol); /* op->job is NULL, so wol_stop() does nothing */
        power_op_fail(op, HAMMER_END_UNREACHABLE, "no socket can be opened: %s",
                      uv_strerror(init_error));
        return;
    }
    wol->op = op;
    wol->socket.data = wol;
    op->job = wol; /* from here on wol_stop() closes the socket */
    if (!wol_read_target(op, &target) || !wol_read_macs(op, wol))
        return;
    int error = wol_allow_broadcast(wol, to);
    if (!error)
        error = wol_send_all(wol, to);
    if (error)
        power_op_fail(op, HAMMER_END_UNREACHABLE,
                      "the Wake-on-LAN packet could not be sent to %.*s: %s",
                      STR_FMT_ARGS(op->hammer.endpoint), uv_strerror(error));
}

/* Called once at the end of every started operation. */
static void wol_stop(struct power_op *op)
{
    struct wol *wol = op->job;
    if (!wol)
        return;
    wol->op = NULL;
    uv_close((uv_handle_t *)&wol->socket, wol_on_socket_closed);
}

const struct power_op_class wol_class = {.name = "wol", .start = wol_start, .stop = wol_stop};
