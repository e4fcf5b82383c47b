/* ipmi.c - driver for service processors (BMCs) with IPMI, through ipmitool.
 *
 * The password is passed in a file. The cipher suite is 3 by default: without -C ipmitool first
 * requests the list of suites, which many BMCs do not answer. -v is needed because ipmitool prints
 * the cause of a failure only then.
 *
 * Every power action starts with a status: an action whose state is already reached is not sent,
 * and a machine that is off is switched on instead of being reset, which IPMI refuses. After the
 * action the status is polled until the state is reached or the deadline passes.
 *
 * This file has no state: tool_run.c owns the running ipmitool and the file with the password,
 * which must be written before the arguments are composed, since -f names it. A failure of ipmitool
 * is mapped by ipmi_errors to the end of the operation; no command is repeated here.
 */
#include <string.h>

#include "power/hammer/tool_run.h"

enum { POLL_MS = 2000, PORT_DEFAULT = 623, PASSWORD_MAX = 20, SECONDS_MAX = 255 };

static bool ipmi_is_method(const struct power_op *op, const char *name)
{
    return str_eq(op->order.method, str_from(name));
}

/* ---- errors ---- */

/* The first match counts: the last line of ipmitool is the same for every failure. */
static const struct tool_error ipmi_errors[] = {
    {"RAKP 2 HMAC is invalid", HAMMER_END_AUTH, "the password is not accepted"},
    {"unauthorized name", HAMMER_END_AUTH, "the user is not known"},
    {"unauthorized role", HAMMER_END_AUTH,
     "the user may not log in with that privilege level (extra.level)"},
    {"Insufficient privilege", HAMMER_END_AUTH, "the user may not do this"},
    {"invalid role", HAMMER_END_AUTH,
     "the user may not log in with that privilege level (extra.level)"},
    {"RAKP 2 message indicates an error", HAMMER_END_AUTH, "the login is refused"},
    {"RAKP 4 message", HAMMER_END_AUTH, "the login is refused"},
    {"Password is too long", HAMMER_END_SETTING, "the password is too long for IPMI"},
    {"invalid authentication algorithm", HAMMER_END_NOT_OFFERED,
     "it does not offer that cipher suite; extra.cipher sets another"},
    {"invalid integrity algorithm", HAMMER_END_NOT_OFFERED,
     "it does not offer that cipher suite; extra.cipher sets another"},
    {"no matching cipher suite", HAMMER_END_NOT_OFFERED,
     "it does not offer that cipher suite; extra.cipher sets another"},
    {"insufficient resources", HAMMER_END_BUSY, "it has no free session"},
    {"Node busy", HAMMER_END_BUSY, "it is busy"},
    {"Address lookup for", HAMMER_END_UNREACHABLE, "its name cannot be resolved"},
    {"failed: Invalid command", HAMMER_END_NOT_OFFERED, "it does not support that command"},
    {"Unable to establish", HAMMER_END_TIMEOUT, "it does not answer"},
    {"no response", HAMMER_END_TIMEOUT, "it does not answer"},
};

static void ipmi_fail(struct power_op *op, const struct spawn_result *result)
{
    const struct tool_error *error =
        tool_error_find(ipmi_errors, sizeof ipmi_errors / sizeof *ipmi_errors, result->err);
    if (error) {
        power_op_fail(op, error->end, "service processor %.*s: %s",
                      STR_FMT_ARGS(op->hammer.endpoint), error->text);
        return;
    }
    power_op_fail(op, HAMMER_END_FAILED, "ipmitool exited with status %d: %.*s", result->status,
                  STR_FMT_ARGS(power_op_last_line(op, result->err)));
}

/* ---- arguments ---- */

static bool ipmi_add_options(struct power_op *op, struct tool_run_argv *argv, bool is_verbose)
{
    struct power_op_address address;
    struct str interface;
    struct str level;
    int64_t cipher;
    if (!power_op_address(op, &address) || !power_op_text(op, op->extra, "interface", &interface) ||
        !power_op_text(op, op->extra, "level", &level) ||
        !power_op_number(op, op->extra, "cipher", 17, &cipher))
        return false;
    tool_run_add(argv, "ipmitool");
    tool_run_add(argv, "-I");
    tool_run_add(argv, str_eq(interface, STR("lan")) ? "lan" : "lanplus");
    tool_run_add(argv, "-H");
    tool_run_add(argv, power_op_z(op, address.host));
    tool_run_add(argv, "-p");
    tool_run_add(argv, power_op_z(op, power_op_format(op, "%lld",
                                                      address.port ? (long long)address.port
                                                                   : (long long)PORT_DEFAULT)));
    tool_run_add(argv, "-C");
    tool_run_add(argv,
                 power_op_z(op, power_op_format(op, "%lld", cipher ? (long long)cipher : 3LL)));
    tool_run_add(argv, "-U");
    tool_run_add(argv, power_op_z(op, op->hammer.username));
    tool_run_add(argv, "-f");
    tool_run_add(argv, tool_run_get(op)->secret);
    /* Each message has a timeout of 1 s and is sent again up to 4 times. */
    tool_run_add(argv, "-N");
    tool_run_add(argv, "1");
    tool_run_add(argv, "-R");
    tool_run_add(argv, "4");
    if (level.len) {
        tool_run_add(argv, "-L");
        tool_run_add(argv, power_op_z(op, level));
    }
    if (is_verbose)
        tool_run_add(argv, "-v");
    return true;
}

/* `words` are arguments, separated by single spaces. */
static void ipmi_run(struct power_op *op, struct str words,
                     void (*done)(struct power_op *op, const struct spawn_result *result))
{
    struct tool_run_argv argv = {.count = 0};
    if (!ipmi_add_options(op, &argv, true))
        return;
    while (words.len)
        tool_run_add(&argv, power_op_z(op, hammer_next_word(&words)));
    tool_run_start(op, &argv, done);
}

/* ---- power ---- */

static bool ipmi_parse_power(struct power_op *op, const struct spawn_result *result,
                             bool *out_is_on)
{
    const bool on = tool_output_contains(result->out, "Chassis Power is on");
    const bool off = tool_output_contains(result->out, "Chassis Power is off");
    *out_is_on = on;
    if (result->status == 0 && on != off)
        return true;
    if (result->status != 0)
        ipmi_fail(op, result);
    else
        power_op_fail(op, HAMMER_END_BAD_ANSWER, "ipmitool printed no power status: %.*s",
                      STR_FMT_ARGS(power_op_last_line(op, result->out)));
    return false;
}

static void ipmi_end_with_power(struct power_op *op, bool is_on, const char *how)
{
    struct json *value = json_make(&op->arena, JSON_OBJECT);
    const char *word = is_on ? "on" : "off";
    json_set(value, STR("power"), json_make_string(&op->arena, str_from(word)));
    power_op_end(op, value, "node \"%.*s\" %s %s", STR_FMT_ARGS(op->order.node_name), how, word);
}

static bool ipmi_wants_on(const struct power_op *op)
{
    return !ipmi_is_method(op, "off") && !ipmi_is_method(op, "halt");
}

static void ipmi_poll_power(struct power_op *op);

static void ipmi_on_power_polled(struct power_op *op, const struct spawn_result *result)
{
    bool is_on;
    if (!ipmi_parse_power(op, result, &is_on))
        return;
    if (is_on == ipmi_wants_on(op)) {
        ipmi_end_with_power(op, is_on, "is");
        return;
    }
    const uint32_t ours = power_op_options(op)->poll_ms;
    power_op_set_observation(op, "power %s was requested, the service processor reports %s",
                             ipmi_wants_on(op) ? "on" : "off", is_on ? "on" : "off");
    power_op_pause(op, ours ? ours : POLL_MS, ipmi_poll_power);
}

static void ipmi_poll_power(struct power_op *op)
{
    ipmi_run(op, STR("chassis power status"), ipmi_on_power_polled);
}

static void ipmi_on_switched(struct power_op *op, const struct spawn_result *result)
{
    const struct json *wait = json_get(op->args, STR("wait"));
    if (result->status != 0)
        ipmi_fail(op, result);
    else if (wait && wait->kind == JSON_FALSE)
        ipmi_end_with_power(op, ipmi_wants_on(op), "was ordered to be");
    else
        ipmi_poll_power(op);
}

/* The state before the action decides which command is sent. */
static void ipmi_on_initial_power(struct power_op *op, const struct spawn_result *result)
{
    bool is_on;
    if (!ipmi_parse_power(op, result, &is_on))
        return;
    const bool restarts = ipmi_is_method(op, "cycle") || ipmi_is_method(op, "reset");
    if (ipmi_is_method(op, "status"))
        ipmi_end_with_power(op, is_on, "is");
    else if (!restarts && is_on == ipmi_wants_on(op))
        ipmi_end_with_power(op, is_on, "is already");
    else if (ipmi_is_method(op, "on") || !is_on)
        ipmi_run(op, STR("chassis power on"), ipmi_on_switched);
    else if (ipmi_is_method(op, "halt"))
        ipmi_run(op, STR("chassis power soft"), ipmi_on_switched);
    else
        ipmi_run(op, power_op_format(op, "chassis power %.*s", STR_FMT_ARGS(op->order.method)),
                 ipmi_on_switched);
}

/* ---- boot device, LED and raw commands ---- */

static void ipmi_on_set(struct power_op *op, const struct spawn_result *result)
{
    if (result->status != 0)
        ipmi_fail(op, result);
    else
        power_op_end(op, NULL, "node \"%.*s\": %.*s", STR_FMT_ARGS(op->order.node_name),
                     STR_FMT_ARGS(power_op_last_line(op, result->out)));
}

static void ipmi_set_boot(struct power_op *op, const char *device, bool once)
{
    const bool efi = json_is_true(json_get(op->extra, STR("efi")));
    const char *options = once  ? (efi ? " options=efiboot" : "")
                          : efi ? " options=persistent,efiboot"
                                : " options=persistent";
    ipmi_run(op, power_op_format(op, "chassis bootdev %s%s", device, options), ipmi_on_set);
}

static void ipmi_identify(struct power_op *op)
{
    const struct json *on_arg = json_get(op->args, STR("on"));
    int64_t seconds;
    if (!power_op_number(op, op->args, "seconds", SECONDS_MAX, &seconds))
        return;
    if (on_arg && on_arg->kind == JSON_FALSE)
        ipmi_run(op, STR("chassis identify 0"), ipmi_on_set);
    else
        ipmi_run(op,
                 power_op_format(op, "chassis identify %lld", seconds ? (long long)seconds : 15LL),
                 ipmi_on_set);
}

static void ipmi_on_invoked(struct power_op *op, const struct spawn_result *result)
{
    power_op_end(op, power_op_output(op, result), "ipmitool exited with status %d", result->status);
}

/* Runs any command of ipmitool with our connection options. Arguments that start with a dash are
 * refused, so that a client cannot replace them. */
static void ipmi_invoke(struct power_op *op)
{
    const struct json *list = json_get(op->args, STR("argv"));
    struct tool_run_argv argv = {.count = 0};
    bool is_fine = list && list->kind == JSON_ARRAY && list->count > 0 && list->count <= 32;
    for (const struct json *item = is_fine ? list->first : NULL; item; item = item->next)
        is_fine = is_fine && item->kind == JSON_STRING && item->text.len && item->text.at[0] != '-';
    if (!is_fine) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "\"argv\" must be a list of 1 to 32 words that do not start with a dash");
        return;
    }
    if (!ipmi_add_options(op, &argv, false))
        return;
    for (const struct json *item = list->first; item; item = item->next)
        tool_run_add(&argv, power_op_z(op, item->text));
    tool_run_start(op, &argv, ipmi_on_invoked);
}

static void ipmi_start(struct power_op *op)
{
    const struct str password = op->hammer.authenticator;
    if (password.len > PASSWORD_MAX || str_find(password, '\n', 0) < password.len) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "the password of an IPMI hammer must be one line of at most %d bytes",
                      PASSWORD_MAX);
        return;
    }
    if (!tool_run_write_secret(op, password))
        return;
    if (op->order.category == HAMMER_BOOT)
        ipmi_set_boot(op, ipmi_is_method(op, "pxe") ? "pxe" : "disk",
                      json_is_true(json_get(op->args, STR("once"))));
    else if (op->order.category == HAMMER_RUN)
        ipmi_invoke(op);
    else if (ipmi_is_method(op, "pxeboot"))
        ipmi_set_boot(op, "pxe", true);
    else if (ipmi_is_method(op, "identify"))
        ipmi_identify(op);
    else
        ipmi_run(op, STR("chassis power status"), ipmi_on_initial_power);
}

const struct power_op_class ipmi_class = {
    .name = "ipmi", .start = ipmi_start, .stop = tool_run_stop};
