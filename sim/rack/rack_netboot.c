#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "boot/dhcp/dhcp_wire.h"
#include "boot/script/boot_args.h"
#include "sim/rack/ipxe.h"

/* Firmware and iPXE of a machine, in front of boot servers.
 *
 * A network boot has two dialogs with DHCP (DISCOVER, OFFER, REQUEST, ACK): the first one is that
 * of the firmware, whose boot file is iPXE, the second one that of iPXE, whose boot file is the URL
 * of its script. Without a boot file the machine boots its disk. The first offer is accepted. What
 * is lost is sent again; after some attempts the firmware begins again.
 *
 * A script (ipxe.c) ends with the kernel that it starts, with the disk, with another script, or
 * with the question whether the installer that is loaded may start: that is a request of the
 * machine like others (rack_calls.c). Even machines have a BIOS, odd ones UEFI.
 *
 * If DHCP is published, its database decides whether the machine gets a script. If the provisioner
 * is published, its database decides instead of the script. */

enum {
    DISCOVERS_MAX = 4,
    REQUESTS_MAX = 3,
    GETS_MAX = 3,
    WAIT_S = 4, /* for a reply of DHCP */
    GET_S = 10, /* for a page */
    SEND_MS_MAX = 300,
    PACKET_SIZE = 1024,
    ARCH_BIOS = 0,
    ARCH_UEFI = 7
};

/* ---- addresses ---- */

uint32_t rack_admin_address(uint32_t admin)
{
    return RACK_SUBNET + 10 + admin;
}

static uint32_t netboot_admin_of(uint32_t address)
{
    return address == rack_admin_address(1) ? 1 : 0;
}

uint64_t rack_machine_mac(const struct rack *r, uint32_t machine)
{
    must(machine < r->scenario.machines);
    return 0x525400000a01 + machine;
}

uint32_t rack_machine_address(const struct rack *r, uint32_t machine)
{
    must(machine < r->scenario.machines);
    return RACK_SUBNET + 81 + machine;
}

/* ---- timeouts ---- */

/* Whatever was waited for before is void. */
static void netboot_wait(struct rack *r, uint32_t machine, int64_t ms)
{
    const struct rack_machine *m = &r->machines[machine];
    const uint32_t serial = ++r->machines[machine].net.serial;
    rack_at(r, ms, RACK_EVENT_NET_TIMEOUT,
            (struct event){.id = machine, .detail = (int64_t)m->boot << 32 | serial});
}

/* False: the machine has booted since, or waits for something else. */
static bool netboot_is_awaited(const struct rack *r, const struct event *event)
{
    const struct rack_machine *m = &r->machines[event->id];
    return event->detail == ((int64_t)m->boot << 32 | m->net.serial) && m->net.phase != NET_OFF;
}

static void netboot_fail(struct rack *r, uint32_t machine)
{
    struct rack_net *net = &r->machines[machine].net;
    net->phase = NET_OFF;
    net->serial++;
    rack_count_reached(r, RACK_REACHED_DHCP_FAILED);
    rack_machine_start_again(r, machine);
}

/* ---- DHCP ---- */

static void netboot_put_text(struct dhcp_writer *w, enum dhcp_option code, const char *text)
{
    must(dhcp_put_option(w, code, str_from(text)));
}

/* The options by which boot servers recognise firmware and iPXE. */
static void netboot_identify(const struct rack_net *net, bool is_bios, struct dhcp_writer *w)
{
    static const char features[] = {19, 1, 1}; /* HTTP */
    static const char parameters[] = {1, 3, 6, 12, 15, 43, 66, 67};
    must(dhcp_put_number(w, DHCP_OPTION_MAX_SIZE, 1472, 2));
    netboot_put_text(w, DHCP_OPTION_CLASS,
                     is_bios ? "PXEClient:Arch:00000:UNDI:002001"
                             : "PXEClient:Arch:00007:UNDI:003016");
    must(dhcp_put_number(w, DHCP_OPTION_ARCH, is_bios ? ARCH_BIOS : ARCH_UEFI, 2));
    must(dhcp_put_option(w, DHCP_OPTION_PARAMETERS, (struct str){parameters, sizeof parameters}));
    if (!net->is_ipxe)
        return;
    netboot_put_text(w, DHCP_OPTION_USER_CLASS, "iPXE");
    must(dhcp_put_option(w, DHCP_OPTION_IPXE, (struct str){features, sizeof features}));
}

/* A broadcast reaches every boot server, at different times. */
static void netboot_broadcast(struct rack *r, uint32_t machine, enum dhcp_message_type type)
{
    const struct rack_net *net = &r->machines[machine].net;
    const struct dhcp_head head = {.op = 1, .xid = net->xid, .mac = rack_machine_mac(r, machine)};
    struct dhcp_writer w =
        dhcp_begin(&r->arena, &head, PACKET_SIZE, dhcp_finish_size((struct str){"", 0}));
    must(dhcp_put_number(&w, DHCP_OPTION_TYPE, type, 1));
    if (type == DHCPREQUEST) {
        must(dhcp_put_number(&w, DHCP_OPTION_REQUESTED_ADDRESS, net->offered, 4));
        must(dhcp_put_number(&w, DHCP_OPTION_SERVER, net->server, 4));
    }
    netboot_identify(net, machine % 2 == 0, &w);
    const struct str bytes = dhcp_finish(&w, (struct str){"", 0});
    for (uint32_t admin = 0; admin < RACK_ADMINS; admin++) {
        const struct event event = {.id = admin, .bytes = bytes};
        if ((admin && !r->scenario.two_databases) || rack_fault(r, RACK_PACKET_LOST))
            continue;
        rack_at(r, prng_between(&r->rng, 1, SEND_MS_MAX), RACK_EVENT_DHCP_TO_SERVER, event);
        if (rack_fault(r, RACK_PACKET_TWICE))
            rack_at(r, prng_between(&r->rng, 1, 20 * RACK_SECOND), RACK_EVENT_DHCP_TO_SERVER,
                    event);
    }
}

static void netboot_discover(struct rack *r, uint32_t machine)
{
    struct rack_net *net = &r->machines[machine].net;
    net->phase = NET_DISCOVERS;
    rack_note(r, "discovers", machine, net->is_ipxe);
    net->xid = (uint32_t)prng_next(&r->rng);
    netboot_broadcast(r, machine, DHCPDISCOVER);
    netboot_wait(r, machine, (int64_t)WAIT_S * RACK_SECOND << net->tries);
}

static void netboot_begin_dialog(struct rack *r, uint32_t machine, bool is_ipxe)
{
    struct rack_net *net = &r->machines[machine].net;
    net->is_ipxe = is_ipxe;
    net->tries = 0;
    net->address = 0;
    netboot_discover(r, machine);
}

void rack_netboot_start(struct rack *r, uint32_t machine)
{
    r->machines[machine].net.kernel[0] = 0;
    netboot_begin_dialog(r, machine, false);
}

static void netboot_request(struct rack *r, uint32_t machine)
{
    struct rack_net *net = &r->machines[machine].net;
    net->phase = NET_REQUESTS;
    netboot_broadcast(r, machine, DHCPREQUEST);
    netboot_wait(r, machine, WAIT_S * RACK_SECOND);
}

/* ---- scripts ---- */

static void netboot_ask_page(struct rack *r, uint32_t machine)
{
    struct rack_net *net = &r->machines[machine].net;
    net->phase = NET_GETS;
    rack_note(r, "gets", machine, net->tries);
    netboot_wait(r, machine, GET_S * RACK_SECOND);
    if (!rack_fault(r, RACK_PACKET_LOST))
        rack_at(r, prng_between(&r->rng, 1, SEND_MS_MAX), RACK_EVENT_PAGE_ASKED,
                (struct event){.id = machine,
                               .detail = (int64_t)r->machines[machine].boot << 32 | net->serial,
                               .bytes = net->url});
}

static void netboot_get(struct rack *r, uint32_t machine, struct str url)
{
    struct rack_net *net = &r->machines[machine].net;
    net->url = str_copy(&r->arena, url);
    net->tries = 0;
    netboot_ask_page(r, machine);
}

/* "http://192.168.124.10:8091/boot/52-54-00-00-0a-01" */
static struct str netboot_url(struct rack *r, uint32_t machine, struct str ticket)
{
    char url[300];
    const uint32_t address = rack_admin_address(r->machines[machine].net.admin);
    snprintf(url, sizeof url, "http://%u.%u.%u.%u:%d/boot/%.*s%s%.*s", address >> 24,
             address >> 16 & 0xff, address >> 8 & 0xff, address & 0xff, RACK_HTTP_PORT,
             STR_FMT_ARGS(boot_args_hyphenated(rack_machine_mac(r, machine), &r->scratch)),
             ticket.len ? "?t=" : "", STR_FMT_ARGS(ticket));
    return str_copy(&r->arena, str_from(url));
}

void rack_netboot_get(struct rack *r, uint32_t machine, uint32_t admin)
{
    struct rack_net *net = &r->machines[machine].net;
    net->kernel[0] = 0;
    net->admin = admin;
    net->address = rack_machine_address(r, machine);
    netboot_get(r, machine, netboot_url(r, machine, (struct str){"", 0}));
}

void rack_netboot_again(struct rack *r, uint32_t machine)
{
    rack_count_reached(r, RACK_REACHED_SCRIPT_AGAIN);
    r->machines[machine].net.kernel[0] = 0;
    netboot_get(r, machine, netboot_url(r, machine, str_from(r->machines[machine].ticket)));
}

/* ---- replies of DHCP ---- */

static void netboot_offered(struct rack *r, uint32_t machine, const struct dhcp_message *m)
{
    struct rack_net *net = &r->machines[machine].net;
    net->offered = m->head.yiaddr;
    net->server = dhcp_get_number(m, DHCP_OPTION_SERVER);
    net->tries = 0;
    netboot_request(r, machine);
}

static void netboot_run_script_of(struct rack *r, uint32_t machine, struct str file)
{
    struct rack_net *net = &r->machines[machine].net;
    if (!str_starts(file, STR("http://"))) {
        rack_fail(r, "DHCP: iPXE of %s gets the boot file %.*s", r->machines[machine].name,
                  STR_FMT_ARGS(file));
    } else if (r->scenario.is_native[RACK_PROVISIONER]) {
        netboot_get(r, machine, file);
    } else {
        net->phase = NET_OFF;
        rack_machine_run_published(r, machine, net->admin);
    }
}

static void netboot_acknowledged(struct rack *r, uint32_t machine, const struct dhcp_message *m)
{
    struct rack_net *net = &r->machines[machine].net;
    const struct str option = m->options[DHCP_OPTION_BOOT_FILE];
    const struct str file = option.len ? option : m->head.file;
    net->address = m->head.yiaddr;
    net->admin = netboot_admin_of(net->server);
    net->serial++;
    rack_note(r, "acknowledged", machine, net->address - RACK_SUBNET);
    rack_check_address(r, machine, net->address);
    rack_count_reached(r, net->address == rack_machine_address(r, machine)
                              ? RACK_REACHED_DHCP_RESERVED
                              : RACK_REACHED_DHCP_LEASED);
    if (!file.len) {
        net->phase = NET_OFF;
        rack_count_reached(r, RACK_REACHED_DHCP_NO_FILE);
        rack_machine_run_disk(r, machine);
    } else if (net->is_ipxe) {
        netboot_run_script_of(r, machine, file);
    } else {
        netboot_begin_dialog(r, machine, true);
    }
}

void rack_netboot_packet(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    const struct rack_net *net = &r->machines[machine].net;
    struct dhcp_message m;
    if (!dhcp_parse(event->bytes, &r->scratch, &m)) {
        rack_fail(r, "DHCP: a reply to %s is not well formed", r->machines[machine].name);
        return;
    }
    if (m.head.xid != net->xid || m.head.op != 2)
        return; /* of an earlier dialog */
    if (net->phase == NET_DISCOVERS && m.type == DHCPOFFER)
        netboot_offered(r, machine, &m);
    else if (net->phase == NET_REQUESTS && m.type == DHCPACK)
        netboot_acknowledged(r, machine, &m);
    else if (net->phase == NET_REQUESTS && m.type == DHCPNAK)
        netboot_begin_dialog(r, machine, net->is_ipxe);
}

/* ---- pages ---- */

/* The ticket of a URL. */
static void netboot_keep_ticket(struct rack_machine *m, struct str url)
{
    const uint32_t at = str_find(url, '=', 0);
    snprintf(m->ticket, sizeof m->ticket, "%.*s",
             STR_FMT_ARGS(str_slice(url, at < url.len ? at + 1 : at, url.len)));
}

static void netboot_boot_kernel(struct rack *r, uint32_t machine, const struct ipxe *ipxe)
{
    struct rack_machine *m = &r->machines[machine];
    char generation[64];
    snprintf(generation, sizeof generation, "halligan.generation=%lld ",
             (long long)m->answer.generation);
    if (m->answer.node_id && !str_has(ipxe->arguments, str_from(generation)))
        rack_fail(r, "script: the arguments of %s have another generation than %lld", m->name,
                  (long long)m->answer.generation);
    rack_machine_run(r, machine,
                     str_starts(ipxe->kernel, STR("sledgehammer/")) ? RACK_ENV_SLEDGEHAMMER
                                                                    : RACK_ENV_INSTALLER);
}

static void netboot_run_script(struct rack *r, uint32_t machine, struct str script)
{
    struct rack_machine *m = &r->machines[machine];
    struct ipxe ipxe = {.is_bios = machine % 2 == 0,
                        .has_os = rack_machine_has_os(r, machine),
                        .kernel = str_from(m->net.kernel)};
    const enum ipxe_end end = ipxe_run(&ipxe, script);
    switch (end) {
    case IPXE_BOOTS: netboot_boot_kernel(r, machine, &ipxe); return;
    case IPXE_EXITS: rack_machine_run_disk(r, machine); return;
    case IPXE_BROKEN:
        rack_fail(r, "script: iPXE does not understand \"%.*s\"", STR_FMT_ARGS(ipxe.url));
        return;
    case IPXE_CHAINS: break;
    }
    snprintf(m->net.kernel, sizeof m->net.kernel, "%.*s", STR_FMT_ARGS(ipxe.kernel));
    netboot_keep_ticket(m, ipxe.url);
    if (ipxe.kernel.len && str_has(ipxe.url, STR("/install?")))
        rack_machine_run(r, machine, RACK_ENV_LOADER);
    else
        netboot_get(r, machine, ipxe.url); /* it waits and asks again */
}

void rack_netboot_page(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    struct rack_machine *m = &r->machines[machine];
    struct rack_page page;
    if (!netboot_is_awaited(r, event))
        return;
    memcpy(&page, event->bytes.at, sizeof page);
    if (!page.text.len)
        return; /* refused: it waits and asks again, as without an answer */
    m->answer = page.answer;
    m->net.phase = NET_OFF;
    m->net.serial++;
    if (page.answer.node_id)
        rack_count_reached(r, RACK_REACHED_SERVED_NATIVE);
    if (page.answer.node_id && m->net.admin)
        rack_count_reached(r, RACK_REACHED_SERVED_BY_SECOND);
    netboot_run_script(r, machine, page.text);
}

/* ---- no answer ---- */

/* A script asks for the next one until it gets it; the URL of a DHCP reply is tried a few times. */
static void netboot_get_again(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    if (m->env != RACK_ENV_LOADER && ++m->net.tries >= GETS_MAX)
        netboot_fail(r, machine);
    else
        netboot_ask_page(r, machine);
}

void rack_netboot_timeout(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    struct rack_net *net = &r->machines[machine].net;
    if (!netboot_is_awaited(r, event))
        return;
    switch (net->phase) {
    case NET_DISCOVERS:
        if (++net->tries < DISCOVERS_MAX)
            netboot_discover(r, machine);
        else
            netboot_fail(r, machine);
        return;
    case NET_REQUESTS:
        if (++net->tries < REQUESTS_MAX)
            netboot_request(r, machine);
        else
            netboot_fail(r, machine);
        return;
    case NET_GETS: netboot_get_again(r, machine); return;
    case NET_OFF: return;
    }
}
