/* redfish_boot.c - what a machine starts from, once or until further notice.
 *
 * The change goes to the system. Where that refuses it and names a settings object, it goes there;
 * where it wants to know which version is changed, the newest is read and named. Afterwards the
 * system is looked at until it shows the change; one that never does is told so, not failed, since
 * some apply it only at the next start.
 */
#include <string.h>

#include "power/hammer/redfish.h"

enum { TRIES_MAX = 4, NODES_PER_STEP_MAX = 5 };

#define W(r) ((r)->work)

static void patch(struct redfish *r, const char *if_match);

static void end_with_boot(struct redfish *r, bool is_shown, const char *how)
{
    struct arena *a = &W(r)->arena;
    const bool once = strcmp(r->boot_enabled, "Once") == 0;
    const char *device = str_eq(W(r)->order.method, STR("disk")) ? "disk" : "pxe";
    struct json *value = json_make(a, JSON_OBJECT);
    json_set(value, STR("boot"), json_make_string(a, str_from(device)));
    json_set(value, STR("once"), json_make_bool(a, once));
    json_set(value, STR("shown"), json_make_bool(a, is_shown));
    power_op_end(W(r), value, "node \"%.*s\" %s %s%s", STR_FMT_ARGS(W(r)->order.node_name), how,
                 device, once ? ", once" : "");
}

static bool shows(const struct redfish *r, const struct redfish_system *seen)
{
    if (!str_eq(seen->boot_enabled, str_from(r->boot_enabled)))
        return false;
    return strcmp(r->boot_enabled, "Disabled") == 0 || str_eq(seen->boot_target, r->boot_target);
}

/* ---- has it taken? ---- */

static void look_again(struct power_op *w);

static void boot_seen(struct redfish *r, const struct json *document)
{
    struct redfish_system seen;
    redfish_system_read(document, &seen);
    if (shows(r, &seen)) {
        end_with_boot(r, true, "starts from");
    } else if (++r->boot_looks >= NODES_PER_STEP_MAX) {
        end_with_boot(r, false, "accepted, but does not show, to start from");
    } else {
        power_op_seen(W(r), "the service accepted the boot device and still shows \"%.*s\"",
                      STR_FMT_ARGS(seen.boot_target));
        power_op_pause(W(r), redfish_lag_ms(r), look_again);
    }
}

static void look_again(struct power_op *w)
{
    struct redfish *r = w->job;
    redfish_get(r, r->boot_path, boot_seen);
}

static void boot_done(struct redfish *r, const struct json *document)
{
    (void)document;
    redfish_get(r, r->boot_path, boot_seen);
}

static void boot_accepted(struct redfish *r, const struct json *document)
{
    redfish_follow(r, document, boot_done);
}

/* ---- the change ---- */

static struct str body_of(struct redfish *r)
{
    struct arena *a = &W(r)->arena;
    struct json *boot = json_make(a, JSON_OBJECT);
    struct json *body = json_make(a, JSON_OBJECT);
    struct str uefi_target = redfish_text(W(r)->extra, "uefi_target");
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

/* The newest version, to name it in the change. */
static void version_seen(struct redfish *r, const struct json *document)
{
    const struct str inside = redfish_text(document, "@odata.etag");
    const struct str etag = r->etag[0] ? str_from(r->etag) : inside;
    patch(r, etag.len ? power_op_z(W(r), etag) : "*");
}

/* 412, 428: it wants to know what is changed. 400, 405: perhaps its settings take it. */
static bool mend(struct redfish *r, int status)
{
    if (++r->boot_tries >= TRIES_MAX)
        return false;
    if (status == 412 || status == 428) {
        redfish_get(r, r->boot_path, version_seen);
        return true;
    }
    if (r->boot_path != r->path || r->system.settings.len == 0)
        return false;
    r->boot_path = power_op_z(W(r), r->system.settings);
    redfish_get(r, r->boot_path, version_seen);
    return true;
}

static void patch(struct redfish *r, const char *if_match)
{
    redfish_ask(r, &(struct redfish_request){.method = "PATCH",
                                             .path = r->boot_path,
                                             .body = body_of(r),
                                             .if_match = if_match,
                                             .then = boot_accepted,
                                             .mend = mend});
}

/* ---- the choice ---- */

static bool choose_target(struct redfish *r)
{
    const struct redfish_words *offered = &r->system.boot_targets;
    const bool disk = str_eq(W(r)->order.method, STR("disk"));
    const char *wanted = disk ? r->vendor->disk : r->vendor->pxe;
    const struct str uefi_target = redfish_text(W(r)->extra, "uefi_target");
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
    power_op_fail(W(r), HAMMER_END_NOT_OFFERED, "%s%s: it cannot start from %s; it can from %.*s",
                  r->base, r->path, wanted,
                  STR_FMT_ARGS(redfish_words_list(&W(r)->arena, offered)));
    return false;
}

static bool choose_enabled(struct redfish *r, bool once)
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
        W(r), HAMMER_END_NOT_OFFERED,
        "%s%s: the boot device cannot be set as %s; the system offers %.*s", r->base, r->path,
        r->boot_enabled,
        STR_FMT_ARGS(offered->count ? redfish_words_list(&W(r)->arena, offered) : STR("Once")));
    return false;
}

void redfish_boot(struct redfish *r, bool once)
{
    const bool names_version = r->vendor->wants_etag && r->system.etag.len;
    if (!r->system.has_boot) {
        power_op_fail(W(r), HAMMER_END_NOT_OFFERED, "%s%s: the system has no Boot", r->base,
                      r->path);
        return;
    }
    if (!choose_target(r) || !choose_enabled(r, once))
        return;
    r->boot_path = r->path;
    if (shows(r, &r->system))
        end_with_boot(r, true, "already starts from");
    else
        patch(r, names_version ? power_op_z(W(r), r->system.etag) : NULL);
}
