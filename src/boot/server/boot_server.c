/* boot_server.c - start, loop and end of halligan-boot.
 *
 * Order of the start: signals and the loop (their descriptors are made before system calls are
 * filtered), everything that needs privileges, the sandbox, then the first packet is read. An
 * interface that is lost is reported; its sockets stay open until the end, because they are bound
 * to an index that does not exist any more and receive nothing.
 *
 * Order of the end: the daemon is disconnected, pending requests are answered 503, handles are
 * closed, and the loop runs until all close callbacks were called. */
#include "boot/server/boot_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "boot/server/boot_server_private.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/notify.h"

enum { TICK_MS = 1000 };

/* ---- callbacks ---- */

static void server_on_signal(uv_signal_t *handle, int number)
{
    log_print(LOG_NOTICE, "stopping: signal %d", number);
    uv_stop(handle->loop);
}

static void server_on_second(uv_timer_t *timer)
{
    struct boot_server *s = timer->data;
    s->seconds++;
    boot_uplink_tick(s);
    if (s->watchdog_s && s->seconds % s->watchdog_s == 0)
        ignore(!notify_send("WATCHDOG=1\n"), "there is no service manager");
}

static void server_on_interface(void *self, const struct interface *interface)
{
    struct boot_server *s = self;
    if (s->has_dhcp)
        dhcp_service_update_interface(&s->dhcp, interface);
    tftp_service_update_interface(&s->tftp, interface);
    boot_http_update_interface(&s->http, interface);
    if (!interface->is_lost)
        return;
    findings_add(&s->findings, SERVICE_PROGRAM, FINDING_LIMIT,
                 "the interface %s was removed, renamed or replaced: it is not served until "
                 "halligan-boot is restarted",
                 interface->name);
    boot_uplink_send_status(s);
}

static const struct view *server_view(void *self)
{
    return ((struct boot_server *)self)->feed.view;
}

static struct str server_make_ticket(void *self, uint64_t mac, int64_t node, int64_t generation,
                                     struct arena *a)
{
    const struct boot_server *s = self;
    const struct ticket ticket = {.mac = mac,
                                  .node = node,
                                  .generation = generation,
                                  .made_s = sys_now_ms() / 1000,
                                  .random = (uint32_t)sys_random64()};
    return s->has_key ? ticket_format(a, &s->key, &ticket) : STR("");
}

/* ---- start ---- */

static void server_init(struct boot_server *s, const struct boot_options *options,
                        const char *version)
{
    *s = (struct boot_server){.options = options, .version = version, .files_fd = -1};
    s->interfaces.fd = -1;
    for (uint32_t i = 0; i < BOOT_INTERFACES_MAX; i++)
        s->sockets[i] = (struct boot_sockets){-1, -1, -1, -1, -1};
    s->http.callbacks = (struct boot_http_callbacks){.self = s,
                                                     .is_on = boot_replies_are_on,
                                                     .boot = boot_replies_serve_script,
                                                     .document = boot_replies_serve_document,
                                                     .file = boot_replies_file,
                                                     .gone = boot_replies_gone};
    must(uv_loop_init(&s->loop) == 0);
    s->watchdog_s = (uint32_t)((notify_watchdog_ms() + 999) / 1000);
}

static void server_catch_signals(struct boot_server *s)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    for (uint32_t i = 0; i < 2; i++) {
        must(uv_signal_init(&s->loop, &s->signals[i]) == 0);
        must(uv_signal_start(&s->signals[i], server_on_signal, numbers[i]) == 0);
    }
    must(uv_timer_init(&s->loop, &s->second) == 0);
    s->second.data = s;
    must(uv_timer_start(&s->second, server_on_second, TICK_MS, TICK_MS) == 0);
}

static void server_start_services(struct boot_server *s)
{
    const struct dhcp_setup setup = {
        .seed = sys_random64(),
        .http_port = s->options->http_port,
        .files = s->files,
        .file_count = s->file_count,
        .make_ticket = server_make_ticket,
        .self = s,
    };
    s->tftp.files_fd = s->files_fd;
    s->tftp.callbacks = (struct tftp_service_callbacks){.self = s,
                                                        .is_on = boot_replies_are_on,
                                                        .find = boot_replies_find,
                                                        .ended = boot_replies_transferred};
    const struct dhcp_service_callbacks callbacks = {.self = s,
                                                     .view = server_view,
                                                     .lease = boot_uplink_lease,
                                                     .observe = boot_uplink_observe,
                                                     .replied = boot_uplink_replied};
    boot_uplink_open(s);
    if (s->has_dhcp) {
        dhcp_service_init(&s->dhcp, &setup, &s->interfaces, s->sockets, &callbacks);
        dhcp_service_start(&s->dhcp, &s->loop);
    }
    tftp_service_start(&s->tftp, &s->loop, &s->interfaces, s->sockets);
    interfaces_watch(&s->interfaces, &s->loop, server_on_interface, s);
}

/* ---- end ---- */

static void server_stop_services(struct boot_server *s)
{
    boot_uplink_close(s);
    if (s->has_dhcp)
        dhcp_service_stop(&s->dhcp);
    tftp_service_stop(&s->tftp);
    for (uint32_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&s->signals[i], NULL);
    uv_close((uv_handle_t *)&s->second, NULL);
}

static void server_fini(struct boot_server *s, bool was_started)
{
    boot_http_close(&s->http);
    interfaces_close(&s->interfaces);
    ignore(uv_run(&s->loop, UV_RUN_DEFAULT), "all handles are closed");
    must(uv_loop_close(&s->loop) == 0);
    if (was_started) {
        boot_uplink_fini(s);
        if (s->has_dhcp)
            dhcp_service_fini(&s->dhcp);
    }
    for (uint32_t i = 0; i < BOOT_INTERFACES_MAX; i++)
        boot_sockets_close(&s->sockets[i]);
    if (s->files_fd >= 0)
        ignore(close(s->files_fd), "it was only read");
    findings_fini(&s->findings);
    arena_fini(&s->arena);
}

/* ---- the program ---- */

static int server_check(struct boot_server *s)
{
    const bool is_fatal = s->findings.is_fatal;
    findings_print(&s->findings);
    if (!s->findings.first)
        puts("everything is ready to be served");
    server_fini(s, false);
    return is_fatal ? BOOT_EXIT_FAILED : BOOT_EXIT_OK;
}

static int server_serve(struct boot_server *s)
{
    struct sandbox_why why;
    findings_log(&s->findings);
    if (s->findings.is_fatal) {
        server_fini(s, false);
        return BOOT_EXIT_FAILED;
    }
    server_catch_signals(s);
    if (!sandbox_enter(&s->user, s->files_fd, &why)) {
        log_print(LOG_ERROR, "privileges cannot be dropped: %s; halligan-boot does not serve",
                  why.text);
        return BOOT_EXIT_FAILED;
    }
    server_start_services(s);
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_Z("version", s->version), LOG_I64("interfaces", s->interfaces.count),
                        LOG_I64("http_port", s->options->http_port)),
             "halligan-boot serves; privileges were dropped");
    ignore(!notify_ready(), "there is no service manager");
    ignore(uv_run(&s->loop, UV_RUN_DEFAULT), "handles are left, which are closed now");
    ignore(!notify_send("STOPPING=1\n"), "there is no service manager");
    server_stop_services(s);
    server_fini(s, true);
    return BOOT_EXIT_OK;
}

int boot_server_run(const struct boot_options *options, const char *version)
{
    struct boot_server *s = calloc(1, sizeof *s);
    /* SIGHUP has no meaning here, and would end the program. */
    must(s && signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGHUP, SIG_IGN) != SIG_ERR);
    server_init(s, options, version);
    boot_start_open(s);
    const int status = options->check ? server_check(s) : server_serve(s);
    free(s);
    return status;
}
