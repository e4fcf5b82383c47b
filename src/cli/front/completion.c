#include "cli/front/completion.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/args/option.h"

/* ---- what all of them need ---- */

/* "--output --quiet ..." */
static void put_options(uint32_t allowed, const char *before)
{
    for (uint32_t i = 0; i < option_count; i++)
        if (option_table[i].bit & allowed)
            printf("%s--%s", before, option_table[i].name);
    printf("%s--help", before);
}

static uint32_t options_of(const struct cli_verb *verb)
{
    return verb->ask ? verb->options | OPTION_SERVER : 0;
}

/* Its operand is an object of the noun. */
static bool takes_name(const struct cli_noun *noun, const struct cli_verb *verb)
{
    return noun->collection && verb->operands_min > 0 &&
           (strncmp(verb->takes, "NAME", 4) == 0 ||
            (noun->singular && strncasecmp(verb->takes, noun->singular, 4) == 0));
}

static void put_nouns(const struct completion_words *words)
{
    for (uint32_t i = 0; i < words->noun_count; i++)
        printf("%s ", words->nouns[i]->name);
    for (uint32_t i = 0; i < words->command_count; i++)
        printf("%s ", words->commands[i].name);
    printf("--help --version");
}

/* ---- bash, and zsh which reads the same cases ---- */

/* "nodes/list) options=... ;;" */
static void put_cases(const struct completion_words *words)
{
    for (uint32_t n = 0; n < words->noun_count; n++) {
        const struct cli_noun *noun = words->nouns[n];
        for (uint32_t v = 0; v < noun->verb_count; v++) {
            printf("        %s/%s) options=\"", noun->name, noun->verbs[v].name);
            put_options(options_of(&noun->verbs[v]), " ");
            printf("\"; named=%s ;;\n", takes_name(noun, &noun->verbs[v]) ? noun->name : "");
        }
    }
    for (uint32_t i = 0; i < words->command_count; i++) {
        printf("        %s/*) options=\"", words->commands[i].name);
        put_options(options_of(&words->commands[i]), " ");
        printf("\" ;;\n");
    }
}

static void put_verb_cases(const struct completion_words *words)
{
    for (uint32_t n = 0; n < words->noun_count; n++) {
        printf("        %s) verbs=\"", words->nouns[n]->name);
        for (uint32_t v = 0; v < words->nouns[n]->verb_count; v++)
            printf("%s ", words->nouns[n]->verbs[v].name);
        printf("--help\" ;;\n");
    }
}

/* Sets nouns, verbs, options and named from the noun and the verb. */
static void put_tables(const struct completion_words *words)
{
    printf("_halligan_tables() {\n    nouns=\"");
    put_nouns(words);
    printf("\"\n    verbs= options= named=\n    case \"$1\" in\n");
    put_verb_cases(words);
    printf("    esac\n    case \"$1/$2\" in\n");
    put_cases(words);
    printf("    esac\n}\n\n");
}

static void print_bash(const struct completion_words *words)
{
    printf("# Completion of halligan for bash. Made by `halligan completion bash`.\n\n");
    put_tables(words);
    fputs("_halligan() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local nouns verbs options named\n"
          "    _halligan_tables \"${COMP_WORDS[1]}\" \"${COMP_WORDS[2]}\"\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$nouns\" -- \"$cur\"))\n"
          "    elif [ \"$COMP_CWORD\" -eq 2 ] && [ -n \"$verbs\" ]; then\n"
          "        COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
          "    elif [[ $before == -o || $before == --output ]]; then\n"
          "        COMPREPLY=($(compgen -W 'table json yaml' -- \"$cur\"))\n"
          "    elif [[ $before == -f || $before == --file || $before == --ca ||\n"
          "            $before == --token-file ]]; then\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    elif [[ $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
          "    elif [ -n \"$named\" ] && [ \"$COMP_CWORD\" -eq 3 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$(halligan \"$named\" list -q </dev/null "
          "2>/dev/null)\" -- \"$cur\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    fi\n"
          "}\n\n"
          "complete -F _halligan halligan\n",
          stdout);
}

static void print_zsh(const struct completion_words *words)
{
    printf("#compdef halligan\n"
           "# Completion of halligan for zsh. Made by `halligan completion zsh`.\n\n");
    put_tables(words);
    fputs("_halligan() {\n"
          "    local nouns verbs options named\n"
          "    _halligan_tables \"${words[2]}\" \"${words[3]}\"\n"
          "    if (( CURRENT == 2 )); then\n"
          "        compadd -- ${=nouns}\n"
          "    elif (( CURRENT == 3 )) && [[ -n $verbs ]]; then\n"
          "        compadd -- ${=verbs}\n"
          "    elif [[ ${words[CURRENT-1]} == (-o|--output) ]]; then\n"
          "        compadd -- table json yaml\n"
          "    elif [[ ${words[CURRENT-1]} == (-f|--file|--ca|--token-file) ]]; then\n"
          "        _files\n"
          "    elif [[ ${words[CURRENT]} == -* ]]; then\n"
          "        compadd -- ${=options}\n"
          "    elif [[ -n $named ]] && (( CURRENT == 4 )); then\n"
          "        compadd -- ${(f)\"$(halligan $named list -q </dev/null 2>/dev/null)\"}\n"
          "    else\n"
          "        _files\n"
          "    fi\n"
          "}\n\n"
          "if [ \"$funcstack[1]\" = \"_halligan\" ]; then\n"
          "    _halligan \"$@\"\n"
          "else\n"
          "    compdef _halligan halligan\n"
          "fi\n",
          stdout);
}

/* ---- fish ---- */

/* A word and what it means. Fish takes what stands in these quotes as it is, so there must be none
 * of them in the texts. */
static void put_fish_word(const char *word, const char *does)
{
    printf("        printf '%%s\\t%%s\\n' %s '%s'\n", word, does);
}

static void put_fish_verbs(const struct completion_words *words)
{
    for (uint32_t n = 0; n < words->noun_count; n++) {
        printf("    case %s\n", words->nouns[n]->name);
        for (uint32_t v = 0; v < words->nouns[n]->verb_count; v++)
            put_fish_word(words->nouns[n]->verbs[v].name, words->nouns[n]->verbs[v].does);
    }
}

static void put_fish_options(const struct completion_words *words)
{
    for (uint32_t n = 0; n < words->noun_count; n++) {
        const struct cli_noun *noun = words->nouns[n];
        for (uint32_t v = 0; v < noun->verb_count; v++) {
            printf("    case %s/%s\n        set options", noun->name, noun->verbs[v].name);
            put_options(options_of(&noun->verbs[v]), " ");
            printf("\n");
            if (takes_name(noun, &noun->verbs[v]))
                printf("        set named %s\n", noun->name);
        }
    }
    for (uint32_t i = 0; i < words->command_count; i++) {
        printf("    case '%s/*'\n        set options", words->commands[i].name);
        put_options(options_of(&words->commands[i]), " ");
        printf("\n");
    }
}

static void put_fish_nouns(const struct completion_words *words)
{
    printf("function __halligan_nouns\n");
    for (uint32_t n = 0; n < words->noun_count; n++)
        put_fish_word(words->nouns[n]->name, words->nouns[n]->is);
    for (uint32_t i = 0; i < words->command_count; i++)
        put_fish_word(words->commands[i].name, words->commands[i].does);
    printf("end\n\nfunction __halligan_verbs\n    switch $argv[1]\n");
    put_fish_verbs(words);
    printf("    end\nend\n\n");
}

static void print_fish(const struct completion_words *words)
{
    printf("# Completion of halligan for fish. Made by `halligan completion fish`.\n\n");
    put_fish_nouns(words);
    printf("function __halligan_others\n    set -l options\n    set -l named\n"
           "    switch \"$argv[1]/$argv[2]\"\n");
    put_fish_options(words);
    fputs("    end\n"
          "    if contains -- $argv[-1] -o --output\n"
          "        printf '%s\\n' table json yaml\n"
          "    else if contains -- $argv[-1] -f --file --ca --token-file\n"
          "        __fish_complete_path (commandline -ct)\n"
          "    else if string match -q -- '-*' (commandline -ct)\n"
          "        printf '%s\\n' $options\n"
          "    else if test -n \"$named\"; and test (count $argv) -eq 2\n"
          "        halligan $named list -q </dev/null 2>/dev/null\n"
          "    else\n"
          "        __fish_complete_path (commandline -ct)\n"
          "    end\n"
          "end\n\n"
          "function __halligan_words\n"
          "    set -l before (commandline -opc)[2..]\n"
          "    switch (count $before)\n"
          "    case 0\n"
          "        __halligan_nouns\n"
          "    case 1\n"
          "        __halligan_verbs $before\n"
          "    case '*'\n"
          "        __halligan_others $before\n"
          "    end\n"
          "end\n\n"
          "complete -c halligan -f -a '(__halligan_words)'\n",
          stdout);
}

enum cli_exit completion_print(const char *shell, const struct completion_words *words)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(words);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(words);
    else if (strcmp(shell, "fish") == 0)
        print_fish(words);
    else
        return CLI_USAGE;
    return CLI_OK;
}
