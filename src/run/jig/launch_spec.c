#include "run/jig/launch_spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "model/jig_class.h"
#include "model/limits.h"
#include "run/jig/jig_tools.h"
#include "run/jig/launch_spec_private.h"
#include "run/jig/remote_scripts.gen.h"
#include "run/jig/ssh_command.h"
#include "sys/files.h"

/* The table of jigs, and what they have in common: the shell line that unpacks the archive and runs
 * it on the node, the environment, and the translation of an end into a result with a reason. There
 * is no state: everything is allocated in the arena of the caller, so threads may call it.
 *
 * The remote side: a directory halligan-NODE.XXXXXX is created, standard input is unpacked there,
 * leftovers of an earlier run for the same node are stopped (cleanup.sh), and only then is run.sh
 * started, so that two runs never work on one node at the same time. The directory is removed on
 * exit.
 *
 * Failure: a run that cannot be prepared is refused with a reason. The end of a process always
 * gives a result: one that is not recognised as a success is RESULT_FAILED with a reason.
 *
 * Failure codes come from what was measured on the machine or from exit statuses, not from log
 * text; text of the log is only repeated to operators (ADR 0068). */

enum {
    OUT_MAX = 16 << 20, /* wall data of 1 MiB as an archive, where a value takes two blocks */
    LOG_MAX = 1 << 20,  /* bytes of the log that are kept */
    ENV_MAX = 32,       /* variables in the environment of a run */
};

static const struct jig_launch_spec *const jigs[] = {&jig_script, &jig_puppet, &jig_ansible};

/* ---- formatting ---- */

__attribute__((format(printf, 2, 0))) static struct str launch_spec_vformat(struct arena *a,
                                                                            const char *format,
                                                                            va_list args)
{
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    must(length >= 0);
    char *at = arena_alloc(a, (size_t)length + 1);
    vsnprintf(at, (size_t)length + 1, format, args);
    return (struct str){at, (uint32_t)length};
}

struct str launch_spec_format(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct str text = launch_spec_vformat(a, format, args);
    va_end(args);
    return text;
}

err launch_spec_refuse(struct arena *a, struct reason *out_why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out_why->text = launch_spec_vformat(a, format, args);
    va_end(args);
    return ERR_REFUSED;
}

/* Size of the valid UTF-8 character at the beginning; 0: invalid. */
static uint32_t launch_spec_char_size(struct str s)
{
    for (uint32_t len = 1; len <= 4 && len <= s.len; len++)
        if (str_is_clean(str_slice(s, 0, len)))
            return len;
    return 0;
}

/* Replace invalid bytes and control characters by '?'. Newlines and tabs stay; the carriage return
 * before a newline, which ssh writes, is removed. */
static struct str launch_spec_clean(struct arena *a, struct str s)
{
    struct buf out = buf_in(a);
    while (s.len) {
        const uint32_t len = launch_spec_char_size(s);
        const unsigned char c = (unsigned char)s.at[0];
        const bool controls = c == 127 || (c < 32 && c != '\n' && c != '\t');
        if (str_starts(s, STR("\r\n"))) {
            s = str_slice(s, 1, s.len);
            continue;
        }
        if (len == 0 || controls)
            buf_put_c(&out, '?');
        else
            buf_put(&out, s.at, len);
        s = str_slice(s, len ? len : 1, s.len);
    }
    return buf_str(&out);
}

/* ---- preparation ---- */

static const struct jig_launch_spec *launch_spec_find_jig(struct str class_name)
{
    const struct jig_class *klass = jig_class_find(class_name);
    for (uint32_t i = 0; klass && i < sizeof jigs / sizeof *jigs; i++)
        if (strcmp(jigs[i]->name, klass->name) == 0)
            return jigs[i];
    return NULL;
}

bool launch_spec_is_known(struct str jig_class)
{
    return launch_spec_find_jig(jig_class) != NULL;
}

/* Make the strings of a reason clean UTF-8 within the limits. */
static struct reason launch_spec_clean_reason(struct arena *a, struct reason why)
{
    why.subject = launch_spec_clean(a, str_clip(why.subject, REASON_SUBJECT_MAX));
    why.text = launch_spec_clean(a, why.text);
    return why;
}

static const char *launch_spec_path(const struct jig_work *w)
{
    return w->path ? w->path : TOOLS_PATH;
}

err launch_spec_too_much(const struct jig_work *w, struct arena *a, struct reason *out_why)
{
    *out_why = (struct reason){.code = REASON_DATA_TOO_LARGE, .subject = w->role};
    return launch_spec_refuse(a, out_why,
                              "the files and the data of role %.*s are larger than 64 MiB",
                              STR_FMT_ARGS(w->role));
}

err launch_spec_missing(const struct jig_work *w, struct arena *a, struct reason *out_why)
{
    out_why->code = REASON_ROLE_FILES;
    out_why->subject = w->source_path;
    if (file_exists(str_z(a, w->source_path)))
        return ERR_NOT_FOUND;
    return launch_spec_refuse(a, out_why,
                              "the files of barclamp %.*s do not exist any more: there is no %.*s",
                              STR_FMT_ARGS(w->barclamp), STR_FMT_ARGS(w->source_path));
}

void launch_spec_set_env(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                         const struct str *more, uint32_t more_count)
{
    const char *home = getenv("HOME");
    struct str *env = arena_array(a, struct str, ENV_MAX);
    uint32_t count = 0;
    env[count++] = launch_spec_format(a, "PATH=%s", launch_spec_path(w));
    env[count++] = STR("LANG=C.UTF-8");
    env[count++] = launch_spec_format(a, "HOME=%s", home ? home : "/");
    if (w->scratch)
        env[count++] = launch_spec_format(a, "TMPDIR=%s", w->scratch);
    must(count + more_count <= ENV_MAX);
    for (uint32_t i = 0; i < more_count; i++)
        env[count++] = more[i];
    r->env = env;
    r->env_count = count;
}

/* The shell command on the node: create a directory, unpack standard input there, and run it. One
 * line, with only what all shells accept, because the login shell of the node parses it first. If
 * there is no space for the directory, there is none for measure.sh either, so this file system is
 * measured here: free bytes, and 0 without a free inode. */
#define ON_NODE                                                                                    \
    "umask 077; dir=${TMPDIR:-/tmp}; "                                                             \
    "lacks() { left=$(stat -f -c '(%c==0||%d>0)*%a*%S' \"$dir\" || echo 65536); "                  \
    "[ $(($left)) -ge 65536 ] || echo \"#halligan-measured full $dir\"; exit 1; }; "               \
    "place=$(mktemp -d \"$dir/halligan-$1.XXXXXX\") || lacks; "                                    \
    "trap 'rm -rf \"$place\"' EXIT; trap 'exit 143' HUP INT TERM; "                                \
    "echo $$ > \"$place/pid\"; HALLIGAN_PLACE=$place; export HALLIGAN_PLACE; "                     \
    "tar -xf - -C \"$place\" || lacks; sh \"$place/cleanup.sh\" \"$1\" \"$place\" < /dev/null && " \
    "sh \"$place/run.sh\" \"$place\" \"$1\" < /dev/null"

err launch_spec_on_node(const struct jig_work *w, struct arena *a, struct archive *archive,
                        struct launch_spec *r, struct reason *out_why)
{
    const bool is_local = w->transport.kind == TRANSPORT_LOCAL;
    const char *name = is_local ? "sh" : "ssh";
    const char *program = jig_tools_find(a, launch_spec_path(w), name);
    if (!program) {
        *out_why = (struct reason){.code = REASON_TOOL_MISSING, .subject = str_from(name)};
        return launch_spec_refuse(a, out_why, "%s is not installed here", name);
    }
    if (archive_add_file(archive, STR("cleanup.sh"), 0755, remote_script_cleanup) != OK ||
        archive_add_file(archive, STR("measure.sh"), 0644, remote_script_measure) != OK)
        return launch_spec_too_much(w, a, out_why);
    if (is_local) {
        struct str *argv = arena_array(a, struct str, 5);
        argv[0] = str_from(program);
        argv[1] = STR("-c");
        argv[2] = STR(ON_NODE);
        argv[3] = STR("halligan-run");
        argv[4] = w->node;
        r->argv = argv;
        r->argv_count = 5;
    } else {
        const struct str script = ssh_quoted(a, STR(ON_NODE)), node = ssh_quoted(a, w->node);
        ssh_command(w, program,
                    launch_spec_format(a, "exec sh -c %.*s halligan-run %.*s", STR_FMT_ARGS(script),
                                       STR_FMT_ARGS(node)),
                    a, r);
    }
    r->stdin_bytes = archive_end(archive);
    launch_spec_set_env(w, a, r, NULL, 0);
    return OK;
}

struct str launch_spec_files_name(const struct jig_work *w)
{
    return w->files_name.len ? w->files_name : w->role;
}

err launch_spec_prepare(const struct jig_work *w, struct arena *a, struct launch_spec *out_spec,
                        struct reason *out_why)
{
    const struct jig_launch_spec *jig = launch_spec_find_jig(w->jig_class);
    struct launch_spec r = {.cwd = STR("/"), .out_max = OUT_MAX, .log_max = LOG_MAX};
    *out_why = (struct reason){.code = REASON_ROLE_FILES, .subject = w->role};
    if (!jig)
        return launch_spec_refuse(a, out_why, "this build has no runner for jigs of class %.*s",
                                  STR_FMT_ARGS(w->jig_class));
    const err e = jig->prepare(w, a, &r, out_why);
    if (e == OK)
        *out_spec = r;
    else
        *out_why = launch_spec_clean_reason(a, *out_why);
    return e;
}

bool launch_spec_stop(const struct jig_work *w, struct arena *a, struct launch_spec *out_spec)
{
    const char *ssh = jig_tools_find(a, launch_spec_path(w), "ssh");
    struct launch_spec r = {.cwd = STR("/"), .log_max = 64u << 10};
    if (w->transport.kind == TRANSPORT_LOCAL || !ssh ||
        launch_spec_find_jig(w->jig_class) == &jig_ansible)
        return false;
    const struct str node = ssh_quoted(a, w->node);
    ssh_command(w, ssh, launch_spec_format(a, "exec sh -s -- %.*s", STR_FMT_ARGS(node)), a, &r);
    r.stdin_bytes = remote_script_cleanup;
    launch_spec_set_env(w, a, &r, NULL, 0);
    *out_spec = r;
    return true;
}

/* ---- results ---- */

struct reason launch_spec_reason(struct arena *a, enum reason_code code, struct str subject,
                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct str text = launch_spec_vformat(a, format, args);
    va_end(args);
    return (struct reason){.code = code, .subject = subject, .text = text};
}

struct reason launch_spec_set_wall(struct arena *a, const struct json *wall,
                                   struct run_done_command *done)
{
    if (json_depth(wall) > DOC_DEPTH_MAX)
        return launch_spec_reason(a, REASON_WALL_INVALID, STR(""),
                                  "what the run wrote has more than %u levels", DOC_DEPTH_MAX);
    const struct str text = json_write(a, wall);
    if (text.len > DOC_MAX)
        return launch_spec_reason(
            a, REASON_WALL_INVALID, STR(""),
            "what the run wrote is too much: %u bytes, and at most %u can be kept", text.len,
            DOC_MAX);
    done->has_wall = true;
    done->wall = text;
    return (struct reason){.code = REASON_NONE};
}

/* Messages of strerror(3) and common runtimes about a shortage of resources; our processes run with
 * LANG=C.UTF-8. A program may print them for any reason, so they are only repeated to operators;
 * the code of a failed run comes from measurements. */
static const struct shortage {
    const char *words;
    enum reason_code code;
} shortages[] = {
    {"No space left on device", REASON_DISK_FULL},
    {"Disk quota exceeded", REASON_DISK_FULL},
    {"Read-only file system", REASON_DISK_ERROR},
    {"Input/output error", REASON_DISK_ERROR},
    {"Cannot allocate memory", REASON_MEMORY_LIMIT},
    {"cannot allocate memory", REASON_MEMORY_LIMIT},
    {"emory exhausted", REASON_MEMORY_LIMIT},
    {"Out of memory", REASON_MEMORY_LIMIT},
    {"out of memory", REASON_MEMORY_LIMIT},
    {"MemoryError", REASON_MEMORY_LIMIT},
    {"std::bad_alloc", REASON_MEMORY_LIMIT},
};

enum { SHORTAGE_TAIL = 4096 }; /* bytes at the end of a log that are searched */

/* NULL: the end of the log contains none of them. */
static const struct shortage *launch_spec_find_shortage(struct str log)
{
    const struct str end =
        str_slice(log, log.len > SHORTAGE_TAIL ? log.len - SHORTAGE_TAIL : 0, log.len);
    for (uint32_t i = 0; i < sizeof shortages / sizeof *shortages; i++)
        if (str_has(end, str_from(shortages[i].words)))
            return &shortages[i];
    return NULL;
}

/* Lines of measure.sh on the result channel. The first match in this order counts: a killed process
 * explains a status better than a full disk. */
static const struct lack {
    const char *word;
    enum reason_code code;
    const char *subject;        /* NULL: the text after the word, which is a path */
    const char *before, *after; /* parts of the sentence around the text after the word */
} lacks[] = {
    {"#halligan-measured oom ", REASON_MEMORY_LIMIT, "oom_kill",
     "the number of processes that the kernel killed for their memory during the run is ", ""},
    {"#halligan-measured full ", REASON_DISK_FULL, NULL, "the file system ",
     " of that machine is full"},
    {"#halligan-measured readonly ", REASON_DISK_ERROR, NULL, "the file system ",
     " of that machine was turned read-only during the run"},
};

/* The text after the word at the beginning of a line; empty: there is no such line. */
static struct str launch_spec_find_measured(struct str out, struct str word)
{
    for (uint32_t from = 0; from < out.len;) {
        const uint32_t to = str_find(out, '\n', from);
        const struct str text = str_slice(out, from, to);
        if (str_starts(text, word))
            return str_slice(text, word.len, text.len);
        from = to + 1;
    }
    return STR("");
}

bool launch_spec_lack(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                      struct str what, struct reason *out_why)
{
    for (uint32_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        const struct str found = launch_spec_find_measured(end->out, str_from(lacks[i].word));
        if (!found.len)
            continue;
        *out_why = launch_spec_reason(
            a, lacks[i].code, lacks[i].subject ? str_from(lacks[i].subject) : found,
            "%.*s ended with status %d on node %.*s, and %s%.*s%s", STR_FMT_ARGS(what), end->code,
            STR_FMT_ARGS(w->node), lacks[i].before, STR_FMT_ARGS(found), lacks[i].after);
        return true;
    }
    return false;
}

/* Codes that scripts may report with die_because. The line of script.sh on the result channel is
 * "#halligan-reason CODE SUBJECT<TAB>SENTENCE". */
static const enum reason_code reported_codes[] = {REASON_DISK_DIFFERS, REASON_BOOT_NOT_SERVED};

static bool launch_spec_reported(const struct jig_end *end, struct arena *a, struct reason *out_why)
{
    for (uint32_t i = 0; i < sizeof reported_codes / sizeof *reported_codes; i++) {
        const struct str word = STR_CONCAT(a, STR("#halligan-reason "),
                                           str_from(reason_name(reported_codes[i])), STR(" "));
        const struct str found = launch_spec_find_measured(end->out, word);
        const uint32_t tab = str_find(found, '\t', 0);
        if (tab == 0 || tab == found.len)
            continue;
        *out_why = (struct reason){.code = reported_codes[i],
                                   .subject = str_slice(found, 0, tab),
                                   .text = str_slice(found, tab + 1, found.len)};
        return true;
    }
    return false;
}

struct reason launch_spec_status(const struct jig_work *w, const struct jig_end *end,
                                 struct arena *a, struct str what)
{
    struct reason why;
    if (launch_spec_reported(end, a, &why))
        return why;
    if (launch_spec_lack(w, end, a, what, &why))
        return why;
    const struct shortage *shortage =
        end->log_tail.len ? launch_spec_find_shortage(end->log_tail) : NULL;
    return launch_spec_reason(a, REASON_EXIT_STATUS, launch_spec_format(a, "%d", end->code),
                              "%.*s ended with status %d%s%s", STR_FMT_ARGS(what), end->code,
                              shortage ? ", and its log says: " : "",
                              shortage ? shortage->words : "");
}

static struct reason launch_spec_ssh_reason(const struct jig_work *w, const struct jig_end *end,
                                            struct arena *a)
{
    const enum ssh_failure failure = ssh_failure_from_log(end->log_tail);
    const unsigned port = w->transport.port ? w->transport.port : 22u;
    const struct str address =
        launch_spec_format(a, "%.*s port %u", STR_FMT_ARGS(w->transport.address), port);
    return launch_spec_reason(a, ssh_failure_code(failure),
                              failure == SSH_KEY_CHANGED ? w->node : address,
                              "ssh to node %.*s (%.*s port %u): %s", STR_FMT_ARGS(w->node),
                              STR_FMT_ARGS(w->transport.address), port, ssh_failure_text(failure));
}

static struct reason launch_spec_exited(const struct jig_work *w, const struct jig_end *end,
                                        struct arena *a, struct run_done_command *done)
{
    const struct jig_launch_spec *jig = launch_spec_find_jig(w->jig_class);
    if (!jig)
        return launch_spec_reason(a, REASON_TOOL_MISSING, w->jig_class,
                                  "this build has no runner for jigs of class %.*s",
                                  STR_FMT_ARGS(w->jig_class));
    if (jig != &jig_ansible && w->transport.kind == TRANSPORT_SSH && end->code == SSH_FAILED)
        return launch_spec_ssh_reason(w, end, a);
    if (end->out_dropped)
        return launch_spec_reason(a, REASON_RESULT_INVALID, launch_spec_format(a, "%u", OUT_MAX),
                                  "what the run wrote is too much: more than %u bytes", OUT_MAX);
    return jig->conclude(w, end, a, done);
}

/* The subject is in seconds, as roles and settings give it. */
static struct reason launch_spec_deadline_reason(const struct jig_work *w, struct arena *a)
{
    const long long seconds = (long long)((w->deadline_ms + 999) / 1000);
    return launch_spec_reason(
        a, REASON_DEADLINE, launch_spec_format(a, "%lld", seconds),
        "deadline of %lld s: the run took longer than it may, and was stopped", seconds);
}

/* The supervisor could not start the process; the code is derived from the strerror(3) text in its
 * reason. */
static struct reason launch_spec_not_started(const struct jig_end *end, struct arena *a)
{
    const struct shortage *shortage =
        end->reason.len ? launch_spec_find_shortage(end->reason) : NULL;
    return launch_spec_reason(a, shortage ? shortage->code : REASON_NOT_STARTED, STR(""),
                              "the run could not be started: %.*s", STR_FMT_ARGS(end->reason));
}

static struct reason launch_spec_reason_of_end(const struct jig_work *w, const struct jig_end *end,
                                               struct arena *a, struct run_done_command *done)
{
    switch (end->how) {
    case JIG_END_EXITED: return launch_spec_exited(w, end, a, done);
    case JIG_END_SIGNALLED:
        return launch_spec_reason(a, REASON_SIGNAL, launch_spec_format(a, "%d", end->code),
                                  "the run was ended by signal %d (%s)", end->code,
                                  strsignal(end->code));
    case JIG_END_DEADLINE: return launch_spec_deadline_reason(w, a);
    case JIG_END_CANCELLED:
        return launch_spec_reason(a, REASON_CANCELLED, STR(""), "the run was cancelled");
    case JIG_END_NOT_STARTED: return launch_spec_not_started(end, a);
    case JIG_END_DIED_WITH_SUPERVISOR:
        return launch_spec_reason(a, REASON_SUPERVISOR_LOST, STR(""),
                                  "%.*s: the run was killed, and its progress is unknown",
                                  STR_FMT_ARGS(end->reason.len
                                                   ? end->reason
                                                   : STR("halligan-exec ended during the run")));
    }
    impossible("a kind of end outside the enum");
}

/* The last `max` bytes, starting at a character boundary. */
static struct str launch_spec_tail(struct str s, uint32_t max)
{
    uint32_t from = s.len > max ? s.len - max : 0;
    while (from < s.len && from > 0 && ((unsigned char)s.at[from] & 0xc0) == 0x80)
        from++;
    return str_slice(s, from, s.len);
}

/* The end of the log, followed by the reason. The engine keeps the last RUNLOG_MAX bytes, so the
 * total must not exceed them. */
static struct str launch_spec_runlog(const struct jig_end *end, struct str said, struct arena *a)
{
    enum { NOTE_MAX = 64 };
    struct buf out = buf_in(a);
    said = launch_spec_tail(said, RUNLOG_MAX / 2);
    const struct str log = launch_spec_clean(a, end->log_tail);
    const struct str kept = launch_spec_tail(log, RUNLOG_MAX - NOTE_MAX - said.len);
    const uint64_t left_out = end->log_dropped + (log.len - kept.len);
    if (left_out) {
        buf_put_z(&out, "[");
        buf_put_u64(&out, left_out);
        buf_put_z(&out, " bytes before this are left out]\n");
    }
    buf_put_str(&out, kept);
    if (kept.len && said.len && !str_ends(kept, STR("\n")))
        buf_put_c(&out, '\n');
    buf_put_str(&out, said);
    return buf_str(&out);
}

void launch_spec_conclude(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                          struct run_done_command *out_done)
{
    *out_done = (struct run_done_command){
        .run_id = w->run_id, .attempt = w->attempt, .result = RESULT_FAILED};
    const struct reason why =
        launch_spec_clean_reason(a, launch_spec_reason_of_end(w, end, a, out_done));
    out_done->reason = why.code;
    out_done->reason_subject = why.subject;
    out_done->reason_text = why.text;
    out_done->runlog = launch_spec_runlog(end, why.text, a);
}
