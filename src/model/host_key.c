/* host_key.c - syntax check of an ssh host key. Stateless; the key itself is not decoded. */
#include "model/host_key.h"

#include "model/limits.h"

static bool host_key_is_type(struct str type)
{
    static const char *const types[] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521", "ssh-rsa"};
    for (uint32_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(type, str_from(types[i])))
            return true;
    return false;
}

static bool host_key_is_base64(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++) {
        const char c = s.at[i];
        const bool is_padding = c == '=' && i + 2 >= s.len;
        if (!char_is_letter(c) && !char_is_digit(c) && c != '+' && c != '/' && !is_padding)
            return false;
    }
    return s.len > 0 && s.len % 4 == 0;
}

struct str host_key_type(struct str key)
{
    return str_slice(key, 0, str_find(key, ' ', 0));
}

bool host_key_is_valid(struct str key)
{
    const struct str type = host_key_type(key);
    return key.len <= HOST_KEY_LEN_MAX && type.len < key.len && host_key_is_type(type) &&
           host_key_is_base64(str_slice(key, type.len + 1, key.len));
}
