/* main.c - the program halligand: the daemon, and the commands that work on its store without it.
 *
 * It owns the command line. All problems of the arguments are printed before the configuration is
 * read, and all problems of the configuration before anything else is opened, so that one start
 * shows all of a kind; the exit status is 2.
 * Logging, the umask, signals and the core limit are set before the first file is created: files of
 * the data directory are readable by their owner only. What fails later is logged by the module in
 * which it fails, and only its exit status arrives here (enum exit_status in data_dir.h). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/text/str.h"
#include "daemon/admin/backup.h"
#include "daemon/admin/store_admin.h"
#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"
#include "daemon/serve.h"
#include "daemon/store_clock.h"
#include "sys/failpoint.h"
#include "sys/files.h"
#include "sys/log.h"
#include "turn/turn.h"

#ifndef HALLIGAN_VERSION
#define HALLIGAN_VERSION "unreleased"
#endif

enum verb {
    VERB_SERVE,
    VERB_CHECK,
    VERB_BACKUP,
    VERB_RESTORE,
    VERB_EXPORT,
    VERB_IMPORT,
    VERB_SET_CLOCK,
    VERB_URL
};

static const struct {
    const char *name;
    bool takes_file;
} verbs[] = {
    [VERB_SERVE] = {"", false},
    [VERB_CHECK] = {"check", false},
    [VERB_BACKUP] = {"backup", true},
    [VERB_RESTORE] = {"restore", true},
    [VERB_EXPORT] = {"export", true},
    [VERB_IMPORT] = {"import", true},
    [VERB_SET_CLOCK] = {"set-clock", false},
    [VERB_URL] = {"url", false},
};

static const struct {
    const char *key;
    const char *takes; /* name of the value in --help; NULL: a switch without a value */
} keys[] = {
#define X(name, key, takes) [CONFIG_##name] = {key, takes},
    CONFIG_KEYS(X)
#undef X
};

struct arguments {
    enum verb verb;
    const char *file;             /* operand of the verb: FILE or DIR; NULL: none */
    const char *config_path_used; /* of the configuration of this host, whether or not it exists */
    struct config_flags flags;
    bool check_config, version, help, list_failpoints;
    bool with_keys, keep_existing;
    uint32_t problems; /* count of those that were printed */
};

/* ---- command line ---- */

static void args_report_problem(struct arguments *a, const char *what, const char *subject)
{
    fprintf(stderr, "halligand: %s: %s\n", what, subject);
    a->problems++;
}

/* An option without a value that is not a key of the configuration. False: it is not one. */
static bool args_take_switch(struct arguments *a, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } words[] = {
        {"check-config", &a->check_config},
        {"version", &a->version},
        {"help", &a->help},
        {"list-failpoints", &a->list_failpoints},
        {"with-keys", &a->with_keys},
        {"keep-existing", &a->keep_existing},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(name, words[i].name) == 0)
            return *words[i].flag = true;
    return false;
}

/* The variable that receives the value of the option "--name"; NULL if there is no such option. */
static const char **args_find_value(struct arguments *a, struct str name, bool *out_is_switch)
{
    *out_is_switch = false;
    if (str_eq(name, STR("config")))
        return &a->flags.file;
    for (int key = 0; key < CONFIG_KEY_COUNT; key++)
        if (str_eq(name, str_from(keys[key].key))) {
            *out_is_switch = keys[key].takes == NULL;
            return &a->flags.values[key];
        }
    return NULL;
}

/* "--name=value", "--name value" or "--switch". Returns the number of arguments consumed. */
static int args_take_option(struct arguments *a, const char *text, const char *following)
{
    const struct str flag = str_from(text + 2);
    const uint32_t equals = str_find(flag, '=', 0);
    const bool has_value = equals < flag.len;
    bool is_switch;
    if (!has_value && args_take_switch(a, text + 2))
        return 1;
    const char **place = args_find_value(a, str_slice(flag, 0, equals), &is_switch);
    if (!place) {
        args_report_problem(a, "unknown option", text);
        return 1;
    }
    if (*place)
        args_report_problem(a, "option given twice", text);
    if (has_value || is_switch) {
        *place = has_value ? flag.at + equals + 1 : "true";
        return 1;
    }
    if (!following || strncmp(following, "--", 2) == 0) {
        args_report_problem(
            a, "option needs a value (write --option=value if the value begins with --)", text);
        return 1;
    }
    *place = following;
    return 2;
}

static void args_take_operand(struct arguments *a, const char *text)
{
    if (a->verb != VERB_SERVE && verbs[a->verb].takes_file && !a->file) {
        a->file = text;
        return;
    }
    for (size_t i = 1; a->verb == VERB_SERVE && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(text, verbs[i].name) == 0) {
            a->verb = (enum verb)i;
            return;
        }
    args_report_problem(a, "unexpected argument", text);
}

static struct arguments args_parse(int count, char **texts)
{
    struct arguments a = {0};
    for (int i = 1; i < count;) {
        const char *text = texts[i];
        if (strncmp(text, "--", 2) == 0 && text[2]) {
            i += args_take_option(&a, text, i + 1 < count ? texts[i + 1] : NULL);
            continue;
        }
        if (strcmp(text, "-h") == 0)
            a.help = true;
        else if (text[0] == '-')
            args_report_problem(&a, "unknown option", text);
        else
            args_take_operand(&a, text);
        i++;
    }
    if (verbs[a.verb].takes_file && !a.file && !a.help)
        args_report_problem(&a, "missing operand FILE or DIR of the command", verbs[a.verb].name);
    if (a.with_keys && a.verb != VERB_BACKUP)
        args_report_problem(&a, "option is valid only with the command backup", "--with-keys");
    if (a.keep_existing && a.verb != VERB_RESTORE)
        args_report_problem(&a, "option is valid only with the command restore", "--keep-existing");
    return a;
}

/* ---- help and version ---- */

static void main_print_help(void)
{
    puts(
        "usage: halligand [OPTIONS]                 run the daemon in the foreground\n"
        "       halligand check [OPTIONS]           verify the store\n"
        "       halligand backup DIR [OPTIONS]      back up store, keys, uploads, configuration\n"
        "       halligand restore DIR [OPTIONS]     restore a backup, also on a new host\n"
        "       halligand export FILE [OPTIONS]     copy the store into a new SQLite file\n"
        "       halligand import FILE [OPTIONS]     fill an empty store from an export\n"
        "       halligand set-clock [OPTIONS]       lower the stamp to the wall clock\n"
        "       halligand url [OPTIONS]             print the URL of the running daemon\n"
        "\n"
        "Defaults are in parentheses.\n"
        "\n"
        "  --config FILE           read options from FILE (" CONFIG_FILE_DEFAULT ")\n"
        "  --data DIR              data directory (" CONFIG_DATA_DEFAULT ")\n"
        "  --listen ADDR:PORT      listening address (127.0.0.1:3000); port 0: any free port\n"
        "  --trusted-proxy ADDR[,ADDR]\n"
        "                          reverse proxies whose Forwarded headers are accepted\n"
        "  --store URL             sqlite:PATH or postgresql://... (sqlite:DIR/halligan.db)\n"
        "  --barclamps DIR[:DIR]   directories of barclamps, read at the start and on SIGHUP\n"
        "                          (the installed ones)\n"
        "  --test-jig              simulate all runs with the test jig\n"
        "  --pool-normal N|auto    concurrent runs (10); auto: from cores and open files\n"
        "  --pool-high N|auto      concurrent runs that hooks requested (2)\n"
        "  --run-deadline SECONDS  deadline of runs whose role has none (14400); 0: none\n"
        "  --keep-runs N           ended runs kept for each noderole (10)\n"
        "  --keep-events DAYS      retention of events and the audit log (0: unlimited)\n"
        "  --boot-wait SECONDS     wait of power actions for boot services (600); 0: no wait\n"
        "  --install-wait SECONDS  silence of an installer that is a fault (3600); 0: never\n"
        "  --boot-server auto|true|false\n"
        "                          wait of power actions for boot servers (auto: stored)\n"
        "  --boot-socket PATH|none socket of boot servers (/run/halligan/boot.sock; DIR/boot.sock\n"
        "                          with another data directory than the default)\n"
        "  --boot-user NAME        user that boot servers run as (halligan-boot)\n"
        "  --probe-wait SECONDS    timeout of the probe of a node that reports alive (30)\n"
        "  --power-poll SECONDS    interval of reading power states (0: only on request)\n"
        "  --tool-path DIR[:DIR]   search path for the programs of jigs\n"
        "  --tls-cert FILE         serve HTTPS with this certificate ...\n"
        "  --tls-key FILE          ... and this private key\n"
        "  --tls-auto              serve HTTPS with a built-in CA, stored in DIR/tls\n"
        "  --core-dumps            keep the limit of core files; a core file contains all secrets\n"
        "  --log-format FORMAT     text or json (text)\n"
        "  --log-level LEVEL       error, warning, notice, info or debug (info)\n"
        "  --admin-node NAME|none  admin node that the first start creates (name of this host)\n"
        "  --admin-address ADDRESS[/PREFIX]\n"
        "                          its address (source address of the default route)\n"
        "  --with-keys             backup: include private keys and the first password\n"
        "  --keep-existing         restore: keep files that exist in the data directory\n"
        "  --check-config          print all problems of the configuration and exit\n"
        "  --list-failpoints       print the values of HALLIGAN_FAILPOINT\n"
        "  --version, --help");
}

static void main_print_failpoints(void)
{
    for (int i = 0; i < FAILPOINT_COUNT; i++)
        puts(failpoint_name((enum failpoint)i));
    for (int i = 0; i < TURN_POINT_COUNT; i++)
        puts(turn_point_name((enum turn_point)i));
}

/* ---- execution ---- */

static enum exit_status main_run_verb(struct arguments *a, struct config *config)
{
    const struct backup_options backup = {.path = a->file,
                                          .config_file = a->config_path_used,
                                          .with_keys = a->with_keys,
                                          .keeps_existing = a->keep_existing};
    switch (a->verb) {
    case VERB_SERVE: return serve(config, &a->flags);
    case VERB_CHECK: return store_admin_check(config);
    case VERB_BACKUP: return backup_make(config, &backup);
    case VERB_EXPORT: return store_admin_export(config, a->file);
    case VERB_RESTORE:
        return backup_is_directory(a->file) ? backup_restore(config, &backup)
                                            : store_admin_restore(config, a->file, true);
    case VERB_IMPORT: return store_admin_restore(config, a->file, false);
    case VERB_SET_CLOCK: return set_clock(config);
    case VERB_URL: return data_dir_print_url(config);
    }
    impossible("a verb outside the enum");
}

/* `restore` on a host without a configuration file uses the one in the backup, because that file
 * names the data directory and the store into which the backup is restored. */
static void main_choose_config(struct arguments *a, char *path, size_t size)
{
    a->config_path_used = a->flags.file ? a->flags.file : CONFIG_FILE_DEFAULT;
    a->flags.is_restore = a->verb == VERB_RESTORE;
    if (a->verb != VERB_RESTORE || file_exists(a->config_path_used))
        return;
    if (snprintf(path, size, "%s/%s", a->file, BACKUP_CONFIG) < (int)size && file_exists(path))
        a->flags.file = path;
}

/* A core file would contain the passwords, tokens and keys in memory. Only the soft limit is
 * lowered: the processes of runs inherit the hard limit, and a role may raise its own soft
 * limit. */
static void main_forbid_core_dumps(void)
{
    struct rlimit core;
    must(getrlimit(RLIMIT_CORE, &core) == 0);
    core.rlim_cur = 0;
    must(setrlimit(RLIMIT_CORE, &core) == 0);
}

static enum exit_status main_configure_and_run(struct arguments *a)
{
    struct config config;
    char backed_up[4096];
    enum exit_status status = DAEMON_EXIT_USAGE;
    main_choose_config(a, backed_up, sizeof backed_up);
    const bool right = config_read(&a->flags, &config);
    config.version = HALLIGAN_VERSION;
    for (const struct config_problem *p = config.problems; p; p = p->next)
        fprintf(stderr, "halligand: %s\n", p->text);
    if (right && a->check_config) {
        puts("the configuration is valid");
        status = DAEMON_EXIT_OK;
    } else if (right) {
        log_setup(config.log_level, config.log_format);
        if (!config.core_dumps)
            main_forbid_core_dumps();
        status = main_run_verb(a, &config);
    }
    config_fini(&config);
    return status;
}

int main(int argc, char **argv)
{
    /* The default action of SIGHUP is to terminate. Ignore it until serve.c has installed its
     * handler, so that a reload during the start does not end the daemon. */
    void (*const on_hangup)(int) = signal(SIGHUP, SIG_IGN);
    must(on_hangup != SIG_ERR);
    struct arguments a = args_parse(argc, argv);
    if (a.problems) {
        fputs("try \"halligand --help\"\n", stderr);
        return DAEMON_EXIT_USAGE;
    }
    if (a.help)
        main_print_help();
    else if (a.version)
        puts("halligand " HALLIGAN_VERSION);
    else if (a.list_failpoints)
        main_print_failpoints();
    if (a.help || a.version || a.list_failpoints)
        return DAEMON_EXIT_OK;
    /* Files and directories are accessible to their owner only. */
    umask(077);
    /* A closed connection and an exceeded RLIMIT_FSIZE are reported by write() as EPIPE and EFBIG,
     * not by a signal that ends the process. */
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    if (a.verb != VERB_SERVE)
        must(signal(SIGHUP, on_hangup) != SIG_ERR);
    failpoint_init();
    return (int)main_configure_and_run(&a);
}
