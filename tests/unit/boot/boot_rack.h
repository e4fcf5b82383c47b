/* boot_rack.h - a small boot view for the tests of scripts: a network "admin" with machines, leases
 * and environments. */
#pragma once

#include <string.h>

#include "boot/script/boot_script.h"
#include "model/network_record.h"
#include "tests/check.h"

#define RACK_MAC      UINT64_C(0x525400000001) /* node 7, n1.example.com, 10.0.0.7 */
#define RACK_STRANGER UINT64_C(0x525400000099) /* no node; lease of 10.0.0.200 until 1000 ms */
#define RACK_OWN      UINT32_C(0x0a000007)
#define RACK_LEASED   UINT32_C(0x0a0000c8)
#define RACK_NOW_S    INT64_C(1000000)

static const struct ticket_key rack_key = {{1, 2, 3}};

struct rack {
    struct view view;
    struct arena arena;
    struct boot_site site;
    struct boot_machine machine; /* of node 7 */
    struct boot_address address;
    uint64_t mac;
};

static inline void rack_put(struct rack *r, const struct boot_entry *e)
{
    struct buf bytes = buf_in(&r->arena);
    boot_entry_encode(e, &bytes);
    CHECK(view_put(&r->view, buf_str(&bytes), 0) == OK);
}

static inline void rack_put_machine(struct rack *r)
{
    const struct boot_entry e = {.key = {BOOT_MACHINE, 7}, .machine = r->machine};
    rack_put(r, &e);
}

/* The machine boots this environment, in this generation. */
static inline void rack_boot(struct rack *r, const char *bootenv, int64_t generation)
{
    r->machine.bootenv = str_from(bootenv);
    r->machine.generation = generation;
    rack_put_machine(r);
}

static inline void rack_put_bootenv(struct rack *r, int64_t id, struct boot_bootenv bootenv)
{
    const struct boot_entry e = {.key = {BOOT_BOOTENV, id}, .bootenv = bootenv};
    rack_put(r, &e);
}

static inline void rack_configure(struct rack *r, const char *document)
{
    const struct str one = str_from(document);
    view_configure(&r->view, &one, 1);
}

static inline struct rack *rack_open(void)
{
    static struct rack rack;
    static const struct str one[] = {{"initrd.img", 10}}, two[] = {{"a/1.img", 7}, {"a/2 3", 5}};
    struct rack *r = &rack;
    memset(r, 0, sizeof *r);
    view_init(&r->view);
    r->site = (struct boot_site){&r->view, &rack_key, 0x0a000001, 8091, false};
    struct boot_entry e = {.key = {BOOT_NETWORK, 3},
                           .network = {.name = STR("admin"), .category = STR("admin")}};
    rack_put(r, &e);
    e = (struct boot_entry){.key = {BOOT_RANGE, 4},
                            .range = {.network = 3,
                                      .name = STR("dhcp"),
                                      .first = STR("10.0.0.128/24"),
                                      .last = STR("10.0.0.254/24")}};
    rack_put(r, &e);
    e = (struct boot_entry){.key = {BOOT_LEASE, 5},
                            .lease = {.mac = RACK_STRANGER,
                                      .network = 3,
                                      .range = 4,
                                      .address = STR("10.0.0.200/24"),
                                      .state = LEASE_LIVE,
                                      .left_ms = 1000}};
    rack_put(r, &e);
    rack_put_bootenv(r, 1,
                     (struct boot_bootenv){.name = STR("sledgehammer"),
                                           .kernel = STR("vmlinuz"),
                                           .method = STR("discovery"),
                                           .initrd_count = 1,
                                           .initrds = one});
    rack_put_bootenv(r, 2,
                     (struct boot_bootenv){.name = STR("debian-12-install"),
                                           .kernel = STR("d12/linux"),
                                           .args = STR("auto=true url={url}/seed/{ticket}"),
                                           .method = STR("installer"),
                                           .initrd_count = 2,
                                           .initrds = two});
    r->mac = RACK_MAC;
    r->address = (struct boot_address){STR("10.0.0.7/24"), 3, 0};
    r->machine = (struct boot_machine){.name = STR("n1.example.com"),
                                       .bootenv = STR("local"),
                                       .generation = 1,
                                       .mac_count = 1,
                                       .macs = &r->mac,
                                       .address_count = 1,
                                       .addresses = &r->address};
    rack_put_machine(r);
    view_refresh(&r->view);
    return r;
}

static inline void rack_close(struct rack *r)
{
    view_fini(&r->view);
    arena_fini(&r->arena);
}

static inline struct boot_request rack_request(uint64_t mac, uint32_t source)
{
    return (struct boot_request){
        .mac = mac, .source = source, .now_s = RACK_NOW_S, .now_ms = 999, .random = 5};
}

static inline struct str rack_ticket(struct rack *r, uint64_t mac, int64_t node, int64_t generation)
{
    const struct ticket ticket = {mac, node, generation, RACK_NOW_S - 60, 77};
    return ticket_format(&r->arena, &rack_key, &ticket);
}

static inline struct boot_answer rack_ask(struct rack *r, struct boot_request request)
{
    struct boot_answer answer;
    boot_script_answer(&r->site, &request, &r->arena, &answer);
    return answer;
}

/* The text with "TICKET" for the ticket of the answer, zero-terminated. */
static inline const char *rack_text(struct rack *r, const struct boot_answer *answer)
{
    struct buf b = buf_in(&r->arena);
    for (uint32_t i = 0; i < answer->text.len;) {
        const struct str rest = str_slice(answer->text, i, answer->text.len);
        if (answer->ticket.len && str_starts(rest, answer->ticket)) {
            buf_put_z(&b, "TICKET");
            i += answer->ticket.len;
        } else {
            buf_put_c(&b, answer->text.at[i++]);
        }
    }
    return str_z(&r->arena, buf_str(&b));
}
