/* halligand - the daemon, and what can be done to its store without it. */
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
    const char *takes; /* NULL: it is a switch */
} keys[] = {
#define X(name, key, takes) [CONFIG_##name] = {key, takes},
    CONFIG_KEYS(X)
#undef X
};

struct arguments {
    enum verb verb;
    const char *file;
    const char *config_place; /* where the configuration is, or belongs */
    struct config_flags flags;
    bool check_config, version, help, list_failpoints;
    bool with_keys, keep_existing;
    uint32_t problems;
};

/* ---- reading them ---- */

static void complain(struct arguments *a, const char *what, const char *subject)
{
    fprintf(stderr, "halligand: %s: %s\n", what, subject);
    a->problems++;
}

/* Words that take nothing. */
static bool take_word(struct arguments *a, const char *name)
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

/* Where the value of "--name" goes; NULL when there is no such flag. */
static const char **place_of(struct arguments *a, struct str name, bool *out_is_switch)
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

/* "--name=value", "--name value" or "--switch". Says how many arguments that were. */
static int take_flag(struct arguments *a, const char *text, const char *following)
{
    const struct str flag = str_from(text + 2);
    const uint32_t equals = str_find(flag, '=', 0);
    const bool has_value = equals < flag.len;
    bool is_switch;
    if (!has_value && take_word(a, text + 2))
        return 1;
    const char **place = place_of(a, str_slice(flag, 0, equals), &is_switch);
    if (!place) {
        complain(a, "there is no such option", text);
        return 1;
    }
    if (*place)
        complain(a, "this option comes twice", text);
    if (has_value || is_switch) {
        *place = has_value ? flag.at + equals + 1 : "true";
        return 1;
    }
    if (!following || strncmp(following, "--", 2) == 0) {
        complain(a, "this option needs a value (as --option=value if that begins with dashes)",
                 text);
        return 1;
    }
    *place = following;
    return 2;
}

static void take_verb(struct arguments *a, const char *text)
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
    complain(a, "this argument means nothing here", text);
}

static struct arguments read_arguments(int count, char **texts)
{
    struct arguments a = {0};
    for (int i = 1; i < count;) {
        const char *text = texts[i];
        if (strncmp(text, "--", 2) == 0 && text[2]) {
            i += take_flag(&a, text, i + 1 < count ? texts[i + 1] : NULL);
            continue;
        }
        if (strcmp(text, "-h") == 0)
            a.help = true;
        else if (text[0] == '-')
            complain(&a, "there is no such option", text);
        else
            take_verb(&a, text);
        i++;
    }
    if (verbs[a.verb].takes_file && !a.file && !a.help)
        complain(&a, "this needs a file", verbs[a.verb].name);
    if (a.with_keys && a.verb != VERB_BACKUP)
        complain(&a, "this option is for backup", "--with-keys");
    if (a.keep_existing && a.verb != VERB_RESTORE)
        complain(&a, "this option is for restore", "--keep-existing");
    return a;
}

/* ---- words about ourselves ---- */

static void print_help(void)
{
    puts("usage: halligand [OPTIONS]                 serve, in the foreground\n"
         "       halligand check [OPTIONS]           is the store right?\n"
         "       halligand backup DIR [OPTIONS]      store, keys, uploads and configuration\n"
         "       halligand restore DIR [OPTIONS]     put a backup back, on an empty machine too\n"
         "       halligand export FILE [OPTIONS]     copy the store into a new SQLite file\n"
         "       halligand import FILE [OPTIONS]     fill an empty store from an export\n"
         "       halligand set-clock [OPTIONS]       lower the stamp to the wall clock\n"
         "       halligand url [OPTIONS]             where the running daemon listens\n"
         "\n"
         "  --config FILE           read options from FILE (" CONFIG_FILE_DEFAULT ")\n"
         "  --data DIR              where everything is kept (" CONFIG_DATA_DEFAULT ")\n"
         "  --listen ADDR:PORT      where to serve (127.0.0.1:3000); port 0 is any free one\n"
         "  --trusted-proxy ADDR[,ADDR]\n"
         "                          believe these peers when they say who their clients are\n"
         "  --store URL             sqlite:PATH or postgresql://... (sqlite:DIR/halligan.db)\n"
         "  --barclamps DIR[:DIR]   content, read at the start and on SIGHUP (what is installed)\n"
         "  --test-jig              let the test jig pretend all work\n"
         "  --pool-normal N|auto    runs at the same time (10); auto: by cores and open files\n"
         "  --pool-high N|auto      the same for those that hooks asked for (2)\n"
         "  --run-deadline SECONDS  for a run whose role does not say (14400); 0: none\n"
         "  --keep-runs N           ended runs that are remembered of each noderole (10)\n"
         "  --keep-events DAYS      how long it is remembered what happened (0: for ever)\n"
         "  --boot-wait SECONDS     how long power waits for boot services (600); 0: not at all\n"
         "  --probe-wait SECONDS    how long a machine is asked that says it lives (30)\n"
         "  --power-poll SECONDS    how often power states are read (0: only on request)\n"
         "  --tool-path DIR[:DIR]   where the programs of jigs are looked for\n"
         "  --tls-cert FILE         serve HTTPS with this certificate ...\n"
         "  --tls-key FILE          ... and this key\n"
         "  --tls-auto              serve HTTPS with certificates of our own, made in DIR/tls\n"
         "  --core-dumps            leave the limit of core files; one holds every secret\n"
         "  --log-format FORMAT     text or json\n"
         "  --log-level LEVEL       error, warning, notice, info or debug\n"
         "  --admin-node NAME|none  the admin node made by the first start (name of this host)\n"
         "  --admin-address ADDRESS[/PREFIX]\n"
         "                          its address (the one of the default route)\n"
         "  --with-keys             backup: also private keys and the first password\n"
         "  --keep-existing         restore: files of the data directory that are there stay\n"
         "  --check-config          say what is wrong with the options, and do nothing else\n"
         "  --list-failpoints       the places where HALLIGAN_FAILPOINT can stop it\n"
         "  --version, --help");
}

static void print_failpoints(void)
{
    for (int i = 0; i < FAILPOINT_COUNT; i++)
        puts(failpoint_name((enum failpoint)i));
    for (int i = 0; i < TURN_POINT_COUNT; i++)
        puts(turn_point_name((enum turn_point)i));
}

/* ---- doing it ---- */

static enum ending run(struct arguments *a, struct config *config)
{
    const struct backup_options backup = {.path = a->file,
                                          .config_file = a->config_place,
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
    impossible("a verb of no kind");
}

/* On a machine without a configuration the one of the backup says where everything belongs. */
static void choose_config(struct arguments *a, char *path, size_t size)
{
    a->config_place = a->flags.file ? a->flags.file : CONFIG_FILE_DEFAULT;
    a->flags.is_restore = a->verb == VERB_RESTORE;
    if (a->verb != VERB_RESTORE || file_exists(a->config_place))
        return;
    if (snprintf(path, size, "%s/%s", a->file, BACKUP_CONFIG) < (int)size && file_exists(path))
        a->flags.file = path;
}

/* Passwords, tokens and keys are in memory, and a core file would keep them. The hard limit stays:
 * a role may raise its own. */
static void forbid_core_dumps(void)
{
    struct rlimit core;
    must(getrlimit(RLIMIT_CORE, &core) == 0);
    core.rlim_cur = 0;
    must(setrlimit(RLIMIT_CORE, &core) == 0);
}

static enum ending configure_and_run(struct arguments *a)
{
    struct config config;
    char backed_up[4096];
    enum ending ending = ENDING_USAGE;
    choose_config(a, backed_up, sizeof backed_up);
    const bool right = config_read(&a->flags, &config);
    config.version = HALLIGAN_VERSION;
    for (const struct config_problem *p = config.problems; p; p = p->next)
        fprintf(stderr, "halligand: %s\n", p->text);
    if (right && a->check_config) {
        puts("the configuration is right");
        ending = ENDING_FINE;
    } else if (right) {
        log_setup(config.log_level, config.log_format);
        if (!config.core_dumps)
            forbid_core_dumps();
        ending = run(a, &config);
    }
    config_fini(&config);
    return ending;
}

int main(int argc, char **argv)
{
    /* A reload that is asked for before we can reload must not end us. */
    void (*const on_hangup)(int) = signal(SIGHUP, SIG_IGN);
    must(on_hangup != SIG_ERR);
    struct arguments a = read_arguments(argc, argv);
    if (a.problems) {
        fputs("halligand --help says what there is\n", stderr);
        return ENDING_USAGE;
    }
    if (a.help)
        print_help();
    else if (a.version)
        puts("halligand " HALLIGAN_VERSION);
    else if (a.list_failpoints)
        print_failpoints();
    if (a.help || a.version || a.list_failpoints)
        return ENDING_FINE;
    /* Everything that is kept here is for its owner only. */
    umask(077);
    /* A client that went away, a file that may not grow: the call that meets them says so. */
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    if (a.verb != VERB_SERVE)
        must(signal(SIGHUP, on_hangup) != SIG_ERR);
    failpoint_init();
    return (int)configure_and_run(&a);
}
