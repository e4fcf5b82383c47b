/* ssh_hammer.c - machines that run, reached by OpenSSH.
 *
 * Never asks anybody anything. The host key must be extra.host_key, which the daemon fills in from
 * the pins of the node; without it no host is accepted. The key is the hammer's own or the one of
 * the installation.
 */
#include "power/hammer/tool_run.h"
#include "power/hammer/secret_files.h"

enum { FAILED_STATUS = 255 };

struct ssh {
    struct program program; /* first: tool_run.c finds itself there */
    struct work_address address;
    const char *pinned; /* a file of known hosts of our own; NULL: none */
};

static const struct program_trouble troubles[] = {
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

static void fail(struct work *w, const char *program, const struct command_result *result)
{
    const struct program_trouble *trouble =
        program_trouble_find(troubles, sizeof troubles / sizeof *troubles, result->err);
    if (trouble) {
        work_fail(w, trouble->end, "%s to %.*s: %s", program, STR_FMT_ARGS(w->hammer.endpoint),
                  trouble->text);
        return;
    }
    work_fail(w, HAMMER_END_FAILED, "%s to %.*s ended with %d: %.*s", program,
              STR_FMT_ARGS(w->hammer.endpoint), result->status,
              STR_FMT_ARGS(work_last_line(w, result->err)));
}

/* ---- the command line ---- */

static void add_option(struct work *w, struct program_argv *argv, const char *name,
                       const char *value)
{
    program_add(argv, "-o");
    program_add(argv, work_z(w, work_say(w, "%s=%s", name, value)));
}

static void add_host_key(struct work *w, struct program_argv *argv)
{
    const struct ssh *s = w->job;
    const char *known = s->pinned ? s->pinned : "/dev/null";
    /* quoted: a path may hold spaces */
    add_option(w, argv, "UserKnownHostsFile", work_z(w, work_say(w, "\"%s\"", known)));
    add_option(w, argv, "GlobalKnownHostsFile", "/dev/null");
    add_option(w, argv, "StrictHostKeyChecking", "yes");
    add_option(w, argv, "UpdateHostKeys", "no");
    if (s->pinned)
        add_option(w, argv, "HostKeyAlias", "pinned");
}

static void add_options(struct work *w, struct program_argv *argv, const char *program)
{
    const struct ssh *s = w->job;
    const int64_t left_s = work_left_ms(w) / 1000;
    const char *key = s->program.secret ? s->program.secret : work_options(w)->ssh_key;
    program_add(argv, program);
    program_add(argv, "-F");
    program_add(argv, "none");
    add_option(w, argv, "BatchMode", "yes");
    add_option(w, argv, "LogLevel", "ERROR");
    add_option(w, argv, "ConnectTimeout",
               work_z(w, work_say(w, "%lld", left_s > 0 ? (long long)left_s : 1LL)));
    add_option(w, argv, "ServerAliveInterval", "15");
    add_option(w, argv, "PasswordAuthentication", "no");
    add_option(w, argv, "ForwardAgent", "no");
    add_option(w, argv, "Port",
               work_z(w, work_say(w, "%lld", s->address.port ? (long long)s->address.port : 22LL)));
    add_option(w, argv, "User", work_z(w, w->hammer.username));
    add_host_key(w, argv);
    if (key) {
        add_option(w, argv, "IdentitiesOnly", "yes");
        add_option(w, argv, "IdentityFile", work_z(w, work_say(w, "\"%s\"", key)));
    }
}

/* ---- run ---- */

static void ran(struct work *w, const struct command_result *result)
{
    if (result->status == FAILED_STATUS)
        fail(w, "ssh", result);
    else
        work_end(w, work_output(w, result), "the command ended with %d", result->status);
}

static void rebooted(struct work *w, const struct command_result *result)
{
    /* A machine that goes down while it answers has done what it was asked for. */
    const bool hung_up =
        result->status == FAILED_STATUS && (program_says(result->err, "closed by remote host") ||
                                            program_says(result->err, "Connection reset"));
    if (result->status == 0 || hung_up)
        work_end(w, NULL, "node \"%.*s\" restarts", STR_FMT_ARGS(w->order.node_name));
    else
        fail(w, "ssh", result);
}

/* Whatever the command ended with, a machine that ran it is on. */
static void answered(struct work *w, const struct command_result *result)
{
    if (result->status == FAILED_STATUS) {
        fail(w, "ssh", result);
        return;
    }
    struct json *value = json_make(&w->arena, JSON_OBJECT);
    json_set(value, STR("power"), json_make_string(&w->arena, STR("on")));
    work_end(w, value, "node \"%.*s\" is on: it answers by ssh", STR_FMT_ARGS(w->order.node_name));
}

static void run(struct work *w, struct str command,
                void (*done)(struct work *w, const struct command_result *result))
{
    struct program_argv argv = {.count = 0};
    const struct ssh *s = w->job;
    add_options(w, &argv, "ssh");
    program_add(&argv, "-T");
    program_add(&argv, "-n");
    program_add(&argv, "--");
    program_add(&argv, work_z(w, s->address.host));
    program_add(&argv, work_z(w, command));
    program_run(w, &argv, done);
}

/* ---- copy ---- */

static void copied(struct work *w, const struct command_result *result)
{
    if (result->status != 0)
        fail(w, "scp", result);
    else
        work_end(w, NULL, "the file is copied");
}

static void copy(struct work *w, bool to_it)
{
    struct program_argv argv = {.count = 0};
    const struct ssh *s = w->job;
    struct str from;
    struct str to;
    if (!work_text(w, w->args, "from", &from) || !work_text(w, w->args, "to", &to))
        return;
    if (from.len == 0 || to.len == 0 || (to_it ? from : to).at[0] != '/') {
        work_fail(w, HAMMER_END_SETTING,
                  "\"from\" and \"to\" are required, and the one on this side begins with a slash");
        return;
    }
    const struct str there = to_it ? to : from;
    const struct str remote = work_say(w, s->address.is_v6 ? "[%.*s]:%.*s" : "%.*s:%.*s",
                                       STR_FMT_ARGS(s->address.host), STR_FMT_ARGS(there));
    add_options(w, &argv, "scp");
    program_add(&argv, "-q");
    program_add(&argv, "--");
    program_add(&argv, work_z(w, to_it ? from : remote));
    program_add(&argv, work_z(w, to_it ? remote : to));
    program_run(w, &argv, copied);
}

/* ---- from start to stop ---- */

static bool write_key(struct work *w)
{
    const struct str key = w->hammer.authenticator;
    if (key.len == 0)
        return true;
    if (!str_starts(key, STR("-----BEGIN "))) {
        work_fail(w, HAMMER_END_SETTING, "the key of the hammer is no private key");
        return false;
    }
    /* OpenSSH wants the line end that a form may have cut off. */
    const bool has_end = key.at[key.len - 1] == '\n';
    const struct str whole = has_end ? key : str_join2(&w->arena, key, STR("\n"));
    const bool is_written = program_write_secret(w, whole);
    if (!has_end)
        work_wipe(whole);
    return is_written;
}

static bool pin_host(struct work *w)
{
    struct ssh *s = w->job;
    struct str host_key;
    if (!work_text(w, w->extra, "host_key", &host_key))
        return false;
    if (host_key.len == 0)
        return true;
    if (str_find(host_key, '\n', 0) < host_key.len) {
        work_fail(w, HAMMER_END_SETTING, "\"host_key\" must be one line: TYPE KEY");
        return false;
    }
    s->pinned = scratch_write(&w->arena, work_options(w)->scratch,
                              str_join3(&w->arena, STR("pinned "), host_key, STR("\n")));
    if (!s->pinned)
        work_fail(w, HAMMER_END_FAILED, "no file could be written in \"%s\"",
                  work_options(w)->scratch);
    return s->pinned != NULL;
}

static void start(struct work *w)
{
    struct ssh *s = arena_new(&w->arena, struct ssh);
    struct str command;
    s->program.work = w;
    w->job = s;
    if (!work_address(w, &s->address) || !write_key(w) || !pin_host(w) ||
        !work_text(w, w->args, "command", &command))
        return;
    if (w->order.category == HAMMER_POWER && str_eq(w->order.method, STR("status")))
        run(w, STR("true"), answered);
    else if (w->order.category == HAMMER_POWER)
        run(w, STR("(sleep 1; reboot) </dev/null >/dev/null 2>&1 &"), rebooted);
    else if (w->order.category == HAMMER_XFER)
        copy(w, str_eq(w->order.method, STR("copy_to")));
    else if (command.len == 0)
        work_fail(w, HAMMER_END_SETTING, "\"command\" is required");
    else
        run(w, command, ran);
}

static void stop(struct work *w)
{
    const struct ssh *s = w->job;
    program_stop(w);
    scratch_remove(s->pinned);
}

const struct work_class ssh_class = {.name = "ssh", .start = start, .stop = stop};
