#include "cli/args/args.h"

#include <stdio.h>
#include <string.h>

#include "base/text/suggest.h"

void args_complain(const struct args *words, const char *what, const char *about)
{
    fprintf(stderr, "%s: %s: %s\n", words->whose, what, about);
}

/* One reading of the words. */
struct taking {
    struct args *words;
    const struct args_option *options;
    uint32_t count;
    int at; /* the next word */
    bool wrong;
};

static void complain(struct taking *t, const char *what, const char *about)
{
    args_complain(t->words, what, about);
    t->wrong = true;
}

static void say_unknown(struct taking *t, const char *word)
{
    char known[64];
    struct suggestion nearest = {0};
    for (uint32_t i = 0; i < t->count; i++)
        suggest_offer(&nearest, word + strspn(word, "-"), t->options[i].name);
    snprintf(known, sizeof known, "there is no such option%s%s%s", nearest.word ? " (--" : "",
             nearest.word ? nearest.word : "", nearest.word ? " is the nearest)" : "");
    complain(t, known, word);
}

/* `attached`: the value that stands in the word itself; NULL: none. */
static void take(struct taking *t, const struct args_option *option, const char *word,
                 const char *attached)
{
    if (option->flag) {
        if (attached)
            complain(t, "this option takes no value", word);
        *option->flag = true;
        return;
    }
    if (!attached && t->at < t->words->count)
        attached = t->words->texts[t->at++];
    if (!attached)
        complain(t, "this option needs a value", word);
    else if (option->value)
        *option->value = attached;
    else if (option->list->count < ARGS_LIST_MAX)
        option->list->texts[option->list->count++] = attached;
    else
        complain(t, "this option was given too often", word);
}

static void take_long(struct taking *t, const char *word)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    const size_t len = equals ? (size_t)(equals - name) : strlen(name);
    for (uint32_t i = 0; i < t->count; i++)
        if (strlen(t->options[i].name) == len && memcmp(t->options[i].name, name, len) == 0) {
            take(t, &t->options[i], word, equals ? equals + 1 : NULL);
            return;
        }
    say_unknown(t, word);
}

static void take_short(struct taking *t, const char *word)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->options[i].letter && t->options[i].letter == word[1]) {
            take(t, &t->options[i], word, word[2] ? word + 2 : NULL);
            return;
        }
    say_unknown(t, word);
}

bool args_take_options(struct args *words, const struct args_option *options, uint32_t count)
{
    struct taking t = {.words = words, .options = options, .count = count};
    int kept = 0;
    bool ended = false;
    while (t.at < words->count) {
        char *word = words->texts[t.at++];
        if (ended || word[0] != '-' || word[1] == 0)
            words->texts[kept++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (word[1] == '-')
            take_long(&t, word);
        else
            take_short(&t, word);
    }
    words->count = kept;
    return !t.wrong;
}
