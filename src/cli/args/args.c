#include "cli/args/args.h"

#include <stdio.h>
#include <string.h>

#include "base/text/suggest.h"

/* The parser makes one pass over the arguments. It compacts the operands to the front of
 * args->words in place, so that no memory is allocated; `at` is always ahead of the write position.
 * An error sets has_error and parsing continues with the next argument, so that all errors are
 * printed; the caller must not use the values then. Values point to the arguments. */

void args_error(const struct args *args, const char *what, const char *about)
{
    fprintf(stderr, "%s: %s: %s\n", args->prog, what, about);
}

/* The state of one pass over the arguments. */
struct option_parser {
    struct args *args;
    const struct args_option *options;
    uint32_t count;
    int at; /* index of the next argument */
    bool has_error;
};

static void args_option_error(struct option_parser *t, const char *what, const char *about)
{
    args_error(t->args, what, about);
    t->has_error = true;
}

static void args_unknown_option(struct option_parser *t, const char *word)
{
    char known[64];
    struct suggestion nearest = {0};
    for (uint32_t i = 0; i < t->count; i++)
        suggest_offer(&nearest, word + strspn(word, "-"), t->options[i].name);
    snprintf(known, sizeof known, "unknown option%s%s%s", nearest.word ? " (did you mean --" : "",
             nearest.word ? nearest.word : "", nearest.word ? "?)" : "");
    args_option_error(t, known, word);
}

/* `attached` is the value within the same argument ("--name=value", "-nvalue"); NULL: none, and an
 * option with a value takes the next argument. */
static void args_set_option(struct option_parser *t, const struct args_option *option,
                            const char *word, const char *attached)
{
    if (option->flag) {
        if (attached)
            args_option_error(t, "the option takes no value", word);
        *option->flag = true;
        return;
    }
    if (!attached && t->at < t->args->count)
        attached = t->args->words[t->at++];
    if (!attached)
        args_option_error(t, "the option needs a value", word);
    else if (option->value)
        *option->value = attached;
    else if (option->list->count < ARGS_LIST_MAX)
        option->list->values[option->list->count++] = attached;
    else
        args_option_error(t, "the option is repeated too often", word);
}

static void args_parse_long(struct option_parser *t, const char *word)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    const size_t len = equals ? (size_t)(equals - name) : strlen(name);
    for (uint32_t i = 0; i < t->count; i++)
        if (strlen(t->options[i].name) == len && memcmp(t->options[i].name, name, len) == 0) {
            args_set_option(t, &t->options[i], word, equals ? equals + 1 : NULL);
            return;
        }
    args_unknown_option(t, word);
}

static void args_parse_short(struct option_parser *t, const char *word)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->options[i].letter && t->options[i].letter == word[1]) {
            args_set_option(t, &t->options[i], word, word[2] ? word + 2 : NULL);
            return;
        }
    args_unknown_option(t, word);
}

bool args_parse_options(struct args *args, const struct args_option *options, uint32_t count)
{
    struct option_parser t = {.args = args, .options = options, .count = count};
    int kept = 0;
    bool ended = false;
    while (t.at < args->count) {
        char *word = args->words[t.at++];
        if (ended || word[0] != '-' || word[1] == 0)
            args->words[kept++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (word[1] == '-')
            args_parse_long(&t, word);
        else
            args_parse_short(&t, word);
    }
    args->count = kept;
    return !t.has_error;
}
