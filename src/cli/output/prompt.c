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

enum { ANSWER_SIZE = 1024 };

static bool say(int terminal, const char *text)
{
    return write(terminal, text, strlen(text)) >= 0;
}

/* A line without its end; NULL when there is none. */
static const char *read_line(struct arena *a, int terminal)
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

/* A signal from the keyboard would leave the terminal mute. So its key only ends the line, and the
 * signal follows when the terminal is as it was. */
static const char *ask_muted(struct arena *a, int terminal, const char *question)
{
    struct termios before, muted;
    if (tcgetattr(terminal, &before) != 0)
        return NULL;
    muted = before;
    muted.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    muted.c_lflag |= ICANON;
    muted.c_cc[VEOL] = before.c_cc[VINTR];
    if (tcsetattr(terminal, TCSAFLUSH, &muted) != 0)
        return NULL;
    /* Only now: what is typed before the terminal is mute would be seen, and lost. */
    const char *answer = say(terminal, question) ? read_line(a, terminal) : NULL;
    ignore(tcsetattr(terminal, TCSAFLUSH, &before), "there is nothing else to try");
    ignore(say(terminal, "\n"), "only for the eye");
    const char key = (char)before.c_cc[VINTR];
    if (!answer || !key || !strchr(answer, key))
        return answer;
    ignore(raise(SIGINT), "if somebody catches it, there is no answer");
    return NULL;
}

static int open_terminal(void)
{
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

bool prompt_is_possible(void)
{
    const int terminal = open_terminal();
    if (terminal >= 0)
        ignore(close(terminal), "nothing was kept in it");
    return terminal >= 0;
}

static const char *ask(struct arena *a, const char *question, const char *about, bool is_secret)
{
    const int terminal = open_terminal();
    const char *answer = NULL;
    if (terminal < 0)
        return NULL;
    const char *asked = str_z(a, STR_CONCAT(a, str_from(question), str_from(about), STR(": ")));
    if (is_secret)
        answer = ask_muted(a, terminal, asked);
    else if (say(terminal, asked))
        answer = read_line(a, terminal);
    ignore(close(terminal), "nothing was kept in it");
    return answer;
}

const char *prompt_text(struct arena *a, const char *question, const char *about)
{
    return ask(a, question, about, false);
}

const char *prompt_secret(struct arena *a, const char *question, const char *about)
{
    return ask(a, question, about, true);
}
