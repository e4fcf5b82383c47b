/* boot_uplink.c - the messages to and from the daemon.
 *
 * After WELCOME the daemon sends the boot view, which view_feed.c applies; each turn that is
 * applied is acknowledged. The view, the keys of tickets and the highest epoch are kept when the
 * connection is lost: machines are answered from the last state. A daemon with a lower epoch is
 * not accepted, because another one leads.
 *
 * Requests (leases, grants, documents) end with their answer, with the connection, or after a time;
 * each end is reported to its part. */
#include <string.h>

#include "base/err.h"
#include "boot/server/boot_files.h"
#include "boot/server/boot_server_private.h"
#include "sys/clock.h"
#include "sys/log.h"

enum {
    DIGEST_S = 3600, /* intervals of reports, in seconds */
    FILES_S = 15,
    COUNTS_S = 10
};

static const struct boot_settings *uplink_settings(const struct boot_server *s)
{
    return &s->feed.view->settings;
}

/* ---- reports ---- */

static void status_add(struct buf *text, struct str problem)
{
    if (problem.len == 0)
        return;
    if (text->len)
        buf_put_z(text, "; ");
    buf_put_str(text, problem);
}

/* What is configured and cannot be served. */
static struct str status_text(const struct boot_server *s, struct arena *a)
{
    const struct boot_settings *settings = uplink_settings(s);
    struct buf text = buf_in(a);
    if (!s->feed.is_sealed || (!settings->has_dhcp && !settings->has_provisioner))
        return STR("");
    status_add(&text, findings_of_service(&s->findings, SERVICE_PROGRAM, a));
    if (settings->has_dhcp && s->options->no_dhcp)
        status_add(&text, STR("halligan-boot was started with --no-dhcp"));
    if (settings->has_dhcp)
        status_add(&text, findings_of_service(&s->findings, SERVICE_DHCP, a));
    if (settings->has_provisioner) {
        status_add(&text, findings_of_service(&s->findings, SERVICE_TFTP, a));
        status_add(&text, findings_of_service(&s->findings, SERVICE_HTTP, a));
    }
    return str_clip(buf_str(&text), BOOT_STATUS_MAX);
}

void boot_uplink_send_status(struct boot_server *s)
{
    struct arena a = {0};
    const struct str text = status_text(s, &a);
    const struct boot_message message = {.kind = BOOT_MESSAGE_STATUS, .status.text = text};
    const bool is_news = !s->has_status || !str_eq(text, str_from(s->status));
    if (is_news && daemon_link_send(s->link, &message)) {
        memcpy(s->status, text.len ? text.at : "", text.len);
        s->status[text.len] = 0;
        s->has_status = true;
    }
    arena_fini(&a);
}

static bool files_are_available(const struct boot_server *s, const struct boot_bootenv *bootenv)
{
    if (bootenv->kernel.len && !boot_files_have(s->files_fd, bootenv->kernel))
        return false;
    for (uint32_t i = 0; i < bootenv->initrd_count; i++)
        if (!boot_files_have(s->files_fd, bootenv->initrds[i]))
            return false;
    return true;
}

static struct bootenv_report *files_find_report(struct boot_server *s, int64_t id, bool *out_is_new)
{
    struct bootenv_report *report = s->reports;
    while (report && report->id != id)
        report = report->next;
    *out_is_new = !report;
    if (report)
        return report;
    report = arena_new(&s->connection, struct bootenv_report);
    *report = (struct bootenv_report){.next = s->reports, .id = id};
    s->reports = report;
    return report;
}

/* Whether the files of each environment are there; only changes are reported. */
static void uplink_send_files(struct boot_server *s)
{
    const struct view *view = s->feed.view;
    struct arena a = {0};
    for (int64_t id = 0; (id = view_next_id(view, BOOT_BOOTENV, id)) != 0;) {
        struct boot_entry entry;
        bool is_new;
        if (!view_get(view, (struct boot_key){BOOT_BOOTENV, id}, &a, &entry))
            continue;
        struct bootenv_report *report = files_find_report(s, id, &is_new);
        const bool available = files_are_available(s, &entry.bootenv);
        const struct boot_message message = {
            .kind = BOOT_MESSAGE_FILES,
            .files = {.bootenv = entry.bootenv.name, .available = available}};
        if ((is_new || report->available != available) && daemon_link_send(s->link, &message))
            report->available = available;
    }
    arena_fini(&a);
}

static void uplink_send_digest(struct boot_server *s)
{
    struct arena a = {0};
    struct buf digest = buf_in(&a);
    boot_digest_write(view_digest(s->feed.view), &digest);
    ignore(
        !daemon_link_send(s->link, &(struct boot_message){.kind = BOOT_MESSAGE_DIGEST,
                                                          .digest = {.turn = s->feed.turn,
                                                                     .digest = buf_str(&digest)}}),
        "the next one follows");
    arena_fini(&a);
}

static void uplink_send_counts(struct boot_server *s)
{
    struct arena a = {0};
    struct buf counts = buf_in(&a);
    boot_counts_put(&s->counts, s->has_dhcp ? &s->dhcp.engine : NULL, &counts);
    ignore(!daemon_link_send(
               s->link, &(struct boot_message){.kind = BOOT_MESSAGE_COUNTS,
                                               .counts = {.seen_dropped = (int64_t)s->seen_dropped,
                                                          .counts = buf_str(&counts)}}),
           "the next one follows");
    arena_fini(&a);
}

void boot_uplink_see(struct boot_server *s, const struct boot_msg_seen *seen)
{
    struct boot_message message = {.kind = BOOT_MESSAGE_SEEN, .seen = *seen};
    message.seen.wall_ms = sys_now_ms();
    message.seen.detail = str_clip(seen->detail, BOOT_STATUS_MAX);
    if (!daemon_link_send(s->link, &message))
        s->seen_dropped++;
}

/* ---- the connection ---- */

static void uplink_hello(void *self, struct boot_msg_hello *out_hello)
{
    struct boot_server *s = self;
    arena_reset(&s->connection);
    s->reports = NULL;
    s->has_status = false;
    struct buf names = buf_in(&s->connection);
    for (uint32_t i = 0; i < s->interfaces.count; i++)
        if (interface_is_served(&s->interfaces.list[i]))
            boot_list_add(&names, str_from(s->interfaces.list[i].name));
    *out_hello = (struct boot_msg_hello){
        .version = BOOT_PROTO_VERSION,
        .installation = str_from(s->installation),
        .epoch = s->epoch,
        .admin_node = str_from(s->options->node),
        .interfaces = buf_str(&names),
        .http_port = s->options->http_port,
        .program = str_from(s->version),
    };
}

static bool uplink_connected(void *self, const struct boot_msg_welcome *welcome)
{
    struct boot_server *s = self;
    const bool is_same = str_eq(welcome->installation, str_from(s->installation));
    if (is_same && welcome->epoch < s->epoch) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("epoch", welcome->epoch), LOG_I64("seen", s->epoch)),
                 "halligand has an old epoch, so another one leads: this one is not followed");
        return false;
    }
    if (s->installation[0] && !is_same) {
        log_print(LOG_ERROR,
                  "halligand is of another installation than the one before: this one is "
                  "not followed; restart halligan-boot if that is intended");
        return false;
    }
    if (welcome->installation.len >= sizeof s->installation)
        return false;
    memcpy(s->installation, welcome->installation.len ? welcome->installation.at : "",
           welcome->installation.len);
    s->installation[welcome->installation.len] = 0;
    s->epoch = welcome->epoch;
    memcpy(s->key.bytes, welcome->ticket_key.at, sizeof s->key.bytes);
    s->has_key = true;
    s->has_old_key = welcome->old_key.len != 0;
    if (s->has_old_key)
        memcpy(s->old_key.bytes, welcome->old_key.at, sizeof s->old_key.bytes);
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_S("node", welcome->node_name), LOG_I64("epoch", welcome->epoch)),
             "connected to halligand");
    return true;
}

static void uplink_end_request(struct boot_server *s, const struct daemon_request *request)
{
    switch (request->kind) {
    case REQUEST_LEASE: dhcp_service_leased(&s->dhcp, request->token, DHCP_TAKE_AWAY); break;
    case REQUEST_GRANT: boot_replies_granted(s, request, NULL); break;
    case REQUEST_DOCUMENT: boot_replies_content(s, request, NULL); break;
    }
}

static void uplink_lost(void *self)
{
    struct boot_server *s = self;
    struct daemon_request request;
    view_feed_reset(&s->feed);
    while (daemon_requests_expire(&s->requests, INT64_MAX, &request))
        uplink_end_request(s, &request);
}

static bool uplink_feed(struct boot_server *s, const struct boot_message *m)
{
    const enum feed_result result = view_feed_take(&s->feed, m, sys_mono_ms());
    if (result == FEED_BAD || result == FEED_WAITS)
        return result == FEED_WAITS;
    if (s->has_dhcp)
        dhcp_service_update_view(&s->dhcp);
    boot_uplink_send_status(s);
    if (!s->reports)
        uplink_send_files(s);
    if (result == FEED_CONFIGURED)
        return true;
    ignore(!daemon_link_send(s->link, &(struct boot_message){.kind = BOOT_MESSAGE_TAKEN,
                                                             .taken.turn = s->feed.turn}),
           "the connection ends, and the next one begins with a base image");
    return true;
}

static bool uplink_message(void *self, const struct boot_message *m)
{
    struct boot_server *s = self;
    struct daemon_request request;
    switch ((uint32_t)m->kind) {
    case BOOT_MESSAGE_LEASED:
        if (daemon_requests_end(&s->requests, m->leased.request, REQUEST_LEASE, &request))
            dhcp_service_leased(&s->dhcp, request.token,
                                m->leased.granted ? DHCP_TAKE_GRANTED : DHCP_TAKE_REFUSED);
        return true;
    case BOOT_MESSAGE_GRANTED:
        if (daemon_requests_end(&s->requests, m->granted.request, REQUEST_GRANT, &request))
            boot_replies_granted(s, &request, &m->granted);
        return true;
    case BOOT_MESSAGE_CONTENT:
        if (daemon_requests_end(&s->requests, m->content.request, REQUEST_DOCUMENT, &request))
            boot_replies_content(s, &request, &m->content);
        return true;
    default: return uplink_feed(s, m);
    }
}

/* ---- DHCP ---- */

bool boot_uplink_lease(void *self, const struct dhcp_action *action)
{
    struct boot_server *s = self;
    struct boot_message message = {
        .kind = action->kind == DHCP_TAKE      ? BOOT_MESSAGE_LEASE_TAKE
                : action->kind == DHCP_RELEASE ? BOOT_MESSAGE_LEASE_RELEASE
                                               : BOOT_MESSAGE_LEASE_DECLINE,
        .lease = {.range = action->range,
                  .address = action->address,
                  .mac = (int64_t)action->mac,
                  .lease_s = action->lease_s},
    };
    if (!daemon_link_is_connected(s->link))
        return false;
    if (action->kind != DHCP_TAKE)
        return daemon_link_send(s->link, &message);
    struct daemon_request *request =
        daemon_requests_add(&s->requests, REQUEST_LEASE, sys_mono_ms());
    if (!request)
        return false;
    request->token = action->token;
    message.lease.request = request->id;
    if (daemon_link_send(s->link, &message))
        return true;
    struct daemon_request unused;
    ignore(!daemon_requests_end(&s->requests, request->id, REQUEST_LEASE, &unused), "it is there");
    return false;
}

/* What the daemon records of an observation; BOOT_SEEN_COUNT: nothing. */
static enum boot_seen_kind uplink_seen_of(enum dhcp_observation observation)
{
    switch (observation) {
    case DHCP_OBSERVED_FOREIGN_SERVER: return BOOT_SEEN_FOREIGN_SERVER;
    case DHCP_OBSERVED_FOREIGN_SERVER_GONE: return BOOT_SEEN_FOREIGN_GONE;
    case DHCP_OBSERVED_NO_RESERVATION: return BOOT_SEEN_NO_ADDRESS;
    case DHCP_OBSERVED_RESERVATION_IN_USE: return BOOT_SEEN_POOL_ADDRESS;
    case DHCP_OBSERVED_RESERVATION_CONFLICT:
    case DHCP_OBSERVED_POOL_CONFLICT:
    case DHCP_OBSERVED_DECLINED: return BOOT_SEEN_ADDRESS_IN_USE;
    case DHCP_OBSERVED_LEASE_REFUSED: return BOOT_SEEN_DHCP_REFUSED;
    case DHCP_OBSERVED_POOL_FULL: return BOOT_SEEN_POOL_FULL;
    case DHCP_OBSERVED_NO_BOOT_FILE: return BOOT_SEEN_NO_LOADER;
    case DHCP_OBSERVED_UNKNOWN_BOOTENV:
    case DHCP_OBSERVATION_COUNT: break;
    }
    return BOOT_SEEN_COUNT;
}

void boot_uplink_observe(void *self, const struct dhcp_action *action)
{
    struct boot_server *s = self;
    const enum boot_seen_kind kind = uplink_seen_of(action->observation);
    const char *interface = s->interfaces.list[action->slot].name;
    const bool is_foreign = kind == BOOT_SEEN_FOREIGN_SERVER || kind == BOOT_SEEN_FOREIGN_GONE;
    struct arena a = {0};
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_Z("event", dhcp_observation_name(action->observation)),
                        LOG_Z("interface", interface), LOG_I64("node", action->node),
                        LOG_I64("arch", action->arch)),
             "DHCP: %s on %s", dhcp_observation_name(action->observation), interface);
    if (kind != BOOT_SEEN_COUNT)
        boot_uplink_see(s,
                        &(struct boot_msg_seen){
                            .kind = kind,
                            .mac = (int64_t)action->mac,
                            .node = action->node,
                            .address = is_foreign ? 0 : action->address,
                            .other = is_foreign ? action->address : (int64_t)action->other_mac,
                            .detail = kind == BOOT_SEEN_NO_LOADER ? str_from_i64(&a, action->arch)
                                                                  : str_from(interface),
                        });
    arena_fini(&a);
}

void boot_uplink_replied(void *self, const struct dhcp_action *action)
{
    boot_uplink_see(self,
                    &(struct boot_msg_seen){
                        .kind = action->is_ack ? BOOT_SEEN_DHCP_ACKED : BOOT_SEEN_DHCP_OFFERED,
                        .mac = (int64_t)action->mac,
                        .node = action->node,
                        .address = action->offered,
                        .detail = action->boot_file,
                    });
}

/* ---- open, tick, close ---- */

void boot_uplink_open(struct boot_server *s)
{
    view_feed_init(&s->feed);
    daemon_requests_init(&s->requests);
    s->link = daemon_link_open(&s->loop, s->options->socket,
                               (struct daemon_link_callbacks){.self = s,
                                                              .hello = uplink_hello,
                                                              .connected = uplink_connected,
                                                              .message = uplink_message,
                                                              .lost = uplink_lost});
}

void boot_uplink_tick(struct boot_server *s)
{
    struct daemon_request request;
    while (daemon_requests_expire(&s->requests, sys_mono_ms(), &request))
        uplink_end_request(s, &request);
    if (!daemon_link_is_connected(s->link) || !s->feed.is_sealed)
        return;
    if (s->seconds % FILES_S == 0)
        uplink_send_files(s);
    if (s->seconds % COUNTS_S == 0)
        uplink_send_counts(s);
    if (s->seconds % DIGEST_S == 0)
        uplink_send_digest(s);
}

void boot_uplink_close(struct boot_server *s)
{
    daemon_link_close(s->link);
    uplink_lost(s);
}

void boot_uplink_fini(struct boot_server *s)
{
    view_feed_fini(&s->feed);
    daemon_requests_fini(&s->requests);
    arena_fini(&s->connection);
}
