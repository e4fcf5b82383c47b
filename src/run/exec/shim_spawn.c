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

/* Starting the first process of a run: open everything that can fail, then posix_spawn(3), so that
 * a failure leaves no process behind and is reported with the file that caused it. All descriptors
 * are close-on-exec; the child gets only 0, 1 and 2. After success the caller owns both ends of the
 * two pipes; after failure nothing is open. */

/* Descriptors that are open until the process is started; -1: not open. */
struct spawn_fds {
    int cwd;    /* working directory */
    int input;  /* standard input; -1: /dev/null */
    int out[2]; /* pipe of standard output: read end, write end */
    int log[2]; /* pipe of standard error */
};

/* Write the sentence and the text of errno to `reason`. Always returns false. */
__attribute__((format(printf, 2, 3))) static bool spawn_fail(char *reason, const char *format, ...)
{
    const int error = errno;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(reason, EXEC_REASON_MAX, format, args);
    va_end(args);
    if (len < 0 || len > (int)EXEC_REASON_MAX - 64)
        len = (int)EXEC_REASON_MAX - 64; /* keep the errno text, cut the file name */
    snprintf(reason + len, EXEC_REASON_MAX - (size_t)len, ": %s", strerror(error));
    return false;
}

static void spawn_close_fds(struct spawn_fds *s)
{
    const int fds[] = {s->cwd, s->input, s->out[0], s->out[1], s->log[0], s->log[1]};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            ignore(close(fds[i]), "nothing was written through it");
}

/* ---- lookup of the program ---- */

static const char *spawn_env_value(char *const *env, const char *name)
{
    const size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool spawn_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Search the PATH of the child, as a shell does; relative entries are skipped. NULL with errno if
 * no file matches. */
static const char *spawn_find_program(struct arena *a, const char *name, char *const *env)
{
    const char *path = spawn_env_value(env, "PATH");
    if (strchr(name, '/'))
        return name;
    for (const char *end; path && *path; path = *end ? end + 1 : end) {
        end = strchrnul(path, ':');
        struct buf file = buf_in(a);
        buf_put(&file, path, (uint32_t)(end - path));
        buf_put_c(&file, '/');
        buf_put(&file, name, (uint32_t)strlen(name) + 1);
        if (file.at[0] == '/' && spawn_is_program(file.at))
            return file.at;
    }
    errno = ENOENT;
    return NULL;
}

/* ---- standard streams and environment ---- */

static bool spawn_open_stdin(const char *path, int *out_fd)
{
    struct stat st;
    /* O_NONBLOCK: opening a FIFO without a writer would block. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    *out_fd = fd;
    if (fstat(fd, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode))
        return true;
    errno = S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP;
    return false;
}

static bool spawn_open_fds(struct arena *a, const struct exec_spawn *spec, struct spawn_fds *s,
                           char *reason)
{
    const char *cwd = spec->cwd.len ? str_z(a, spec->cwd) : NULL;
    const char *input = spec->stdin_path.len ? str_z(a, spec->stdin_path) : NULL;
    if (cwd)
        s->cwd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cwd && s->cwd < 0)
        return spawn_fail(reason, "cannot open the working directory \"%s\"", cwd);
    if (input && !spawn_open_stdin(input, &s->input))
        return spawn_fail(reason, "cannot read the standard input \"%s\"", input);
    if (pipe2(s->out, O_CLOEXEC) != 0 || pipe2(s->log, O_CLOEXEC) != 0)
        return spawn_fail(reason, "cannot create a pipe for the output");
    /* Only the read ends are non-blocking: the child may expect blocking writes. */
    if (fcntl(s->out[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(s->log[0], F_SETFL, O_NONBLOCK) != 0)
        return spawn_fail(reason, "cannot create a pipe for the output");
    return true;
}

/* Our variables come first: of two variables with the same name, getenv(3) returns the first. */
static char **spawn_environment(struct arena *a, const struct exec_spawn *spec, const char *token)
{
    struct buf list = buf_in(a);
    buf_put_z(&list, SHIM_TOKEN_ENV);
    exec_list_add(&list, str_from(token));
    buf_put_z(&list, SHIM_RUN_ENV);
    buf_put_i64(&list, spec->run_id);
    buf_put_c(&list, '-');
    buf_put_u64(&list, spec->attempt);
    buf_put_c(&list, 0);
    buf_put_str(&list, spec->env);
    return exec_list_z(a, buf_str(&list));
}

/* ---- start ---- */

static int spawn_process(const struct spawn_fds *s, const char *program, char *const *argv,
                         char *const *env, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    must(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
    /* Adding a file action fails for a descriptor at or above RLIMIT_NOFILE and without memory. */
    int error = posix_spawn_file_actions_adddup2(&actions, s->out[1], 1);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, s->log[1], 2);
    /* /dev/null is opened by each child: a shared descriptor would also share flock(2) locks
     * between runs. */
    if (!error)
        error = s->input >= 0
                    ? posix_spawn_file_actions_adddup2(&actions, s->input, 0)
                    : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    /* Without an ordered directory the child inherits the directory of the shim, which is "/". */
    if (!error && s->cwd >= 0)
        error = posix_spawn_file_actions_addfchdir_np(&actions, s->cwd);
    sigfillset(&all);
    sigemptyset(&none);
    must(posix_spawnattr_setsigdefault(&attributes, &all) == 0 &&
         posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
         posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                   POSIX_SPAWN_SETSIGMASK) == 0);
    if (!error)
        error = posix_spawn(out_pid, program, &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

bool shim_spawn(struct arena *a, const struct exec_spawn *spec, const char *token,
                struct shim_child *out_start)
{
    struct spawn_fds s = {-1, -1, {-1, -1}, {-1, -1}};
    char *const *argv = exec_list_z(a, spec->argv);
    char *const *env = spawn_environment(a, spec, token);
    if (!spawn_open_fds(a, spec, &s, out_start->reason)) {
        spawn_close_fds(&s);
        return false;
    }
    const char *program = spawn_find_program(a, argv[0], env);
    errno = program ? spawn_process(&s, program, argv, env, &out_start->pid) : ENOENT;
    if (errno) {
        /* Format the reason before close(2) can change errno. */
        const bool is_started = spawn_fail(out_start->reason, "cannot start \"%s\"", argv[0]);
        spawn_close_fds(&s);
        return is_started;
    }
    /* The caller owns the pipes from here on; the other descriptors are closed. */
    out_start->out = s.out[0];
    out_start->log = s.log[0];
    out_start->write_ends[0] = s.out[1];
    out_start->write_ends[1] = s.log[1];
    s.out[0] = s.out[1] = s.log[0] = s.log[1] = -1;
    spawn_close_fds(&s);
    return true;
}
