/* redfish_act.c - power actions and the indicator LED of a Redfish system.
 *
 * A power action is a list of ResetType values, chosen by the vendor and by what the system offers;
 * "ForceOff+On" is two requests. After each request the power state is polled until it is the
 * expected one, because services accept a reset before they perform it. A system that is changing
 * its state is polled before the first request. The deadline of the operation ends the polling.
 *
 * The state is in `struct redfish`: the ResetType values still to be sent (plan) and the power
 * state to wait for. A failure between two requests may leave the system off. redfish.c repeats
 * requests where that is safe.
 */
#include "power/hammer/redfish.h"

#define OP(r) ((r)->op)

static const char *redfish_node_name(const struct redfish *r)
{
    return power_op_z(r->op, r->op->order.node_name);
}

static bool redfish_is_method(const struct redfish *r, const char *name)
{
    return str_eq(OP(r)->order.method, str_from(name));
}

static void redfish_end_with_power(struct redfish *r, enum redfish_power power, const char *how)
{
    struct arena *a = &OP(r)->arena;
    struct json *value = json_make(a, JSON_OBJECT);
    const char *word = redfish_power_word(power);
    json_set(value, STR("power"), json_make_string(a, str_from(word)));
    power_op_end(OP(r), value, "node \"%s\" %s %s", redfish_node_name(r), how, word);
}

/* ---- power ---- */

static void redfish_send_reset(struct redfish *r);
static void redfish_poll_power(struct power_op *op);

static void redfish_continue_plan(struct power_op *op)
{
    redfish_send_reset(op->job);
}

static void redfish_on_power(struct redfish *r, const struct json *document)
{
    struct redfish_system seen;
    redfish_system_read(document, &seen);
    if (seen.power == r->wanted && r->plan.len) {
        power_op_pause(OP(r), r->vendor->settle_ms, redfish_continue_plan);
        return;
    }
    if (seen.power == r->wanted) {
        redfish_end_with_power(r, seen.power, "is");
        return;
    }
    power_op_set_observation(OP(r), "power %s was requested, the service reports \"%.*s\"",
                             redfish_power_word(r->wanted), STR_FMT_ARGS(seen.power_word));
    power_op_pause(OP(r), redfish_poll_ms(r), redfish_poll_power);
}

static void redfish_poll_power(struct power_op *op)
{
    redfish_read_system(op->job, redfish_on_power);
}

static void redfish_on_reset_done(struct redfish *r, const struct json *document)
{
    const struct json *wait = json_get(OP(r)->args, STR("wait"));
    (void)document;
    /* args.wait is false, and this was the last request. */
    if (wait && wait->kind == JSON_FALSE && r->plan.len == 0)
        redfish_end_with_power(r, r->wanted, "was ordered to be");
    else
        redfish_read_system(r, redfish_on_power);
}

static void redfish_on_reset_accepted(struct redfish *r, const struct json *document)
{
    redfish_await_task(r, document, redfish_on_reset_done);
}

/* Sends the first ResetType of the plan. Between two of them the system must be off. */
static void redfish_send_reset(struct redfish *r)
{
    struct arena *a = &OP(r)->arena;
    const uint32_t plus = str_find(r->plan, '+', 0);
    struct json *body = json_make(a, JSON_OBJECT);
    json_set(body, STR("ResetType"), json_make_string(a, str_slice(r->plan, 0, plus)));
    r->plan = str_slice(r->plan, plus + 1, r->plan.len);
    r->wanted = r->plan.len ? REDFISH_POWER_OFF : r->wanted_at_end;
    redfish_send(r, &(struct redfish_request){.method = "POST",
                                              .path = power_op_z(OP(r), r->system.reset_path),
                                              .body = json_write(a, body),
                                              .then = redfish_on_reset_accepted});
}

/* The ResetType values for the method, and the power state after it. A system that is off is
 * switched on instead of being reset. */
static const char *redfish_reset_types(struct redfish *r, enum redfish_power *out_wanted)
{
    const bool is_off = r->system.power == REDFISH_POWER_OFF;
    *out_wanted = redfish_is_method(r, "off") || redfish_is_method(r, "halt") ? REDFISH_POWER_OFF
                                                                              : REDFISH_POWER_ON;
    if (redfish_is_method(r, "off"))
        return r->vendor->off;
    if (redfish_is_method(r, "halt"))
        return r->vendor->halt;
    if (redfish_is_method(r, "on") || is_off)
        return r->vendor->on;
    return redfish_is_method(r, "cycle") ? r->vendor->cycle : r->vendor->reset;
}

static void redfish_switch_power(struct redfish *r);

static void redfish_on_settled(struct redfish *r, const struct json *document)
{
    struct redfish_system seen;
    redfish_system_read(document, &seen);
    r->system.power = seen.power;
    redfish_switch_power(r);
}

static void redfish_poll_settled(struct power_op *op)
{
    redfish_read_system(op->job, redfish_on_settled);
}

static void redfish_switch_power(struct redfish *r)
{
    if (r->system.power == REDFISH_POWER_CHANGING) {
        power_op_set_observation(OP(r), "the system is changing its power state");
        power_op_pause(OP(r), redfish_poll_ms(r), redfish_poll_settled);
        return;
    }
    const struct redfish_words *offered = &r->system.reset_types;
    const char *types = redfish_reset_types(r, &r->wanted_at_end);
    const bool restarts = redfish_is_method(r, "cycle") || redfish_is_method(r, "reset");
    if (!restarts && r->system.power == r->wanted_at_end) {
        redfish_end_with_power(r, r->system.power, "is already");
        return;
    }
    if (r->system.reset_path.len == 0) {
        power_op_fail(OP(r), HAMMER_END_NOT_OFFERED, "%s%s: the system has no action Reset",
                      r->base, r->path);
        return;
    }
    r->plan = redfish_pick(str_from(types), offered->at, offered->count);
    if (r->plan.len == 0)
        power_op_fail(OP(r), HAMMER_END_NOT_OFFERED,
                      "%s%s: %.*s requires one of %s; the system offers %.*s", r->base, r->path,
                      STR_FMT_ARGS(OP(r)->order.method), types,
                      STR_FMT_ARGS(redfish_words_list(&OP(r)->arena, offered)));
    else
        redfish_send_reset(r);
}

/* ---- indicator LED ---- */

static void redfish_on_led_done(struct redfish *r, const struct json *document)
{
    (void)document;
    power_op_end(OP(r), NULL, "the indicator LED of node \"%s\" was set", redfish_node_name(r));
}

static void redfish_on_led_accepted(struct redfish *r, const struct json *document)
{
    redfish_await_task(r, document, redfish_on_led_done);
}

/* 412, 428: the service requires If-Match. "*" matches any version, harmless for an LED. */
static bool redfish_on_led_refused(struct redfish *r, int status)
{
    if ((status != 412 && status != 428) || r->led_tries++)
        return false;
    struct redfish_request again = r->now;
    again.if_match = "*";
    redfish_send(r, &again);
    return true;
}

static struct str redfish_led_value(const struct redfish *r, bool on)
{
    const struct redfish_words *offered = &r->system.leds;
    const struct str wanted = on ? str_from(r->vendor->led) : STR("Off");
    if (offered->count)
        return redfish_pick(wanted, offered->at, offered->count);
    return str_slice(wanted, 0, str_find(wanted, ' ', 0));
}

static void redfish_identify(struct redfish *r)
{
    struct arena *a = &OP(r)->arena;
    const struct json *on_arg = json_get(OP(r)->args, STR("on"));
    const bool on = !on_arg || on_arg->kind != JSON_FALSE;
    const struct str value = redfish_led_value(r, on);
    struct json *body = json_make(a, JSON_OBJECT);
    if (r->system.has_location)
        json_set(body, STR("LocationIndicatorActive"), json_make_bool(a, on));
    else if (r->system.has_led && value.len)
        json_set(body, STR("IndicatorLED"), json_make_string(a, value));
    if (body->count == 0) {
        power_op_fail(OP(r), HAMMER_END_NOT_OFFERED,
                      "%s%s: the system has no indicator LED that can be set", r->base, r->path);
        return;
    }
    redfish_send(r, &(struct redfish_request){
                        .method = "PATCH",
                        .path = r->path,
                        .body = json_write(a, body),
                        .if_match = r->vendor->wants_etag && r->system.etag.len
                                        ? power_op_z(OP(r), r->system.etag)
                                        : NULL,
                        .then = redfish_on_led_accepted,
                        .on_refusal = redfish_on_led_refused,
                    });
}

void redfish_act(struct redfish *r)
{
    const bool once = json_is_true(json_get(OP(r)->args, STR("once")));
    if (OP(r)->order.category == HAMMER_BOOT)
        redfish_boot(r, once);
    else if (redfish_is_method(r, "pxeboot"))
        redfish_boot(r, true);
    else if (redfish_is_method(r, "status"))
        redfish_end_with_power(r, r->system.power, "is");
    else if (redfish_is_method(r, "identify"))
        redfish_identify(r);
    else
        redfish_switch_power(r);
}
