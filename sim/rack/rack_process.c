#include "sim/rack/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "boot/script/boot_path.h"
#include "sim/rack/ipxe.h"

/* The process of a boot server: the modules of halligan-boot without its sockets.
 *
 * It receives messages over its connection: entries, which it puts into a view (boot/view) and
 * into a plain copy, settings, and answers to its questions. A base image is received into a second
 * view, which replaces the first one when it is complete. Then, and after every change, the view is
 * compared with the copy, and the copy with the view of the core at that turn (the oracle), and
 * the turn is acknowledged.
 *
 * DHCP packets are handled by boot/dhcp; an ARP probe finds the machine that uses the address.
 * Requests for boot scripts are answered by boot/script. Leases and grants are requests to the
 * daemon over the connection; without one, they end for DHCP as those of a daemon that is away, and
 * a machine that requests its installer gets no answer.
 *
 * A process that has lost its connection goes on with the view that it has. One that restarts has
 * none: it answers no machine before it has a base image. */

enum { PROBE_MS_MIN = 400, PROBE_MS_MAX = 1000, SEND_MS_MAX = 300 };

#define WALL_S 1700000000 /* wall clock when the monotonic one is 0 */

static uint32_t process_admin(const struct rack *r, const struct rack_server *server)
{
    return (uint32_t)(server - r->servers);
}

/* The same key after a restart, as the daemon derives it. */
static struct ticket_key process_key(uint32_t admin)
{
    struct ticket_key key;
    memset(key.bytes, 0x40 + (int)admin, sizeof key.bytes);
    return key;
}

static int64_t process_now_s(const struct rack *r)
{
    return WALL_S + r->mono_ms / RACK_SECOND;
}

/* ---- life ---- */

static struct str process_make_ticket(void *self, uint64_t mac, int64_t node, int64_t generation,
                                      struct arena *a)
{
    struct rack *r = ((struct rack_process *)self)->rack;
    const struct ticket_key key = process_key(((struct rack_process *)self)->admin);
    const struct ticket ticket = {.mac = mac,
                                  .node = node,
                                  .generation = generation,
                                  .made_s = process_now_s(r),
                                  .random = (uint32_t)prng_next(&r->rng)};
    return ticket_format(a, &key, &ticket);
}

static struct view *process_new_view(void)
{
    struct view *view = malloc(sizeof *view);
    must(view);
    view_init(view);
    return view;
}

static void process_free_view(struct view *view)
{
    view_fini(view);
    free(view);
}

void rack_process_start(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    const struct dhcp_address address = {rack_admin_address(admin), 24};
    const struct dhcp_interface interface = {.name = STR("eth0"),
                                             .mac = 0x525400000001 + admin,
                                             .addresses = &address,
                                             .address_count = 1,
                                             .mtu = 1500};
    server->self = (struct rack_process){r, admin};
    server->starts++;
    server->ticks_ms = INT64_MAX;
    server->config = (struct str){"", 0};
    server->view = process_new_view();
    server->base_view = process_new_view();
    server->dhcp = malloc(sizeof *server->dhcp);
    must(server->dhcp);
    dhcp_init(server->dhcp, &(struct dhcp_setup){.seed = prng_next(&r->rng),
                                                 .http_port = RACK_HTTP_PORT,
                                                 .make_ticket = process_make_ticket,
                                                 .self = &server->self});
    dhcp_set_interface(server->dhcp, &interface);
}

void rack_process_stop(struct rack_server *server)
{
    boot_copy_fini(&server->copy);
    boot_copy_fini(&server->base);
    process_free_view(server->view);
    process_free_view(server->base_view);
    dhcp_fini(server->dhcp);
    free(server->dhcp);
    server->dhcp = NULL;
    server->has_copy = false;
    server->joined = 0;
}

/* ---- questions to the daemon ---- */

/* False: there is no connection. */
static bool process_ask(struct rack *r, struct rack_server *server, struct rack_ask ask)
{
    if (!server->joined)
        return false;
    if (r->ask_count == r->ask_cap) {
        r->ask_cap = r->ask_cap ? 2 * r->ask_cap : 64;
        r->asks = realloc(r->asks, r->ask_cap * sizeof *r->asks);
        must(r->asks);
    }
    ask.id = r->ask_count + 1;
    ask.connection = server->joined;
    ask.starts = server->starts;
    ask.admin = process_admin(r, server);
    r->asks[r->ask_count++] = ask;
    rack_at(r, rack_delay(r, RACK_SERVER_LATE, 1, SEND_MS_MAX), RACK_EVENT_SERVER_ASKS,
            (struct event){.id = server->joined, .detail = ask.id});
    return true;
}

/* ---- DHCP ---- */

static void process_tick_later(struct rack *r, struct rack_server *server)
{
    const int64_t next_ms = dhcp_next_deadline(server->dhcp);
    if (next_ms >= server->ticks_ms || next_ms == INT64_MAX)
        return;
    server->ticks_ms = next_ms > r->mono_ms ? next_ms : r->mono_ms + 1;
    rack_at(r, server->ticks_ms - r->mono_ms, RACK_EVENT_SERVER_TICKS,
            (struct event){.id = process_admin(r, server)});
}

/* To the machine that has the hardware address; lost, late, twice. */
static void process_send(struct rack *r, const struct dhcp_action *action)
{
    if (action->port != DHCP_CLIENT_PORT)
        return; /* the search for other DHCP servers: there is none */
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        if (rack_machine_mac(r, i) != action->mac || rack_fault(r, RACK_PACKET_LOST))
            continue;
        const struct event event = {.id = i, .bytes = str_copy(&r->arena, action->bytes)};
        rack_at(r, prng_between(&r->rng, 1, SEND_MS_MAX), RACK_EVENT_DHCP_TO_MACHINE, event);
        if (rack_fault(r, RACK_PACKET_TWICE))
            rack_at(r, prng_between(&r->rng, 1, 20 * RACK_SECOND), RACK_EVENT_DHCP_TO_MACHINE,
                    event);
    }
}

/* The address travels with the event: the engine names it in the question only. */
static void process_probe(struct rack *r, uint32_t admin, const struct dhcp_action *action)
{
    char *address = arena_alloc(&r->arena, sizeof action->address);
    memcpy(address, &action->address, sizeof action->address);
    rack_at(r, prng_between(&r->rng, PROBE_MS_MIN, PROBE_MS_MAX), RACK_EVENT_PROBED,
            (struct event){.id = (int64_t)r->servers[admin].starts << 8 | admin,
                           .detail = (int64_t)action->token,
                           .bytes = {address, sizeof action->address}});
}

static void process_act(struct rack *r, struct rack_server *server, struct dhcp_out *out);

static void process_take(struct rack *r, struct rack_server *server,
                         const struct dhcp_action *action)
{
    const struct rack_ask ask = {.mac = action->mac,
                                 .token = action->token,
                                 .address = action->address,
                                 .range = action->range,
                                 .lease_s = action->lease_s};
    if (process_ask(r, server, ask))
        return;
    struct dhcp_out out = {.arena = &r->scratch};
    const struct dhcp_taken taken = {action->token, DHCP_TAKE_AWAY, r->mono_ms};
    dhcp_taken(server->dhcp, server->view, &taken, &out);
    process_act(r, server, &out);
}

static void process_act(struct rack *r, struct rack_server *server, struct dhcp_out *out)
{
    for (const struct dhcp_action *action = out->first; action; action = action->next)
        switch (action->kind) {
        case DHCP_SEND: process_send(r, action); break;
        case DHCP_PROBE: process_probe(r, process_admin(r, server), action); break;
        case DHCP_TAKE: process_take(r, server, action); break;
        case DHCP_RELEASE:
        case DHCP_DECLINE: rack_fail(r, "DHCP: no machine has released or declined"); break;
        case DHCP_ADVERTISE:
        case DHCP_OBSERVE:
        case DHCP_ACTION_COUNT: break;
        }
    process_tick_later(r, server);
}

void rack_process_packet(struct rack *r, const struct event *event)
{
    struct rack_server *server = &r->servers[event->id];
    struct dhcp_out out = {.arena = &r->scratch};
    if (!server->has_copy) {
        rack_count_reached(r, RACK_REACHED_SERVED_SILENT);
        return;
    }
    const struct dhcp_packet packet = {.bytes = event->bytes,
                                       .destination = UINT32_MAX,
                                       .local = rack_admin_address((uint32_t)event->id),
                                       .now_ms = r->mono_ms};
    dhcp_receive(server->dhcp, server->view, &packet, &out);
    process_act(r, server, &out);
}

void rack_process_ticks(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    struct dhcp_out out = {.arena = &r->scratch};
    if (!server->dhcp || server->ticks_ms > r->mono_ms)
        return;
    server->ticks_ms = INT64_MAX;
    dhcp_tick(server->dhcp, server->view, r->mono_ms, &out);
    process_act(r, server, &out);
}

/* A system that runs, or iPXE, answers for its address. */
static uint64_t process_host_of(const struct rack *r, uint32_t address)
{
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        if (r->machines[i].net.address == address && r->machines[i].env != RACK_ENV_OFF)
            return rack_machine_mac(r, i);
    return 0;
}

void rack_process_probed(struct rack *r, const struct event *event)
{
    struct rack_server *server = &r->servers[event->id & 0xff];
    struct dhcp_out out = {.arena = &r->scratch};
    uint32_t address;
    if (server->starts != event->id >> 8)
        return;
    memcpy(&address, event->bytes.at, sizeof address);
    const struct dhcp_probed probed = {(uint64_t)event->detail, process_host_of(r, address),
                                       r->mono_ms};
    dhcp_probed(server->dhcp, server->view, &probed, &out);
    process_act(r, server, &out);
}

/* ---- boot scripts ---- */

static struct boot_site process_site(const struct rack_server *server, uint32_t admin,
                                     const struct ticket_key *key)
{
    return (struct boot_site){.view = server->view,
                              .key = key,
                              .address = rack_admin_address(admin),
                              .port = RACK_HTTP_PORT};
}

static struct boot_request process_request(struct rack *r, uint64_t mac, struct str ticket,
                                           uint32_t source)
{
    return (struct boot_request){.mac = mac,
                                 .ticket = ticket,
                                 .source = source,
                                 .now_s = process_now_s(r),
                                 .now_ms = r->mono_ms,
                                 .random = (uint32_t)prng_next(&r->rng)};
}

/* The answer as the oracles compare it. */
static struct rack_answer process_answer_of(const struct rack_server *server,
                                            const struct boot_answer *answer)
{
    struct rack_answer out = {
        .node_id = answer->node, .generation = answer->generation, .history = server->history};
    snprintf(out.bootenv, sizeof out.bootenv, "%.*s", STR_FMT_ARGS(answer->bootenv));
    return out;
}

/* "http://192.168.124.10:8091/boot/MAC?t=TICKET" */
void rack_process_page(struct rack *r, const struct event *event)
{
    struct str path = event->bytes, query = {"", 0};
    const uint32_t machine = (uint32_t)event->id;
    struct rack_machine *m = &r->machines[machine];
    struct rack_server *server = &r->servers[m->net.admin];
    const struct ticket_key key = process_key(m->net.admin);
    struct boot_answer answer;
    if (!server->has_copy) {
        rack_count_reached(r, RACK_REACHED_SERVED_SILENT);
        return;
    }
    path = str_slice(path, str_find(path, '/', 7), path.len);
    const uint32_t mark = str_find(path, '?', 0);
    query = str_slice(path, mark < path.len ? mark + 1 : mark, path.len);
    const struct boot_path asked = boot_path_of_url(str_slice(path, 0, mark), query);
    if (asked.kind != BOOT_PATH_SCRIPT || asked.mac != rack_machine_mac(r, machine))
        rack_fail(r, "script: %s asks for %.*s", m->name, STR_FMT_ARGS(event->bytes));
    const struct boot_request request = process_request(r, asked.mac, asked.ticket, m->net.address);
    const struct boot_site site = process_site(server, m->net.admin, &key);
    boot_script_answer(&site, &request, &r->scratch, &answer);
    struct rack_page *page = arena_new(&r->arena, struct rack_page);
    page->answer = process_answer_of(server, &answer);
    page->text = str_copy(&r->arena, answer.text);
    if (answer.kind == BOOT_ANSWER_FORBIDDEN)
        rack_count_reached(r, RACK_REACHED_SCRIPT_REFUSED);
    else
        rack_check_answer(r, machine, m->net.admin, RACK_PROVISIONER, &page->answer);
    if (!rack_fault(r, RACK_PACKET_LOST))
        rack_at(r, prng_between(&r->rng, 1, SEND_MS_MAX), RACK_EVENT_PAGE_ARRIVES,
                (struct event){.id = machine,
                               .detail = event->detail,
                               .bytes = {(const char *)page, sizeof *page}});
}

/* ---- installers ---- */

/* What the script makes of the machine that has loaded its installer. */
static void process_reply(struct rack *r, uint32_t machine, int64_t seq, struct str script)
{
    struct ipxe ipxe = {.is_bios = machine % 2 == 0,
                        .has_os = rack_machine_has_os(r, machine),
                        .kernel = str_from(r->machines[machine].net.kernel)};
    switch (ipxe_run(&ipxe, script)) {
    case IPXE_BOOTS: rack_call_reply(r, machine, seq, REPLY_DONE); return;
    case IPXE_EXITS: rack_call_reply(r, machine, seq, REPLY_LOCAL); return;
    case IPXE_CHAINS: rack_call_reply(r, machine, seq, REPLY_STALE); return;
    case IPXE_BROKEN:
        rack_fail(r, "script: iPXE does not understand \"%.*s\"", STR_FMT_ARGS(ipxe.url));
        return;
    }
}

void rack_process_install(struct rack *r, uint32_t machine, int64_t seq, struct str ticket)
{
    const struct rack_machine *m = &r->machines[machine];
    struct rack_server *server = &r->servers[m->net.admin];
    const struct ticket_key key = process_key(m->net.admin);
    struct boot_answer answer;
    if (!server->has_copy) {
        rack_count_reached(r, RACK_REACHED_SERVED_SILENT);
        return;
    }
    struct boot_request request =
        process_request(r, rack_machine_mac(r, machine), ticket, m->net.address);
    request.is_install = true;
    const struct boot_site site = process_site(server, m->net.admin, &key);
    boot_script_answer(&site, &request, &r->scratch, &answer);
    if (answer.kind == BOOT_ANSWER_TEXT)
        process_reply(r, machine, seq, answer.text);
    else if (answer.kind == BOOT_ANSWER_FORBIDDEN)
        rack_count_reached(r, RACK_REACHED_SCRIPT_REFUSED);
    if (answer.kind != BOOT_ANSWER_GRANT)
        return;
    struct rack_ask ask = {.is_grant = true,
                           .mac = request.mac,
                           .machine = machine,
                           .seq = seq,
                           .node_id = answer.node,
                           .generation = answer.generation,
                           .ticket = str_copy(&r->arena, ticket),
                           .source = request.source};
    snprintf(ask.ticket_hash, sizeof ask.ticket_hash, "%.*s",
             STR_FMT_ARGS(ticket_hash(&r->scratch, ticket)));
    if (!process_ask(r, server, ask))
        rack_count_reached(r, RACK_REACHED_DAEMON_AWAY);
}

/* ---- messages ---- */

static void process_get_answer(struct rack *r, struct rack_server *server, struct str bytes,
                               uint32_t at)
{
    uint64_t id, answer;
    must(varint_read(bytes, &at, &id) && varint_read(bytes, &at, &answer));
    const struct rack_ask *ask = &r->asks[id - 1];
    if (ask->starts != server->starts)
        return;
    if (ask->is_grant) {
        const struct ticket_key key = process_key(ask->admin);
        const struct boot_site site = process_site(server, ask->admin, &key);
        const struct boot_request request = process_request(r, ask->mac, ask->ticket, ask->source);
        process_reply(
            r, ask->machine, ask->seq,
            boot_script_of_grant(&site, &request, (enum grant_answer)(answer - 1), &r->scratch));
        return;
    }
    struct dhcp_out out = {.arena = &r->scratch};
    const struct dhcp_taken taken = {ask->token, answer ? DHCP_TAKE_GRANTED : DHCP_TAKE_REFUSED,
                                     r->mono_ms};
    dhcp_taken(server->dhcp, server->view, &taken, &out);
    process_act(r, server, &out);
}

static void process_configure(struct rack *r, struct rack_server *server)
{
    enum { DOCUMENTS_MAX = 16 };
    struct str documents[DOCUMENTS_MAX];
    uint32_t count = 0;
    for (uint32_t at = 0; at < server->config.len;) {
        uint64_t len;
        must(count < DOCUMENTS_MAX && varint_read(server->config, &at, &len));
        documents[count++] = str_slice(server->config, at, at + (uint32_t)len);
        at += (uint32_t)len;
    }
    view_configure(server->view, documents, count);
    if (server->view->settings.problem.len)
        rack_fail(r, "settings: %.*s", STR_FMT_ARGS(server->view->settings.problem));
}

static void process_apply(struct rack *r, struct rack_server *server, struct str bytes, uint32_t at)
{
    struct boot_copy *copy = server->is_receiving ? &server->base : &server->copy;
    struct view *view = server->is_receiving ? server->base_view : server->view;
    while (at < bytes.len) {
        struct boot_key key;
        uint64_t len;
        must(boot_key_decode(bytes, &at, &key) == OK && varint_read(bytes, &at, &len) &&
             len <= bytes.len - at);
        const struct str entry = {bytes.at + at, (uint32_t)len};
        boot_copy_set(copy, key, entry);
        if (!len)
            view_remove(view, key);
        else if (view_put(view, entry, r->mono_ms) != OK)
            rack_fail(r, "boot view: %s %lld is refused by a boot server", boot_fact_name(key.kind),
                      (long long)key.id);
        at += (uint32_t)len;
    }
}

static void process_finish_base(struct rack *r, struct rack_server *server)
{
    boot_copy_fini(&server->copy);
    process_free_view(server->view);
    server->copy = server->base;
    server->base = (struct boot_copy){0};
    server->view = server->base_view;
    server->base_view = process_new_view();
    server->is_receiving = false;
    server->has_copy = true;
    server->history = r->history;
    process_configure(r, server);
    rack_count_reached(r, RACK_REACHED_BASE_RECEIVED);
}

/* The view has the entries of the copy, and finds each machine by its MACs. */
static void process_check_view(struct rack *r, const struct rack_server *server)
{
    struct digest128 wanted;
    const struct view *v = server->view;
    if (view_count(v) != server->copy.count ||
        boot_copy_digest(&server->copy, &r->scratch, &wanted) != OK ||
        !digest_eq(wanted, view_digest(v)))
        rack_fail(r, "boot view: the view of a boot server is not what it was sent");
    for (int64_t id = 0; (id = view_next_id(v, BOOT_MACHINE, id)) != 0;) {
        struct boot_entry entry;
        const struct boot_key key = {BOOT_MACHINE, id};
        const struct str bytes = boot_copy_get(&server->copy, key);
        if (!view_get(v, key, &r->scratch, &entry) || !bytes.len)
            rack_fail(r, "boot view: a boot server has the machine %lld, which it was not sent",
                      (long long)id);
        else if (entry.machine.mac_count && !view_machine_of_mac(v, entry.machine.macs[0]))
            rack_fail(r, "boot view: a boot server does not find the machine %lld by its MAC",
                      (long long)id);
    }
}

/* The process has the view of a turn: it acknowledges it. */
static void process_reach(struct rack *r, uint32_t admin, struct servers_message header)
{
    struct rack_server *server = &r->servers[admin];
    process_check_view(r, server);
    if (header.loads != r->loads)
        return; /* of an earlier load: the daemon drops its acknowledgement */
    const char *said = boot_view_oracle_server(&r->view, &server->copy, header.turn, &r->scratch);
    if (said)
        rack_fail(r, "boot view: %s", said);
    rack_count_reached(r, RACK_REACHED_VIEW_COMPARED);
    if (server->connection == server->joined && header.turn > server->taken) {
        server->taken = header.turn;
        rack_server_say_later(r, admin, prng_between(&r->rng, 1, SEND_MS_MAX));
    }
}

/* After a change of the view or of the settings. */
static void process_settle(struct rack *r, struct rack_server *server)
{
    struct dhcp_out out = {.arena = &r->scratch};
    view_refresh(server->view);
    dhcp_tick(server->dhcp, server->view, r->mono_ms, &out);
    process_act(r, server, &out);
}

static void process_get_entries(struct rack *r, struct rack_server *server, struct str bytes,
                                struct servers_message header)
{
    if (header.parts & SERVER_BASE_FIRST) {
        boot_copy_fini(&server->base);
        process_free_view(server->base_view);
        server->base_view = process_new_view();
        server->is_receiving = true;
    }
    process_apply(r, server, bytes, header.at);
    if (header.parts & SERVER_BASE_LAST)
        process_finish_base(r, server);
    if (server->is_receiving)
        return;
    process_settle(r, server);
    process_reach(r, process_admin(r, server), header);
}

void rack_server_gets(struct rack *r, const struct event *event)
{
    uint32_t admin;
    struct rack_server *server = rack_server_find(r, event->id, &admin);
    struct servers_message header = {0};
    uint64_t loads, turn;
    if (!server || server->joined != event->id)
        return;
    must(varint_read(event->bytes, &header.at, &loads) &&
         varint_read(event->bytes, &header.at, &turn) &&
         varint_read(event->bytes, &header.at, &header.parts));
    header.loads = (int64_t)loads;
    header.turn = (int64_t)turn;
    if (header.parts & SERVER_ANSWER) {
        process_get_answer(r, server, event->bytes, header.at);
    } else if (header.parts & SERVER_CONFIG) {
        server->config = str_slice(event->bytes, header.at, event->bytes.len);
        process_configure(r, server);
        process_settle(r, server);
    } else {
        process_get_entries(r, server, event->bytes, header);
    }
}

/* ---- what it has ---- */

static enum rack_answered process_look_up(struct rack *r, uint32_t admin, int64_t node_id,
                                          struct rack_answer *out)
{
    const struct rack_server *server = &r->servers[admin];
    struct boot_entry entry;
    struct boot_bootenv bootenv;
    if (!server->has_copy)
        return RACK_SILENT;
    if (!node_id ||
        !view_get(server->view, (struct boot_key){BOOT_MACHINE, node_id}, &r->scratch, &entry))
        return RACK_NOT_LISTED;
    const struct boot_machine *m = &entry.machine;
    /* An environment that no barclamp defines is answered with the disk. */
    const bool is_known = view_find_bootenv(server->view, m->bootenv, &r->scratch, &bootenv);
    *out = (struct rack_answer){
        .node_id = node_id, .generation = m->generation, .history = server->history};
    snprintf(out->bootenv, sizeof out->bootenv, "%.*s",
             STR_FMT_ARGS(is_known ? m->bootenv : STR("local")));
    return RACK_ANSWERED;
}

enum rack_answered rack_server_ask(struct rack *r, uint32_t admin, uint32_t machine,
                                   struct rack_answer *out)
{
    const struct rack_server *server = &r->servers[admin];
    const int64_t node_id =
        server->has_copy ? view_machine_of_mac(server->view, rack_machine_mac(r, machine)) : 0;
    return process_look_up(r, admin, node_id, out);
}

enum rack_answered rack_server_has(struct rack *r, uint32_t admin, int64_t node_id,
                                   struct rack_answer *out)
{
    return process_look_up(r, admin, node_id, out);
}
