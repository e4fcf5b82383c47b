/* mac.c - parser and formatter of MAC addresses. Owns nothing; the order of operations does not
 * matter. A failed parse leaves the result unchanged. */
#include "base/net/mac.h"

#include "base/text/buf.h"

enum { MAC_TEXT_LEN = 17 };

static int mac_hex_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool mac_parse(struct str text, struct mac *out_mac)
{
    struct mac mac;
    if (text.len != MAC_TEXT_LEN || (text.at[2] != ':' && text.at[2] != '-'))
        return false;
    for (uint32_t i = 0; i < sizeof mac.bytes; i++) {
        const char *pair = text.at + 3 * (size_t)i;
        const int high = mac_hex_value(pair[0]);
        const int low = mac_hex_value(pair[1]);
        if (high < 0 || low < 0 || (i < 5 && pair[2] != text.at[2]))
            return false;
        mac.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out_mac = mac;
    return true;
}

struct str mac_format(struct arena *a, struct mac mac)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < sizeof mac.bytes; i++) {
        if (i)
            buf_put_c(&b, ':');
        buf_put_hex(&b, &mac.bytes[i], 1);
    }
    return buf_str(&b);
}

uint64_t mac_number(struct mac mac)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < sizeof mac.bytes; i++)
        number = number << 8 | mac.bytes[i];
    return number;
}

struct mac mac_from_number(uint64_t number)
{
    struct mac mac;
    for (uint32_t i = 0; i < sizeof mac.bytes; i++)
        mac.bytes[i] = (uint8_t)(number >> (8 * (sizeof mac.bytes - 1 - i)));
    return mac;
}

bool mac_is_unicast(struct mac mac)
{
    return mac_number(mac) != 0 && !(mac.bytes[0] & 1);
}
