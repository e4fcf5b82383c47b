#define _GNU_SOURCE /* pipe2, POSIX_SPAWN_SETSID, posix_spawn_file_actions_addfchdir_np */
#include "run/exec/shim_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/exec/shim.h"

/* All that is open between the order and the start; -1: not. */
struct start {
    int folder;
    int input;
    int out[2];
    int log[2];
};

__attribute__((format(printf, 2, 3))) static bool fail(char *reason, const char *format, ...)
{
    const int number = errno;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(reason, EXEC_REASON_MAX, format, args);
    va_end(args);
    if (len < 0 || len > (int)EXEC_REASON_MAX - 64)
        len = (int)EXEC_REASON_MAX - 64; /* why is worth more than the end of a name */
    snprintf(reason + len, EXEC_REASON_MAX - (size_t)len, ": %s", strerror(number));
    return false;
}

static void close_all(struct start *s)
{
    const int fds[] = {s->folder, s->input, s->out[0], s->out[1], s->log[0], s->log[1]};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            ignore(close(fds[i]), "nothing was written through it");
}

/* ---- finding the program ---- */

static const char *value_of(char *const *env, const char *name)
{
    const size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* As a shell would, by the PATH of the child. NULL when there is none. */
static const char *find_program(struct arena *a, const char *name, char *const *env)
{
    const char *path = value_of(env, "PATH");
    if (strchr(name, '/'))
        return name;
    for (const char *end; path && *path; path = *end ? end + 1 : end) {
        end = strchrnul(path, ':');
        struct buf file = buf_in(a);
        buf_put(&file, path, (uint32_t)(end - path));
        buf_put_c(&file, '/');
        buf_put(&file, name, (uint32_t)strlen(name) + 1);
        if (file.at[0] == '/' && is_program(file.at))
            return file.at;
    }
    errno = ENOENT;
    return NULL;
}

/* ---- its surroundings ---- */

static bool open_input(const char *path, int *out_fd)
{
    struct stat facts;
    /* Without O_NONBLOCK a pipe that somebody put there would keep us. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    *out_fd = fd;
    if (fstat(fd, &facts) != 0)
        return false;
    if (S_ISREG(facts.st_mode))
        return true;
    errno = S_ISDIR(facts.st_mode) ? EISDIR : ENOTSUP;
    return false;
}

static bool open_all(struct arena *a, const struct exec_spawn *spec, struct start *s, char *reason)
{
    const char *folder = spec->cwd.len ? str_z(a, spec->cwd) : NULL;
    const char *input = spec->stdin_path.len ? str_z(a, spec->stdin_path) : NULL;
    if (folder)
        s->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder && s->folder < 0)
        return fail(reason, "cannot enter \"%s\"", folder);
    if (input && !open_input(input, &s->input))
        return fail(reason, "cannot read \"%s\"", input);
    if (pipe2(s->out, O_CLOEXEC) != 0 || pipe2(s->log, O_CLOEXEC) != 0)
        return fail(reason, "no pipe for its output");
    /* Only our ends: the child may expect its own to wait. */
    if (fcntl(s->out[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(s->log[0], F_SETFL, O_NONBLOCK) != 0)
        return fail(reason, "no pipe for its output");
    return true;
}

/* The marks come first: of two texts with one name the first one counts. */
static char **environment(struct arena *a, const struct exec_spawn *spec, const char *token)
{
    struct buf list = buf_in(a);
    buf_put_z(&list, LEAD_MARK);
    exec_list_add(&list, str_from(token));
    buf_put_z(&list, LEAD_RUN);
    buf_put_i64(&list, spec->run_id);
    buf_put_c(&list, '-');
    buf_put_u64(&list, spec->attempt);
    buf_put_c(&list, 0);
    buf_put_str(&list, spec->env);
    return exec_list_z(a, buf_str(&list));
}

/* ---- the start ---- */

static int spawn(const struct start *s, const char *program, char *const *argv, char *const *env,
                 pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    must(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
    /* They fail for a descriptor at or above the limit, and without memory. */
    int number = posix_spawn_file_actions_adddup2(&actions, s->out[1], 1);
    if (!number)
        number = posix_spawn_file_actions_adddup2(&actions, s->log[1], 2);
    /* Opened there, not here for all runs: whoever locks what it reads locks nobody else out. */
    if (!number)
        number = s->input >= 0
                     ? posix_spawn_file_actions_adddup2(&actions, s->input, 0)
                     : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    /* Otherwise it begins where its lead is. */
    if (!number && s->folder >= 0)
        number = posix_spawn_file_actions_addfchdir_np(&actions, s->folder);
    sigfillset(&all);
    sigemptyset(&none);
    must(posix_spawnattr_setsigdefault(&attributes, &all) == 0 &&
         posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
         posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                   POSIX_SPAWN_SETSIGMASK) == 0);
    if (!number)
        number = posix_spawn(out_pid, program, &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return number;
}

bool shim_spawn(struct arena *a, const struct exec_spawn *spec, const char *token,
                struct lead_start *out_start)
{
    struct start s = {-1, -1, {-1, -1}, {-1, -1}};
    char *const *argv = exec_list_z(a, spec->argv);
    char *const *env = environment(a, spec, token);
    if (!open_all(a, spec, &s, out_start->reason)) {
        close_all(&s);
        return false;
    }
    const char *program = find_program(a, argv[0], env);
    errno = program ? spawn(&s, program, argv, env, &out_start->pid) : ENOENT;
    if (errno) {
        const bool started = fail(out_start->reason, "cannot start \"%s\"", argv[0]);
        close_all(&s);
        return started;
    }
    out_start->out = s.out[0];
    out_start->log = s.log[0];
    out_start->held[0] = s.out[1];
    out_start->held[1] = s.log[1];
    s.out[0] = s.out[1] = s.log[0] = s.log[1] = -1;
    close_all(&s);
    return true;
}
