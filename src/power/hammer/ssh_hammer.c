/* ssh_hammer.c - driver for running machines, through OpenSSH: reboot, power status, commands and
 * file copies.
 *
 * ssh runs without any prompt (BatchMode) and without the configuration files of the host. The host
 * key must be extra.host_key, which the daemon fills in from the pins of the node; without it no
 * host is accepted. The private key is the authenticator of the hammer, otherwise the key of the
 * installation. A key of the hammer and the host key are written to files that are deleted when the
 * operation ends.
 *
 * op->job is set before the first setting is checked, because ssh_stop() deletes the files through
 * it, also if ssh_start() fails. A wrong setting ends the operation before ssh is started; an error
 * of ssh is mapped by ssh_errors to the end of the operation. Nothing is repeated here.
 */
#include "power/hammer/secret_files.h"
#include "power/hammer/tool_run.h"

/* Exit status of ssh for its own errors; others are those of the remote command. */
enum { FAILED_STATUS = 255 };

struct ssh {
    struct tool_run program; /* must be first: tool_run.c casts op->job */
    struct power_op_address address;
    const char *pinned; /* path of a known_hosts file with extra.host_key; NULL: none */
};

static const struct tool_error ssh_errors[] = {
    {"HOST IDENTIFICATION HAS CHANGED", HAMMER_END_TLS,
     "its host key is not the one it had before; if that is correct, forget the old one"},
    {"Host key verification failed", HAMMER_END_TLS, "its host key is not known"},
    {"key is known for", HAMMER_END_TLS, "its host key is not known"},
    {"Permission denied", HAMMER_END_AUTH, "the key is not accepted"},
    {"Too many authentication failures", HAMMER_END_AUTH, "the key is not accepted"},
    {"Connection refused", HAMMER_END_REFUSED, "nothing listens there (connection refused)"},
    {"Could not resolve hostname", HAMMER_END_UNREACHABLE, "its name cannot be resolved"},
    {"No route to host", HAMMER_END_UNREACHABLE, "no route to the host"},
    {"Network is unreachable", HAMMER_END_UNREACHABLE, "no route to the host"},
    {"timed out", HAMMER_END_TIMEOUT, "it does not answer"},
    {"Connection closed", HAMMER_END_LOST, "the connection was closed"},
    {"closed by remote host", HAMMER_END_LOST, "the connection was closed"},
    {"Connection reset", HAMMER_END_LOST, "the connection broke"},
    {"Broken pipe", HAMMER_END_LOST, "the connection broke"},
    {"invalid format", HAMMER_END_SETTING, "the key of the hammer is no private key"},
    {"error in libcrypto", HAMMER_END_SETTING, "the key of the hammer is no private key"},
};

static void ssh_hammer_fail(struct power_op *op, const char *program,
                            const struct spawn_result *result)
{
    const struct tool_error *error =
        tool_error_find(ssh_errors, sizeof ssh_errors / sizeof *ssh_errors, result->err);
    if (error) {
        power_op_fail(op, error->end, "%s to %.*s: %s", program, STR_FMT_ARGS(op->hammer.endpoint),
                      error->text);
        return;
    }
    power_op_fail(op, HAMMER_END_FAILED, "%s to %.*s exited with status %d: %.*s", program,
                  STR_FMT_ARGS(op->hammer.endpoint), result->status,
                  STR_FMT_ARGS(power_op_last_line(op, result->err)));
}

/* ---- arguments ---- */

static void ssh_add_option(struct power_op *op, struct tool_run_argv *argv, const char *name,
                           const char *value)
{
    tool_run_add(argv, "-o");
    tool_run_add(argv, power_op_z(op, power_op_format(op, "%s=%s", name, value)));
}

static void ssh_add_host_key(struct power_op *op, struct tool_run_argv *argv)
{
    const struct ssh *s = op->job;
    const char *known = s->pinned ? s->pinned : "/dev/null";
    /* Quoted, because the path may contain spaces. */
    ssh_add_option(op, argv, "UserKnownHostsFile",
                   power_op_z(op, power_op_format(op, "\"%s\"", known)));
    ssh_add_option(op, argv, "GlobalKnownHostsFile", "/dev/null");
    ssh_add_option(op, argv, "StrictHostKeyChecking", "yes");
    ssh_add_option(op, argv, "UpdateHostKeys", "no");
    if (s->pinned)
        ssh_add_option(op, argv, "HostKeyAlias", "pinned");
}

static void ssh_add_options(struct power_op *op, struct tool_run_argv *argv, const char *program)
{
    const struct ssh *s = op->job;
    const int64_t left_s = power_op_left_ms(op) / 1000;
    const char *key = s->program.secret ? s->program.secret : power_op_options(op)->ssh_key;
    tool_run_add(argv, program);
    tool_run_add(argv, "-F");
    tool_run_add(argv, "none");
    ssh_add_option(op, argv, "BatchMode", "yes");
    ssh_add_option(op, argv, "LogLevel", "ERROR");
    ssh_add_option(
        op, argv, "ConnectTimeout",
        power_op_z(op, power_op_format(op, "%lld", left_s > 0 ? (long long)left_s : 1LL)));
    ssh_add_option(op, argv, "ServerAliveInterval", "15");
    ssh_add_option(op, argv, "PasswordAuthentication", "no");
    ssh_add_option(op, argv, "ForwardAgent", "no");
    ssh_add_option(
        op, argv, "Port",
        power_op_z(
            op, power_op_format(op, "%lld", s->address.port ? (long long)s->address.port : 22LL)));
    ssh_add_option(op, argv, "User", power_op_z(op, op->hammer.username));
    ssh_add_host_key(op, argv);
    if (key) {
        ssh_add_option(op, argv, "IdentitiesOnly", "yes");
        ssh_add_option(op, argv, "IdentityFile",
                       power_op_z(op, power_op_format(op, "\"%s\"", key)));
    }
}

/* ---- run ---- */

static void ssh_on_command_exit(struct power_op *op, const struct spawn_result *result)
{
    if (result->status == FAILED_STATUS)
        ssh_hammer_fail(op, "ssh", result);
    else
        power_op_end(op, power_op_output(op, result), "the command exited with status %d",
                     result->status);
}

static void ssh_on_reboot_exit(struct power_op *op, const struct spawn_result *result)
{
    /* A machine that closes the connection while it shuts down has accepted the reboot. */
    const bool was_disconnected = result->status == FAILED_STATUS &&
                                  (tool_output_contains(result->err, "closed by remote host") ||
                                   tool_output_contains(result->err, "Connection reset"));
    if (result->status == 0 || was_disconnected)
        power_op_end(op, NULL, "node \"%.*s\" restarts", STR_FMT_ARGS(op->order.node_name));
    else
        ssh_hammer_fail(op, "ssh", result);
}

/* A machine that ran the command is on, whatever the exit status of the command is. */
static void ssh_on_status_exit(struct power_op *op, const struct spawn_result *result)
{
    if (result->status == FAILED_STATUS) {
        ssh_hammer_fail(op, "ssh", result);
        return;
    }
    struct json *value = json_make(&op->arena, JSON_OBJECT);
    json_set(value, STR("power"), json_make_string(&op->arena, STR("on")));
    power_op_end(op, value, "node \"%.*s\" is on: it answers by ssh",
                 STR_FMT_ARGS(op->order.node_name));
}

static void ssh_run(struct power_op *op, struct str command,
                    void (*done)(struct power_op *op, const struct spawn_result *result))
{
    struct tool_run_argv argv = {.count = 0};
    const struct ssh *s = op->job;
    ssh_add_options(op, &argv, "ssh");
    tool_run_add(&argv, "-T");
    tool_run_add(&argv, "-n");
    tool_run_add(&argv, "--");
    tool_run_add(&argv, power_op_z(op, s->address.host));
    tool_run_add(&argv, power_op_z(op, command));
    tool_run_start(op, &argv, done);
}

/* ---- copy ---- */

static void ssh_on_copy_exit(struct power_op *op, const struct spawn_result *result)
{
    if (result->status != 0)
        ssh_hammer_fail(op, "scp", result);
    else
        power_op_end(op, NULL, "the file was copied");
}

static void ssh_copy(struct power_op *op, bool to_it)
{
    struct tool_run_argv argv = {.count = 0};
    const struct ssh *s = op->job;
    struct str from;
    struct str to;
    if (!power_op_text(op, op->args, "from", &from) || !power_op_text(op, op->args, "to", &to))
        return;
    if (from.len == 0 || to.len == 0 || (to_it ? from : to).at[0] != '/') {
        power_op_fail(
            op, HAMMER_END_SETTING,
            "\"from\" and \"to\" are required, and the local path must start with a slash");
        return;
    }
    const struct str there = to_it ? to : from;
    const struct str remote = power_op_format(op, s->address.is_v6 ? "[%.*s]:%.*s" : "%.*s:%.*s",
                                              STR_FMT_ARGS(s->address.host), STR_FMT_ARGS(there));
    ssh_add_options(op, &argv, "scp");
    tool_run_add(&argv, "-q");
    tool_run_add(&argv, "--");
    tool_run_add(&argv, power_op_z(op, to_it ? from : remote));
    tool_run_add(&argv, power_op_z(op, to_it ? remote : to));
    tool_run_start(op, &argv, ssh_on_copy_exit);
}

/* ---- start and stop ---- */

static bool ssh_write_key(struct power_op *op)
{
    const struct str key = op->hammer.authenticator;
    if (key.len == 0)
        return true;
    if (!str_starts(key, STR("-----BEGIN "))) {
        power_op_fail(op, HAMMER_END_SETTING, "the key of the hammer is no private key");
        return false;
    }
    /* OpenSSH requires the final newline, which web forms may remove. */
    const bool has_end = key.at[key.len - 1] == '\n';
    const struct str whole = has_end ? key : STR_CONCAT(&op->arena, key, STR("\n"));
    const bool is_written = tool_run_write_secret(op, whole);
    if (!has_end)
        power_op_wipe(whole);
    return is_written;
}

static bool ssh_write_host_key(struct power_op *op)
{
    struct ssh *s = op->job;
    struct str host_key;
    if (!power_op_text(op, op->extra, "host_key", &host_key))
        return false;
    if (host_key.len == 0)
        return true;
    if (str_find(host_key, '\n', 0) < host_key.len) {
        power_op_fail(op, HAMMER_END_SETTING, "\"host_key\" must be one line: TYPE KEY");
        return false;
    }
    s->pinned = secret_file_write(&op->arena, power_op_options(op)->scratch,
                                  STR_CONCAT(&op->arena, STR("pinned "), host_key, STR("\n")));
    if (!s->pinned)
        power_op_fail(op, HAMMER_END_FAILED, "no file could be written in \"%s\"",
                      power_op_options(op)->scratch);
    return s->pinned != NULL;
}

static void ssh_start(struct power_op *op)
{
    struct ssh *s = arena_new(&op->arena, struct ssh);
    struct str command;
    s->program.op = op;
    op->job = s;
    if (!power_op_address(op, &s->address) || !ssh_write_key(op) || !ssh_write_host_key(op) ||
        !power_op_text(op, op->args, "command", &command))
        return;
    if (op->order.category == HAMMER_POWER && str_eq(op->order.method, STR("status")))
        ssh_run(op, STR("true"), ssh_on_status_exit);
    else if (op->order.category == HAMMER_POWER)
        /* In the background, so that ssh can report success before the machine shuts down. */
        ssh_run(op, STR("(sleep 1; reboot) </dev/null >/dev/null 2>&1 &"), ssh_on_reboot_exit);
    else if (op->order.category == HAMMER_XFER)
        ssh_copy(op, str_eq(op->order.method, STR("copy_to")));
    else if (command.len == 0)
        power_op_fail(op, HAMMER_END_SETTING, "\"command\" is required");
    else
        ssh_run(op, command, ssh_on_command_exit);
}

static void ssh_stop(struct power_op *op)
{
    const struct ssh *s = op->job;
    tool_run_stop(op);
    secret_file_remove(s->pinned);
}

const struct power_op_class ssh_class = {.name = "ssh", .start = ssh_start, .stop = ssh_stop};
