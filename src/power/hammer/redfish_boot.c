/* redfish_boot.c - the boot device of a Redfish system, for one boot or permanently.
 *
 * The change (PATCH of Boot) is sent to the system. If the system refuses it and has a settings
 * object, the change is sent there. If the service requires If-Match (412, 428), the resource is
 * read again and the change repeated with the new ETag. Afterwards the resource is polled until it
 * shows the change. A resource that never does is reported as accepted, not as failed, because some
 * services apply the change at the next boot only. After TRIES_MAX refusals the operation fails
 * with the last one. The state (boot_*) is in `struct redfish`.
 */
#include <string.h>

#include "power/hammer/redfish.h"

enum { TRIES_MAX = 4, POLLS_MAX = 5 };

#define OP(r) ((r)->op)

static void redfish_boot_patch(struct redfish *r, const char *if_match);

static void redfish_boot_end(struct redfish *r, bool is_shown, const char *how)
{
    struct arena *a = &OP(r)->arena;
    const bool once = strcmp(r->boot_enabled, "Once") == 0;
    const char *device = str_eq(OP(r)->order.method, STR("disk")) ? "disk" : "pxe";
    struct json *value = json_make(a, JSON_OBJECT);
    json_set(value, STR("boot"), json_make_string(a, str_from(device)));
    json_set(value, STR("once"), json_make_bool(a, once));
    json_set(value, STR("shown"), json_make_bool(a, is_shown));
    power_op_end(OP(r), value, "node \"%.*s\" %s %s%s", STR_FMT_ARGS(OP(r)->order.node_name), how,
                 device, once ? ", once" : "");
}

static bool redfish_boot_is_set(const struct redfish *r, const struct redfish_system *seen)
{
    if (!str_eq(seen->boot_enabled, str_from(r->boot_enabled)))
        return false;
    return strcmp(r->boot_enabled, "Disabled") == 0 || str_eq(seen->boot_target, r->boot_target);
}

/* ---- verification ---- */

static void redfish_boot_poll(struct power_op *op);

static void redfish_boot_on_polled(struct redfish *r, const struct json *document)
{
    struct redfish_system seen;
    redfish_system_read(document, &seen);
    if (redfish_boot_is_set(r, &seen)) {
        redfish_boot_end(r, true, "boots from");
    } else if (++r->boot_polls >= POLLS_MAX) {
        redfish_boot_end(r, false, "accepted the boot device, but does not report it yet:");
    } else {
        power_op_set_observation(OP(r),
                                 "the service accepted the boot device and still reports \"%.*s\"",
                                 STR_FMT_ARGS(seen.boot_target));
        power_op_pause(OP(r), redfish_poll_ms(r), redfish_boot_poll);
    }
}

static void redfish_boot_poll(struct power_op *op)
{
    struct redfish *r = op->job;
    redfish_get(r, r->boot_path, redfish_boot_on_polled);
}

static void redfish_boot_on_done(struct redfish *r, const struct json *document)
{
    (void)document;
    redfish_get(r, r->boot_path, redfish_boot_on_polled);
}

static void redfish_boot_on_accepted(struct redfish *r, const struct json *document)
{
    redfish_await_task(r, document, redfish_boot_on_done);
}

/* ---- change ---- */

static struct str redfish_boot_body(struct redfish *r)
{
    struct arena *a = &OP(r)->arena;
    struct json *boot = json_make(a, JSON_OBJECT);
    struct json *body = json_make(a, JSON_OBJECT);
    struct str uefi_target = redfish_text(OP(r)->extra, "uefi_target");
    json_set(boot, STR("BootSourceOverrideEnabled"),
             json_make_string(a, str_from(r->boot_enabled)));
    json_set(boot, STR("BootSourceOverrideTarget"), json_make_string(a, r->boot_target));
    if (r->vendor->mode == REDFISH_MODE_SHOWN && r->system.boot_mode.len)
        json_set(boot, STR("BootSourceOverrideMode"), json_make_string(a, r->system.boot_mode));
    if (str_eq(r->boot_target, STR("UefiTarget")))
        json_set(boot, STR("UefiTargetBootSourceOverride"), json_make_string(a, uefi_target));
    json_set(body, STR("Boot"), boot);
    return json_write(a, body);
}

/* Repeats the change with the current ETag. */
static void redfish_boot_on_version(struct redfish *r, const struct json *document)
{
    const struct str inside = redfish_text(document, "@odata.etag");
    const struct str etag = r->etag[0] ? str_from(r->etag) : inside;
    redfish_boot_patch(r, etag.len ? power_op_z(OP(r), etag) : "*");
}

/* 412, 428: If-Match is required or outdated. Any other refusal: the settings object may accept the
 * change. */
static bool redfish_boot_on_refused(struct redfish *r, int status)
{
    if (++r->boot_tries >= TRIES_MAX)
        return false;
    if (status == 412 || status == 428) {
        redfish_get(r, r->boot_path, redfish_boot_on_version);
        return true;
    }
    if (r->boot_path != r->path || r->system.settings.len == 0)
        return false;
    r->boot_path = power_op_z(OP(r), r->system.settings);
    redfish_get(r, r->boot_path, redfish_boot_on_version);
    return true;
}

static void redfish_boot_patch(struct redfish *r, const char *if_match)
{
    redfish_send(r, &(struct redfish_request){.method = "PATCH",
                                              .path = r->boot_path,
                                              .body = redfish_boot_body(r),
                                              .if_match = if_match,
                                              .then = redfish_boot_on_accepted,
                                              .on_refusal = redfish_boot_on_refused});
}

/* ---- choice of the values ---- */

static bool redfish_boot_choose_target(struct redfish *r)
{
    const struct redfish_words *offered = &r->system.boot_targets;
    const bool disk = str_eq(OP(r)->order.method, STR("disk"));
    const char *wanted = disk ? r->vendor->disk : r->vendor->pxe;
    const struct str uefi_target = redfish_text(OP(r)->extra, "uefi_target");
    if (disk && uefi_target.len)
        wanted = "UefiTarget";
    r->boot_target = offered->count
                         ? redfish_pick(str_from(wanted), offered->at, offered->count)
                         : str_slice(str_from(wanted), 0, str_find(str_from(wanted), ' ', 0));
    /* "None" need not be listed: it is the absence of an override. */
    if (r->boot_target.len == 0 && disk && !uefi_target.len)
        r->boot_target = STR("None");
    if (r->boot_target.len)
        return true;
    power_op_fail(OP(r), HAMMER_END_NOT_OFFERED,
                  "%s%s: the system cannot boot from %s; it offers %.*s", r->base, r->path, wanted,
                  STR_FMT_ARGS(redfish_words_list(&OP(r)->arena, offered)));
    return false;
}

static bool redfish_boot_choose_enabled(struct redfish *r, bool once)
{
    const struct redfish_words *offered = &r->system.boot_enableds;
    r->boot_enabled = str_eq(r->boot_target, STR("None")) ? "Disabled"
                      : once                              ? "Once"
                                                          : "Continuous";
    const bool fits = offered->count
                          ? redfish_pick(str_from(r->boot_enabled), offered->at, offered->count).len
                          : once || r->vendor->can_persist;
    if (fits || strcmp(r->boot_enabled, "Disabled") == 0)
        return true;
    power_op_fail(
        OP(r), HAMMER_END_NOT_OFFERED,
        "%s%s: the boot device cannot be set as %s; the system offers %.*s", r->base, r->path,
        r->boot_enabled,
        STR_FMT_ARGS(offered->count ? redfish_words_list(&OP(r)->arena, offered) : STR("Once")));
    return false;
}

void redfish_boot(struct redfish *r, bool once)
{
    const bool sends_etag = r->vendor->wants_etag && r->system.etag.len;
    if (!r->system.has_boot) {
        power_op_fail(OP(r), HAMMER_END_NOT_OFFERED, "%s%s: the system has no property Boot",
                      r->base, r->path);
        return;
    }
    if (!redfish_boot_choose_target(r) || !redfish_boot_choose_enabled(r, once))
        return;
    r->boot_path = r->path;
    if (redfish_boot_is_set(r, &r->system))
        redfish_boot_end(r, true, "already boots from");
    else
        redfish_boot_patch(r, sends_etag ? power_op_z(OP(r), r->system.etag) : NULL);
}
