/* Goal: case 105 of docs/spec/cases.md: values that a script writes into its wall, the data that a
 * run reports, have the type of their notation (docs/spec/data.md).
 * Method: the script jig makes the launch specification, a real shell executes it, and the output
 * is submitted to a core in memory as the result of the run. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/jig/launch_spec.h"
#include "sys/files.h"
#include "tests/world/world.h"

enum { FILE_MAX = 1 << 20 };

static char folder[64];

static const char *below(struct world *w, const char *name)
{
    return str_z(&w->arena, STR_CONCAT(&w->arena, str_from(folder), STR("/"), str_from(name)));
}

static void make_role(struct world *w, const char *script)
{
    snprintf(folder, sizeof folder, "/tmp/halligan-c105-XXXXXX");
    CHECK(mkdtemp(folder));
    CHECK(mkdir(below(w, "scripts"), 0755) == 0 && mkdir(below(w, "scripts/a"), 0755) == 0);
    CHECK(file_write(below(w, "scripts/a/10-say.sh"), str_from(script), 0755) == OK);
}

static void remove_role(struct world *w)
{
    static const char *const files[] = {"scripts/a/10-say.sh", "in", "out", "log"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        CHECK(unlink(below(w, files[i])) == 0);
    CHECK(rmdir(below(w, "scripts/a")) == 0 && rmdir(below(w, "scripts")) == 0);
    CHECK(rmdir(folder) == 0);
}

static char **z_list(struct world *w, const struct str *texts, uint32_t count)
{
    char **list = arena_array(&w->arena, char *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = arena_alloc(&w->arena, texts[i].len + 1);
        memcpy(list[i], texts[i].at, texts[i].len);
        list[i][texts[i].len] = 0;
    }
    list[count] = NULL;
    return list;
}

/* Executes the launch specification and returns its exit status. */
static int spawn(struct world *w, const struct launch_spec *r)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status;
    CHECK(file_write(below(w, "in"), r->stdin_bytes, 0600) == OK);
    CHECK(posix_spawn_file_actions_init(&files) == 0);
    const int made = O_WRONLY | O_CREAT | O_TRUNC;
    CHECK(posix_spawn_file_actions_addopen(&files, 0, below(w, "in"), O_RDONLY, 0) == 0);
    CHECK(posix_spawn_file_actions_addopen(&files, 1, below(w, "out"), made, 0600) == 0);
    CHECK(posix_spawn_file_actions_addopen(&files, 2, below(w, "log"), made, 0600) == 0);
    char **argv = z_list(w, r->argv, r->argv_count);
    CHECK(posix_spawn(&pid, argv[0], &files, NULL, argv, z_list(w, r->env, r->env_count)) == 0);
    CHECK(posix_spawn_file_actions_destroy(&files) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static struct run_done_command run_scripts(struct world *w)
{
    const struct start *start = world_start(w, "a@n1");
    const struct jig_work work = {.run_id = start->run,
                                  .attempt = start->attempt,
                                  .role = STR("a"),
                                  .node = STR("n1.test"),
                                  .source_path = str_from(folder),
                                  .barclamp = STR("a"),
                                  .data = start->data,
                                  .jig_class = STR("script")};
    struct launch_spec recipe;
    struct run_done_command done;
    struct reason why;
    struct jig_end end = {.how = JIG_END_EXITED};
    CHECK(launch_spec_prepare(&work, &w->arena, &recipe, &why) == OK);
    end.code = spawn(w, &recipe);
    CHECK(file_read(&w->arena, below(w, "out"), FILE_MAX, &end.out) == OK);
    CHECK(file_read(&w->arena, below(w, "log"), FILE_MAX, &end.log_tail) == OK);
    launch_spec_conclude(&work, &end, &w->arena, &done);
    return done;
}

TEST(c105_values_that_scripts_write_have_the_type_of_their_notation)
{
    struct world *w = world_open();
    make_role(w, "write_attribute app/on true\n"
                 "write_attribute app/off FALSE\n"
                 "write_attribute app/count 42\n"
                 "write_attribute app/word cafe\n"
                 "write_attribute app/list '[1,\"b\"]'\n");
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_deliver(w);
    world_anneal(w);
    struct run_done_command done = run_scripts(w);
    CHECK(done.result == RESULT_OK);
    DONE(w, ((struct command){.kind = COMMAND_RUN_DONE, .run_done = done}));
    IS(w, "a@n1", "active");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").wall),
               "{'app':{'count':42,'list':[1,'b'],'off':false,'on':true,'word':'cafe'}}");
    remove_role(w);
    world_close(w);
}
