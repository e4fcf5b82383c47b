#define _GNU_SOURCE /* pipe2 */

#include "check/script_syntax.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "content/role_file.h"
#include "sys/clock.h"

enum { ONE_MS_MAX = 5000, ALL_MS_MAX = 30000, SAID_MAX = 1000, FIRST_LINE_MAX = 200 };

extern char **environ;

static const struct text_place nowhere;

struct checking {
    struct diagnostics *report;
    const atomic_bool *stop;
    int64_t until_ms;
};

static bool is_over(const struct checking *c)
{
    return (c->stop && atomic_load(c->stop)) || sys_mono_ms() >= c->until_ms;
}

/* ---- which shell ---- */

/* "sh" of "#!/bin/sh -e" and of "#!/usr/bin/env sh"; NULL: another language, or no text. */
static const char *shell_named(const char *line)
{
    static const char *const shells[] = {"sh", "dash", "bash", "ksh", "zsh"};
    const char *word = line + 2 + strspn(line + 2, " \t");
    size_t len = strcspn(word, " \t\n");
    if (len >= 4 && memcmp(word + len - 4, "/env", 4) == 0) {
        word += len + strspn(word + len, " \t");
        len = strcspn(word, " \t\n");
    }
    for (size_t i = len; i > 0; i--)
        if (word[i - 1] == '/') {
            word += i;
            len -= i;
            break;
        }
    for (uint32_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strlen(shells[i]) == len && memcmp(shells[i], word, len) == 0)
            return shells[i];
    return NULL;
}

static const char *shell_of(const char *path)
{
    char line[FIRST_LINE_MAX + 1] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = fd < 0 ? -1 : read(fd, line, FIRST_LINE_MAX);
    if (fd >= 0)
        ignore(close(fd), "it was only read");
    if (got < 0)
        return NULL; /* barclamp_files.h says what cannot be read */
    if (strncmp(line, "#!", 2) == 0)
        return shell_named(line);
    return str_ends(str_from(path), STR(".sh")) ? "sh" : NULL;
}

/* ---- asking it ---- */

/* A child whose stderr is a pipe. False: the shell cannot be started. */
static bool spawn_shell(const char *shell, const char *path, pid_t *out_pid, int *out_fd)
{
    char *const words[] = {(char *)(uintptr_t)shell, (char *)(uintptr_t) "-n",
                           (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    must(posix_spawn_file_actions_init(&actions) == 0);
    must(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0);
    must(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0);
    must(posix_spawn_file_actions_adddup2(&actions, ends[1], 2) == 0);
    const int failed = posix_spawnp(out_pid, shell, &actions, NULL, words, environ);
    must(posix_spawn_file_actions_destroy(&actions) == 0);
    ignore(close(ends[1]), "the child has its own");
    *out_fd = ends[0];
    if (failed)
        ignore(close(ends[0]), "there is no child that writes to it");
    return !failed;
}

/* What it says until it ends or its time is over; true: it ended by itself. */
static bool read_said(int fd, char *said, size_t *out_len)
{
    const int64_t until = sys_mono_ms() + ONE_MS_MAX;
    for (*out_len = 0;;) {
        char spare[512];
        struct pollfd look = {.fd = fd, .events = POLLIN};
        const int64_t left = until - sys_mono_ms();
        const bool has_room = *out_len < SAID_MAX;
        if (left <= 0 || poll(&look, 1, (int)left) < 0)
            return left > 0 && errno == EINTR;
        const ssize_t got = read(fd, has_room ? said + *out_len : spare,
                                 has_room ? SAID_MAX - *out_len : sizeof spare);
        if (got <= 0)
            return true;
        *out_len += has_room ? (size_t)got : 0;
    }
}

/* "PATH: 3: text" and "PATH: line 3: text": the line goes where lines go. */
static struct text_place take_place(struct str path, struct str *text)
{
    struct text_place at = nowhere;
    int64_t line;
    struct str rest = *text;
    if (!str_starts(rest, path) || !str_starts(str_slice(rest, path.len, rest.len), STR(": ")))
        return at;
    rest = str_slice(rest, path.len + 2, rest.len);
    if (str_starts(rest, STR("line ")))
        rest = str_slice(rest, 5, rest.len);
    const uint32_t end = str_find(rest, ':', 0);
    if (end == rest.len || !str_parse_i64(str_slice(rest, 0, end), &line) || line > UINT32_MAX)
        return at;
    at.line = (uint32_t)line;
    rest = str_slice(rest, end + 1, rest.len);
    *text = str_starts(rest, STR(" ")) ? str_slice(rest, 1, rest.len) : rest;
    return at;
}

static void check_script(struct checking *c, const char *path)
{
    char said[SAID_MAX];
    size_t len;
    pid_t pid;
    int fd, status = 0;
    const char *shell = shell_of(path);
    if (!shell || !spawn_shell(shell, path, &pid, &fd))
        return;
    const bool has_ended = read_said(fd, said, &len);
    if (!has_ended)
        ignore(kill(pid, SIGKILL), "it may have ended by now");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    ignore(close(fd), "it was only read");
    struct arena *a = c->report->arena;
    const struct str file = str_copy(a, str_from(path));
    if (!has_ended) {
        diagnostics_warning(diagnostics_as(c->report, "script_unchecked"), file, nowhere,
                            "%s -n did not end within %d s; the script was not looked at", shell,
                            ONE_MS_MAX / 1000);
        return;
    }
    /* 127: there is no such shell on this machine. */
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 127)
        return;
    struct str text = str_is_clean((struct str){said, (uint32_t)len})
                          ? str_copy(a, (struct str){said, (uint32_t)len})
                          : STR("its shell cannot read it");
    text = str_slice(text, 0, str_find(text, '\n', 0)); /* the first error is what is wrong */
    const struct text_place at = take_place(file, &text);
    diagnostics_error(diagnostics_as(c->report, "script_invalid"), file, at, "%s -n: %.*s", shell,
                      STR_FMT_ARGS(text));
}

/* ---- all of them ---- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void check_folder(struct checking *c, const char *folder)
{
    struct dirent **names;
    char path[PATH_MAX];
    struct stat facts;
    const int count = scandir(folder, &names, is_visible, by_name);
    for (int i = 0; i < count; i++) {
        const int len = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        const bool is_script = len > 0 && len < (int)sizeof path && stat(path, &facts) == 0 &&
                               S_ISREG(facts.st_mode) &&
                               (facts.st_mode & 0111 || str_ends(str_from(path), STR(".sh")));
        if (is_script && !is_over(c))
            check_script(c, path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

static void check_file(struct checking *c, const struct barclamp_file *file)
{
    struct arena scratch = {0};
    const struct json *roles = json_get(file->tree, STR("roles"));
    const bool is_list = roles && roles->kind == JSON_ARRAY;
    const struct json *own =
        file->is_yaml ? NULL : json_at(file->tree, STR("barclamp/source_path"));
    const struct str source =
        own && own->kind == JSON_STRING && own->text.len ? own->text : file->source_path;
    for (const struct json *role = is_list ? roles->first : NULL; role; role = role->next) {
        const char *folder;
        const struct json *name = json_get(role, STR("name"));
        if (name && name->kind == JSON_STRING &&
            content_role_file(&scratch, source, name->text, ROLE_FILE_SCRIPTS, &folder) == OK)
            check_folder(c, folder);
    }
    arena_fini(&scratch);
}

void script_syntax_exclude(struct content_tree *tree, uint32_t i)
{
    struct barclamp_file *file = &tree->files[i];
    if (file->is_yaml) {
        file->draft = file->document;
        file->document = STR("");
        tree->drafts[tree->draft_count++] = *file;
    }
    for (uint32_t k = i + 1; k < tree->count; k++)
        tree->files[k - 1] = tree->files[k];
    tree->count--;
}

void script_syntax_check(struct diagnostics *r, struct content_tree *tree, const atomic_bool *stop)
{
    struct checking c = {r, stop, sys_mono_ms() + ALL_MS_MAX};
    for (uint32_t i = 0; i < tree->draft_count; i++)
        check_file(&c, &tree->drafts[i]);
    for (uint32_t i = 0; i < tree->count; i++) {
        const uint32_t errors_before = r->errors;
        check_file(&c, &tree->files[i]);
        if (r->errors > errors_before)
            script_syntax_exclude(tree, i--);
    }
    if (sys_mono_ms() >= c.until_ms)
        diagnostics_warning(diagnostics_as(r, "script_unchecked"), STR("scripts"), nowhere,
                            "not all scripts were given to their shells within %d s",
                            ALL_MS_MAX / 1000);
}
