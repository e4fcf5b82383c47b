/* config.c - parses the configuration file and the options of the command line.
 *
 * The file is read first, then options of the command line replace its values, then every value is
 * checked and converted. The data directory is converted first, because the default of the store is
 * a path in it. The paths of data and barclamps are made absolute here, because processes of runs
 * have another working directory. The result owns all strings through its arena.
 *
 * Failure: a problem is appended to a list and parsing continues, so that one start reports all
 * problems. config_read() is false then, and the values must not be used, but config_fini() must
 * still be called.
 */
#include "daemon/config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text/buf.h"
#include "base/text/str.h"
#include "http/address.h"
#include "model/limits.h"
#include "model/names.h"
#include "run/jig/jig_tools.h"
#include "store/store_thread.h"
#include "sys/files.h"

#ifndef HALLIGAN_BARCLAMPS /* the build defines the directory of the installation */
#define HALLIGAN_BARCLAMPS "/usr/share/halligan/barclamps"
#endif

enum { FILE_SIZE_MAX = 1 << 20, TEXT_SIZE = 1024, PROBE_WAIT_S_DEFAULT = 30 };
enum { KEEP_EVENTS_DAYS_MAX = 36500 };

static const char *const key_names[] = {
#define X(name, key, takes) [CONFIG_##name] = key,
    CONFIG_KEYS(X)
#undef X
};

/* One value and its origin. */
struct given_value {
    const char *text; /* NULL: not given */
    uint32_t line;    /* of the file, from 1; 0: on the command line */
};

struct config_parser {
    struct config *config;
    struct config_problem **last; /* end of the list of problems */
    const char *file;             /* path, for messages */
    struct given_value given_values[CONFIG_KEY_COUNT];
};

/* ---- problems ---- */

__attribute__((format(printf, 3, 4))) static void config_report(struct config_parser *r,
                                                                uint32_t line, const char *format,
                                                                ...)
{
    char text[TEXT_SIZE];
    int len = 0;
    va_list args;
    if (line)
        len = snprintf(text, sizeof text, "%s:%u: ", r->file, line);
    if (len < 0 || len >= (int)sizeof text)
        len = 0;
    va_start(args, format);
    vsnprintf(text + len, sizeof text - (size_t)len, format, args);
    va_end(args);
    struct config_problem *problem = arena_new(&r->config->arena, struct config_problem);
    problem->text = str_z(&r->config->arena, str_from(text));
    *r->last = problem;
    r->last = &problem->next;
}

/* A problem with the value of a key: "FILE:3: listen: ..." or "--listen: ...". */
static void config_report_value(struct config_parser *r, enum config_key key, const char *what)
{
    const struct given_value *given = &r->given_values[key];
    config_report(r, given->line, "%s%s: %s, not \"%s\"", given->line ? "" : "--", key_names[key],
                  what, given->text);
}

/* ---- file ---- */

static struct str config_trim(struct str s)
{
    uint32_t from = 0, to = s.len;
    while (from < to && (s.at[from] == ' ' || s.at[from] == '\t'))
        from++;
    while (to > from && (s.at[to - 1] == ' ' || s.at[to - 1] == '\t' || s.at[to - 1] == '\r'))
        to--;
    return str_slice(s, from, to);
}

/* Dashes and underscores are ignored: test-jig, test_jig and testjig are the same key. */
static bool config_key_matches(struct str text, const char *key)
{
    uint32_t i = 0;
    for (;;) {
        while (i < text.len && (text.at[i] == '-' || text.at[i] == '_'))
            i++;
        while (*key == '-')
            key++;
        if (i == text.len || !*key)
            return i == text.len && !*key;
        if (text.at[i++] != *key++)
            return false;
    }
}

static void config_take_pair(struct config_parser *r, uint32_t line, struct str key_text,
                             struct str value)
{
    int key = 0;
    while (key < CONFIG_KEY_COUNT && !config_key_matches(key_text, key_names[key]))
        key++;
    if (key == CONFIG_KEY_COUNT) {
        config_report(r, line, "unknown key \"%.*s\"", STR_FMT_ARGS(key_text));
        return;
    }
    struct given_value *given = &r->given_values[key];
    if (given->text)
        config_report(r, line, "key \"%s\" is already set in line %u", key_names[key], given->line);
    else if (value.len == 0)
        config_report(r, line, "key \"%s\" has no value", key_names[key]);
    else
        *given = (struct given_value){str_z(&r->config->arena, value), line};
}

static void config_take_line(struct config_parser *r, uint32_t number, struct str line)
{
    line = config_trim(line);
    if (line.len == 0 || line.at[0] == '#' || line.at[0] == ';')
        return;
    if (line.at[0] == '[') {
        if (!str_eq(line, STR("[halligan]")))
            config_report(r, number, "unknown section %.*s; only [halligan] exists",
                          STR_FMT_ARGS(line));
        return;
    }
    const uint32_t equals = str_find(line, '=', 0);
    if (equals == line.len)
        config_report(r, number, "expected \"key = value\"");
    else
        config_take_pair(r, number, config_trim(str_slice(line, 0, equals)),
                         config_trim(str_slice(line, equals + 1, line.len)));
}

static void config_take_file(struct config_parser *r, const char *path, bool wanted)
{
    struct str text;
    r->file = path;
    const err e = file_read(&r->config->arena, path, FILE_SIZE_MAX, &text);
    if (e == ERR_NOT_FOUND && !wanted)
        return;
    if (e != OK) {
        config_report(r, 0, "%s: cannot be read: %s", path, strerror(errno));
        return;
    }
    if (!str_is_clean(text)) {
        config_report(r, 0, "%s: is not UTF-8 text", path);
        return;
    }
    uint32_t line = 1;
    for (uint32_t from = 0; from < text.len; line++) {
        const uint32_t to = str_find(text, '\n', from);
        config_take_line(r, line, str_slice(text, from, to));
        from = to + 1;
    }
}

/* ---- values ---- */

static bool config_read_flag(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *out = strcmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static void config_parse_flag(struct config_parser *r, enum config_key key, bool *out)
{
    const char *text = r->given_values[key].text;
    if (text && !config_read_flag(text, out))
        config_report_value(r, key, "must be true or false");
}

/* Without a value, and with "auto", the stored setting is kept: the first connection of a boot
 * server sets it. */
static void config_parse_boot_server(struct config_parser *r, struct settings_update_command *s)
{
    const char *text = r->given_values[CONFIG_BOOT_SERVER].text;
    if (!text || strcmp(text, "auto") == 0)
        return;
    if (config_read_flag(text, &s->boot_server))
        s->given |= GIVEN_SETTINGS_BOOT_SERVER;
    else
        config_report_value(r, CONFIG_BOOT_SERVER, "must be auto, true or false");
}

/* The socket of boot servers is in the run directory, because their user has no access to the data
 * directory. A daemon with another data directory than the default has its own socket there. */
static void config_parse_boot_socket(struct config_parser *r)
{
    struct config *c = r->config;
    const char *given = r->given_values[CONFIG_BOOT_SOCKET].text;
    const char *directory = getenv("RUNTIME_DIRECTORY"); /* of the service manager */
    c->boot_user = r->given_values[CONFIG_BOOT_USER].text;
    if (!c->boot_user)
        c->boot_user = "halligan-boot";
    if (given)
        c->boot_socket = strcmp(given, "none") == 0 ? NULL : given;
    else if (directory && directory[0] == '/' && !strchr(directory, ':'))
        c->boot_socket =
            str_z(&c->arena, STR_CONCAT(&c->arena, str_from(directory), STR("/boot.sock")));
    else if (strcmp(c->data, CONFIG_DATA_DEFAULT) == 0)
        c->boot_socket = BOOT_SOCKET_DEFAULT;
    else
        c->boot_socket = config_path(c, "boot.sock");
    if (c->boot_socket && c->boot_socket[0] != '/' && given)
        config_report_value(r, CONFIG_BOOT_SOCKET, "must be an absolute path or none");
}

/* Four runs for each core, because most of them wait for machines. A run needs five descriptors in
 * the supervisor, and FILES_LEFT are reserved for everything else. */
static uint32_t config_pool_auto(void)
{
    enum { PER_CORE = 4, FILES_PER_RUN = 5, FILES_LEFT = 256, LEAST = 4, MOST = 1000 };
    struct rlimit files = {0};
    int64_t size = (int64_t)sysconf(_SC_NPROCESSORS_ONLN) * PER_CORE;
    must(getrlimit(RLIMIT_NOFILE, &files) == 0);
    const int64_t limit = files.rlim_max > 1u << 20 ? 1 << 20 : (int64_t)files.rlim_max;
    if (size > (limit - FILES_LEFT) / FILES_PER_RUN)
        size = (limit - FILES_LEFT) / FILES_PER_RUN;
    return (uint32_t)(size < LEAST ? LEAST : size > MOST ? MOST : size);
}

/* A number with its bounds. `given` is its bit in settings_update_command.given if the store keeps
 * it: a setting that is not configured keeps its stored value. */
struct setting {
    enum config_key key;
    uint32_t given, least, most;
    uint32_t *out;
};

static void config_parse_number(struct config_parser *r, const struct setting *s)
{
    char what[64];
    const char *text = r->given_values[s->key].text;
    const bool is_pool = s->key == CONFIG_POOL_NORMAL || s->key == CONFIG_POOL_HIGH;
    int64_t number;
    if (!text)
        return;
    r->config->settings.given |= s->given;
    if (is_pool && strcmp(text, "auto") == 0) {
        *s->out = s->key == CONFIG_POOL_NORMAL ? config_pool_auto() : (config_pool_auto() + 4) / 5;
    } else if (str_parse_i64(str_from(text), &number) && number >= s->least && number <= s->most) {
        *s->out = (uint32_t)number;
    } else {
        snprintf(what, sizeof what, "must be a number from %u to %u%s", s->least, s->most,
                 is_pool ? ", or auto" : "");
        config_report_value(r, s->key, what);
    }
}

static void config_parse_settings(struct config_parser *r)
{
    struct settings_update_command *s = &r->config->settings;
    const struct setting all[] = {
        {CONFIG_POOL_NORMAL, GIVEN_SETTINGS_POOL_NORMAL, 1, POOL_SIZE_MAX, &s->pool_normal},
        {CONFIG_POOL_HIGH, GIVEN_SETTINGS_POOL_HIGH, 1, POOL_SIZE_MAX, &s->pool_high},
        {CONFIG_RUN_DEADLINE, GIVEN_SETTINGS_RUN_DEADLINE, 0, RUN_TIME_S_MAX, &s->run_deadline_s},
        {CONFIG_KEEP_RUNS, GIVEN_SETTINGS_KEEP_RUNS, 1, KEEP_RUNS_MAX, &s->keep_runs},
        {CONFIG_BOOT_WAIT, GIVEN_SETTINGS_BARRIER, 0, RUN_TIME_S_MAX, &s->barrier_s},
        {CONFIG_INSTALL_WAIT, GIVEN_SETTINGS_INSTALL_WAIT, 0, RUN_TIME_S_MAX, &s->install_wait_s},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        config_parse_number(r, &all[i]);
    /* These are not settings of the store and have no bit. */
    r->config->probe_wait_s = PROBE_WAIT_S_DEFAULT;
    config_parse_number(r,
                        &(struct setting){CONFIG_PROBE_WAIT, 0, 1, 600, &r->config->probe_wait_s});
    config_parse_number(
        r, &(struct setting){CONFIG_POWER_POLL, 0, 0, 24 * 3600, &r->config->power_poll_s});
    config_parse_number(r, &(struct setting){CONFIG_KEEP_EVENTS, 0, 0, KEEP_EVENTS_DAYS_MAX,
                                             &r->config->keep_events_days});
    s->given |= GIVEN_SETTINGS_TEST_JIG;
    config_parse_flag(r, CONFIG_TEST_JIG, &s->test_jig);
    config_parse_boot_server(r, s);
}

int64_t config_keep_events_ms(const struct config *c)
{
    return (int64_t)c->keep_events_days * 24 * 3600 * 1000;
}

/* "127.0.0.1:3000" or "[::1]:3000". */
static bool config_split_listen(struct config *c, struct str text)
{
    uint32_t colon = text.len;
    while (colon && text.at[colon - 1] != ':')
        colon--;
    int64_t port;
    if (!colon || !str_parse_i64(str_slice(text, colon, text.len), &port) || port > UINT16_MAX)
        return false;
    struct str address = str_slice(text, 0, colon - 1);
    const bool v6 = address.len > 2 && address.at[0] == '[' && address.at[address.len - 1] == ']';
    if (v6)
        address = str_slice(address, 1, address.len - 1);
    struct in6_addr parsed;
    c->address = str_z(&c->arena, address);
    c->port = (uint16_t)port;
    return inet_pton(v6 ? AF_INET6 : AF_INET, c->address, &parsed) == 1;
}

static void config_parse_listen(struct config_parser *r)
{
    const char *text = r->given_values[CONFIG_LISTEN].text;
    if (!config_split_listen(r->config, str_from(text ? text : "127.0.0.1:3000")))
        config_report_value(r, CONFIG_LISTEN,
                            "must be ADDRESS:PORT with a numeric address and port");
}

static bool config_is_separator(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

/* Addresses of either family, separated by blanks or commas. */
static void config_parse_trusted_proxy(struct config_parser *r)
{
    struct config *c = r->config;
    c->trusted_proxy = r->given_values[CONFIG_TRUSTED_PROXY].text;
    const struct str text = str_from(c->trusted_proxy);
    bool is_bad = false;
    c->trusted_proxies =
        arena_alloc(&c->arena, (text.len + (size_t)1) * sizeof *c->trusted_proxies);
    for (uint32_t from = 0, to; from < text.len; from = to + 1) {
        struct in6_addr address;
        for (to = from; to < text.len && !config_is_separator(text.at[to]);)
            to++;
        if (from == to)
            continue;
        if (address_parse(str_slice(text, from, to), &address))
            memcpy(c->trusted_proxies[c->trusted_proxy_count++], &address, sizeof address);
        else
            is_bad = true;
    }
    if (is_bad || (c->trusted_proxy && c->trusted_proxy_count == 0))
        config_report_value(r, CONFIG_TRUSTED_PROXY, "must be numeric IP addresses");
}

/* Processes of runs have another working directory, and the paths of content are stored: a relative
 * path is made absolute when it is read. */
static const char *config_absolute_path(struct config_parser *r, enum config_key key,
                                        struct str path)
{
    char here[PATH_MAX];
    struct arena *a = &r->config->arena;
    if (path.len == 0 || path.at[0] == '/')
        return str_z(a, path);
    if (getcwd(here, sizeof here))
        return str_z(a, STR_CONCAT(a, str_from(here), STR("/"), path));
    config_report_value(r, key, "must begin with / because the working directory does not exist");
    return str_z(a, path);
}

static void config_parse_data(struct config_parser *r)
{
    const char *text = r->given_values[CONFIG_DATA].text;
    r->config->data =
        config_absolute_path(r, CONFIG_DATA, str_from(text ? text : CONFIG_DATA_DEFAULT));
    if (r->config->data[0] == 0)
        config_report_value(r, CONFIG_DATA, "must be a directory");
}

static void config_parse_store(struct config_parser *r)
{
    struct config *c = r->config;
    struct store_why why;
    if (r->given_values[CONFIG_STORE].text) {
        c->store = r->given_values[CONFIG_STORE].text;
        if (!store_url_check(c->store, &why))
            config_report_value(r, CONFIG_STORE, why.text);
        return;
    }
    const struct str path = str_from(config_path(c, "halligan.db"));
    c->store = str_z(&c->arena, STR_CONCAT(&c->arena, STR("sqlite:"), path));
}

static void config_parse_log(struct config_parser *r)
{
    struct config *c = r->config;
    const char *format = r->given_values[CONFIG_LOG_FORMAT].text;
    const char *level = r->given_values[CONFIG_LOG_LEVEL].text;
    c->log_format = LOG_TEXT;
    c->log_level = LOG_INFO;
    if (format && !log_format_parse(str_from(format), &c->log_format))
        config_report_value(r, CONFIG_LOG_FORMAT, "must be text or json");
    if (level && !log_level_parse(str_from(level), &c->log_level))
        config_report_value(r, CONFIG_LOG_LEVEL, "must be error, warning, notice, info or debug");
}

static void config_parse_barclamps(struct config_parser *r)
{
    const char *text = r->given_values[CONFIG_BARCLAMPS].text;
    if (!text)
        text = file_exists(HALLIGAN_BARCLAMPS) ? HALLIGAN_BARCLAMPS : "";
    struct buf all = buf_in(&r->config->arena);
    const struct str list = str_from(text);
    for (uint32_t from = 0, to; from < list.len; from = to + 1) {
        to = str_find(list, ':', from);
        buf_put_z(&all, all.len ? ":" : "");
        buf_put_z(&all, config_absolute_path(r, CONFIG_BARCLAMPS, str_slice(list, from, to)));
    }
    r->config->barclamps = str_z(&r->config->arena, buf_str(&all));
}

/* "192.168.124.10" or "192.168.124.10/24". */
static bool config_is_admin_address(struct config *c, struct str text)
{
    struct in_addr address;
    int64_t prefix = 1;
    const uint32_t slash = str_find(text, '/', 0);
    const char *host = str_z(&c->arena, str_slice(text, 0, slash));
    if (slash < text.len && !str_parse_i64(str_slice(text, slash + 1, text.len), &prefix))
        return false;
    return inet_pton(AF_INET, host, &address) == 1 && address.s_addr != 0 && prefix >= 1 &&
           prefix <= 32;
}

static void config_parse_admin_node(struct config_parser *r)
{
    struct config *c = r->config;
    const char *name = r->given_values[CONFIG_ADMIN_NODE].text;
    char what[128];
    c->has_no_admin_node = name && strcmp(name, "none") == 0;
    c->admin_node = c->has_no_admin_node ? NULL : name;
    c->admin_address = r->given_values[CONFIG_ADMIN_ADDRESS].text;
    const char *wrong =
        c->admin_node ? names_check_node(str_lower(&c->arena, str_from(c->admin_node))) : NULL;
    if (wrong) {
        snprintf(what, sizeof what, "must be none or a node name, which %s", wrong);
        config_report_value(r, CONFIG_ADMIN_NODE, what);
    }
    if (c->admin_address && !config_is_admin_address(c, str_from(c->admin_address)))
        config_report_value(r, CONFIG_ADMIN_ADDRESS,
                            "must be an IPv4 address such as 192.168.124.10/24 or 192.168.124.10");
}

static void config_parse_tls(struct config_parser *r, bool is_restore)
{
    struct config *c = r->config;
    c->tls_cert = r->given_values[CONFIG_TLS_CERT].text;
    c->tls_key = r->given_values[CONFIG_TLS_KEY].text;
    if (c->tls_cert && !c->tls_key)
        config_report(r, r->given_values[CONFIG_TLS_CERT].line, "tls-cert requires tls-key");
    if (c->tls_key && !c->tls_cert)
        config_report(r, r->given_values[CONFIG_TLS_KEY].line, "tls-key requires tls-cert");
    if (c->tls_cert && !is_restore && !file_exists(c->tls_cert))
        config_report_value(r, CONFIG_TLS_CERT, "must be an existing file");
    if (c->tls_key && !is_restore && !file_exists(c->tls_key))
        config_report_value(r, CONFIG_TLS_KEY, "must be an existing file");
    config_parse_flag(r, CONFIG_TLS_AUTO, &c->tls_auto);
    config_parse_flag(r, CONFIG_CORE_DUMPS, &c->core_dumps);
}

bool config_read(const struct config_flags *flags, struct config *out_config)
{
    *out_config = (struct config){0};
    struct config_parser r = {.config = out_config, .last = &out_config->problems};
    config_take_file(&r, flags->file ? flags->file : CONFIG_FILE_DEFAULT, flags->file != NULL);
    for (int key = 0; key < CONFIG_KEY_COUNT; key++)
        if (flags->values[key])
            r.given_values[key] = (struct given_value){flags->values[key], 0};
    config_parse_data(&r);
    config_parse_listen(&r);
    config_parse_trusted_proxy(&r);
    config_parse_store(&r);
    config_parse_tls(&r, flags->is_restore);
    config_parse_log(&r);
    config_parse_admin_node(&r);
    config_parse_settings(&r);
    out_config->tool_path = r.given_values[CONFIG_TOOL_PATH].text;
    if (!out_config->tool_path)
        out_config->tool_path = TOOLS_PATH;
    config_parse_barclamps(&r);
    config_parse_boot_socket(&r);
    return out_config->problems == NULL;
}

void config_fini(struct config *c)
{
    arena_fini(&c->arena);
}

const char *config_path(struct config *c, const char *name)
{
    const struct str path = STR_CONCAT(&c->arena, str_from(c->data), STR("/"), str_from(name));
    return str_z(&c->arena, path);
}
