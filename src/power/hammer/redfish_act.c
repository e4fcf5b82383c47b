/* redfish_act.c - power and light: choosing what to send, and waiting until it is so. */
#include "power/hammer/redfish.h"

#define W(r) ((r)->work)

static const char *node(const struct redfish *r)
{
    return power_op_z(r->work, r->work->order.node_name);
}

static bool is_method(const struct redfish *r, const char *name)
{
    return str_eq(W(r)->order.method, str_from(name));
}

static void end_with_power(struct redfish *r, enum redfish_power power, const char *how)
{
    struct arena *a = &W(r)->arena;
    struct json *value = json_make(a, JSON_OBJECT);
    const char *word = redfish_power_word(power);
    json_set(value, STR("power"), json_make_string(a, str_from(word)));
    power_op_end(W(r), value, "node \"%s\" %s %s", node(r), how, word);
}

/* ---- switching ---- */

static void send_next(struct redfish *r);
static void look_again(struct power_op *w);

static void go_on(struct power_op *w)
{
    send_next(w->job);
}

static void power_seen(struct redfish *r, const struct json *document)
{
    struct redfish_system seen;
    redfish_system_read(document, &seen);
    if (seen.power == r->wanted && r->plan.len) {
        power_op_pause(W(r), r->vendor->settle_ms, go_on);
        return;
    }
    if (seen.power == r->wanted) {
        end_with_power(r, seen.power, "is");
        return;
    }
    power_op_seen(W(r), "it was asked to be %s and says it is \"%.*s\"",
                  redfish_power_word(r->wanted), STR_FMT_ARGS(seen.power_word));
    power_op_pause(W(r), redfish_lag_ms(r), look_again);
}

static void look_again(struct power_op *w)
{
    redfish_look(w->job, power_seen);
}

static bool may_leave_early(const struct redfish *r)
{
    const struct json *wait = json_get(W(r)->args, STR("wait"));
    return wait && wait->kind == JSON_FALSE && r->plan.len == 0;
}

static void reset_done(struct redfish *r, const struct json *document)
{
    (void)document;
    if (may_leave_early(r))
        end_with_power(r, r->wanted, "was asked to be");
    else
        redfish_look(r, power_seen);
}

static void reset_accepted(struct redfish *r, const struct json *document)
{
    redfish_follow(r, document, reset_done);
}

static void send_next(struct redfish *r)
{
    struct arena *a = &W(r)->arena;
    const uint32_t plus = str_find(r->plan, '+', 0);
    struct json *body = json_make(a, JSON_OBJECT);
    json_set(body, STR("ResetType"), json_make_string(a, str_slice(r->plan, 0, plus)));
    r->plan = str_slice(r->plan, plus + 1, r->plan.len);
    r->wanted = r->plan.len ? REDFISH_POWER_OFF : r->wanted_at_end;
    redfish_ask(r, &(struct redfish_request){.method = "POST",
                                             .path = power_op_z(W(r), r->system.reset_path),
                                             .body = json_write(a, body),
                                             .then = reset_accepted});
}

/* The types that do it, and the state that shows it was done. */
static const char *types_of(struct redfish *r, enum redfish_power *out_wanted)
{
    const bool is_off = r->system.power == REDFISH_POWER_OFF;
    *out_wanted =
        is_method(r, "off") || is_method(r, "halt") ? REDFISH_POWER_OFF : REDFISH_POWER_ON;
    if (is_method(r, "off"))
        return r->vendor->off;
    if (is_method(r, "halt"))
        return r->vendor->halt;
    if (is_method(r, "on") || is_off)
        return r->vendor->on;
    return is_method(r, "cycle") ? r->vendor->cycle : r->vendor->reset;
}

static void switch_power(struct redfish *r);

static void moved(struct redfish *r, const struct json *document)
{
    struct redfish_system seen;
    redfish_system_read(document, &seen);
    r->system.power = seen.power;
    switch_power(r);
}

static void look_whether_moved(struct power_op *w)
{
    redfish_look(w->job, moved);
}

static void switch_power(struct redfish *r)
{
    if (r->system.power == REDFISH_POWER_MOVING) {
        power_op_seen(W(r), "it is on its way from one power state to the other");
        power_op_pause(W(r), redfish_lag_ms(r), look_whether_moved);
        return;
    }
    const struct redfish_words *offered = &r->system.reset_types;
    const char *types = types_of(r, &r->wanted_at_end);
    const bool restarts = is_method(r, "cycle") || is_method(r, "reset");
    if (!restarts && r->system.power == r->wanted_at_end) {
        end_with_power(r, r->system.power, "is already");
        return;
    }
    if (r->system.reset_path.len == 0) {
        power_op_fail(W(r), HAMMER_END_NOT_OFFERED, "%s%s: the system has no Reset", r->base,
                      r->path);
        return;
    }
    r->plan = redfish_pick(str_from(types), offered->at, offered->count);
    if (r->plan.len == 0)
        power_op_fail(W(r), HAMMER_END_NOT_OFFERED,
                      "%s%s: %.*s would need one of %s; the system offers %.*s", r->base, r->path,
                      STR_FMT_ARGS(W(r)->order.method), types,
                      STR_FMT_ARGS(redfish_words_list(&W(r)->arena, offered)));
    else
        send_next(r);
}

/* ---- the light ---- */

static void light_done(struct redfish *r, const struct json *document)
{
    (void)document;
    power_op_end(W(r), NULL, "node \"%s\" shows where it is, or no longer", node(r));
}

static void light_accepted(struct redfish *r, const struct json *document)
{
    redfish_follow(r, document, light_done);
}

/* Whichever version it is of. */
static bool mend_light(struct redfish *r, int status)
{
    if ((status != 412 && status != 428) || r->light_tries++)
        return false;
    struct redfish_request again = r->now;
    again.if_match = "*";
    redfish_ask(r, &again);
    return true;
}

static struct str light_value(const struct redfish *r, bool on)
{
    const struct redfish_words *offered = &r->system.leds;
    const struct str wanted = on ? str_from(r->vendor->light) : STR("Off");
    if (offered->count)
        return redfish_pick(wanted, offered->at, offered->count);
    return str_slice(wanted, 0, str_find(wanted, ' ', 0));
}

static void identify(struct redfish *r)
{
    struct arena *a = &W(r)->arena;
    const struct json *wish = json_get(W(r)->args, STR("on"));
    const bool on = !wish || wish->kind != JSON_FALSE;
    const struct str value = light_value(r, on);
    struct json *body = json_make(a, JSON_OBJECT);
    if (r->system.has_location)
        json_set(body, STR("LocationIndicatorActive"), json_make_bool(a, on));
    else if (r->system.has_led && value.len)
        json_set(body, STR("IndicatorLED"), json_make_string(a, value));
    if (body->count == 0) {
        power_op_fail(W(r), HAMMER_END_NOT_OFFERED, "%s%s: the system has no light that can be set",
                      r->base, r->path);
        return;
    }
    redfish_ask(r, &(struct redfish_request){
                       .method = "PATCH",
                       .path = r->path,
                       .body = json_write(a, body),
                       .if_match = r->vendor->wants_etag && r->system.etag.len
                                       ? power_op_z(W(r), r->system.etag)
                                       : NULL,
                       .then = light_accepted,
                       .mend = mend_light,
                   });
}

void redfish_act(struct redfish *r)
{
    const bool once = json_is_true(json_get(W(r)->args, STR("once")));
    if (W(r)->order.category == HAMMER_BOOT)
        redfish_boot(r, once);
    else if (is_method(r, "pxeboot"))
        redfish_boot(r, true);
    else if (is_method(r, "status"))
        end_with_power(r, r->system.power, "is");
    else if (is_method(r, "identify"))
        identify(r);
    else
        switch_power(r);
}
