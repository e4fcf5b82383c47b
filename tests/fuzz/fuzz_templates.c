/* Goal: a template makes the text in which every known token is replaced, never more than a DNS
 * name can have; a result that is accepted as a DNS name is one by the rules of RFC 1123. Method:
 * the result is compared with that of a search and replacement in the text, and the check of names
 * with one that splits the name into labels. */
#include <stdlib.h>
#include <string.h>

#include "model/name_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static struct str the_mac(void *context)
{
    (void)context;
    return STR("52:54:00:12:34:56");
}

static const struct name_facts facts = {.node_name = {"n1.example.com", 14},
                                        .node_id = 4711,
                                        .deployment = {"prod", 4},
                                        .network = {"admin", 5},
                                        .range = {"host", 4},
                                        .category = {"cat", 3},
                                        .first_mac = the_mac};

static const struct {
    const char *token, *text;
} replaced[] = {
    {"{{node.name}}", "n1"},
    {"{{node.id}}", "4711"},
    {"{{node.mac}}", "52-54-00-12-34-56"},
    {"{{node.deployment}}", "prod"},
    {"{{network.name}}", "admin"},
    {"{{network.range}}", "host"},
    {"{{network.category}}", "cat"},
};

/* The same by searching; the result may be longer than a name. */
static uint32_t expand_by_search(struct str text, char *out)
{
    uint32_t len = 0;
    for (uint32_t at = 0; at < text.len;) {
        uint32_t step = 1;
        const char *piece = NULL;
        for (size_t i = 0; i < sizeof replaced / sizeof *replaced && !piece; i++)
            if (str_starts(str_slice(text, at, text.len), str_from(replaced[i].token))) {
                piece = replaced[i].text;
                step = (uint32_t)strlen(replaced[i].token);
            }
        if (piece)
            memcpy(out + len, piece, strlen(piece));
        else
            out[len] = text.at[at];
        len += piece ? (uint32_t)strlen(piece) : 1;
        at += step;
    }
    return len;
}

static bool label_is_valid(const char *at, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (!strchr("-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", at[i]) ||
            !at[i])
            return false;
    return len >= 1 && len <= 63 && at[0] != '-' && at[len - 1] != '-';
}

static bool name_is_valid(struct str name)
{
    bool ok = name.len <= 253;
    for (uint32_t from = 0, to; from <= name.len; from = to + 1) {
        to = str_find(name, '.', from);
        ok = ok && label_is_valid(name.at + from, to - from);
    }
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char wanted[2 * NAME_TEMPLATE_LEN_MAX + 64];
    struct name_template template;
    struct name_syntax_error error = {NULL, 0};
    char made[DNS_NAME_LEN_MAX];
    uint32_t made_len = 0;
    const struct str text = {size ? (const char *)data : "", (uint32_t)size};
    if (size > NAME_TEMPLATE_LEN_MAX + 8)
        return 0;
    check(dns_name_is_valid(text) == name_is_valid(text));
    if (!name_template_parse(text, &template, &error)) {
        check(error.what && (error.at == UINT32_MAX || error.at <= text.len));
        return 0;
    }
    const uint32_t wanted_len = expand_by_search(text, wanted);
    const bool fits = name_template_expand(text, &template, &facts, made, &made_len);
    check(fits == (wanted_len <= DNS_NAME_LEN_MAX));
    if (fits) {
        check(made_len == wanted_len && memcmp(made, wanted, made_len) == 0);
        check(dns_name_is_valid((struct str){made, made_len}) ==
              name_is_valid((struct str){wanted, wanted_len}));
    }
    return 0;
}
