#include "cli/front/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/suggest.h"
#include "cli/args/noun.h"
#include "cli/args/option.h"
#include "cli/host/barclamp_exec.h"
#include "cli/host/image_exec.h"
#include "cli/cmd/cmd_auth.h"
#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/request.h"
#include "cli/cmd/watch.h"
#include "cli/front/completion.h"

/* A command line is `halligan NOUN VERB ...` or one of the commands without a noun, such as login.
 * Options may be given before the noun and the verb, so they are first moved behind them
 * (cli_move_options); only then the words are looked up. Help is printed before a verb runs, so
 * that it never opens a connection. Output is buffered by stdio: cli_main flushes it at the end,
 * and a failure to write it overrides the exit status of the verb.
 *
 * Owns the table of the commands without a noun; it is constant, like the nouns. On failure an
 * unknown noun, verb or command is reported with the nearest known word and CLI_USAGE, before any
 * verb runs. Errors in the options and operands of a verb are those of the verb. */

enum { NOUNS_MAX = 32 };

/* ---- commands without a noun ---- */

static enum cli_exit cli_run_completion(struct args *args);

static const char login_help[] =
    "Asks for the password, creates a token and stores it in ~/.config/halligan/config, which\n"
    "only its owner can read. FIELD=VALUE sets a field of the token, such as expires_at.\n";
static const char wait_help[] =
    "NOUN is node, deployment, noderole and so on. Polls the object until the field has the\n"
    "value; a state may be given by name. The exit status is 8 if --timeout expires.\n";
static const char inventory_help[] =
    "Prints a dynamic inventory for Ansible: --list all groups and hosts, --host the variables of\n"
    "one host.\n";
static const char completion_help[] =
    "Prints the completion script for the shell: bash, zsh or fish. An installation includes all\n"
    "three.\n";

static const struct cli_verb commands[] = {
    {.name = "wait",
     .operands = "NOUN NAME FIELD VALUE",
     .summary = "Wait until a field has a value",
     .help = wait_help,
     .run_online = watch_wait,
     .options = OPTION_TIMEOUT,
     .operands_min = 4,
     .operands_max = 4},
    {.name = "inventory",
     .operands = "",
     .summary = "Print an inventory for Ansible",
     .help = inventory_help,
     .run_online = cmd_explain_inventory,
     .options = OPTION_LIST | OPTION_HOST | OPTION_OUTPUT},
    {.name = "login",
     .operands = "[FIELD=VALUE...]",
     .summary = "Create a token and store it",
     .help = login_help,
     .run_online = cmd_auth_login,
     .operands_max = OPERANDS_ANY},
    {.name = "logout",
     .operands = "",
     .summary = "Delete the stored token, on the daemon and here",
     .help = "",
     .run_online = cmd_auth_logout},
    {.name = "completion",
     .operands = "SHELL",
     .summary = "Print a completion script for a shell",
     .help = completion_help,
     .run_local = cli_run_completion},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* ---- all nouns ---- */

struct cli_nouns {
    const struct cli_noun *at[NOUNS_MAX];
    uint32_t count;
};

static struct cli_nouns cli_list_nouns(void)
{
    struct cli_nouns all = {.count = 0};
    must(online_noun_count < NOUNS_MAX);
    for (uint32_t i = 0; i < online_noun_count; i++)
        all.at[all.count++] = online_nouns[i];
    all.at[all.count++] = &barclamp_noun;
    all.at[all.count++] = &image_noun;
    return all;
}

static enum cli_exit cli_run_completion(struct args *args)
{
    const struct cli_nouns all = cli_list_nouns();
    const struct completion_tables known = {.nouns = all.at,
                                            .noun_count = all.count,
                                            .commands = commands,
                                            .command_count = COMMAND_COUNT};
    if (args->count != 1)
        args_error(args, "expected one shell", "bash, zsh or fish");
    else if (completion_print(args->words[0], &known) == CLI_OK)
        return CLI_OK;
    else
        args_error(args, "the shell must be bash, zsh or fish, not", args->words[0]);
    return CLI_USAGE;
}

/* ---- help ---- */

static void cli_print_usage(FILE *out)
{
    const struct cli_nouns all = cli_list_nouns();
    fputs("usage: halligan NOUN VERB [...]\n\n", out);
    for (uint32_t i = 0; i < all.count; i++)
        fprintf(out, "  %-18s %s\n", all.at[i]->name, all.at[i]->summary);
    fputs("\n", out);
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-18s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  halligan NOUN --help       list the verbs of the noun\n"
          "  halligan NOUN VERB --help  describe operands and options of the verb\n"
          "  halligan --version, --help\n"
          "\n"
          "Options may be given before the noun, between noun and verb, and after the verb.\n",
          out);
}

static void cli_print_noun_usage(FILE *out, const struct cli_noun *noun)
{
    fprintf(out, "usage: halligan %s VERB [...]\n\n", noun->name);
    for (uint32_t i = 0; i < noun->verb_count; i++)
        fprintf(out, "  %-12s %s\n", noun->verbs[i].name, noun->verbs[i].summary);
}

static void cli_print_verb_usage(const char *prog, const struct cli_verb *verb)
{
    printf("usage: %s%s%s%s\n\n%s.\n", prog, verb->operands[0] ? " " : "", verb->operands,
           verb->run_online ? " [OPTION...]" : "", verb->summary);
    if (verb->help[0])
        printf("\n%s", verb->help);
    if (!verb->run_online)
        return;
    fputs("\n", stdout);
    options_print(stdout, verb->options);
    options_print(stdout, OPTION_SERVER);
}

/* ---- lookup of noun and verb ---- */

static bool cli_is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool cli_wants_help(const struct args *args)
{
    for (int i = 0; i < args->count && strcmp(args->words[i], "--") != 0; i++)
        if (cli_is_help(args->words[i]))
            return true;
    return false;
}

static enum cli_exit cli_unknown_word(const char *prog, const char *kind, const char *word,
                                      const char *nearest)
{
    fprintf(stderr, "%s: unknown %s \"%s\"", prog, kind, word);
    if (nearest)
        fprintf(stderr, "; did you mean \"%s\"?", nearest);
    fprintf(stderr, "\n%s --help lists what is available\n", prog);
    return CLI_USAGE;
}

/* `noun` is NULL for a command without a noun. */
static enum cli_exit cli_run_verb(const struct cli_noun *noun, const struct cli_verb *verb,
                                  struct args args)
{
    char prog[100];
    snprintf(prog, sizeof prog, "halligan%s%s %s", noun ? " " : "", noun ? noun->name : "",
             verb->name);
    if (cli_wants_help(&args)) {
        cli_print_verb_usage(prog, verb);
        return CLI_OK;
    }
    args.prog = prog;
    return verb->run_local ? verb->run_local(&args) : request_run(noun, verb, &args);
}

static struct args cli_skip_first(struct args args)
{
    return (struct args){.count = args.count - 1, .words = args.words + 1};
}

/* True if the noun or verb is missing. Options were moved behind the first two operands, so an
 * option in their position means that there are fewer operands. */
static bool cli_is_missing(const char *word)
{
    bool has_value;
    return !word || option_find(word, &has_value);
}

static enum cli_exit cli_run_noun(const struct cli_noun *noun, struct args args)
{
    char prog[100];
    struct suggestion nearest = {0};
    const char *word = args.count ? args.words[0] : NULL;
    if (cli_is_missing(word) || cli_is_help(word)) {
        cli_print_noun_usage(cli_is_missing(word) ? stderr : stdout, noun);
        return cli_is_missing(word) ? CLI_USAGE : CLI_OK;
    }
    for (uint32_t i = 0; i < noun->verb_count; i++) {
        if (strcmp(word, noun->verbs[i].name) == 0)
            return cli_run_verb(noun, &noun->verbs[i], cli_skip_first(args));
        suggest_offer(&nearest, word, noun->verbs[i].name);
    }
    snprintf(prog, sizeof prog, "halligan %s", noun->name);
    return cli_unknown_word(prog, "verb", word, nearest.word);
}

static bool cli_noun_matches(const struct cli_noun *noun, const char *word)
{
    return strcmp(word, noun->name) == 0 || (noun->singular && strcmp(word, noun->singular) == 0);
}

static enum cli_exit cli_run(const char *version, struct args args)
{
    struct suggestion nearest = {0};
    const char *word = args.count ? args.words[0] : NULL;
    if (cli_is_missing(word) || cli_is_help(word)) {
        cli_print_usage(cli_is_missing(word) ? stderr : stdout);
        return cli_is_missing(word) ? CLI_USAGE : CLI_OK;
    }
    if (strcmp(word, "--version") == 0) {
        printf("halligan %s\n", version);
        return CLI_OK;
    }
    /* The word is a noun, or a command without one. */
    const struct cli_nouns all = cli_list_nouns();
    for (uint32_t i = 0; i < all.count; i++) {
        if (cli_noun_matches(all.at[i], word))
            return cli_run_noun(all.at[i], cli_skip_first(args));
        suggest_offer(&nearest, word, all.at[i]->name);
    }
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0)
            return cli_run_verb(NULL, &commands[i], cli_skip_first(args));
        suggest_offer(&nearest, word, commands[i].name);
    }
    return cli_unknown_word("halligan", word[0] == '-' ? "option" : "noun", word, nearest.word);
}

/* ---- options before the noun and the verb ---- */

/* Move the options before the noun, and between noun and verb, behind these two words. Options keep
 * their order, and the value of an option moves with it. "--help" and "--version" are not options
 * of a verb and keep their position. `moved` has room for all arguments. */
static void cli_move_options(struct args *args, char **moved)
{
    int operands = 0, kept = 0, count = 0, at = 0;
    while (at < args->count && operands < 2) {
        char *word = args->words[at];
        bool has_value = false;
        const bool is_plain = word[0] != '-' || word[1] == 0 || cli_is_help(word) ||
                              strcmp(word, "--version") == 0 || strcmp(word, "--") == 0;
        const struct option *option = is_plain ? NULL : option_find(word, &has_value);
        at++;
        if (is_plain || !option) {
            args->words[kept++] = word;
            /* An unknown option ends the search, so that it is reported as an unknown noun or verb.
             */
            operands = option || word[0] != '-' ? operands + 1 : 2;
            continue;
        }
        moved[count++] = word;
        if (option->value && !has_value && at < args->count)
            moved[count++] = args->words[at++];
    }
    memcpy(args->words + kept, moved, (size_t)count * sizeof *moved);
}

/* Output that cannot be written is a failure, also if the verb has succeeded. */
int cli_main(const char *version, int argc, char **argv)
{
    struct args args = {.count = argc > 1 ? argc - 1 : 0, .words = argv + 1};
    char **moved = calloc((size_t)argc + 1, sizeof *moved);
    if (!moved) {
        fputs("halligan: out of memory\n", stderr);
        return CLI_IO_ERROR;
    }
    cli_move_options(&args, moved);
    const enum cli_exit status = cli_run(version, args);
    free(moved);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return (int)status;
    fprintf(stderr, "halligan: cannot write the output: %s\n", strerror(errno));
    return CLI_IO_ERROR;
}
