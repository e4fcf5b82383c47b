#include "cli/front/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/suggest.h"
#include "cli/args/noun.h"
#include "cli/args/option.h"
#include "cli/cmd/barclamp_exec.h"
#include "cli/cmd/cmd_auth.h"
#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/request.h"
#include "cli/cmd/watch.h"
#include "cli/front/completion.h"

enum { NOUNS_MAX = 32 };

/* ---- what has no noun ---- */

static enum cli_exit run_completion(struct args *words);

static const char login_help[] =
    "Asks for a password, makes a token and keeps it in ~/.config/halligan/config, which nobody\n"
    "else can read. FIELD=VALUE are fields of the token, such as expires_at.\n";
static const char wait_help[] =
    "NOUN is node, deployment, noderole and so on. Looks again and again until the field has the\n"
    "value; a state may be named. Exits with 8 when the time is over.\n";
static const char inventory_help[] =
    "A dynamic inventory for Ansible: --list is everything, --host the variables of one host.\n";
static const char completion_help[] =
    "Prints a script for the shell: bash, zsh or fish. An installation has them in place.\n";

static const struct cli_verb commands[] = {
    {.name = "wait",
     .takes = "NOUN NAME FIELD VALUE",
     .does = "Wait until a field has a value",
     .help = wait_help,
     .ask = watch_wait,
     .options = OPTION_TIMEOUT,
     .operands_min = 4,
     .operands_max = 4},
    {.name = "inventory",
     .takes = "",
     .does = "Tell Ansible what there is",
     .help = inventory_help,
     .ask = cmd_explain_inventory,
     .options = OPTION_LIST | OPTION_HOST | OPTION_OUTPUT},
    {.name = "login",
     .takes = "[FIELD=VALUE...]",
     .does = "Make a token and keep it",
     .help = login_help,
     .ask = cmd_auth_login,
     .operands_max = OPERANDS_ANY},
    {.name = "logout",
     .takes = "",
     .does = "Delete that token, here and there",
     .help = "",
     .ask = cmd_auth_logout},
    {.name = "completion",
     .takes = "SHELL",
     .does = "Print what a shell needs to complete words",
     .help = completion_help,
     .run = run_completion},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* ---- all nouns ---- */

struct all_nouns {
    const struct cli_noun *at[NOUNS_MAX];
    uint32_t count;
};

static struct all_nouns all_nouns(void)
{
    struct all_nouns all = {.count = 0};
    must(online_noun_count < NOUNS_MAX);
    for (uint32_t i = 0; i < online_noun_count; i++)
        all.at[all.count++] = online_nouns[i];
    all.at[all.count++] = &barclamp_noun;
    return all;
}

static enum cli_exit run_completion(struct args *words)
{
    const struct all_nouns all = all_nouns();
    const struct completion_words known = {.nouns = all.at,
                                           .noun_count = all.count,
                                           .commands = commands,
                                           .command_count = COMMAND_COUNT};
    if (words->count != 1)
        args_complain(words, "one shell", "bash, zsh or fish");
    else if (completion_print(words->texts[0], &known) == CLI_OK)
        return CLI_OK;
    else
        args_complain(words, "the shell is bash, zsh or fish, not", words->texts[0]);
    return CLI_USAGE;
}

/* ---- saying what there is ---- */

static void tell_nouns(FILE *out)
{
    const struct all_nouns all = all_nouns();
    fputs("usage: halligan NOUN VERB [...]\n\n", out);
    for (uint32_t i = 0; i < all.count; i++)
        fprintf(out, "  %-18s %s\n", all.at[i]->name, all.at[i]->is);
    fputs("\n", out);
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-18s %s\n", commands[i].name, commands[i].does);
    fputs("\n"
          "  halligan NOUN --help       what can be done with it\n"
          "  halligan NOUN VERB --help  how\n"
          "  halligan --version, --help\n"
          "\n"
          "Options may stand in front of the noun, between noun and verb, and behind them.\n",
          out);
}

static void tell_verbs(FILE *out, const struct cli_noun *noun)
{
    fprintf(out, "usage: halligan %s VERB [...]\n\n", noun->name);
    for (uint32_t i = 0; i < noun->verb_count; i++)
        fprintf(out, "  %-12s %s\n", noun->verbs[i].name, noun->verbs[i].does);
}

static void tell_verb(const char *whose, const struct cli_verb *verb)
{
    printf("usage: %s%s%s%s\n\n%s.\n", whose, verb->takes[0] ? " " : "", verb->takes,
           verb->ask ? " [OPTION...]" : "", verb->does);
    if (verb->help[0])
        printf("\n%s", verb->help);
    if (!verb->ask)
        return;
    fputs("\n", stdout);
    options_tell(stdout, verb->options);
    options_tell(stdout, OPTION_SERVER);
}

/* ---- finding out what is meant ---- */

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool wants_help(const struct args *words)
{
    for (int i = 0; i < words->count && strcmp(words->texts[i], "--") != 0; i++)
        if (is_help(words->texts[i]))
            return true;
    return false;
}

static enum cli_exit say_unknown(const char *whose, const char *kind, const char *word,
                                 const char *nearest)
{
    fprintf(stderr, "%s: there is no %s \"%s\"", whose, kind, word);
    if (nearest)
        fprintf(stderr, "; did you mean \"%s\"?", nearest);
    fprintf(stderr, "\n%s --help says what there is\n", whose);
    return CLI_USAGE;
}

/* `noun` is NULL for what has none. */
static enum cli_exit run_verb(const struct cli_noun *noun, const struct cli_verb *verb,
                              struct args words)
{
    char whose[100];
    snprintf(whose, sizeof whose, "halligan%s%s %s", noun ? " " : "", noun ? noun->name : "",
             verb->name);
    if (wants_help(&words)) {
        tell_verb(whose, verb);
        return CLI_OK;
    }
    words.whose = whose;
    return verb->run ? verb->run(&words) : request_run(noun, verb, &words);
}

static struct args behind(struct args words)
{
    return (struct args){.count = words.count - 1, .texts = words.texts + 1};
}

/* An option that was moved behind the operands comes first where an operand is missing. */
static bool is_missing(const char *word)
{
    bool has_value;
    return !word || option_find(word, &has_value);
}

static enum cli_exit run_noun(const struct cli_noun *noun, struct args words)
{
    char whose[100];
    struct suggestion nearest = {0};
    const char *word = words.count ? words.texts[0] : NULL;
    if (is_missing(word) || is_help(word)) {
        tell_verbs(is_missing(word) ? stderr : stdout, noun);
        return is_missing(word) ? CLI_USAGE : CLI_OK;
    }
    for (uint32_t i = 0; i < noun->verb_count; i++) {
        if (strcmp(word, noun->verbs[i].name) == 0)
            return run_verb(noun, &noun->verbs[i], behind(words));
        suggest_offer(&nearest, word, noun->verbs[i].name);
    }
    snprintf(whose, sizeof whose, "halligan %s", noun->name);
    return say_unknown(whose, "verb", word, nearest.word);
}

static bool is_called(const struct cli_noun *noun, const char *word)
{
    return strcmp(word, noun->name) == 0 || (noun->singular && strcmp(word, noun->singular) == 0);
}

static enum cli_exit run_known(const char *word, struct args words)
{
    struct suggestion nearest = {0};
    const struct all_nouns all = all_nouns();
    for (uint32_t i = 0; i < all.count; i++) {
        if (is_called(all.at[i], word))
            return run_noun(all.at[i], behind(words));
        suggest_offer(&nearest, word, all.at[i]->name);
    }
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0)
            return run_verb(NULL, &commands[i], behind(words));
        suggest_offer(&nearest, word, commands[i].name);
    }
    return say_unknown("halligan", word[0] == '-' ? "option" : "noun", word, nearest.word);
}

static enum cli_exit run(const char *version, struct args words)
{
    const char *word = words.count ? words.texts[0] : NULL;
    if (is_missing(word) || is_help(word)) {
        tell_nouns(is_missing(word) ? stderr : stdout);
        return is_missing(word) ? CLI_USAGE : CLI_OK;
    }
    if (strcmp(word, "--version") == 0) {
        printf("halligan %s\n", version);
        return CLI_OK;
    }
    return run_known(word, words);
}

/* ---- options in front of the noun and the verb ---- */

/* Options may stand in front of the noun and between it and the verb. They are moved behind the
 * first two operands, in their order, so that the noun and the verb come first. "--help" and "
 * --version" are no options of a verb and stay where they are. The value of an option goes with
 * it. */
static void move_options_behind(struct args *words, char **moved)
{
    int operands = 0, kept = 0, count = 0, at = 0;
    while (at < words->count && operands < 2) {
        char *word = words->texts[at];
        bool has_value = false;
        const bool is_plain = word[0] != '-' || word[1] == 0 || is_help(word) ||
                              strcmp(word, "--version") == 0 || strcmp(word, "--") == 0;
        const struct option *option = is_plain ? NULL : option_find(word, &has_value);
        at++;
        if (is_plain || !option) {
            words->texts[kept++] = word;
            /* What is unknown in front of the noun is complained about there. */
            operands = option || word[0] != '-' ? operands + 1 : 2;
            continue;
        }
        moved[count++] = word;
        if (option->value && !has_value && at < words->count)
            moved[count++] = words->texts[at++];
    }
    memcpy(words->texts + kept, moved, (size_t)count * sizeof *moved);
}

/* An answer that did not get out was not given. */
int cli_main(const char *version, int argc, char **argv)
{
    struct args words = {.count = argc > 1 ? argc - 1 : 0, .texts = argv + 1};
    char **moved = calloc((size_t)argc + 1, sizeof *moved);
    if (!moved) {
        fputs("halligan: there is no memory left\n", stderr);
        return CLI_IO_ERROR;
    }
    move_options_behind(&words, moved);
    const enum cli_exit status = run(version, words);
    free(moved);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return (int)status;
    fprintf(stderr, "halligan: the answer cannot be written: %s\n", strerror(errno));
    return CLI_IO_ERROR;
}
