/* Goal: the codec of the boot view accepts exactly what it writes, and returns every entry as it
 * was. Method: the input is decoded, and if that succeeds, encoding the entry gives the same bytes
 * and the same hash; then the input is read as the values of an entry, which is encoded, decoded
 * and encoded again. A decoded entry is within the limits, and the same bytes with one more or one
 * less are refused. */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/net/ip.h"
#include "model/boot_view.h"
#include "model/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* ---- bytes to entry ---- */

static struct str encoded(const struct boot_entry *entry, struct arena *a)
{
    struct buf bytes = buf_in(a);
    boot_entry_encode(entry, &bytes);
    return buf_str(&bytes);
}

static void check_limits(const struct boot_entry *entry)
{
    check(entry->key.kind < BOOT_FACT_COUNT && entry->key.id > 0);
    if (entry->key.kind == BOOT_MACHINE) {
        const struct boot_machine *machine = &entry->machine;
        check(machine->mac_count <= BOOT_MACS_MAX && machine->address_count <= BOOT_ADDRESSES_MAX);
        for (uint32_t i = 0; i < machine->mac_count; i++)
            check(machine->macs[i] >> 48 == 0 && (!i || machine->macs[i] > machine->macs[i - 1]));
        for (uint32_t i = 0; i < machine->address_count; i++) {
            const char *wrong;
            struct ip ip;
            check(ip_parse(machine->addresses[i].address, &ip, &wrong) && ip.family == IP_V4);
        }
        check(machine->options.len <= BOOT_OPTIONS_LEN_MAX);
        check(machine->options.len == 0 || machine->options.at[0] == '{');
    }
    if (entry->key.kind == BOOT_BOOTENV)
        check(entry->bootenv.initrd_count <= BOOT_INITRDS_MAX);
}

static void check_decoded(struct str bytes, struct arena *a)
{
    struct boot_entry entry, again;
    if (boot_entry_decode(bytes, a, &entry) != OK)
        return;
    check_limits(&entry);
    const struct str same = encoded(&entry, a);
    check(str_eq(same, bytes));
    check(boot_entry_decode((struct str){bytes.at, bytes.len - 1}, a, &again) != OK);
    char *longer = arena_zalloc(a, bytes.len + (size_t)1);
    memcpy(longer, bytes.at, bytes.len);
    check(boot_entry_decode((struct str){longer, bytes.len + 1}, a, &again) != OK);
    check(boot_entry_decode(same, a, &again) == OK);
    check(digest_eq(boot_entry_hash(&entry, a), boot_entry_hash(&again, a)));
}

/* ---- values to entry ---- */

struct source {
    const uint8_t *at;
    size_t left;
};

static uint8_t next_byte(struct source *s)
{
    if (!s->left)
        return 0;
    s->left--;
    return *s->at++;
}

static uint64_t next_number(struct source *s)
{
    uint64_t number = 0;
    for (uint8_t bytes = next_byte(s) % 9; bytes; bytes--)
        number = number << 8 | next_byte(s);
    return number;
}

static int64_t next_count(struct source *s)
{
    return (int64_t)(next_number(s) & INT64_MAX);
}

static struct str next_text(struct source *s)
{
    uint32_t len = next_byte(s);
    if (len > s->left)
        len = (uint32_t)s->left;
    const struct str text = {(const char *)s->at, len};
    s->at += len;
    s->left -= len;
    return str_is_clean(text) ? text : STR("x");
}

static struct ip next_ip(struct source *s, bool may_be_v6)
{
    const bool is_v6 = may_be_v6 && next_byte(s) % 2;
    struct ip ip = {.family = is_v6 ? IP_V6 : IP_V4};
    ip.hi = is_v6 ? next_number(s) : 0;
    ip.lo = is_v6 ? next_number(s) : next_number(s) & UINT32_MAX;
    ip.prefix = (uint8_t)(next_byte(s) % (ip_bits(ip.family) + 1));
    return ip;
}

/* The text as an object in canonical form, or as the value of its only member. */
static struct str next_options(struct source *s, struct arena *a)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    const struct str text = next_text(s);
    if (text.len == 0)
        return text;
    if (json_read(a, text, &tree, &offset, &what) == OK && tree->kind == JSON_OBJECT)
        return json_write(a, tree);
    struct buf b = buf_in(a);
    buf_put_z(&b, "{\"k\":");
    json_write_string(&b, text);
    buf_put_c(&b, '}');
    return buf_str(&b);
}

static void make_machine(struct source *s, struct arena *a, struct boot_machine *machine)
{
    uint64_t *macs = arena_array(a, uint64_t, BOOT_MACS_MAX);
    uint64_t last = 0;
    *machine = (struct boot_machine){.name = next_text(s),
                                     .bootenv = next_text(s),
                                     .generation = next_count(s),
                                     .ticket = next_text(s),
                                     .options = next_options(s, a),
                                     .macs = macs};
    for (uint32_t i = next_byte(s) % (BOOT_MACS_MAX + 1); i; i--) {
        last += 1 + next_number(s) % (UINT64_C(1) << 41);
        macs[machine->mac_count++] = last;
    }
    machine->address_count = next_byte(s) % 5;
    struct boot_address *addresses = arena_array(a, struct boot_address, 5);
    for (uint32_t i = 0; i < machine->address_count; i++)
        addresses[i] = (struct boot_address){.address = ip_format(a, next_ip(s, false)),
                                             .network = next_count(s),
                                             .range = next_count(s)};
    machine->addresses = addresses;
}

static void make_bootenv(struct source *s, struct arena *a, struct boot_bootenv *bootenv)
{
    struct str *initrds = arena_array(a, struct str, BOOT_INITRDS_MAX);
    *bootenv = (struct boot_bootenv){.name = next_text(s),
                                     .kernel = next_text(s),
                                     .args = next_text(s),
                                     .method = next_text(s),
                                     .os = next_text(s),
                                     .initrd_count = next_byte(s) % (BOOT_INITRDS_MAX + 1),
                                     .initrds = initrds};
    for (uint32_t i = 0; i < bootenv->initrd_count; i++) {
        const struct str name = next_text(s);
        initrds[i] = name.len ? name : STR("initrd");
    }
}

static void make_name(struct source *s, struct arena *a, struct boot_name *name)
{
    const struct ip ip = next_ip(s, true);
    *name = (struct boot_name){.name = next_text(s),
                               .type = ip.family == IP_V6 ? BOOT_NAME_AAAA : BOOT_NAME_A,
                               .address = ip_format_address(a, ip),
                               .node = next_count(s)};
}

static void make_entry(struct source *s, struct arena *a, struct boot_entry *entry)
{
    entry->key.kind = (enum boot_fact)(next_byte(s) % BOOT_FACT_COUNT);
    entry->key.id = 1 + next_count(s) % INT64_MAX;
    switch (entry->key.kind) {
    case BOOT_MACHINE: make_machine(s, a, &entry->machine); return;
    case BOOT_BOOTENV: make_bootenv(s, a, &entry->bootenv); return;
    case BOOT_NAME: make_name(s, a, &entry->name); return;
    case BOOT_NETWORK:
        entry->network = (struct boot_network){.name = next_text(s),
                                               .category = next_text(s),
                                               .group = next_text(s),
                                               .configure = next_byte(s) % 2,
                                               .vlan = next_count(s)};
        return;
    case BOOT_RANGE: {
        const struct ip ip = next_ip(s, true);
        entry->range = (struct boot_range){.network = next_count(s),
                                           .name = next_text(s),
                                           .first = ip_format(a, ip_subnet(ip)),
                                           .last = ip_format(a, ip_subnet_last(ip)),
                                           .overlap = next_byte(s) % 2};
        return;
    }
    case BOOT_ROUTER:
        entry->router = (struct boot_router){.network = next_count(s),
                                             .address = ip_format(a, next_ip(s, true)),
                                             .pref = (uint32_t)next_number(s)};
        return;
    case BOOT_LEASE:
        entry->lease = (struct boot_lease){.mac = next_count(s) >> 15,
                                           .network = next_count(s),
                                           .range = next_count(s),
                                           .address = ip_format(a, next_ip(s, true)),
                                           .state = (uint32_t)next_number(s),
                                           .left_ms = next_count(s)};
        return;
    case BOOT_FACT_COUNT: break;
    }
    abort();
}

static void check_encoded(struct source s, struct arena *a)
{
    struct boot_entry entry, again;
    memset(&entry, 0, sizeof entry);
    make_entry(&s, a, &entry);
    const struct str bytes = encoded(&entry, a);
    check(boot_entry_decode(bytes, a, &again) == OK);
    check(boot_key_cmp(entry.key, again.key) == 0);
    check(str_eq(encoded(&again, a), bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    if (size == 0 || size > 65536)
        return 0;
    check_decoded((struct str){(const char *)data, (uint32_t)size}, &a);
    check_encoded((struct source){data, size}, &a);
    arena_fini(&a);
    return 0;
}
