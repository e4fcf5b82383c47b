#include "cli/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/barclamp.h"
#include "cli/nearest.h"
#include "cli/noun.h"

static const struct cli_noun *const nouns[] = {
    &barclamp_noun,
};

enum { NOUN_COUNT = sizeof nouns / sizeof nouns[0] };

/* ---- saying what there is ---- */

static void tell_nouns(FILE *out)
{
    fputs("usage: halligan NOUN VERB [...]\n\n", out);
    for (uint32_t i = 0; i < NOUN_COUNT; i++)
        fprintf(out, "  %-12s %s\n", nouns[i]->name, nouns[i]->is);
    fputs("\n"
          "  halligan NOUN --help       what can be done with it\n"
          "  halligan NOUN VERB --help  how\n"
          "  halligan --version, --help\n",
          out);
}

static void tell_verbs(FILE *out, const struct cli_noun *noun)
{
    fprintf(out, "usage: halligan %s VERB [...]\n\n", noun->name);
    for (uint32_t i = 0; i < noun->verb_count; i++)
        fprintf(out, "  %-12s %s\n", noun->verbs[i].name, noun->verbs[i].does);
}

static void tell_verb(const struct cli_noun *noun, const struct cli_verb *verb)
{
    printf("usage: halligan %s %s %s\n\n%s.\n\n%s", noun->name, verb->name, verb->takes, verb->does,
           verb->help);
}

/* ---- finding out what is meant ---- */

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool wants_help(const struct words *words)
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

static enum cli_exit run_verb(const struct cli_noun *noun, const struct cli_verb *verb,
                              struct words words)
{
    char whose[100];
    if (wants_help(&words)) {
        tell_verb(noun, verb);
        return CLI_FINE;
    }
    snprintf(whose, sizeof whose, "halligan %s %s", noun->name, verb->name);
    words.whose = whose;
    return verb->run(&words);
}

static enum cli_exit run_noun(const struct cli_noun *noun, struct words words)
{
    char whose[100];
    struct nearest nearest = {0};
    const char *word = words.count ? words.texts[0] : NULL;
    if (!word || is_help(word)) {
        tell_verbs(word ? stdout : stderr, noun);
        return word ? CLI_FINE : CLI_USAGE;
    }
    for (uint32_t i = 0; i < noun->verb_count; i++) {
        if (strcmp(word, noun->verbs[i].name) == 0)
            return run_verb(noun, &noun->verbs[i],
                            (struct words){.count = words.count - 1, .texts = words.texts + 1});
        nearest_offer(&nearest, word, noun->verbs[i].name);
    }
    snprintf(whose, sizeof whose, "halligan %s", noun->name);
    return say_unknown(whose, "verb", word, nearest.word);
}

static enum cli_exit run(const char *version, struct words words)
{
    struct nearest nearest = {0};
    const char *word = words.count ? words.texts[0] : NULL;
    if (!word || is_help(word)) {
        tell_nouns(word ? stdout : stderr);
        return word ? CLI_FINE : CLI_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("halligan %s\n", version);
        return CLI_FINE;
    }
    for (uint32_t i = 0; i < NOUN_COUNT; i++) {
        if (strcmp(word, nouns[i]->name) == 0)
            return run_noun(nouns[i],
                            (struct words){.count = words.count - 1, .texts = words.texts + 1});
        nearest_offer(&nearest, word, nouns[i]->name);
    }
    return say_unknown("halligan", word[0] == '-' ? "option" : "noun", word, nearest.word);
}

/* An answer that did not get out was not given. */
int cli_main(const char *version, int argc, char **argv)
{
    const enum cli_exit status =
        run(version, (struct words){.count = argc > 1 ? argc - 1 : 0, .texts = argv + 1});
    if (fflush(stdout) == 0 && !ferror(stdout))
        return (int)status;
    fprintf(stderr, "halligan: the answer cannot be written: %s\n", strerror(errno));
    return CLI_NOTHING;
}
