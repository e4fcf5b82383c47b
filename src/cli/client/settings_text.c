#include "cli/client/settings_text.h"

#include <stddef.h>
#include <string.h>

#include "base/text/buf.h"

/* Parses and writes "key = value" lines by a table of keys, and examines URLs. Stateless; values
 * are in the arena. Lines are parsed in order, so the last of several values for one key is used.
 * The first wrong line ends the parsing with a message, and the caller must not use the settings.
 */

struct settings_key {
    const char *name;
    uint16_t offset; /* of the member of struct settings, in bytes */
    bool is_secret;  /* a file with it must be private */
};

#define AT(member) (uint16_t) offsetof(struct settings, member)
static const struct settings_key keys[] = {
    {"url", AT(url), false},    {"user", AT(user), false},         {"password", AT(password), true},
    {"token", AT(token), true}, {"token_id", AT(token_id), false}, {"ca", AT(ca), false},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static const char **settings_value_slot(struct settings *s, const struct settings_key *key)
{
    return (const char **)((char *)s + key->offset);
}

static const char *settings_value(const struct settings *s, const struct settings_key *key)
{
    return *(const char *const *)((const char *)s + key->offset);
}

struct str settings_trim(struct str s)
{
    while (s.len && strchr(" \t\r\n", s.at[0]))
        s = str_slice(s, 1, s.len);
    while (s.len && strchr(" \t\r\n", s.at[s.len - 1]))
        s.len--;
    return s;
}

static const char *settings_parse_line(struct arena *a, struct str line, struct settings *out)
{
    const uint32_t equals = str_find(line, '=', 0);
    if (equals == line.len)
        return "expected KEY = VALUE";
    const struct str name = settings_trim(str_slice(line, 0, equals));
    const struct str value = settings_trim(str_slice(line, equals + 1, line.len));
    for (uint32_t i = 0; i < KEY_COUNT; i++)
        if (str_eq(name, str_from(keys[i].name))) {
            *settings_value_slot(out, &keys[i]) = value.len ? str_z(a, value) : NULL;
            return NULL;
        }
    return "unknown key; the keys are url, user, password, token, token_id and ca";
}

const char *settings_parse(struct arena *a, struct str text, struct settings *out_settings,
                           uint32_t *out_line)
{
    *out_settings = (struct settings){0};
    *out_line = 0;
    for (uint32_t from = 0; from < text.len;) {
        const uint32_t to = str_find(text, '\n', from);
        const struct str line = settings_trim(str_slice(text, from, to));
        const bool has_setting = line.len && line.at[0] != '#';
        const char *wrong = has_setting ? settings_parse_line(a, line, out_settings) : NULL;
        ++*out_line;
        if (wrong)
            return wrong;
        from = to + 1;
    }
    return NULL;
}

struct str settings_format(struct arena *a, const struct settings *settings)
{
    struct buf text = buf_in(a);
    buf_put_z(&text, "# Written by halligan login.\n");
    for (uint32_t i = 0; i < KEY_COUNT; i++) {
        const char *value = settings_value(settings, &keys[i]);
        if (!value)
            continue;
        buf_put_z(&text, keys[i].name);
        buf_put_z(&text, " = ");
        buf_put_z(&text, value);
        buf_put_c(&text, '\n');
    }
    return buf_str(&text);
}

bool settings_have_secret(const struct settings *settings)
{
    for (uint32_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].is_secret && settings_value(settings, &keys[i]))
            return true;
    return false;
}

/* The part between "://" and the port or the path; an IPv6 address with its brackets. */
static struct str settings_url_host(const char *url)
{
    const char *colons = strstr(url, "://");
    const struct str rest = str_from(colons ? colons + 3 : url);
    const bool is_v6 = rest.len && rest.at[0] == '[';
    uint32_t end = is_v6 ? str_find(rest, ']', 0) + 1 : 0;
    while (end < rest.len && !strchr(":/?#", rest.at[end]))
        end++;
    return str_slice(rest, 0, end);
}

bool settings_is_loopback(const char *url)
{
    const struct str host = settings_url_host(url);
    if (str_eq_nocase(host, STR("localhost")) || str_eq(host, STR("[::1]")))
        return true;
    for (uint32_t i = 0; i < host.len; i++)
        if (!char_is_digit(host.at[i]) && host.at[i] != '.')
            return false;
    return str_starts(host, STR("127."));
}
