#include "core/query/why_boot.h"

#include "core/boot/boot_service.h"
#include "core/network/network_private.h"

/* What keeps the machine of a node from booting what the node says (docs/spec/boot.md): it has no
 * entry in the boot view, the entry lacks a MAC or an address, another node has its MAC, or its
 * environment does not exist. All of them are listed, because each has to be corrected; none
 * depends on another. The file owns no state, changes nothing, and no function has to be called
 * before. Failure: there is none; a node that does not exist has no causes. */

struct boot_causes {
    const struct core *c;
    struct arena *arena;
    node_ix node;
    struct cause *first, *last;
};

static void boot_add(struct boot_causes *b, struct cause cause)
{
    struct cause *made = arena_copy(b->arena, &cause, sizeof cause);
    if (b->last)
        b->last->next = made;
    else
        b->first = made;
    b->last = made;
}

static void boot_add_cause(struct boot_causes *b, enum cause_code code, struct str text)
{
    boot_add(b, (struct cause){.code = code,
                               .object = TABLE_NODE,
                               .object_id = node_at(b->c, b->node)->o.id,
                               .text = text});
}

static struct str boot_node_name(const struct boot_causes *b)
{
    return STR_CONCAT(b->arena, STR("node `"), text_of(b->c, node_at(b->c, b->node)->name),
                      STR("`"));
}

uint64_t boot_why_mac_taken(const struct core *c, node_ix n, uint64_t after, struct arena *a,
                            struct cause *out_cause)
{
    node_ix owner = {0};
    const uint64_t mac = nics_next_conflict(c, n, a, after, &owner);
    if (mac)
        *out_cause = (struct cause){
            .code = CAUSE_MAC_TAKEN,
            .object = TABLE_NODE,
            .object_id = node_at(c, owner)->o.id,
            .text =
                STR_CONCAT(a, STR("node `"), text_of(c, node_at(c, n)->name),
                           STR("` reports the MAC "), nic_format_mac(a, mac),
                           STR(", which belongs to node `"), text_of(c, node_at(c, owner)->name),
                           STR("`; run \"halligan nics move\" if the interface was moved"))};
    return mac;
}

static void boot_add_environment(struct boot_causes *b)
{
    const struct str bootenv = text_of(b->c, node_at(b->c, b->node)->bootenv);
    if (!str_eq(bootenv, STR("local")) && !name_find(b->c, TABLE_BOOTENV, bootenv))
        boot_add_cause(b, CAUSE_BOOTENV_UNKNOWN,
                       STR_CONCAT(b->arena, boot_node_name(b), STR(" is to boot `"), bootenv,
                                  STR("`, which no barclamp defines, so its machine boots its "
                                      "disk; import the barclamp, or set another bootenv")));
}

struct cause *core_why_boot(const struct core *c, int64_t node_id, struct arena *a)
{
    enum { TAKEN_SHOWN_MAX = 8 };
    struct boot_causes b = {.c = c, .arena = a, .node = node_by_id(c, node_id)};
    struct boot_entry entry;
    struct cause taken;
    if (!b.node.v || node_at(c, b.node)->system)
        return NULL;
    /* A MAC that another node has is first: it is why none may be known. */
    uint64_t mac = 0;
    for (uint32_t i = 0;
         i < TAKEN_SHOWN_MAX && (mac = boot_why_mac_taken(c, b.node, mac, a, &taken)) != 0; i++)
        boot_add(&b, taken);
    if (!core_boot_view(c, (struct boot_key){BOOT_MACHINE, node_id}, a, &entry)) {
        /* An admin node, and a machine that boots its disk, need no entry. */
        if (node_at(c, b.node)->admin ||
            str_eq(text_of(c, node_at(c, b.node)->bootenv), STR("local")))
            return b.first;
        boot_add_cause(&b, CAUSE_NOT_MANAGED,
                       STR_CONCAT(a, boot_node_name(&b),
                                  STR(" is not managed: it has no committed noderole of a "
                                      "discovery role, or was installed otherwise and boots from "
                                      "its disk; commit the node")));
        return b.first;
    }
    if (!entry.machine.mac_count)
        boot_add_cause(&b, CAUSE_NO_MAC,
                       STR_CONCAT(a, STR("no MAC of "), boot_node_name(&b),
                                  STR(" is known, so its machine is not recognized; set "
                                      "hint-admin-macs, or let the machine be discovered")));
    if (!entry.machine.address_count)
        boot_add_cause(&b, CAUSE_NO_BOOT_ADDRESS,
                       STR_CONCAT(a, boot_node_name(&b),
                                  STR(" has no IPv4 address in a network of the category admin, "
                                      "and the hint admin-v4addr has none")));
    boot_add_environment(&b);
    return b.first;
}

bool core_boot_is_used(const struct core *c)
{
    struct boot_service_cursor at = {0};
    return boot_service_next(c, &at).v != 0;
}

bool boot_why(const struct core *c, node_ix n, struct arena *a, struct cause *out_cause)
{
    const struct cause *first = !node_at(c, n)->admin && core_boot_is_used(c)
                                    ? core_why_boot(c, node_at(c, n)->o.id, a)
                                    : NULL;
    if (first) {
        *out_cause = *first;
        out_cause->next = NULL;
    }
    return first != NULL;
}
