#include "cli/output/prompt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/str.h"

/* Owns the file descriptor of /dev/tty for the duration of one question, and while a secret is read
 * the settings of the terminal.
 *
 * Order of a secret: save the settings, switch echo off, print the question, read the line, restore
 * the settings, and only then raise a SIGINT that was typed.
 *
 * Failure: without a terminal, after an error and for an empty line the result is NULL, and nothing
 * is printed to stderr; the caller reports it. A signal from another process that ends this one
 * while a secret is read leaves echo off. */

enum { ANSWER_SIZE = 1024 }; /* bytes; a longer line is cut */

static bool prompt_write(int terminal, const char *text)
{
    return write(terminal, text, strlen(text)) >= 0;
}

/* A line without its newline; NULL: it is empty or cannot be read. The terminal is in canonical
 * mode, so one read returns one line. */
static const char *prompt_read_line(struct arena *a, int terminal)
{
    char line[ANSWER_SIZE];
    const ssize_t n = read(terminal, line, sizeof line);
    size_t len = n > 0 ? (size_t)n : 0;
    if (len && line[len - 1] == '\n')
        len--;
    if (len == 0)
        return NULL;
    char *answer = arena_alloc(a, len + 1);
    memcpy(answer, line, len);
    answer[len] = 0;
    explicit_bzero(line, sizeof line);
    return answer;
}

/* Read a line without echo. A SIGINT from the keyboard would end the process while echo is off, so
 * ISIG is cleared and the interrupt key only ends the line. The signal is raised after the settings
 * of the terminal are restored. */
static const char *prompt_ask_hidden(struct arena *a, int terminal, const char *question)
{
    struct termios before, hidden;
    if (tcgetattr(terminal, &before) != 0)
        return NULL;
    hidden = before;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    hidden.c_lflag |= ICANON;
    hidden.c_cc[VEOL] = before.c_cc[VINTR];
    if (tcsetattr(terminal, TCSAFLUSH, &hidden) != 0)
        return NULL;
    /* Print the prompt after echo is off: input before that would be echoed, and TCSAFLUSH drops
     * it. */
    const char *answer = prompt_write(terminal, question) ? prompt_read_line(a, terminal) : NULL;
    ignore(tcsetattr(terminal, TCSAFLUSH, &before), "no other way to restore the terminal");
    ignore(prompt_write(terminal, "\n"), "cosmetic: the newline was not echoed");
    const char key = (char)before.c_cc[VINTR];
    if (!answer || !key || !strchr(answer, key))
        return answer;
    ignore(raise(SIGINT), "if a handler catches the signal, there is no input");
    return NULL;
}

static int prompt_open_tty(void)
{
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

bool prompt_is_possible(void)
{
    const int terminal = prompt_open_tty();
    if (terminal >= 0)
        ignore(close(terminal), "no data is buffered in it");
    return terminal >= 0;
}

static const char *prompt_ask(struct arena *a, const char *question, const char *about,
                              bool is_secret)
{
    const int terminal = prompt_open_tty();
    const char *answer = NULL;
    if (terminal < 0)
        return NULL;
    const char *asked = str_z(a, STR_CONCAT(a, str_from(question), str_from(about), STR(": ")));
    if (is_secret)
        answer = prompt_ask_hidden(a, terminal, asked);
    else if (prompt_write(terminal, asked))
        answer = prompt_read_line(a, terminal);
    ignore(close(terminal), "no data is buffered in it");
    return answer;
}

const char *prompt_text(struct arena *a, const char *question, const char *about)
{
    return prompt_ask(a, question, about, false);
}

const char *prompt_secret(struct arena *a, const char *question, const char *about)
{
    return prompt_ask(a, question, about, true);
}
