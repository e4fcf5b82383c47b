/* Goal: every way a run can end has its meaning, and its sentence. */
#include "run/jig/launch_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/limits.h"
#include "run/jig/ssh_command.h"
#include "tests/check.h"

static struct arena arena;

static struct jig_work work_of(const char *jig_class)
{
    return (struct jig_work){.run_id = 9,
                             .attempt = 3,
                             .deadline_ms = 90000,
                             .role = STR("web"),
                             .node = STR("n1"),
                             .source_path = STR("/nowhere"),
                             .barclamp = STR("b"),
                             .data = STR("{}"),
                             .jig_class = str_from(jig_class)};
}

static struct run_done_command ended(const char *jig_class, const struct jig_end *end)
{
    const struct jig_work w = work_of(jig_class);
    struct run_done_command done;
    launch_spec_conclude(&w, end, &arena, &done);
    CHECK(done.run_id == 9 && done.attempt == 3);
    return done;
}

static bool says(const struct run_done_command *done, const char *wanted)
{
    if (str_eq(done->runlog, str_from(wanted)))
        return true;
    printf("  seen: %.*s\nwanted: %s\n", STR_FMT_ARGS(done->runlog), wanted);
    return false;
}

TEST(every_status_of_a_script_means_what_D21_says)
{
    for (int code = 0; code < 256; code++) {
        const struct jig_end end = {.how = JIG_END_EXITED, .code = code};
        const struct run_done_command done = ended("script", &end);
        const bool fine = code % 16 == 0;
        const bool parks = fine && code >= 128, reboots = code / 64 % 2, off = code / 32 % 2;
        CHECK(done.result == (!fine ? RESULT_FAILED : parks ? RESULT_PARKED : RESULT_OK));
        CHECK(done.has_wall == fine && (!fine || str_eq(done.wall, STR("{}"))));
        CHECK(done.stop == (fine && code / 16 % 2));
        CHECK(done.node_dead == (fine && (reboots || off)));
        CHECK(str_eq(done.power, !fine     ? STR("")
                                 : off     ? STR("off")
                                 : reboots ? STR("reboot")
                                           : STR("")));
        CHECK(done.park_ms == (parks ? 3600000 : 0));
        CHECK((done.runlog.len == 0) == fine);
    }
    arena_fini(&arena);
}

TEST(every_other_end_is_a_failure_with_its_sentence)
{
    static const struct {
        struct jig_end end;
        const char *text;
        enum reason_code reason;
    } ends[] = {
        {{.how = JIG_END_SIGNALLED, .code = 9},
         "the run was ended by signal 9 (Killed)",
         REASON_SIGNAL},
        {{.how = JIG_END_DEADLINE},
         "deadline of 90 s: the run took longer than it may, and was stopped",
         REASON_DEADLINE},
        {{.how = JIG_END_CANCELLED}, "the run was cancelled", REASON_CANCELLED},
        {{.how = JIG_END_NOT_STARTED, .reason = {"/bin/sh: no such file", 21}},
         "the run could not be started: /bin/sh: no such file",
         REASON_NOT_STARTED},
        {{.how = JIG_END_DIED_WITH_SUPERVISOR},
         "halligan-exec ended during the run: the run was killed, and its progress is unknown",
         REASON_SUPERVISOR_LOST},
    };
    static const char *const classes[] = {"script", "puppet", "ansible", "chef"};
    for (uint32_t c = 0; c < sizeof classes / sizeof *classes; c++)
        for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            const struct run_done_command done = ended(classes[c], &ends[i].end);
            CHECK(done.result == RESULT_FAILED && !done.has_wall && !done.node_dead);
            CHECK(says(&done, ends[i].text));
            CHECK(done.reason == ends[i].reason);
        }
    arena_fini(&arena);
}

TEST(what_a_machine_lacks_is_what_was_measured_and_not_what_the_log_says)
{
    static const struct {
        const char *out, *log;
        enum reason_code reason;
        const char *subject;
    } ends[] = {
        {"", "x: No space left on device\n", REASON_EXIT_STATUS, "1"},
        {"", "MemoryError\n", REASON_EXIT_STATUS, "1"},
        {"#halligan-measured full /var\n", "", REASON_DISK_FULL, "/var"},
        {"#halligan-measured readonly /data\n", "", REASON_DISK_ERROR, "/data"},
        {"#halligan-measured oom 2\n", "", REASON_MEMORY_LIMIT, "oom_kill"},
        {"#halligan-measured full /\n#halligan-measured oom 1\n", "", REASON_MEMORY_LIMIT,
         "oom_kill"},
        {"a: 1\n#halligan-measured full /srv/a b\n", "", REASON_DISK_FULL, "/srv/a b"},
        {"#halligan-measured full ", "", REASON_EXIT_STATUS, "1"},
        {"x #halligan-measured full /\n", "", REASON_EXIT_STATUS, "1"},
    };
    static const char *const classes[] = {"script", "puppet"};
    for (uint32_t c = 0; c < sizeof classes / sizeof *classes; c++)
        for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            const struct jig_end end = {.how = JIG_END_EXITED,
                                        .code = 1,
                                        .out = str_from(ends[i].out),
                                        .log_tail = str_from(ends[i].log)};
            const struct run_done_command done = ended(classes[c], &end);
            CHECK(done.result == RESULT_FAILED && done.reason == ends[i].reason);
            CHECK(str_eq(done.reason_subject, str_from(ends[i].subject)));
        }
    arena_fini(&arena);
}

/* The role of a network has its files under its name in the document. */
TEST(the_files_of_a_role_may_have_another_name)
{
    static const char *const classes[] = {"script", "puppet", "ansible"};
    char folder[] = "/tmp/halligan-jig-XXXXXX";
    CHECK(mkdtemp(folder));
    for (uint32_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct jig_work w = work_of(classes[i]);
        struct launch_spec spec;
        struct reason why;
        w.source_path = str_from(folder);
        w.files_name = STR("net-{name}");
        w.scratch = folder;
        CHECK(launch_spec_prepare(&w, &arena, &spec, &why) != OK);
        CHECK(str_has(why.text, STR("net-{name}")) && str_has(why.text, w.role));
    }
    CHECK(rmdir(folder) == 0);
    arena_fini(&arena);
}

TEST(puppet_ends_as_its_detailed_statuses_say)
{
    const struct str summary = STR("---\nresources:\n  changed: 2\ntime:\n  total: 1.5\n");
    for (int code = 0; code < 8; code++) {
        const struct jig_end end = {.how = JIG_END_EXITED, .code = code, .out = summary};
        const struct run_done_command done = ended("puppet", &end);
        CHECK(done.result == (code == 0 || code == 2 ? RESULT_OK : RESULT_FAILED));
        CHECK(done.has_wall && str_eq(done.wall, STR("{\"puppet\":{\"resources\":{\"changed\":2},"
                                                     "\"time\":{\"total\":1.5}}}")));
    }
    static const char *const none[] = {"", "just text", "- a\n- list\n", "a: ["};
    for (uint32_t i = 0; i < sizeof none / sizeof *none; i++) {
        const struct jig_end end = {.how = JIG_END_EXITED, .out = str_from(none[i])};
        const struct run_done_command done = ended("puppet", &end);
        CHECK(done.result == RESULT_FAILED && !done.has_wall);
        CHECK(says(&done, "puppet left no summary of its run that can be read"));
    }
    /* The last value of a repeated key is used, as in every YAML text. */
    const struct jig_end repeated = {.how = JIG_END_EXITED, .out = STR("a: 1\na: 2\n")};
    const struct run_done_command done = ended("puppet", &repeated);
    CHECK(done.result == RESULT_OK && str_eq(done.wall, STR("{\"puppet\":{\"a\":2}}")));
    arena_fini(&arena);
}

TEST(ansible_ends_with_the_results_of_its_hosts)
{
    struct jig_end end = {.how = JIG_END_EXITED, .out = STR("{\"n1\":{\"ok\":1}}")};
    struct run_done_command done = ended("ansible", &end);
    CHECK(done.result == RESULT_OK && str_eq(done.wall, STR("{\"ansible\":{\"n1\":{\"ok\":1}}}")));
    end.code = 2;
    done = ended("ansible", &end);
    CHECK(done.result == RESULT_FAILED && done.has_wall && says(&done, "the playbook failed"));
    end.out = STR("{\"n1\":{\"kind\":\"failed\",\"task\":\"t\",\"message\":\"m\"}}");
    done = ended("ansible", &end);
    CHECK(says(&done, "task \"t\" failed on n1: m"));
    end.out = STR("{\"n1\":{\"kind\":\"unreachable\",\"task\":\"t\",\"message\":\"m\"}}");
    end.code = 4;
    done = ended("ansible", &end);
    CHECK(says(&done, "ansible could not reach n1: m"));
    static const char *const none[] = {"", "[]", "{", "{\"n1\":{}}{}"};
    for (uint32_t i = 0; i < sizeof none / sizeof *none; i++) {
        end = (struct jig_end){.how = JIG_END_EXITED, .out = str_from(none[i])};
        done = ended("ansible", &end);
        CHECK(done.result == RESULT_FAILED && !done.has_wall);
        CHECK(says(&done, "ansible left no result that can be read"));
        end.code = 250;
        done = ended("ansible", &end);
        CHECK(says(&done, "ansible-playbook ended with status 250"));
    }
    arena_fini(&arena);
}

TEST(a_runlog_is_the_end_of_the_log_within_its_bound)
{
    struct buf log = buf_in(&arena);
    for (uint32_t i = 0; i < 1000; i++)
        buf_put_z(&log, "\xe2\x82\xac");
    for (uint32_t len = 0; len < log.len; len += 1 + len / 3) {
        const struct jig_end end = {.how = JIG_END_CANCELLED,
                                    .log_tail = str_slice(buf_str(&log), 0, len)};
        const struct run_done_command done = ended("script", &end);
        CHECK(str_is_clean(done.runlog) && done.runlog.len <= RUNLOG_MAX);
        CHECK(str_ends(done.runlog, STR("the run was cancelled")));
        CHECK(str_starts(done.runlog, STR("[")) == (len > 1963));
    }
    const struct jig_end dropped = {
        .how = JIG_END_CANCELLED, .log_tail = STR("end\n"), .log_dropped = 12345};
    const struct run_done_command done = ended("script", &dropped);
    CHECK(says(&done, "[12345 bytes before this are left out]\nend\nthe run was cancelled"));
    arena_fini(&arena);
}

TEST(messages_of_ssh_become_reasons)
{
    static const struct {
        const char *log;
        enum ssh_failure failure;
    } said[] = {
        {"ssh: connect to host 10.0.0.1 port 22: Connection refused\r\n", SSH_REFUSED},
        {"ssh: connect to host 10.0.0.1 port 22: Connection timed out\r\n", SSH_TIMEOUT},
        {"Connection timed out during banner exchange\n", SSH_TIMEOUT},
        {"ssh: connect to host 10.0.0.1 port 22: No route to host\r\n", SSH_NO_ROUTE},
        {"ssh: connect to host 10.0.0.1 port 22: Network is unreachable\r\n", SSH_NO_ROUTE},
        {"ssh: Could not resolve hostname x: Name or service not known\r\n", SSH_NAME},
        {"root@10.0.0.1: Permission denied (publickey).\r\n", SSH_AUTH},
        {"Load key \"/k\": invalid format\nroot@x: Permission denied (publickey).\n", SSH_OUR_KEY},
        {"No ED25519 host key is known for n1 and you have requested strict checking.\r\n"
         "Host key verification failed.\r\n",
         SSH_KEY_UNKNOWN},
        {"@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@\n"
         "Host key verification failed.\r\n",
         SSH_KEY_CHANGED},
        {"== 10.sh\nConnection to 10.0.0.1 closed by remote host.\r\n", SSH_LOST},
        {"Timeout, server 10.0.0.1 not responding.\r\n", SSH_LOST},
        {"client_loop: send disconnect: Broken pipe\r\n", SSH_LOST},
        {"kex_exchange_identification: Connection closed by remote host\n", SSH_LOST},
        {"== 10.sh\ncp: Permission denied\nit says Connection refused\n", SSH_OTHER},
        {"", SSH_OTHER},
    };
    for (uint32_t i = 0; i < sizeof said / sizeof *said; i++)
        CHECK(ssh_failure_from_log(str_from(said[i].log)) == said[i].failure);
    struct jig_work w = work_of("script");
    w.transport = (struct transport){.kind = TRANSPORT_SSH, .address = STR("10.0.0.1")};
    const struct jig_end end = {
        .how = JIG_END_EXITED, .code = SSH_FAILED, .log_tail = str_from(said[0].log)};
    struct run_done_command done;
    launch_spec_conclude(&w, &end, &arena, &done);
    CHECK(done.result == RESULT_FAILED);
    CHECK(says(&done, "ssh: connect to host 10.0.0.1 port 22: Connection refused\n"
                      "ssh to node n1 (10.0.0.1 port 22): nothing listens there: it is up, but its "
                      "ssh server is not"));
    arena_fini(&arena);
}

TEST(paths_reach_ssh_as_they_are)
{
    const struct transport t = {.kind = TRANSPORT_SSH,
                                .key_path = "/a b/%k\"\\",
                                .known_hosts_path = "/known",
                                .control_path = "/c/n1-2a"};
    struct str *words;
    const uint32_t count = ssh_options(&t, STR("n1"), &arena, &words);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += str_eq(words[i], STR("IdentityFile=\"/a b/%%k\\\"\\\\\""));
        found += str_eq(words[i], STR("UserKnownHostsFile=\"/known\""));
        found += str_eq(words[i], STR("ControlPath=\"/c/n1-2a\""));
        found += str_eq(words[i], STR("ControlMaster=no"));
        found += str_eq(words[i], STR("StrictHostKeyChecking=yes"));
        found += str_eq(words[i], STR("HostKeyAlias=n1"));
    }
    CHECK(found == 6);
    CHECK(str_eq(ssh_quoted(&arena, STR("a'b c")), STR("'a'\\''b c'")));
    CHECK(str_eq(ssh_quoted(&arena, STR("")), STR("''")));
    arena_fini(&arena);
}

static uint32_t place_in(const struct launch_spec *r, const char *word)
{
    uint32_t i = 0;
    while (i < r->argv_count && !str_eq(r->argv[i], str_from(word)))
        i++;
    return i;
}

TEST(a_master_has_its_own_options_before_those_of_all)
{
    const struct jig_work w = {.node = STR("n1"),
                               .transport = {.kind = TRANSPORT_SSH,
                                             .address = STR("10.0.0.1"),
                                             .control_path = "/c/n1-2a"}};
    static const char *const pairs[][2] = {
        {"ControlMaster=yes", "ControlMaster=no"},
        {"ServerAliveInterval=5", "ServerAliveInterval=15"},
        {"ServerAliveCountMax=3", "ServerAliveCountMax=4"},
        {"LogLevel=QUIET", "LogLevel=ERROR"},
    };
    struct launch_spec r;
    ssh_master_command(&w, "/usr/bin/ssh", &arena, &r);
    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        CHECK(place_in(&r, pairs[i][0]) < place_in(&r, pairs[i][1]));
        CHECK(place_in(&r, pairs[i][1]) < r.argv_count);
    }
    CHECK(place_in(&r, "ControlPath=\"/c/n1-2a\"") < r.argv_count);
    CHECK(str_eq(r.argv[r.argv_count - 1], STR("10.0.0.1")));
    CHECK(r.stdin_bytes.len == 0 && r.log_max == 0 && r.out_max == 0);
    arena_fini(&arena);
}

TEST(a_path_that_no_socket_can_have_is_not_shared)
{
    char path[92];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[91] = 0;
    const struct transport t = {.control_path = path};
    CHECK(!ssh_is_shared(&t) && !ssh_is_shared(&(struct transport){.address = STR("a")}));
    path[90] = 0;
    CHECK(ssh_is_shared(&t));
}
