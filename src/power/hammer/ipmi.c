/* ipmi.c - service processors that speak IPMI, through ipmitool.
 *
 * The password goes by a file. -C 3 by default: without a cipher suite ipmitool first asks which
 * there are, and many do not answer that. What went wrong stands in what it says with -v only.
 */
#include <string.h>

#include "power/hammer/tool_run.h"

enum { POLL_MS = 2000, PORT_DEFAULT = 623, PASSWORD_MAX = 20, SECONDS_MAX = 255 };

static bool is_method(const struct work *w, const char *name)
{
    return str_eq(w->order.method, str_from(name));
}

/* ---- what went wrong ---- */

/* The first that is found tells: ipmitool ends with the same general line whatever it was. */
static const struct program_trouble troubles[] = {
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

static void fail(struct work *w, const struct command_result *result)
{
    const struct program_trouble *trouble =
        program_trouble_find(troubles, sizeof troubles / sizeof *troubles, result->err);
    if (trouble) {
        work_fail(w, trouble->end, "the service processor %.*s: %s",
                  STR_FMT_ARGS(w->hammer.endpoint), trouble->text);
        return;
    }
    work_fail(w, HAMMER_END_FAILED, "ipmitool ended with %d: %.*s", result->status,
              STR_FMT_ARGS(work_last_line(w, result->err)));
}

/* ---- the command line ---- */

static bool add_options(struct work *w, struct program_argv *argv, bool is_verbose)
{
    struct work_address address;
    struct str interface;
    struct str level;
    int64_t cipher;
    if (!work_address(w, &address) || !work_text(w, w->extra, "interface", &interface) ||
        !work_text(w, w->extra, "level", &level) ||
        !work_number(w, w->extra, "cipher", 17, &cipher))
        return false;
    program_add(argv, "ipmitool");
    program_add(argv, "-I");
    program_add(argv, str_eq(interface, STR("lan")) ? "lan" : "lanplus");
    program_add(argv, "-H");
    program_add(argv, work_z(w, address.host));
    program_add(argv, "-p");
    program_add(argv, work_z(w, work_say(w, "%lld",
                                         address.port ? (long long)address.port
                                                      : (long long)PORT_DEFAULT)));
    program_add(argv, "-C");
    program_add(argv, work_z(w, work_say(w, "%lld", cipher ? (long long)cipher : 3LL)));
    program_add(argv, "-U");
    program_add(argv, work_z(w, w->hammer.username));
    program_add(argv, "-f");
    program_add(argv, program_of(w)->secret);
    program_add(argv, "-N");
    program_add(argv, "1");
    program_add(argv, "-R");
    program_add(argv, "4");
    if (level.len) {
        program_add(argv, "-L");
        program_add(argv, work_z(w, level));
    }
    if (is_verbose)
        program_add(argv, "-v");
    return true;
}

/* `words` with single spaces between. */
static void run(struct work *w, struct str words,
                void (*done)(struct work *w, const struct command_result *result))
{
    struct program_argv argv = {.count = 0};
    if (!add_options(w, &argv, true))
        return;
    while (words.len)
        program_add(&argv, work_z(w, hammer_next_word(&words)));
    program_run(w, &argv, done);
}

/* ---- power ---- */

static bool read_power(struct work *w, const struct command_result *result, bool *out_is_on)
{
    const bool on = program_says(result->out, "Chassis Power is on");
    const bool off = program_says(result->out, "Chassis Power is off");
    *out_is_on = on;
    if (result->status == 0 && on != off)
        return true;
    if (result->status != 0)
        fail(w, result);
    else
        work_fail(w, HAMMER_END_BAD_ANSWER, "ipmitool does not say whether it is on: %.*s",
                  STR_FMT_ARGS(work_last_line(w, result->out)));
    return false;
}

static void end_with_power(struct work *w, bool is_on, const char *how)
{
    struct json *value = json_make(&w->arena, JSON_OBJECT);
    const char *word = is_on ? "on" : "off";
    json_set(value, STR("power"), json_make_string(&w->arena, str_from(word)));
    work_end(w, value, "node \"%.*s\" %s %s", STR_FMT_ARGS(w->order.node_name), how, word);
}

static bool wants_on(const struct work *w)
{
    return !is_method(w, "off") && !is_method(w, "halt");
}

static void look(struct work *w);

static void power_seen(struct work *w, const struct command_result *result)
{
    bool is_on;
    if (!read_power(w, result, &is_on))
        return;
    if (is_on == wants_on(w)) {
        end_with_power(w, is_on, "is");
        return;
    }
    const uint32_t ours = work_options(w)->poll_ms;
    work_seen(w, "it was asked to be %s and says it is %s", wants_on(w) ? "on" : "off",
              is_on ? "on" : "off");
    work_pause(w, ours ? ours : POLL_MS, look);
}

static void look(struct work *w)
{
    run(w, STR("chassis power status"), power_seen);
}

static void switched(struct work *w, const struct command_result *result)
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
static void first_seen(struct work *w, const struct command_result *result)
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
        run(w, work_say(w, "chassis power %.*s", STR_FMT_ARGS(w->order.method)), switched);
}

/* ---- the rest ---- */

static void set(struct work *w, const struct command_result *result)
{
    if (result->status != 0)
        fail(w, result);
    else
        work_end(w, NULL, "node \"%.*s\": %.*s", STR_FMT_ARGS(w->order.node_name),
                 STR_FMT_ARGS(work_last_line(w, result->out)));
}

static void boot(struct work *w, const char *device, bool once)
{
    const bool efi = json_is_true(json_get(w->extra, STR("efi")));
    const char *options = once  ? (efi ? " options=efiboot" : "")
                          : efi ? " options=persistent,efiboot"
                                : " options=persistent";
    run(w, work_say(w, "chassis bootdev %s%s", device, options), set);
}

static void identify(struct work *w)
{
    const struct json *wish = json_get(w->args, STR("on"));
    int64_t seconds;
    if (!work_number(w, w->args, "seconds", SECONDS_MAX, &seconds))
        return;
    if (wish && wish->kind == JSON_FALSE)
        run(w, STR("chassis identify 0"), set);
    else
        run(w, work_say(w, "chassis identify %lld", seconds ? (long long)seconds : 15LL), set);
}

static void invoked(struct work *w, const struct command_result *result)
{
    work_end(w, work_output(w, result), "ipmitool ended with %d", result->status);
}

/* Any command of ipmitool; options are ours. */
static void invoke(struct work *w)
{
    const struct json *list = json_get(w->args, STR("argv"));
    struct program_argv argv = {.count = 0};
    bool is_fine = list && list->kind == JSON_ARRAY && list->count > 0 && list->count <= 32;
    for (const struct json *item = is_fine ? list->first : NULL; item; item = item->next)
        is_fine = is_fine && item->kind == JSON_STRING && item->text.len && item->text.at[0] != '-';
    if (!is_fine) {
        work_fail(w, HAMMER_END_SETTING,
                  "\"argv\" must be a list of 1 to 32 words that are no options");
        return;
    }
    if (!add_options(w, &argv, false))
        return;
    for (const struct json *item = list->first; item; item = item->next)
        program_add(&argv, work_z(w, item->text));
    program_run(w, &argv, invoked);
}

static bool is_password(struct str s)
{
    return s.len <= PASSWORD_MAX && str_find(s, '\n', 0) == s.len;
}

static void start(struct work *w)
{
    if (!is_password(w->hammer.authenticator)) {
        work_fail(w, HAMMER_END_SETTING, "an IPMI password is one line of at most %d bytes",
                  PASSWORD_MAX);
        return;
    }
    if (!program_write_secret(w, w->hammer.authenticator))
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

const struct work_class ipmi_class = {.name = "ipmi", .start = start, .stop = program_stop};
