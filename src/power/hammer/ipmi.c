/* ipmi.c - service processors that speak IPMI, through ipmitool.
 *
 * The password goes by a file. -C 3 by default: without a cipher suite ipmitool first asks which
 * there are, and many do not answer that. What went wrong stands in what it says with -v only.
 */
#include <string.h>

#include "power/hammer/tool_run.h"

enum { POLL_MS = 2000, PORT_DEFAULT = 623, PASSWORD_MAX = 20, SECONDS_MAX = 255 };

static bool is_method(const struct power_op *w, const char *name)
{
    return str_eq(w->order.method, str_from(name));
}

/* ---- what went wrong ---- */

/* The first that is found tells: ipmitool ends with the same general line whatever it was. */
static const struct tool_run_trouble troubles[] = {
    {"RAKP 2 HMAC is invalid", HAMMER_END_AUTH, "the password is not accepted"},
    {"unauthorized name", HAMMER_END_AUTH, "the user is not known"},
    {"unauthorized role", HAMMER_END_AUTH, "the user may not log in with that privilege"},
    {"Insufficient privilege", HAMMER_END_AUTH, "the user may not do this"},
    {"invalid role", HAMMER_END_AUTH, "the user may not log in with that privilege"},
    {"RAKP 2 message indicates an error", HAMMER_END_AUTH, "the login is refused"},
    {"RAKP 4 message", HAMMER_END_AUTH, "the login is refused"},
    {"Password is too long", HAMMER_END_SETTING, "the password is too long for IPMI"},
    {"invalid authentication algorithm", HAMMER_END_NOT_OFFERED,
     "it does not offer that cipher suite; extra.cipher sets another"},
    {"invalid integrity algorithm", HAMMER_END_NOT_OFFERED,
     "it does not offer that cipher suite; extra.cipher sets another"},
    {"no matching cipher suite", HAMMER_END_NOT_OFFERED,
     "it does not offer that cipher suite; extra.cipher sets another"},
    {"insufficient resources", HAMMER_END_BUSY, "it has no session left"},
    {"Node busy", HAMMER_END_BUSY, "it is busy"},
    {"Address lookup for", HAMMER_END_UNREACHABLE, "its name is not known"},
    {"failed: Invalid command", HAMMER_END_NOT_OFFERED, "it does not know that command"},
    {"Unable to establish", HAMMER_END_TIMEOUT, "it does not answer"},
    {"no response", HAMMER_END_TIMEOUT, "it does not answer"},
};

static void fail(struct power_op *w, const struct spawn_result *result)
{
    const struct tool_run_trouble *trouble =
        tool_run_trouble_find(troubles, sizeof troubles / sizeof *troubles, result->err);
    if (trouble) {
        power_op_fail(w, trouble->end, "the service processor %.*s: %s",
                      STR_FMT_ARGS(w->hammer.endpoint), trouble->text);
        return;
    }
    power_op_fail(w, HAMMER_END_FAILED, "ipmitool ended with %d: %.*s", result->status,
                  STR_FMT_ARGS(power_op_last_line(w, result->err)));
}

/* ---- the command line ---- */

static bool add_options(struct power_op *w, struct tool_run_argv *argv, bool is_verbose)
{
    struct power_op_address address;
    struct str interface;
    struct str level;
    int64_t cipher;
    if (!power_op_address(w, &address) || !power_op_text(w, w->extra, "interface", &interface) ||
        !power_op_text(w, w->extra, "level", &level) ||
        !power_op_number(w, w->extra, "cipher", 17, &cipher))
        return false;
    tool_run_add(argv, "ipmitool");
    tool_run_add(argv, "-I");
    tool_run_add(argv, str_eq(interface, STR("lan")) ? "lan" : "lanplus");
    tool_run_add(argv, "-H");
    tool_run_add(argv, power_op_z(w, address.host));
    tool_run_add(argv, "-p");
    tool_run_add(argv, power_op_z(w, power_op_say(w, "%lld",
                                                  address.port ? (long long)address.port
                                                               : (long long)PORT_DEFAULT)));
    tool_run_add(argv, "-C");
    tool_run_add(argv, power_op_z(w, power_op_say(w, "%lld", cipher ? (long long)cipher : 3LL)));
    tool_run_add(argv, "-U");
    tool_run_add(argv, power_op_z(w, w->hammer.username));
    tool_run_add(argv, "-f");
    tool_run_add(argv, tool_run_of(w)->secret);
    tool_run_add(argv, "-N");
    tool_run_add(argv, "1");
    tool_run_add(argv, "-R");
    tool_run_add(argv, "4");
    if (level.len) {
        tool_run_add(argv, "-L");
        tool_run_add(argv, power_op_z(w, level));
    }
    if (is_verbose)
        tool_run_add(argv, "-v");
    return true;
}

/* `words` with single spaces between. */
static void run(struct power_op *w, struct str words,
                void (*done)(struct power_op *w, const struct spawn_result *result))
{
    struct tool_run_argv argv = {.count = 0};
    if (!add_options(w, &argv, true))
        return;
    while (words.len)
        tool_run_add(&argv, power_op_z(w, hammer_next_word(&words)));
    tool_run_run(w, &argv, done);
}

/* ---- power ---- */

static bool read_power(struct power_op *w, const struct spawn_result *result, bool *out_is_on)
{
    const bool on = tool_run_says(result->out, "Chassis Power is on");
    const bool off = tool_run_says(result->out, "Chassis Power is off");
    *out_is_on = on;
    if (result->status == 0 && on != off)
        return true;
    if (result->status != 0)
        fail(w, result);
    else
        power_op_fail(w, HAMMER_END_BAD_ANSWER, "ipmitool does not say whether it is on: %.*s",
                      STR_FMT_ARGS(power_op_last_line(w, result->out)));
    return false;
}

static void end_with_power(struct power_op *w, bool is_on, const char *how)
{
    struct json *value = json_make(&w->arena, JSON_OBJECT);
    const char *word = is_on ? "on" : "off";
    json_set(value, STR("power"), json_make_string(&w->arena, str_from(word)));
    power_op_end(w, value, "node \"%.*s\" %s %s", STR_FMT_ARGS(w->order.node_name), how, word);
}

static bool wants_on(const struct power_op *w)
{
    return !is_method(w, "off") && !is_method(w, "halt");
}

static void look(struct power_op *w);

static void power_seen(struct power_op *w, const struct spawn_result *result)
{
    bool is_on;
    if (!read_power(w, result, &is_on))
        return;
    if (is_on == wants_on(w)) {
        end_with_power(w, is_on, "is");
        return;
    }
    const uint32_t ours = power_op_options(w)->poll_ms;
    power_op_seen(w, "it was asked to be %s and says it is %s", wants_on(w) ? "on" : "off",
                  is_on ? "on" : "off");
    power_op_pause(w, ours ? ours : POLL_MS, look);
}

static void look(struct power_op *w)
{
    run(w, STR("chassis power status"), power_seen);
}

static void switched(struct power_op *w, const struct spawn_result *result)
{
    const struct json *wait = json_get(w->args, STR("wait"));
    if (result->status != 0)
        fail(w, result);
    else if (wait && wait->kind == JSON_FALSE)
        end_with_power(w, wants_on(w), "was asked to be");
    else
        look(w);
}

/* Knowing how it is: what is so already is not asked for, and one that is off cannot be reset. */
static void first_seen(struct power_op *w, const struct spawn_result *result)
{
    bool is_on;
    if (!read_power(w, result, &is_on))
        return;
    const bool restarts = is_method(w, "cycle") || is_method(w, "reset");
    if (is_method(w, "status"))
        end_with_power(w, is_on, "is");
    else if (!restarts && is_on == wants_on(w))
        end_with_power(w, is_on, "is already");
    else if (is_method(w, "on") || !is_on)
        run(w, STR("chassis power on"), switched);
    else if (is_method(w, "halt"))
        run(w, STR("chassis power soft"), switched);
    else
        run(w, power_op_say(w, "chassis power %.*s", STR_FMT_ARGS(w->order.method)), switched);
}

/* ---- the rest ---- */

static void set(struct power_op *w, const struct spawn_result *result)
{
    if (result->status != 0)
        fail(w, result);
    else
        power_op_end(w, NULL, "node \"%.*s\": %.*s", STR_FMT_ARGS(w->order.node_name),
                     STR_FMT_ARGS(power_op_last_line(w, result->out)));
}

static void boot(struct power_op *w, const char *device, bool once)
{
    const bool efi = json_is_true(json_get(w->extra, STR("efi")));
    const char *options = once  ? (efi ? " options=efiboot" : "")
                          : efi ? " options=persistent,efiboot"
                                : " options=persistent";
    run(w, power_op_say(w, "chassis bootdev %s%s", device, options), set);
}

static void identify(struct power_op *w)
{
    const struct json *wish = json_get(w->args, STR("on"));
    int64_t seconds;
    if (!power_op_number(w, w->args, "seconds", SECONDS_MAX, &seconds))
        return;
    if (wish && wish->kind == JSON_FALSE)
        run(w, STR("chassis identify 0"), set);
    else
        run(w, power_op_say(w, "chassis identify %lld", seconds ? (long long)seconds : 15LL), set);
}

static void invoked(struct power_op *w, const struct spawn_result *result)
{
    power_op_end(w, power_op_output(w, result), "ipmitool ended with %d", result->status);
}

/* Any command of ipmitool; options are ours. */
static void invoke(struct power_op *w)
{
    const struct json *list = json_get(w->args, STR("argv"));
    struct tool_run_argv argv = {.count = 0};
    bool is_fine = list && list->kind == JSON_ARRAY && list->count > 0 && list->count <= 32;
    for (const struct json *item = is_fine ? list->first : NULL; item; item = item->next)
        is_fine = is_fine && item->kind == JSON_STRING && item->text.len && item->text.at[0] != '-';
    if (!is_fine) {
        power_op_fail(w, HAMMER_END_SETTING,
                      "\"argv\" must be a list of 1 to 32 words that are no options");
        return;
    }
    if (!add_options(w, &argv, false))
        return;
    for (const struct json *item = list->first; item; item = item->next)
        tool_run_add(&argv, power_op_z(w, item->text));
    tool_run_run(w, &argv, invoked);
}

static bool is_password(struct str s)
{
    return s.len <= PASSWORD_MAX && str_find(s, '\n', 0) == s.len;
}

static void start(struct power_op *w)
{
    if (!is_password(w->hammer.authenticator)) {
        power_op_fail(w, HAMMER_END_SETTING, "an IPMI password is one line of at most %d bytes",
                      PASSWORD_MAX);
        return;
    }
    if (!tool_run_write_secret(w, w->hammer.authenticator))
        return;
    if (w->order.category == HAMMER_BOOT)
        boot(w, is_method(w, "pxe") ? "pxe" : "disk", json_is_true(json_get(w->args, STR("once"))));
    else if (w->order.category == HAMMER_RUN)
        invoke(w);
    else if (is_method(w, "pxeboot"))
        boot(w, "pxe", true);
    else if (is_method(w, "identify"))
        identify(w);
    else
        run(w, STR("chassis power status"), first_seen);
}

const struct power_op_class ipmi_class = {.name = "ipmi", .start = start, .stop = tool_run_stop};
