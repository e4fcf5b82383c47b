/* Goal: no sequence of packets, results and times makes the DHCP server give an address to the
 * wrong client, send a packet that is too long or not well formed, or read past a packet.
 * Method: the input is a list of steps against a server with a small plan of networks, machines and
 * leases (dhcp_dialog.h). After each step all actions are checked against the view, which does not
 * change, and against the leases that the input has granted. Packets are in blocks that end where
 * the packet ends. */
#include "tests/unit/boot/dhcp_dialog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void check_failed(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    abort();
}

void check_register(const char *name, void (*body)(void **))
{
    (void)name, (void)body;
}

enum { GRANTS_MAX = 64, STEPS_MAX = 200, ACTIONS_MAX = 64 };

/* What the input has granted or refused: the client of a TAKE and its address. */
struct grant {
    uint64_t mac;
    uint32_t address;
};

static struct dialog *site;
static struct grant taking, granted[GRANTS_MAX];
static uint32_t granted_count;
static uint64_t refused_mac;
static uint64_t probe_token, take_token;

struct source {
    const uint8_t *at;
    size_t left;
};

static uint32_t next_number(struct source *s, uint32_t bytes)
{
    uint32_t number = 0;
    for (; bytes && s->left; bytes--, s->left--)
        number = number << 8 | *s->at++;
    return number;
}

/* ---- checks ---- */

static bool is_granted(uint64_t mac, uint32_t address)
{
    for (uint32_t i = 0; i < granted_count; i++)
        if (granted[i].mac == mac && granted[i].address == address)
            return true;
    return false;
}

static bool has_lease(uint64_t mac, uint32_t address)
{
    struct view_lease lease;
    for (int64_t id = 0; view_next_lease_of_mac(&site->view, mac, id, &lease); id = lease.id)
        if ((!address || lease.address == address) && lease.ends_ms > site->now_ms)
            return true;
    return false;
}

static bool is_pool_address(uint32_t address)
{
    for (uint32_t i = 0; i < site->view.range_count; i++) {
        const struct view_range *range = &site->view.ranges[i];
        if (range->is_pool && range->is_admin && address >= range->first && address <= range->last)
            return true;
    }
    return false;
}

/* An address for a client: its reservation, or one of a pool that no machine, router or other
 * client has. */
static void check_address(uint64_t mac, uint32_t address, bool is_ack)
{
    const int64_t node = view_machine_of_mac(&site->view, mac);
    const int64_t holder = view_machine_of_address(&site->view, address);
    if (holder) {
        CHECK(holder == node);
        return;
    }
    struct view_lease lease;
    CHECK(is_pool_address(address) && !view_is_router(&site->view, address));
    CHECK(!dhcp_is_own_address(&site->dhcp, address));
    if (view_lease_of_address(&site->view, address, &lease) && lease.state == LEASE_LIVE)
        CHECK(lease.mac == mac);
    CHECK(!is_ack || has_lease(mac, address) || is_granted(mac, address));
}

/* The request that is answered; for a reply after a probe or a TAKE it is an older one. */
static void check_send(const struct dhcp_action *action, const struct dhcp_message *request)
{
    struct dhcp_message *m = arena_new(&site->arena, struct dhcp_message);
    CHECK(action->bytes.len >= DHCP_SIZE_MIN && action->bytes.len + DHCP_IP_UDP_SIZE <= 1500);
    CHECK(dhcp_parse(action->bytes, &site->arena, m));
    CHECK(!str_starts(m->options[DHCP_OPTION_CLASS], STR("PXEClient")));
    if (m->head.op == 1) {
        CHECK(dhcp_is_search(m) && action->to == DHCP_TO_BROADCAST);
        return;
    }
    CHECK(m->head.mac == action->mac && dhcp_has(m, DHCP_OPTION_SERVER));
    CHECK(action->port == (m->head.giaddr ? DHCP_SERVER_PORT : DHCP_CLIENT_PORT));
    if (m->type == DHCPNAK)
        CHECK(view_machine_of_mac(&site->view, m->head.mac) || has_lease(m->head.mac, 0) ||
              refused_mac == m->head.mac);
    else if (m->head.yiaddr)
        check_address(m->head.mac, m->head.yiaddr, m->type == DHCPACK);
    if (!request || request->head.mac != m->head.mac)
        return;
    uint32_t max = dhcp_get_number(request, DHCP_OPTION_MAX_SIZE);
    max = max < DHCP_DATAGRAM_MIN ? DHCP_DATAGRAM_MIN : max;
    CHECK(action->bytes.len + DHCP_IP_UDP_SIZE <= max);
    CHECK(m->head.xid == request->head.xid && m->head.giaddr == request->head.giaddr);
    CHECK(str_eq(m->options[DHCP_OPTION_RELAY], request->options[DHCP_OPTION_RELAY]));
}

static void check_action(const struct dhcp_action *action, const struct dhcp_message *request)
{
    CHECK(action->slot < DHCP_INTERFACES_MAX);
    switch (action->kind) {
    case DHCP_SEND: check_send(action, request); break;
    case DHCP_ADVERTISE: CHECK(action->bytes.len == 24); break;
    case DHCP_PROBE:
        probe_token = action->token;
        check_address(action->mac, action->address, false);
        break;
    case DHCP_TAKE:
        take_token = action->token;
        taking = (struct grant){action->mac, action->address};
        CHECK(action->range && action->lease_s && is_pool_address(action->address));
        check_address(action->mac, action->address, false);
        break;
    case DHCP_RELEASE: CHECK(has_lease(action->mac, action->address)); break;
    case DHCP_DECLINE: CHECK(action->range && is_pool_address(action->address)); break;
    case DHCP_OBSERVE: CHECK(dhcp_observation_name(action->observation)); break;
    case DHCP_ACTION_COUNT: CHECK(false); break;
    }
}

static void check_actions(const struct dhcp_message *request)
{
    uint32_t count = 0;
    for (const struct dhcp_action *action = site->out.first; action; action = action->next) {
        check_action(action, request);
        CHECK(++count <= ACTIONS_MAX);
    }
    const struct dhcp *d = &site->dhcp;
    CHECK(d->offers.index.count <= DHCP_OFFERS_MAX);
    CHECK(d->pending.index.count <= DHCP_PENDING_MAX);
}

/* ---- steps ---- */

/* A copy that ends where its block ends. */
static struct str next_block(struct source *s, uint32_t len, char **out_block)
{
    len = len > s->left ? (uint32_t)s->left : len;
    *out_block = malloc(len + (size_t)!len);
    CHECK(*out_block);
    memcpy(*out_block, s->at, len);
    s->at += len;
    s->left -= len;
    return (struct str){*out_block, len};
}

/* Flags: interface in bits 0 and 1, sent to our address in bit 2, an address of ours for the answer
 * in bit 3, from ciaddr in bit 4. */
static void step_packet(struct source *s)
{
    char *block;
    const uint32_t flags = next_number(s, 1);
    struct dhcp_message *m = arena_new(&site->arena, struct dhcp_message);
    struct dhcp_packet packet = {.slot = flags & 3,
                                 .destination = flags & 4 ? 0x0a000001 : DHCP_BROADCAST,
                                 .local = flags & 8 ? 0x0a000001 : 0,
                                 .now_ms = site->now_ms};
    packet.bytes = next_block(s, next_number(s, 2), &block);
    const bool is_message = dhcp_parse(packet.bytes, &site->arena, m);
    packet.source = is_message && flags & 16 ? m->head.ciaddr : 0;
    dhcp_receive(&site->dhcp, &site->view, &packet, &site->out);
    check_actions(is_message ? m : NULL);
    free(block);
}

static void step_router(struct source *s)
{
    char *block;
    struct ra_packet packet = {.slot = next_number(s, 1) & 3,
                               .hop_limit = (uint8_t)(255 - (next_number(s, 1) & 1)),
                               .source_mac = MAC_BASE + next_number(s, 1),
                               .now_ms = site->now_ms};
    packet.source[15] = (uint8_t)next_number(s, 1);
    packet.bytes = next_block(s, next_number(s, 1), &block);
    ra_receive(&site->dhcp, &site->view, &packet, &site->out);
    check_actions(NULL);
    free(block);
}

static void step_result(struct source *s, bool is_probe)
{
    const uint32_t value = next_number(s, 1);
    if (is_probe) {
        const struct dhcp_probed probed = {probe_token, value ? MAC_BASE + value : 0, site->now_ms};
        dhcp_probed(&site->dhcp, &site->view, &probed, &site->out);
    } else {
        const struct dhcp_taken taken = {take_token, (enum dhcp_take)(value % 3), site->now_ms};
        if (taken.take == DHCP_TAKE_GRANTED && granted_count < GRANTS_MAX)
            granted[granted_count++] = taking;
        refused_mac = taken.take == DHCP_TAKE_REFUSED ? taking.mac : 0;
        dhcp_taken(&site->dhcp, &site->view, &taken, &site->out);
    }
    check_actions(NULL);
}

/* An offer of another server as the answer to the last search. */
static void step_foreign(struct source *s)
{
    const struct dhcp_head head = {
        .op = 2, .xid = site->dhcp.ports[0].search_xid, .mac = site->dhcp.ports[0].mac};
    struct dhcp_writer w = dhcp_begin(&site->arena, &head, DHCP_SIZE_MIN, 1);
    CHECK(dhcp_put_number(&w, DHCP_OPTION_TYPE, DHCPOFFER, 1));
    CHECK(dhcp_put_number(&w, DHCP_OPTION_SERVER, next_number(s, 4), 4));
    const struct dhcp_packet packet = {.bytes = dhcp_finish(&w, (struct str){0}),
                                       .now_ms = site->now_ms};
    dhcp_receive(&site->dhcp, &site->view, &packet, &site->out);
    check_actions(NULL);
}

static void step_time(int64_t time_ms)
{
    site->now_ms += time_ms;
    dhcp_tick(&site->dhcp, &site->view, site->now_ms, &site->out);
    check_actions(NULL);
    CHECK(dhcp_next_deadline(&site->dhcp) > site->now_ms);
}

static void step(struct source *s)
{
    arena_reset(&site->arena);
    site->out = (struct dhcp_out){.arena = &site->arena};
    switch (next_number(s, 1) % 6) {
    case 0: step_packet(s); break;
    case 1: step_result(s, true); break;
    case 2: step_result(s, false); break;
    case 3: step_time((int64_t)next_number(s, 1) * 4000); break;
    case 4: step_router(s); break;
    default: step_foreign(s); break;
    }
}

/* ---- site ---- */

static void make_site(void)
{
    site = dialog_new(true);
    dialog_run(site,
               "> machine id=3 name=n3.example.com env=sledgehammer gen=5 macs=3,4 "
               "at=10.0.0.7/24@1\n"
               "> machine id=5 name=n5 env=local gen=2 macs=5 at=10.1.0.12/16@2,10.9.0.7/24@3 "
               "options={\"local_boot\":\"chain\"}\n"
               "> machine id=6 name=n6 env=gone macs=6 at=10.0.0.9/32@0\n"
               "> lease id=1 mac=9 at=10.0.0.102/24 left=1300\n"
               "> lease id=2 mac=8 at=10.1.0.13/16 range=21 left=100\n"
               "> lease id=3 mac=8 at=10.0.0.103/24 state=1 left=50\n"
               "> lease id=4 mac=10 at=10.9.0.105/24 range=31\n");
    dialog_settings(site, "{\"dhcp\":{\"networks\":{\"big\":{\"unknown\":\"all\"}}},"
                          "\"provisioner\":{}}");
    dhcp_fini(&site->dhcp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!site)
        make_site();
    const struct dhcp_setup setup = {
        .seed = 1, .http_port = 8091, .make_ticket = dialog_ticket, .self = site};
    struct source s = {data, size};
    granted_count = 0;
    refused_mac = probe_token = take_token = 0;
    taking = (struct grant){0};
    site->now_ms = 1000000;
    site->out = (struct dhcp_out){.arena = &site->arena};
    dhcp_init(&site->dhcp, &setup);
    dialog_interface(site, 0, false);
    dialog_interface(site, 1, false);
    step_time(0);
    step_time(4000);
    for (uint32_t i = 0; i < STEPS_MAX && s.left; i++)
        step(&s);
    dhcp_fini(&site->dhcp);
    arena_reset(&site->arena);
    return 0;
}
