/* power_op.c - parsing of the fields of an order and its hammer, and of the output of programs. It
 * keeps no state; results are in the arena of the operation. A function that finds a wrong field
 * ends the operation and returns false; the caller must return without using the operation
 * again. */
#include "power/hammer/power_op.h"

const char *power_op_z(struct power_op *op, struct str s)
{
    return str_z(&op->arena, s);
}

bool power_op_text(struct power_op *op, const struct json *from, const char *key,
                   struct str *out_text)
{
    const struct json *found = json_get(from, str_from(key));
    *out_text = found && found->kind == JSON_STRING ? found->text : STR("");
    if (!found || found->kind == JSON_STRING || found->kind == JSON_NULL)
        return true;
    power_op_fail(op, HAMMER_END_SETTING, "\"%s\" must be a string", key);
    return false;
}

bool power_op_number(struct power_op *op, const struct json *from, const char *key, int64_t max,
                     int64_t *out_number)
{
    const struct json *found = json_get(from, str_from(key));
    *out_number = 0;
    if (!found || found->kind == JSON_NULL)
        return true;
    if (json_as_i64(found, out_number) && *out_number >= 1 && *out_number <= max)
        return true;
    power_op_fail(op, HAMMER_END_SETTING, "\"%s\" must be a whole number from 1 to %lld", key,
                  (long long)max);
    return false;
}

/* ---- addresses ---- */

static bool power_op_is_host(struct str host, bool is_v6)
{
    if (host.len == 0 || host.len > 253 || host.at[0] == '-')
        return false;
    for (uint32_t i = 0; i < host.len; i++) {
        const char c = host.at[i];
        const bool plain = char_is_letter(c) || char_is_digit(c) || c == '.' || c == '-';
        if (!plain && c != (is_v6 ? ':' : '_') && !(is_v6 && c == '%'))
            return false;
    }
    return true;
}

bool power_op_address_parse(struct str text, struct power_op_address *out_address)
{
    const uint32_t colon = str_find(text, ':', 0);
    struct power_op_address a = {.host = str_slice(text, 0, colon)};
    struct str port = str_slice(text, colon, text.len);
    if (text.len && text.at[0] == '[') {
        const uint32_t end = str_find(text, ']', 0);
        a = (struct power_op_address){.host = str_slice(text, 1, end), .is_v6 = true};
        port = str_slice(text, end + 1, text.len);
        if (end == text.len)
            return false;
    } else if (str_find(text, ':', colon + 1) < text.len) {
        a = (struct power_op_address){.host = text, .is_v6 = true};
        port = STR("");
    }
    if (port.len && (port.at[0] != ':' || !str_parse_i64(str_slice(port, 1, port.len), &a.port) ||
                     a.port < 1 || a.port > 65535))
        return false;
    if (!power_op_is_host(a.host, a.is_v6))
        return false;
    *out_address = a;
    return true;
}

bool power_op_address(struct power_op *op, struct power_op_address *out_address)
{
    int64_t port;
    if (op->hammer.endpoint.len == 0) {
        power_op_fail(op, HAMMER_END_SETTING, "the hammer has no endpoint");
        return false;
    }
    if (!power_op_address_parse(op->hammer.endpoint, out_address)) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "the endpoint \"%.*s\" is not an address (HOST, HOST:PORT or [V6]:PORT)",
                      STR_FMT_ARGS(op->hammer.endpoint));
        return false;
    }
    if (!power_op_number(op, op->extra, "port", 65535, &port))
        return false;
    if (out_address->port == 0)
        out_address->port = port;
    return true;
}

/* ---- output of programs ---- */

/* The length of the valid UTF-8 character at `at`; 0: the byte is not part of one. */
static uint32_t power_op_character_len(struct str s, uint32_t at)
{
    const uint8_t first = (uint8_t)s.at[at];
    const uint32_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const struct str piece = str_slice(s, at, at + len);
    return piece.len == len && str_is_clean(piece) ? len : 0;
}

struct str power_op_clean(struct power_op *op, struct str bytes)
{
    if (str_is_clean(bytes))
        return str_copy(&op->arena, bytes);
    struct buf b = buf_in(&op->arena);
    for (uint32_t i = 0; i < bytes.len;) {
        const uint32_t len = power_op_character_len(bytes, i);
        if (len)
            buf_put(&b, bytes.at + i, len);
        else
            buf_put_z(&b, "\xef\xbf\xbd");
        i += len ? len : 1;
    }
    return buf_str(&b);
}

struct json *power_op_output(struct power_op *op, const struct spawn_result *result)
{
    struct arena *a = &op->arena;
    struct json *value = json_make(a, JSON_OBJECT);
    json_set(value, STR("stdout"), json_make_string(a, power_op_clean(op, result->out)));
    json_set(value, STR("stderr"), json_make_string(a, power_op_clean(op, result->err)));
    json_set(value, STR("status"), json_make_i64(a, result->status));
    if (result->dropped)
        json_set(value, STR("dropped"), json_make_i64(a, (int64_t)result->dropped));
    return value;
}

struct str power_op_last_line(struct power_op *op, struct str bytes)
{
    while (bytes.len && (uint8_t)bytes.at[bytes.len - 1] <= ' ')
        bytes.len--;
    uint32_t from = bytes.len;
    while (from && bytes.at[from - 1] != '\n' && bytes.len - from < 300)
        from--;
    const struct str line = str_slice(bytes, from, bytes.len);
    return line.len ? power_op_clean(op, line) : STR("no output");
}
