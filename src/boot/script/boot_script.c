/* boot_script.c - decides what a machine boots. Stateless.
 *
 * Order: the machine is looked up by its MAC, then the request is judged by its address and ticket,
 * then the ticket of the answer is chosen, because the texts contain it. */
#include "boot/script/boot_script.h"

#include "base/json/json.h"
#include "base/net/ip.h"
#include "base/text/buf.h"
#include "boot/script/boot_args.h"
#include "boot/script/boot_texts.h"
#include "model/network_record.h"

struct script {
    const struct boot_site *site;
    const struct boot_request *request;
    struct arena *arena;
    struct boot_machine machine; /* zeroed for a machine that is no node */
    const struct json *options;  /* of the machine; NULL = none */
    const struct boot_network_settings *network;
    struct boot_subject subject;
    struct ticket ticket; /* of the request, if it has one that is valid */
    bool has_ticket;
};

/* ---- the machine ---- */

static const struct boot_network_settings *script_network(const struct boot_site *site,
                                                          uint32_t source)
{
    const struct boot_settings *settings = &site->view->settings;
    const struct view_range *range = view_range_of_address(site->view, source);
    if (!range)
        range = view_range_of_subnet(site->view, source);
    const struct view_network *network = range ? view_network(site->view, range->network) : NULL;
    return network ? boot_settings_of(settings, network->name) : &settings->all;
}

static const struct json *script_read_options(struct str options, struct arena *a)
{
    struct json *read;
    uint32_t offset;
    const char *what;
    return options.len && json_read(a, options, &read, &offset, &what) == OK ? read : NULL;
}

static enum local_boot script_local_boot(const struct script *s)
{
    static const struct str words[] = {{"auto", 4}, {"omit", 4}, {"chain", 5}};
    const struct json *own = json_get(s->options, STR("local_boot"));
    for (uint32_t i = 0; own && own->kind == JSON_STRING && i < 3; i++)
        if (str_eq(own->text, words[i]))
            return (enum local_boot)i;
    return s->site->view->settings.local_boot;
}

static struct str script_address(uint32_t address, struct arena *a)
{
    return ip_format_address(a, ip_from_v4(address));
}

static struct script script_open(const struct boot_site *site, const struct boot_request *request,
                                 struct arena *a)
{
    struct script s = {.site = site, .request = request, .arena = a};
    struct boot_entry entry;
    const int64_t node = view_machine_of_mac(site->view, request->mac);
    s.subject.mac = request->mac;
    if (node && view_get(site->view, (struct boot_key){BOOT_MACHINE, node}, a, &entry)) {
        s.machine = entry.machine;
        s.options = script_read_options(entry.machine.options, a);
        s.subject.node = node;
        s.subject.generation = entry.machine.generation;
        s.subject.name = entry.machine.name;
    }
    s.network = script_network(site, request->source);
    s.subject.server = script_address(site->address, a);
    s.subject.port = site->port;
    s.subject.url =
        STR_CONCAT(a, STR("http://"), s.subject.server, STR(":"), str_from_i64(a, site->port));
    s.subject.local_boot = script_local_boot(&s);
    s.has_ticket = ticket_parse(request->ticket, site->key, request->now_s, &s.ticket);
    return s;
}

/* ---- who may ask ---- */

/* True if the address is a reservation of the machine or that of a live lease of its MAC. */
static bool script_is_own_address(const struct script *s)
{
    const struct boot_request *request = s->request;
    struct view_lease lease;
    for (uint32_t i = 0; i < s->machine.address_count; i++) {
        const char *wrong;
        struct ip ip;
        if (ip_parse(s->machine.addresses[i].address, &ip, &wrong) && ip.family == IP_V4 &&
            ip.lo == request->source)
            return true;
    }
    for (int64_t id = 0; view_next_lease_of_mac(s->site->view, request->mac, id, &lease);
         id = lease.id)
        if (lease.address == request->source && lease.ends_ms > request->now_ms)
            return true;
    return false;
}

/* Why the request is refused; empty if it is not. */
static struct str script_refusal(const struct script *s)
{
    if (s->has_ticket && s->ticket.mac != s->request->mac)
        return STR("its ticket belongs to another MAC");
    if (script_is_own_address(s) || (s->site->is_proxy && s->has_ticket))
        return (struct str){"", 0};
    return STR_CONCAT(s->arena, script_address(s->request->source, s->arena),
                      s->site->is_proxy
                          ? STR(" is not an address of the machine, and it has no ticket")
                          : STR(" is not an address of the machine"));
}

/* The ticket of the request is of this machine as it is now. */
static bool script_ticket_is_current(const struct script *s)
{
    return s->has_ticket && s->ticket.node == s->subject.node &&
           s->ticket.generation == s->subject.generation;
}

static void script_choose_ticket(struct script *s)
{
    const struct ticket made = {.mac = s->request->mac,
                                .node = s->subject.node,
                                .generation = s->subject.generation,
                                .made_s = s->request->now_s,
                                .random = s->request->random};
    s->subject.ticket = script_ticket_is_current(s) ? s->request->ticket
                                                    : ticket_format(s->arena, s->site->key, &made);
}

/* ---- what it boots ---- */

static bool script_is_installer(const struct boot_bootenv *bootenv, struct arena *a)
{
    return grant_is_for(str_lower(a, bootenv->name)) || str_eq(bootenv->method, STR("installer"));
}

static void script_put_local(const struct script *s, struct str reason, struct boot_answer *out)
{
    out->bootenv = STR("local");
    out->reason = reason;
    switch (s->request->form) {
    case BOOT_FORM_IPXE: out->text = boot_text_local(&s->subject, reason, s->arena); return;
    case BOOT_FORM_GRUB: out->text = boot_text_grub(NULL, STR(""), s->arena); return;
    case BOOT_FORM_PXELINUX: out->text = boot_text_pxelinux(NULL, STR(""), s->arena); return;
    }
}

/* Files for GRUB and PXELINUX can only wait for the firmware. */
static void script_put_hold(const struct script *s, struct boot_answer *out)
{
    if (s->request->form == BOOT_FORM_IPXE) {
        out->text = boot_text_hold(&s->subject, s->arena);
        out->bootenv = STR("hold");
    } else {
        script_put_local(s, STR("only iPXE can wait"), out);
    }
}

static void script_put_bootenv(const struct script *s, const struct boot_bootenv *bootenv,
                               struct boot_answer *out)
{
    const bool is_ipxe = s->request->form == BOOT_FORM_IPXE;
    const bool is_installer = script_is_installer(bootenv, s->arena);
    const struct boot_args_input input = {.subject = &s->subject,
                                          .settings = &s->site->view->settings,
                                          .options = s->options,
                                          .bootenv = bootenv->name,
                                          .template = bootenv->args,
                                          .initrd_count = is_ipxe ? bootenv->initrd_count : 0};
    if (!is_ipxe && is_installer) {
        script_put_local(s, STR("only iPXE can start an installer"), out);
        return;
    }
    if (!is_ipxe && !boot_text_paths_are_plain(bootenv)) {
        script_put_local(s, STR("a path of the environment can only be loaded by HTTP"), out);
        return;
    }
    const struct str args = boot_args_make(&input, s->arena, &out->reason);
    out->bootenv = bootenv->name;
    if (s->request->form == BOOT_FORM_GRUB)
        out->text = boot_text_grub(bootenv, args, s->arena);
    else if (s->request->form == BOOT_FORM_PXELINUX)
        out->text = boot_text_pxelinux(bootenv, args, s->arena);
    else if (is_installer)
        out->text = boot_text_installer(&s->subject, bootenv, args, s->arena);
    else
        out->text = boot_text_load(&s->subject, bootenv, args, s->arena);
}

static void script_put_node(const struct script *s, struct boot_answer *out)
{
    struct boot_bootenv bootenv;
    if (str_eq_nocase(s->machine.bootenv, STR("local")))
        script_put_local(s, (struct str){"", 0}, out);
    else if (view_find_bootenv(s->site->view, s->machine.bootenv, s->arena, &bootenv))
        script_put_bootenv(s, &bootenv, out);
    else
        script_put_local(
            s,
            STR_CONCAT(s->arena, STR("no barclamp defines the environment "), s->machine.bootenv),
            out);
}

/* The first environment by name whose method is discovery. */
static bool script_find_discovery(const struct script *s, struct boot_bootenv *out)
{
    struct boot_entry entry;
    struct str first = {"", 0};
    for (int64_t id = 0; (id = view_next_id(s->site->view, BOOT_BOOTENV, id));) {
        if (!view_get(s->site->view, (struct boot_key){BOOT_BOOTENV, id}, s->arena, &entry) ||
            !str_eq(entry.bootenv.method, STR("discovery")) ||
            script_is_installer(&entry.bootenv, s->arena))
            continue;
        const struct str name = str_lower(s->arena, entry.bootenv.name);
        if (!first.len || str_cmp(name, first) < 0) {
            first = name;
            *out = entry.bootenv;
        }
    }
    return first.len != 0;
}

static void script_put_unknown(const struct script *s, struct boot_answer *out)
{
    struct boot_bootenv bootenv;
    switch (s->network->boot_unknown) {
    case BOOT_UNKNOWN_LOCAL: script_put_local(s, (struct str){"", 0}, out); return;
    case BOOT_UNKNOWN_HOLD: script_put_hold(s, out); return;
    case BOOT_UNKNOWN_DISCOVER:
        if (script_find_discovery(s, &bootenv)) {
            script_put_bootenv(s, &bootenv, out);
        } else {
            script_put_hold(s, out);
            out->reason = STR("no barclamp defines an environment with the method discovery");
        }
        return;
    }
}

/* ---- answers ---- */

/* A request to start an installer. Whether it is granted, the daemon decides; here is judged only
 * whether the question makes sense. */
static void script_put_install(struct script *s, struct boot_answer *out)
{
    struct boot_bootenv bootenv;
    const bool is_installer =
        view_find_bootenv(s->site->view, s->machine.bootenv, s->arena, &bootenv) &&
        script_is_installer(&bootenv, s->arena);
    if (s->subject.node && is_installer && script_ticket_is_current(s)) {
        out->kind = BOOT_ANSWER_GRANT;
        out->bootenv = bootenv.name;
        return;
    }
    out->text = boot_text_again(&s->subject, s->arena);
    out->bootenv = s->machine.bootenv;
    out->reason = STR("the machine is not to boot this installer any more");
}

void boot_script_answer(const struct boot_site *site, const struct boot_request *request,
                        struct arena *a, struct boot_answer *out)
{
    struct script s = script_open(site, request, a);
    *out = (struct boot_answer){
        .kind = BOOT_ANSWER_TEXT, .node = s.subject.node, .generation = s.subject.generation};
    out->reason = script_refusal(&s);
    if (out->reason.len) {
        out->kind = BOOT_ANSWER_FORBIDDEN;
        return;
    }
    script_choose_ticket(&s);
    out->ticket = s.subject.ticket;
    if (request->is_install)
        script_put_install(&s, out);
    else if (s.subject.node)
        script_put_node(&s, out);
    else
        script_put_unknown(&s, out);
}

struct str boot_script_of_grant(const struct boot_site *site, const struct boot_request *request,
                                enum grant_answer grant, struct arena *a)
{
    struct script s = script_open(site, request, a);
    s.subject.ticket = request->ticket;
    switch (grant) {
    case GRANT_GRANTED: return boot_text_start(&s.subject, a);
    case GRANT_LOCAL: return boot_text_local(&s.subject, STR("the installer may not start"), a);
    case GRANT_STALE: return boot_text_again(&s.subject, a);
    case GRANT_ANSWER_COUNT: break;
    }
    impossible("an answer about a grant outside the enum");
}

struct str boot_script_autoexec(const struct boot_site *site, struct arena *a)
{
    return boot_text_autoexec(STR_CONCAT(a, STR("http://"), script_address(site->address, a),
                                         STR(":"), str_from_i64(a, site->port)),
                              a);
}
