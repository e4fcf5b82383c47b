#include "run/jig/ssh_command.h"

#include <string.h>

#include "model/host_key.h"
#include "model/limits.h"
#include "run/jig/launch_spec_private.h"

/* No state: a table of failures, and functions that build command lines in the arena of the caller.
 *
 * Options are given on the command line only (-F none), so that no configuration of the host
 * changes a run. If an option is given twice, ssh uses the first, so an exception precedes the
 * common options. Failures are recognised by the messages of OpenSSH, because its exit status is
 * 255 for all of them; messages that a script could print as well are accepted only at the
 * beginning of a line, where possible. Output that matches nothing is SSH_OTHER. */

enum {
    CONNECT_S = 20,   /* seconds until a connection attempt fails */
    OPTIONS_MAX = 48, /* arguments of ssh_options */
    /* The path of a socket has at most 107 bytes; ssh appends 17 while it creates it. */
    CONTROL_PATH_MAX = 107 - 17,
};

/* ---- failures ---- */

struct ssh_failure_pattern {
    const char *begin; /* beginning of the line; NULL: anywhere */
    const char *text;
    enum ssh_failure failure;
};

/* A script may print any of these, so they are matched at the beginning of a line where possible.
 * The first match in this order counts. */
static const struct ssh_failure_pattern failures[] = {
    {"@ ", "HOST IDENTIFICATION HAS CHANGED", SSH_KEY_CHANGED},
    {"No ", "host key is known for", SSH_KEY_UNKNOWN},
    {"Host key verification failed", "", SSH_KEY_UNKNOWN},
    {"Load key ", "", SSH_OUR_KEY},
    {NULL, ": Permission denied (", SSH_AUTH},
    {"Received disconnect from ", "Too many authentication failures", SSH_AUTH},
    {"ssh: connect to host ", "Connection refused", SSH_REFUSED},
    {"ssh: connect to host ", "timed out", SSH_TIMEOUT},
    {"ssh: connect to host ", "No route to host", SSH_NO_ROUTE},
    {"ssh: connect to host ", "etwork is unreachable", SSH_NO_ROUTE},
    {"ssh: Could not resolve hostname ", "", SSH_NAME},
    {"Connection timed out during banner exchange", "", SSH_TIMEOUT},
    {"Timeout, server ", " not responding", SSH_LOST},
    {"Connection to ", "closed by remote host", SSH_LOST},
    {"Connection to ", "timed out", SSH_TIMEOUT},
    {"Connection closed by ", "", SSH_LOST},
    {"Connection reset by ", "", SSH_LOST},
    {"kex_exchange_identification: ", "", SSH_LOST},
    {"ssh_dispatch_run_fatal: ", "", SSH_LOST},
    {"client_loop: ", "", SSH_LOST},
    {"mux_client_", "", SSH_LOST},
};

static bool ssh_log_matches(struct str log, const struct ssh_failure_pattern *t)
{
    for (uint32_t from = 0; from < log.len;) {
        const uint32_t to = str_find(log, '\n', from);
        const struct str line = str_slice(log, from, to);
        if (str_starts(line, str_from(t->begin)) && str_has(line, str_from(t->text)))
            return true;
        from = to + 1;
    }
    return false;
}

enum ssh_failure ssh_failure_from_log(struct str log)
{
    for (uint32_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (ssh_log_matches(log, &failures[i]))
            return failures[i].failure;
    return SSH_OTHER;
}

enum ssh_failure ssh_failure_in_message(struct str message)
{
    for (uint32_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (str_has(message, str_from(failures[i].begin)) &&
            str_has(message, str_from(failures[i].text)))
            return failures[i].failure;
    return SSH_OTHER;
}

const char *ssh_failure_text(enum ssh_failure failure)
{
    static const char *const texts[] = {
#define X(name, code, text) [SSH_##name] = text,
        SSH_FAILURES(X)
#undef X
    };
    return texts[failure];
}

enum reason_code ssh_failure_code(enum ssh_failure failure)
{
    static const enum reason_code codes[] = {
#define X(name, code, text) [SSH_##name] = REASON_##code,
        SSH_FAILURES(X)
#undef X
    };
    return codes[failure];
}

/* ---- command lines ---- */

struct ssh_args {
    struct arena *arena;
    struct str *at;
    uint32_t count, max;
};

static struct ssh_args ssh_args_new(struct arena *a, uint32_t max)
{
    return (struct ssh_args){.arena = a, .at = arena_array(a, struct str, max), .max = max};
}

static void ssh_args_add(struct ssh_args *w, struct str word)
{
    must(w->count < w->max);
    w->at[w->count++] = word;
}

static void ssh_args_add_option(struct ssh_args *w, const char *name, struct str value)
{
    ssh_args_add(w, STR("-o"));
    ssh_args_add(w, launch_spec_format(w->arena, "%s=%.*s", name, STR_FMT_ARGS(value)));
}

/* Quote a path for an option: ssh splits it at spaces and expands "%". */
static struct str ssh_quote_path(struct arena *a, const char *path)
{
    struct buf out = buf_in(a);
    buf_put_c(&out, '"');
    for (const char *c = path; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_put_c(&out, '\\');
        if (*c == '%')
            buf_put_c(&out, '%');
        buf_put_c(&out, *c);
    }
    buf_put_c(&out, '"');
    return buf_str(&out);
}

bool ssh_is_shared(const struct transport *t)
{
    return t->control_path && strlen(t->control_path) <= CONTROL_PATH_MAX;
}

uint32_t ssh_options(const struct transport *t, struct str node, struct arena *a,
                     struct str **out_words)
{
    struct ssh_args w = ssh_args_new(a, OPTIONS_MAX);
    ssh_args_add(&w, STR("-F"));
    ssh_args_add(&w, STR("none"));
    ssh_args_add_option(&w, "BatchMode", STR("yes"));
    ssh_args_add_option(&w, "StrictHostKeyChecking", STR("yes"));
    ssh_args_add_option(&w, "HostKeyAlias",
                        t->node_id ? launch_spec_format(a, "node-%lld", (long long)t->node_id)
                                   : node);
    ssh_args_add_option(&w, "CheckHostIP", STR("no"));
    ssh_args_add_option(&w, "UpdateHostKeys", STR("no"));
    ssh_args_add_option(&w, "GlobalKnownHostsFile", STR("/dev/null"));
    ssh_args_add_option(&w, "UserKnownHostsFile",
                        ssh_quote_path(a, t->known_hosts_path ? t->known_hosts_path : "/dev/null"));
    ssh_args_add_option(&w, "IdentitiesOnly", STR("yes"));
    if (t->key_path)
        ssh_args_add_option(&w, "IdentityFile", ssh_quote_path(a, t->key_path));
    ssh_args_add_option(&w, "IdentityAgent", STR("none"));
    ssh_args_add_option(&w, "PreferredAuthentications", STR("publickey"));
    ssh_args_add_option(&w, "ForwardAgent", STR("no"));
    ssh_args_add_option(&w, "ForwardX11", STR("no"));
    ssh_args_add_option(&w, "LogLevel", STR("ERROR"));
    ssh_args_add_option(&w, "ConnectTimeout", launch_spec_format(a, "%d", CONNECT_S));
    ssh_args_add_option(&w, "ServerAliveInterval", STR("15"));
    ssh_args_add_option(&w, "ServerAliveCountMax", STR("4"));
    /* Without a usable path every run has its own connection. A run must not become a ControlMaster
     * itself: the connection would end with the run. */
    if (ssh_is_shared(t)) {
        ssh_args_add_option(&w, "ControlMaster", STR("no"));
        ssh_args_add_option(&w, "ControlPath", ssh_quote_path(a, t->control_path));
    } else {
        ssh_args_add_option(&w, "ControlPath", STR("none"));
    }
    *out_words = w.at;
    return w.count;
}

struct str ssh_quoted(struct arena *a, struct str word)
{
    struct buf out = buf_in(a);
    buf_put_c(&out, '\'');
    for (uint32_t i = 0; i < word.len; i++)
        if (word.at[i] == '\'')
            buf_put_z(&out, "'\\''");
        else
            buf_put_c(&out, word.at[i]);
    buf_put_c(&out, '\'');
    return buf_str(&out);
}

/* All options and the destination. */
static void ssh_args_add_destination(struct ssh_args *ssh_args, const struct jig_work *w)
{
    const struct transport *t = &w->transport;
    struct str *options;
    const uint32_t count = ssh_options(t, w->node, ssh_args->arena, &options);
    for (uint32_t i = 0; i < count; i++)
        ssh_args_add(ssh_args, options[i]);
    ssh_args_add(ssh_args, STR("-T"));
    ssh_args_add(ssh_args, STR("-p"));
    ssh_args_add(ssh_args, launch_spec_format(ssh_args->arena, "%u", t->port ? t->port : 22u));
    ssh_args_add(ssh_args, STR("-l"));
    ssh_args_add(ssh_args, t->user.len ? t->user : STR("root"));
    ssh_args_add(ssh_args, STR("--"));
    ssh_args_add(ssh_args, t->address);
}

void ssh_command(const struct jig_work *w, const char *program, struct str command, struct arena *a,
                 struct launch_spec *r)
{
    struct ssh_args ssh_args = ssh_args_new(a, OPTIONS_MAX + 16);
    ssh_args_add(&ssh_args, str_from(program));
    ssh_args_add_destination(&ssh_args, w);
    ssh_args_add(&ssh_args, command);
    r->argv = ssh_args.at;
    r->argv_count = ssh_args.count;
}

/* ---- shared connections ---- */

/* ssh uses the first of two options with the same name. The short keep-alive interval detects a
 * machine that is gone before many runs have waited for it. */
void ssh_master_command(const struct jig_work *w, const char *program, struct arena *a,
                        struct launch_spec *r)
{
    struct ssh_args ssh_args = ssh_args_new(a, OPTIONS_MAX + 32);
    must(ssh_is_shared(&w->transport));
    *r = (struct launch_spec){.cwd = STR("/")};
    ssh_args_add(&ssh_args, str_from(program));
    ssh_args_add(&ssh_args, STR("-N"));
    ssh_args_add_option(&ssh_args, "ControlMaster", STR("yes"));
    ssh_args_add_option(&ssh_args, "ControlPersist", STR("no"));
    ssh_args_add_option(&ssh_args, "ServerAliveInterval", STR("5"));
    ssh_args_add_option(&ssh_args, "ServerAliveCountMax", STR("3"));
    ssh_args_add_option(&ssh_args, "LogLevel", STR("QUIET"));
    ssh_args_add_destination(&ssh_args, w);
    r->argv = ssh_args.at;
    r->argv_count = ssh_args.count;
    launch_spec_set_env(w, a, r, NULL, 0);
}

void ssh_master_stop_command(const struct jig_work *w, const char *program, struct arena *a,
                             struct launch_spec *r)
{
    struct ssh_args ssh_args = ssh_args_new(a, 16);
    must(ssh_is_shared(&w->transport));
    *r = (struct launch_spec){.cwd = STR("/")};
    ssh_args_add(&ssh_args, str_from(program));
    ssh_args_add(&ssh_args, STR("-F"));
    ssh_args_add(&ssh_args, STR("none"));
    ssh_args_add_option(&ssh_args, "ControlPath", ssh_quote_path(a, w->transport.control_path));
    ssh_args_add_option(&ssh_args, "LogLevel", STR("QUIET"));
    ssh_args_add(&ssh_args, STR("-O"));
    ssh_args_add(&ssh_args, STR("stop"));
    ssh_args_add(&ssh_args, STR("--"));
    ssh_args_add(&ssh_args, STR("any"));
    r->argv = ssh_args.at;
    r->argv_count = ssh_args.count;
    launch_spec_set_env(w, a, r, NULL, 0);
}

/* ---- first contact ---- */

void ssh_first_contact(const struct jig_work *w, const char *program, struct arena *a,
                       struct launch_spec *r)
{
    const struct transport *t = &w->transport;
    struct ssh_args ssh_args = ssh_args_new(a, 16);
    *r = (struct launch_spec){.cwd = STR("/"), .out_max = 64u << 10, .log_max = 16u << 10};
    ssh_args_add(&ssh_args, str_from(program));
    ssh_args_add(&ssh_args, STR("-T"));
    ssh_args_add(&ssh_args, launch_spec_format(a, "%d", CONNECT_S));
    ssh_args_add(&ssh_args, STR("-p"));
    ssh_args_add(&ssh_args, launch_spec_format(a, "%u", t->port ? t->port : 22u));
    ssh_args_add(&ssh_args, STR("-t"));
    ssh_args_add(&ssh_args, STR("ed25519,ecdsa,rsa"));
    ssh_args_add(&ssh_args, STR("--"));
    ssh_args_add(&ssh_args, t->address);
    r->argv = ssh_args.at;
    r->argv_count = ssh_args.count;
    launch_spec_set_env(w, a, r, NULL, 0);
}

err ssh_scanned_keys(struct arena *a, struct str scanned, struct str *out_keys)
{
    struct buf out = buf_in(a);
    uint32_t count = 0;
    for (uint32_t from = 0; from < scanned.len;) {
        const uint32_t to = str_find(scanned, '\n', from);
        const struct str line = str_slice(scanned, from, to);
        from = to + 1;
        if (line.len == 0 || line.at[0] == '#')
            continue;
        const uint32_t host = str_find(line, ' ', 0);
        const struct str key = str_slice(line, host + 1, line.len);
        if (host == 0 || !host_key_is_valid(key) || ++count > HOST_KEYS_OWN_MAX)
            return ERR_SYNTAX;
        buf_put_str(&out, key);
        buf_put_c(&out, '\n');
    }
    if (count == 0)
        return ERR_NOT_FOUND;
    *out_keys = buf_str(&out);
    return OK;
}

struct str ssh_scan_complaint(struct str said)
{
    struct str last = STR("no ssh server answered at this address");
    for (uint32_t from = 0; from < said.len;) {
        const uint32_t to = str_find(said, '\n', from);
        const struct str line = str_slice(said, from, to);
        if (line.len && line.at[0] != '#' && str_is_clean(line))
            last = line;
        from = to + 1;
    }
    return last;
}
