/* boot_replies.c - answers of HTTP that depend on the boot view or on the daemon.
 *
 * A boot script is made by boot/script from the view. A script that may start an installer needs a
 * grant of the daemon, and /seed and /nodes are documents of the daemon: such a request is kept,
 * with its number in the table of requests, until the daemon answers, the connection to it breaks,
 * or ten seconds have passed; in the latter cases the machine is answered 503 and repeats its
 * request.
 *
 * Tickets are in query strings and paths, and are never logged. */
#include <string.h>

#include "base/err.h"
#include "base/net/ip.h"
#include "boot/script/boot_path.h"
#include "boot/script/boot_script.h"
#include "boot/server/boot_server_private.h"
#include "model/grant.h"
#include "sys/clock.h"

/* A request that waits for the daemon; in the arena of the HTTP request. */
struct boot_reply {
    struct http_request *http;
    int64_t id; /* of the request to the daemon */
    enum daemon_request_kind kind;
    const struct interface *interface;
    struct boot_request request;
    int64_t node, generation;
};

static const char away[] = "the boot server is not connected to its daemon; try again";

bool boot_replies_are_on(void *self)
{
    const struct boot_server *s = self;
    return s->feed.is_sealed && s->feed.view->settings.has_provisioner;
}

/* ---- where the request came from ---- */

/* The IPv4 address of the client as a number; 0: it has another one. */
static uint32_t client_address(const struct http_request *request)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const uint8_t *at = request->client;
    if (memcmp(at, mapped, sizeof mapped) != 0)
        return 0;
    return (uint32_t)at[12] << 24 | (uint32_t)at[13] << 16 | (uint32_t)at[14] << 8 | at[15];
}

/* The interface towards the client, for a listener that is bound to none. */
static const struct interface *interface_towards(const struct boot_server *s, uint32_t client)
{
    const struct interfaces *all = &s->interfaces;
    const struct interface *best = NULL;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct interface *one = &all->list[i];
        if (!interface_is_served(one) || one->address_count == 0)
            continue;
        if (!best || interface_has_subnet(one, client))
            best = one;
        if (interface_has_subnet(best, client))
            break;
    }
    return best;
}

/* The address at which the client reaches this server: that of --http, or one of the interface. */
static uint32_t server_address(const struct boot_server *s, const struct interface *interface,
                               uint32_t client)
{
    struct ip ip;
    const char *what;
    if (ip_parse(str_from(s->options->http_address), &ip, &what) && ip.family == IP_V4 && ip.lo)
        return (uint32_t)ip.lo;
    return interface ? interface_address_for(interface, client) : 0;
}

static struct boot_site replies_site(const struct boot_server *s, const struct interface *interface,
                                     const struct boot_request *request)
{
    struct ticket ticket;
    const bool has_old = s->has_old_key && request->ticket.len &&
                         ticket_parse(request->ticket, &s->old_key, request->now_s, &ticket);
    return (struct boot_site){
        .view = s->feed.view,
        .key = has_old ? &s->old_key : &s->key,
        .address = server_address(s, interface, request->source),
        .port = s->options->http_port,
        .is_proxy = interface && boot_settings_accept_foreign(&s->feed.view->settings,
                                                              str_from(interface->name)),
    };
}

/* The ticket of this text, under the current key or the one before. */
static bool replies_parse_ticket(const struct boot_server *s, struct str text,
                                 struct ticket *out_ticket)
{
    const int64_t now_s = sys_now_ms() / 1000;
    return s->has_key && (ticket_parse(text, &s->key, now_s, out_ticket) ||
                          (s->has_old_key && ticket_parse(text, &s->old_key, now_s, out_ticket)));
}

/* ---- waiting for the daemon ---- */

/* Sends the message with the number of a new request, which is written to `number` in it. False:
 * the daemon is away. */
static bool replies_ask(struct boot_server *s, struct boot_reply *reply,
                        struct boot_message *message, int64_t *number)
{
    struct daemon_request unused;
    struct daemon_request *request =
        daemon_link_is_connected(s->link)
            ? daemon_requests_add(&s->requests, reply->kind, sys_mono_ms())
            : NULL;
    if (!request)
        return false;
    request->context = reply;
    reply->id = *number = request->id;
    if (daemon_link_send(s->link, message)) {
        reply->http->context = reply;
        return true;
    }
    ignore(!daemon_requests_end(&s->requests, reply->id, reply->kind, &unused), "it is there");
    return false;
}

void boot_replies_gone(void *self, struct http_request *request)
{
    struct boot_server *s = self;
    const struct boot_reply *reply = request->context;
    struct daemon_request ended;
    if (!reply || !daemon_requests_end(&s->requests, reply->id, reply->kind, &ended))
        return;
    boot_http_answer_text(request, 503, STR("the client has disconnected"));
}

/* ---- boot scripts ---- */

static enum boot_request_kind replies_counted_kind(enum boot_seen_kind kind)
{
    switch ((uint32_t)kind) {
    case BOOT_SEEN_SCRIPT_FORBIDDEN: return BOOT_REQUEST_FORBIDDEN;
    case BOOT_SEEN_INSTALLER_GRANTED:
    case BOOT_SEEN_INSTALLER_LOCAL:
    case BOOT_SEEN_INSTALLER_STALE:
    case BOOT_SEEN_INSTALLER_WAITS: return BOOT_REQUEST_INSTALL;
    default: return BOOT_REQUEST_SCRIPT;
    }
}

static void replies_see_script(struct boot_server *s, enum boot_seen_kind kind,
                               const struct boot_request *request, const struct boot_answer *answer)
{
    boot_counts_add(&s->counts, replies_counted_kind(kind), answer->bootenv);
    boot_uplink_see(s, &(struct boot_msg_seen){.kind = kind,
                                               .mac = (int64_t)request->mac,
                                               .node = answer->node,
                                               .generation = answer->generation,
                                               .address = request->source,
                                               .detail = answer->reason.len ? answer->reason
                                                                            : answer->bootenv});
}

static enum boot_seen_kind script_kind(struct str bootenv)
{
    if (str_eq(bootenv, STR("local")))
        return BOOT_SEEN_SCRIPT_LOCAL;
    return str_eq(bootenv, STR("hold")) ? BOOT_SEEN_SCRIPT_HOLD : BOOT_SEEN_SCRIPT;
}

static void replies_answer_script(struct http_request *http, struct str text)
{
    http_answer(http, &(struct http_answer){.status = 200,
                                            .content_type = "text/plain; charset=utf-8",
                                            .body = text});
}

static void replies_ask_grant(struct boot_server *s, struct boot_reply *reply,
                              const struct boot_answer *answer)
{
    struct http_request *http = reply->http;
    struct boot_message message = {
        .kind = BOOT_MESSAGE_GRANT,
        .grant = {.node = answer->node,
                  .generation = answer->generation,
                  .mac = (int64_t)reply->request.mac,
                  .ticket = ticket_hash(&http->arena, answer->ticket)},
    };
    reply->kind = REQUEST_GRANT;
    reply->node = answer->node;
    reply->generation = answer->generation;
    reply->request.ticket = answer->ticket;
    if (replies_ask(s, reply, &message, &message.grant.request))
        return;
    replies_see_script(s, BOOT_SEEN_INSTALLER_WAITS, &reply->request, answer);
    boot_http_answer_later(http, str_from(away));
}

static bool replies_read_path(struct http_request *http, struct boot_request *out_request)
{
    const uint32_t end = str_find(http->target, '?', 0);
    const struct boot_path path = boot_path_of_url(
        str_slice(http->target, 0, end), str_slice(http->target, end + 1, http->target.len));
    if (path.kind != BOOT_PATH_SCRIPT && path.kind != BOOT_PATH_INSTALL)
        return false;
    *out_request = (struct boot_request){
        .mac = path.mac,
        .ticket = path.ticket,
        .source = client_address(http),
        .is_install = path.kind == BOOT_PATH_INSTALL,
        .form = BOOT_FORM_IPXE,
        .now_s = sys_now_ms() / 1000,
        .now_ms = sys_mono_ms(),
        .random = (uint32_t)sys_random64(),
    };
    return true;
}

void boot_replies_serve_script(void *self, const struct interface *interface,
                               struct http_request *http)
{
    struct boot_server *s = self;
    struct boot_reply *reply = arena_new(&http->arena, struct boot_reply);
    struct boot_answer answer = {0};
    if (!replies_read_path(http, &reply->request)) {
        boot_http_answer_text(http, 404, STR("nothing is served at this path"));
        return;
    }
    reply->http = http;
    reply->interface = interface ? interface : interface_towards(s, reply->request.source);
    const struct boot_site site = replies_site(s, reply->interface, &reply->request);
    boot_script_answer(&site, &reply->request, &http->arena, &answer);
    switch (answer.kind) {
    case BOOT_ANSWER_TEXT:
        replies_see_script(s, script_kind(answer.bootenv), &reply->request, &answer);
        replies_answer_script(http, answer.text);
        break;
    case BOOT_ANSWER_GRANT: replies_ask_grant(s, reply, &answer); break;
    case BOOT_ANSWER_FORBIDDEN:
        replies_see_script(s, BOOT_SEEN_SCRIPT_FORBIDDEN, &reply->request, &answer);
        boot_http_answer_text(http, 403, answer.reason);
        break;
    }
}

void boot_replies_granted(struct boot_server *s, const struct daemon_request *request,
                          const struct boot_msg_granted *granted)
{
    static const enum boot_seen_kind kinds[] = {[GRANT_GRANTED] = BOOT_SEEN_INSTALLER_GRANTED,
                                                [GRANT_LOCAL] = BOOT_SEEN_INSTALLER_LOCAL,
                                                [GRANT_STALE] = BOOT_SEEN_INSTALLER_STALE};
    struct boot_reply *reply = request->context;
    const struct boot_answer answer = {.node = reply->node, .generation = reply->generation};
    reply->http->context = NULL;
    if (!granted || granted->answer == 0 || granted->answer > GRANT_ANSWER_COUNT) {
        replies_see_script(s, BOOT_SEEN_INSTALLER_WAITS, &reply->request, &answer);
        boot_http_answer_later(reply->http, str_from(away));
        return;
    }
    const enum grant_answer grant = (enum grant_answer)(granted->answer - 1);
    const struct boot_site site = replies_site(s, reply->interface, &reply->request);
    replies_see_script(s, kinds[grant], &reply->request, &answer);
    replies_answer_script(reply->http,
                          boot_script_of_grant(&site, &reply->request, grant, &reply->http->arena));
}

/* ---- documents of the daemon ---- */

/* The path without the slash at its beginning, from the decoded segments. */
static struct str document_path(struct http_request *http)
{
    struct buf path = buf_in(&http->arena);
    for (uint32_t i = 0; i < http->segment_count; i++) {
        if (i)
            buf_put_c(&path, '/');
        buf_put_str(&path, http->segments[i]);
    }
    return buf_str(&path);
}

void boot_replies_serve_document(void *self, struct http_request *http)
{
    struct boot_server *s = self;
    struct boot_reply *reply = arena_new(&http->arena, struct boot_reply);
    struct ticket ticket = {0};
    struct boot_message message = {
        .kind = BOOT_MESSAGE_DOCUMENT,
        .document = {.path = document_path(http), .address = client_address(http)},
    };
    *reply = (struct boot_reply){.http = http, .kind = REQUEST_DOCUMENT};
    boot_counts_add(&s->counts, BOOT_REQUEST_DOCUMENT, STR(""));
    if (message.document.path.len > BOOT_STATUS_MAX || !str_is_clean(message.document.path)) {
        boot_http_answer_text(http, 404, STR("nothing is served at this path"));
        return;
    }
    if (s->has_key && str_eq(http->segments[0], STR("seed"))) {
        if (!replies_parse_ticket(s, http->segments[1], &ticket)) {
            boot_http_answer_text(http, 403, STR("the ticket is not valid, or too old"));
            return;
        }
        message.document.node = ticket.node;
        message.document.generation = ticket.generation;
        message.document.mac = (int64_t)ticket.mac;
        message.document.ticket = ticket_hash(&http->arena, http->segments[1]);
    }
    if (!replies_ask(s, reply, &message, &message.document.request))
        boot_http_answer_later(http, str_from(away));
}

void boot_replies_content(struct boot_server *s, const struct daemon_request *request,
                          const struct boot_msg_content *content)
{
    struct boot_reply *reply = request->context;
    (void)s;
    reply->http->context = NULL;
    if (!content) {
        boot_http_answer_later(reply->http, str_from(away));
        return;
    }
    http_answer(reply->http,
                &(struct http_answer){
                    .status = (int)content->status,
                    .content_type = str_z(&reply->http->arena,
                                          content->type.len ? content->type : STR("text/plain")),
                    .body = content->body,
                });
}

/* ---- TFTP ---- */

/* Texts for firmware that loads them by TFTP; none of them starts an installer. */
enum tftp_found boot_replies_find(void *self, const struct tftp_query *query, struct arena *a,
                                  struct str *out_text)
{
    const struct boot_server *s = self;
    const struct boot_path path = boot_path_of_file(query->name);
    struct boot_answer answer = {0};
    const struct boot_request request = {
        .mac = path.mac,
        .source = query->client,
        .form = path.kind == BOOT_PATH_GRUB ? BOOT_FORM_GRUB : BOOT_FORM_PXELINUX,
        .now_s = sys_now_ms() / 1000,
        .now_ms = sys_mono_ms(),
        .random = (uint32_t)sys_random64(),
    };
    const struct boot_site site = replies_site(s, query->interface, &request);
    if (path.kind == BOOT_PATH_AUTOEXEC) {
        *out_text = boot_script_autoexec(&site, a);
        return TFTP_FOUND_TEXT;
    }
    if (path.kind != BOOT_PATH_GRUB && path.kind != BOOT_PATH_PXELINUX)
        return TFTP_FOUND_FILE;
    boot_script_answer(&site, &request, a, &answer);
    *out_text = answer.text;
    return answer.kind == BOOT_ANSWER_TEXT ? TFTP_FOUND_TEXT : TFTP_FOUND_NOTHING;
}

void boot_replies_transferred(void *self, uint32_t client, struct str name, bool is_sent,
                              uint64_t size)
{
    struct boot_server *s = self;
    s->counts.tftp_sent += is_sent;
    s->counts.tftp_failed += !is_sent;
    boot_uplink_see(s, &(struct boot_msg_seen){
                           .kind = is_sent ? BOOT_SEEN_TFTP_SENT : BOOT_SEEN_TFTP_FAILED,
                           .node = view_machine_of_address(s->feed.view, client),
                           .address = client,
                           .other = (int64_t)size,
                           .detail = name,
                       });
}

/* ---- files ---- */

void boot_replies_file(void *self, const struct http_request *request, struct str path,
                       bool is_sent, uint64_t size)
{
    struct boot_server *s = self;
    const uint32_t address = client_address(request);
    boot_counts_add(&s->counts, is_sent ? BOOT_REQUEST_FILE : BOOT_REQUEST_MISSING, STR(""));
    boot_uplink_see(s, &(struct boot_msg_seen){
                           .kind = is_sent ? BOOT_SEEN_FILE_SENT : BOOT_SEEN_FILE_MISSING,
                           .node = view_machine_of_address(s->feed.view, address),
                           .address = address,
                           .other = (int64_t)size,
                           .detail = str_is_clean(path) ? path : STR(""),
                       });
}
