/* dhcp_dialog_lines.h - the lines of dhcp_dialog.h: inputs are executed, actions become text. */
#pragma once

#include "tests/unit/boot/dhcp_dialog.h"

/* ---- output ---- */

static inline void dialog_add(char *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void dialog_add(char *line, const char *format, ...)
{
    const size_t len = strlen(line);
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    vsnprintf(line + len, LINE_SIZE - len, format, arguments);
    __builtin_va_end(arguments);
}

static inline void dialog_add_hex(char *line, const char *key, struct str value)
{
    dialog_add(line, " %s=", key);
    for (uint32_t i = 0; i < value.len; i++)
        dialog_add(line, "%02x", (uint8_t)value.at[i]);
}

static inline void dialog_add_option(char *line, const struct dhcp_message *m, uint32_t code)
{
    static const struct {
        uint8_t code;
        char kind; /* address, number, text, hex */
        const char *name;
    } known[] = {{1, 'a', "mask"},    {3, 'a', "router"},  {6, 'a', "dns"},   {12, 't', "host"},
                 {15, 't', "domain"}, {26, 'n', "mtu"},    {28, 'a', "last"}, {42, 'a', "ntp"},
                 {51, 'n', "lease"},  {54, 'a', "server"}, {58, 'n', "t1"},   {59, 'n', "t2"},
                 {60, 't', "class"},  {66, 't', "66"},     {67, 't', "67"}};
    const struct str value = m->options[code];
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].code != code)
            continue;
        if (known[i].kind == 't') {
            dialog_add(line, " %s=%.*s", known[i].name, STR_FMT_ARGS(value));
        } else if (known[i].kind == 'n') {
            dialog_add(line, " %s=%u", known[i].name, dhcp_read_number(value.at, value.len));
        } else {
            dialog_add(line, " %s=", known[i].name);
            for (uint32_t at = 0; at + 4 <= value.len; at += 4)
                dialog_add(line, "%s%s", at ? "," : "",
                           dialog_dotted(dhcp_read_number(value.at + at, 4)));
        }
        return;
    }
    char key[8];
    snprintf(key, sizeof key, "%u", code);
    dialog_add_hex(line, key, value);
}

/* What holds for every packet that is sent. */
static inline void dialog_check_sent(struct dialog *d, const struct dhcp_action *action,
                                     const struct dhcp_message *m)
{
    CHECK(action->bytes.len >= DHCP_SIZE_MIN);
    CHECK(!str_starts(m->options[DHCP_OPTION_CLASS], STR("PXEClient")));
    if (m->head.op == 1) {
        d->search_xid = m->head.xid;
        return;
    }
    CHECK(m->head.xid == d->xid && m->head.mac == action->mac);
    CHECK(action->source == dhcp_get_number(m, DHCP_OPTION_SERVER));
}

static inline void dialog_add_order(char *line, struct str bytes)
{
    dialog_add(line, " order=");
    for (uint32_t at = DHCP_HEAD_SIZE; at < bytes.len && (uint8_t)bytes.at[at] != 255;
         at += 2u + (uint8_t)bytes.at[at + 1])
        dialog_add(line, "%s%u", at > DHCP_HEAD_SIZE ? "," : "", (uint8_t)bytes.at[at]);
}

static inline void dialog_render_send(struct dialog *d, const struct dhcp_action *action,
                                      char *line)
{
    static const char *const types[] = {"?",   "discover", "offer",   "request", "decline",
                                        "ack", "nak",      "release", "inform"};
    struct dhcp_message *m = arena_new(&d->arena, struct dhcp_message);
    CHECK(dhcp_parse(action->bytes, &d->arena, m));
    dialog_check_sent(d, action, m);
    dialog_add(line, "%s %s", types[m->type], dialog_dotted(m->head.yiaddr));
    if (action->to == DHCP_TO_ADDRESS)
        dialog_add(line, " to=%s:%u", dialog_dotted(action->address), action->port);
    else
        dialog_add(line, " %s", action->to == DHCP_TO_BROADCAST ? "broadcast" : "hardware");
    if (m->head.flags & DHCP_FLAG_BROADCAST)
        dialog_add(line, " flag=b");
    if (m->head.ciaddr)
        dialog_add(line, " ci=%s", dialog_dotted(m->head.ciaddr));
    if (m->head.siaddr)
        dialog_add(line, " next=%s", dialog_dotted(m->head.siaddr));
    if (m->head.file.len)
        dialog_add(line, " file=%.*s", STR_FMT_ARGS(m->head.file));
    for (uint32_t code = 1; code < 255; code++)
        if (m->options[code].at && code != DHCP_OPTION_TYPE)
            dialog_add_option(line, m, code);
    dialog_add(line, " size=%u", action->bytes.len);
    if (action->slot)
        dialog_add(line, " slot=%u", action->slot);
    dialog_add_order(line, action->bytes);
}

static inline void dialog_render(struct dialog *d, const struct dhcp_action *action, char *line)
{
    static const char *const names[] = {"send",    "advertise", "probe",  "take",
                                        "release", "decline",   "observe"};
    if (action->kind == DHCP_SEND) {
        dialog_render_send(d, action, line);
        return;
    }
    if (action->kind == DHCP_PROBE || action->kind == DHCP_TAKE)
        d->token = action->token;
    if (action->kind == DHCP_OBSERVE)
        dialog_add(line, "observe %s", dhcp_observation_name(action->observation));
    else
        dialog_add(line, "%s", names[action->kind]);
    if (action->address)
        dialog_add(line, " %s", dialog_dotted(action->address));
    if (action->mac)
        dialog_add(line, " mac=%llu", (unsigned long long)(action->mac - MAC_BASE));
    if (action->other_mac)
        dialog_add(line, " other=%llu", (unsigned long long)(action->other_mac - MAC_BASE));
    if (action->node)
        dialog_add(line, " node=%lld", (long long)action->node);
    if (action->range)
        dialog_add(line, " range=%lld", (long long)action->range);
    if (action->lease_s)
        dialog_add(line, " lease=%u", action->lease_s);
    if (action->arch)
        dialog_add(line, " arch=%u", action->arch);
    if (action->kind == DHCP_ADVERTISE) {
        dialog_add_hex(line, "to", (struct str){(const char *)action->destination6, 16});
        dialog_add_hex(line, "bytes", action->bytes);
    }
}

/* ---- input ---- */

static inline void dialog_put_value(const struct dialog_line *line, struct arena *a,
                                    struct dhcp_writer *w, enum dhcp_option code)
{
    static const struct {
        uint8_t code;
        char kind;
        const char *name;
    } known[] = {{50, 'a', "want"},  {54, 'a', "server"}, {55, 'l', "list"}, {57, '2', "size"},
                 {60, 't', "class"}, {61, 'h', "id"},     {77, 't', "user"}, {82, 'h', "relay"},
                 {93, '2', "arch"},  {97, 'h', "uuid"},   {175, 'h', "ipxe"}};
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct str value = dialog_value(line, known[i].name);
        if (known[i].code != code || !value.at)
            continue;
        if (known[i].kind == 'a')
            CHECK(dhcp_put_number(w, code, dialog_address(value), 4));
        else if (known[i].kind == '2')
            CHECK(
                dhcp_put_number(w, code, (uint32_t)dialog_value_number(line, known[i].name, 0), 2));
        else if (known[i].kind == 't')
            CHECK(dhcp_put_option(w, code, value));
        else if (known[i].kind == 'h')
            CHECK(dhcp_put_option(w, code, dialog_hex(a, value)));
        else {
            char codes[64];
            uint32_t count = 0;
            for (uint32_t at = 0; at < value.len; at = str_find(value, ',', at) + 1) {
                int64_t number;
                CHECK(str_parse_i64(str_slice(value, at, str_find(value, ',', at)), &number));
                codes[count++] = (char)number;
            }
            CHECK(dhcp_put_option(w, code, (struct str){codes, count}));
        }
    }
}

static inline struct str dialog_build(struct dialog *d, const struct dialog_line *line,
                                      enum dhcp_message_type type)
{
    const bool is_offer = type == DHCPOFFER || type == DHCPACK;
    const struct dhcp_head head = {
        .op = is_offer ? 2 : 1,
        .xid = is_offer ? d->search_xid + (uint32_t)dialog_value_number(line, "off", 0) : ++d->xid,
        .flags = dialog_value(line, "flags").at ? DHCP_FLAG_BROADCAST : 0,
        .ciaddr = dialog_value_address(line, "ci"),
        .yiaddr = dialog_value_address(line, "yi"),
        .giaddr = dialog_value_address(line, "gi"),
        .mac = is_offer && !dialog_value(line, "mac").at ? MAC_BASE + 0xff00
                                                         : dialog_mac(line, "mac")};
    struct dhcp_writer w = dhcp_begin(&d->arena, &head, DHCP_PACKET_MAX, 1);
    CHECK(dhcp_put_number(&w, DHCP_OPTION_TYPE, type, 1));
    for (uint32_t code = 1; code < 255; code++)
        dialog_put_value(line, &d->arena, &w, (enum dhcp_option)code);
    return dhcp_finish(&w, (struct str){0});
}

static inline void dialog_receive(struct dialog *d, const struct dialog_line *line,
                                  enum dhcp_message_type type)
{
    const struct str to = dialog_value(line, "to");
    const struct dhcp_packet packet = {.slot = (uint32_t)dialog_value_number(line, "slot", 0),
                                       .bytes = dialog_build(d, line, type),
                                       .source = dialog_value_address(line, "from"),
                                       .destination = to.at ? dialog_address(to) : DHCP_BROADCAST,
                                       .local = dialog_value_address(line, "local"),
                                       .now_ms = d->now_ms};
    dhcp_receive(&d->dhcp, &d->view, &packet, &d->out);
}

static inline void dialog_router(struct dialog *d, const struct dialog_line *line, bool is_advert)
{
    struct ra_packet packet = {.slot = (uint32_t)dialog_value_number(line, "slot", 0),
                               .bytes = is_advert ? STR("\x86\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")
                                                  : STR("\x85\0\0\0\0\0\0\0"),
                               .source_mac = dialog_mac(line, "mac"),
                               .hop_limit = (uint8_t)dialog_value_number(line, "hops", 255),
                               .now_ms = d->now_ms};
    const struct str bytes = dialog_value(line, "bytes"), from = dialog_value(line, "from");
    if (bytes.at)
        packet.bytes = dialog_hex(&d->arena, bytes);
    if (from.at)
        memcpy(packet.source, dialog_hex(&d->arena, from).at, 16);
    ra_receive(&d->dhcp, &d->view, &packet, &d->out);
}

static inline void dialog_result(struct dialog *d, struct str what, struct str value)
{
    if (str_eq(what, STR("probed"))) {
        int64_t mac = 0;
        CHECK(str_eq(value, STR("clear")) || str_parse_i64(value, &mac));
        const struct dhcp_probed probed = {d->token, mac ? MAC_BASE + (uint64_t)mac : 0, d->now_ms};
        dhcp_probed(&d->dhcp, &d->view, &probed, &d->out);
        return;
    }
    struct dhcp_taken taken = {d->token, DHCP_TAKE_GRANTED, d->now_ms};
    if (str_eq(value, STR("refused")))
        taken.take = DHCP_TAKE_REFUSED;
    else if (str_eq(value, STR("away")))
        taken.take = DHCP_TAKE_AWAY;
    else
        CHECK(str_eq(value, STR("granted")));
    dhcp_taken(&d->dhcp, &d->view, &taken, &d->out);
}

/* Changes of the view, of time and of the interfaces; false if it is none. */
static inline bool dialog_change(struct dialog *d, const struct dialog_line *line)
{
    const struct str what = line->words[0];
    const struct str value = line->count > 1 ? line->words[1] : STR("");
    int64_t number = 0;
    if (str_eq(what, STR("machine"))) {
        dialog_put_machine(d, line);
    } else if (str_eq(what, STR("lease"))) {
        dialog_put_lease(d, line);
    } else if (str_eq(what, STR("unlease"))) {
        CHECK(str_parse_i64(value, &number));
        view_remove(&d->view, (struct boot_key){BOOT_LEASE, number});
    } else if (str_eq(what, STR("settings"))) {
        dialog_settings(d, str_z(&d->arena, value));
    } else if (str_eq(what, STR("wait"))) {
        CHECK(str_parse_i64(value, &number));
        d->now_ms += number * 1000;
        dhcp_tick(&d->dhcp, &d->view, d->now_ms, &d->out);
    } else if (str_eq(what, STR("forward"))) {
        dialog_interface(d, 0, true);
    } else {
        return false;
    }
    return true;
}

static inline void dialog_input(struct dialog *d, struct str text)
{
    static const char *const types[] = {"?",   "discover", "offer",   "request", "decline",
                                        "ack", "nak",      "release", "inform"};
    struct dialog_line line;
    line.count = dialog_words(text, line.words);
    CHECK(line.count > 0);
    d->out = (struct dhcp_out){.arena = &d->arena};
    d->line_count = 0;
    if (dialog_change(d, &line)) {
        /* done */
    } else if (str_eq(line.words[0], STR("probed")) || str_eq(line.words[0], STR("taken"))) {
        dialog_result(d, line.words[0], line.words[1]);
    } else if (str_eq(line.words[0], STR("solicit")) || str_eq(line.words[0], STR("advert"))) {
        dialog_router(d, &line, str_eq(line.words[0], STR("advert")));
    } else {
        uint32_t type = DHCPDISCOVER;
        while (type <= DHCPINFORM && !str_eq(line.words[0], str_from(types[type])))
            type++;
        CHECK(type <= DHCPINFORM);
        dialog_receive(d, &line, (enum dhcp_message_type)type);
    }
    for (const struct dhcp_action *action = d->out.first; action; action = action->next) {
        CHECK(d->line_count < sizeof d->lines / sizeof *d->lines);
        char *out = d->lines[d->line_count++];
        *out = 0;
        dialog_render(d, action, out);
    }
}

/* ---- comparison ---- */

static inline bool dialog_has_word(const struct dialog_line *came, struct str word)
{
    for (uint32_t i = 0; i < came->count; i++) {
        const struct str other = came->words[i];
        if (word.at[0] == '!' && str_starts(other, str_slice(word, 1, word.len)) &&
            other.len >= word.len && other.at[word.len - 1] == '=')
            return false;
        if (word.at[word.len - 1] == '*' ? str_starts(other, str_slice(word, 0, word.len - 1))
                                         : str_eq(other, word))
            return true;
    }
    return word.at[0] == '!';
}

static inline bool dialog_matches(struct str expected, const char *line)
{
    struct dialog_line want, came;
    want.count = dialog_words(expected, want.words);
    came.count = dialog_words(str_from(line), came.words);
    if (!want.count || !came.count || !str_eq(want.words[0], came.words[0]))
        return false;
    for (uint32_t i = 0; i < want.count; i++)
        if (!dialog_has_word(&came, want.words[i]))
            return false;
    return true;
}

static inline void dialog_fail(const struct dialog *d, struct str input, struct str expected)
{
    fprintf(stderr, "> %.*s\nexpected: %.*s\n", STR_FMT_ARGS(input), STR_FMT_ARGS(expected));
    for (uint32_t i = 0; i < d->line_count; i++)
        fprintf(stderr, "came: %s\n", d->lines[i]);
    check_failed(__FILE__, __LINE__, "the dialog is another one");
}

/* Execute a dialog, whose lines end with a newline. */
static inline void dialog_run(struct dialog *d, const char *text)
{
    const struct str all = str_from(text);
    struct str input = {0};
    d->line_count = 0;
    uint32_t seen = 0;
    for (uint32_t at = 0; at < all.len;) {
        const uint32_t end = str_find(all, '\n', at);
        const struct str line = str_slice(all, at + 2, end);
        CHECK(end >= at + 2 && (all.at[at] == '>' || all.at[at] == '<'));
        if (all.at[at] == '>') {
            if (seen != d->line_count)
                dialog_fail(d, input, STR("no more lines"));
            input = line;
            seen = 0;
            dialog_input(d, line);
        } else if (seen >= d->line_count || !dialog_matches(line, d->lines[seen++])) {
            dialog_fail(d, input, line);
        }
        at = end + 1;
    }
    if (seen != d->line_count)
        dialog_fail(d, input, STR("no more lines"));
}

/* The dialog with a server of its own. */
static inline void dialog_with(const char *text)
{
    struct dialog *d = dialog_new(false);
    dialog_run(d, text);
    dialog_free(d);
}
