/* Goal: no request and no entry of a boot view makes a script that has a command of its own, and
 * only a grant starts an installer.
 * Method: the input is divided into texts: a path, a query string, and the values of a view (names,
 * paths, arguments, options, settings). The path and the query string are parsed and answered.
 * Each line of each answer must begin with one of the commands that this project writes, without
 * control characters, without settings of iPXE that are not its own, and with && and || only where
 * they are written. A script of an installer has no command "boot". */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "boot/script/boot_path.h"
#include "boot/script/boot_script.h"
#include "model/limits.h"
#include "model/network_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAC    UINT64_C(0x525400000001)
#define LEASED UINT64_C(0x525400000099)

static const struct ticket_key key = {{7}};

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* ---- input ---- */

struct source {
    const uint8_t *at;
    size_t left;
};

static uint8_t next_byte(struct source *s)
{
    if (!s->left)
        return 0;
    s->left--;
    return *s->at++;
}

/* A length, then so many bytes. */
static struct str next_bytes(struct source *s)
{
    uint32_t len = next_byte(s);
    if (len > s->left)
        len = (uint32_t)s->left;
    const struct str text = {(const char *)s->at, len};
    s->at += len;
    s->left -= len;
    return text;
}

static struct str next_text(struct source *s)
{
    const struct str text = next_bytes(s);
    return str_is_clean(text) ? text : STR("x");
}

/* Values of texts in JSON, from the input. */
static struct str next_json_text(struct source *s, struct arena *a)
{
    struct buf b = buf_in(a);
    json_write_string(&b, next_text(s));
    return buf_str(&b);
}

/* ---- the view ---- */

static void put_entry(struct view *v, const struct boot_entry *e, struct arena *a)
{
    struct buf bytes = buf_in(a);
    boot_entry_encode(e, &bytes);
    ignore(view_put(v, buf_str(&bytes), 0), "an entry that is not legal is not in the view");
}

static void put_bootenv(struct view *v, struct source *s, int64_t id, struct str method,
                        struct arena *a)
{
    struct str *initrds = arena_array(a, struct str, 2);
    struct boot_entry e = {.key = {BOOT_BOOTENV, id},
                           .bootenv = {.name = next_text(s),
                                       .kernel = next_text(s),
                                       .args = next_text(s),
                                       .method = method,
                                       .initrds = initrds}};
    while (e.bootenv.initrd_count < 2 && (initrds[e.bootenv.initrd_count] = next_text(s)).len)
        e.bootenv.initrd_count++;
    put_entry(v, &e, a);
}

static void put_machine(struct view *v, struct source *s, struct str bootenv, struct arena *a)
{
    static const uint64_t mac = MAC;
    static const struct boot_address address = {.address = {"10.0.0.7/24", 11}};
    struct buf options = buf_in(a);
    buf_put_z(&options, "{\"console\":");
    buf_put_str(&options, next_json_text(s, a));
    buf_put_z(&options, ",\"kernel_args\":");
    buf_put_str(&options, next_json_text(s, a));
    buf_put_c(&options, '}');
    const struct boot_entry e = {.key = {BOOT_MACHINE, 7},
                                 .machine = {.name = next_text(s),
                                             .bootenv = bootenv,
                                             .generation = next_byte(s),
                                             .options = buf_str(&options),
                                             .mac_count = 1,
                                             .macs = &mac,
                                             .address_count = 1,
                                             .addresses = &address}};
    put_entry(v, &e, a);
}

static void make_view(struct view *v, struct source *s, struct arena *a)
{
    static const struct str methods[] = {{"discovery", 9}, {"image", 5}, {"installer", 9}};
    const struct boot_entry lease = {
        .key = {BOOT_LEASE, 5},
        .lease = {
            .mac = LEASED, .address = STR("10.0.0.200/24"), .state = LEASE_LIVE, .left_ms = 1000}};
    struct buf settings = buf_in(a);
    put_entry(v, &lease, a);
    const struct str method = methods[next_byte(s) % 3];
    const struct source names = *s; /* the machine may boot the environment that comes first */
    put_bootenv(v, s, 1, method, a);
    put_bootenv(v, s, 2, methods[next_byte(s) % 3], a);
    struct source again = names;
    const struct str first = next_text(&again);
    put_machine(v, s, next_byte(s) % 4 ? first : next_text(s), a);
    buf_put_z(&settings, "{\"provisioner\":{\"console\":");
    buf_put_str(&settings, next_json_text(s, a));
    buf_put_z(&settings, ",\"kernel_args\":{\"*\":");
    buf_put_str(&settings, next_json_text(s, a));
    buf_put_z(&settings, next_byte(s) % 2 ? "}}}" : "},\"unknown\":\"hold\"}}");
    const struct str document = buf_str(&settings);
    view_configure(v, &document, 1);
    view_refresh(v);
}

/* ---- answers ---- */

/* The words that begin a line of a script. */
static bool line_is_known(struct str line)
{
    static const char *const commands[] = {
        "#!ipxe",
        "echo Halligan: ",
        "echo Loading failed",
        "echo The ",
        "echo No answer",
        "echo Reason: ",
        "echo It waits",
        "echo discover",
        "goto ",
        ":",
        "sleep ",
        "dhcp ||",
        "imgfree",
        "kernel --name kernel http://10.0.0.1:8091/files/",
        "initrd --name initrd",
        "boot kernel ||",
        "boot",
        "chain --replace --autofree http://10.0.0.1:8091/boot/",
        "chain --autofree http://10.0.0.1:8091/files/local/grubx64.efi ||",
        "iseq ${platform} pcbios || goto efi",
        "sanboot --no-describe --drive 0x80 ||",
        "exit",
        "until linux /",
        "until initrd /",
        "DEFAULT halligan",
        "PROMPT 0",
        "LABEL halligan",
        "LOCALBOOT 0",
        "KERNEL /",
        "INITRD /",
        "APPEND halligan.server=http://10.0.0.1:8091 "};
    for (uint32_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (str_starts(line, str_from(commands[i])))
            return true;
    return false;
}

static void check_line(struct str line)
{
    uint32_t ors = 0, semicolons = 0, quotes = 0;
    char before = ' ';
    check(line_is_known(line) && line.len < 20000);
    if (str_eq(line, STR("iseq ${platform} pcbios || goto efi")))
        return;
    for (uint32_t i = 0; i < line.len; i++) {
        const char c = line.at[i];
        check(c >= ' ' && c <= '~' && c != '$' && c != '\\' && c != '`' && c != '"');
        check((c != '&' || before != '&') && (c != '#' || before != ' ' || i == 0));
        ors += c == '|';
        semicolons += c == ';';
        quotes += c == '\'';
        before = c;
    }
    /* "|| goto LABEL" or "||" ends a command, and there is one in a line at most. */
    check(ors == 0 || ors == 2);
    if (ors && !str_ends(line, STR(" ||")))
        check(str_ends(line, STR(" || goto retry")) || str_ends(line, STR(" || goto wait")) ||
              str_ends(line, STR(" || goto again")) || str_ends(line, STR(" || goto hold")));
    if (str_starts(line, STR("until ")))
        check(str_ends(line, STR("; do sleep 5; done")) && semicolons == 2 && quotes % 2 == 0);
    else
        check(semicolons == 0 && quotes == 0);
}

static bool check_text(struct str text)
{
    bool has_boot = false;
    check(text.len > 0 && text.at[text.len - 1] == '\n');
    for (uint32_t from = 0, to; from < text.len; from = to + 1) {
        to = str_find(text, '\n', from);
        const struct str line = str_slice(text, from, to);
        check_line(line);
        has_boot |= str_starts(line, STR("boot"));
    }
    return has_boot;
}

/* Two environments may have one name here, and only one of them may be an installer. */
static bool is_installer(const struct view *v, struct str name, struct arena *a)
{
    uint32_t count = 0, installers = 0;
    struct boot_entry e;
    for (int64_t id = 0; (id = view_next_id(v, BOOT_BOOTENV, id));) {
        check(view_get(v, (struct boot_key){BOOT_BOOTENV, id}, a, &e));
        if (!str_eq_nocase(e.bootenv.name, name))
            continue;
        count++;
        installers += str_ends(str_lower(a, name), STR("-install")) ||
                      str_eq(e.bootenv.method, STR("installer"));
    }
    return count && installers == count;
}

static void check_answer(const struct boot_site *site, struct boot_request request, struct arena *a)
{
    struct boot_answer answer;
    boot_script_answer(site, &request, a, &answer);
    if (answer.kind == BOOT_ANSWER_FORBIDDEN) {
        check(!answer.text.len && !answer.ticket.len && answer.reason.len);
        return;
    }
    struct ticket ticket;
    check(ticket_parse(answer.ticket, site->key, request.now_s, &ticket));
    check(ticket.mac == request.mac && ticket.node == answer.node);
    check(ticket.generation == answer.generation);
    if (answer.kind == BOOT_ANSWER_GRANT) {
        check(request.is_install && !answer.text.len && answer.node);
        check(str_eq(answer.ticket, request.ticket));
        check(check_text(boot_script_of_grant(site, &request, GRANT_GRANTED, a)));
        check(!check_text(boot_script_of_grant(site, &request, GRANT_LOCAL, a)));
        check(!check_text(boot_script_of_grant(site, &request, GRANT_STALE, a)));
        return;
    }
    const bool has_boot = check_text(answer.text);
    check(!has_boot || (!request.is_install && !is_installer(site->view, answer.bootenv, a)));
    if (!answer.node)
        check(!str_has(answer.text, STR("\nchain --replace --autofree http://10.0.0.1:8091/boot/"
                                        "52-54-00-00-00-99/install")));
}

static void check_request(const struct boot_site *site, struct boot_path path, struct source *s,
                          struct arena *a)
{
    struct boot_request request = {.mac = path.mac,
                                   .ticket = path.ticket,
                                   .source = path.mac == LEASED ? 0x0a0000c8 : 0x0a000007,
                                   .is_install = path.kind == BOOT_PATH_INSTALL,
                                   .now_s = 1000000,
                                   .random = next_byte(s)};
    struct boot_answer answer;
    if (path.kind == BOOT_PATH_NONE)
        return;
    if (path.kind == BOOT_PATH_AUTOEXEC) {
        check(boot_script_autoexec(site, a).len > 100);
        return;
    }
    check(path.mac >> 48 == 0 && path.mac != 0);
    if (path.kind == BOOT_PATH_PXELINUX)
        request.form = BOOT_FORM_PXELINUX;
    else if (path.kind == BOOT_PATH_GRUB)
        request.form = BOOT_FORM_GRUB;
    check_answer(site, request, a);
    /* Once more with a ticket that is current, so that installers get to their question. */
    boot_script_answer(site, &request, a, &answer);
    request.ticket = answer.ticket;
    if (answer.kind != BOOT_ANSWER_FORBIDDEN)
        check_answer(site, request, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Made once and emptied after each input: its pages would take longer than the rest. */
    static struct view view;
    static struct arena a;
    static bool is_open;
    struct source s = {data, size};
    if (size == 0 || size > 8192)
        return 0;
    if (!is_open)
        view_init(&view);
    is_open = true;
    const struct str path = next_bytes(&s);
    const struct str query = next_bytes(&s);
    make_view(&view, &s, &a);
    const struct boot_site site = {&view, &key, 0x0a000001, 8091, next_byte(&s) % 2};
    check_request(&site, boot_path_of_url(path, query), &s, &a);
    check_request(&site, boot_path_of_file(path), &s, &a);
    /* One that does not depend on the text of the path. */
    static const enum boot_path_kind kinds[] = {BOOT_PATH_SCRIPT, BOOT_PATH_INSTALL,
                                                BOOT_PATH_PXELINUX, BOOT_PATH_GRUB};
    const struct boot_path other = {
        .kind = kinds[next_byte(&s) % 4], .mac = next_byte(&s) % 4 ? MAC : LEASED, .ticket = query};
    check_request(&site, other, &s, &a);
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++)
        for (int64_t id = 0; (id = view_next_id(&view, (enum boot_fact)kind, id));)
            view_remove(&view, (struct boot_key){(enum boot_fact)kind, id});
    check(view_count(&view) == 0 && view.heap.used == 0);
    arena_reset(&a);
    return 0;
}
