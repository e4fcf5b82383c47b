#include "boot/dhcp/dhcp_wire.h"

#include <string.h>

#include "base/err.h"
#include "base/net/mac.h"

/* A message has three areas with options: the options field and, if option 52 says so, the fields
 * `file` and `sname`. An option may occur several times; its value is then the concatenation of all
 * occurrences, in the order of the areas options, file, sname (RFC 3396). The areas are therefore
 * walked twice: the first pass checks every length and adds them up, the second one collects the
 * values. */

enum {
    AT_SNAME = 44,
    SNAME_SIZE = 64,
    AT_FILE = 108,
    AT_COOKIE = 236,
    ETHERNET = 1,
    MAC_SIZE = 6,
    AREAS = 3,
    OVERLOAD_FILE = 1,
    OVERLOAD_SNAME = 2,
    PART_MAX = 255,
    LABEL_MAX = 63,
    DOMAIN_SIZE_MAX = 255
};
#define COOKIE 0x63825363u

/* ---- numbers ---- */

uint32_t dhcp_read_number(const char *at, uint32_t len)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < len; i++)
        value = value << 8 | (uint8_t)at[i];
    return value;
}

void dhcp_write_number(uint8_t *at, uint32_t value, uint32_t size)
{
    for (uint32_t i = size; i-- > 0; value >>= 8)
        at[i] = (uint8_t)value;
}

/* ---- parsing ---- */

struct options_walk {
    uint32_t lens[256];   /* of all occurrences */
    uint32_t counts[256]; /* occurrences */
    char *joined[256];    /* room for the value of an option that occurs several times */
};

/* Check the options of one area and add up their lengths; or, if `options` is given, collect them.
 * An area may end without the end option. */
static bool dhcp_walk_area(struct str area, struct options_walk *walk, struct str *options)
{
    uint32_t at = 0;
    while (at < area.len) {
        const uint8_t code = (uint8_t)area.at[at++];
        if (code == DHCP_OPTION_END)
            break;
        if (code == DHCP_OPTION_PAD)
            continue;
        if (at == area.len)
            return false;
        const uint8_t len = (uint8_t)area.at[at++];
        if (len > area.len - at)
            return false;
        if (!options) {
            walk->lens[code] += len;
            walk->counts[code]++;
        } else if (walk->counts[code] == 1) {
            options[code] = (struct str){area.at + at, len};
        } else {
            memcpy(walk->joined[code] + options[code].len, area.at + at, len);
            options[code].at = walk->joined[code];
            options[code].len += len;
        }
        at += len;
    }
    return true;
}

/* Options with a fixed length. */
static bool dhcp_check_lengths(const struct options_walk *walk)
{
    static const struct {
        uint8_t code, len;
    } fixed[] = {{DHCP_OPTION_REQUESTED_ADDRESS, 4},
                 {DHCP_OPTION_LEASE_TIME, 4},
                 {DHCP_OPTION_OVERLOAD, 1},
                 {DHCP_OPTION_TYPE, 1},
                 {DHCP_OPTION_SERVER, 4},
                 {DHCP_OPTION_MAX_SIZE, 2}};
    for (uint32_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (walk->counts[fixed[i].code] && walk->lens[fixed[i].code] != fixed[i].len)
            return false;
    return walk->lens[DHCP_OPTION_RELAY] <= DHCP_RELAY_LEN_MAX;
}

/* The value of option 52, which counts only in the options field; 0 if it is absent or wrong. */
static uint8_t dhcp_find_overload(struct str area)
{
    const struct str value = dhcp_sub_option(area, DHCP_OPTION_OVERLOAD);
    return value.len == 1 && (uint8_t)value.at[0] <= (OVERLOAD_FILE | OVERLOAD_SNAME)
               ? (uint8_t)value.at[0]
               : 0;
}

static bool dhcp_parse_options(struct str bytes, struct arena *a, struct dhcp_message *out)
{
    struct str areas[AREAS] = {str_slice(bytes, DHCP_HEAD_SIZE, bytes.len)};
    const uint8_t overload = dhcp_find_overload(areas[0]);
    if (overload & OVERLOAD_FILE)
        areas[1] = str_slice(bytes, AT_FILE, AT_COOKIE);
    if (overload & OVERLOAD_SNAME)
        areas[2] = str_slice(bytes, AT_SNAME, AT_FILE);
    struct options_walk *walk = arena_new(a, struct options_walk);
    for (uint32_t i = 0; i < AREAS; i++)
        if (!dhcp_walk_area(areas[i], walk, NULL))
            return false;
    if (!dhcp_check_lengths(walk))
        return false;
    for (uint32_t code = 0; code < 256; code++)
        if (walk->counts[code] > 1)
            walk->joined[code] = arena_alloc(a, walk->lens[code]);
    for (uint32_t i = 0; i < AREAS; i++)
        must(dhcp_walk_area(areas[i], walk, out->options));
    const uint32_t type = dhcp_get_number(out, DHCP_OPTION_TYPE);
    out->type = (enum dhcp_message_type)type;
    if (!(overload & OVERLOAD_FILE)) {
        const struct str file = str_slice(bytes, AT_FILE, AT_COOKIE);
        out->head.file = str_slice(file, 0, str_find(file, '\0', 0));
    }
    return type >= DHCPDISCOVER && type <= DHCPINFORM;
}

bool dhcp_parse(struct str bytes, struct arena *a, struct dhcp_message *out)
{
    const char *at = bytes.at;
    if (bytes.len < DHCP_HEAD_SIZE || dhcp_read_number(at + AT_COOKIE, 4) != COOKIE)
        return false;
    if ((at[0] != 1 && at[0] != 2) || at[1] != ETHERNET || at[2] != MAC_SIZE)
        return false;
    memset(out, 0, sizeof *out);
    struct mac mac;
    memcpy(mac.bytes, at + 28, sizeof mac.bytes);
    if (!mac_is_unicast(mac))
        return false;
    out->head = (struct dhcp_head){.op = (uint8_t)at[0],
                                   .xid = dhcp_read_number(at + 4, 4),
                                   .secs = (uint16_t)dhcp_read_number(at + 8, 2),
                                   .flags = (uint16_t)dhcp_read_number(at + 10, 2),
                                   .ciaddr = dhcp_read_number(at + 12, 4),
                                   .yiaddr = dhcp_read_number(at + 16, 4),
                                   .siaddr = dhcp_read_number(at + 20, 4),
                                   .giaddr = dhcp_read_number(at + 24, 4),
                                   .mac = mac_number(mac)};
    return dhcp_parse_options(bytes, a, out);
}

bool dhcp_has(const struct dhcp_message *m, enum dhcp_option code)
{
    return m->options[code].at != NULL;
}

uint32_t dhcp_get_number(const struct dhcp_message *m, enum dhcp_option code)
{
    const struct str value = m->options[code];
    return value.len <= 4 ? dhcp_read_number(value.at, value.len) : 0;
}

struct str dhcp_sub_option(struct str block, uint8_t code)
{
    for (uint32_t at = 0; at < block.len;) {
        const uint8_t found = (uint8_t)block.at[at++];
        if (found == DHCP_OPTION_END)
            break;
        if (found == DHCP_OPTION_PAD)
            continue;
        if (at == block.len || (uint8_t)block.at[at] > block.len - at - 1)
            break;
        const uint8_t len = (uint8_t)block.at[at++];
        if (found == code)
            return (struct str){block.at + at, len};
        at += len;
    }
    return (struct str){0};
}

/* ---- building ---- */

struct dhcp_writer dhcp_begin(struct arena *a, const struct dhcp_head *head, uint32_t max,
                              uint32_t reserved)
{
    must(max >= DHCP_SIZE_MIN && reserved <= max - DHCP_HEAD_SIZE);
    struct dhcp_writer w = {
        .at = arena_zalloc(a, max), .len = DHCP_HEAD_SIZE, .max = max - reserved};
    w.at[0] = head->op;
    w.at[1] = ETHERNET;
    w.at[2] = MAC_SIZE;
    dhcp_write_number(w.at + 4, head->xid, 4);
    dhcp_write_number(w.at + 8, head->secs, 2);
    dhcp_write_number(w.at + 10, head->flags, 2);
    dhcp_write_number(w.at + 12, head->ciaddr, 4);
    dhcp_write_number(w.at + 16, head->yiaddr, 4);
    dhcp_write_number(w.at + 20, head->siaddr, 4);
    dhcp_write_number(w.at + 24, head->giaddr, 4);
    dhcp_write_number(w.at + 28, (uint32_t)(head->mac >> 32), 2);
    dhcp_write_number(w.at + 30, (uint32_t)head->mac, 4);
    must(head->file.len < DHCP_FILE_SIZE);
    if (head->file.len)
        memcpy(w.at + AT_FILE, head->file.at, head->file.len);
    dhcp_write_number(w.at + AT_COOKIE, COOKIE, 4);
    return w;
}

/* Split into parts; also an empty value has one. */
static void dhcp_put_parts(struct dhcp_writer *w, enum dhcp_option code, struct str value)
{
    uint32_t at = 0;
    do {
        const struct str part = str_slice(value, at, at + PART_MAX);
        w->at[w->len++] = (uint8_t)code;
        w->at[w->len++] = (uint8_t)part.len;
        if (part.len)
            memcpy(w->at + w->len, part.at, part.len);
        w->len += part.len;
        at += part.len;
    } while (at < value.len);
}

static uint32_t dhcp_parts_size(struct str value)
{
    const uint32_t parts = value.len ? (value.len - 1) / PART_MAX + 1 : 1;
    return value.len + 2 * parts;
}

bool dhcp_put_option(struct dhcp_writer *w, enum dhcp_option code, struct str value)
{
    const uint8_t bit = (uint8_t)(1u << (code & 7));
    if (w->has[code >> 3] & bit)
        return true;
    if (value.len > w->max || dhcp_parts_size(value) > w->max - w->len)
        return false;
    dhcp_put_parts(w, code, value);
    w->has[code >> 3] |= bit;
    return true;
}

bool dhcp_put_number(struct dhcp_writer *w, enum dhcp_option code, uint32_t value, uint32_t size)
{
    uint8_t bytes[4];
    dhcp_write_number(bytes, value, size);
    return dhcp_put_option(w, code, (struct str){(const char *)bytes, size});
}

uint32_t dhcp_finish_size(struct str relay)
{
    return (relay.len ? dhcp_parts_size(relay) : 0) + 1;
}

struct str dhcp_finish(struct dhcp_writer *w, struct str relay)
{
    if (relay.len)
        dhcp_put_parts(w, DHCP_OPTION_RELAY, relay);
    w->at[w->len++] = DHCP_OPTION_END;
    if (w->len < DHCP_SIZE_MIN)
        w->len = DHCP_SIZE_MIN; /* the rest is zero */
    return (struct str){(const char *)w->at, w->len};
}

struct str dhcp_encode_domain(struct arena *a, struct str name)
{
    const struct str none = {0};
    if (name.len == 0 || name.len > DOMAIN_SIZE_MAX - 2)
        return none;
    char *bytes = arena_alloc(a, name.len + (size_t)2);
    for (uint32_t from = 0; from <= name.len;) {
        const uint32_t to = str_find(name, '.', from);
        if (to == from || to - from > LABEL_MAX)
            return none;
        bytes[from] = (char)(to - from);
        memcpy(bytes + from + 1, name.at + from, to - from);
        from = to + 1;
    }
    bytes[name.len + 1] = 0;
    return (struct str){bytes, name.len + 2};
}
