/* boot_view.c - the encoding of entries of the boot view. Stateless.
 *
 * The plain fields of each kind are encoded by their layout (fields.c); the lists of machines and
 * boot environments follow by hand, because a layout has no lists. The decoder treats its input as
 * untrusted: it compares every length with the bytes that are left before it allocates, and it
 * accepts only what the encoder writes. */
#include "model/boot_view.h"

#include "base/json/json.h"
#include "base/net/ip.h"
#include "model/fields_private.h"
#include "model/limits.h"

enum { BOOT_SEED = 2, MAC_BITS = 48 };

/* ---- layouts ---- */

static const struct layout *boot_layout_of_address(void)
{
    typedef struct boot_address FIELD_OWNER;
    static const struct field fields[] = {BOOT_ADDRESS_FIELDS(FIELD_DESCRIBE)};
    static const struct layout layout = {"address", fields, sizeof fields / sizeof *fields,
                                         sizeof(FIELD_OWNER)};
    return &layout;
}

#define B(upper, lower)                                                                            \
    static const struct layout *boot_layout_of_##lower(void)                                       \
    {                                                                                              \
        typedef struct boot_##lower FIELD_OWNER;                                                   \
        static const struct field fields[] = {BOOT_##upper##_FIELDS(FIELD_DESCRIBE)};              \
        static const struct layout layout = {#lower, fields, sizeof fields / sizeof *fields,       \
                                             sizeof(FIELD_OWNER)};                                 \
        return &layout;                                                                            \
    }
BOOT_FACTS(B)
#undef B

static const struct layout *boot_layout(enum boot_fact kind)
{
    switch ((uint32_t)kind) {
#define B(upper, lower)                                                                            \
    case BOOT_##upper: return boot_layout_of_##lower();
        BOOT_FACTS(B)
#undef B
    }
    impossible("a kind of boot entry outside the enum");
}

const char *boot_fact_name(enum boot_fact kind)
{
    return boot_layout(kind)->name;
}

/* ---- keys ---- */

int boot_key_cmp(struct boot_key a, struct boot_key b)
{
    if (a.kind != b.kind)
        return a.kind < b.kind ? -1 : 1;
    return (a.id > b.id) - (a.id < b.id);
}

void boot_key_encode(struct boot_key key, struct buf *out)
{
    must(key.id > 0 && key.kind < BOOT_FACT_COUNT);
    buf_put_c(out, (char)key.kind);
    buf_put_varint(out, (uint64_t)key.id);
}

err boot_key_decode(struct str bytes, uint32_t *at, struct boot_key *out_key)
{
    uint32_t here = *at;
    uint64_t id;
    if (here >= bytes.len || (uint8_t)bytes.at[here] >= BOOT_FACT_COUNT)
        return ERR_CORRUPT;
    const enum boot_fact kind = (enum boot_fact)bytes.at[here++];
    if (!take_varint(bytes, &here, &id) || id == 0 || id > INT64_MAX)
        return ERR_CORRUPT;
    *out_key = (struct boot_key){kind, (int64_t)id};
    *at = here;
    return OK;
}

/* ---- encode ---- */

void boot_entry_encode(const struct boot_entry *entry, struct buf *out)
{
    boot_key_encode(entry->key, out);
    fields_encode(boot_layout(entry->key.kind), &entry->machine, out);
    if (entry->key.kind == BOOT_MACHINE) {
        const struct boot_machine *machine = &entry->machine;
        must(machine->mac_count <= BOOT_MACS_MAX && machine->address_count <= BOOT_ADDRESSES_MAX);
        buf_put_varint(out, machine->mac_count);
        for (uint32_t i = 0; i < machine->mac_count; i++)
            buf_put_varint(out, machine->macs[i]);
        buf_put_varint(out, machine->address_count);
        for (uint32_t i = 0; i < machine->address_count; i++)
            fields_encode(boot_layout_of_address(), &machine->addresses[i], out);
    } else if (entry->key.kind == BOOT_BOOTENV) {
        const struct boot_bootenv *bootenv = &entry->bootenv;
        must(bootenv->initrd_count <= BOOT_INITRDS_MAX);
        buf_put_varint(out, bootenv->initrd_count);
        for (uint32_t i = 0; i < bootenv->initrd_count; i++) {
            buf_put_varint(out, bootenv->initrds[i].len);
            buf_put_str(out, bootenv->initrds[i]);
        }
    }
}

struct digest128 boot_entry_hash(const struct boot_entry *entry, struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    struct buf bytes = buf_in(scratch);
    boot_entry_encode(entry, &bytes);
    struct digest128 hash = hash128(buf_str(&bytes), BOOT_SEED);
    arena_rewind(scratch, mark);
    if (hash.lo == 0 && hash.hi == 0)
        hash.lo = 1; /* 0 is the hash of no entry */
    return hash;
}

/* ---- decode ---- */

static bool boot_take_count(struct str bytes, uint32_t *at, uint32_t max, uint32_t *out_count)
{
    uint64_t count;
    if (!take_varint(bytes, at, &count) || count > max)
        return false;
    *out_count = (uint32_t)count;
    return true;
}

static bool boot_texts_are_clean(const struct layout *layout, const void *object)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->fields[i].kind == FIELD_TEXT) {
            const struct str *text =
                (const void *)((const char *)object + layout->fields[i].offset);
            if (text->len > TEXT_MAX || !str_is_clean(*text))
                return false;
        }
    return true;
}

/* True if the text is an address in the form that is written. */
static bool boot_address_is_canonical(struct str text, bool has_prefix, struct arena *a,
                                      enum ip_family *out_family)
{
    const struct arena_mark mark = arena_mark(a);
    const char *wrong;
    struct ip ip;
    const bool is_canonical =
        ip_parse(text, &ip, &wrong) &&
        str_eq(has_prefix ? ip_format(a, ip) : ip_format_address(a, ip), text);
    if (is_canonical)
        *out_family = ip.family;
    arena_rewind(a, mark);
    return is_canonical;
}

/* Nothing, or an object in canonical form. */
static bool boot_options_are_valid(struct str options, struct arena *a)
{
    const struct arena_mark mark = arena_mark(a);
    struct str canonical;
    uint32_t offset;
    const char *what;
    const bool is_valid =
        options.len == 0 || (options.len <= BOOT_OPTIONS_LEN_MAX && options.at[0] == '{' &&
                             json_canonical(a, options, &canonical, &offset, &what) == OK &&
                             str_eq(canonical, options));
    arena_rewind(a, mark);
    return is_valid;
}

static bool boot_take_macs(struct str bytes, uint32_t *at, struct arena *a,
                           struct boot_machine *machine)
{
    if (!boot_take_count(bytes, at, BOOT_MACS_MAX, &machine->mac_count))
        return false;
    uint64_t *macs = arena_array(a, uint64_t, machine->mac_count + (size_t)1);
    for (uint32_t i = 0; i < machine->mac_count; i++)
        if (!take_varint(bytes, at, &macs[i]) || macs[i] == 0 || macs[i] >> MAC_BITS ||
            (i && macs[i] <= macs[i - 1]))
            return false;
    machine->macs = macs;
    return true;
}

static bool boot_take_addresses(struct str bytes, uint32_t *at, struct arena *a,
                                struct boot_machine *machine)
{
    const struct layout *layout = boot_layout_of_address();
    enum ip_family family;
    if (!boot_take_count(bytes, at, BOOT_ADDRESSES_MAX, &machine->address_count))
        return false;
    struct boot_address *addresses =
        arena_array(a, struct boot_address, machine->address_count + (size_t)1);
    for (uint32_t i = 0; i < machine->address_count; i++)
        if (fields_decode(layout, bytes, at, &addresses[i]) != OK ||
            !boot_address_is_canonical(addresses[i].address, true, a, &family) || family != IP_V4 ||
            addresses[i].network < 0 || addresses[i].range < 0)
            return false;
    machine->addresses = addresses;
    return true;
}

static bool boot_take_initrds(struct str bytes, uint32_t *at, struct arena *a,
                              struct boot_bootenv *bootenv)
{
    if (!boot_take_count(bytes, at, BOOT_INITRDS_MAX, &bootenv->initrd_count))
        return false;
    struct str *initrds = arena_array(a, struct str, bootenv->initrd_count + (size_t)1);
    for (uint32_t i = 0; i < bootenv->initrd_count; i++) {
        uint32_t len;
        if (!boot_take_count(bytes, at, NAME_LEN_MAX, &len) || len == 0 || len > bytes.len - *at)
            return false;
        initrds[i] = (struct str){bytes.at + *at, len};
        *at += len;
        if (!str_is_clean(initrds[i]))
            return false;
    }
    bootenv->initrds = initrds;
    return true;
}

/* The values of a decoded entry, except those of its texts and lists. */
static bool boot_values_are_valid(const struct boot_entry *entry, struct arena *a)
{
    enum ip_family family = IP_NONE, other = IP_NONE;
    switch (entry->key.kind) {
    case BOOT_MACHINE:
        return entry->machine.generation >= 0 && boot_options_are_valid(entry->machine.options, a);
    case BOOT_NETWORK: return entry->network.vlan >= 0;
    case BOOT_RANGE:
        return boot_address_is_canonical(entry->range.first, true, a, &family) &&
               boot_address_is_canonical(entry->range.last, true, a, &other) && family == other;
    case BOOT_ROUTER: return boot_address_is_canonical(entry->router.address, true, a, &family);
    case BOOT_LEASE:
        return boot_address_is_canonical(entry->lease.address, true, a, &family) &&
               entry->lease.mac >= 0 && entry->lease.mac >> MAC_BITS == 0 &&
               entry->lease.left_ms >= 0;
    case BOOT_NAME:
        return boot_address_is_canonical(entry->name.address, false, a, &family) &&
               entry->name.type == (family == IP_V6 ? BOOT_NAME_AAAA : BOOT_NAME_A);
    case BOOT_BOOTENV: return true;
    case BOOT_FACT_COUNT: break;
    }
    impossible("a kind of boot entry outside the enum");
}

err boot_entry_decode(struct str bytes, struct arena *a, struct boot_entry *out_entry)
{
    uint32_t at = 0;
    err e = boot_key_decode(bytes, &at, &out_entry->key);
    if (e != OK)
        return e;
    const struct layout *layout = boot_layout(out_entry->key.kind);
    e = fields_decode(layout, bytes, &at, &out_entry->machine);
    if (e != OK)
        return e;
    if (!boot_texts_are_clean(layout, &out_entry->machine) || !boot_values_are_valid(out_entry, a))
        return ERR_CORRUPT;
    if (out_entry->key.kind == BOOT_MACHINE &&
        (!boot_take_macs(bytes, &at, a, &out_entry->machine) ||
         !boot_take_addresses(bytes, &at, a, &out_entry->machine)))
        return ERR_CORRUPT;
    if (out_entry->key.kind == BOOT_BOOTENV &&
        !boot_take_initrds(bytes, &at, a, &out_entry->bootenv))
        return ERR_CORRUPT;
    return at == bytes.len ? OK : ERR_CORRUPT;
}
