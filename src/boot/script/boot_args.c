/* boot_args.c - makes kernel arguments. Stateless.
 *
 * Tokens are replaced before a text is divided into words, and words are judged after that, so the
 * result does not depend on where a text came from. */
#include "boot/script/boot_args.h"

#include <string.h>

#include "base/text/buf.h"
#include "model/limits.h"

struct args_builder {
    const struct boot_args_input *input;
    struct buf text;
    struct buf problem;
    uint32_t refused; /* words that were left out */
    bool is_cut;
};

struct str boot_args_clean(struct str text, struct arena *a)
{
    static const char others[] = "+,-./:=@_";
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        const bool is_legal =
            char_is_letter(c) || char_is_digit(c) || memchr(others, c, sizeof others - 1) != NULL;
        buf_put_c(&b, is_legal ? c : '_');
    }
    return buf_str(&b);
}

static struct str args_format_mac(uint64_t mac, char separator, struct arena *a)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < 6; i++) {
        const uint8_t byte = (uint8_t)(mac >> (40 - 8 * i));
        if (i)
            buf_put_c(&b, separator);
        buf_put_hex(&b, &byte, 1);
    }
    return buf_str(&b);
}

struct str boot_args_hyphenated(uint64_t mac, struct arena *a)
{
    return args_format_mac(mac, '-', a);
}

struct str boot_args_mac(uint64_t mac, struct arena *a)
{
    return args_format_mac(mac, ':', a);
}

/* ---- tokens ---- */

/* False if it is no token. */
static bool args_token(const struct boot_subject *s, struct str token, struct arena *a,
                       struct str *out_value)
{
    if (str_eq(token, STR("name")))
        *out_value = s->name;
    else if (str_eq(token, STR("mac")))
        *out_value = boot_args_mac(s->mac, a);
    else if (str_eq(token, STR("node_id")))
        *out_value = str_from_i64(a, s->node);
    else if (str_eq(token, STR("generation")))
        *out_value = str_from_i64(a, s->generation);
    else if (str_eq(token, STR("ticket")))
        *out_value = s->ticket;
    else if (str_eq(token, STR("server")))
        *out_value = s->server;
    else if (str_eq(token, STR("port")))
        *out_value = str_from_i64(a, s->port);
    else if (str_eq(token, STR("url")))
        *out_value = s->url;
    else
        return false;
    return true;
}

static struct str args_expand(const struct boot_subject *s, struct str text, struct arena *a)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < text.len;) {
        const uint32_t end = text.at[i] == '{' ? str_find(text, '}', i) : text.len;
        struct str value;
        if (end < text.len && args_token(s, str_slice(text, i + 1, end), a, &value)) {
            buf_put_str(&b, boot_args_clean(value, a));
            i = end + 1;
        } else {
            buf_put_c(&b, text.at[i++]);
        }
    }
    return buf_str(&b);
}

/* ---- words ---- */

static bool args_word_is_safe(struct str word)
{
    static const char illegal[] = "\"'$;<>\\`|";
    if (word.at[0] == '#' || str_has(word, STR("&&")))
        return false;
    for (uint32_t i = 0; i < word.len; i++) {
        const char c = word.at[i];
        if (c <= ' ' || c > '~' || memchr(illegal, c, sizeof illegal - 1))
            return false;
    }
    return true;
}

static void args_add_word(struct args_builder *b, struct str word)
{
    if (b->is_cut || !word.len)
        return;
    if (!args_word_is_safe(word)) {
        if (!b->refused++) {
            buf_put_z(&b->problem, "kernel arguments were left out that no script can have: ");
            buf_put_str(&b->problem, boot_args_clean(str_clip(word, NAME_LEN_MAX), b->text.arena));
        }
        return;
    }
    if (b->text.len + (b->text.len != 0) + word.len > BOOT_ARGS_LEN_MAX) {
        b->is_cut = true;
        return;
    }
    if (b->text.len)
        buf_put_c(&b->text, ' ');
    buf_put_str(&b->text, word);
}

/* Any control character divides words, like a space. */
static void args_add_text(struct args_builder *b, struct str text)
{
    const bool is_long = text.len > BOOT_ARGS_LEN_MAX;
    if (b->is_cut)
        return;
    const struct str expanded =
        args_expand(b->input->subject, str_slice(text, 0, BOOT_ARGS_LEN_MAX), b->text.arena);
    uint32_t from = 0;
    for (uint32_t i = 0; i <= expanded.len; i++)
        if (i == expanded.len || (uint8_t)expanded.at[i] <= ' ') {
            /* The end of a long text is no complete word. */
            if (i < expanded.len || !is_long)
                args_add_word(b, str_slice(expanded, from, i));
            from = i + 1;
        }
    b->is_cut |= is_long;
}

static void args_add_pair(struct args_builder *b, const char *name, struct str value)
{
    struct arena *a = b->text.arena;
    args_add_word(b, STR_CONCAT(a, str_from(name), boot_args_clean(value, a)));
}

static void args_add_own(struct args_builder *b)
{
    const struct boot_subject *s = b->input->subject;
    struct arena *a = b->text.arena;
    args_add_pair(b, "halligan.server=", s->url);
    args_add_pair(b, "halligan.ticket=", s->ticket);
    args_add_pair(b, "halligan.mac=", boot_args_mac(s->mac, a));
    args_add_pair(b, "halligan.generation=", str_from_i64(a, s->generation));
    args_add_pair(b, "BOOTIF=01-", boot_args_hyphenated(s->mac, a));
    for (uint32_t i = 0; i < b->input->initrd_count; i++)
        args_add_pair(b, "initrd=initrd", str_from_i64(a, i));
}

/* ---- options of the machine ---- */

static void args_add_options(struct args_builder *b)
{
    const struct json *args = json_get(b->input->options, STR("kernel_args"));
    if (!args)
        return;
    if (args->kind == JSON_STRING) {
        args_add_text(b, args->text);
        return;
    }
    const struct json *all = json_get(args, STR("*"));
    if (all && all->kind == JSON_STRING)
        args_add_text(b, all->text);
    for (const struct json *member = args->kind == JSON_OBJECT ? args->first : NULL; member;
         member = member->next)
        if (member->kind == JSON_STRING && str_eq_nocase(member->key, b->input->bootenv))
            args_add_text(b, member->text);
}

static void args_add_console(struct args_builder *b)
{
    const struct json *own = json_get(b->input->options, STR("console"));
    const struct str console =
        own && own->kind == JSON_STRING ? own->text : b->input->settings->console;
    if (console.len)
        args_add_text(b, STR_CONCAT(b->text.arena, STR("console="), console));
}

struct str boot_args_make(const struct boot_args_input *input, struct arena *a,
                          struct str *out_problem)
{
    struct args_builder b = {.input = input, .text = buf_in(a), .problem = buf_in(a)};
    args_add_own(&b);
    args_add_console(&b);
    args_add_text(&b, input->template);
    args_add_text(&b, boot_settings_args(input->settings, input->bootenv, a));
    args_add_options(&b);
    if (b.is_cut) {
        buf_put_z(&b.problem, b.problem.len ? "; " : "");
        buf_put_z(&b.problem, "the kernel arguments were cut at ");
        buf_put_i64(&b.problem, BOOT_ARGS_LEN_MAX);
        buf_put_z(&b.problem, " bytes");
    }
    *out_problem = buf_str(&b.problem);
    return buf_str(&b.text);
}
