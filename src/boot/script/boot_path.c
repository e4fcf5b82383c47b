/* boot_path.c - parses requests for boot scripts. Stateless. */
#include "boot/script/boot_path.h"

#include "base/net/mac.h"

enum { MAC_TEXT_LEN = 17 };

static int path_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* A unicast MAC, in which any byte may be percent-encoded; 0 for anything else. */
static uint64_t path_mac(struct str segment)
{
    char text[MAC_TEXT_LEN];
    uint32_t len = 0;
    struct mac mac;
    for (uint32_t i = 0; i < segment.len; i++) {
        if (len == MAC_TEXT_LEN)
            return 0;
        char c = segment.at[i];
        if (c == '%') {
            if (segment.len - i < 3)
                return 0;
            const int high = path_hex_digit(segment.at[i + 1]);
            const int low = path_hex_digit(segment.at[i + 2]);
            if (high < 0 || low < 0)
                return 0;
            c = (char)(high << 4 | low);
            i += 2;
        }
        text[len++] = c;
    }
    if (!mac_parse((struct str){text, len}, &mac) || !mac_is_unicast(mac))
        return 0;
    return mac_number(mac);
}

/* The value of the first parameter "t". */
static struct str path_ticket(struct str query)
{
    for (uint32_t from = 0; from < query.len;) {
        const uint32_t to = str_find(query, '&', from);
        const struct str part = str_slice(query, from, to);
        if (str_starts(part, STR("t=")))
            return str_slice(part, 2, part.len);
        from = to + 1;
    }
    return (struct str){"", 0};
}

struct boot_path boot_path_of_url(struct str path, struct str query)
{
    static const struct str prefix = {"/boot/", 6};
    struct boot_path none = {.kind = BOOT_PATH_NONE, .ticket = {"", 0}};
    if (!str_starts(path, prefix))
        return none;
    const uint32_t end = str_find(path, '/', prefix.len);
    const struct str rest = str_slice(path, end, path.len);
    const bool is_install = str_eq(rest, STR("/install"));
    const uint64_t mac = path_mac(str_slice(path, prefix.len, end));
    if (!mac || (rest.len && !is_install))
        return none;
    return (struct boot_path){is_install ? BOOT_PATH_INSTALL : BOOT_PATH_SCRIPT, mac,
                              path_ticket(query)};
}

/* The MAC after the prefix, which ends with the hardware type 01 of Ethernet. */
static uint64_t path_file_mac(struct str name, struct str prefix)
{
    if (!str_starts(name, prefix) || str_find(name, '-', prefix.len) != prefix.len + 2 ||
        str_find(name, '%', 0) != name.len)
        return 0;
    return path_mac(str_slice(name, prefix.len, name.len));
}

struct boot_path boot_path_of_file(struct str name)
{
    static const struct {
        struct str prefix;
        enum boot_path_kind kind;
    } files[] = {{{"pxelinux.cfg/01-", 16}, BOOT_PATH_PXELINUX},
                 {{"grub/grub.cfg-01-", 17}, BOOT_PATH_GRUB}};
    struct boot_path out = {.kind = BOOT_PATH_NONE, .ticket = {"", 0}};
    if (str_eq(name, STR("autoexec.ipxe")))
        out.kind = BOOT_PATH_AUTOEXEC;
    for (uint32_t i = 0; i < sizeof files / sizeof *files; i++) {
        const uint64_t mac = path_file_mac(name, files[i].prefix);
        if (mac) {
            out.kind = files[i].kind;
            out.mac = mac;
        }
    }
    return out;
}
