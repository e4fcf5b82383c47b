/* The recipes behind JSON, for tests/jig/run.py, which starts what they say.
 *
 *   jig-drive prepare JOB STDIN       -> {"argv":[],"env":[],"cwd":"","out_max":1,"log_max":1}
 *   jig-drive stop JOB STDIN          the same; {"none":true} when there is nothing to stop
 *   jig-drive scan JOB STDIN          the same, for ssh-keyscan
 *   jig-drive master JOB STDIN        the same, for a connection that others share
 *   jig-drive leave JOB STDIN         the same, for what has that end with the last of them
 *   jig-drive conclude JOB END OUT LOG -> the fields of RUN_DONE
 *   jig-drive pin NODE FILE           -> {"lines":"..."}
 *   jig-drive tools CLASS PATH        -> {} or {"refused":"..."}
 *
 * JOB and END are files with the fields of struct jig_work and struct jig_end; OUT and LOG are what
 * the process wrote; STDIN is where the bytes go that it is to read. {"refused":"why"} otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json/json.h"
#include "run/jig/jig_tools.h"
#include "run/jig/launch_spec.h"
#include "run/jig/ssh_command.h"
#include "sys/files.h"

enum { FILE_MAX = 256 << 20 };

static struct arena arena;

static struct str read_whole(const char *path)
{
    struct str bytes;
    const err e = file_read(&arena, path, FILE_MAX, &bytes);
    must(e == OK);
    return bytes;
}

static const struct json *read_json(const char *path)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    const err e = json_read(&arena, read_whole(path), &tree, &offset, &what);
    must(e == OK);
    return tree;
}

static struct str text_at(const struct json *object, const char *path)
{
    const struct json *found = json_at(object, str_from(path));
    return found && found->kind == JSON_STRING ? found->text : STR("");
}

static const char *z_at(const struct json *object, const char *path)
{
    const struct str text = text_at(object, path);
    return text.len ? str_z(&arena, text) : NULL;
}

static int64_t number_at(const struct json *object, const char *path)
{
    int64_t number = 0;
    const struct json *found = json_at(object, str_from(path));
    must(!found || json_as_i64(found, &number));
    return number;
}

static struct jig_work read_job(const char *path)
{
    const struct json *job = read_json(path);
    return (struct jig_work){
        .run_id = number_at(job, "run_id"),
        .attempt = (uint32_t)number_at(job, "attempt"),
        .role = text_at(job, "role"),
        .node = text_at(job, "node"),
        .source_path = text_at(job, "source_path"),
        .barclamp = text_at(job, "barclamp"),
        .data = json_write(&arena, json_get(job, STR("data"))),
        .jig_class = text_at(job, "jig_class"),
        .transport =
            {
                .kind = text_at(job, "transport/address").len ? TRANSPORT_SSH : TRANSPORT_LOCAL,
                .address = text_at(job, "transport/address"),
                .user = text_at(job, "transport/user"),
                .port = (uint16_t)number_at(job, "transport/port"),
                .key_path = z_at(job, "transport/key_path"),
                .known_hosts_path = z_at(job, "transport/known_hosts_path"),
                .control_path = z_at(job, "transport/control_path"),
            },
        .scratch = z_at(job, "scratch"),
        .path = z_at(job, "path"),
    };
}

static struct json *texts(const struct str *list, uint32_t count)
{
    struct json *array = json_make(&arena, JSON_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        json_append(array, json_make_string(&arena, list[i]));
    return array;
}

static void set(struct json *object, const char *key, struct json *value)
{
    json_set(object, str_from(key), value);
}

static int print(const struct json *value)
{
    const struct str text = json_write(&arena, value);
    return printf("%.*s\n", STR_FMT_ARGS(text)) < 0;
}

static int refused(const struct reason *why)
{
    struct json *answer = json_make(&arena, JSON_OBJECT);
    set(answer, "refused", json_make_string(&arena, why->text));
    set(answer, "reason", json_make_string(&arena, str_from(reason_name(why->code))));
    set(answer, "reason_subject", json_make_string(&arena, why->subject));
    return print(answer);
}

static int print_recipe(const struct launch_spec *r, const char *stdin_path)
{
    struct json *answer = json_make(&arena, JSON_OBJECT);
    set(answer, "argv", texts(r->argv, r->argv_count));
    set(answer, "env", texts(r->env, r->env_count));
    set(answer, "cwd", json_make_string(&arena, r->cwd));
    set(answer, "out_max", json_make_i64(&arena, r->out_max));
    set(answer, "log_max", json_make_i64(&arena, r->log_max));
    const err e = file_write(stdin_path, r->stdin_bytes, 0600);
    must(e == OK);
    return print(answer);
}

static int prepare(char **args)
{
    const struct jig_work w = read_job(args[0]);
    struct launch_spec r;
    struct reason why;
    const err e = launch_spec_prepare(&w, &arena, &r, &why);
    return e == OK ? print_recipe(&r, args[1]) : refused(&why);
}

static int stop(char **args)
{
    const struct jig_work w = read_job(args[0]);
    struct launch_spec r;
    struct json *none = json_make(&arena, JSON_OBJECT);
    set(none, "none", json_make_bool(&arena, true));
    return launch_spec_stop(&w, &arena, &r) ? print_recipe(&r, args[1]) : print(none);
}

static int scan(char **args)
{
    const struct jig_work w = read_job(args[0]);
    struct launch_spec r;
    ssh_first_contact(&w, jig_tools_find(&arena, TOOLS_PATH, "ssh-keyscan"), &arena, &r);
    return print_recipe(&r, args[1]);
}

static int master(char **args)
{
    const struct jig_work w = read_job(args[0]);
    struct launch_spec r;
    ssh_master_command(&w, jig_tools_find(&arena, TOOLS_PATH, "ssh"), &arena, &r);
    return print_recipe(&r, args[1]);
}

static int leave(char **args)
{
    const struct jig_work w = read_job(args[0]);
    struct launch_spec r;
    ssh_master_stop_command(&w, jig_tools_find(&arena, TOOLS_PATH, "ssh"), &arena, &r);
    return print_recipe(&r, args[1]);
}

static int pin(char **args)
{
    struct str keys = STR("");
    struct buf lines = buf_in(&arena);
    struct json *answer = json_make(&arena, JSON_OBJECT);
    const err e = ssh_scanned_keys(&arena, read_whole(args[1]), &keys);
    if (e != OK)
        return refused(&(struct reason){.text = e == ERR_NOT_FOUND ? STR("none") : STR("syntax")});
    for (uint32_t from = 0; from < keys.len;) {
        const uint32_t to = str_find(keys, '\n', from);
        buf_put_z(&lines, args[0]);
        buf_put_c(&lines, ' ');
        buf_put_str(&lines, str_slice(keys, from, to));
        buf_put_c(&lines, '\n');
        from = to + 1;
    }
    set(answer, "lines", json_make_string(&arena, buf_str(&lines)));
    return print(answer);
}

static int tools(char **args)
{
    struct reason why;
    const err e = jig_tools_check(&arena, args[1], str_from(args[0]), &why);
    return e == OK ? print(json_make(&arena, JSON_OBJECT)) : refused(&why);
}

static enum jig_end_how how_of(struct str name)
{
    static const char *const names[] = {"exited",    "signalled",   "deadline",
                                        "cancelled", "not_started", "died_with_supervisor"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, str_from(names[i])))
            return (enum jig_end_how)i;
    impossible("no such end");
}

static int conclude(char **args)
{
    static const char *const results[] = {"ok", "failed", "async", "parked", "lost"};
    const struct jig_work w = read_job(args[0]);
    const struct json *said = read_json(args[1]);
    const struct jig_end end = {
        .how = how_of(text_at(said, "how")),
        .code = (int)number_at(said, "code"),
        .reason = text_at(said, "reason"),
        .out = read_whole(args[2]),
        .out_dropped = json_is_true(json_get(said, STR("out_dropped"))),
        .log_tail = read_whole(args[3]),
        .log_dropped = (uint64_t)number_at(said, "log_dropped"),
    };
    struct run_done_command done;
    struct json *answer = json_make(&arena, JSON_OBJECT);
    struct json *wall = NULL;
    uint32_t offset;
    const char *what;
    launch_spec_conclude(&w, &end, &arena, &done);
    must(str_is_clean(done.runlog));
    set(answer, "result", json_make_string(&arena, str_from(results[done.result])));
    set(answer, "runlog", json_make_string(&arena, done.runlog));
    set(answer, "reason", json_make_string(&arena, str_from(reason_name(done.reason))));
    set(answer, "reason_subject", json_make_string(&arena, done.reason_subject));
    set(answer, "run_id", json_make_i64(&arena, done.run_id));
    set(answer, "attempt", json_make_i64(&arena, done.attempt));
    set(answer, "node_dead", json_make_bool(&arena, done.node_dead));
    set(answer, "stop", json_make_bool(&arena, done.stop));
    set(answer, "power", json_make_string(&arena, done.power));
    set(answer, "park_ms", json_make_i64(&arena, done.park_ms));
    if (done.has_wall) {
        const err e = json_read(&arena, done.wall, &wall, &offset, &what);
        must(e == OK && str_eq(json_write(&arena, wall), done.wall));
        set(answer, "wall", wall);
    }
    return print(answer);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int count;
        int (*run)(char **args);
    } verbs[] = {{"prepare", 2, prepare}, {"stop", 2, stop},   {"scan", 2, scan},
                 {"master", 2, master},   {"leave", 2, leave}, {"conclude", 4, conclude},
                 {"pin", 2, pin},         {"tools", 2, tools}};
    for (uint32_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[1], verbs[i].name) == 0 && argc == verbs[i].count + 2) {
            const int status = verbs[i].run(argv + 2);
            arena_fini(&arena);
            return status;
        }
    fprintf(stderr, "usage: jig-drive VERB ARGUMENTS; see the top of tests/jig/drive.c\n");
    return 2;
}
