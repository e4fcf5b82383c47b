/* dhcp_dialog.h - dialogs with the DHCP server, as text.
 *
 * A dialog is a list of lines. A line with ">" is an input: a message of a client, the result of an
 * action, a change of the view, or time. The lines with "<" after it are all actions that come out,
 * in order. The first word of an output line is its kind; each further word of the expected line
 * must be a word of the line that came: as it is written, or up to a "*" at its end. "!x" states
 * that no word begins with x=.
 *
 * Addresses and MACs: "mac=7" is 52:54:00:00:00:07. The server has 10.0.0.1/24 and 10.1.0.1/16 on
 * interface 0 (eth0), 192.0.2.1/24 on interface 1 (eth1), which no network has.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/net/ip.h"
#include "boot/dhcp/dhcp_private.h"
#include "boot/dhcp/ra.h"
#include "boot/script/ticket.h"
#include "model/network_record.h"
#include "tests/check.h"

#define MAC_BASE UINT64_C(0x525400000000)
enum { LINE_SIZE = 4096, WORDS_MAX = 48 };

struct dialog {
    struct dhcp dhcp;
    struct view view;
    struct arena arena;
    int64_t now_ms;
    uint64_t token;
    uint32_t xid;
    uint32_t search_xid;
    struct dhcp_out out;
    char lines[32][LINE_SIZE]; /* of the last input */
    uint32_t line_count;
};

/* ---- values ---- */

static inline uint32_t dialog_address(struct str text)
{
    struct ip ip;
    const char *wrong;
    CHECK(ip_parse(text, &ip, &wrong) && ip.family == IP_V4);
    return (uint32_t)ip.lo;
}

static inline const char *dialog_dotted(uint32_t address)
{
    static char texts[8][20];
    static uint32_t turn;
    char *text = texts[turn++ % 8];
    snprintf(text, 20, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
             address & 255);
    return text;
}

static inline struct str dialog_hex(struct arena *a, struct str text)
{
    CHECK(text.len % 2 == 0);
    char *bytes = arena_alloc(a, text.len / 2 + (size_t)1);
    for (uint32_t i = 0; i < text.len / 2; i++) {
        char pair[3] = {text.at[2 * i], text.at[2 * i + 1], 0}, *end;
        bytes[i] = (char)strtoul(pair, &end, 16);
        CHECK(*end == 0);
    }
    return (struct str){bytes, text.len / 2};
}

/* The words of a line, between spaces. */
static inline uint32_t dialog_words(struct str line, struct str *words)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < line.len;) {
        const uint32_t end = str_find(line, ' ', at);
        if (end > at) {
            CHECK(count < WORDS_MAX);
            words[count++] = str_slice(line, at, end);
        }
        at = end + 1;
    }
    return count;
}

struct dialog_line {
    struct str words[WORDS_MAX];
    uint32_t count;
};

/* The value of "key=value"; `at` is NULL if there is none. */
static inline struct str dialog_value(const struct dialog_line *line, const char *key)
{
    const uint32_t len = (uint32_t)strlen(key);
    for (uint32_t i = 1; i < line->count; i++)
        if (str_starts(line->words[i], str_from(key)) && line->words[i].len > len &&
            line->words[i].at[len] == '=')
            return str_slice(line->words[i], len + 1, line->words[i].len);
    return (struct str){0};
}

static inline uint32_t dialog_value_address(const struct dialog_line *line, const char *key)
{
    const struct str value = dialog_value(line, key);
    return value.at ? dialog_address(value) : 0;
}

static inline int64_t dialog_value_number(const struct dialog_line *line, const char *key,
                                          int64_t usual)
{
    const struct str value = dialog_value(line, key);
    int64_t number = usual;
    CHECK(!value.at || str_parse_i64(value, &number));
    return number;
}

static inline uint64_t dialog_mac(const struct dialog_line *line, const char *key)
{
    const int64_t number = dialog_value_number(line, key, 0);
    return number ? MAC_BASE + (uint64_t)number : 0;
}

/* ---- the view ---- */

static inline void dialog_put(struct dialog *d, const struct boot_entry *entry)
{
    struct buf bytes = buf_in(&d->arena);
    boot_entry_encode(entry, &bytes);
    CHECK(view_put(&d->view, buf_str(&bytes), d->now_ms) == OK);
    view_refresh(&d->view);
}

static inline void dialog_settings(struct dialog *d, const char *json)
{
    const struct str text = str_from(json);
    view_configure(&d->view, &text, 1);
}

/* machine id=3 name=n3.example.com env=sledgehammer gen=5 macs=3,4 at=10.0.0.7/24@1,... */
static inline void dialog_put_machine(struct dialog *d, const struct dialog_line *line)
{
    static uint64_t macs[8];
    static struct boot_address addresses[8];
    struct boot_entry entry = {.key = {BOOT_MACHINE, dialog_value_number(line, "id", 0)}};
    struct boot_machine *m = &entry.machine;
    m->name = dialog_value(line, "name");
    m->bootenv = dialog_value(line, "env");
    m->generation = dialog_value_number(line, "gen", 1);
    m->options = dialog_value(line, "options");
    const struct str mac_list = dialog_value(line, "macs"), list = dialog_value(line, "at");
    for (uint32_t at = 0; at < mac_list.len; at = str_find(mac_list, ',', at) + 1) {
        int64_t number;
        CHECK(str_parse_i64(str_slice(mac_list, at, str_find(mac_list, ',', at)), &number));
        macs[m->mac_count++] = MAC_BASE + (uint64_t)number;
    }
    for (uint32_t at = 0; at < list.len; at = str_find(list, ',', at) + 1) {
        const struct str one = str_slice(list, at, str_find(list, ',', at));
        const uint32_t sign = str_find(one, '@', 0);
        int64_t network;
        CHECK(str_parse_i64(str_slice(one, sign + 1, one.len), &network));
        addresses[m->address_count++] =
            (struct boot_address){.address = str_slice(one, 0, sign), .network = network};
    }
    m->macs = macs;
    m->addresses = addresses;
    dialog_put(d, &entry);
}

/* lease id=1 mac=9 at=10.0.0.105/24 left=2400 state=0 range=12 */
static inline void dialog_put_lease(struct dialog *d, const struct dialog_line *line)
{
    struct boot_entry entry = {.key = {BOOT_LEASE, dialog_value_number(line, "id", 1)}};
    entry.lease = (struct boot_lease){.mac = (int64_t)dialog_mac(line, "mac"),
                                      .network = 1,
                                      .range = dialog_value_number(line, "range", 12),
                                      .address = dialog_value(line, "at"),
                                      .state = (uint32_t)dialog_value_number(line, "state", 0),
                                      .left_ms = dialog_value_number(line, "left", 2400) * 1000};
    dialog_put(d, &entry);
}

/* Networks: admin (1, 10.0.0.0/24, pool .100 to .103, router .254), big (2, 10.1.0.0/16, pool
 * 10.1.0.10 to 10.1.0.19), far (3, 10.9.0.0/24, behind a relay), and unmanaged (4), in which no
 * machine boots. */
static inline void dialog_put_plan(struct dialog *d)
{
    static const char *const networks[][2] = {
        {"admin", "admin"}, {"big", "admin"}, {"far", "admin"}, {"unmanaged", "unmanaged"}};
    static const struct {
        int64_t id, network;
        const char *name, *first, *last;
    } ranges[] = {{11, 1, "host", "10.0.0.2/24", "10.0.0.99/24"},
                  {12, 1, "dhcp", "10.0.0.100/24", "10.0.0.103/24"},
                  {21, 2, "dhcp", "10.1.0.10/16", "10.1.0.19/16"},
                  {31, 3, "dhcp", "10.9.0.100/24", "10.9.0.109/24"},
                  {41, 4, "dhcp", "192.0.2.100/24", "192.0.2.109/24"}};
    struct boot_entry e;
    for (uint32_t i = 0; i < 4; i++) {
        e = (struct boot_entry){.key = {BOOT_NETWORK, i + 1}};
        e.network.name = str_from(networks[i][0]);
        e.network.category = str_from(networks[i][1]);
        dialog_put(d, &e);
    }
    for (uint32_t i = 0; i < 5; i++) {
        e = (struct boot_entry){.key = {BOOT_RANGE, ranges[i].id}};
        e.range = (struct boot_range){.network = ranges[i].network,
                                      .name = str_from(ranges[i].name),
                                      .first = str_from(ranges[i].first),
                                      .last = str_from(ranges[i].last)};
        dialog_put(d, &e);
    }
    e = (struct boot_entry){.key = {BOOT_ROUTER, 1}};
    e.router = (struct boot_router){1, STR("10.0.0.254/24"), 10};
    dialog_put(d, &e);
    e = (struct boot_entry){.key = {BOOT_BOOTENV, 1}};
    e.bootenv = (struct boot_bootenv){
        .name = STR("sledgehammer"), .kernel = STR("vmlinuz"), .method = STR("discovery")};
    dialog_put(d, &e);
}

/* ---- begin and end ---- */

/* As long as a ticket: node, generation, padding. */
static inline struct str dialog_ticket(void *self, uint64_t mac, int64_t node, int64_t generation,
                                       struct arena *a)
{
    CHECK(self && mac >> 48 == 0);
    char *text = arena_alloc(a, TICKET_LEN + 1);
    memset(text, '0', TICKET_LEN);
    const int len =
        snprintf(text, TICKET_LEN, "t%lld.%lld.", (long long)node, (long long)generation);
    text[len] = '0';
    return (struct str){text, TICKET_LEN};
}

#define DIALOG_SETTINGS                                                                            \
    "{\"dhcp\":{\"domain\":\"example.com\",\"nameservers\":[\"10.0.0.53\"]},\"provisioner\":{}}"

static inline void dialog_interface(struct dialog *d, uint32_t slot, bool forwards_v6)
{
    static const struct dhcp_address both[] = {{0x0a000001, 24}, {0x0a010001, 16}};
    static const struct dhcp_address other[] = {{0xc0000201, 24}};
    const struct dhcp_interface interface = {.slot = slot,
                                             .name = slot ? STR("eth1") : STR("eth0"),
                                             .mac = MAC_BASE + 0xff00 + slot,
                                             .addresses = slot ? other : both,
                                             .address_count = slot ? 1 : 2,
                                             .mtu = 1500,
                                             .forwards_v6 = forwards_v6};
    dhcp_set_interface(&d->dhcp, &interface);
}

static inline void dialog_input(struct dialog *d, struct str text);

/* A server whose interface is served already, unless `is_new`. */
static inline struct dialog *dialog_new(bool is_new)
{
    static const struct dhcp_file files[] = {{11, {"snponly-arm64.efi", 17}},
                                             {19, {"snponly-arm64.efi", 17}}};
    struct dialog *d = calloc(1, sizeof *d);
    CHECK(d);
    d->now_ms = 1000000;
    view_init(&d->view);
    dialog_settings(d, DIALOG_SETTINGS);
    dialog_put_plan(d);
    const struct dhcp_setup setup = {.seed = 1,
                                     .http_port = 8091,
                                     .files = files,
                                     .file_count = 2,
                                     .make_ticket = dialog_ticket,
                                     .self = d};
    dhcp_init(&d->dhcp, &setup);
    dialog_interface(d, 0, false);
    dialog_interface(d, 1, false);
    if (!is_new) {
        dialog_input(d, STR("wait 0"));
        dialog_input(d, STR("wait 4"));
        CHECK(d->dhcp.ports[0].phase == DHCP_PHASE_SERVED);
    }
    return d;
}

static inline void dialog_free(struct dialog *d)
{
    dhcp_fini(&d->dhcp);
    view_fini(&d->view);
    arena_fini(&d->arena);
    free(d);
}

#include "tests/unit/boot/dhcp_dialog_lines.h"
