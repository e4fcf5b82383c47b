#include "http/address.h"

#include <arpa/inet.h>
#include <string.h>

/* Stateless conversions. A failure is a false result, or the unspecified address (all zero) for a
 * socket of another family. */

static void address_set_mapped(struct in6_addr *out, const struct in_addr *v4)
{
    *out = (struct in6_addr){0};
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(&out->s6_addr[12], v4, sizeof *v4);
}

struct in6_addr address_of_socket(const struct sockaddr *address)
{
    struct in6_addr a = {0};
    if (address && address->sa_family == AF_INET)
        address_set_mapped(&a, &((const struct sockaddr_in *)(const void *)address)->sin_addr);
    else if (address && address->sa_family == AF_INET6)
        a = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return a;
}

bool address_parse(struct str text, struct in6_addr *out_address)
{
    char z[INET6_ADDRSTRLEN];
    struct in_addr v4;
    if (text.len == 0 || text.len >= sizeof z)
        return false;
    memcpy(z, text.at, text.len);
    z[text.len] = '\0';
    if (inet_pton(AF_INET, z, &v4) != 1)
        return inet_pton(AF_INET6, z, out_address) == 1;
    address_set_mapped(out_address, &v4);
    return true;
}

struct in6_addr address_network(struct in6_addr address)
{
    if (!IN6_IS_ADDR_V4MAPPED(&address) && !IN6_IS_ADDR_LOOPBACK(&address))
        memset(&address.s6_addr[8], 0, 8);
    return address;
}

bool address_is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

bool address_is_unspecified(const struct in6_addr *address)
{
    static const uint8_t zero[4];
    return IN6_IS_ADDR_UNSPECIFIED(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && memcmp(&address->s6_addr[12], zero, sizeof zero) == 0);
}

const char *address_text(const struct in6_addr *address, char out[INET6_ADDRSTRLEN])
{
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
    return inet_ntop(is_v4 ? AF_INET : AF_INET6, &address->s6_addr[is_v4 ? 12 : 0], out,
                     INET6_ADDRSTRLEN);
}

struct str address_format(struct arena *a, const uint8_t address[16])
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr in6;
    memcpy(&in6, address, sizeof in6);
    if (address_is_unspecified(&in6))
        return STR("");
    return str_copy(a, str_from(address_text(&in6, text)));
}
