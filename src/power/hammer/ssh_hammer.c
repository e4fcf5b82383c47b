/* ssh_hammer.c - machines that run, reached by OpenSSH.
 *
 * Never asks anybody anything. The host key must be extra.host_key, which the daemon fills in from
 * the pins of the node; without it no host is accepted. The key is the hammer's own or the one of
 * the installation.
 */
#include "power/hammer/secret_files.h"
#include "power/hammer/tool_run.h"

enum { FAILED_STATUS = 255 };

struct ssh {
    struct tool_run program; /* first: tool_run.c finds itself there */
    struct power_op_address address;
    const char *pinned; /* a file of known hosts of our own; NULL: none */
};

static const struct tool_run_trouble troubles[] = {
    {"HOST IDENTIFICATION HAS CHANGED", HAMMER_END_TLS,
     "its host key is not the one it had before; if that is right, forget the old one"},
    {"Host key verification failed", HAMMER_END_TLS, "its host key is not known"},
    {"key is known for", HAMMER_END_TLS, "its host key is not known"},
    {"Permission denied", HAMMER_END_AUTH, "the key is not accepted"},
    {"Too many authentication failures", HAMMER_END_AUTH, "the key is not accepted"},
    {"Connection refused", HAMMER_END_REFUSED, "nobody listens there"},
    {"Could not resolve hostname", HAMMER_END_UNREACHABLE, "its name is not known"},
    {"No route to host", HAMMER_END_UNREACHABLE, "there is no way there"},
    {"Network is unreachable", HAMMER_END_UNREACHABLE, "there is no way there"},
    {"timed out", HAMMER_END_TIMEOUT, "it does not answer"},
    {"Connection closed", HAMMER_END_LOST, "the connection was closed"},
    {"closed by remote host", HAMMER_END_LOST, "the connection was closed"},
    {"Connection reset", HAMMER_END_LOST, "the connection broke"},
    {"Broken pipe", HAMMER_END_LOST, "the connection broke"},
    {"invalid format", HAMMER_END_SETTING, "the key of the hammer is no private key"},
    {"error in libcrypto", HAMMER_END_SETTING, "the key of the hammer is no private key"},
};

static void fail(struct power_op *w, const char *program, const struct spawn_result *result)
{
    const struct tool_run_trouble *trouble =
        tool_run_trouble_find(troubles, sizeof troubles / sizeof *troubles, result->err);
    if (trouble) {
        power_op_fail(w, trouble->end, "%s to %.*s: %s", program, STR_FMT_ARGS(w->hammer.endpoint),
                      trouble->text);
        return;
    }
    power_op_fail(w, HAMMER_END_FAILED, "%s to %.*s ended with %d: %.*s", program,
                  STR_FMT_ARGS(w->hammer.endpoint), result->status,
                  STR_FMT_ARGS(power_op_last_line(w, result->err)));
}

/* ---- the command line ---- */

static void add_option(struct power_op *w, struct tool_run_argv *argv, const char *name,
                       const char *value)
{
    tool_run_add(argv, "-o");
    tool_run_add(argv, power_op_z(w, power_op_say(w, "%s=%s", name, value)));
}

static void add_host_key(struct power_op *w, struct tool_run_argv *argv)
{
    const struct ssh *s = w->job;
    const char *known = s->pinned ? s->pinned : "/dev/null";
    /* quoted: a path may hold spaces */
    add_option(w, argv, "UserKnownHostsFile", power_op_z(w, power_op_say(w, "\"%s\"", known)));
    add_option(w, argv, "GlobalKnownHostsFile", "/dev/null");
    add_option(w, argv, "StrictHostKeyChecking", "yes");
    add_option(w, argv, "UpdateHostKeys", "no");
    if (s->pinned)
        add_option(w, argv, "HostKeyAlias", "pinned");
}

static void add_options(struct power_op *w, struct tool_run_argv *argv, const char *program)
{
    const struct ssh *s = w->job;
    const int64_t left_s = power_op_left_ms(w) / 1000;
    const char *key = s->program.secret ? s->program.secret : power_op_options(w)->ssh_key;
    tool_run_add(argv, program);
    tool_run_add(argv, "-F");
    tool_run_add(argv, "none");
    add_option(w, argv, "BatchMode", "yes");
    add_option(w, argv, "LogLevel", "ERROR");
    add_option(w, argv, "ConnectTimeout",
               power_op_z(w, power_op_say(w, "%lld", left_s > 0 ? (long long)left_s : 1LL)));
    add_option(w, argv, "ServerAliveInterval", "15");
    add_option(w, argv, "PasswordAuthentication", "no");
    add_option(w, argv, "ForwardAgent", "no");
    add_option(w, argv, "Port",
               power_op_z(w, power_op_say(w, "%lld",
                                          s->address.port ? (long long)s->address.port : 22LL)));
    add_option(w, argv, "User", power_op_z(w, w->hammer.username));
    add_host_key(w, argv);
    if (key) {
        add_option(w, argv, "IdentitiesOnly", "yes");
        add_option(w, argv, "IdentityFile", power_op_z(w, power_op_say(w, "\"%s\"", key)));
    }
}

/* ---- run ---- */

static void ran(struct power_op *w, const struct spawn_result *result)
{
    if (result->status == FAILED_STATUS)
        fail(w, "ssh", result);
    else
        power_op_end(w, power_op_output(w, result), "the command ended with %d", result->status);
}

static void rebooted(struct power_op *w, const struct spawn_result *result)
{
    /* A machine that goes down while it answers has done what it was asked for. */
    const bool hung_up =
        result->status == FAILED_STATUS && (tool_run_says(result->err, "closed by remote host") ||
                                            tool_run_says(result->err, "Connection reset"));
    if (result->status == 0 || hung_up)
        power_op_end(w, NULL, "node \"%.*s\" restarts", STR_FMT_ARGS(w->order.node_name));
    else
        fail(w, "ssh", result);
}

/* Whatever the command ended with, a machine that ran it is on. */
static void answered(struct power_op *w, const struct spawn_result *result)
{
    if (result->status == FAILED_STATUS) {
        fail(w, "ssh", result);
        return;
    }
    struct json *value = json_make(&w->arena, JSON_OBJECT);
    json_set(value, STR("power"), json_make_string(&w->arena, STR("on")));
    power_op_end(w, value, "node \"%.*s\" is on: it answers by ssh",
                 STR_FMT_ARGS(w->order.node_name));
}

static void run(struct power_op *w, struct str command,
                void (*done)(struct power_op *w, const struct spawn_result *result))
{
    struct tool_run_argv argv = {.count = 0};
    const struct ssh *s = w->job;
    add_options(w, &argv, "ssh");
    tool_run_add(&argv, "-T");
    tool_run_add(&argv, "-n");
    tool_run_add(&argv, "--");
    tool_run_add(&argv, power_op_z(w, s->address.host));
    tool_run_add(&argv, power_op_z(w, command));
    tool_run_run(w, &argv, done);
}

/* ---- copy ---- */

static void copied(struct power_op *w, const struct spawn_result *result)
{
    if (result->status != 0)
        fail(w, "scp", result);
    else
        power_op_end(w, NULL, "the file is copied");
}

static void copy(struct power_op *w, bool to_it)
{
    struct tool_run_argv argv = {.count = 0};
    const struct ssh *s = w->job;
    struct str from;
    struct str to;
    if (!power_op_text(w, w->args, "from", &from) || !power_op_text(w, w->args, "to", &to))
        return;
    if (from.len == 0 || to.len == 0 || (to_it ? from : to).at[0] != '/') {
        power_op_fail(
            w, HAMMER_END_SETTING,
            "\"from\" and \"to\" are required, and the one on this side begins with a slash");
        return;
    }
    const struct str there = to_it ? to : from;
    const struct str remote = power_op_say(w, s->address.is_v6 ? "[%.*s]:%.*s" : "%.*s:%.*s",
                                           STR_FMT_ARGS(s->address.host), STR_FMT_ARGS(there));
    add_options(w, &argv, "scp");
    tool_run_add(&argv, "-q");
    tool_run_add(&argv, "--");
    tool_run_add(&argv, power_op_z(w, to_it ? from : remote));
    tool_run_add(&argv, power_op_z(w, to_it ? remote : to));
    tool_run_run(w, &argv, copied);
}

/* ---- from start to stop ---- */

static bool write_key(struct power_op *w)
{
    const struct str key = w->hammer.authenticator;
    if (key.len == 0)
        return true;
    if (!str_starts(key, STR("-----BEGIN "))) {
        power_op_fail(w, HAMMER_END_SETTING, "the key of the hammer is no private key");
        return false;
    }
    /* OpenSSH wants the line end that a form may have cut off. */
    const bool has_end = key.at[key.len - 1] == '\n';
    const struct str whole = has_end ? key : STR_CONCAT(&w->arena, key, STR("\n"));
    const bool is_written = tool_run_write_secret(w, whole);
    if (!has_end)
        power_op_wipe(whole);
    return is_written;
}

static bool pin_host(struct power_op *w)
{
    struct ssh *s = w->job;
    struct str host_key;
    if (!power_op_text(w, w->extra, "host_key", &host_key))
        return false;
    if (host_key.len == 0)
        return true;
    if (str_find(host_key, '\n', 0) < host_key.len) {
        power_op_fail(w, HAMMER_END_SETTING, "\"host_key\" must be one line: TYPE KEY");
        return false;
    }
    s->pinned = secret_file_write(&w->arena, power_op_options(w)->scratch,
                                  STR_CONCAT(&w->arena, STR("pinned "), host_key, STR("\n")));
    if (!s->pinned)
        power_op_fail(w, HAMMER_END_FAILED, "no file could be written in \"%s\"",
                      power_op_options(w)->scratch);
    return s->pinned != NULL;
}

static void start(struct power_op *w)
{
    struct ssh *s = arena_new(&w->arena, struct ssh);
    struct str command;
    s->program.work = w;
    w->job = s;
    if (!power_op_address(w, &s->address) || !write_key(w) || !pin_host(w) ||
        !power_op_text(w, w->args, "command", &command))
        return;
    if (w->order.category == HAMMER_POWER && str_eq(w->order.method, STR("status")))
        run(w, STR("true"), answered);
    else if (w->order.category == HAMMER_POWER)
        run(w, STR("(sleep 1; reboot) </dev/null >/dev/null 2>&1 &"), rebooted);
    else if (w->order.category == HAMMER_XFER)
        copy(w, str_eq(w->order.method, STR("copy_to")));
    else if (command.len == 0)
        power_op_fail(w, HAMMER_END_SETTING, "\"command\" is required");
    else
        run(w, command, ran);
}

static void stop(struct power_op *w)
{
    const struct ssh *s = w->job;
    tool_run_stop(w);
    secret_file_remove(s->pinned);
}

const struct power_op_class ssh_class = {.name = "ssh", .start = start, .stop = stop};
