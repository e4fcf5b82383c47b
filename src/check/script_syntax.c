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

/* Runs the shell of each script with -n, which only parses it.
 *
 * Owns the child process, one at a time, and the read end of its pipe; both end within
 * script_check_one. The shell is a child process whose stderr is a pipe. Its output is read before
 * it is reaped, so that it does not block on a full pipe, and only the first bytes are kept; it is
 * always reaped before the result is evaluated. The time limit for one script is tested before each
 * read, and a read blocks: a child that neither writes nor ends is not killed.
 *
 * Drafts are checked before files, because a file with an error is appended to the drafts and must
 * not be checked twice.
 *
 * Failure: a script with a syntax error excludes its barclamp from the import. A script that cannot
 * be checked excludes nothing: the shell is not installed or cannot be started (not reported), or
 * the time is up (warning). */

enum {
    ONE_MS_MAX = 5000,    /* for one script */
    ALL_MS_MAX = 30000,   /* for all scripts */
    OUTPUT_MAX = 1000,    /* bytes of stderr that are kept */
    FIRST_LINE_MAX = 200, /* bytes that are read to find the shell */
};

extern char **environ;

static const struct text_position nowhere;

struct script_check {
    struct diagnostics *report;
    const atomic_bool *stop; /* set by another thread to end the check early; NULL: never */
    int64_t deadline_ms;     /* for all scripts, monotonic time */
};

static bool script_time_is_up(const struct script_check *c)
{
    return (c->stop && atomic_load(c->stop)) || sys_mono_ms() >= c->deadline_ms;
}

/* ---- the shell of a script ---- */

/* "sh" for "#!/bin/sh -e" and for "#!/usr/bin/env sh"; NULL: not a shell. */
static const char *script_shell_named(const char *line)
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

/* The shell of the first line, or sh for a *.sh without one; NULL: another language. O_NONBLOCK: a
 * FIFO that replaced the file must not block the open. */
static const char *script_shell(const char *path)
{
    char line[FIRST_LINE_MAX + 1] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = fd < 0 ? -1 : read(fd, line, FIRST_LINE_MAX);
    if (fd >= 0)
        ignore(close(fd), "opened for reading only");
    if (got < 0)
        return NULL; /* barclamp_files.c reports files that cannot be read */
    if (strncmp(line, "#!", 2) == 0)
        return script_shell_named(line);
    return str_ends(str_from(path), STR(".sh")) ? "sh" : NULL;
}

/* ---- running the shell ---- */

/* Start a child whose stderr is a pipe. False: the shell cannot be started. */
static bool script_spawn_shell(const char *shell, const char *path, pid_t *out_pid, int *out_fd)
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
    ignore(close(ends[1]), "the child has its own copy");
    *out_fd = ends[0];
    if (failed)
        ignore(close(ends[0]), "no child was started");
    return !failed;
}

/* Read the output until the pipe ends or the time is up. True: the pipe ended, or a signal
 * interrupted poll(2). */
static bool script_read_output(int fd, char *output, size_t *out_len)
{
    const int64_t until = sys_mono_ms() + ONE_MS_MAX;
    for (*out_len = 0;;) {
        char spare[512];
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        const int64_t left = until - sys_mono_ms();
        const bool has_room = *out_len < OUTPUT_MAX;
        if (left <= 0 || poll(&poll_fd, 1, (int)left) < 0)
            return left > 0 && errno == EINTR;
        const ssize_t got = read(fd, has_room ? output + *out_len : spare,
                                 has_room ? OUTPUT_MAX - *out_len : sizeof spare);
        if (got <= 0)
            return true;
        *out_len += has_room ? (size_t)got : 0;
    }
}

/* Remove "PATH: 3: " or "PATH: line 3: " from the message and return the line. */
static struct text_position script_take_line(struct str path, struct str *text)
{
    struct text_position at = nowhere;
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

static void script_check_one(struct script_check *c, const char *path)
{
    char output[OUTPUT_MAX];
    size_t len;
    pid_t pid;
    int fd, status = 0;
    const char *shell = script_shell(path);
    if (!shell || !script_spawn_shell(shell, path, &pid, &fd))
        return;
    const bool has_ended = script_read_output(fd, output, &len);
    if (!has_ended)
        ignore(kill(pid, SIGKILL), "the child may have ended by now");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    ignore(close(fd), "opened for reading only");
    struct arena *a = c->report->arena;
    const struct str file = str_copy(a, str_from(path));
    if (!has_ended) {
        diagnostics_warning(diagnostics_as(c->report, "script_unchecked"), file, nowhere,
                            "%s -n did not end within %d s; the script was not checked", shell,
                            ONE_MS_MAX / 1000);
        return;
    }
    /* Exit status 127: the shell is not installed. */
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 127)
        return;
    struct str text = str_is_clean((struct str){output, (uint32_t)len})
                          ? str_copy(a, (struct str){output, (uint32_t)len})
                          : STR("syntax error");
    text = str_slice(text, 0, str_find(text, '\n', 0)); /* later errors follow from the first */
    const struct text_position at = script_take_line(file, &text);
    diagnostics_error(diagnostics_as(c->report, "script_invalid"), file, at, "%s -n: %.*s", shell,
                      STR_FMT_ARGS(text));
}

/* ---- all scripts ---- */

static int script_is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int script_compare_names(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void script_check_directory(struct script_check *c, const char *folder)
{
    struct dirent **names;
    char path[PATH_MAX];
    struct stat facts;
    const int count = scandir(folder, &names, script_is_visible, script_compare_names);
    for (int i = 0; i < count; i++) {
        const int len = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        const bool is_script = len > 0 && len < (int)sizeof path && stat(path, &facts) == 0 &&
                               S_ISREG(facts.st_mode) &&
                               (facts.st_mode & 0111 || str_ends(str_from(path), STR(".sh")));
        if (is_script && !script_time_is_up(c))
            script_check_one(c, path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* Check the scripts of all roles of a file, of whatever jig. A JSON document may set its source
 * path itself. */
static void script_check_file(struct script_check *c, const struct barclamp_file *file)
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
            script_check_directory(c, folder);
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
    struct script_check c = {r, stop, sys_mono_ms() + ALL_MS_MAX};
    for (uint32_t i = 0; i < tree->draft_count; i++)
        script_check_file(&c, &tree->drafts[i]);
    for (uint32_t i = 0; i < tree->count; i++) {
        const uint32_t errors_before = r->errors;
        script_check_file(&c, &tree->files[i]);
        if (r->errors > errors_before)
            script_syntax_exclude(tree, i--); /* moves the next file to this index */
    }
    if (sys_mono_ms() >= c.deadline_ms)
        diagnostics_warning(diagnostics_as(r, "script_unchecked"), STR("scripts"), nowhere,
                            "checking all scripts takes more than %d s; some were not checked",
                            ALL_MS_MAX / 1000);
}
