/* boot_http.c - listeners, routes and files.
 *
 * The limits are those of src/http: connections, time without progress, size of a head, connections
 * of one address. Each download holds two descriptors, so that the limit of connections follows
 * RLIMIT_NOFILE. Errors have a short text and nothing of the request in it, because firmware shows
 * them on a console. */
#include "boot/server/boot_http.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "boot/server/boot_files.h"
#include "boot/server/file_answer.h"
#include "boot/server/port_holder.h"

enum {
    CONNECTIONS_MAX = 1024,
    CONNECTIONS_MIN = 16,
    CONNECTIONS_OF_ADDRESS_MAX = 64, /* machines behind one router share an address */
    DESCRIPTORS_OTHER = 1100,        /* sockets and files of everything else */
    BODY_MAX = 1024,                 /* no route has a body */
    IDLE_S = 30,
    TEXT_MAX = 512 /* bytes of the body of an error */
};

/* ---- answers ---- */

static void http_answer_line(struct http_request *request, int status, struct str text,
                             const struct http_header *header)
{
    const struct str body = STR_CONCAT(&request->arena, str_clip(text, TEXT_MAX - 1), STR("\n"));
    http_answer(request, &(struct http_answer){.status = status,
                                               .content_type = "text/plain; charset=utf-8",
                                               .body = body,
                                               .headers = header,
                                               .header_count = header ? 1 : 0});
}

void boot_http_answer_text(struct http_request *request, int status, struct str text)
{
    http_answer_line(request, status, text, NULL);
}

void boot_http_answer_later(struct http_request *request, struct str text)
{
    static const struct http_header retry = {"Retry-After", {"2", 1}};
    http_answer_line(request, 503, text, &retry);
}

/* ---- files ---- */

/* The path below the directory; empty if it ends with a slash, or a segment contains one. */
static struct str files_path(struct http_request *request)
{
    struct buf path = buf_in(&request->arena);
    if (str_ends(request->path, STR("/")))
        return STR("");
    for (uint32_t i = 1; i < request->segment_count; i++) {
        const struct str segment = request->segments[i];
        if (str_find(segment, '/', 0) < segment.len)
            return STR("");
        if (i > 1)
            buf_put_c(&path, '/');
        buf_put_str(&path, segment);
    }
    return buf_str(&path);
}

static void files_serve(struct boot_http *http, struct http_request *request)
{
    const struct str path = files_path(request);
    const struct boot_http_callbacks *callbacks = &http->callbacks;
    struct boot_file file;
    const err e = http->files_fd < 0 ? ERR_NOT_FOUND : boot_files_open(http->files_fd, path, &file);
    if (e == OK) {
        const uint64_t size = file_answer(request, file);
        /* The request is finished; its memory is valid until the answer is sent. */
        callbacks->file(callbacks->self, request, path, true, size);
        return;
    }
    callbacks->file(callbacks->self, request, path, false, 0);
    if (e == ERR_UNAVAILABLE)
        boot_http_answer_later(request, STR("too many files are open; try again"));
    else if (e == ERR_IO)
        boot_http_answer_text(request, 500, STR("the file cannot be read"));
    else
        boot_http_answer_text(request, 404, STR("there is no such file"));
}

/* ---- routes ---- */

static int http_admit(void *self, struct http_request *request, struct http_answer *out_answer)
{
    static const struct http_header allow = {"Allow", {"GET, HEAD", 9}};
    (void)self;
    if (request->method == HTTP_GET || request->method == HTTP_HEAD)
        return 0;
    *out_answer = (struct http_answer){.content_type = "text/plain; charset=utf-8",
                                       .body = STR("only GET and HEAD are served\n"),
                                       .headers = &allow,
                                       .header_count = 1};
    return 405;
}

static bool http_is_document(const struct http_request *request)
{
    const struct str *s = request->segments;
    const uint32_t count = request->segment_count;
    return (count >= 3 && str_eq(s[0], STR("seed"))) ||
           (count == 3 && str_eq(s[0], STR("nodes")) && str_eq(s[2], STR("bootstate")));
}

static void http_serve(void *self, struct http_request *request)
{
    const struct boot_http_listener *listener = self;
    struct boot_http *http = listener->owner;
    const struct boot_http_callbacks *callbacks = &http->callbacks;
    const struct str first = request->segment_count ? request->segments[0] : STR("");
    if (!callbacks->is_on(callbacks->self))
        boot_http_answer_later(request, STR("no service is switched on here; try again"));
    else if (request->segment_count >= 2 && str_eq(first, STR("files")))
        files_serve(http, request);
    else if (request->segment_count >= 2 && str_eq(first, STR("boot")))
        callbacks->boot(callbacks->self, listener->interface, request);
    else if (http_is_document(request))
        callbacks->document(callbacks->self, request);
    else
        boot_http_answer_text(request, 404, STR("nothing is served at this path"));
}

static void http_client_gone(void *self, struct http_request *request)
{
    const struct boot_http_listener *listener = self;
    const struct boot_http_callbacks *callbacks = &listener->owner->callbacks;
    callbacks->gone(callbacks->self, request);
}

/* ---- listeners ---- */

/* The connections of one of `listeners` listeners. */
static uint32_t http_connection_limit(uint32_t listeners)
{
    struct rlimit files;
    uint64_t limit = CONNECTIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        const uint64_t left =
            files.rlim_cur > DESCRIPTORS_OTHER ? files.rlim_cur - DESCRIPTORS_OTHER : 0;
        limit = left / 2 < limit ? left / 2 : limit;
    }
    limit /= listeners;
    return limit < CONNECTIONS_MIN ? CONNECTIONS_MIN : (uint32_t)limit;
}

static void http_report(struct findings *findings, const char *where, uint16_t port,
                        const char *why)
{
    struct arena arena = {0};
    const bool is_taken = strstr(why, "in use") != NULL;
    const struct str holder = is_taken ? port_holder_find(&arena, true, port) : STR("");
    if (is_taken)
        findings_add(findings, SERVICE_HTTP, FINDING_LIMIT,
                     "port %u on %s is held by %.*s; HTTP is not served there: stop that process "
                     "or choose another port with --http",
                     port, where, STR_FMT_ARGS(holder));
    else
        findings_add(findings, SERVICE_HTTP, FINDING_LIMIT,
                     "%s; HTTP is not served on %s: correct --http or the address", why, where);
    arena_fini(&arena);
}

static void http_open_listener(struct boot_http *http, uv_loop_t *loop, struct http_options *o,
                               const struct interface *interface, struct findings *findings)
{
    char why[256];
    struct boot_http_listener *listener = &http->listeners[http->listener_count];
    *listener = (struct boot_http_listener){.owner = http, .interface = interface};
    const struct http_handler handler = {
        .self = listener, .serve = http_serve, .admit = http_admit, .gone = http_client_gone};
    o->interface = interface ? interface->name : NULL;
    listener->server = http_open(loop, o, handler, why, sizeof why);
    if (listener->server)
        http->listener_count++;
    else
        http_report(findings, interface ? interface->name : o->address, o->port, why);
}

void boot_http_open(struct boot_http *http, uv_loop_t *loop, const struct boot_options *options,
                    const struct interfaces *interfaces, struct findings *findings)
{
    const bool has_address = options->http_address[0] != 0;
    struct http_options o = {
        .address = has_address ? options->http_address : "0.0.0.0",
        .port = options->http_port,
        .sends_files = true,
        .body_max = BODY_MAX,
        .connections_max = http_connection_limit(has_address ? 1 : interfaces->count),
        .per_address_max = CONNECTIONS_OF_ADDRESS_MAX,
        .idle_s = IDLE_S,
    };
    if (has_address) {
        http_open_listener(http, loop, &o, NULL, findings);
        return;
    }
    for (uint32_t i = 0; i < interfaces->count; i++)
        if (interface_is_served(&interfaces->list[i]))
            http_open_listener(http, loop, &o, &interfaces->list[i], findings);
}

void boot_http_update_interface(struct boot_http *http, const struct interface *interface)
{
    for (uint32_t i = 0; i < http->listener_count; i++)
        if (http->listeners[i].interface == interface && !interface_is_served(interface))
            http_quiesce(http->listeners[i].server);
}

void boot_http_close(struct boot_http *http)
{
    for (uint32_t i = 0; i < http->listener_count; i++)
        http_close(http->listeners[i].server);
    http->listener_count = 0;
}
