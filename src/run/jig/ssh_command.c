#include "run/jig/ssh_command.h"

#include <string.h>

#include "model/host_key.h"
#include "model/limits.h"
#include "run/jig/launch_spec_private.h"

enum {
    CONNECT_S = 20,
    OPTIONS_MAX = 48,
    /* A socket's path has 107 bytes; while it is made, ssh puts 17 behind it. */
    CONTROL_PATH_MAX = 107 - 17,
};

/* ---- what failures mean ---- */

struct trouble {
    const char *begin; /* of a line; NULL: anywhere */
    const char *words;
    enum ssh_trouble trouble;
};

/* What a script writes may look like any of these, so those that can be are tied to the beginning
 * of a line. The first of the list that is found counts. */
static const struct trouble troubles[] = {
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

static bool line_says(struct str line, const struct trouble *t)
{
    return str_starts(line, str_from(t->begin)) && str_has(line, str_from(t->words));
}

static bool log_says(struct str log, const struct trouble *t)
{
    for (uint32_t from = 0; from < log.len;) {
        const uint32_t to = str_find(log, '\n', from);
        if (line_says(str_slice(log, from, to), t))
            return true;
        from = to + 1;
    }
    return false;
}

enum ssh_trouble ssh_trouble_of(struct str log)
{
    for (uint32_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (log_says(log, &troubles[i]))
            return troubles[i].trouble;
    return SSH_OTHER;
}

enum ssh_trouble ssh_trouble_in(struct str message)
{
    for (uint32_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (str_has(message, str_from(troubles[i].begin)) &&
            str_has(message, str_from(troubles[i].words)))
            return troubles[i].trouble;
    return SSH_OTHER;
}

const char *ssh_trouble_text(enum ssh_trouble trouble)
{
    static const char *const texts[] = {
#define X(name, code, text) [SSH_##name] = text,
        SSH_TROUBLES(X)
#undef X
    };
    return texts[trouble];
}

enum reason_code ssh_trouble_code(enum ssh_trouble trouble)
{
    static const enum reason_code codes[] = {
#define X(name, code, text) [SSH_##name] = REASON_##code,
        SSH_TROUBLES(X)
#undef X
    };
    return codes[trouble];
}

/* ---- command lines ---- */

struct words {
    struct arena *arena;
    struct str *at;
    uint32_t count, max;
};

static struct words words_of(struct arena *a, uint32_t max)
{
    return (struct words){.arena = a, .at = arena_array(a, struct str, max), .max = max};
}

static void add(struct words *w, struct str word)
{
    must(w->count < w->max);
    w->at[w->count++] = word;
}

static void option(struct words *w, const char *name, struct str value)
{
    add(w, STR("-o"));
    add(w, launch_spec_say(w->arena, "%s=%.*s", name, STR_FMT_ARGS(value)));
}

/* A path as an option takes it: ssh splits it at spaces, and "%" means something to it. */
static struct str path_value(struct arena *a, const char *path)
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

/* Where the path leaves no room for a socket, every run has a connection of its own. A master that
 * a run would start goes with the run, so none does. */
static void add_sharing(struct words *w, const struct transport *t)
{
    if (!ssh_is_shared(t)) {
        option(w, "ControlPath", STR("none"));
        return;
    }
    option(w, "ControlMaster", STR("no"));
    option(w, "ControlPath", path_value(w->arena, t->control_path));
}

uint32_t ssh_options(const struct transport *t, struct str node, struct arena *a,
                     struct str **out_words)
{
    struct words w = words_of(a, OPTIONS_MAX);
    add(&w, STR("-F"));
    add(&w, STR("none"));
    option(&w, "BatchMode", STR("yes"));
    option(&w, "StrictHostKeyChecking", STR("yes"));
    option(&w, "HostKeyAlias",
           t->node_id ? launch_spec_say(a, "node-%lld", (long long)t->node_id) : node);
    option(&w, "CheckHostIP", STR("no"));
    option(&w, "UpdateHostKeys", STR("no"));
    option(&w, "GlobalKnownHostsFile", STR("/dev/null"));
    option(&w, "UserKnownHostsFile",
           path_value(a, t->known_hosts_path ? t->known_hosts_path : "/dev/null"));
    option(&w, "IdentitiesOnly", STR("yes"));
    if (t->key_path)
        option(&w, "IdentityFile", path_value(a, t->key_path));
    option(&w, "IdentityAgent", STR("none"));
    option(&w, "PreferredAuthentications", STR("publickey"));
    option(&w, "ForwardAgent", STR("no"));
    option(&w, "ForwardX11", STR("no"));
    option(&w, "LogLevel", STR("ERROR"));
    option(&w, "ConnectTimeout", launch_spec_say(a, "%d", CONNECT_S));
    option(&w, "ServerAliveInterval", STR("15"));
    option(&w, "ServerAliveCountMax", STR("4"));
    add_sharing(&w, t);
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

/* All options, and where to. */
static void add_way(struct words *words, const struct jig_work *w)
{
    const struct transport *t = &w->transport;
    struct str *options;
    const uint32_t count = ssh_options(t, w->node, words->arena, &options);
    for (uint32_t i = 0; i < count; i++)
        add(words, options[i]);
    add(words, STR("-T"));
    add(words, STR("-p"));
    add(words, launch_spec_say(words->arena, "%u", t->port ? t->port : 22u));
    add(words, STR("-l"));
    add(words, t->user.len ? t->user : STR("root"));
    add(words, STR("--"));
    add(words, t->address);
}

void ssh_command(const struct jig_work *w, const char *program, struct str command, struct arena *a,
                 struct launch_spec *r)
{
    struct words words = words_of(a, OPTIONS_MAX + 16);
    add(&words, str_from(program));
    add_way(&words, w);
    add(&words, command);
    r->argv = words.at;
    r->argv_count = words.count;
}

/* ---- shared connections ---- */

/* Of two options of one name ssh takes the first. A machine that is gone is to be noticed before
 * many have waited for it. */
void ssh_master(const struct jig_work *w, const char *program, struct arena *a,
                struct launch_spec *r)
{
    struct words words = words_of(a, OPTIONS_MAX + 32);
    must(ssh_is_shared(&w->transport));
    *r = (struct launch_spec){.cwd = STR("/")};
    add(&words, str_from(program));
    add(&words, STR("-N"));
    option(&words, "ControlMaster", STR("yes"));
    option(&words, "ControlPersist", STR("no"));
    option(&words, "ServerAliveInterval", STR("5"));
    option(&words, "ServerAliveCountMax", STR("3"));
    option(&words, "LogLevel", STR("QUIET"));
    add_way(&words, w);
    r->argv = words.at;
    r->argv_count = words.count;
    launch_spec_set_env(w, a, r, NULL, 0);
}

void ssh_master_leave(const struct jig_work *w, const char *program, struct arena *a,
                      struct launch_spec *r)
{
    struct words words = words_of(a, 16);
    must(ssh_is_shared(&w->transport));
    *r = (struct launch_spec){.cwd = STR("/")};
    add(&words, str_from(program));
    add(&words, STR("-F"));
    add(&words, STR("none"));
    option(&words, "ControlPath", path_value(a, w->transport.control_path));
    option(&words, "LogLevel", STR("QUIET"));
    add(&words, STR("-O"));
    add(&words, STR("stop"));
    add(&words, STR("--"));
    add(&words, STR("any"));
    r->argv = words.at;
    r->argv_count = words.count;
    launch_spec_set_env(w, a, r, NULL, 0);
}

/* ---- first contact ---- */

void ssh_first_contact(const struct jig_work *w, const char *program, struct arena *a,
                       struct launch_spec *r)
{
    const struct transport *t = &w->transport;
    struct words words = words_of(a, 16);
    *r = (struct launch_spec){.cwd = STR("/"), .out_max = 64u << 10, .log_max = 16u << 10};
    add(&words, str_from(program));
    add(&words, STR("-T"));
    add(&words, launch_spec_say(a, "%d", CONNECT_S));
    add(&words, STR("-p"));
    add(&words, launch_spec_say(a, "%u", t->port ? t->port : 22u));
    add(&words, STR("-t"));
    add(&words, STR("ed25519,ecdsa,rsa"));
    add(&words, STR("--"));
    add(&words, t->address);
    r->argv = words.at;
    r->argv_count = words.count;
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
    struct str last = STR("nothing there speaks ssh");
    for (uint32_t from = 0; from < said.len;) {
        const uint32_t to = str_find(said, '\n', from);
        const struct str line = str_slice(said, from, to);
        if (line.len && line.at[0] != '#' && str_is_clean(line))
            last = line;
        from = to + 1;
    }
    return last;
}
